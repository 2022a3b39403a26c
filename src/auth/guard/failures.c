/* SPDX-License-Identifier: Apache-2.0
 * Failed logins by address and account. See failures.h. */
#include "auth/guard/failures.h"

#include <assert.h>
#include <limits.h>
#include <string.h>

#include "base/hash.h"

void failures_init(struct failures *f, uint32_t delay_ms)
{
	memset(f, 0, sizeof *f);
	f->delay_ms = delay_ms;
	pthread_mutex_init(&f->lock, NULL);
}

/* Under the lock. */
static unsigned count_one(struct failures_of place[FAILURES_PLACES], struct slice name, uint64_t now_ms)
{
	if (name.len >= FAILURES_NAME_BYTES)
		name.len = FAILURES_NAME_BYTES - 1;
	struct failures_of *p = &place[base_hash_bytes(0, name) % FAILURES_PLACES];
	bool same = slice_eq(slice_str(p->name), name);
	if (!same || now_ms > p->last_ms + FAILURES_FORGET_MS) {
		memset(p->name, 0, sizeof p->name);
		memcpy(p->name, name.ptr, name.len);
		p->count = 0;
	}
	p->last_ms = now_ms;
	if (p->count < UINT_MAX)
		p->count++;
	return p->count;
}

struct failures_verdict failures_add(struct failures *f, enum failures_door door, struct slice address,
				     struct slice account, uint64_t now_ms)
{
	struct failures_verdict v = { 0 };
	assert(f && door < FAILURES_DOORS && address.len > 0);
	pthread_mutex_lock(&f->lock);
	v.of_address = count_one(f->address, address, now_ms);
	if (account.len)
		v.of_account = count_one(f->account, account, now_ms);
	pthread_mutex_unlock(&f->lock);
	if (v.of_address > FAILURES_FREE_ADDRESS || v.of_account > FAILURES_FREE_ACCOUNT)
		v.wait_ms = f->delay_ms;
	atomic_fetch_add_explicit(&f->total[door], 1, memory_order_relaxed);
	if (v.wait_ms)
		atomic_fetch_add_explicit(&f->slowed[door], 1, memory_order_relaxed);
	return v;
}

bool failures_worth_telling(const struct failures_verdict *v)
{
	unsigned n = v->of_address > FAILURES_FREE_ADDRESS ? v->of_address : v->of_account;
	if (v->of_address <= FAILURES_FREE_ADDRESS && v->of_account <= FAILURES_FREE_ACCOUNT)
		return false;
	return n == FAILURES_FREE_ADDRESS + 1 || (n & (n - 1)) == 0;
}
