/* SPDX-License-Identifier: Apache-2.0
 * Files in very many pieces, with the memory of one request: listed, compared, read, cut and merged. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "bench.h"
#include "svc/file/content/merge.h"

enum { PIECES = 200000, AT_ONCE = 200, PIECE_BYTES = 8, STRIDE = 4096, FEW_BYTES = 4 * 1024 * 1024 };

struct crumbs {
	struct file_place place;
	uint64_t first, count, stride;
	size_t length;
};

static void piece_bytes(uint64_t offset, unsigned char *dst, size_t length)
{
	for (size_t i = 0; i < length; i++)
		dst[i] = (unsigned char)((offset + i) * 7 % 251 + 1);
}

static enum err apply_crumbs(struct txn *txn, void *call)
{
	static const struct file_view live = { 0 };
	const struct crumbs *c = call;
	struct inode n;
	unsigned char bytes[64];
	TRY(inode_find(txn, &live, &c->place, NULL, &n));
	for (uint64_t i = 0; i < c->count; i++) {
		uint64_t offset = c->first + i * c->stride;
		struct payload p = { .length_bytes = c->length,
				     .inline_bytes = slice_make(bytes, c->length),
				     .borrowed = true };
		piece_bytes(offset, bytes, c->length);
		TRY(inode_write(txn, &n, offset, &p));
	}
	return inode_put(txn, &n);
}

static void crumble(struct bench *b, uint64_t first, uint64_t count, uint64_t stride, size_t length)
{
	for (uint64_t i = 0; i < count; i += AT_ONCE) {
		arena_reset(&b->arena);
		struct crumbs c = { .place = target_of(b, "f", FILE_KIND_FILE).place,
				    .first = first + i * stride,
				    .count = AT_ONCE,
				    .stride = stride,
				    .length = length };
		expect(b, apply_crumbs, &c, ERR_OK);
	}
	arena_reset(&b->arena);
}

/* How many ranges there are, in pages of 1,000, each with little memory. */
static size_t count_ranges(struct bench *b, uint64_t previous)
{
	size_t count = 0;
	struct arena small;
	arena_init(&small, FEW_BYTES);
	struct file_ranges_call c = { .target = target_of(b, "f", FILE_KIND_FILE), .limit = 1000 };
	c.diff = previous != 0;
	c.previous_ticks = previous;
	do {
		arena_reset(&small);
		assert_int_equal(store_read(b->store, b->partition, file_apply_ranges, &c, &small), ERR_OK);
		count += c.count;
		c.from = c.next;
	} while (c.more);
	arena_fini(&small);
	return count;
}

static void check_bytes(struct bench *b, uint64_t offset, size_t length, uint64_t stride, size_t piece)
{
	unsigned char *got = malloc(length), wanted[64];
	assert_non_null(got);
	uint64_t at = offset;
	while (at < offset + length) { /* as far as one answer reaches, then on */
		struct file_get_call c = { .target = target_of(b, "f", FILE_KIND_FILE),
					   .want_bytes = true,
					   .has_range = true,
					   .range_first = at,
					   .range_last = offset + length - 1,
					   .piece_limit = 100 };
		uint64_t pin = extent_pin(b->store);
		assert_int_equal(look(b, file_apply_get, &c), ERR_OK);
		assert_true(c.pieces.count <= 100 && c.pieces.length_bytes > 0);
		read_pieces(b, &c.pieces, got + (at - offset));
		extent_unpin(b->store, pin);
		at += c.pieces.length_bytes;
		arena_reset(&b->arena);
	}
	for (uint64_t i = 0; i < length; i++) {
		piece_bytes(offset + i, wanted, 1);
		assert_int_equal(got[i], (offset + i) % stride < piece ? wanted[0] : 0);
	}
	free(got);
}

static void test_sparse(void **state)
{
	(void)state;
	struct bench b;
	bench_open(&b, 1, NULL);
	assert_int_equal(bench_create(&b, "f", FILE_KIND_FILE, (uint64_t)PIECES * STRIDE), ERR_OK);
	struct share_snapshot_call s = { .has_metadata = false };
	expect(&b, share_apply_snapshot, &s, ERR_OK);
	crumble(&b, 0, PIECES, STRIDE, PIECE_BYTES);
	assert_int_equal(rows_of(&b, 'r'), PIECES);
	bench_settle(&b); /* nothing of it can be merged */
	assert_int_equal(rows_of(&b, 'r'), PIECES);
	assert_int_equal(count_ranges(&b, 0), PIECES);
	assert_int_equal(count_ranges(&b, s.snapshot.ticks), PIECES);
	check_bytes(&b, 1234567, 2000000, STRIDE, PIECE_BYTES);
	/* Half of it goes: at once for everybody, row by row in the background. */
	struct file_modify_call cut = { .target = target_of(&b, "f", FILE_KIND_FILE),
					.resize = true,
					.size_bytes = (uint64_t)PIECES / 2 * STRIDE };
	expect(&b, file_apply_set_properties, &cut, ERR_OK);
	assert_int_equal(count_ranges(&b, 0), PIECES / 2);
	cut.size_bytes = (uint64_t)PIECES * STRIDE;
	expect(&b, file_apply_set_properties, &cut, ERR_OK);
	assert_int_equal(count_ranges(&b, 0), PIECES / 2);
	assert_true(rows_of(&b, 'r') > PIECES / 2);
	bench_settle(&b);
	assert_int_equal(rows_of(&b, 'r'), PIECES / 2);
	assert_int_equal(rows_of(&b, 'c'), 0);
	/* One commit deletes it, whatever it has. */
	struct file_delete_call del = { .target = target_of(&b, "f", FILE_KIND_FILE) };
	expect(&b, file_apply_delete, &del, ERR_OK);
	bench_settle(&b);
	assert_int_equal(rows_of(&b, 'r'), 0);
	bench_close(&b);
}

static void test_dense(void **state)
{
	(void)state;
	struct bench b;
	bench_open(&b, 1, NULL);
	assert_int_equal(bench_create(&b, "f", FILE_KIND_FILE, 50 * 10000), ERR_OK);
	crumble(&b, 0, 10000, 50, 50);
	size_t before = rows_of(&b, 'r');
	assert_int_equal(before, 10000);
	uint64_t etag;
	struct file_get_call c = { .target = target_of(&b, "f", FILE_KIND_FILE) };
	assert_int_equal(look(&b, file_apply_get, &c), ERR_OK);
	etag = c.inode.etag;
	bench_settle(&b);
	assert_true(rows_of(&b, 'r') < before / MERGE_RUNS_MIN + MERGE_RUNS_MIN);
	assert_int_equal(rows_of(&b, 'm'), 0);
	check_bytes(&b, 0, 500000, 50, 50);
	assert_int_equal(count_ranges(&b, 0), 1);
	assert_int_equal(look(&b, file_apply_get, &c), ERR_OK);
	assert_int_equal(c.inode.etag, etag); /* nobody sees it */
	bench_close(&b);
}

/* What was cut is written again before the background came: among more new rows than it goes through at once it finds
 * the old ones, and an end. */
static void test_written_over_a_cut(void **state)
{
	(void)state;
	enum { OLD = 4000, NEW = 2000 };
	struct bench b;
	bench_open(&b, 1, NULL);
	assert_int_equal(bench_create(&b, "f", FILE_KIND_FILE, (uint64_t)OLD * STRIDE), ERR_OK);
	crumble(&b, 0, OLD, STRIDE, PIECE_BYTES);
	bench_settle(&b);
	struct file_modify_call cut = { .target = target_of(&b, "f", FILE_KIND_FILE), .resize = true, .size_bytes = 1 };
	expect(&b, file_apply_set_properties, &cut, ERR_OK);
	cut.size_bytes = (uint64_t)OLD * STRIDE;
	expect(&b, file_apply_set_properties, &cut, ERR_OK);
	assert_int_equal(rows_of(&b, 'c'), 1);
	crumble(&b, 0, NEW, STRIDE, PIECE_BYTES);
	bench_settle(&b);
	assert_int_equal(rows_of(&b, 'r'), NEW);
	assert_int_equal(rows_of(&b, 'c') + rows_of(&b, 'w'), 0);
	check_bytes(&b, 0, NEW * STRIDE, STRIDE, PIECE_BYTES);
	bench_close(&b);
}

/* More runs than a commit goes through are cleared, between two that reach over the first and the last page. */
static void test_clear_many(void **state)
{
	(void)state;
	enum { FIRST = 400, END = 40000, SIZE = 65536 };
	static char wanted[SIZE], got[SIZE], ones[400];
	struct bench b;
	bench_open(&b, 1, NULL);
	assert_int_equal(bench_create(&b, "f", FILE_KIND_FILE, SIZE), ERR_OK);
	crumble(&b, 1024, 2000, 16, PIECE_BYTES);
	memset(ones, 1, sizeof ones);
	assert_int_equal(bench_write(&b, "f", FIRST - 100, ones, sizeof ones), ERR_OK);
	assert_int_equal(bench_write(&b, "f", END - 200, ones, sizeof ones), ERR_OK);
	memset(wanted + FIRST - 100, 1, 100);
	memset(wanted + END, 1, 200);
	struct file_write_call clear = {
		.target = target_of(&b, "f", FILE_KIND_FILE), .clear = true, .offset = FIRST, .length = END - FIRST
	};
	expect(&b, file_apply_write, &clear, ERR_OK);
	assert_int_equal(rows_of(&b, 'c'), 1);
	for (int settled = 0; settled < 2; settled++) {
		struct file_get_call c = { .target = target_of(&b, "f", FILE_KIND_FILE), .want_bytes = true };
		uint64_t pin = extent_pin(b.store);
		assert_int_equal(look(&b, file_apply_get, &c), ERR_OK);
		assert_int_equal(c.pieces.length_bytes, SIZE);
		read_pieces(&b, &c.pieces, (unsigned char *)got);
		extent_unpin(b.store, pin);
		assert_memory_equal(got, wanted, SIZE);
		bench_settle(&b);
	}
	bench_close(&b);
}

/* Every second piece first: nothing can be joined until the others are there. They come after the file was gone
 * through, and do not double its runs. */
static void test_scattered(void **state)
{
	(void)state;
	enum { HALF = 5000, BYTES = 50 };
	struct bench b;
	bench_open(&b, 1, NULL);
	assert_int_equal(bench_create(&b, "f", FILE_KIND_FILE, 2 * HALF * BYTES), ERR_OK);
	crumble(&b, 0, HALF, 2 * BYTES, BYTES);
	bench_settle(&b);
	assert_int_equal(rows_of(&b, 'r'), HALF);
	assert_int_equal(rows_of(&b, 'm'), 0);
	crumble(&b, BYTES, HALF, 2 * BYTES, BYTES);
	assert_int_equal(rows_of(&b, 'm'), 1);
	bench_settle(&b); /* it waits, and is no work */
	assert_int_equal(rows_of(&b, 'r'), 2 * HALF);
	clock_fake_advance(&b.clock, merge_wait_ticks(2 * HALF) + 1);
	bench_settle(&b);
	assert_true(rows_of(&b, 'r') < 2 * HALF / MERGE_RUNS_MIN + MERGE_RUNS_MIN);
	assert_int_equal(rows_of(&b, 'm'), 0);
	check_bytes(&b, 0, 2 * HALF * BYTES, BYTES, BYTES);
	bench_close(&b);
}

/* ---- what it costs to give back ---- */

enum { APART = 3000, APART_BYTES = 600, PAGE_ROWS = 128, GETS_A_ROUND = 24 };

static struct {
	struct engine_ops ops; /* those of the engine, with these two counted */
	enum err (*group_get)(struct engine_group *, struct slice, struct slice, struct arena *, struct slice *);
	enum outcome (*group_commit)(struct engine_group *);
	size_t reads, commits;
} counted;

static enum err count_get(struct engine_group *g, struct slice partition, struct slice key, struct arena *arena,
			  struct slice *ret)
{
	counted.reads++;
	return counted.group_get(g, partition, key, arena, ret);
}

static enum outcome count_commit(struct engine_group *g)
{
	counted.commits++;
	return counted.group_commit(g);
}

static void count_from_here(struct bench *b)
{
	if (b->engine->ops != &counted.ops) {
		counted.ops = *b->engine->ops;
		counted.group_get = counted.ops.group_get;
		counted.group_commit = counted.ops.group_commit;
		counted.ops.group_get = count_get;
		counted.ops.group_commit = count_commit;
		b->engine->ops = &counted.ops;
	}
	counted.reads = counted.commits = 0;
}

/* ---- looks that end ---- */

enum { SPARSE = 20000, ONE_LOOK = 16384 }; /* going along them takes two rounds */

static void write_one(struct bench *b, uint64_t piece)
{
	char byte = 1;
	assert_int_equal(bench_write(b, "f", piece * STRIDE + PIECE_BYTES, &byte, 1), ERR_OK);
	arena_reset(&b->arena);
}

static size_t commits_until_settled(struct bench *b)
{
	clock_fake_advance(&b->clock, merge_wait_ticks(2 * SPARSE) + 1);
	count_from_here(b);
	bench_settle(b);
	return counted.commits;
}

/* A file where nothing can be joined is gone through once for what was written, however often the time comes; and once
 * more if it was written meanwhile. */
static void test_nothing_to_join(void **state)
{
	(void)state;
	enum { PASS = SPARSE / ONE_LOOK + 1 };
	struct bench b;
	bool more;
	bench_open(&b, 1, NULL);
	assert_int_equal(bench_create(&b, "f", FILE_KIND_FILE, (uint64_t)(SPARSE + 1) * STRIDE), ERR_OK);
	crumble(&b, 0, SPARSE, STRIDE, PIECE_BYTES);
	assert_int_equal(commits_until_settled(&b), PASS);
	assert_int_equal(commits_until_settled(&b), 0);
	write_one(&b, SPARSE / 2);
	write_one(&b, SPARSE / 3);
	assert_int_equal(rows_of(&b, 'm'), 1);
	assert_int_equal(commits_until_settled(&b), PASS);
	assert_int_equal(rows_of(&b, 'm'), 0);
	assert_int_equal(commits_until_settled(&b), 0);
	/* Written while it is gone through. */
	write_one(&b, SPARSE / 4);
	clock_fake_advance(&b.clock, merge_wait_ticks(2 * SPARSE) + 1);
	assert_int_equal(file_round(b.store, b.partition, &more), ERR_OK);
	assert_true(more);
	write_one(&b, SPARSE / 5);
	bench_settle(&b);
	assert_int_equal(rows_of(&b, 'm'), 1);
	assert_int_equal(commits_until_settled(&b), PASS);
	assert_int_equal(rows_of(&b, 'm'), 0);
	assert_int_equal(commits_until_settled(&b), 0);
	bench_close(&b);
}

/* The row of a file that waits goes with the file, or with its contents. */
static void test_gone_while_waiting(void **state)
{
	(void)state;
	struct bench b;
	bench_open(&b, 1, NULL);
	for (int deleted = 0; deleted < 2; deleted++) {
		assert_int_equal(bench_create(&b, "f", FILE_KIND_FILE, (uint64_t)APART * STRIDE), ERR_OK);
		crumble(&b, 0, APART, STRIDE, PIECE_BYTES);
		bench_settle(&b);
		write_one(&b, 0);
		assert_int_equal(rows_of(&b, 'm'), 1);
		struct file_modify_call empty = { .target = target_of(&b, "f", FILE_KIND_FILE), .resize = true };
		struct file_delete_call del = { .target = target_of(&b, "f", FILE_KIND_FILE) };
		if (deleted)
			expect(&b, file_apply_delete, &del, ERR_OK);
		else
			expect(&b, file_apply_set_properties, &empty, ERR_OK);
		assert_int_equal(rows_of(&b, 'm'), 0);
		bench_settle(&b);
		assert_int_equal(rows_of(&b, 'r'), 0);
	}
	bench_close(&b);
}

static void write_apart(struct bench *b)
{
	static const char bytes[APART_BYTES];
	for (uint64_t i = 0; i < APART; i++) {
		assert_int_equal(bench_write(b, "f", i * STRIDE, bytes, sizeof bytes), ERR_OK);
		arena_reset(&b->arena);
	}
}

/* Of pieces that have no other name a commit gives back a page, and reads no row of each: it was a get a piece. */
static void test_cost_of_delete(void **state)
{
	(void)state;
	struct bench b;
	bench_open(&b, 1, NULL);
	assert_int_equal(bench_create(&b, "f", FILE_KIND_FILE, (uint64_t)APART * STRIDE), ERR_OK);
	write_apart(&b);
	bench_settle(&b);
	assert_int_equal(rows_of(&b, 'd'), APART);
	struct file_delete_call del = { .target = target_of(&b, "f", FILE_KIND_FILE) };
	expect(&b, file_apply_delete, &del, ERR_OK);
	count_from_here(&b);
	bench_settle(&b);
	assert_int_equal(rows_of(&b, 'r') + rows_of(&b, 'd'), 0);
	assert_true(counted.commits <= APART / PAGE_ROWS + 2);
	assert_true(counted.reads <= counted.commits * GETS_A_ROUND);
	bench_close(&b);
}

/* What has another name stays, and is given back with it. */
static void test_shared_pieces(void **state)
{
	(void)state;
	struct bench b;
	char byte = 1;
	bench_open(&b, 1, NULL);
	assert_int_equal(bench_create(&b, "f", FILE_KIND_FILE, (uint64_t)APART * STRIDE), ERR_OK);
	write_apart(&b);
	/* The piece is now two runs of one source, and one of its own. */
	assert_int_equal(bench_write(&b, "f", 10 * STRIDE + 100, &byte, 1), ERR_OK);
	assert_int_equal(rows_of(&b, 'y'), 1);
	struct share_snapshot_call s = { .has_metadata = false };
	expect(&b, share_apply_snapshot, &s, ERR_OK);
	struct file_delete_call del = { .target = target_of(&b, "f", FILE_KIND_FILE) };
	expect(&b, file_apply_delete, &del, ERR_OK);
	bench_settle(&b);
	assert_int_equal(rows_of(&b, 'd'), APART); /* the snapshot has them */
	assert_int_equal(rows_of(&b, 'y'), 1);
	struct share_snapshot_call drop = { .ticks = s.snapshot.ticks };
	expect(&b, share_apply_delete_snapshot, &drop, ERR_OK);
	bench_settle(&b);
	assert_int_equal(rows_of(&b, 'd') + rows_of(&b, 'y') + rows_of(&b, 'h'), 0);
	bench_close(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_sparse),
					    cmocka_unit_test(test_dense),
					    cmocka_unit_test(test_written_over_a_cut),
					    cmocka_unit_test(test_clear_many),
					    cmocka_unit_test(test_scattered),
					    cmocka_unit_test(test_nothing_to_join),
					    cmocka_unit_test(test_gone_while_waiting),
					    cmocka_unit_test(test_cost_of_delete),
					    cmocka_unit_test(test_shared_pieces) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
