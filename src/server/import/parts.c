/* SPDX-License-Identifier: Apache-2.0
 * A growing array, sorted once and searched by halves. */
#include "server/import/parts.h"

#include <stdlib.h>

static int cmp_owner(const struct import_part *a, struct slice container, struct slice name)
{
	int c = slice_cmp(a->container, container);
	return c ? c : slice_cmp(a->name, name);
}

static int cmp_part(const void *x, const void *y)
{
	const struct import_part *a = x, *b = y;
	int c = cmp_owner(a, b->container, b->name);
	if (c == 0)
		c = slice_cmp(a->order, b->order);
	return c ? c : a->place < b->place ? -1 : a->place > b->place;
}

bool import_part_add(struct import_parts *l, struct import_part p, struct arena *arena)
{
	if (l->count == l->room) {
		size_t room = l->room ? 2 * l->room : 64;
		struct import_part *more = realloc(l->part, room * sizeof *more);
		if (!more)
			return false;
		l->part = more;
		l->room = room;
	}
	p.container = arena_dup(arena, p.container);
	p.name = arena_dup(arena, p.name);
	p.order = arena_dup(arena, p.order);
	p.place = l->count;
	if (!slice_is_set(p.container) || !slice_is_set(p.name) || !slice_is_set(p.order))
		return false;
	l->part[l->count++] = p;
	return true;
}

void import_parts_sort(struct import_parts *l)
{
	if (l->count)
		qsort(l->part, l->count, sizeof *l->part, cmp_part);
}

const struct import_part *import_parts_find(const struct import_parts *l, struct slice container, struct slice name,
					    size_t *ret_count)
{
	size_t low = 0, high = l->count, end;
	while (low < high) {
		size_t mid = low + (high - low) / 2;
		if (cmp_owner(&l->part[mid], container, name) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	for (end = low; end < l->count && cmp_owner(&l->part[end], container, name) == 0;)
		end++;
	*ret_count = end - low;
	return end > low ? l->part + low : NULL;
}

void import_parts_free(struct import_parts *l)
{
	free(l->part);
	*l = (struct import_parts){ 0 };
}
