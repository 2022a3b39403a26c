/* SPDX-License-Identifier: Apache-2.0
 * The queue service on the in-memory engine, with conflicts injected: every rule of a message's life by itself, then
 * random operations against a plain model. The clock is the test's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "engine/mem/mem.h"
#include "store/key.h"
#include "svc/common/generation.h"
#include "svc/queue/queue.h"
#include "svc/queue/rows.h"

#define SECOND TICKS_PER_SECOND
#define NOON   (UINT64_C(639000000000000000))

struct bench {
	struct clock clock;
	struct engine *engine;
	struct store *store;
	struct arena arena;
	struct slice partition;
	char partition_bytes[64];
	uint64_t salt;
};

static enum err open_generation(struct txn *txn, void *call)
{
	return generation_open(txn);
}
static enum err close_generation(struct txn *txn, void *call)
{
	return generation_close(txn);
}

static void bench_open(struct bench *b, const struct mem_options *options)
{
	struct key k;
	memset(b, 0, sizeof *b);
	clock_init_fake(&b->clock, NOON);
	arena_init(&b->arena, 64 * MIB);
	assert_int_equal(engine_mem_open(options, &b->engine), ERR_OK);
	struct store_options so = { .clock = &b->clock };
	assert_int_equal(store_open(b->engine, &so, &b->store), ERR_OK);
	key_partition(&k, SLICE("acc"), 'q', 7);
	memcpy(b->partition_bytes, k.bytes, k.len);
	b->partition = slice_make(b->partition_bytes, k.len);
	assert_int_equal(store_write_wait(b->store, b->partition, open_generation, NULL, &b->arena), ERR_OK);
}

static void bench_close(struct bench *b)
{
	store_close(b->store);
	arena_fini(&b->arena);
}

static int setup(void **state)
{
	static struct bench b;
	static const struct mem_options options = { .seed = 11, .conflict_permille = 100 };
	bench_open(&b, &options);
	*state = &b;
	return 0;
}
static int teardown(void **state)
{
	bench_close(*state);
	return 0;
}

static enum err run(struct bench *b, apply_fn *apply, void *call)
{
	return store_write_wait(b->store, b->partition, apply, call, &b->arena);
}
static struct queue_message put(struct bench *b, const char *text, uint32_t delay_s, uint64_t ttl_s)
{
	struct queue_put p = {
		.text = slice_str(text), .salt = ++b->salt * 0x9e3779b97f4a7c15, .delay_s = delay_s, .ttl_s = ttl_s
	};
	assert_int_equal(run(b, queue_apply_put, &p), ERR_OK);
	return p.message;
}
static struct queue_get get(struct bench *b, unsigned want, uint32_t timeout_s)
{
	struct queue_get g = { .want = want, .timeout_s = timeout_s };
	assert_int_equal(run(b, queue_apply_get, &g), ERR_OK);
	return g;
}
static struct queue_get peek(struct bench *b, unsigned want)
{
	struct queue_get g = { .want = want };
	assert_int_equal(store_read(b->store, b->partition, queue_apply_peek, &g, &b->arena), ERR_OK);
	return g;
}
static enum err delete (struct bench *b, const struct queue_message *m) {
	struct queue_change c = { .id = m->id, .receipt = m->receipt }; return run(b, queue_apply_delete, &c);
}
static enum err update(struct bench *b, struct queue_message *m, uint32_t timeout_s, const char *text)
{
	struct queue_change c = { .id = m->id,
				  .receipt = m->receipt,
				  .timeout_s = timeout_s,
				  .has_text = text != NULL,
				  .text = slice_str(text) };
	enum err e = run(b, queue_apply_update, &c);
	if (e == ERR_OK) {
		m->receipt = c.message.receipt;
		m->visible_ticks = c.message.visible_ticks;
	}
	return e;
}
static uint64_t count(struct bench *b)
{
	struct queue_count c = { 0 };
	assert_int_equal(store_read_points(b->store, b->partition, queue_apply_count, &c, &b->arena), ERR_OK);
	return c.count;
}
static void sweep_all(struct bench *b)
{
	bool more = true;
	for (int i = 0; more; i++) {
		assert_true(i < 1000);
		assert_int_equal(queue_sweep(b->store, b->partition, &b->arena, &more), ERR_OK);
	}
}
/* Rows of the queue's own partition, the stamp of the engine not counted. */
static size_t row_count(struct bench *b)
{
	struct rows rows;
	struct scan_spec spec = { .from = SLICE("\x10"), .keys_only = true };
	assert_int_equal(b->engine->ops->scan(b->engine, NULL, b->partition, &spec, &b->arena, &rows), ERR_OK);
	assert_false(rows.more);
	return rows.count;
}
static void wait_s(struct bench *b, uint64_t seconds)
{
	clock_fake_advance(&b->clock, seconds * SECOND);
}
static void assert_text(struct queue_message m, const char *text)
{
	assert_int_equal(m.text.len, strlen(text));
	assert_memory_equal(m.text.ptr, text, m.text.len);
}

static void test_first_in_first_out(void **state)
{
	struct bench *b = *state;
	put(b, "a", 0, 60);
	put(b, "b", 0, 60);
	put(b, "c", 0, 60);
	assert_int_equal(count(b), 3);
	struct queue_get g = get(b, 1, 30);
	assert_int_equal(g.found, 1);
	assert_text(g.message[0], "a");
	assert_int_equal(g.message[0].dequeue_count, 1);
	g = get(b, 32, 30);
	assert_int_equal(g.found, 2);
	assert_text(g.message[0], "b");
	assert_text(g.message[1], "c");
	assert_int_equal(get(b, 32, 30).found, 0);
	assert_int_equal(count(b), 3);
}

static void test_hidden_until_its_time(void **state)
{
	struct bench *b = *state;
	struct queue_message m = put(b, "a", 10, 100);
	assert_int_equal(m.visible_ticks, m.inserted_ticks + 10 * SECOND);
	assert_int_equal(get(b, 1, 30).found, 0);
	assert_int_equal(peek(b, 1).found, 0);
	wait_s(b, 11);
	assert_int_equal(peek(b, 1).found, 1);
	struct queue_get g = get(b, 1, 5);
	assert_int_equal(g.found, 1);
	assert_int_equal(get(b, 1, 5).found, 0);
	wait_s(b, 6);
	struct queue_get again = get(b, 1, 5);
	assert_int_equal(again.found, 1);
	assert_int_equal(again.message[0].dequeue_count, 2);
	assert_true(uuid_eq(&again.message[0].id, &m.id));
	/* Got again: the first receipt is dead, and so is that of the put. */
	assert_int_equal(delete (b, &g.message[0]), ERR_MESSAGE_NOT_FOUND);
	assert_int_equal(delete (b, &m), ERR_MESSAGE_NOT_FOUND);
	assert_int_equal(delete (b, &again.message[0]), ERR_OK);
	assert_int_equal(delete (b, &again.message[0]), ERR_MESSAGE_NOT_FOUND);
	assert_int_equal(count(b), 0);
}

/* Every message once, the hidden ones too, over several pages; and looking changes nothing. */
static void test_list_shows_all_and_touches_nothing(void **state)
{
	struct bench *b = *state;
	for (int i = 0; i < 40; i++)
		put(b, "ready", 0, 1000);
	for (int i = 0; i < 40; i++)
		put(b, "delayed", 100, 1000);
	put(b, "short", 0, 5);
	struct queue_get taken = get(b, 3, 60);
	wait_s(b, 10); /* the short one expired, unswept */
	size_t rows = row_count(b);
	unsigned ready = 0, delayed = 0, hidden = 0, pages = 0;
	struct queue_get g = { .want = QUEUE_BATCH_MAX };
	do {
		assert_true(++pages < 10);
		assert_int_equal(store_read(b->store, b->partition, queue_apply_list, &g, &b->arena), ERR_OK);
		for (unsigned i = 0; i < g.found; i++) {
			const struct queue_message *m = &g.message[i];
			bool is_hidden = m->dequeue_count == 1;
			hidden += is_hidden;
			ready += !is_hidden && slice_eq(m->text, SLICE("ready"));
			delayed += slice_eq(m->text, SLICE("delayed"));
			assert_false(slice_eq(m->text, SLICE("short")));
		}
		g.from = g.next;
	} while (g.again);
	assert_int_equal(ready, 37);
	assert_int_equal(delayed, 40);
	assert_int_equal(hidden, 3);
	assert_true(pages >= 3);
	assert_int_equal(row_count(b), rows);
	/* Receipts of before are still good. */
	for (unsigned i = 0; i < taken.found; i++)
		assert_int_equal(delete (b, &taken.message[i]), ERR_OK);
}

static void test_receipt_outlives_visibility(void **state)
{
	struct bench *b = *state;
	put(b, "a", 0, 1000);
	struct queue_get g = get(b, 1, 5);
	wait_s(b, 60);
	sweep_all(b); /* indexes the message, which must not change its receipt */
	assert_int_equal(peek(b, 1).found, 1);
	assert_int_equal(delete (b, &g.message[0]), ERR_OK);
	assert_int_equal(count(b), 0);
}

static void test_receipt_of_put(void **state)
{
	struct bench *b = *state;
	struct queue_message m = put(b, "a", 0, 60), n = put(b, "b", 0, 60), o = put(b, "c", 0, 60);
	assert_int_equal(delete (b, &n), ERR_OK);
	assert_int_equal(update(b, &m, 0, "A"), ERR_OK);
	struct queue_get g = peek(b, 32);
	assert_int_equal(g.found, 2);
	assert_int_equal(g.message[0].dequeue_count, 0);
	assert_int_equal(delete (b, &o), ERR_OK);
	g = get(b, 32, 9);
	assert_int_equal(g.found, 1);
	assert_text(g.message[0], "A");
	assert_int_equal(g.message[0].dequeue_count, 1);
	assert_int_equal(delete (b, &m), ERR_MESSAGE_NOT_FOUND);
}

static void test_update(void **state)
{
	struct bench *b = *state;
	put(b, "a", 0, 100);
	struct queue_message m = get(b, 1, 5).message[0], old = m;
	assert_int_equal(update(b, &m, 50, NULL), ERR_OK);
	assert_int_equal(update(b, &old, 50, NULL), ERR_MESSAGE_NOT_FOUND);
	wait_s(b, 40);
	assert_int_equal(get(b, 1, 5).found, 0);
	assert_int_equal(update(b, &m, 0, "new"), ERR_OK);
	struct queue_get g = get(b, 1, 5);
	assert_int_equal(g.found, 1);
	assert_text(g.message[0], "new");
	assert_int_equal(g.message[0].dequeue_count, 2);
	assert_int_equal(update(b, &g.message[0], 600, NULL), ERR_OUT_OF_RANGE_QUERY_PARAMETER_VALUE);
	/* Same instant, same timeout: still another receipt. */
	old = g.message[0];
	assert_int_equal(update(b, &g.message[0], 7, NULL), ERR_OK);
	m = g.message[0];
	assert_int_equal(update(b, &g.message[0], 7, NULL), ERR_OK);
	assert_int_equal(delete (b, &old), ERR_MESSAGE_NOT_FOUND);
	assert_int_equal(delete (b, &m), ERR_MESSAGE_NOT_FOUND);
	assert_int_equal(delete (b, &g.message[0]), ERR_OK);
}

static void test_expiry(void **state)
{
	struct bench *b = *state;
	put(b, "short", 0, 10);
	put(b, "long", 0, 1000);
	put(b, "short again", 0, 10); /* out of order: indexed */
	put(b, "never", 0, QUEUE_TTL_NEVER);
	struct queue_message late = put(b, "delayed", 5, 10);
	struct queue_message n = peek(b, 32).message[3];
	assert_int_equal(n.expires_ticks, QUEUE_TIME_LAST);
	wait_s(b, 11);
	struct queue_get g = peek(b, 32);
	assert_int_equal(g.found, 2);
	assert_text(g.message[0], "long");
	assert_text(g.message[1], "never");
	assert_int_equal(delete (b, &late), ERR_MESSAGE_NOT_FOUND);
	sweep_all(b);
	assert_int_equal(count(b), 3); /* the delayed one is due since too short a time for the sweep to care */
	wait_s(b, 10);
	sweep_all(b);
	assert_int_equal(count(b), 2);
	wait_s(b, 1000);
	sweep_all(b);
	assert_int_equal(count(b), 1);
	g = get(b, 32, 1);
	assert_int_equal(g.found, 1);
	assert_text(g.message[0], "never");
}

static void test_expires_while_hidden(void **state)
{
	struct bench *b = *state;
	put(b, "a", 0, 10);
	struct queue_get g = get(b, 1, 3600);
	assert_int_equal(g.found, 1);
	wait_s(b, 11);
	assert_int_equal(delete (b, &g.message[0]), ERR_MESSAGE_NOT_FOUND);
	sweep_all(b);
	assert_int_equal(count(b), 0);
}

static void test_get_drops_expired_heads(void **state)
{
	struct bench *b = *state;
	for (int i = 0; i < 100; i++)
		put(b, "old", 0, 10);
	put(b, "new", 0, 100);
	wait_s(b, 11);
	struct queue_get g = get(b, 1, 5);
	assert_int_equal(g.found, 1);
	assert_text(g.message[0], "new");
	assert_int_equal(count(b), 1);
}

/* More expired ones in front, in both lanes, than a round removes or steps over: the rounds end at what is visible. */
static void test_rounds_over_expired(void **state)
{
	enum { OLD = 2 * LIMIT_QUEUE_SKIP_ROWS + 100 };
	struct bench b;
	bench_open(&b, NULL);
	for (int i = 0; i < OLD; i++)
		put(&b, "old", i % 3 == 0 ? 1 : 0, 10);
	wait_s(&b, 2);
	put(&b, "new", 0, 100);
	put(&b, "newer", 1, 100);
	wait_s(&b, 9);
	struct queue_get p = peek(&b, 2);
	for (int i = 0; i < 2; i++) {
		assert_true(p.again && p.found == 0);
		p.from = p.next;
		put(&b, "meanwhile", 0, 1);
		wait_s(&b, 1);
		assert_int_equal(store_read(b.store, b.partition, queue_apply_peek, &p, &b.arena), ERR_OK);
	}
	assert_true(!p.again && p.found == 2);
	assert_text(p.message[0], "new");
	assert_text(p.message[1], "newer");

	struct queue_get g = get(&b, 2, 5);
	int rounds = 1;
	for (; g.again; rounds++) {
		assert_int_equal(g.found, 0);
		g = get(&b, 2, 5);
	}
	assert_int_equal(rounds, OLD / LIMIT_QUEUE_DROP_ROWS + 1);
	assert_int_equal(g.found, 2);
	assert_text(g.message[0], "new");
	assert_text(g.message[1], "newer");
	/* Nothing but expired ones: found out as well. */
	wait_s(&b, 200);
	p = peek(&b, 1);
	assert_true(!p.again && p.found == 0);
	bench_close(&b);
}

static void test_clear(void **state)
{
	struct bench *b = *state;
	char *big = test_malloc(60001);
	memset(big, 'x', 60000);
	big[60000] = 0;
	for (int i = 0; i < 40; i++)
		put(b, i % 3 ? "a" : big, i % 5 == 0 ? 9 : 0, i % 2 ? 50 : 100);
	struct queue_get g = get(b, 3, 30);
	assert_int_equal(g.found, 3);
	assert_int_equal(run(b, queue_apply_clear, NULL), ERR_OK);
	assert_int_equal(count(b), 0);
	assert_int_equal(get(b, 32, 30).found, 0);
	assert_int_equal(delete (b, &g.message[0]), ERR_MESSAGE_NOT_FOUND);
	put(b, "after", 0, 50);
	assert_int_equal(peek(b, 32).found, 1);
	wait_s(b, 200);
	sweep_all(b);
	assert_int_equal(count(b), 0);
	assert_int_equal(row_count(b), 2); /* head, sweep */
	test_free(big);
}

static void test_long_text(void **state)
{
	struct bench *b = *state;
	char *big = test_malloc(QUEUE_TEXT_BYTES_MAX + 1);
	memset(big, 'y', QUEUE_TEXT_BYTES_MAX);
	big[QUEUE_TEXT_BYTES_MAX] = 0;
	put(b, big, 0, 60);
	assert_text(peek(b, 1).message[0], big);
	struct queue_message m = get(b, 1, 30).message[0];
	assert_text(m, big);
	assert_int_equal(update(b, &m, 0, "short"), ERR_OK);
	m = get(b, 1, 30).message[0];
	assert_text(m, "short");
	assert_int_equal(update(b, &m, 0, big), ERR_OK);
	m = get(b, 1, 30).message[0];
	assert_text(m, big);
	assert_int_equal(update(b, &m, 10, NULL), ERR_OK);
	assert_int_equal(delete (b, &m), ERR_OK);
	assert_int_equal(row_count(b), 1); /* head */
	test_free(big);
}

static void test_deleted_queue(void **state)
{
	struct bench *b = *state;
	struct queue_message m = put(b, "a", 0, 60);
	struct queue_put p = { .text = SLICE("b"), .ttl_s = 5 };
	struct queue_get g = { .want = 1, .timeout_s = 5 };
	bool more;
	assert_int_equal(run(b, close_generation, NULL), ERR_OK);
	assert_int_equal(run(b, queue_apply_put, &p), ERR_QUEUE_NOT_FOUND);
	assert_int_equal(run(b, queue_apply_get, &g), ERR_QUEUE_NOT_FOUND);
	assert_int_equal(run(b, queue_apply_clear, NULL), ERR_QUEUE_NOT_FOUND);
	assert_int_equal(delete (b, &m), ERR_QUEUE_NOT_FOUND);
	assert_int_equal(queue_sweep(b->store, b->partition, &b->arena, &more), ERR_OK);
	assert_false(more);
}

static void test_receipt_bytes(void **state)
{
	struct queue_receipt r = { .timed = true, .epoch = 2, .change = 3, .visible_ticks = NOON, .sequence = 4 }, back;
	unsigned char bytes[QUEUE_RECEIPT_BYTES];
	/* Golden: clients may hold receipts across an upgrade. */
	static const unsigned char golden[QUEUE_RECEIPT_BYTES - 1] = { 4, 'v', 3, 0,	0,    0,    2,	  0,	0,
								       0, 0,   0, 0xd7, 0x8e, 0x64, 0x2f, 0xde, 0x08,
								       4, 0,   0, 0,	0,    0,    0,	  0 };
	queue_receipt_encode(&r, bytes);
	uint64_t noon = 0;
	for (int i = 0; i < 8; i++)
		noon |= (uint64_t)bytes[10 + i] << (8 * i);
	assert_int_equal(noon, NOON);
	assert_memory_equal(bytes, golden, 10);
	assert_memory_equal(bytes + 18, golden + 18, 8);
	assert_true(queue_receipt_decode(slice_make(bytes, sizeof bytes), &back));
	assert_memory_equal(&back.visible_ticks, &r.visible_ticks, sizeof r.visible_ticks);
	assert_true(back.timed && back.epoch == 2 && back.change == 3 && back.sequence == 4);
	assert_false(queue_receipt_decode(slice_make(bytes, sizeof bytes - 1), &back));
	for (size_t i = 0; i < sizeof bytes; i++) {
		bytes[i] ^= 0x10;
		assert_false(queue_receipt_decode(slice_make(bytes, sizeof bytes), &back));
		bytes[i] ^= 0x10;
	}
}

/* What is on disk today must be read for ever: key and value of every kind of row, in the order of the keys. */
static void assert_row(const struct row *row, char tag, size_t key_bytes, const unsigned char *value,
		       size_t value_bytes)
{
	assert_int_equal(row->key.ptr[0], tag);
	assert_int_equal(row->key.len, key_bytes);
	assert_int_equal(row->value.len, value_bytes + 5); /* the store's version byte before, its checksum behind */
	assert_memory_equal(row->value.ptr + 1, value, value_bytes);
}

static void test_golden_rows(void **state)
{
	struct bench b;
	bench_open(&b, NULL);
	struct queue_put p = { .text = SLICE("hi"), .salt = 0x0102030405060708, .ttl_s = 9 * 86400 };
	assert_int_equal(run(&b, queue_apply_put, &p), ERR_OK);
	uint64_t now = p.message.inserted_ticks, expires = now + 9 * 86400 * SECOND;
	unsigned char message[40] = { 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 8, 7, 6, 5, 4, 3, 2, 1 };
	unsigned char head[61] = { 1, 1, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 1 };
	unsigned char index[10] = { 1, 'r' };
	for (int i = 0; i < 8; i++) {
		message[22 + i] = (unsigned char)(now >> (8 * i));
		message[30 + i] = (unsigned char)(expires >> (8 * i));
		head[37 + i] = 0xff;
		head[53 + i] = (unsigned char)(now >> (8 * i));
	}
	memcpy(message + 38, "hi", 2);
	head[29] = 1; /* ready_head */
	struct rows rows;
	struct scan_spec spec = { .from = SLICE("\x10") };
	assert_int_equal(b.engine->ops->scan(b.engine, NULL, b.partition, &spec, &b.arena, &rows), ERR_OK);
	assert_int_equal(rows.count, 3);
	assert_row(&rows.row[0], 'h', 1, head, sizeof head);
	assert_row(&rows.row[1], 'r', 21, message, sizeof message);
	assert_row(&rows.row[2], 'x', 31, index, sizeof index);
	bench_close(&b);
}

/* A message that was received has the times of it behind its other numbers; one that never was has no byte more. */
static void test_golden_received(void **state)
{
	struct bench b;
	bench_open(&b, NULL);
	struct queue_put p = { .text = SLICE("hi"), .salt = 0x0102030405060708, .ttl_s = 86400 };
	assert_int_equal(run(&b, queue_apply_put, &p), ERR_OK);
	clock_fake_advance(&b.clock, 5 * SECOND);
	struct queue_get g = get(&b, 1, 30);
	uint64_t received = g.message[0].visible_ticks - 30 * SECOND;
	unsigned char message[56] = { 2, 0, 1, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 8, 7, 6, 5, 4, 3, 2, 1 };
	for (int i = 0; i < 8; i++) {
		message[22 + i] = (unsigned char)(p.message.inserted_ticks >> (8 * i));
		message[30 + i] = (unsigned char)(p.message.expires_ticks >> (8 * i));
		message[38 + i] = (unsigned char)(received >> (8 * i));
		message[46 + i] = (unsigned char)(p.message.visible_ticks >> (8 * i));
	}
	memcpy(message + 54, "hi", 2);
	struct rows rows;
	struct scan_spec spec = { .from = SLICE("\x10") };
	assert_int_equal(b.engine->ops->scan(b.engine, NULL, b.partition, &spec, &b.arena, &rows), ERR_OK);
	assert_int_equal(rows.count, 2);
	assert_row(&rows.row[1], 'v', 31, message, sizeof message);
	bench_close(&b);
}

/* A row from before the time was kept: counted, and when is not known. It stays so until the next get. */
static void test_received_before_it_was_kept(void **state)
{
	unsigned char value[40] = { 1, 0, 3, 0, 0, 0, 2, 0, 0, 0, 2 };
	struct row_key key;
	struct message m;
	memcpy(value + 38, "hi", 2);
	queue_row_key_timed(&key, 1, NOON, 4);
	struct row row = { .key = row_key_slice(&key), .value = slice_make(value, sizeof value) };
	memset(&m, 0xff, sizeof m);
	assert_int_equal(message_decode(&row, &m), ERR_OK);
	assert_int_equal(m.dequeue_count, 2);
	assert_int_equal(m.received, 0);
	assert_int_equal(m.was_visible, 0);
	assert_true(slice_eq(m.text, SLICE("hi")));
	value[0] = 2; /* says that a time is there, and none is */
	assert_int_equal(message_decode(&row, &m), ERR_CORRUPT);
	value[0] = 3;
	assert_int_equal(message_decode(&row, &m), ERR_CORRUPT);
}

static struct queue_message only_message(struct bench *b)
{
	struct queue_get g = { .want = QUEUE_BATCH_MAX };
	assert_int_equal(store_read(b->store, b->partition, queue_apply_list, &g, &b->arena), ERR_OK);
	assert_int_equal(g.found, 1);
	return g.message[0];
}

/* Only a get is a receipt of the message: neither a peek nor an update moves the time. */
static void test_received_is_the_last_get(void **state)
{
	struct bench b;
	bench_open(&b, NULL);
	struct queue_message put_one = put(&b, "x", 2, 86400);
	assert_int_equal(only_message(&b).received_ticks, 0);
	clock_fake_advance(&b.clock, 3 * SECOND);
	struct queue_get g = get(&b, 1, 10);
	uint64_t first = only_message(&b).received_ticks;
	assert_int_equal(only_message(&b).was_visible_ticks, put_one.inserted_ticks + 2 * SECOND);
	assert_int_equal(first, g.message[0].visible_ticks - 10 * SECOND);
	assert_true(first > put_one.inserted_ticks);
	clock_fake_advance(&b.clock, SECOND);
	assert_int_equal(update(&b, &g.message[0], 5, NULL), ERR_OK);
	uint64_t again = g.message[0].visible_ticks;
	assert_int_equal(only_message(&b).received_ticks, first);
	clock_fake_advance(&b.clock, 6 * SECOND);
	assert_int_equal(peek(&b, 1).found, 1);
	assert_int_equal(only_message(&b).received_ticks, first);
	g = get(&b, 1, 10);
	assert_int_equal(only_message(&b).received_ticks, g.message[0].visible_ticks - 10 * SECOND);
	assert_int_equal(only_message(&b).was_visible_ticks, again);
	bench_close(&b);
}

/* ---- random operations against a model ---- */

enum { MODEL_MAX = 4096 };
struct model_message {
	bool live;
	struct uuid id;
	uint64_t visible, expires;
	uint32_t dequeue_count;
	char text[12];
	struct queue_message last;  /* the newest receipt */
	struct queue_message stale; /* one that must not work */
	bool has_stale;
};
struct model {
	struct model_message m[MODEL_MAX];
	size_t count;
};

static struct model_message *model_find(struct model *m, const struct uuid *id)
{
	for (size_t i = 0; i < m->count; i++)
		if (m->m[i].live && uuid_eq(&m->m[i].id, id))
			return &m->m[i];
	return NULL;
}

static size_t model_visible(const struct model *m, uint64_t now, uint64_t *ret_oldest)
{
	size_t n = 0;
	*ret_oldest = UINT64_MAX;
	for (size_t i = 0; i < m->count; i++) {
		const struct model_message *x = &m->m[i];
		if (x->live && x->visible <= now && x->expires > now) {
			n++;
			if (x->visible < *ret_oldest)
				*ret_oldest = x->visible;
		}
	}
	return n;
}

static void model_put(struct bench *b, struct model *m, struct rng *rng)
{
	static const uint64_t ttls[] = { 60, 60, 60, 5, 600, QUEUE_TTL_NEVER };
	if (m->count == MODEL_MAX)
		return;
	struct model_message *x = &m->m[m->count++];
	uint64_t ttl = ttls[rng_below(rng, 6)];
	uint32_t delay = rng_below(rng, 4) ? 0 : (uint32_t)rng_below(rng, 5);
	snprintf(x->text, sizeof x->text, "t%zu", m->count);
	x->last = put(b, x->text, delay, ttl);
	x->live = true;
	x->id = x->last.id;
	x->visible = x->last.visible_ticks;
	x->expires = ttl == QUEUE_TTL_NEVER ? UINT64_MAX : x->last.expires_ticks;
}

static void model_get(struct bench *b, struct model *m, struct rng *rng)
{
	uint64_t now = clock_now(&b->clock), oldest;
	unsigned want = rng_below(rng, 2) ? 1 : (unsigned)(1 + rng_below(rng, 32));
	/* Transactions see the clock a few ticks on: stay clear of edges by moving it whole seconds only. */
	size_t visible = model_visible(m, now, &oldest);
	uint32_t timeout = (uint32_t)(1 + rng_below(rng, 40));
	struct queue_get g = get(b, want, timeout);
	assert_int_equal(g.found, visible < want ? visible : want);
	for (unsigned i = 0; i < g.found; i++) {
		struct model_message *x = model_find(m, &g.message[i].id);
		assert_non_null(x);
		assert_true(x->visible <= now && x->expires > now);
		assert_text(g.message[i], x->text);
		assert_int_equal(g.message[i].dequeue_count, ++x->dequeue_count);
		/* In order, but for the slack. */
		if (i == 0)
			assert_true(x->visible <= oldest + SECOND / 50);
		x->stale = x->last;
		x->has_stale = true;
		x->last = g.message[i];
		x->visible = g.message[i].visible_ticks;
	}
}

static void model_peek(struct bench *b, struct model *m)
{
	uint64_t oldest;
	struct queue_get g = peek(b, 32);
	size_t visible = model_visible(m, clock_now(&b->clock), &oldest);
	assert_int_equal(g.found, visible < 32 ? visible : 32);
	for (unsigned i = 0; i < g.found; i++)
		assert_non_null(model_find(m, &g.message[i].id));
}

static void model_update(struct bench *b, struct model_message *x, bool alive, uint32_t timeout)
{
	struct queue_message old = x->last;
	enum err e = update(b, &x->last, timeout, NULL);
	if (!alive) {
		assert_int_equal(e, ERR_MESSAGE_NOT_FOUND);
	} else if (e == ERR_OK) {
		x->stale = old;
		x->has_stale = true;
		x->visible = x->last.visible_ticks;
	} else {
		assert_int_equal(e, ERR_OUT_OF_RANGE_QUERY_PARAMETER_VALUE);
		assert_true(clock_now(&b->clock) + (timeout + 1) * SECOND > x->expires);
	}
}

/* Deletes or updates one of all messages there ever were, also with a receipt of the past. */
static void model_change(struct bench *b, struct model *m, struct rng *rng)
{
	if (m->count == 0)
		return;
	struct model_message *x = &m->m[rng_below(rng, m->count)];
	bool alive = x->live && x->expires > clock_now(&b->clock);
	if (x->has_stale && rng_below(rng, 2)) {
		assert_int_equal(delete (b, &x->stale), ERR_MESSAGE_NOT_FOUND);
	} else if (rng_below(rng, 2)) {
		assert_int_equal(delete (b, &x->last), alive ? ERR_OK : ERR_MESSAGE_NOT_FOUND);
		x->live = x->live && !alive;
	} else {
		model_update(b, x, alive, (uint32_t)rng_below(rng, 4));
	}
}

static void model_step(struct bench *b, struct model *m, struct rng *rng)
{
	bool more;
	switch (rng_below(rng, 12)) {
	case 0:
	case 1:
	case 2:
		model_put(b, m, rng);
		break;
	case 3:
	case 4:
	case 5:
		model_get(b, m, rng);
		break;
	case 6:
		model_peek(b, m);
		break;
	case 7:
	case 8:
	case 9:
		model_change(b, m, rng);
		break;
	case 10:
		wait_s(b, 1 + rng_below(rng, 3));
		break;
	case 11:
		assert_int_equal(queue_sweep(b->store, b->partition, &b->arena, &more), ERR_OK);
		break;
	}
	/* Ticks given to transactions run ahead of a clock that stands still: half a second apart from every whole one.
	 */
	clock_fake_advance(&b->clock, SECOND / 1000);
}

static void test_model(void **state)
{
	for (uint64_t seed = 1; seed <= 12; seed++) {
		struct bench b;
		struct mem_options options = { .seed = seed,
					       .conflict_permille = 50,
					       .unknown_happened_permille = 20,
					       .unknown_lost_permille = 20 };
		bench_open(&b, &options);
		struct model *m = test_calloc(1, sizeof *m);
		struct rng rng;
		rng_init_seed(&rng, seed);
		for (int i = 0; i < 1500; i++) {
			model_step(&b, m, &rng);
			arena_reset(&b.arena);
		}
		wait_s(&b, 7 * 86400 + 60);
		sweep_all(&b);
		size_t never = 0;
		for (size_t i = 0; i < m->count; i++)
			never += m->m[i].live && m->m[i].expires == UINT64_MAX;
		assert_int_equal(count(&b), never);
		size_t got = 0;
		for (struct queue_get g = get(&b, 32, 9); g.found; g = get(&b, 32, 9))
			got += g.found;
		assert_int_equal(got, never);
		test_free(m);
		bench_close(&b);
	}
}

/* Positions follow what was removed: no request walks over it, whatever was ever deleted. */
static enum err load_head(struct txn *txn, void *call)
{
	return head_load(txn, call);
}

static void test_positions_follow(void **state)
{
	struct bench *b = *state;
	struct queue_head h;
	put(b, "stays hidden", 3600, 7200);
	for (int i = 0; i < 300; i++) {
		put(b, "a", 0, 600);
		struct queue_get g = get(b, 1, 30);
		assert_int_equal(delete (b, &g.message[0]), ERR_OK);
		clock_fake_advance(&b->clock, SECOND / 10);
		arena_reset(&b->arena);
	}
	for (int i = 0; i < 60; i++) {
		wait_s(b, 1);
		sweep_all(b);
	}
	assert_int_equal(store_read(b->store, b->partition, load_head, &h, &b->arena), ERR_OK);
	/* A minute of idling: within an eighth of the time since the last request, and the sweep's own delay. */
	assert_true(clock_now(&b->clock) - h.due < 20 * SECOND);
	assert_int_equal(h.ready_head, h.next_sequence);
	/* Holes in the ready lane are stepped over by the sweep. */
	struct queue_message m[200];
	for (int i = 0; i < 200; i++)
		m[i] = put(b, "b", 0, 600);
	for (int i = 198; i >= 0; i--)
		assert_int_equal(delete (b, &m[i]), ERR_OK);
	m[0] = put(b, "c", 0, 600);
	sweep_all(b);
	assert_int_equal(store_read(b->store, b->partition, load_head, &h, &b->arena), ERR_OK);
	assert_int_equal(h.ready_head + 2, h.next_sequence);
	assert_int_equal(get(b, 32, 5).found, 2);
}

/* Everything at once, every message with three rows: rounds stay within what one commit may hold. */
static void test_sweep_of_much(void **state)
{
	struct bench b;
	bench_open(&b, NULL);
	char *big = test_malloc(3001);
	memset(big, 'x', 3000);
	big[3000] = 0;
	for (int i = 0; i < 1200; i++)
		put(&b, big, 0, i % 2 ? 600 : 500);
	for (int i = 0; i < 1200; i++)
		put(&b, big, 1, 600);
	wait_s(&b, 2);
	for (int i = 0; i < 20; i++)
		get(&b, 32, 1);
	assert_int_equal(run(&b, queue_apply_clear, NULL), ERR_OK);
	for (int i = 0; i < 1200; i++)
		put(&b, big, i % 3, i % 2 ? 600 : 500);
	arena_reset(&b.arena);
	wait_s(&b, 700);
	sweep_all(&b);
	assert_int_equal(count(&b), 0);
	assert_int_equal(row_count(&b), 2);
	test_free(big);
	bench_close(&b);
}

/* A queue that only waits costs a few commits, then none: each catch-up of the positions waits longer than the last. */
static void test_idle_queue_settles(void **state)
{
	struct bench b;
	struct mem_counts before, middle, end;
	bench_open(&b, NULL);
	put(&b, "far", 3 * 86400, 5 * 86400);
	put(&b, "never got", 0, 6 * 86400);
	engine_mem_counts(b.engine, &before);
	for (int i = 0; i < 2 * 3600; i++) {
		wait_s(&b, 10);
		sweep_all(&b);
		arena_reset(&b.arena);
		if (i == 3600)
			engine_mem_counts(b.engine, &middle);
	}
	engine_mem_counts(b.engine, &end);
	assert_true(middle.commits - before.commits < 150);
	assert_true(end.commits - middle.commits < 15);
	assert_int_equal(count(&b), 2);
	bench_close(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_first_in_first_out, setup, teardown),
		cmocka_unit_test_setup_teardown(test_hidden_until_its_time, setup, teardown),
		cmocka_unit_test_setup_teardown(test_list_shows_all_and_touches_nothing, setup, teardown),
		cmocka_unit_test_setup_teardown(test_receipt_outlives_visibility, setup, teardown),
		cmocka_unit_test_setup_teardown(test_receipt_of_put, setup, teardown),
		cmocka_unit_test_setup_teardown(test_update, setup, teardown),
		cmocka_unit_test_setup_teardown(test_expiry, setup, teardown),
		cmocka_unit_test_setup_teardown(test_expires_while_hidden, setup, teardown),
		cmocka_unit_test_setup_teardown(test_get_drops_expired_heads, setup, teardown),
		cmocka_unit_test(test_rounds_over_expired),
		cmocka_unit_test_setup_teardown(test_clear, setup, teardown),
		cmocka_unit_test_setup_teardown(test_long_text, setup, teardown),
		cmocka_unit_test_setup_teardown(test_deleted_queue, setup, teardown),
		cmocka_unit_test(test_receipt_bytes),
		cmocka_unit_test(test_golden_rows),
		cmocka_unit_test(test_golden_received),
		cmocka_unit_test(test_received_before_it_was_kept),
		cmocka_unit_test(test_received_is_the_last_get),
		cmocka_unit_test_setup_teardown(test_positions_follow, setup, teardown),
		cmocka_unit_test(test_sweep_of_much),
		cmocka_unit_test(test_idle_queue_settles),
		cmocka_unit_test(test_model),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
