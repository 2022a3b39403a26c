/* SPDX-License-Identifier: Apache-2.0
 * Which volatile rows transactions have looked at or changed. */
#include "store/commit/touched.h"

#include <stddef.h>
#include <string.h>

enum { WORDS = TOUCHED_BITS / 64 };

void touched_clear(struct touched *t)
{
	if (t->any)
		memset(t, 0, sizeof *t);
}

void touched_add(struct touched *t, uint64_t hash)
{
	t->any = true;
	t->bits[hash % TOUCHED_BITS / 64] |= UINT64_C(1) << hash % 64;
}

void touched_add_all(struct touched *t)
{
	t->any = t->all = true;
}

void touched_merge(struct touched *into, const struct touched *t)
{
	if (!t->any)
		return;
	into->any = true;
	into->all |= t->all;
	for (size_t i = 0; i < WORDS; i++)
		into->bits[i] |= t->bits[i];
}

bool touched_meet(const struct touched *a, const struct touched *b)
{
	if (!a->any || !b->any)
		return false;
	uint64_t common = a->all || b->all;
	for (size_t i = 0; i < WORDS; i++)
		common |= a->bits[i] & b->bits[i];
	return common != 0;
}
