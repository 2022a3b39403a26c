/* SPDX-License-Identifier: Apache-2.0
 * Extents: bytes come back or an error does; pins, retirement, reclaim and the reuse of space. */
#include "suite.h"

#include <pthread.h>

static void sizes_and_ranges(void **state)
{
	struct fixture *f = *state;
	struct engine *e = f->engine;
	const size_t sizes[] = { 1,
				 100,
				 4095,
				 4096,
				 4097,
				 65535,
				 65536,
				 65537,
				 131072,
				 1000003,
				 LIMIT_EXTENT_BYTES - 1,
				 LIMIT_EXTENT_BYTES };
	char *got = malloc(LIMIT_EXTENT_BYTES);
	for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
		size_t len = sizes[i];
		char *bytes = pattern_new(i, len);
		struct extent_ref ref = extent_write(e, slice_make(bytes, len));
		extent_expect(e, &ref, slice_make(bytes, len)); /* readable at once */
		const size_t at[] = { 0, 1, 4095, 4096, 65535, 65536, 65537, len / 2, len - 1 };
		const size_t want[] = { 1, 2, 4096, 65536, 65537, len };
		for (size_t a = 0; a < sizeof at / sizeof at[0]; a++)
			for (size_t w = 0; w < sizeof want / sizeof want[0]; w++) {
				if (at[a] >= len)
					continue;
				size_t n = want[w] < len - at[a] ? want[w] : len - at[a];
				assert_int_equal(e->ops->extent_read(e, &ref, (uint32_t)at[a], (uint32_t)n, got),
						 ERR_OK);
				assert_memory_equal(got, bytes + at[a], n);
			}
		free(bytes);
	}
	free(got);
}

static void appended_in_pieces(void **state)
{
	struct fixture *f = *state;
	struct engine *e = f->engine;
	enum { LEN = 700001 };
	char *bytes = pattern_new(5, LEN);
	const uint32_t hints[] = { LEN, 1, LIMIT_EXTENT_BYTES, 0 }; /* right, far too small, too large, none */
	const size_t steps[] = { 1000, 1, 4096, 65536, 70000, 13 };
	for (size_t h = 0; h < 4; h++) {
		struct extent_writer *w = NULL;
		struct extent_ref ref;
		assert_int_equal(e->ops->extent_begin(e, hints[h], &w), ERR_OK);
		for (size_t at = 0, i = h; at < LEN; i++) {
			size_t n = steps[i % 6] < LEN - at ? steps[i % 6] : LEN - at;
			assert_int_equal(e->ops->extent_append(w, slice_make(bytes + at, n)), ERR_OK);
			at += n;
		}
		assert_int_equal(e->ops->extent_seal(w, &ref), ERR_OK);
		assert_int_equal(ref.length_bytes, LEN);
		commit_extent(e, WRITE_PUBLISH, &ref);
		extent_expect(e, &ref, slice_make(bytes, LEN));
	}
	free(bytes);
}

/* The end of an extent with its last bytes: from a page's beginning or not, all of it or only the end. */
static void sealed_with_the_last_bytes(void **state)
{
	struct fixture *f = *state;
	struct engine *e = f->engine;
	const size_t sizes[] = { 1, 4095, 4096, 4097, 65536, 131072 + 5, 1048576, 1048576 + 4000, LIMIT_EXTENT_BYTES };
	enum { PAGE = 4096 };
	char *memory = aligned_alloc(PAGE, LIMIT_EXTENT_BYTES + 2 * PAGE);
	for (size_t i = 0; i < 3 * sizeof sizes / sizeof sizes[0]; i++) {
		size_t len = sizes[i / 3], at = i % 3 == 0 ? 0 : 112, before = i % 3 == 2 ? len / 3 : 0;
		const uint32_t hints[] = { (uint32_t)len, 1, 0 };
		char *bytes = pattern_new(i, len);
		memcpy(memory + at, bytes, len);
		for (size_t h = 0; h < 3; h++) {
			struct extent_writer *w = NULL;
			struct extent_ref ref;
			assert_int_equal(e->ops->extent_begin(e, hints[h], &w), ERR_OK);
			if (before)
				assert_int_equal(e->ops->extent_append(w, slice_make(memory + at, before)), ERR_OK);
			struct slice last = slice_make(memory + at + before, len - before);
			assert_int_equal(e->ops->extent_append_seal(w, last, &ref), ERR_OK);
			assert_int_equal(ref.length_bytes, len);
			commit_extent(e, WRITE_PUBLISH, &ref);
			extent_expect(e, &ref, slice_make(bytes, len));
			commit_extent(e, WRITE_RETIRE, &ref);
		}
		free(bytes);
		reclaim_all(e);
	}
	struct extent_writer *w = NULL;
	struct extent_ref ref;
	assert_int_equal(e->ops->extent_begin(e, 0, &w), ERR_OK);
	assert_int_equal(e->ops->extent_append_seal(w, slice_make(memory, LIMIT_EXTENT_BYTES + 1), &ref), ERR_LIMIT);
	free(memory);
}

static void ids_are_never_reused(void **state)
{
	struct fixture *f = *state;
	uint64_t last = 0;
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < 40; i++) {
			struct extent_ref ref = extent_write(f->engine, SLICE("some bytes"));
			assert_true(ref.id > last); /* growing is one way to be unique, and the one all engines chose */
			last = ref.id;
			if (i % 3 == 0) {
				f->engine->ops->extent_abandon(f->engine, &ref);
			} else if (i % 3 == 1) {
				commit_extent(f->engine, WRITE_PUBLISH, &ref);
				commit_extent(f->engine, WRITE_RETIRE, &ref);
				reclaim_all(f->engine);
			}
		}
		f->kind->reopen(f);
	}
}

static void published_survive_reopening(void **state)
{
	struct fixture *f = *state;
	enum { COUNT = 12, LEN = 90000 };
	struct extent_ref ref[COUNT];
	struct engine_group *g = group_open(f->engine);
	for (int i = 0; i < COUNT; i++) {
		char *bytes = pattern_new((uint64_t)i, LEN);
		ref[i] = extent_write(f->engine, slice_make(bytes, LEN));
		struct write w[] = { { .kind = WRITE_PUBLISH, .extent = ref[i] },
				     { .kind = WRITE_PUT, .key = SLICE("k"), .value = SLICE("v") } };
		assert_int_equal(f->engine->ops->group_accept(g, SLICE("p"), w, 2), ERR_OK);
		free(bytes);
	}
	group_done(g);
	f->kind->reopen(f);
	assert_true(stats_of(f->engine).extent_bytes_live >= (uint64_t)COUNT * LEN);
	for (int i = 0; i < COUNT; i++) {
		char *bytes = pattern_new((uint64_t)i, LEN);
		extent_expect(f->engine, &ref[i], slice_make(bytes, LEN));
		free(bytes);
	}
}

/* Space that only unpublished extents take comes back: at once by abandon, after a restart in any case. */
static void unpublished_space_comes_back(void **state)
{
	struct fixture *f = *state;
	enum { LEN = 1024 * 1024 };
	char *bytes = pattern_new(9, LEN);
	struct extent_writer *w;
	struct extent_ref kept = extent_write(f->engine, slice_make(bytes, LEN));
	commit_extent(f->engine, WRITE_PUBLISH, &kept);
	uint64_t live = stats_of(f->engine).extent_bytes_live, most = 0;
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < 100; i++) {
			struct extent_ref gone = extent_write(f->engine, slice_make(bytes, LEN));
			f->engine->ops->extent_abandon(f->engine, &gone);
			assert_int_equal(f->engine->ops->extent_begin(f->engine, LEN, &w), ERR_OK);
			assert_int_equal(f->engine->ops->extent_append(w, slice_make(bytes, 70000)), ERR_OK);
			f->engine->ops->extent_writer_free(w);
		}
		for (int i = 0; i < 30; i++)
			extent_write(f->engine, slice_make(bytes, LEN)); /* neither published nor abandoned */
		struct engine_stats s = stats_of(f->engine);
		assert_int_equal(s.extent_bytes_live, live);
		if (round == 0)
			most = s.extent_bytes_live + s.extent_bytes_free + 30 * (uint64_t)LEN;
		f->kind->crash_after(f, "nothing");
		s = stats_of(f->engine);
		assert_int_equal(s.extent_bytes_live, live);
		/* No growth from round to round (a segment file more is the grain of some engines). */
		assert_true(s.extent_bytes_live + s.extent_bytes_free <= most + 64 * MIB);
	}
	f->engine->ops->extent_writer_free(NULL);
	extent_expect(f->engine, &kept, slice_make(bytes, LEN));
	free(bytes);
}

static void a_pin_keeps_the_retired(void **state)
{
	struct fixture *f = *state;
	struct engine *e = f->engine;
	enum { LEN = 200000 };
	char *old = pattern_new(1, LEN), *other = pattern_new(2, LEN);
	struct extent_ref ref = extent_write(e, slice_make(old, LEN));
	commit_extent(e, WRITE_PUBLISH, &ref);
	uint64_t pin = e->ops->pin(e);
	commit_extent(e, WRITE_RETIRE, &ref);
	assert_int_equal(stats_of(e).retired_waiting, 1);
	uint64_t younger = e->ops->pin(e);
	for (int i = 0; i < 30; i++) { /* others come and go over the space it must not lose */
		struct extent_ref more = extent_write(e, slice_make(other, LEN));
		commit_extent(e, WRITE_PUBLISH, &more);
		reclaim_all(e);
		extent_expect(e, &ref, slice_make(old, LEN));
		extent_expect(e, &more, slice_make(other, LEN));
	}
	assert_int_equal(stats_of(e).retired_waiting, 1);
	e->ops->unpin(e, pin);
	reclaim_all(e); /* the younger pin does not protect it */
	assert_int_equal(stats_of(e).retired_waiting, 0);
	e->ops->unpin(e, younger);
	assert_true(stats_of(e).extent_bytes_live >= 30 * (uint64_t)LEN);
	free(old);
	free(other);
}

static void pins_may_end_in_any_order(void **state)
{
	struct fixture *f = *state;
	struct engine *e = f->engine;
	struct extent_ref ref[3];
	uint64_t pin[3];
	char *bytes = pattern_new(3, 5000);
	for (int i = 0; i < 3; i++) {
		ref[i] = extent_write(e, slice_make(bytes, 5000));
		commit_extent(e, WRITE_PUBLISH, &ref[i]);
	}
	for (int i = 0; i < 3; i++) { /* pin 0, retire 0, pin 1, retire 1, ... */
		pin[i] = e->ops->pin(e);
		commit_extent(e, WRITE_RETIRE, &ref[i]);
	}
	e->ops->unpin(e, pin[1]);
	reclaim_all(e);
	assert_int_equal(stats_of(e).retired_waiting, 3);
	e->ops->unpin(e, pin[0]);
	reclaim_all(e);
	assert_int_equal(stats_of(e).retired_waiting, 1); /* 2 was retired under pin 2 */
	extent_expect(e, &ref[2], slice_make(bytes, 5000));
	e->ops->unpin(e, pin[2]);
	reclaim_all(e);
	assert_int_equal(stats_of(e).retired_waiting, 0);
	free(bytes);
}

static void reclaimed_space_is_used_again(void **state)
{
	struct fixture *f = *state;
	struct engine *e = f->engine;
	enum { LEN = 3 * 1024 * 1024, ROUNDS = 150 }; /* 450 MiB in all, 6 MiB alive at most */
	char *bytes = pattern_new(4, LEN);
	struct extent_ref before = { 0 };
	for (int i = 0; i < ROUNDS; i++) {
		struct extent_ref ref = extent_write(e, slice_make(bytes, LEN));
		struct write w[] = { { .kind = WRITE_PUBLISH, .extent = ref },
				     { .kind = WRITE_RETIRE, .extent = before } };
		struct engine_group *g = group_open(e);
		assert_int_equal(e->ops->group_accept(g, SLICE("p"), w, before.id ? 2 : 1), ERR_OK);
		group_done(g);
		reclaim_all(e);
		before = ref;
		struct engine_stats s = stats_of(e);
		assert_int_equal(s.retired_waiting, 0);
		assert_true(s.extent_bytes_live >= LEN && s.extent_bytes_live < LEN + 256 * KIB);
		assert_true(s.extent_bytes_live + s.extent_bytes_free <= 128 * MIB);
	}
	extent_expect(e, &before, slice_make(bytes, LEN));
	commit_extent(e, WRITE_RETIRE, &before);
	reclaim_all(e);
	assert_int_equal(stats_of(e).extent_bytes_live, 0);
	f->kind->reopen(f);
	assert_int_equal(stats_of(f->engine).extent_bytes_live, 0);
	free(bytes);
}

/* Retired in the group that published it (a write overwritten before its sync), and over a restart. */
static void retired_early_and_over_a_restart(void **state)
{
	struct fixture *f = *state;
	struct extent_ref a = extent_write(f->engine, SLICE("short-lived")),
			  b = extent_write(f->engine, SLICE("longer"));
	struct write w[] = { { .kind = WRITE_PUBLISH, .extent = a },
			     { .kind = WRITE_PUBLISH, .extent = b },
			     { .kind = WRITE_RETIRE, .extent = a } };
	struct engine_group *g = group_open(f->engine);
	assert_int_equal(f->engine->ops->group_accept(g, SLICE("p"), w, 2), ERR_OK);
	assert_int_equal(f->engine->ops->group_accept(g, SLICE("p"), w + 2, 1), ERR_OK);
	group_done(g);
	assert_int_equal(stats_of(f->engine).retired_waiting, 1);
	f->kind->reopen(f);
	reclaim_all(f->engine);
	assert_int_equal(stats_of(f->engine).retired_waiting, 0);
	extent_expect(f->engine, &b, SLICE("longer"));
	commit_extent(f->engine, WRITE_RETIRE, &b);
	f->kind->crash_after(f, "nothing");
	reclaim_all(f->engine);
	assert_int_equal(stats_of(f->engine).extent_bytes_live, 0);
}

/* A group that did not happen leaves its extents as they were: sealed, readable, free to be published or abandoned. */
static void an_aborted_group_publishes_nothing(void **state)
{
	struct fixture *f = *state;
	struct engine *e = f->engine;
	struct extent_ref a = extent_write(e, SLICE("first try")), b = extent_write(e, SLICE("given up"));
	struct write w[] = { { .kind = WRITE_PUBLISH, .extent = a }, { .kind = WRITE_PUBLISH, .extent = b } };
	struct engine_group *g = group_open(e);
	assert_int_equal(e->ops->group_accept(g, SLICE("p"), w, 2), ERR_OK);
	e->ops->group_abort(g);
	assert_int_equal(stats_of(e).extent_bytes_live, 0);
	extent_expect(e, &a, SLICE("first try"));
	commit_extent(e, WRITE_PUBLISH, &a);
	e->ops->extent_abandon(e, &b);
	f->kind->reopen(f);
	extent_expect(f->engine, &a, SLICE("first try"));
}

static void damage_is_noticed(void **state)
{
	struct fixture *f = *state;
	enum { LEN = 300000 };
	const uint32_t at[] = { 0, 4096, 65535, 65536, 150000, LEN - 1 };
	char *got = malloc(LEN);
	for (size_t i = 0; i < sizeof at / sizeof at[0]; i++) {
		char *bytes = pattern_new(100 + i, LEN);
		struct extent_ref ref = extent_write(f->engine, slice_make(bytes, LEN));
		struct extent_ref beside = extent_write(f->engine, SLICE("beside"));
		commit_extent(f->engine, WRITE_PUBLISH, &ref);
		commit_extent(f->engine, WRITE_PUBLISH, &beside);
		f->kind->corrupt(f, &ref, slice_make(bytes, LEN), at[i]);
		struct engine *e = f->engine;
		assert_int_equal(e->ops->extent_read(e, &ref, 0, LEN, got), ERR_CORRUPT);
		assert_int_equal(e->ops->extent_read(e, &ref, at[i], 1, got), ERR_CORRUPT);
		/* Far from the damage an engine may read on, but never wrong bytes. */
		uint32_t far = at[i] < LEN / 2 ? LEN - 10 : 0;
		enum err err = e->ops->extent_read(e, &ref, far, 10, got);
		if (err == ERR_OK)
			assert_memory_equal(got, bytes + far, 10);
		else
			assert_int_equal(err, ERR_CORRUPT);
		extent_expect(e, &beside, SLICE("beside"));
		free(bytes);
	}
	free(got);
}

static void checksums_bind_the_id(void **state)
{
	struct fixture *f = *state;
	struct engine *e = f->engine;
	char a_bytes[64], b_bytes[64], got[64];
	memset(a_bytes, 'a', sizeof a_bytes);
	memset(b_bytes, 'b', sizeof b_bytes);
	struct extent_ref a = extent_write(e, slice_make(a_bytes, 64)), b = extent_write(e, slice_make(b_bytes, 64));
	commit_extent(e, WRITE_PUBLISH, &a);
	commit_extent(e, WRITE_PUBLISH, &b);
	struct extent_ref lie = { .id = a.id, .place = b.place, .length_bytes = 64 };
	assert_int_equal(e->ops->extent_read(e, &lie, 0, 64, got), ERR_CORRUPT);
	lie = (struct extent_ref){ .id = b.id + 1000, .place = b.place, .length_bytes = 64 };
	assert_int_equal(e->ops->extent_read(e, &lie, 0, 64, got), ERR_CORRUPT);
	extent_expect(e, &a, slice_make(a_bytes, 64));
	extent_expect(e, &b, slice_make(b_bytes, 64));
}

/* A reference that outlived its extent reads an error, or (while nobody took the space) its own bytes; never another's.
 */
static void a_stale_reference_reads_no_other(void **state)
{
	struct fixture *f = *state;
	struct engine *e = f->engine;
	enum { LEN = 100000, COUNT = 20 };
	struct extent_ref stale[COUNT];
	char *old = pattern_new(1, LEN), *fresh = pattern_new(2, LEN), *got = malloc(LEN);
	for (int i = 0; i < COUNT; i++) {
		stale[i] = extent_write(e, slice_make(old, LEN));
		commit_extent(e, WRITE_PUBLISH, &stale[i]);
		commit_extent(e, WRITE_RETIRE, &stale[i]);
	}
	reclaim_all(e);
	for (int i = 0; i < COUNT; i++) {
		struct extent_ref ref = extent_write(e, slice_make(fresh, LEN));
		commit_extent(e, WRITE_PUBLISH, &ref);
	}
	for (int i = 0; i < COUNT; i++) {
		enum err err = e->ops->extent_read(e, &stale[i], 0, LEN, got);
		if (err == ERR_OK)
			assert_memory_equal(got, old, LEN);
		else
			assert_int_equal(err, ERR_CORRUPT);
	}
	free(old);
	free(fresh);
	free(got);
}

struct parallel {
	struct engine *engine;
	uint64_t seed;
	struct extent_ref ref[24];
	enum err err;
};

static void *parallel_writer(void *arg)
{
	struct parallel *p = arg;
	struct engine *e = p->engine;
	for (uint64_t i = 0; i < 24 && !p->err; i++) {
		size_t len = 1000 + (size_t)(i * 7919 * p->seed) % 300000, half = len / 2;
		char *bytes = pattern_new(p->seed * 100 + i, len), *got = malloc(len);
		struct extent_writer *w;
		p->err = e->ops->extent_begin(e, (uint32_t)len, &w);
		if (!p->err && (p->err = e->ops->extent_append(w, slice_make(bytes, half))))
			e->ops->extent_writer_free(w);
		else if (!p->err && (p->err = e->ops->extent_append(w, slice_make(bytes + half, len - half))))
			e->ops->extent_writer_free(w);
		else if (!p->err)
			p->err = e->ops->extent_seal(w, &p->ref[i]);
		if (!p->err)
			p->err = e->ops->extent_read(e, &p->ref[i], 0, (uint32_t)len, got);
		if (!p->err && memcmp(got, bytes, len) != 0)
			p->err = ERR_CORRUPT;
		free(bytes);
		free(got);
	}
	return NULL;
}

static void writers_in_parallel(void **state)
{
	struct fixture *f = *state;
	struct parallel p[6];
	pthread_t thread[6];
	for (int t = 0; t < 6; t++) {
		p[t] = (struct parallel){ .engine = f->engine, .seed = (uint64_t)t + 1 };
		assert_int_equal(pthread_create(&thread[t], NULL, parallel_writer, &p[t]), 0);
	}
	for (int t = 0; t < 6; t++) {
		pthread_join(thread[t], NULL);
		assert_int_equal(p[t].err, ERR_OK);
	}
	struct engine_group *g = group_open(f->engine);
	for (int t = 0; t < 6; t++)
		for (int i = 0; i < 24; i++) {
			struct write w = { .kind = WRITE_PUBLISH, .extent = p[t].ref[i] };
			assert_int_equal(f->engine->ops->group_accept(g, SLICE("p"), &w, 1), ERR_OK);
		}
	group_done(g);
	f->kind->reopen(f);
	for (int t = 0; t < 6; t++)
		for (uint64_t i = 0; i < 24; i++) {
			char *bytes = pattern_new(p[t].seed * 100 + i, p[t].ref[i].length_bytes);
			extent_expect(f->engine, &p[t].ref[i], slice_make(bytes, p[t].ref[i].length_bytes));
			free(bytes);
		}
}

const struct CMUnitTest extent_tests[] = {
	SUITE_TEST(sizes_and_ranges),
	SUITE_TEST(appended_in_pieces),
	SUITE_TEST(sealed_with_the_last_bytes),
	SUITE_TEST(ids_are_never_reused),
	SUITE_TEST(published_survive_reopening),
	SUITE_TEST(unpublished_space_comes_back),
	SUITE_TEST(a_pin_keeps_the_retired),
	SUITE_TEST(pins_may_end_in_any_order),
	SUITE_TEST(reclaimed_space_is_used_again),
	SUITE_TEST(retired_early_and_over_a_restart),
	SUITE_TEST(an_aborted_group_publishes_nothing),
	SUITE_TEST(damage_is_noticed),
	SUITE_TEST(checksums_bind_the_id),
	SUITE_TEST(a_stale_reference_reads_no_other),
	SUITE_TEST(writers_in_parallel),
};
const size_t extent_test_count = sizeof extent_tests / sizeof extent_tests[0];
