/* SPDX-License-Identifier: Apache-2.0
 * A list of containers with all the metadata they may have: pages that a request can hold, and all of them in the
 * end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "container.h"
#include "svc/account/resource.h"

enum { CONTAINERS = 5000, METADATA_BYTES = 8 * 1024 - 1, PAGES_MAX = 100 };
_Static_assert((size_t)CONTAINERS *METADATA_BYTES > LIMIT_REQUEST_ARENA_BYTES, "or it proves nothing");

static enum err apply_put(struct txn *txn, void *call)
{
	return resource_put(txn, call);
}

struct list_call {
	struct slice from;
	struct resource_page page;
};

static enum err apply_list(struct txn *txn, void *call)
{
	struct list_call *c = call;
	return resource_list(txn, RESOURCE_CONTAINER, SLICE(""), c->from, CONTAINERS, &c->page);
}

static void fill(struct store *store, struct slice account, struct arena *arena)
{
	static char value[METADATA_BYTES];
	memset(value, 'v', sizeof value);
	struct pair pair = { SLICE("m"), slice_make(value, sizeof value) };
	for (unsigned i = 0; i < CONTAINERS; i++) {
		char name[16];
		int n = snprintf(name, sizeof name, "c%05u", i);
		struct resource r = { .kind = RESOURCE_CONTAINER,
				      .name = slice_make(name, (size_t)n),
				      .generation = i + 1,
				      .metadata = { &pair, 1 } };
		assert_int_equal(store_write_wait(store, account, apply_put, &r, arena), ERR_OK);
		arena_reset(arena);
	}
}

static void test_much_metadata(void **state)
{
	struct mem_options options = { .seed = 1 };
	struct clock clock;
	struct engine *engine;
	struct store *store;
	struct arena arena, kept;
	struct list_call c = { .from = SLICE_NONE };
	unsigned seen = 0, pages = 0;
	clock_init_fake(&clock, UINT64_C(639000000000000000));
	arena_init(&arena, LIMIT_REQUEST_ARENA_BYTES);
	arena_init(&kept, MIB);
	mem_store_open(&options, &clock, &engine, &store);
	struct slice account = resource_account_partition(&kept, SLICE("acc"));
	fill(store, account, &arena);
	do {
		assert_int_equal(store_read(store, account, apply_list, &c, &arena), ERR_OK);
		for (size_t i = 0; i < c.page.count; i++) {
			char name[16];
			int n = snprintf(name, sizeof name, "c%05u", seen++);
			assert_true(slice_eq(c.page.resource[i].name, slice_make(name, (size_t)n)));
		}
		c.from = arena_dup(&kept, c.page.next_name);
		arena_reset(&arena);
	} while (slice_is_set(c.from) && ++pages < PAGES_MAX);
	assert_int_equal(seen, CONTAINERS);
	store_close(store);
	arena_fini(&arena);
	arena_fini(&kept);
}

struct visits {
	unsigned next, stop_at; /* the number of the one to come, and of the one to stop at */
	enum err then;		/* the answer there */
};

static enum err visit(void *arg, const struct resource *r, struct arena *arena, bool *stop)
{
	struct visits *v = arg;
	char name[16];
	int n = snprintf(name, sizeof name, "c%05u", v->next);
	assert_true(slice_eq(r->name, slice_make(name, (size_t)n)));
	*stop = v->next == v->stop_at && v->then == ERR_OK;
	return v->next++ == v->stop_at ? v->then : ERR_OK;
}

/* Every one once and in order, over many pages; from a name on; until the visitor has enough, or fails. */
static void test_walk(void **state)
{
	struct mem_options options = { .seed = 1 };
	struct clock clock;
	struct engine *engine;
	struct store *store;
	struct arena arena, kept;
	struct slice name = SLICE("acc");
	clock_init_fake(&clock, UINT64_C(639000000000000000));
	arena_init(&arena, LIMIT_REQUEST_ARENA_BYTES);
	arena_init(&kept, MIB);
	mem_store_open(&options, &clock, &engine, &store);
	fill(store, resource_account_partition(&kept, name), &arena);
	struct visits all = { 0, CONTAINERS, ERR_OK }, behind = { 4321, CONTAINERS, ERR_OK }, some = { 0, 777, ERR_OK },
		      failing = { 0, 777, ERR_IO }, none = { 0, 0, ERR_OK };
	assert_int_equal(resource_walk(store, name, RESOURCE_CONTAINER, SLICE(""), visit, &all), ERR_OK);
	assert_int_equal(all.next, CONTAINERS);
	assert_int_equal(resource_walk(store, name, RESOURCE_CONTAINER, SLICE("c04321"), visit, &behind), ERR_OK);
	assert_int_equal(behind.next, CONTAINERS);
	assert_int_equal(resource_walk(store, name, RESOURCE_CONTAINER, SLICE(""), visit, &some), ERR_OK);
	assert_int_equal(some.next, 778);
	assert_int_equal(resource_walk(store, name, RESOURCE_CONTAINER, SLICE(""), visit, &failing), ERR_IO);
	assert_int_equal(failing.next, 778);
	assert_int_equal(resource_walk(store, name, RESOURCE_QUEUE, SLICE(""), visit, &none), ERR_OK);
	assert_int_equal(none.next, 0);
	store_close(store);
	arena_fini(&arena);
	arena_fini(&kept);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_much_metadata),
		cmocka_unit_test(test_walk),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
