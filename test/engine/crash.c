/* SPDX-License-Identifier: Apache-2.0
 * Power cuts: what was answered DONE is there, what was not is there whole or not at all.
 *
 * The work runs on the engine (in a process of its own where the engine lives on a disk) and writes into shared memory
 * what was acknowledged, right after it was; the test reads that after the cut. */
#include "suite.h"

#include <stdatomic.h>
#include <unistd.h>

enum { KEYS = 5, EXTENT_LEN = 50000 };

struct log {
	_Atomic uint64_t acknowledged; /* groups 1..n answered DONE */
	struct extent_ref ref[1000];   /* of group i at [i % 1000], set before its commit */
};

/* Where a group may hold one partition only, all of them are one: the keys are different enough. */
static const char *partition_of(const struct engine *e, const char *name)
{
	return e->ops->may_be_unknown ? "one" : name;
}

/* Group n writes n to KEYS keys of two partitions, and every fourth one publishes an extent full of n. */
static enum outcome write_group(struct engine *e, struct log *log, uint64_t n)
{
	struct engine_group *g = NULL;
	char value[32], *bytes = NULL;
	struct slice text = slice_make(value, (size_t)snprintf(value, sizeof value, "%llu", (unsigned long long)n));
	if (e->ops->group_begin(e, &g) != ERR_OK)
		return OUTCOME_FAILED;
	for (int p = 0; p < 2; p++)
		for (char k = 'a'; k < 'a' + KEYS; k++) {
			struct write w = { .kind = WRITE_PUT, .key = slice_make(&k, 1), .value = text };
			if (e->ops->group_accept(g, slice_str(partition_of(e, p ? "two" : "one")), &w, 1) != ERR_OK)
				abort();
		}
	if (n % 4 == 0) {
		bytes = pattern_new(n, EXTENT_LEN);
		log->ref[n % 1000] = extent_write(e, slice_make(bytes, EXTENT_LEN));
		char row[32];
		struct write w[] = { { .kind = WRITE_PUBLISH, .extent = log->ref[n % 1000] },
				     { .kind = WRITE_PUT, .value = text } };
		w[1].key = slice_make(row, (size_t)snprintf(row, sizeof row, "x%012llu", (unsigned long long)n));
		if (e->ops->group_accept(g, slice_str(partition_of(e, "extents")), w, 2) != ERR_OK)
			abort();
		free(bytes);
	}
	return e->ops->group_commit(g);
}

static void work_nothing(struct engine *e, void *shared)
{
	if (shared == e)
		abort();
}

/* Thirty groups acknowledged; then a group and an extent that never are. */
static void work_groups(struct engine *e, void *shared)
{
	struct log *log = shared;
	struct engine_group *g = NULL;
	for (int i = 0; i < 30; i++) {
		uint64_t n = atomic_load(&log->acknowledged) + 1;
		if (write_group(e, log, n) != OUTCOME_DONE)
			abort();
		atomic_store(&log->acknowledged, n);
	}
	log->ref[999] = extent_write(e, SLICE("sealed and never published"));
	if (e->ops->group_begin(e, &g) != ERR_OK)
		abort();
	struct write w[] = { { .kind = WRITE_PUT, .key = SLICE("a"), .value = SLICE("never") },
			     { .kind = WRITE_PUBLISH, .extent = log->ref[999] } };
	if (e->ops->group_accept(g, SLICE("one"), w, 2) != ERR_OK)
		abort();
	if (strcmp(e->ops->name, "mem") == 0)
		e->ops->group_abort(g); /* the cut of mem leaves this process its memory to free */
}

static void work_endless(struct engine *e, void *shared)
{
	struct log *log = shared;
	for (;;) {
		uint64_t n = atomic_load(&log->acknowledged) + 1;
		if (write_group(e, log, n) != OUTCOME_DONE)
			abort();
		atomic_store(&log->acknowledged, n);
	}
}

/* Groups 1 to 30, each of one row: every third one is strict, and the last ten are all synced later. */
static void work_later(struct engine *e, void *shared)
{
	struct log *log = shared;
	for (uint64_t n = 1; n <= 30; n++) {
		struct engine_group *g = NULL;
		char row[32], value[32];
		struct write w[] = { { .kind = WRITE_PUT, .value = slice_make(value, 1) },
				     { .kind = WRITE_PUT, .key = SLICE("newest") } };
		bool strict = n % 3 == 0 && n < 20;
		value[0] = 'v';
		w[0].key = slice_make(row, (size_t)snprintf(row, sizeof row, "x%02u", (unsigned)n));
		w[1].value = w[0].key;
		if (e->ops->group_begin(e, &g) != ERR_OK || e->ops->group_accept(g, SLICE("one"), w, 2) != ERR_OK)
			abort();
		if (!strict && e->ops->group_sync_later)
			e->ops->group_sync_later(g);
		if (e->ops->group_commit(g) != OUTCOME_DONE)
			abort();
		expect_row(e, NULL, "one", w[0].key, w[0].value); /* seen at once */
		if (n == 25 && e->ops->sync && e->ops->sync(e) != ERR_OK)
			abort();
		if (strict || n == 25 || !e->ops->group_sync_later)
			atomic_store(&log->acknowledged, n); /* and all before it */
	}
}

static void work_drop(struct engine *e, void *shared)
{
	commit_put(e, "dropped", SLICE("a"), SLICE("v"));
	commit_put(e, "dropped", SLICE("b"), SLICE("v"));
	if (e->ops->drop_partition(e, SLICE("dropped")) != ERR_OK)
		abort();
	commit_put(e, "kept", SLICE("a"),
		   SLICE("v")); /* an acknowledged commit after it makes it durable at the latest */
}

const struct work crash_work[] = {
	{ "nothing", work_nothing }, { "groups", work_groups }, { "endless", work_endless },
	{ "drop", work_drop },	     { "later", work_later },
};
const size_t crash_work_count = sizeof crash_work / sizeof crash_work[0];

/* Returns the group whose state is there. */
static uint64_t expect_whole(struct fixture *f)
{
	struct log *log = f->shared;
	struct engine *e = f->engine;
	uint64_t acknowledged = atomic_load(&log->acknowledged), there = 0;
	struct slice value = SLICE_NONE;
	arena_reset(&f->arena);
	enum err err = e->ops->get(e, NULL, SLICE("one"), SLICE("a"), &f->arena, &value);
	if (err != ERR_NOT_FOUND) {
		assert_int_equal(err, ERR_OK);
		assert_true(slice_to_u64(value, &there));
	}
	assert_true(there == acknowledged || there == acknowledged + 1);
	for (int p = 0; p < 2; p++)
		for (char k = 'a'; k < 'a' + KEYS; k++)
			expect_row(e, NULL, partition_of(e, p ? "two" : "one"), slice_make(&k, 1), value);
	for (uint64_t n = 4; n <= there + 4; n += 4) {
		char row[32], text[32];
		struct slice key =
			slice_make(row, (size_t)snprintf(row, sizeof row, "x%012llu", (unsigned long long)n));
		size_t len = (size_t)snprintf(text, sizeof text, "%llu", (unsigned long long)n);
		expect_row(e, NULL, partition_of(e, "extents"), key, n <= there ? slice_make(text, len) : SLICE_NONE);
		if (n > there || n + 1000 <= there)
			continue;
		char *bytes = pattern_new(n, EXTENT_LEN);
		extent_expect(e, &log->ref[n % 1000], slice_make(bytes, EXTENT_LEN));
		free(bytes);
	}
	return there;
}

static void acknowledged_survives(void **state)
{
	struct fixture *f = *state;
	struct log *log = f->shared;
	for (int round = 1; round <= 3; round++) {
		f->kind->crash_after(f, "groups");
		assert_int_equal(atomic_load(&log->acknowledged), round * 30);
		assert_int_equal(expect_whole(f), round * 30);
		uint64_t live = stats_of(f->engine).extent_bytes_live, extents = (uint64_t)round * 30 / 4;
		assert_true(live >= extents * EXTENT_LEN && live < extents * (EXTENT_LEN + 16 * 1024));
	}
	f->kind->reopen(f);
	assert_int_equal(expect_whole(f), 90);
}

static void killed_at_any_instant(void **state)
{
	struct fixture *f = *state;
	struct log *log = f->shared;
	if (!f->kind->other_process) {
		print_message(
			"reason: it lives in this process; acknowledged_survives cuts everywhere a call can return\n");
		skip();
	}
	for (unsigned round = 0; round < 8; round++) {
		suite_kill_during(f, "endless", &log->acknowledged, round * 3771 % 30000);
		uint64_t there = expect_whole(f);
		atomic_store(&log->acknowledged, there);
	}
}

/* Of groups that are synced later a power cut takes an end, and nothing that a strict one or a sync came behind. Where
 * the cut is a kill of the process it takes nothing. */
static void an_end_of_what_is_synced_later_may_go(void **state)
{
	struct fixture *f = *state;
	struct log *log = f->shared;
	f->kind->crash_after(f, "later");
	uint64_t durable = atomic_load(&log->acknowledged), there = 0;
	struct slice newest;
	assert_true(durable >= 25);
	arena_reset(&f->arena);
	assert_int_equal(f->engine->ops->get(f->engine, NULL, SLICE("one"), SLICE("newest"), &f->arena, &newest),
			 ERR_OK);
	assert_true(slice_to_u64(slice_from(newest, 1), &there));
	assert_true(there >= durable && there <= 30);
	if (f->kind->other_process)
		assert_int_equal(there, 30);
	for (uint64_t n = 1; n <= 30; n++) {
		char row[32];
		struct slice key = slice_make(row, (size_t)snprintf(row, sizeof row, "x%02u", (unsigned)n));
		expect_row(f->engine, NULL, "one", key, n <= there ? SLICE("v") : SLICE_NONE);
	}
}

static void a_drop_survives(void **state)
{
	struct fixture *f = *state;
	f->kind->crash_after(f, "drop");
	expect_text(f, NULL, NULL, "dropped", SLICE_NONE, SLICE_NONE, 0, "");
	expect_text(f, NULL, NULL, "kept", SLICE_NONE, SLICE_NONE, 0, "a=v ");
}

const struct CMUnitTest crash_tests[] = {
	SUITE_TEST(acknowledged_survives),
	SUITE_TEST(killed_at_any_instant),
	SUITE_TEST(a_drop_survives),
	SUITE_TEST(an_end_of_what_is_synced_later_may_go),
};
const size_t crash_test_count = sizeof crash_tests / sizeof crash_tests[0];
