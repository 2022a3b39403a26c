/* SPDX-License-Identifier: Apache-2.0
 * Emptying an account: nothing can be found any more, the reaper gives everything back, and what the reset itself
 * commits and writes depends on the containers alone, not on how much is in them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "container.h"
#include "svc/account/resource.h"

#define ACCOUNT SLICE("acc")

enum { CONTAINERS = 10, MANY_CONTAINERS = 5000, ROUNDS_MAX = MANY_CONTAINERS };

struct account {
	struct clock clock;
	struct engine *engine;
	struct store *store;
	struct arena arena, kept;
	struct slice partition;
};

static void account_open(struct account *a)
{
	struct mem_options options = { .seed = 1 };
	clock_init_fake(&a->clock, UINT64_C(639000000000000000));
	arena_init(&a->arena, LIMIT_REQUEST_ARENA_BYTES);
	arena_init(&a->kept, MIB);
	mem_store_open(&options, &a->clock, &a->engine, &a->store);
	a->partition = resource_account_partition(&a->kept, ACCOUNT);
}

static void account_close(struct account *a)
{
	store_close(a->store);
	arena_fini(&a->arena);
	arena_fini(&a->kept);
}

static void run(struct account *a, struct slice partition, apply_fn *apply, void *call)
{
	assert_int_equal(store_write_wait(a->store, partition, apply, call, &a->arena), ERR_OK);
}

static enum err apply_put_resource(struct txn *txn, void *call)
{
	return resource_put(txn, call);
}

static enum err apply_put_rows(struct txn *txn, void *call)
{
	const unsigned *count = call;
	for (unsigned i = 0; i < *count; i++) {
		struct key k;
		key_init(&k);
		key_tag(&k, 'x');
		key_u64(&k, i);
		TRY(txn_put(txn, key_slice(&k), SLICE("an object")));
	}
	return ERR_OK;
}

static void fill(struct account *a, unsigned containers, unsigned objects_each)
{
	for (unsigned i = 0; i < containers; i++) {
		char name[16];
		int n = snprintf(name, sizeof name, "c%05u", i);
		struct resource r = { .kind = RESOURCE_CONTAINER,
				      .name = slice_make(name, (size_t)n),
				      .generation = i + 1 };
		struct slice below = resource_generation_partition(&a->arena, ACCOUNT, RESOURCE_CONTAINER, i + 1);
		run(a, below, open_generation, NULL);
		run(a, below, apply_put_rows, &objects_each);
		run(a, a->partition, apply_put_resource, &r);
		arena_reset(&a->arena);
	}
}

static size_t partitions(struct account *a)
{
	struct slice *found;
	size_t count;
	assert_int_equal(
		a->engine->ops->list_partitions(a->engine, SLICE(""), 2 * MANY_CONTAINERS, &a->arena, &found, &count),
		ERR_OK);
	return count;
}

static enum err empty_at_once(struct store *store, struct slice partition, char kind, bool *ret_more)
{
	*ret_more = false;
	return ERR_OK;
}

static void assert_nothing_is_found(struct account *a, unsigned containers)
{
	struct resource r;
	for (unsigned i = 0; i < containers; i++) {
		char name[16];
		int n = snprintf(name, sizeof name, "c%05u", i);
		assert_int_equal(resource_find(a->store, ACCOUNT, RESOURCE_CONTAINER, slice_make(name, (size_t)n),
					       &a->arena, &r),
				 ERR_NOT_FOUND);
	}
}

static void reap(struct account *a)
{
	bool more = true;
	for (unsigned i = 0; more && i < ROUNDS_MAX; i++)
		assert_int_equal(resource_reap(a->store, ACCOUNT, empty_at_once, &more), ERR_OK);
	assert_false(more);
}

struct work {
	uint64_t transactions, applies, bytes;
};

static struct work work_of_reset(unsigned containers, unsigned objects_each)
{
	struct account a;
	struct store_stats before, after;
	account_open(&a);
	size_t empty = partitions(&a);
	fill(&a, containers, objects_each);
	store_stats(a.store, &before);
	assert_int_equal(resource_reset(a.store, ACCOUNT), ERR_OK);
	store_stats(a.store, &after);
	assert_nothing_is_found(&a, containers);
	assert_true(partitions(&a) >= empty + containers); /* what is below is the reaper's */
	reap(&a);
	assert_int_equal(partitions(&a), empty + 1); /* and that of the account */
	fill(&a, 1, 1);
	account_close(&a);
	return (struct work){ after.txns - before.txns, after.applies - before.applies,
			      after.engine.bytes_written - before.engine.bytes_written };
}

static void test_work_does_not_grow_with_objects(void **state)
{
	struct work few = work_of_reset(CONTAINERS, 100 / CONTAINERS),
		    many = work_of_reset(CONTAINERS, 10000 / CONTAINERS);
	assert_int_equal(few.transactions, 1);
	assert_int_equal(many.transactions, 1);
	assert_int_equal(many.applies, few.applies);
	assert_int_equal(many.bytes, few.bytes);
	assert_true(few.bytes > 0);
}

/* More records than one commit takes. */
static void test_very_many_containers(void **state)
{
	struct work w = work_of_reset(MANY_CONTAINERS, 1);
	assert_in_range(w.transactions, 2, MANY_CONTAINERS / 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_work_does_not_grow_with_objects),
		cmocka_unit_test(test_very_many_containers),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
