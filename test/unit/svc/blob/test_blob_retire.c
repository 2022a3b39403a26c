/* SPDX-License-Identifier: Apache-2.0
 * How much the background gives back at a time: short records of the queue share a commit, long ones take several, and
 * what the clock ended never is more than a commit holds. When all is over no extent is left. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "container.h"
#include "engine/mem/mem.h"
#include "store/extent.h"
#include "store/key.h"
#include "svc/blob/blob.h"
#include "svc/blob/content/block_list.h"
#include "svc/blob/retire.h"
#include "svc/blob/state.h"
#include "svc/common/generation.h"

#define NOON (UINT64_C(639000000000000000))
#define DAY  (UINT64_C(86400) * TICKS_PER_SECOND)

enum { ROUNDS_MAX = 1000 };

struct bench {
	struct container in;
	uint64_t next_id;
	bool soft_delete;
};

static void bench_open(struct bench *b)
{
	*b = (struct bench){ .next_id = 1 };
	container_open(&b->in);
}

/* Nothing is left. */
static void bench_close(struct bench *b)
{
	struct mem_counts counts;
	for (bool more = true; more;)
		assert_int_equal(b->in.engine->ops->reclaim(b->in.engine, &more), ERR_OK);
	engine_mem_counts(b->in.engine, &counts);
	assert_int_equal(counts.extents, 0);
	store_close(b->in.store);
	arena_fini(&b->in.arena);
}

static struct blob_target target_of(const struct bench *b, const char *name)
{
	return (struct blob_target){ .name = slice_str(name),
				     .rules = { .soft_delete = b->soft_delete, .retention_days = 3 } };
}

static struct payload payload_of(struct bench *b, size_t extents)
{
	static struct extent_ref refs[1000];
	struct payload p = { .extents = refs, .extent_count = extents, .length_bytes = extents };
	assert_true(extents <= sizeof refs / sizeof *refs);
	for (size_t i = 0; i < extents; i++) {
		struct extent_writer *w;
		assert_int_equal(b->in.engine->ops->extent_begin(b->in.engine, 1, &w), ERR_OK);
		assert_int_equal(b->in.engine->ops->extent_append(w, SLICE("x")), ERR_OK);
		assert_int_equal(b->in.engine->ops->extent_seal(w, &refs[i]), ERR_OK);
	}
	return p;
}

static void put(struct bench *b, const char *name, size_t extents)
{
	struct payload p = payload_of(b, extents);
	struct blob_put_call c = { .target = target_of(b, name),
				   .type = BLOB_BLOCK,
				   .payload = &p,
				   .content_id = b->next_id++,
				   .may_overwrite = true };
	container_run(&b->in, blob_apply_put, &c);
}

static void put_block(struct bench *b, const char *name, const char *id, size_t extents)
{
	struct payload p = payload_of(b, extents);
	struct blob_put_block_call c = {
		.target = target_of(b, name), .block_id = slice_str(id), .payload = &p, .stage_id = b->next_id++
	};
	container_run(&b->in, blob_apply_put_block, &c);
}

static void put_list(struct bench *b, const char *name, const char **ids, size_t count)
{
	struct block_choice choice[8];
	for (size_t i = 0; i < count; i++)
		choice[i] = (struct block_choice){ BLOCK_LATEST, slice_str(ids[i]) };
	struct blob_put_block_list_call c = { .choice = choice, .choice_count = count };
	c.put = (struct blob_put_call){ .target = target_of(b, name),
					.content_id = b->next_id++,
					.may_overwrite = true };
	container_run(&b->in, blob_apply_put_block_list, &c);
}

static void delete_blob(struct bench *b, const char *name)
{
	struct blob_delete_call c = { .target = target_of(b, name) };
	container_run(&b->in, blob_apply_delete, &c);
}

/* The commits it took. */
static size_t drain(struct bench *b)
{
	struct store_stats before, after;
	bool more = true;
	store_stats(b->in.store, &before);
	for (size_t i = 0; more && i < ROUNDS_MAX; i++)
		assert_int_equal(blob_retire_round(b->in.store, b->in.partition, &more), ERR_OK);
	assert_false(more);
	assert_int_equal(blob_retire_round(b->in.store, b->in.partition, &more), ERR_OK);
	store_stats(b->in.store, &after);
	return after.txns - before.txns;
}

static void expire(struct bench *b)
{
	struct buf from;
	bool more = true;
	buf_init(&from, LIMIT_KEY_BYTES);
	for (size_t i = 0; more && i < ROUNDS_MAX; i++)
		assert_int_equal(blob_expire_round(b->in.store, b->in.partition, &from, &more), ERR_OK);
	assert_false(more);
	buf_fini(&from);
}

static void test_short_records_share_commits(void **state)
{
	enum { BLOBS = 300 };
	static struct bench b;
	const char *ids[] = { "one", "two" };
	char name[16];
	bench_open(&b);
	for (unsigned i = 0; i < BLOBS; i++) {
		snprintf(name, sizeof name, "blob-%u", i);
		put_block(&b, name, "one", 1);
		put_block(&b, name, "two", 1);
		put_block(&b, name, "not", 1); /* taken */
		put_list(&b, name, ids, 2);
		delete_blob(&b, name);
	}
	/* A staging and a block list for each. */
	size_t commits = drain(&b);
	assert_true(commits > 1);
	assert_true(commits <= 2 * BLOBS / 50);
	bench_close(&b);
}

static void test_long_records_take_several(void **state)
{
	static struct bench b;
	static const char *ids[] = { "a", "b", "c", "d", "e" };
	bench_open(&b);
	for (size_t i = 0; i < 5; i++)
		put_block(&b, "parts", ids[i], 1000);
	put_block(&b, "parts", "x", 1000);
	put_list(&b, "parts", ids, 5);
	delete_blob(&b, "parts");
	put(&b, "extents", 1000);
	put(&b, "extents", 1000);
	put(&b, "extents", 0);
	for (unsigned i = 0; i < 8; i++) {
		char id[8];
		snprintf(id, sizeof id, "%u", i);
		put_block(&b, "staged", id, 900);
	}
	clock_fake_advance(&b.in.clock, 8 * DAY);
	expire(&b);
	assert_true(drain(&b) >= 16);
	bench_close(&b);
}

static void test_expiry_fits_a_commit(void **state)
{
	enum { BLOBS = 300, EXTENTS = RETIRE_AT_ONCE_EXTENTS };
	_Static_assert(BLOBS * EXTENTS > 4 * LIMIT_COMMIT_EXTENTS, "or it proves nothing");
	static struct bench b;
	char name[16];
	bench_open(&b);
	b.soft_delete = true;
	for (unsigned i = 0; i < BLOBS; i++) {
		snprintf(name, sizeof name, "blob-%u", i);
		put(&b, name, EXTENTS);
		delete_blob(&b, name);
	}
	clock_fake_advance(&b.in.clock, 4 * DAY);
	expire(&b);
	drain(&b);
	bench_close(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_short_records_share_commits),
		cmocka_unit_test(test_long_records_take_several),
		cmocka_unit_test(test_expiry_fits_a_commit),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
