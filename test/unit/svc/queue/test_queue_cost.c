/* SPDX-License-Identifier: Apache-2.0
 * What an operation on a queue costs in reads and writes of rows, counted between the store and the engine: the same at
 * ten messages and at thousands, with most of them hidden, and after thousands were deleted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "engine/mem/mem.h"
#include "store/key.h"
#include "svc/common/generation.h"
#include "svc/queue/queue.h"

struct cost {
	unsigned reads, scans, rows, writes;
};

/* One engine under test at a time. */
static struct {
	const struct engine_ops *real;
	struct engine_ops counting;
	struct cost cost;
} probe;

static enum err count_group_get(struct engine_group *g, struct slice partition, struct slice key, struct arena *a,
				struct slice *ret)
{
	probe.cost.reads++;
	return probe.real->group_get(g, partition, key, a, ret);
}

static enum err count_group_scan(struct engine_group *g, struct slice partition, const struct scan_spec *spec,
				 struct arena *a, struct rows *ret)
{
	enum err e = probe.real->group_scan(g, partition, spec, a, ret);
	probe.cost.scans++;
	probe.cost.rows += e == ERR_OK ? (unsigned)ret->count : 0;
	return e;
}

static enum err count_get(struct engine *e, struct engine_snapshot *s, struct slice partition, struct slice key,
			  struct arena *a, struct slice *ret)
{
	probe.cost.reads += !slice_eq(key, KEY_STAMP); /* the store's own */
	return probe.real->get(e, s, partition, key, a, ret);
}

static enum err count_scan(struct engine *e, struct engine_snapshot *s, struct slice partition,
			   const struct scan_spec *spec, struct arena *a, struct rows *ret)
{
	enum err err = probe.real->scan(e, s, partition, spec, a, ret);
	probe.cost.scans++;
	probe.cost.rows += err == ERR_OK ? (unsigned)ret->count : 0;
	return err;
}

/* Rows of the queue; the store's own (stamps) do not grow with anything. */
static enum err count_group_accept(struct engine_group *g, struct slice partition, const struct write *w, size_t count)
{
	for (size_t i = 0; i < count; i++)
		probe.cost.writes += w[i].key.len && w[i].key.ptr[0] >= 'a';
	return probe.real->group_accept(g, partition, w, count);
}

struct bench {
	struct clock clock;
	struct store *store;
	struct arena arena;
	struct key partition;
	uint64_t salt;
};

static enum err open_generation(struct txn *txn, void *call)
{
	return generation_open(txn);
}

static enum err run(struct bench *b, apply_fn *apply, void *call)
{
	arena_reset(&b->arena);
	return store_write_wait(b->store, key_slice(&b->partition), apply, call, &b->arena);
}

static void bench_open(struct bench *b)
{
	struct engine *engine;
	clock_init_fake(&b->clock, UINT64_C(639000000000000000));
	arena_init(&b->arena, 16 * MIB);
	assert_int_equal(engine_mem_open(NULL, &engine), ERR_OK);
	probe.real = engine->ops;
	probe.counting = *engine->ops;
	probe.counting.group_get = count_group_get;
	probe.counting.group_scan = count_group_scan;
	probe.counting.get = count_get;
	probe.counting.scan = count_scan;
	probe.counting.group_accept = count_group_accept;
	engine->ops = &probe.counting;
	struct store_options options = { .clock = &b->clock, .cache_off = true };
	assert_int_equal(store_open(engine, &options, &b->store), ERR_OK);
	key_partition(&b->partition, SLICE("acc"), 'q', 7);
	assert_int_equal(run(b, open_generation, NULL), ERR_OK);
}

static void bench_close(struct bench *b)
{
	store_close(b->store);
	arena_fini(&b->arena);
}

static void put(struct bench *b)
{
	struct queue_put p = { .text = SLICE("text"), .salt = ++b->salt, .ttl_s = 7 * 86400 };
	clock_fake_advance(&b->clock, TICKS_PER_SECOND / 1000);
	assert_int_equal(run(b, queue_apply_put, &p), ERR_OK);
}

static struct queue_get get(struct bench *b, unsigned want, uint32_t timeout_s, unsigned expected)
{
	struct queue_get g = { .want = want, .timeout_s = timeout_s };
	assert_int_equal(run(b, queue_apply_get, &g), ERR_OK);
	assert_int_equal(g.found, expected);
	return g;
}

static void delete (struct bench *b, const struct queue_message *m)
{
	struct queue_change c = { .id = m->id, .receipt = m->receipt };
	assert_int_equal(run(b, queue_apply_delete, &c), ERR_OK);
}

static void assert_cost(const char *what, unsigned reads, unsigned scans, unsigned rows, unsigned writes)
{
	struct cost c = probe.cost;
	if (c.reads > reads || c.scans > scans || c.rows > rows || c.writes > writes)
		fail_msg("%s cost %u reads, %u scans of %u rows, %u writes", what, c.reads, c.scans, c.rows, c.writes);
	probe.cost = (struct cost){ 0 };
}

/* Each kind once. The engine's stamp costs one read more per commit, the meta row and the head one each. */
static void operations(struct bench *b)
{
	enum { OVERHEAD = 3 };
	probe.cost = (struct cost){ 0 };
	put(b);
	assert_cost("put", OVERHEAD, 0, 0, 2);
	struct queue_get g = get(b, 1, 30, 1);
	assert_cost("get", OVERHEAD + 1, 0, 0, 3);
	struct queue_change c = { .id = g.message[0].id, .receipt = g.message[0].receipt, .timeout_s = 60 };
	assert_int_equal(run(b, queue_apply_update, &c), ERR_OK);
	assert_cost("update", OVERHEAD + 1, 0, 0, 3);
	c.receipt = c.message.receipt;
	assert_int_equal(run(b, queue_apply_delete, &c), ERR_OK);
	assert_cost("delete", OVERHEAD + 1, 0, 0, 2);
	struct queue_get p = { .want = 1 };
	assert_int_equal(store_read(b->store, key_slice(&b->partition), queue_apply_peek, &p, &b->arena), ERR_OK);
	assert_int_equal(p.found, 1);
	assert_cost("peek", OVERHEAD, 0, 0, 0);
}

static void test_same_at_every_depth(void **state)
{
	struct bench b = { .salt = 0 };
	bench_open(&b);
	for (int i = 0; i < 10; i++)
		put(&b);
	operations(&b);
	/* Deep, nine of ten hidden for an hour, and thousands deleted. */
	for (int i = 0; i < 20000; i++)
		put(&b);
	for (int i = 0; i < 560; i++)
		get(&b, 32, 3600, 32);
	operations(&b);
	for (int i = 0; i < 1000; i++) {
		struct queue_get g = get(&b, 1, 30, 1);
		delete (&b, &g.message[0]);
	}
	operations(&b);
	assert_int_equal(run(&b, queue_apply_clear, NULL), ERR_OK);
	assert_cost("clear", 4, 0, 0, 2);
	bench_close(&b);
}

/* What is due is found by one scan that reads no more rows than wanted; a poll in vain writes nothing. */
static void test_due_messages(void **state)
{
	struct bench b = { .salt = 0 };
	bench_open(&b);
	for (int i = 0; i < 2000; i++)
		put(&b);
	for (int i = 0; i < 1000; i++)
		get(&b, 1, i % 2 ? 10 : 86400, 1);
	for (int i = 0; i < 1000; i++)
		get(&b, 1, 86400, 1);
	probe.cost = (struct cost){ 0 };
	get(&b, 1, 30, 0);
	assert_cost("a poll in vain", 3, 1, 0, 0);
	clock_fake_advance(&b.clock, 20 * TICKS_PER_SECOND);
	for (int i = 0; i < 500; i++) {
		get(&b, 1, 3600, 1);
		assert_cost("a get of a due message", 3, 1, 1, 3);
	}
	get(&b, 32, 30, 0);
	assert_cost("a poll in vain after a wait", 3, 1, 0, 1);
	bench_close(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same_at_every_depth),
		cmocka_unit_test(test_due_messages),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
