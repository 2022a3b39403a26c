/* SPDX-License-Identifier: Apache-2.0
 * Rates by one moving time each. See quota.h. */
#include "auth/quota.h"

#define SECOND_NS UINT64_C(1000000000)

enum { CHARGE_MAX_S = 3600 }; /* one request keeps others out for at most so long */

/* How long `count` of them last at this rate. */
static uint64_t cost_ns(const struct quota_rate *r, uint64_t count)
{
	uint64_t whole = count / r->per_s, part = count % r->per_s;
	if (whole >= CHARGE_MAX_S)
		return CHARGE_MAX_S * SECOND_NS;
	return whole * SECOND_NS + (uint64_t)((double)part * 1e9 / (double)r->per_s);
}

/* Waiting time until there is room, 0 if there is. */
static uint64_t wait_s(const struct quota_rate *r, uint64_t now_ns)
{
	uint64_t until = atomic_load_explicit(&r->paid_until_ns, memory_order_relaxed);
	if (r->per_s == 0 || until <= now_ns + SECOND_NS)
		return 0;
	return (until - now_ns - SECOND_NS + SECOND_NS - 1) / SECOND_NS;
}

static void charge(struct quota_rate *r, uint64_t now_ns, uint64_t count)
{
	uint64_t until, next;
	if (r->per_s == 0 || count == 0)
		return;
	until = atomic_load_explicit(&r->paid_until_ns, memory_order_relaxed);
	do
		next = (until > now_ns ? until : now_ns) + cost_ns(r, count);
	while (!atomic_compare_exchange_weak_explicit(&r->paid_until_ns, &until, next, memory_order_relaxed,
						      memory_order_relaxed));
}

/* Counts one if it fits into the second ahead. */
static uint64_t take_one(struct quota_rate *r, uint64_t now_ns)
{
	uint64_t until, next;
	if (r->per_s == 0)
		return 0;
	until = atomic_load_explicit(&r->paid_until_ns, memory_order_relaxed);
	do {
		next = (until > now_ns ? until : now_ns) + cost_ns(r, 1);
		if (next > now_ns + SECOND_NS)
			return (next - now_ns - 1) / SECOND_NS;
	} while (!atomic_compare_exchange_weak_explicit(&r->paid_until_ns, &until, next, memory_order_relaxed,
							memory_order_relaxed));
	return 0;
}

enum err quota_take(struct auth_quota *q, uint64_t now_ns, uint64_t *ret_wait_s, const char **ret_why)
{
	*ret_why = "Ingress is over the account limit.";
	*ret_wait_s = wait_s(&q->ingress, now_ns);
	if (*ret_wait_s == 0) {
		*ret_why = "Egress is over the account limit.";
		*ret_wait_s = wait_s(&q->egress, now_ns);
	}
	if (*ret_wait_s == 0) {
		*ret_why = "Operations per second is over the account limit.";
		*ret_wait_s = take_one(&q->requests, now_ns);
	}
	return *ret_wait_s == 0 ? ERR_OK : ERR_SERVER_BUSY;
}

void quota_charge(struct auth_quota *q, uint64_t now_ns, uint64_t bytes_in, uint64_t bytes_out)
{
	charge(&q->ingress, now_ns, bytes_in);
	charge(&q->egress, now_ns, bytes_out);
}
