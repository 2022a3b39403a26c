/* SPDX-License-Identifier: Apache-2.0
 * How fast an account or a container may be used: requests and bytes a second. Each rate is one number that any thread
 * moves on: the time until which what was used is paid for. A second's worth may be used at once.
 *
 * Bytes are charged when a request ended, because only then they are known: one that was let in goes at full speed, and
 * those behind it are refused until it is paid for. */
#ifndef AUTH_QUOTA_H
#define AUTH_QUOTA_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/err.h"

struct quota_rate {
	uint64_t per_s; /* 0: no limit */
	atomic_uint_least64_t paid_until_ns;
};

struct auth_quota {
	struct quota_rate requests, ingress, egress;
	atomic_uint_least64_t looked_ns, looked_bytes; /* of the account: when it was last added up, and to what */
	uint64_t stored_bytes; /* at most so many are kept; 0: no limit. Counted by the store (store/meter.h) */
};

/* What stands in the way of one more request now, ERR_OK if nothing: *ret_wait_s until it would be let in, and *ret_why
 * the message of the service. Counts the request if it is let in. `now_ns` is monotonic. */
enum err quota_take(struct auth_quota *, uint64_t now_ns, uint64_t *ret_wait_s, const char **ret_why) MUST_CHECK;
/* The bytes of the bodies of a request that ended. */
void quota_charge(struct auth_quota *, uint64_t now_ns, uint64_t bytes_in, uint64_t bytes_out);

#endif
