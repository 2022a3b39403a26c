/* SPDX-License-Identifier: Apache-2.0
 * The space of extents. Snapshots, versions and copies may name one extent many times; but two different extents never
 * lie in one place, and one that waits to be reclaimed is named by no row. */
#include "server/scrub/scrub.h"

#include <stdlib.h>

void scrub_extent_note(struct scrub *s, const struct extent_ref *e, bool retired)
{
	if (s->named_max && s->named_count == s->named_max) {
		s->named_lost = true;
		return;
	}
	if (s->named_count == s->named_cap) {
		size_t cap = s->named_cap ? s->named_cap * 2 : 1024;
		struct scrub_extent *more = realloc(s->named, cap * sizeof *more);
		if (!more) {
			s->named_lost = true;
			return;
		}
		s->named = more;
		s->named_cap = cap;
	}
	s->named[s->named_count++] = (struct scrub_extent){
		.place = e->place, .blocks = engine_rocks_extent_space(e), .id = e->id, .retired = retired
	};
}

static int by_place(const void *a, const void *b)
{
	const struct scrub_extent *x = a, *y = b;
	if (x->place != y->place)
		return x->place < y->place ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

static void guilty_add(struct scrub *s, uint64_t id)
{
	for (size_t i = 0; i < s->guilty_count; i++)
		if (s->guilty[i] == id)
			return;
	uint64_t *more = realloc(s->guilty, (s->guilty_count + 1) * sizeof *more);
	if (!more)
		return;
	s->guilty = more;
	s->guilty[s->guilty_count++] = id;
}

bool scrub_extent_is_guilty(const struct scrub *s, uint64_t id)
{
	for (size_t i = 0; i < s->guilty_count; i++)
		if (s->guilty[i] == id)
			return true;
	return false;
}

static void retired_note(void *arg, const struct extent_ref *e)
{
	scrub_extent_note(arg, e, true);
}

bool scrub_space_check(struct scrub *s)
{
	if (engine_rocks_retired_each(store_engine(s->store), retired_note, s) != ERR_OK)
		scrub_line_say(s, "the list of extents that wait to be reclaimed");
	if (s->named_lost) {
		scrub_line_say(s, "(not enough memory to check that no two extents share their space)");
		return false;
	}
	if (s->named_count)
		qsort(s->named, s->named_count, sizeof *s->named, by_place);
	struct scrub_extent *reach = NULL; /* of those so far, the one that ends last */
	for (size_t i = 0; i < s->named_count; i++) {
		struct scrub_extent *e = &s->named[i];
		if (reach && e->place < reach->place + reach->blocks &&
		    (e->id != reach->id || e->retired != reach->retired)) {
			guilty_add(s, e->id);
			guilty_add(s, reach->id);
		}
		if (!reach || e->place + e->blocks > reach->place + reach->blocks)
			reach = e;
	}
	return s->guilty_count > 0;
}
