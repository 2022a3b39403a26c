/* SPDX-License-Identifier: Apache-2.0
 * The cache of hot records: what is filled is found, what changes is never shown old, and the byte limit holds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/hash.h"
#include "base/limits.h"
#include "store/cache.h"

#define P SLICE("partition")

struct fixture {
	struct cache *cache;
	struct arena arena;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof *f);
	f->cache = cache_new(MIB);
	arena_init(&f->arena, MIB);
	*state = f;
	return f->cache ? 0 : -1;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	cache_free(f->cache);
	arena_fini(&f->arena);
	free(f);
	return 0;
}

static uint64_t h(struct slice key)
{
	return base_hash_bytes(1, key);
}

static uint64_t ticket_for(struct fixture *f, struct slice key)
{
	struct slice value;
	enum err err;
	uint64_t ticket = UINT64_MAX;
	arena_reset(&f->arena);
	cache_find(f->cache, h(key), P, key, &f->arena, &value, &err, &ticket);
	return ticket;
}

static void fill(struct fixture *f, struct slice key, struct slice value)
{
	cache_fill(f->cache, h(key), P, key, value, ticket_for(f, key));
}

/* "" for "known to be absent", NULL for a miss. */
static const char *find(struct fixture *f, struct slice key)
{
	static char text[64];
	struct slice value = SLICE("");
	enum err err;
	uint64_t ticket;
	if (!cache_find(f->cache, h(key), P, key, &f->arena, &value, &err, &ticket))
		return NULL;
	assert_true(err == ERR_OK || err == ERR_NOT_FOUND);
	snprintf(text, sizeof text, "%.*s", SLICE_FMT(value));
	return text;
}

static void filled_is_found(void **state)
{
	struct fixture *f = *state;
	assert_null(find(f, SLICE("k")));
	fill(f, SLICE("k"), SLICE("v"));
	assert_string_equal(find(f, SLICE("k")), "v");
	assert_null(find(f, SLICE("kk")));
	fill(f, SLICE("absent"), SLICE_NONE);
	assert_string_equal(find(f, SLICE("absent")), "");
}

static void a_hot_key_is_replaced_by_a_commit(void **state)
{
	struct fixture *f = *state;
	struct slice k = SLICE("k");
	fill(f, k, SLICE("old"));
	cache_flux_begin(f->cache, h(k), P, k);
	assert_null(find(f, k)); /* neither old nor new while the commit is on its way */
	cache_flux_end(f->cache, h(k), P, k, SLICE("new"), true);
	assert_string_equal(find(f, k), "new");
	cache_flux_begin(f->cache, h(k), P, k);
	cache_flux_end(f->cache, h(k), P, k, SLICE_NONE, true);
	assert_string_equal(find(f, k), "");
	cache_flux_begin(f->cache, h(k), P, k);
	cache_flux_end(f->cache, h(k), P, k, SLICE("lost"), false);
	assert_null(find(f, k)); /* the group did not happen */
}

static void twice_in_a_group_shows_the_last(void **state)
{
	struct fixture *f = *state;
	struct slice k = SLICE("k");
	fill(f, k, SLICE("old"));
	cache_flux_begin(f->cache, h(k), P, k);
	cache_flux_begin(f->cache, h(k), P, k);
	cache_flux_end(f->cache, h(k), P, k, SLICE("first"), true);
	assert_null(find(f, k));
	cache_flux_end(f->cache, h(k), P, k, SLICE("second"), true);
	assert_string_equal(find(f, k), "second");
}

static void a_reader_that_read_before_cannot_fill(void **state)
{
	struct fixture *f = *state;
	struct slice k = SLICE("k");
	uint64_t ticket = ticket_for(f, k);
	cache_flux_begin(f->cache, h(k), P, k);
	cache_fill(f->cache, h(k), P, k, SLICE("old"), ticket);
	assert_null(find(f, k)); /* in flux */
	uint64_t during = ticket_for(f, k);
	cache_flux_end(f->cache, h(k), P, k, SLICE("new"), true);
	cache_fill(f->cache, h(k), P, k, SLICE("old"), ticket);
	assert_null(find(f, k)); /* its ticket is from before the commit */
	cache_fill(f->cache, h(k), P, k, SLICE("old"), during);
	assert_null(find(f, k)); /* or from the middle of it */
	fill(f, k, SLICE("new"));
	assert_string_equal(find(f, k), "new");
}

static void a_group_larger_than_the_list(void **state)
{
	struct fixture *f = *state;
	char name[16];
	enum { MANY = 4000 };
	for (int i = 0; i < MANY; i++) {
		struct slice k = slice_make(name, (size_t)snprintf(name, sizeof name, "k%d", i));
		fill(f, k, SLICE("old"));
		cache_flux_begin(f->cache, h(k), P, k);
	}
	for (int i = 0; i < MANY; i++) {
		struct slice k = slice_make(name, (size_t)snprintf(name, sizeof name, "k%d", i));
		fill(f, k, SLICE("old"));
		assert_null(find(f, k));
		cache_flux_end(f->cache, h(k), P, k, SLICE("new"), true);
		const char *got = find(f, k);
		assert_true(!got || strcmp(got, "new") == 0);
	}
	fill(f, SLICE("k0"), SLICE("new")); /* all ended: the cache works again */
	assert_string_equal(find(f, SLICE("k0")), "new");
}

static void the_limit_holds(void **state)
{
	struct fixture *f = *state;
	char name[16], value[1000] = { 0 };
	uint64_t hits, misses;
	size_t bytes;
	for (int i = 0; i < 5000; i++) {
		struct slice k = slice_make(name, (size_t)snprintf(name, sizeof name, "k%d", i));
		fill(f, k, slice_make(value, sizeof value));
		fill(f, k, slice_make(value, sizeof value)); /* asked for twice: it gets a place */
		fill(f, SLICE("hot"), SLICE("v"));
		assert_non_null(find(f, SLICE("hot"))); /* asked for all the time: it stays */
		cache_stats(f->cache, &hits, &misses, &bytes);
		assert_true(bytes <= MIB);
	}
	assert_true(bytes > MIB / 2);
	assert_null(find(f, SLICE("k0")));
}

static void what_is_asked_for_once_pushes_nothing_out(void **state)
{
	struct fixture *f = *state;
	char name[16], value[1000] = { 0 };
	size_t kept = 0;
	for (int i = 0; i < 5000; i++)
		fill(f, slice_make(name, (size_t)snprintf(name, sizeof name, "k%d", i)),
		     slice_make(value, sizeof value));
	for (int i = 0; i < 100; i++)
		kept += find(f, slice_make(name, (size_t)snprintf(name, sizeof name, "k%d", i))) != NULL;
	assert_true(kept > 95); /* two keys may look alike */
	fill(f, SLICE("late"), SLICE("v"));
	fill(f, SLICE("late"), SLICE("v"));
	assert_string_equal(find(f, SLICE("late")), "v");
}

int main(void)
{
#define T(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(filled_is_found),
		T(a_hot_key_is_replaced_by_a_commit),
		T(twice_in_a_group_shows_the_last),
		T(a_reader_that_read_before_cannot_fill),
		T(a_group_larger_than_the_list),
		T(the_limit_holds),
		T(what_is_asked_for_once_pushes_nothing_out),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
