/* SPDX-License-Identifier: Apache-2.0
 * What accounts share, counted. */
#include "base/fair.h"

#include "base/hash.h"

#include <assert.h>

void fair_init(struct fair *f, size_t limit)
{
	*f = (struct fair){ .limit = limit };
}

unsigned fair_owner(struct slice account)
{
	return (unsigned)(base_hash_bytes(1, account) % FAIR_OWNERS);
}

size_t fair_free(const struct fair *f)
{
	return f->limit - f->used;
}

bool fair_may_take(const struct fair *f, unsigned owner, size_t amount)
{
	size_t left = fair_free(f);
	return amount <= left && f->owned[owner] <= left - amount;
}

void fair_take(struct fair *f, unsigned owner, size_t amount)
{
	assert(amount <= fair_free(f));
	f->used += amount;
	f->owned[owner] += amount;
}

void fair_give_back(struct fair *f, unsigned owner, size_t amount)
{
	assert(f->owned[owner] >= amount);
	f->used -= amount;
	f->owned[owner] -= amount;
}
