/* SPDX-License-Identifier: Apache-2.0
 * How many logins failed of late, by the address they came from and by the account they were for, over all connections
 * of both front ends; and how long the answer to the next failure waits. A login is a signature, a token or a password
 * that proves nothing: requests without credentials and tokens that were right once are none.
 *
 * A table of fixed size: two that share a place forget each other, so nobody can make it grow, and nobody is slowed for
 * another's failures. */
#ifndef AUTH_FAILURES_H
#define AUTH_FAILURES_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "base/slice.h"

enum {
	FAILURES_PLACES = 1024,
	FAILURES_NAME_BYTES = 64,
	FAILURES_FORGET_MS = 60000, /* since the last one */
	FAILURES_FREE_ADDRESS = 2,  /* answered at once; later ones wait */
	FAILURES_FREE_ACCOUNT = 20, /* from many addresses together */
	FAILURES_DELAY_MS = 1000,   /* unless another was set */
};

enum failures_door { FAILURES_REST, FAILURES_SMB, FAILURES_DOORS };

struct failures_of {
	char name[FAILURES_NAME_BYTES];
	unsigned count;
	uint64_t last_ms;
};

struct failures {
	uint32_t delay_ms; /* 0: nobody waits */
	atomic_uint_least64_t total[FAILURES_DOORS];
	atomic_uint_least64_t slowed[FAILURES_DOORS];
	pthread_mutex_t lock; /* a leaf */
	struct failures_of address[FAILURES_PLACES], account[FAILURES_PLACES];
};

struct failures_verdict {
	unsigned of_address, of_account; /* of late, this one included; 0 for an account that is not known */
	uint32_t wait_ms;		 /* before it is answered */
};

void failures_init(struct failures *, uint32_t delay_ms);
/* One more. `account` may be empty: nobody's. */
struct failures_verdict failures_add(struct failures *, enum failures_door, struct slice address, struct slice account,
				     uint64_t now_ms);
/* True for the failures that are worth a line in the log: the first that is slowed, then each time they doubled. */
bool failures_worth_telling(const struct failures_verdict *);

#endif
