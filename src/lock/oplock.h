/* SPDX-License-Identifier: Apache-2.0
 * What clients may cache: oplocks (of one open) and leases (of a client's key, shared by its opens of the file), both
 * as one thing with a state of three bits. Level II is R, exclusive RW, batch RWH.
 *
 * A break lowers the state. While the holder has not acknowledged it the old state stands, `breaking` is set, and more
 * demand only lowers what the holder must come down to; the next step is sent after the acknowledgement. A break of a
 * lease that is exactly R, or of level II, needs no acknowledgement and happens at once. When the deadline has passed
 * the holder counts as having nothing left: nobody has to do anything for that, oplock_at() sees it by the clock.
 * Pure functions; time is an argument. */
#ifndef LOCK_OPLOCK_H
#define LOCK_OPLOCK_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

enum { CACHE_READ = 1, CACHE_HANDLE = 2, CACHE_WRITE = 4, CACHE_RH = 3, CACHE_RW = 5, CACHE_RWH = 7 };

enum oplock_kind { OPLOCK_NONE, OPLOCK_PLAIN, OPLOCK_LEASE };

struct oplock_guid {
	uint8_t bytes[16];
};

struct oplock {
	enum oplock_kind kind;
	struct oplock_guid client, key; /* lease: together its name */
	uint8_t version;		/* lease: 1 or 2 */
	uint16_t epoch;			/* lease version 2: grows with each change of state */
	uint8_t state;
	bool breaking;
	uint8_t break_to;	       /* breaking: what the holder was told */
	uint8_t break_required;	       /* breaking: what is needed by now; lower than break_to: another break follows */
	uint64_t break_deadline_ticks; /* breaking: after this the holder has nothing */
};

/* What a client asks for at open. */
struct oplock_request {
	enum oplock_kind kind;
	struct oplock_guid client, key;
	uint8_t version;
	uint16_t epoch;
	uint8_t state;
};

/* What its holder is to be told, after the commit. */
struct oplock_notice {
	uint8_t from, to;
	uint16_t epoch;
	bool ack_required;
};

bool oplock_is_lease_of(const struct oplock *, const struct oplock_guid *client, const struct oplock_guid *key);
/* As it stands at this time: a break that was not acknowledged in time has left nothing. */
struct oplock oplock_at(const struct oplock *, uint64_t now_ticks);

/* Asks the holder to keep no more than `keep`. True: *ret_notice is to be sent. *o is what to store. */
bool oplock_break(struct oplock *, uint8_t keep, uint64_t deadline_ticks, struct oplock_notice *ret_notice);
/* The holder's answer. ERR_SMB_UNSUCCESSFUL: nothing was breaking; ERR_SMB_REQUEST_NOT_ACCEPTED: more than offered;
 * for plain oplocks ERR_SMB_INVALID_OPLOCK_PROTOCOL. *ret_again: the break goes on with *ret_notice. */
enum err oplock_acknowledge(struct oplock *, uint8_t state, uint64_t deadline_ticks, bool *ret_again,
			    struct oplock_notice *ret_notice) MUST_CHECK;

/* A new open joins: `existing` is its lease if the client has it already (else kind OPLOCK_NONE), `granted` what the
 * other opens leave room for. A lease only grows, only to all that was asked for, and not while it is broken. */
struct oplock oplock_grant(const struct oplock *existing, const struct oplock_request *, uint8_t granted);

/* Levels of the SMB wire (0, 1, 8, 9) from and to states. */
uint8_t oplock_level_state(uint8_t level);
uint8_t oplock_state_level(uint8_t state);

#endif
