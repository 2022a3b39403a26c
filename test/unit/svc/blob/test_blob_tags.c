/* SPDX-License-Identifier: Apache-2.0
 * Find Blobs by Tags against a model: random tags and expressions, pages of few results that look at few rows of the
 * index. All pages together must be what the model says, each blob once, and every page must end within its bounds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "container.h"
#include "engine/mem/mem.h"
#include "store/key.h"
#include "svc/blob/blob.h"
#include "svc/blob/tags.h"
#include "svc/common/generation.h"

#define NOON (UINT64_C(639000000000000000))

enum { BLOBS = 150, KEYS = 3, VALUES = 12, TERMS_MAX = 4, SEEDS = 40, FINDS = 25 };

struct bench {
	struct clock clock;
	struct engine *engine;
	struct store *store;
	struct arena arena;
	struct rng rng;
	char partition_bytes[CONTAINER_PARTITION_BYTES];
	struct slice partition;
	char name[BLOBS][8];
	struct pair pair[BLOBS][KEYS];
	struct pairs tags[BLOBS];
};

static const char *const keys[KEYS] = { "k", "k2", "other" };
static const char *const values[VALUES] = { "", "0", "00", "1", "a", "aa", "ab", "b", "b ", "b/", "z", "zz" };

static uint64_t pick(struct bench *b, uint64_t bound)
{
	return rng_below(&b->rng, bound);
}

/* ---- a container of blobs with tags ---- */

static void put(struct bench *b, size_t i)
{
	snprintf(b->name[i], sizeof b->name[i], "n%03zu", i);
	b->tags[i] = (struct pairs){ .pair = b->pair[i] };
	for (size_t k = 0; k < KEYS; k++)
		if (pick(b, 5))
			b->pair[i][b->tags[i].count++] =
				(struct pair){ slice_str(keys[k]), slice_str(values[pick(b, VALUES)]) };
	struct blob_put_call c = { .target = { .name = slice_str(b->name[i]) },
				   .type = BLOB_APPEND,
				   .content_id = i + 1,
				   .tags = b->tags[i],
				   .may_overwrite = true };
	assert_int_equal(store_write_wait(b->store, b->partition, blob_apply_put, &c, &b->arena), ERR_OK);
}

static void bench_open(struct bench *b, uint64_t seed)
{
	struct mem_options options = { .seed = seed };
	memset(b, 0, sizeof *b);
	rng_init_seed(&b->rng, seed);
	clock_init_fake(&b->clock, NOON);
	arena_init(&b->arena, 64 * MIB);
	mem_store_open(&options, &b->clock, &b->engine, &b->store);
	b->partition = container_partition(b->partition_bytes);
	assert_int_equal(store_write_wait(b->store, b->partition, open_generation, NULL, &b->arena), ERR_OK);
	for (size_t i = 0; i < BLOBS; i++)
		put(b, i);
}

static void bench_close(struct bench *b)
{
	store_close(b->store);
	arena_fini(&b->arena);
}

/* ---- finds ---- */

static struct tag_filter random_filter(struct bench *b)
{
	static const enum tag_op ops[] = { TAG_EQ, TAG_GT, TAG_GE, TAG_LT, TAG_LE };
	struct tag_filter f = { .count = 1 + pick(b, TERMS_MAX) };
	for (size_t i = 0; i < f.count; i++)
		f.term[i] = (struct tag_term){ .key = slice_str(keys[pick(b, KEYS)]),
					       .op = ops[pick(b, sizeof ops / sizeof *ops)],
					       .value = slice_str(values[pick(b, VALUES)]) };
	return f;
}

static void note(struct bench *b, const struct tag_find_item *item, bool *seen)
{
	size_t i = 0;
	while (i < BLOBS && !slice_eq(slice_str(b->name[i]), item->name))
		i++;
	assert_true(i < BLOBS);
	assert_false(seen[i]);
	seen[i] = true;
}

static void find_all(struct bench *b, struct tag_find_call c, bool *seen)
{
	size_t pages = 0;
	do {
		size_t rows = c.room.rows;
		assert_int_equal(store_read(b->store, b->partition, blob_apply_find_tags, &c, &b->arena), ERR_OK);
		assert_true(c.count <= c.limit && c.left.rows <= rows);
		assert_true(!c.more || c.count == c.limit || c.left.rows == 0 || c.left.bytes == 0);
		for (size_t i = 0; i < c.count; i++)
			note(b, &c.item[i], seen);
		c.from = c.next;
		assert_true(++pages <= 2 * BLOBS);
	} while (c.more);
}

static void find(struct bench *b)
{
	struct tag_filter f = random_filter(b);
	bool seen[BLOBS] = { false };
	struct tag_find_call c = { .filter = &f,
				   .limit = 1 + pick(b, 20),
				   .room = { 1 + pick(b, pick(b, 2) ? 10 : 2 * BLOBS), pick(b, 2) ? MIB : 1 } };
	find_all(b, c, seen);
	for (size_t i = 0; i < BLOBS; i++)
		assert_int_equal(seen[i], blob_tag_filter_matches(&f, &b->tags[i]));
	arena_reset(&b->arena);
}

static void test_model(void **state)
{
	static struct bench b;
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		bench_open(&b, seed);
		for (size_t i = 0; i < FINDS; i++)
			find(&b);
		bench_close(&b);
	}
}

/* A place that is none of this walk neither leaves its bounds nor shows anything twice. */
static void test_foreign_place(void **state)
{
	static struct bench b;
	bench_open(&b, 1);
	struct tag_filter f = { .count = 1, .term = { { .key = SLICE("k"), .op = TAG_EQ, .value = SLICE("b") } } };
	static const struct tag_place places[] = { { { "", 0 }, { "", 0 } }, { { "a", 1 }, { "n", 1 } } };
	for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
		bool seen[BLOBS] = { false };
		struct tag_find_call c = { .filter = &f, .from = places[i], .limit = 3, .room = { 5, MIB } };
		find_all(&b, c, seen);
		for (size_t k = 0; k < BLOBS; k++)
			assert_int_equal(seen[k], blob_tag_filter_matches(&f, &b.tags[k]));
	}
	bench_close(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_model), cmocka_unit_test(test_foreign_place) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
