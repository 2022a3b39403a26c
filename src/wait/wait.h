/* SPDX-License-Identifier: Apache-2.0
 * The waiting list of requests of both doors: who waits for an acknowledgement, a close or an unlock of one file.
 *
 * A waiter ends exactly once: woken, timed out, cancelled or dropped. `ended` is called on the loop that began the
 * wait, never from inside a call of this room, and never after wait_drop. Whoever is woken runs its transaction again
 * and may find that it has to wait once more: a wake says "look again", not "granted".
 *
 * No wake is lost if the wait begins before the transaction that looks (or that marks the break), and if whoever
 * changes the state wakes after its commit.
 *
 * Threads: wait_wake from any; the others on the waiter's own loop. */
#ifndef WAIT_WAIT_H
#define WAIT_WAIT_H

#include "base/err.h"
#include "io/loop.h"

struct wait_list;
struct waiter;

/* A file of a share. Two shares that fall on one number cost a needless look, nothing else. */
struct wait_key {
	uint64_t share; /* hash of the partition's id */
	uint64_t inode;
};

enum wait_end { WAIT_WOKEN, WAIT_TIMED_OUT, WAIT_CANCELLED };
typedef void wait_ended_fn(void *owner, enum wait_end);

enum { LIMIT_WAITERS = 65536 }; /* of the server, shared fairly; each is a parked request with its memory */

enum err wait_list_new(struct wait_list **ret) MUST_CHECK;
void wait_list_free(struct wait_list *); /* nobody waits any more; accepts NULL */

/* account: fair_owner of the one that waits. deadline_ms: of io_loop_now_ms, 0 = none. ERR_BUSY: too many wait. */
enum err wait_begin(struct wait_list *, const struct wait_key *, unsigned account, struct io_loop *,
		    uint64_t deadline_ms, wait_ended_fn *ended, void *owner, struct waiter **ret) MUST_CHECK;
/* `ended` comes with WAIT_CANCELLED, unless it already ended otherwise and is on its way. */
void wait_cancel(struct waiter *);
/* The request is gone: `ended` does not come. Accepts NULL. */
void wait_drop(struct waiter *);
/* All that wait for this file look again, in the order in which they began. */
void wait_wake(struct wait_list *, const struct wait_key *);

size_t wait_count(struct wait_list *);

#endif
