/* SPDX-License-Identifier: Apache-2.0
 * Encoding and comparison of name and value pairs. */
#include "svc/common/metadata.h"

void pairs_encode(struct buf *b, const struct pairs *p)
{
	bytes_put_u16(b, (uint16_t)p->count);
	for (size_t i = 0; i < p->count; i++) {
		bytes_put_str(b, p->pair[i].name);
		bytes_put_str(b, p->pair[i].value);
	}
}

struct pairs pairs_decode(struct cursor *c, struct arena *arena)
{
	struct pairs p = { NULL, 0 };
	size_t count = cursor_u16(c);
	if (c->failed || count == 0)
		return p;
	p.pair = count <= PAIRS_MAX ? ARENA_NEW_ARRAY(arena, struct pair, count) : NULL;
	if (!p.pair) {
		c->failed = true;
		return p;
	}
	for (size_t i = 0; i < count; i++) {
		p.pair[i].name = cursor_str(c);
		p.pair[i].value = cursor_str(c);
	}
	p.count = c->failed ? 0 : count;
	return p;
}

bool pairs_equal(const struct pairs *a, const struct pairs *b)
{
	if (a->count != b->count)
		return false;
	for (size_t i = 0; i < a->count; i++) {
		bool found = false;
		for (size_t k = 0; k < b->count && !found; k++)
			found = slice_eq_nocase(a->pair[i].name, b->pair[k].name) &&
				slice_eq(a->pair[i].value, b->pair[k].value);
		if (!found)
			return false;
	}
	return true;
}
