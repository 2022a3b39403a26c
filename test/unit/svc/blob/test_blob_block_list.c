/* SPDX-License-Identifier: Apache-2.0
 * Block lists of many blocks with a long name: what a request may hold is enough for all of them. Lists that are
 * planned outside of the committer: what comes of them is what would have come of them inside, or they are planned
 * again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "container.h"
#include "svc/blob/content/block_list.h"
#include "svc/blob/state.h"

enum { BLOCKS = 30000, NAME_BYTES = 1024 };
_Static_assert((size_t)BLOCKS *NAME_BYTES > LIMIT_REQUEST_ARENA_BYTES * 9 / 10, "or it proves nothing");

struct bench {
	struct container in;
	char name[NAME_BYTES];
	char id[BLOCKS][BLOCK_ID_MAX_BYTES];
	struct block_choice choice[BLOCKS];
};

static void bench_open(struct bench *b)
{
	container_open(&b->in);
	memset(b->name, 'n', sizeof b->name);
	for (unsigned i = 0; i < BLOCKS; i++) {
		char number[16];
		int n = snprintf(number, sizeof number, "%08u", i);
		memset(b->id[i], '-', sizeof b->id[i]);
		memcpy(b->id[i], number, (size_t)n);
		b->choice[i] = (struct block_choice){ BLOCK_LATEST, slice_make(b->id[i], sizeof b->id[i]) };
	}
}

static void bench_close(struct bench *b)
{
	store_close(b->in.store);
	arena_fini(&b->in.arena);
}

static struct blob_target target_of(const struct bench *b)
{
	return (struct blob_target){ .name = slice_make(b->name, sizeof b->name) };
}

static void stage_all(struct bench *b, uint64_t stage_id, uint64_t length)
{
	struct payload p = { .length_bytes = length };
	for (size_t i = 0; i < BLOCKS; i++) {
		struct blob_put_block_call c = {
			.target = target_of(b), .block_id = b->choice[i].id, .payload = &p, .stage_id = stage_id
		};
		container_run(&b->in, blob_apply_put_block, &c);
	}
}

static uint64_t commit_all(struct bench *b, uint64_t content_id)
{
	struct blob_put_block_list_call c = { .choice = b->choice, .choice_count = BLOCKS };
	c.put = (struct blob_put_call){ .target = target_of(b), .content_id = content_id, .may_overwrite = true };
	container_run(&b->in, blob_apply_put_block_list, &c);
	return c.put.blob.length_bytes;
}

static void expect_listed(struct bench *b, size_t committed, size_t uncommitted)
{
	struct blob_get_block_list_call c = { .target = target_of(b), .committed = true, .uncommitted = true };
	assert_int_equal(store_read(b->in.store, b->in.partition, blob_apply_get_block_list, &c, &b->in.arena), ERR_OK);
	assert_int_equal(c.committed_blocks.count, committed);
	assert_int_equal(c.uncommitted_blocks.count, uncommitted);
	for (size_t i = 0; i < uncommitted; i++)
		assert_true(slice_eq(c.uncommitted_blocks.block[i].id, b->choice[i].id));
	arena_reset(&b->in.arena);
}

static void test_many_blocks_of_a_long_name(void **state)
{
	static struct bench b;
	bench_open(&b);
	stage_all(&b, 1, 2);
	expect_listed(&b, 0, BLOCKS);
	assert_int_equal(commit_all(&b, 2), 2 * BLOCKS);
	expect_listed(&b, BLOCKS, 0);
	stage_all(&b, 3, 5);
	expect_listed(&b, BLOCKS, BLOCKS);
	for (size_t i = 0; i < BLOCKS; i += 2)
		b.choice[i].source = BLOCK_COMMITTED;
	assert_int_equal(commit_all(&b, 4), 7 * BLOCKS / 2);
	assert_int_equal(commit_all(&b, 5), 7 * BLOCKS / 2); /* all from the committed ones */
	bench_close(&b);
}

/* ---- planned ahead ---- */

enum { PLANNED = 3000 };

static void stage_some(struct bench *b, size_t from, size_t until, uint64_t length)
{
	struct payload p = { .length_bytes = length };
	for (size_t i = from; i < until; i++) {
		struct blob_put_block_call c = {
			.target = target_of(b), .block_id = b->choice[i].id, .payload = &p, .stage_id = 1
		};
		container_run(&b->in, blob_apply_put_block, &c);
	}
}

static struct blob_put_block_list_call planned_call(struct bench *b, uint64_t content_id, bool ahead)
{
	struct blob_put_block_list_call c = { .choice = b->choice, .choice_count = PLANNED, .plans_ahead = ahead };
	c.put = (struct blob_put_call){ .target = target_of(b), .content_id = content_id, .may_overwrite = true };
	return c;
}

/* The arena keeps the plan: it is the caller's to reset. */
static enum err plan(struct bench *b, struct blob_put_block_list_call *c)
{
	return store_read(b->in.store, b->in.partition, blob_apply_plan_block_list, c, &b->in.arena);
}

static enum err commit(struct bench *b, struct blob_put_block_list_call *c)
{
	return store_write_wait(b->in.store, b->in.partition, blob_apply_put_block_list, c, &b->in.arena);
}

static void snapshot(struct bench *b)
{
	struct blob_snapshot_call c = { .target = target_of(b) };
	struct arena own;
	arena_init(&own, LIMIT_REQUEST_ARENA_BYTES);
	assert_int_equal(store_write_wait(b->in.store, b->in.partition, blob_apply_snapshot, &c, &own), ERR_OK);
	arena_fini(&own);
}

/* Another client's, while the arena of the test holds a plan. */
static void put_block_beside(struct bench *b, size_t i, uint64_t length)
{
	struct payload p = { .length_bytes = length };
	struct blob_put_block_call c = {
		.target = target_of(b), .block_id = b->choice[i].id, .payload = &p, .stage_id = 1
	};
	struct arena own;
	arena_init(&own, LIMIT_REQUEST_ARENA_BYTES);
	assert_int_equal(store_write_wait(b->in.store, b->in.partition, blob_apply_put_block, &c, &own), ERR_OK);
	arena_fini(&own);
}

static void test_a_long_list_is_not_the_committers_work(void **state)
{
	static struct bench b;
	bench_open(&b);
	stage_some(&b, 0, PLANNED, 2);
	struct blob_put_block_list_call c = planned_call(&b, 2, true);
	assert_int_equal(commit(&b, &c), ERR_BUDGET);
	assert_int_equal(plan(&b, &c), ERR_OK);
	assert_int_equal(commit(&b, &c), ERR_OK);
	assert_int_equal(c.put.blob.length_bytes, 2 * PLANNED);
	arena_reset(&b.in.arena);
	expect_listed(&b, PLANNED, 0);
	/* A short list over many blocks is as long. */
	c = planned_call(&b, 3, true);
	c.choice_count = 1;
	assert_int_equal(commit(&b, &c), ERR_BUDGET);
	assert_int_equal(plan(&b, &c), ERR_OK);
	assert_int_equal(commit(&b, &c), ERR_OK);
	arena_reset(&b.in.arena);
	expect_listed(&b, 1, 0);
	/* What would be refused is refused by the plan. */
	c = planned_call(&b, 4, true);
	assert_int_equal(plan(&b, &c), ERR_INVALID_BLOCK_LIST);
	arena_reset(&b.in.arena);
	bench_close(&b);
}

static void test_a_plan_of_what_changed_is_made_again(void **state)
{
	static struct bench b;
	bench_open(&b);
	stage_some(&b, 0, PLANNED, 2);
	struct blob_put_block_list_call c = planned_call(&b, 2, true);
	assert_int_equal(plan(&b, &c), ERR_OK);
	put_block_beside(&b, 7, 100); /* the same id, as many blocks: other bytes */
	assert_int_equal(commit(&b, &c), ERR_BUDGET);
	assert_int_equal(plan(&b, &c), ERR_OK);
	assert_int_equal(commit(&b, &c), ERR_OK);
	assert_int_equal(c.put.blob.length_bytes, 2 * PLANNED + 98);
	arena_reset(&b.in.arena);
	/* Two lists planned over one state: the second one rests on what the first one replaced. */
	struct blob_put_block_list_call first = planned_call(&b, 3, true), second = planned_call(&b, 4, true);
	assert_int_equal(plan(&b, &first), ERR_OK);
	assert_int_equal(plan(&b, &second), ERR_OK);
	assert_int_equal(commit(&b, &first), ERR_OK);
	assert_int_equal(commit(&b, &second), ERR_BUDGET);
	assert_int_equal(plan(&b, &second), ERR_OK);
	/* Whose the blocks are is another matter once a snapshot shares them. */
	snapshot(&b);
	assert_int_equal(commit(&b, &second), ERR_BUDGET);
	assert_int_equal(plan(&b, &second), ERR_OK);
	assert_int_equal(commit(&b, &second), ERR_OK);
	assert_int_equal(second.put.blob.length_bytes, 2 * PLANNED + 98);
	arena_reset(&b.in.arena);
	bench_close(&b);
}

/* Every row of the partition but for times: the record of the blob is the only one that has some. */
static enum err apply_count_parts(struct txn *txn, void *call)
{
	struct rows rows;
	struct buf *all = call;
	struct scan_spec spec = { .from = SLICE("f"), .until = SLICE("g") };
	TRY(txn_scan(txn, &spec, &rows));
	assert_false(rows.more);
	for (size_t i = 0; i < rows.count; i++) {
		buf_put(all, rows.row[i].key);
		buf_put(all, rows.row[i].value);
	}
	return ERR_OK;
}

static void test_a_plan_writes_what_the_committer_would(void **state)
{
	static struct bench b;
	struct buf rows[2];
	for (int ahead = 0; ahead < 2; ahead++) {
		bench_open(&b);
		stage_some(&b, 0, PLANNED, 2);
		struct blob_put_block_list_call c = planned_call(&b, 2, ahead);
		if (ahead)
			assert_int_equal(plan(&b, &c), ERR_OK);
		assert_int_equal(commit(&b, &c), ERR_OK);
		arena_reset(&b.in.arena);
		buf_init(&rows[ahead], 16 * MIB);
		assert_int_equal(store_read(b.in.store, b.in.partition, apply_count_parts, &rows[ahead], &b.in.arena),
				 ERR_OK);
		assert_true(buf_ok(&rows[ahead]) && rows[ahead].len > PLANNED * BLOCK_ID_MAX_BYTES);
		bench_close(&b);
	}
	assert_true(slice_eq(buf_slice(&rows[0]), buf_slice(&rows[1])));
	buf_fini(&rows[0]);
	buf_fini(&rows[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_many_blocks_of_a_long_name),
		cmocka_unit_test(test_a_long_list_is_not_the_committers_work),
		cmocka_unit_test(test_a_plan_of_what_changed_is_made_again),
		cmocka_unit_test(test_a_plan_writes_what_the_committer_would),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
