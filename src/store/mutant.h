/* SPDX-License-Identifier: Apache-2.0
 * Ways to break a promise on purpose, so that the proofs can show they would notice (test/proof/sim,
 * test/proof/crash). Chosen by store_options.mutant; 0 breaks nothing. Built only with ZAFFRE_MUTANTS; without it
 * store_mutant() is a constant 0 and the branches vanish. */
#ifndef STORE_MUTANT_H
#define STORE_MUTANT_H

enum mutant {
	MUTANT_NONE = 0,
	MUTANT_ACK_BEFORE_SYNC = 1,    /* done is called before group_commit */
	MUTANT_OUT_OF_ORDER = 2,       /* write sets of a group are accepted in reverse order of their applies */
	MUTANT_JUDGE_BEFORE_GROUP = 3, /* applies read the committed state, not the overlay */
	MUTANT_STALE_OVERLAY = 4,      /* applies do not see the write set accepted just before theirs */
	MUTANT_STALE_CACHE = 5,	       /* committed keys stay in the cache of hot records */
	MUTANT_ENDLESS_LEASES = 6,     /* leases never expire, broken ones never end (base/mutant.h) */
	/* Several front ends (test/proof/sim/fronts.c). */
	MUTANT_SHARED_TIME = 7,		/* the time of one partition is the floor of all others */
	MUTANT_RETRY_ALONE = 8,		/* jobs of a refused group run again one by one */
	MUTANT_UNIQUE_BY_TIME = 9,	/* txn_unique is the second */
	MUTANT_SETTLE_LIVE = 10,	/* a start gives up the creations of those that run */
	MUTANT_PUBLISH_BLIND = 11,	/* a creation ends without looking whether it was given up */
	MUTANT_ANSWER_EARLY = 12,	/* what changes volatile rows only is answered at once, whatever it has seen */
	MUTANT_FLUSH_WITHOUT_SYNC = 13, /* a job that asks for a sync is answered without one */
	MUTANT_COUNT
};

#endif
