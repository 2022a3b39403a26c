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

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_sparse), cmocka_unit_test(test_dense) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
