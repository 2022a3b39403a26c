/* SPDX-License-Identifier: Apache-2.0
 * The state machine of a copy, run here and now: every way a copy goes, and every way it ends. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "../svc/container.h"
#include "engine/mem/mem.h"
#include "jobs/copy_run.h"
#include "store/key.h"
#include "svc/blob/content/append.h"
#include "svc/blob/content/page.h"
#include "svc/blob/state.h"

#define NOON (UINT64_C(639000000000000000))

enum { BLOCK_BYTES = 3000, BLOCKS = 3, BYTES = BLOCKS * BLOCK_BYTES, PAGES = 8 };

struct bench {
	struct clock clock;
	struct engine *engine;
	struct store *store;
	struct arena arena;
	struct key partition;
	char bytes[BYTES];
	struct payload payload[BLOCKS]; /* of the source */
	struct block block[BLOCKS];
	struct manifest blocks;
	struct blob_piece piece[BLOCKS];
	atomic_bool stop;
	struct copy_job_spec spec;
};

static enum err run(struct bench *b, apply_fn *apply, void *call)
{
	return store_write_wait(b->store, key_slice(&b->partition), apply, call, &b->arena);
}

static struct payload payload_of(struct bench *b, const char *bytes, size_t length)
{
	struct payload_writer *w;
	struct payload p;
	assert_int_equal(payload_writer_new(b->store, length, &w), ERR_OK);
	payload_writer_only_extents(w);
	assert_int_equal(payload_append(w, slice_make(bytes, length)), ERR_OK);
	assert_int_equal(payload_finish(w, &p), ERR_OK);
	return p;
}

/* A container with an append blob "source" of BLOCKS blocks, and an empty pending "copy" of this type. */
static void bench_open(struct bench *b, enum blob_type type)
{
	struct mem_options options = { .seed = 1 };
	*b = (struct bench){ .blocks = { NULL, 0 } };
	clock_init_fake(&b->clock, NOON);
	arena_init(&b->arena, 64 * MIB);
	mem_store_open(&options, &b->clock, &b->engine, &b->store);
	key_partition(&b->partition, SLICE("acc"), 'c', 7);
	assert_int_equal(run(b, open_generation, NULL), ERR_OK);
	for (size_t i = 0; i < BYTES; i++)
		b->bytes[i] = (char)('a' + i * 7 % 26);
	struct blob_put_call source = {
		.target = { .name = SLICE("source") }, .type = BLOB_APPEND, .content_id = 5, .may_overwrite = true
	};
	assert_int_equal(run(b, blob_apply_put, &source), ERR_OK);
	for (size_t i = 0; i < BLOCKS; i++) {
		b->payload[i] = payload_of(b, b->bytes + i * BLOCK_BYTES, BLOCK_BYTES);
		struct blob_append_call append = { .target = { .name = SLICE("source") }, .payload = &b->payload[i] };
		assert_int_equal(run(b, blob_apply_append, &append), ERR_OK);
		assert_int_equal(b->payload[i].extent_count, 1);
		b->block[i] = (struct block){ .id = slice_make(&"abc"[i], 1),
					      .length_bytes = BLOCK_BYTES,
					      .extent_count = 1,
					      .extents = b->payload[i].extents };
		b->piece[i] = (struct blob_piece){ .extent = b->payload[i].extents[0], .length_bytes = BLOCK_BYTES };
	}
	b->blocks = (struct manifest){ b->block, BLOCKS };
	struct blob_copy_call copy = { .put = { .target = { .name = SLICE("copy") },
						.type = type,
						.content_id = 1,
						.page_length_bytes = PAGES * PAGE_BYTES,
						.may_overwrite = true },
				       .copy = { .status = COPY_PENDING,
						 .id = { .bytes = { 1 } },
						 .source = SLICE("http://source"),
						 .total_bytes = BYTES },
				       .unmet_error = ERR_CONDITION_NOT_MET };
	assert_int_equal(run(b, blob_apply_copy, &copy), ERR_OK);
	b->spec = (struct copy_job_spec){ .partition = key_slice(&b->partition),
					  .name = SLICE("copy"),
					  .id = { .bytes = { 1 } },
					  .type = type,
					  .content_id = 9,
					  .total_bytes = BYTES };
}

static void bench_close(struct bench *b)
{
	for (size_t i = 0; i < BLOCKS; i++)
		payload_fini(&b->payload[i]);
	store_close(b->store);
	arena_fini(&b->arena);
}

static void go(struct bench *b)
{
	copy_run(&(struct copy_run_options){ .store = b->store, .spec = &b->spec, .stop = &b->stop });
}

static struct blob_get_call look(struct bench *b)
{
	struct blob_get_call g = { .target = { .name = SLICE("copy") }, .want_bytes = true, .on_snapshot = true };
	assert_int_equal(store_read(b->store, key_slice(&b->partition), blob_apply_get, &g, &b->arena), ERR_OK);
	return g;
}

static void expect_copied(struct bench *b, uint32_t blocks)
{
	static char bytes[BYTES + 1];
	struct blob_get_call g = look(b);
	struct blob_piece_reader reader = { .store = b->store, .piece = g.piece, .count = g.piece_count };
	size_t n;
	assert_int_equal(g.blob.copy.status, COPY_SUCCESS);
	assert_int_equal(g.blob.copy.copied_bytes, BYTES);
	assert_int_equal(g.blob.length_bytes, BYTES);
	assert_int_equal(g.blob.block_count, blocks);
	assert_int_equal(blob_piece_read(&reader, bytes, sizeof bytes, &n), ERR_OK);
	assert_int_equal(n, BYTES);
	assert_memory_equal(bytes, b->bytes, BYTES);
}

static void test_payload(void **state)
{
	struct bench b;
	bench_open(&b, BLOB_BLOCK);
	b.spec.piece = b.piece;
	b.spec.piece_count = BLOCKS;
	go(&b);
	expect_copied(&b, 0);
	bench_close(&b);
}

static void test_block_list(void **state)
{
	struct bench b;
	bench_open(&b, BLOB_BLOCK);
	b.spec.blocks = &b.blocks;
	go(&b);
	expect_copied(&b, BLOCKS);
	bench_close(&b);
}

static void test_appended(void **state)
{
	struct bench b;
	bench_open(&b, BLOB_APPEND);
	b.spec.source_partition = key_slice(&b.partition);
	b.spec.source_content_id = 5;
	go(&b);
	expect_copied(&b, BLOCKS);
	bench_close(&b);
}

/* A page, a hole, a page. */
static void test_pages(void **state)
{
	struct bench b;
	char want[PAGES * PAGE_BYTES] = { 0 }, bytes[sizeof want];
	struct blob_piece piece[] = {
		{ .bytes = slice_make(b.bytes, PAGE_BYTES), .length_bytes = PAGE_BYTES },
		{ .length_bytes = (PAGES - 2) * PAGE_BYTES },
		{ .bytes = slice_make(b.bytes + PAGE_BYTES, PAGE_BYTES), .length_bytes = PAGE_BYTES },
	};
	size_t n;
	bench_open(&b, BLOB_PAGE);
	memcpy(want, b.bytes, PAGE_BYTES);
	memcpy(want + (PAGES - 1) * PAGE_BYTES, b.bytes + PAGE_BYTES, PAGE_BYTES);
	b.spec.piece = piece;
	b.spec.piece_count = sizeof piece / sizeof *piece;
	b.spec.total_bytes = sizeof want;
	go(&b);
	struct blob_get_call g = look(&b);
	struct blob_piece_reader reader = { .store = b.store, .piece = g.piece, .count = g.piece_count };
	assert_int_equal(g.blob.copy.status, COPY_SUCCESS);
	assert_int_equal(blob_piece_read(&reader, bytes, sizeof bytes, &n), ERR_OK);
	assert_int_equal(n, sizeof want);
	assert_memory_equal(bytes, want, sizeof want);
	bench_close(&b);
}

/* The rows of the source are gone: the destination says why. */
static void test_fails(void **state)
{
	struct bench b;
	bench_open(&b, BLOB_APPEND);
	b.spec.source_partition = key_slice(&b.partition);
	b.spec.source_content_id = 6;
	go(&b);
	struct blob_get_call g = look(&b);
	assert_int_equal(g.blob.copy.status, COPY_FAILED);
	assert_true(slice_has_prefix(g.blob.copy.description, SLICE("404 BlobNotFound")));
	assert_int_equal(g.blob.length_bytes, 0);
	bench_close(&b);
}

/* The server stops: the blob stays pending, and nothing of the copy is left. */
static void test_stops(void **state)
{
	struct bench b;
	bench_open(&b, BLOB_BLOCK);
	b.spec.blocks = &b.blocks;
	atomic_store(&b.stop, true);
	go(&b);
	assert_int_equal(look(&b).blob.copy.status, COPY_PENDING);
	bench_close(&b);
}

/* Somebody ended the copy: whatever was brought is not the blob's. */
static void test_aborted(void **state)
{
	for (int type = BLOB_BLOCK; type <= BLOB_APPEND; type++) {
		struct bench b;
		bench_open(&b, (enum blob_type)type);
		b.spec.piece = b.piece;
		b.spec.piece_count = type == BLOB_PAGE ? 0 : BLOCKS;
		b.spec.blocks = type == BLOB_APPEND ? &b.blocks : NULL;
		struct blob_abort_copy_call abort = { .target = { .name = SLICE("copy") },
						      .id = { .bytes = { 1 } },
						      .content_id = 3 };
		assert_int_equal(run(&b, blob_apply_abort_copy, &abort), ERR_OK);
		go(&b);
		struct blob_get_call g = look(&b);
		assert_int_equal(g.blob.copy.status, COPY_ABORTED);
		assert_int_equal(g.blob.length_bytes, 0);
		bench_close(&b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_payload), cmocka_unit_test(test_block_list), cmocka_unit_test(test_appended),
		cmocka_unit_test(test_pages),	cmocka_unit_test(test_fails),	   cmocka_unit_test(test_stops),
		cmocka_unit_test(test_aborted),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
