/* SPDX-License-Identifier: Apache-2.0
 * Readers against the committing thread: a snapshot shows whole groups, never less than was acknowledged before it was
 * taken, and never goes back. */
#include "suite.h"

#include <pthread.h>
#include <stdatomic.h>

enum { READERS = 8, KEYS = 6, GROUPS = 400 };

struct shared {
	struct engine *engine;
	_Atomic uint64_t acknowledged;
	_Atomic bool stop;
};

struct reader {
	struct shared *shared;
	_Atomic uint64_t rounds;
	_Atomic(const char *) wrong; /* what was seen and must not be */
};

/* Two of them, where a group may hold more than one. */
static const char *partition_of(const struct engine *e, int p)
{
	return p && !e->ops->may_be_unknown ? "two" : "one";
}

static uint64_t number_at(struct engine *e, struct engine_snapshot *s, int p, char k, struct arena *arena)
{
	struct slice value;
	uint64_t n = 0;
	enum err err = e->ops->get(e, s, slice_str(partition_of(e, p)), slice_make(&k, 1), arena, &value);
	if (err == ERR_OK && slice_to_u64(value, &n))
		return n;
	return err == ERR_NOT_FOUND ? 0 : UINT64_MAX;
}

static const char *read_once(struct reader *r, struct arena *arena, uint64_t *last)
{
	struct engine *e = r->shared->engine;
	struct engine_snapshot *s;
	struct rows rows;
	struct scan_spec spec = { .limit_rows = 3 }; /* two pages */
	const char *wrong = NULL;
	uint64_t floor = atomic_load(&r->shared->acknowledged);
	if (e->ops->snapshot_take(e, &s) != ERR_OK)
		return "snapshot_take failed";
	uint64_t n = number_at(e, s, 0, 'a', arena);
	if (n == UINT64_MAX)
		wrong = "a read failed";
	else if (n < floor)
		wrong = "an acknowledged group is missing";
	else if (n < *last)
		wrong = "a later snapshot shows an older state";
	for (int p = 0; p < 2 && !wrong; p++)
		for (char k = 'a'; k < 'a' + KEYS && !wrong; k++)
			if (number_at(e, s, p, k, arena) != n)
				wrong = "half a group";
	for (int page = 0; page < 2 && !wrong; page++) {
		uint64_t seen;
		if (e->ops->scan(e, s, slice_str(partition_of(e, 1)), &spec, arena, &rows) != ERR_OK)
			wrong = "a scan failed";
		for (size_t i = 0; !wrong && i < rows.count; i++)
			if (!slice_to_u64(rows.row[i].value, &seen) || seen != n)
				wrong = "a scan shows half a group";
		spec.from = SLICE("d");
	}
	e->ops->snapshot_drop(e, s);
	uint64_t newest = number_at(e, NULL, 1, 'c', arena);
	if (!wrong && (newest == UINT64_MAX || newest < n))
		wrong = "without a snapshot an older state";
	*last = n;
	return wrong;
}

static void *reader_main(void *arg)
{
	struct reader *r = arg;
	struct arena arena;
	uint64_t last = 0;
	arena_init(&arena, MIB);
	const char *wrong = NULL;
	while (!atomic_load(&r->shared->stop) && !wrong) {
		arena_reset(&arena);
		wrong = read_once(r, &arena, &last);
		atomic_fetch_add(&r->rounds, 1);
	}
	atomic_store(&r->wrong, wrong);
	arena_fini(&arena);
	return NULL;
}

/* Until every reader looked at many states, or one has seen enough. */
static bool readers_want_more(struct reader *reader)
{
	bool more = false;
	for (int i = 0; i < READERS; i++) {
		if (atomic_load(&reader[i].wrong))
			return false;
		more |= atomic_load(&reader[i].rounds) < 50;
	}
	return more;
}

static void readers_see_whole_groups(void **state)
{
	struct fixture *f = *state;
	struct engine *e = f->engine;
	struct shared shared = { .engine = e };
	struct reader reader[READERS];
	pthread_t thread[READERS];
	uint64_t n = 0;
	for (unsigned i = 0; i < READERS; i++)
		reader[i] = (struct reader){ .shared = &shared };
	for (unsigned i = 0; i < READERS; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, reader_main, &reader[i]), 0);
	while (n < GROUPS || readers_want_more(reader)) {
		char value[32];
		struct slice text =
			slice_make(value, (size_t)snprintf(value, sizeof value, "%llu", (unsigned long long)++n));
		struct engine_group *g = group_open(e);
		for (char k = 'a'; k < 'a' + KEYS; k++) { /* interleaved, so that a torn read would show */
			group_put(g, partition_of(e, 0), slice_make(&k, 1), text);
			if (!e->ops->may_be_unknown)
				group_put(g, partition_of(e, 1), slice_make(&k, 1), text);
		}
		group_done(g);
		atomic_store(&shared.acknowledged, n);
	}
	atomic_store(&shared.stop, true);
	for (unsigned i = 0; i < READERS; i++) {
		pthread_join(thread[i], NULL);
		if (reader[i].wrong)
			fail_msg("reader %u after %llu rounds: %s", i, (unsigned long long)reader[i].rounds,
				 reader[i].wrong);
		assert_true(reader[i].rounds >= 50);
	}
}

const struct CMUnitTest thread_tests[] = {
	SUITE_TEST(readers_see_whole_groups),
};
const size_t thread_test_count = sizeof thread_tests / sizeof thread_tests[0];
