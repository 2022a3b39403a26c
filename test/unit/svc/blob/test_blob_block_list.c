/* SPDX-License-Identifier: Apache-2.0
 * Block lists of many blocks with a long name: what a request may hold is enough for all of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "container.h"
#include "svc/blob/content/block_list.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_many_blocks_of_a_long_name),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
