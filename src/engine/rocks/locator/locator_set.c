/* SPDX-License-Identifier: Apache-2.0
 * The set of tables: listed after a flush, and replaced as a whole. Tables that this process wrote are in the page
 * cache most likely and are indexed at once; others when they are read often. */
#include "engine/rocks/locator/locator_int.h"

#include "base/sys/clock.h"

#include <stdlib.h>

enum {
	BUILD_AT_ONCE = 32, /* tables; then the readers get them */
	SET_BYTES = 64 * 1024 * 1024,
};

void locator_set_free(struct locator *l, struct table_set *s)
{
	for (size_t i = 0; i < s->count; i++) {
		struct table_index *t = s->by_number[i]->index;
		if (t && --t->uses == 0)
			locator_index_free(l, t);
	}
	arena_fini(&s->arena);
	free(s);
}

uint64_t locator_tables_version(const struct locator *l)
{
	uint64_t sum = 0, one;
	for (int i = 0; i < LOCATED_FAMILIES; i++)
		if (rocksdb_property_int_cf(l->options.db, l->options.family[i], "rocksdb.current-super-version-number",
					    &one) == 0)
			sum += one;
	return sum;
}

static int family_named(const char *name)
{
	return strcmp(name, LAYOUT_NAME_ROWS) == 0	 ? FAMILY_ROWS
	       : strcmp(name, LAYOUT_NAME_CONTENTS) == 0 ? FAMILY_CONTENTS
							 : LOCATED_FAMILIES;
}

uint64_t locator_table_number(const char *name)
{
	uint64_t number = 0;
	struct slice digits = slice_str(name[0] == '/' ? name + 1 : name); /* "/000123.sst" */
	return slice_to_u64(slice_first(digits, slice_find_byte(digits, '.')), &number) ? number : 0;
}

static int by_largest(const void *a, const void *b)
{
	return slice_cmp(((const struct placed_table *)a)->largest, ((const struct placed_table *)b)->largest);
}

static bool place(struct table_set *s, const rocksdb_livefiles_t *files, int i)
{
	int family = family_named(rocksdb_livefiles_column_family_name(files, i)),
	    level = rocksdb_livefiles_level(files, i);
	if (family == LOCATED_FAMILIES)
		return true;
	if (level < 0 || level >= LEVELS)
		return false;
	struct level *v = &s->level[family][level];
	struct placed_table *t = &v->table[v->count];
	size_t smallest_len, largest_len;
	const char *smallest = rocksdb_livefiles_smallestkey(files, i, &smallest_len),
		   *largest = rocksdb_livefiles_largestkey(files, i, &largest_len);
	t->number = locator_table_number(rocksdb_livefiles_name(files, i));
	t->smallest = arena_dup(&s->arena, slice_make(smallest, smallest_len));
	t->largest = arena_dup(&s->arena, slice_make(largest, largest_len));
	v->count++;
	return slice_is_set(t->smallest) && slice_is_set(t->largest);
}

static bool place_all(struct table_set *s, const rocksdb_livefiles_t *files)
{
	int count = rocksdb_livefiles_count(files);
	size_t room[LOCATED_FAMILIES][LEVELS] = { 0 };
	for (int i = 0; i < count; i++) {
		int family = family_named(rocksdb_livefiles_column_family_name(files, i)),
		    level = rocksdb_livefiles_level(files, i);
		if (family < LOCATED_FAMILIES && level >= 0 && level < LEVELS)
			room[family][level]++;
	}
	for (int f = 0; f < LOCATED_FAMILIES; f++)
		for (int v = 0; v < LEVELS; v++) {
			s->level[f][v].table = ARENA_NEW_ARRAY(&s->arena, struct placed_table, room[f][v] + 1);
			if (!s->level[f][v].table)
				return false;
		}
	for (int i = 0; i < count; i++)
		if (!place(s, files, i))
			return false;
	for (int f = 0; f < LOCATED_FAMILIES; f++)
		for (int v = 1; v < LEVELS; v++)
			qsort(s->level[f][v].table, s->level[f][v].count, sizeof(struct placed_table), by_largest);
	return true;
}

static int by_number(const void *a, const void *b)
{
	uint64_t x = (*(struct placed_table *const *)a)->number, y = (*(struct placed_table *const *)b)->number;
	return x < y ? -1 : x > y;
}

static bool list_by_number(struct table_set *s)
{
	size_t count = 0;
	for (int f = 0; f < LOCATED_FAMILIES; f++)
		for (int v = 0; v < LEVELS; v++)
			count += s->level[f][v].count;
	s->by_number = ARENA_NEW_ARRAY(&s->arena, struct placed_table *, count + 1);
	if (!s->by_number)
		return false;
	for (int f = 0; f < LOCATED_FAMILIES; f++)
		for (int v = 0; v < LEVELS; v++)
			for (size_t i = 0; i < s->level[f][v].count; i++)
				s->by_number[s->count++] = &s->level[f][v].table[i];
	qsort(s->by_number, s->count, sizeof *s->by_number, by_number);
	return true;
}

/* What the set before knew of the tables. */
static void inherit(const struct table_set *old, struct table_set *s)
{
	for (size_t i = 0; old->count && i < s->count; i++) {
		struct placed_table *t = s->by_number[i];
		struct placed_table **before = bsearch(&t, old->by_number, old->count, sizeof t, by_number);
		if (!before)
			continue;
		atomic_store(&t->asked, atomic_load(&(*before)->asked));
		t->index = (*before)->index;
		if (t->index)
			t->index->uses++;
	}
}

static bool may_build(const struct locator *l, const struct placed_table *t)
{
	return !t->index && (t->number >= l->first_own || atomic_load(&t->asked) >= ASKED_OFTEN) &&
	       l->index_bytes < INDEX_BYTES_MAX && l->index_count < l->options.tables_max;
}

/* False: some are left. Ends when a flush begins: then there will be other tables. So it does with the store, which
 * should not wait for as many tables as a disk reads in a minute. */
static bool build(struct locator *l, struct table_set *s, uint64_t flushes)
{
	int built = 0;
	for (size_t i = 0; i < s->count; i++) {
		struct placed_table *t = s->by_number[i];
		if (!may_build(l, t))
			continue;
		if (built == BUILD_AT_ONCE || atomic_load(&l->flushes) != flushes || atomic_load(&l->stop))
			return false;
		if (locator_index_make(l, t->number, &t->index) == ERR_OK)
			t->index->uses = 1;
		else
			atomic_store(&t->asked, 0); /* again, if it is asked for as often again */
		built++;
	}
	return true;
}

static struct table_set *set_new(void)
{
	struct table_set *s = calloc(1, sizeof *s);
	if (s)
		arena_init(&s->arena, SET_BYTES);
	return s;
}

static bool list_tables(struct locator *l, struct table_set *s)
{
	uint64_t began = base_monotonic_ns();
	const rocksdb_livefiles_t *files = rocksdb_livefiles(l->options.db);
	bool listed = place_all(s, files) && list_by_number(s);
	rocksdb_livefiles_destroy(files);
	l->listing_ns = base_monotonic_ns() - began;
	return listed;
}

bool locator_refresh(struct locator *l)
{
	uint64_t flushes = atomic_load(&l->flushes);
	struct table_set *s = set_new();
	if (!s)
		return true;
	locator_free_disposed(l);
	/* In this order: the tables may hold more than page and version tell, never less. */
	s->page = atomic_load(&l->flushed);
	s->version = locator_tables_version(l);
	if (!list_tables(l, s)) {
		locator_set_free(l, s);
		return true;
	}
	const struct table_set *old = locator_current(l);
	if (!old)
		old = locator_kept(l);
	if (old)
		inherit(old, s);
	bool all = build(l, s, flushes);
	(void)locator_set_install(l, s);
	locator_free_disposed(l);
	return all;
}

/* While flushes do not pause: tables that are gone would keep their space as long as they are open here. */
void locator_let_go(struct locator *l)
{
	const struct table_set *old = locator_kept(l);
	uint64_t version = locator_tables_version(l);
	if (!old || old->version == version)
		return;
	struct table_set *s = set_new();
	if (!s)
		return;
	s->version = version;
	if (list_tables(l, s)) {
		inherit(old, s);
		locator_set_keep(l, s);
	} else {
		locator_set_free(l, s);
	}
	locator_free_disposed(l);
}
