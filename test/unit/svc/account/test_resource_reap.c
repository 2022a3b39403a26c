/* SPDX-License-Identifier: Apache-2.0
 * Intents and deleted resources of an account, on the in-memory engine with its conflicts and unknown outcomes: losers
 * of a race leave nothing, nothing hides behind rows that stay, and what is left alone costs no commit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "engine/mem/mem.h"
#include "store/key.h"
#include "svc/account/resource.h"

#define NOON	(UINT64_C(639000000000000000))
#define DAY	(UINT64_C(86400) * TICKS_PER_SECOND)
#define ACCOUNT SLICE("acc")

enum { CREATORS = 8, MANY = 200 };

struct bench {
	struct clock clock;
	struct engine *engine;
	struct store *store;
	struct arena arena;
	struct slice account;
};

static struct bench open_bench(uint64_t seed)
{
	struct bench b = { .engine = NULL };
	struct mem_options options = {
		.seed = seed, .conflict_permille = 60, .unknown_happened_permille = 20, .unknown_lost_permille = 20
	};
	clock_init_fake(&b.clock, NOON);
	arena_init(&b.arena, 256 * MIB);
	assert_int_equal(engine_mem_open(&options, &b.engine), ERR_OK);
	b.account = resource_account_partition(&b.arena, ACCOUNT);
	return b;
}

/* The store keeps the address of the clock. */
static void open_store(struct bench *b)
{
	struct store_options so = { .clock = &b->clock };
	assert_int_equal(store_open(b->engine, &so, &b->store), ERR_OK);
}

static void close_bench(struct bench *b)
{
	store_close(b->store);
	arena_fini(&b->arena);
}

static struct slice inside(struct bench *b, char kind, uint64_t generation)
{
	return resource_generation_partition(&b->arena, ACCOUNT, kind, generation);
}

static enum err run(struct bench *b, struct slice partition, apply_fn *apply, void *call)
{
	return store_write_wait(b->store, partition, apply, call, &b->arena);
}

static size_t partitions(struct bench *b)
{
	struct slice *found;
	size_t count;
	assert_int_equal(b->engine->ops->list_partitions(b->engine, SLICE(""), 10 * MANY, &b->arena, &found, &count),
			 ERR_OK);
	return count;
}

struct count_call {
	char tag;
	size_t count;
};

static enum err apply_count(struct txn *txn, void *call)
{
	struct count_call *c = call;
	char from[1] = { c->tag }, until[1] = { (char)(c->tag + 1) };
	struct scan_spec spec = { .from = slice_make(from, 1), .until = slice_make(until, 1) };
	struct rows rows;
	TRY(txn_scan(txn, &spec, &rows));
	c->count = rows.count;
	return ERR_OK;
}

static size_t rows_with(struct bench *b, char tag)
{
	struct count_call c = { .tag = tag };
	assert_int_equal(store_read(b->store, b->account, apply_count, &c, &b->arena), ERR_OK);
	return c.count;
}

static enum err apply_live(struct txn *txn, void *call)
{
	return generation_require(txn, ERR_CONTAINER_NOT_FOUND);
}

static enum err live(struct bench *b, uint64_t generation)
{
	return store_read(b->store, inside(b, RESOURCE_CONTAINER, generation), apply_live, NULL, &b->arena);
}

static enum err empty_at_once(struct store *store, struct slice partition, char kind, bool *ret_more)
{
	*ret_more = false;
	return ERR_OK;
}

/* Until it says that there is no more; so many calls. */
static size_t reap(struct bench *b)
{
	bool more = true;
	size_t calls = 0;
	for (; more && calls < MANY; calls++)
		assert_int_equal(resource_reap(b->store, ACCOUNT, empty_at_once, &more), ERR_OK);
	assert_false(more);
	return calls;
}

static struct resource_create creation(char kind, struct slice name, uint64_t generation)
{
	return (struct resource_create){ .resource = { .kind = kind, .name = name, .generation = generation },
					 .exists_error = ERR_CONTAINER_ALREADY_EXISTS };
}

static void create(struct bench *b, struct slice name, uint64_t generation)
{
	struct resource_create c = creation(RESOURCE_CONTAINER, name, generation);
	assert_int_equal(run(b, b->account, resource_create_reserve, &c), ERR_OK);
	assert_int_equal(run(b, inside(b, RESOURCE_CONTAINER, generation), resource_create_open, &c), ERR_OK);
	assert_int_equal(run(b, b->account, resource_create_publish, &c), ERR_OK);
	assert_int_equal(c.refused, ERR_OK);
}

static struct resource_delete deletion(struct slice name, uint64_t generation, uint32_t days)
{
	return (struct resource_delete){ .kind = RESOURCE_CONTAINER,
					 .name = name,
					 .generation = generation,
					 .missing_error = ERR_CONTAINER_NOT_FOUND,
					 .retention_days = days };
}

static void delete_now(struct bench *b, struct slice name, uint64_t generation, uint32_t days)
{
	struct resource_delete d = deletion(name, generation, days);
	assert_int_equal(run(b, b->account, resource_delete_remove, &d), ERR_OK);
	assert_int_equal(run(b, inside(b, RESOURCE_CONTAINER, generation), resource_delete_close, &d), ERR_OK);
}

/* An intent and a generation that nobody will ever publish: a request that ended between its steps. */
static void create_half(struct bench *b, uint64_t generation)
{
	struct resource_create c = creation(RESOURCE_CONTAINER, SLICE("half"), generation);
	assert_int_equal(run(b, b->account, resource_create_reserve, &c), ERR_OK);
	assert_int_equal(run(b, inside(b, RESOURCE_CONTAINER, generation), resource_create_open, &c), ERR_OK);
}

/* ---- races ---- */

static enum err same_is_fine(struct resource_create *c, const struct resource *existing)
{
	return existing->metadata.count == c->resource.metadata.count ? ERR_OK : c->exists_error;
}

static void race(uint64_t seed, char kind, enum err (*on_exists)(struct resource_create *, const struct resource *),
		 enum err wanted)
{
	struct bench b = open_bench(seed);
	struct resource_create c[CREATORS];
	struct resource r;
	open_store(&b);
	for (uint64_t i = 0; i < CREATORS; i++) {
		c[i] = creation(kind, SLICE("name"), 100 + i);
		c[i].on_exists = on_exists;
		assert_int_equal(run(&b, b.account, resource_create_reserve, &c[i]), ERR_OK);
	}
	for (uint64_t i = 0; i < CREATORS; i++)
		assert_int_equal(run(&b, inside(&b, kind, 100 + i), resource_create_open, &c[i]), ERR_OK);
	for (uint64_t i = 0; i < CREATORS; i++) {
		assert_int_equal(run(&b, b.account, resource_create_publish, &c[i]), ERR_OK);
		assert_int_equal(c[i].refused, i ? wanted : ERR_OK);
		assert_int_equal(c[i].existed, i && wanted == ERR_OK);
	}
	size_t before = partitions(&b);
	assert_int_equal(reap(&b), 1);
	assert_int_equal(rows_with(&b, 'i'), 0);
	assert_int_equal(partitions(&b), before - (CREATORS - 1));
	assert_int_equal(resource_find(b.store, ACCOUNT, kind, SLICE("name"), &b.arena, &r), ERR_OK);
	assert_int_equal(r.generation, 100);
	assert_int_equal(store_read(b.store, inside(&b, kind, 100), apply_live, NULL, &b.arena), ERR_OK);
	close_bench(&b);
}

static void test_losers_leave_nothing(void **state)
{
	for (uint64_t seed = 1; seed <= 20; seed++) {
		race(seed, RESOURCE_CONTAINER, NULL, ERR_CONTAINER_ALREADY_EXISTS);
		race(seed, RESOURCE_QUEUE, same_is_fine, ERR_OK);
	}
}

struct listing {
	struct deleted_resource *deleted;
	size_t count;
};

static enum err apply_list_deleted(struct txn *txn, void *call)
{
	struct listing *l = call;
	struct deleted_query all = { .kind = RESOURCE_CONTAINER, .prefix = SLICE(""), .limit = 10 };
	return resource_list_deleted(txn, &all, &l->deleted, &l->count);
}

/* A delete's last step may come when the container is back already. */
static void restore_within_a_delete(bool close_first)
{
	struct bench b = open_bench(1);
	open_store(&b);
	create(&b, SLICE("back"), 7);
	struct resource_delete d = deletion(SLICE("back"), 7, 3);
	struct resource_restore back = { .kind = RESOURCE_CONTAINER,
					 .name = SLICE("back"),
					 .exists_error = ERR_CONTAINER_ALREADY_EXISTS,
					 .missing_error = ERR_CONTAINER_NOT_FOUND };
	struct listing listing;
	assert_int_equal(run(&b, b.account, resource_delete_remove, &d), ERR_OK);
	assert_int_equal(store_read(b.store, b.account, apply_list_deleted, &listing, &b.arena), ERR_OK);
	assert_int_equal(listing.count, 1);
	back.deleted_ticks = listing.deleted[0].deleted_ticks;
	assert_int_equal(run(&b, inside(&b, RESOURCE_CONTAINER, 7), resource_restore_open, &back), ERR_OK);
	if (close_first)
		assert_int_equal(run(&b, inside(&b, RESOURCE_CONTAINER, 7), resource_delete_close, &d), ERR_OK);
	assert_int_equal(run(&b, b.account, resource_restore_publish, &back), ERR_OK);
	if (!close_first)
		assert_int_equal(run(&b, inside(&b, RESOURCE_CONTAINER, 7), resource_delete_close, &d), ERR_OK);
	assert_int_equal(live(&b, 7), ERR_OK);
	/* Deleted for good, it is closed. */
	delete_now(&b, SLICE("back"), 7, 0);
	assert_int_equal(live(&b, 7), ERR_CONTAINER_NOT_FOUND);
	close_bench(&b);
}

static void test_restore_within_a_delete(void **state)
{
	restore_within_a_delete(true);
	restore_within_a_delete(false);
}

/* ---- what stays ---- */

static void test_nothing_hides_behind_creations(void **state)
{
	struct bench b = open_bench(1);
	open_store(&b);
	for (uint64_t i = 1; i <= MANY; i++)
		create_half(&b, i);
	create(&b, SLICE("last"), UINT64_MAX);
	delete_now(&b, SLICE("last"), UINT64_MAX, 0);
	size_t before = partitions(&b);
	assert_int_equal(reap(&b), 1);
	assert_int_equal(partitions(&b), before - 1);
	assert_int_equal(rows_with(&b, 'i'), MANY);
	/* Their requests may still run: nothing is written for them. */
	struct store_stats idle, now;
	store_stats(b.store, &idle);
	assert_int_equal(reap(&b), 1);
	store_stats(b.store, &now);
	assert_int_equal(now.txns, idle.txns);
	close_bench(&b);
}

static void test_a_start_settles_all(void **state)
{
	for (uint64_t seed = 1; seed <= 3; seed++) {
		struct bench b = open_bench(seed);
		open_store(&b);
		create(&b, SLICE("live"), MANY / 2 + 1000);
		size_t before = partitions(&b);
		for (uint64_t i = 1; i <= MANY; i++)
			create_half(&b, i);
		assert_int_equal(partitions(&b), before + MANY);
		/* Their requests may still run: others start beside them and leave them alone. */
		assert_int_equal(resource_settle(b.store, ACCOUNT), ERR_OK);
		reap(&b);
		assert_int_equal(rows_with(&b, 'i'), MANY);
		clock_fake_advance(&b.clock, UINT64_C(16) * 60 * TICKS_PER_SECOND);
		assert_int_equal(resource_settle(b.store, ACCOUNT), ERR_OK);
		reap(&b);
		assert_int_equal(rows_with(&b, 'i'), 0);
		assert_int_equal(partitions(&b), before);
		assert_int_equal(live(&b, MANY / 2 + 1000), ERR_OK);
		close_bench(&b);
	}
}

static void test_expiry_looks_at_all(void **state)
{
	struct bench b = open_bench(1);
	char name[16];
	open_store(&b);
	create(&b, SLICE("z-first"), 1000);
	delete_now(&b, SLICE("z-first"), 1000, 1);
	for (uint64_t i = 0; i < MANY; i++) {
		snprintf(name, sizeof name, "a-%03u", (unsigned)i);
		create(&b, slice_str(name), 1 + i);
	}
	clock_fake_advance(&b.clock, DAY / 2);
	for (uint64_t i = 0; i < MANY; i++) {
		snprintf(name, sizeof name, "a-%03u", (unsigned)i);
		delete_now(&b, slice_str(name), 1 + i, 1);
	}
	size_t before = partitions(&b);
	assert_int_equal(resource_expire(b.store, ACCOUNT), ERR_OK);
	assert_int_equal(rows_with(&b, 'r'), MANY + 1);
	clock_fake_advance(&b.clock, DAY / 2 + TICKS_PER_SECOND);
	assert_int_equal(resource_expire(b.store, ACCOUNT), ERR_OK);
	assert_int_equal(rows_with(&b, 'r'), MANY);
	reap(&b);
	assert_int_equal(partitions(&b), before - 1);
	clock_fake_advance(&b.clock, DAY);
	assert_int_equal(resource_expire(b.store, ACCOUNT), ERR_OK);
	reap(&b);
	assert_int_equal(rows_with(&b, 'r') + rows_with(&b, 'i'), 0);
	assert_int_equal(partitions(&b), before - 1 - MANY);
	close_bench(&b);
}

/* One that cannot be emptied is told, and the others go. */
static enum err empty_but_three(struct store *store, struct slice partition, char kind, bool *ret_more)
{
	struct key three;
	key_init(&three);
	key_partition(&three, ACCOUNT, RESOURCE_CONTAINER, 3);
	*ret_more = false;
	return slice_eq(partition, key_slice(&three)) ? ERR_CORRUPT : ERR_OK;
}

static void test_one_failure_keeps_nobody(void **state)
{
	struct bench b = open_bench(1);
	char name[16];
	bool more;
	open_store(&b);
	for (unsigned i = 1; i <= 5; i++) {
		snprintf(name, sizeof name, "a-%u", i);
		create(&b, slice_str(name), i);
		delete_now(&b, slice_str(name), i, 0);
	}
	assert_int_equal(resource_reap(b.store, ACCOUNT, empty_but_three, &more), ERR_CORRUPT);
	assert_int_equal(rows_with(&b, 'i'), 1);
	close_bench(&b);
}

/* Page by page, each one once: live ones of every kind that has work, and deleted ones. */
static void test_places(void **state)
{
	struct bench b = open_bench(4);
	char name[16];
	bool seen[MANY + 1] = { false };
	struct resource_place place[7];
	size_t count, total = 0;
	bool more = true;
	struct key from;
	open_store(&b);
	for (uint64_t i = 1; i <= 40; i++) {
		snprintf(name, sizeof name, "name%03llu", (unsigned long long)i);
		create(&b, slice_str(name), i);
		create_half(&b, MANY + i); /* intents lie between */
	}
	key_init(&from);
	while (more) {
		assert_int_equal(resource_places(b.store, ACCOUNT, &from, 7, place, &count, &more), ERR_OK);
		assert_true(count <= 7 && (count || !more));
		for (size_t i = 0; i < count; i++) {
			assert_true(place[i].generation >= 1 && place[i].generation <= 40);
			assert_false(seen[place[i].generation]);
			seen[place[i].generation] = true;
			assert_int_equal(place[i].kind, RESOURCE_CONTAINER);
		}
		total += count;
	}
	assert_int_equal(total, 40);
	assert_int_equal(from.len, 0);
	close_bench(&b);
}

struct raw_call {
	struct rows rows;
	struct slice put; /* what to write for generation 7; absent: only look */
};

static enum err apply_raw(struct txn *txn, void *call)
{
	struct raw_call *c = call;
	struct key k;
	key_init(&k);
	key_tag(&k, 'i');
	key_u64(&k, 7);
	if (slice_is_set(c->put))
		return txn_put(txn, key_slice(&k), c->put);
	struct scan_spec spec = { .from = SLICE("i"), .until = SLICE("j") };
	return txn_scan(txn, &spec, &c->rows);
}

/* The bytes of an intent, and what was written before sessions were noted. */
static void test_intent_bytes(void **state)
{
	struct bench b = open_bench(5);
	struct raw_call look = { .put = SLICE_NONE }, old = { .put = SLICE("Cc") };
	open_store(&b);
	create_half(&b, 9);
	assert_int_equal(store_read(b.store, b.account, apply_raw, &look, &b.arena), ERR_OK);
	assert_int_equal(look.rows.count, 1);
	struct slice value = look.rows.row[0].value;
	assert_int_equal(value.len, 19);
	assert_memory_equal(value.ptr, "Cc\1", 3);
	assert_int_equal(bytes_load(value.ptr + 3, 8), store_session(b.store));
	assert_true(bytes_load(value.ptr + 11, 8) >= NOON);
	assert_int_equal(run(&b, b.account, apply_raw, &old), ERR_OK);
	assert_int_equal(resource_settle(b.store, ACCOUNT), ERR_OK); /* of no time: over */
	assert_int_equal(store_read(b.store, b.account, apply_raw, &look, &b.arena), ERR_OK);
	assert_int_equal(look.rows.row[0].value.ptr[0], 'D');
	assert_int_equal(look.rows.row[1].value.ptr[0], 'C');
	close_bench(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_losers_leave_nothing),
		cmocka_unit_test(test_restore_within_a_delete),
		cmocka_unit_test(test_nothing_hides_behind_creations),
		cmocka_unit_test(test_a_start_settles_all),
		cmocka_unit_test(test_expiry_looks_at_all),
		cmocka_unit_test(test_one_failure_keeps_nobody),
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_intent_bytes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
