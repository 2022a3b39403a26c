/* SPDX-License-Identifier: Apache-2.0
 * The lease state machine of blobs, containers, shares and files: plain data and pure functions, time comes in as an
 * argument.
 *
 *   available --acquire--> leased --time--> expired
 *                            | break(n)        |
 *                            v                 +--(a write forgets the id)--> available
 *                         breaking --time--> broken --(a write forgets the id)--> available
 *   release with the id: from any state back to available.
 *   break(0) and break of an infinite lease without period: broken.
 *
 * Only {held, id, duration, end, breaking} are stored; leased/expired and breaking/broken follow from the clock. */
#ifndef LOCK_LEASE_H
#define LOCK_LEASE_H

#include "base/buf.h"
#include "base/bytes.h"
#include "base/err.h"
#include "base/sys/rng.h"

enum {
	LEASE_INFINITE = -1,
	LEASE_MIN_SECONDS = 15,
	LEASE_MAX_SECONDS = 60,
	LEASE_BREAK_MAX_SECONDS = 60,
	LEASE_BREAK_DEFAULT = -1
};

enum lease_state { LEASE_AVAILABLE, LEASE_LEASED, LEASE_BREAKING, LEASE_BROKEN, LEASE_EXPIRED };

struct lease {
	bool held;     /* false: available, the rest means nothing */
	bool breaking; /* a break was asked for; broken once `end_ticks` is past */
	struct uuid id;
	int32_t duration_s; /* LEASE_INFINITE or 15..60 */
	uint64_t end_ticks; /* leased: expiry (TICKS_FOREVER if infinite); breaking: end of the break period */
};

/* Which error a resource reports; the rules are the same for all. */
struct lease_errors {
	enum err id_missing, lost, mismatch, not_present; /* use of the resource */
	enum err op_not_present, op_mismatch;		  /* lease operations */
};
extern const struct lease_errors lease_errors_blob, lease_errors_container, lease_errors_share, lease_errors_file;

enum lease_state lease_state(const struct lease *, uint64_t now_ticks);

/* Lease operations (specs: lease operations by state). Each changes *lease only on ERR_OK. `proposed` may be NULL where
 * the id is optional; `minted` is then used. */
enum err lease_acquire(struct lease *, const struct lease_errors *, uint64_t now_ticks, const struct uuid *proposed,
		       const struct uuid *minted, int32_t duration_s) MUST_CHECK;
enum err lease_renew(struct lease *, const struct lease_errors *, uint64_t now_ticks, const struct uuid *id) MUST_CHECK;
enum err lease_change(struct lease *, const struct lease_errors *, uint64_t now_ticks, const struct uuid *id,
		      const struct uuid *proposed) MUST_CHECK;
enum err lease_release(struct lease *, const struct lease_errors *, uint64_t now_ticks,
		       const struct uuid *id) MUST_CHECK;
/* period_s: 0..60 or LEASE_BREAK_DEFAULT. *ret_seconds_left: what x-ms-lease-time says. */
enum err lease_break(struct lease *, const struct lease_errors *, uint64_t now_ticks, int32_t period_s,
		     uint32_t *ret_seconds_left) MUST_CHECK;

/* Uses of the resource (specs: uses by state). id may be NULL. lease_check_write is for operations a lease excludes
 * others from; on success of such a write call lease_note_write: in broken or expired it forgets the id. */
enum err lease_check_read(const struct lease *, const struct lease_errors *, uint64_t now_ticks,
			  const struct uuid *id) MUST_CHECK;
enum err lease_check_write(const struct lease *, const struct lease_errors *, uint64_t now_ticks,
			   const struct uuid *id) MUST_CHECK;
void lease_note_write(struct lease *, uint64_t now_ticks);

/* What a lease request says; the same for every resource. lease_request_run does the action it names. */
enum lease_action {
	LEASE_ACTION_ACQUIRE,
	LEASE_ACTION_RENEW,
	LEASE_ACTION_CHANGE,
	LEASE_ACTION_RELEASE,
	LEASE_ACTION_BREAK
};

struct lease_request {
	enum lease_action action;
	bool has_id, has_proposed;
	struct uuid id, proposed, minted;
	int32_t duration_s;	/* acquire */
	int32_t break_period_s; /* break: 0..60 or LEASE_BREAK_DEFAULT */
	/* out */
	struct uuid result_id;
	uint32_t break_seconds_left;
};
enum err lease_request_run(struct lease *, const struct lease_errors *, uint64_t now_ticks,
			   struct lease_request *) MUST_CHECK;

/* Record fields. */
void lease_encode(struct buf *, const struct lease *);
struct lease lease_decode(struct cursor *);

/* Header and XML words. */
const char *lease_state_word(enum lease_state);	 /* available, leased, breaking, broken, expired */
const char *lease_status_word(enum lease_state); /* locked, unlocked */
/* "infinite" or "fixed" while leased, else NULL. */
const char *lease_duration_word(const struct lease *, uint64_t now_ticks);

#endif
