/* SPDX-License-Identifier: Apache-2.0
 * Jobs that were taken from the queue and are not in a group yet. Accounts take turns: each has a line of its own, and
 * the next job is of the account that used the least of the committer's time, so that one which commits large things
 * holds up the others by one of them and not by all. Jobs of one account keep their order; an account that was away
 * gains no credit by it. Jobs whose group did not happen come before all others, in their order.
 *
 * The committer's alone. Accounts are told apart by a hash: two of them may share a line. */
#ifndef STORE_PENDING_H
#define STORE_PENDING_H

#include "store/store.h"

enum { PENDING_LINES = 64 };

struct pending_line {
	struct store_job *first, *last;
	uint64_t used; /* of the committer's time */
};

struct pending {
	struct pending_line again;		 /* their group did not happen */
	struct pending_line line[PENDING_LINES]; /* by account */
	uint64_t waiting;			 /* a bit for each line that is not empty */
	uint64_t served;			 /* what the line served last had used: who comes now begins there */
};

void pending_add(struct pending *, struct store_job *);
/* Before those that were pushed in front earlier. */
void pending_add_again(struct pending *, struct store_job *);
/* The next one; NULL: none. The same until one is taken or added, or time is charged. */
struct store_job *pending_next(const struct pending *);
struct store_job *pending_take(struct pending *);
/* What running a job of this line cost. */
void pending_charge(struct pending *, unsigned line, uint64_t cost);
/* Whether a job of another account than this one's waits. */
bool pending_has_others(const struct pending *, const struct store_job *);

#endif
