/* SPDX-License-Identifier: Apache-2.0
 * The locator says what RocksDB would say, or that it does not know: over every kind of row and table, through writes,
 * flushes, compactions, dropped partitions, restarts and damage, and while others write. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/limits.h"
#include "base/sys/rng.h"
#include "engine/rocks/locator/locator_int.h"
#include "engine/rocks/rocks_int.h"
#include "store/key.h"

#include "folder.h"

#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define P SLICE("account/rows")

static struct engine *engine;
static struct arena arena;

static struct locator *locator(void)
{
	return rocks_of(engine)->locator;
}

/* With a locator that does nothing by itself. */
static void open_it(void)
{
	engine = folder_open();
	struct rocks *r = rocks_of(engine);
	struct locator_options options = r->locator->options;
	options.idle = true;
	locator_free(r->locator);
	r->locator = locator_new(&options);
	assert_non_null(r->locator);
}

static int setup(void **state)
{
	if (folder_make("locator") != 0)
		return -1;
	arena_init(&arena, 64 * MIB);
	open_it();
	return 0;
}

static int teardown(void **state)
{
	engine->ops->close(engine);
	arena_fini(&arena);
	return folder_remove();
}

static void write_one(struct slice partition, struct slice key, struct slice value)
{
	struct engine_group *g;
	struct write w = { .kind = slice_is_set(value) ? WRITE_PUT : WRITE_DEL, .key = key, .value = value };
	assert_int_equal(engine->ops->group_begin(engine, &g), ERR_OK);
	assert_int_equal(engine->ops->group_accept(g, partition, &w, 1), ERR_OK);
	assert_int_equal(engine->ops->group_commit(g), OUTCOME_DONE);
}

static void put(const char *key, const char *value)
{
	write_one(P, slice_str(key), slice_str(value));
}

static void refresh(void)
{
	while (!locator_refresh(locator()))
		;
}

static void flush(void)
{
	assert_int_equal(rocks_flush(rocks_of(engine)), ERR_OK);
}

static void flush_and_refresh(void)
{
	flush();
	refresh();
}

static void compact(void)
{
	for (int i = 0; i < FAMILIES; i++)
		rocksdb_compact_range_cf(rocks_of(engine)->db, rocks_of(engine)->family[i], NULL, 0, NULL, 0);
}

static enum located find(struct slice partition, struct slice key, struct slice *ret)
{
	struct full_key k;
	full_key_make(&k, partition, key);
	return locator_find(locator(), layout_family(partition, key), slice_make(k.bytes, k.len), &arena, ret);
}

static void expect_row(const char *key, const char *value)
{
	struct slice got;
	assert_int_equal(find(P, slice_str(key), &got), LOCATED_ROW);
	assert_true(slice_eq(got, slice_str(value)));
}

static void expect_nothing(const char *key)
{
	struct slice got;
	assert_int_equal(find(P, slice_str(key), &got), LOCATED_NOTHING);
}

static void expect_unknown(const char *key)
{
	struct slice got;
	assert_int_equal(find(P, slice_str(key), &got), LOCATED_UNKNOWN);
}

static void test_rows_of_every_size(void **state)
{
	static const size_t key_bytes[] = { 1, 2, 100, 126, 127, 128, 129, LIMIT_KEY_BYTES };
	static const size_t value_bytes[] = { 0, 1, 127, 128, 4000, 4096, 8191, 8192, 40000, LIMIT_VALUE_BYTES };
	static char key[LIMIT_KEY_BYTES], value[LIMIT_VALUE_BYTES];
	memset(key, 'k', sizeof key);
	for (size_t i = 0; i < sizeof key_bytes / sizeof *key_bytes; i++) {
		for (size_t k = 0; k < sizeof value_bytes / sizeof *value_bytes; k++) {
			key[0] = (char)('a' + k);
			memset(value, 'A' + (int)k, value_bytes[k]);
			write_one(P, slice_make(key, key_bytes[i]), slice_make(value, value_bytes[k]));
		}
	}
	flush_and_refresh();
	for (size_t i = 0; i < sizeof key_bytes / sizeof *key_bytes; i++) {
		for (size_t k = 0; k < sizeof value_bytes / sizeof *value_bytes; k++) {
			struct slice got;
			key[0] = (char)('a' + k);
			memset(value, 'A' + (int)k, value_bytes[k]);
			assert_int_equal(find(P, slice_make(key, key_bytes[i]), &got), LOCATED_ROW);
			assert_true(slice_eq(got, slice_make(value, value_bytes[k])));
		}
	}
	key[0] = 'a';
	struct slice got;
	assert_int_equal(find(P, slice_make(key, 3), &got), LOCATED_NOTHING);
	assert_int_equal(find(SLICE("account/other"), slice_make(key, 100), &got), LOCATED_NOTHING);
}

/* What stands behind a key in a table could be a part of the next key. */
static void test_keys_that_go_on_like_the_end_of_another(void **state)
{
	static const char more[] = { 1, 1, 2, 1, 3, 1, 1, 1, 1, 1, 1, 2 };
	char key[16] = "k", value[4];
	int known = 0;
	for (int pass = 0; pass < 3; pass++) { /* as rows, one of them deleted; in three tables, then in one */
		for (size_t len = 0; len <= sizeof more; len++) {
			memcpy(key + 1, more, len);
			snprintf(value, sizeof value, "%zu", len);
			write_one(P, slice_make(key, len + 1), (size_t)pass == len ? SLICE_NONE : slice_str(value));
		}
		flush();
	}
	compact();
	refresh();
	for (size_t len = 0; len <= sizeof more; len++) {
		struct slice got;
		memcpy(key + 1, more, len);
		snprintf(value, sizeof value, "%zu", len);
		enum located located = find(P, slice_make(key, len + 1), &got);
		assert_true(located == LOCATED_UNKNOWN || located == (len == 2 ? LOCATED_NOTHING : LOCATED_ROW));
		known += located != LOCATED_UNKNOWN;
		enum err err = engine->ops->get(engine, NULL, P, slice_make(key, len + 1), &arena, &got);
		assert_int_equal(err, len == 2 ? ERR_NOT_FOUND : ERR_OK);
		assert_true(len == 2 || slice_eq(got, slice_str(value)));
	}
	assert_true(known > (int)sizeof more / 2);
}

static void test_contents_have_their_own_tables(void **state)
{
	char key[] = { KEY_TAG_CONTENT, 'x' };
	struct slice got;
	write_one(P, slice_make(key, 2), SLICE("bytes"));
	put("x", "row");
	flush_and_refresh();
	assert_int_equal(find(P, slice_make(key, 2), &got), LOCATED_ROW);
	assert_true(slice_eq(got, SLICE("bytes")));
	expect_row("x", "row");
	key[1] = 'y';
	assert_int_equal(find(P, slice_make(key, 2), &got), LOCATED_NOTHING);
}

static void test_knows_nothing_at_first(void **state)
{
	put("a", "1");
	expect_unknown("a");
	expect_unknown("b");
}

static void test_what_was_written_since_is_not_known(void **state)
{
	put("a", "1");
	put("b", "1");
	flush_and_refresh();
	put("a", "2");
	write_one(P, SLICE("b"), SLICE_NONE);
	put("c", "2");
	expect_unknown("a");
	expect_unknown("b");
	expect_unknown("c");
	expect_nothing("d");
	flush(); /* not before the tables are listed again */
	expect_unknown("a");
	expect_unknown("b");
	refresh();
	expect_row("a", "2");
	expect_nothing("b");
	expect_row("c", "2");
}

static void test_what_is_written_while_a_flush_runs_stays_noted(void **state)
{
	put("a", "1");
	flush_and_refresh();
	uint64_t page = locator_flush_begin(locator());
	put("a", "2"); /* in memory, or in the flush that runs: nobody can tell */
	locator_flushed(locator(), page);
	refresh();
	expect_unknown("a");
	flush_and_refresh();
	expect_row("a", "2");
}

static void test_the_newest_table_counts(void **state)
{
	char value[16];
	for (int i = 0; i < 5; i++) { /* all of them in level 0 */
		snprintf(value, sizeof value, "%d", i);
		put("a", value);
		put(value, "x");
		flush();
	}
	refresh();
	expect_row("a", "4");
	compact();
	refresh();
	expect_row("a", "4");
	put("a", "5");
	flush_and_refresh();
	expect_row("a", "5");
	expect_row("3", "x");
	write_one(P, SLICE("a"), SLICE_NONE);
	flush_and_refresh();
	expect_nothing("a");
}

static void test_an_old_set_answers_after_a_compaction(void **state)
{
	put("a", "1");
	put("b", "1");
	flush();
	put("b", "2");
	flush_and_refresh();
	compact(); /* the tables of the set are gone from the folder */
	expect_row("a", "1");
	expect_row("b", "2");
	refresh();
	expect_row("a", "1");
	expect_row("b", "2");
}

static void test_old_versions_for_a_snapshot(void **state)
{
	struct engine_snapshot *s;
	struct slice got;
	put("a", "1");
	assert_int_equal(engine->ops->snapshot_take(engine, &s), ERR_OK);
	put("a", "2");
	flush();
	compact();
	refresh();
	expect_row("a", "2");
	assert_int_equal(engine->ops->get(engine, s, P, SLICE("a"), &arena, &got), ERR_OK);
	assert_true(slice_eq(got, SLICE("1")));
	engine->ops->snapshot_drop(engine, s);
}

static void test_too_many_flushes(void **state)
{
	put("a", "1");
	flush_and_refresh();
	for (int i = 0; i < PAGES_MAX + 2; i++) {
		put("b", "1");
		flush();
	}
	expect_unknown("a");
	expect_unknown("b");
	refresh();
	expect_row("a", "1");
	expect_row("b", "1");
}

/* The table of contents, which nothing but the test touches, is out of reach: what is known of it must be kept. */
static void hide_table(uint64_t number, bool hide)
{
	char there[128], away[128];
	snprintf(there, sizeof there, "%s/db/%06llu.sst", dir, (unsigned long long)number);
	snprintf(away, sizeof away, "%s/db/away", dir);
	assert_int_equal(hide ? rename(there, away) : rename(away, there), 0);
}

static void many_flushes(void)
{
	for (int i = 0; i < PAGES_MAX + 2; i++) {
		put("b", "1");
		flush();
	}
}

static void test_too_many_flushes_cost_no_index(void **state)
{
	char key[] = { KEY_TAG_CONTENT, 'x' };
	struct slice got;
	write_one(P, slice_make(key, 2), SLICE("bytes"));
	flush_and_refresh();
	uint64_t number = locator_current(locator())->level[FAMILY_CONTENTS][0].table[0].number;
	hide_table(number, true);
	for (int round = 0; round < 3; round++) {
		many_flushes();
		locator_free_disposed(locator());
		assert_int_equal(find(P, slice_make(key, 2), &got), LOCATED_UNKNOWN);
		if (round)
			locator_let_go(locator());
		if (round == 2)
			many_flushes();
	}
	refresh();
	assert_int_equal(find(P, slice_make(key, 2), &got), LOCATED_ROW);
	assert_null(locator_kept(locator()));
	hide_table(number, false);
}

/* Or their space would be as long as somebody writes. */
static void test_tables_that_are_gone_are_not_kept(void **state)
{
	put("a", "1");
	put("c", "1"); /* reaches over what comes, so that the table is not moved as it is */
	flush_and_refresh();
	assert_int_equal(locator()->index_count, 1);
	many_flushes();
	compact();
	assert_int_equal(locator()->index_count, 1);
	locator_let_go(locator());
	assert_int_equal(locator()->index_count, 0);
	refresh();
	expect_row("a", "1");
}

/* A table that cannot be read now is asked for again and again. */
static void test_a_table_that_could_not_be_read_is_tried_again(void **state)
{
	put("a", "1");
	flush();
	uint64_t number = locator()->first_own;
	while (number < locator()->first_own + 100) {
		char path[128];
		snprintf(path, sizeof path, "%s/db/%06llu.sst", dir, (unsigned long long)number);
		if (access(path, F_OK) == 0)
			break;
		number++;
	}
	hide_table(number, true);
	for (int round = 0; round < 3; round++) {
		refresh();
		locator()->look = false;
		for (int i = 0; i < ASKED_OFTEN; i++)
			expect_unknown("a");
		assert_true(locator()->look);
	}
	hide_table(number, false);
	refresh();
	expect_row("a", "1");
}

static void test_a_set_that_is_too_old_is_not_taken(void **state)
{
	put("a", "1");
	flush_and_refresh();
	struct table_set *old = calloc(1, sizeof *old);
	assert_non_null(old);
	old->page = locator_current(locator())->page;
	for (int i = 0; i < PAGES_MAX + 2; i++) {
		put("a", "2");
		flush();
	}
	assert_false(locator_set_install(locator(), old));
	refresh();
	expect_row("a", "2");
}

static void fill(struct slice partition, int count)
{
	char key[16];
	for (int i = 0; i < count; i++) {
		snprintf(key, sizeof key, "k%05d", i);
		write_one(partition, slice_str(key), SLICE("value"));
	}
}

static void drop_and_look(int rows)
{
	struct slice q = SLICE("account/gone"), got;
	put("a", "1");
	fill(q, rows);
	flush_and_refresh();
	assert_int_equal(find(q, SLICE("k00000"), &got), LOCATED_ROW);
	assert_int_equal(engine->ops->drop_partition(engine, q), ERR_OK);
	assert_int_equal(find(q, SLICE("k00000"), &got), LOCATED_UNKNOWN);
	flush_and_refresh();
	assert_int_not_equal(find(q, SLICE("k00000"), &got), LOCATED_ROW);
	assert_int_equal(engine->ops->get(engine, NULL, q, SLICE("k00000"), &arena, &got), ERR_NOT_FOUND);
	write_one(q, SLICE("k00000"), SLICE("again"));
	flush_and_refresh();
	assert_int_equal(engine->ops->get(engine, NULL, q, SLICE("k00000"), &arena, &got), ERR_OK);
	assert_true(slice_eq(got, SLICE("again")));
	assert_int_equal(engine->ops->get(engine, NULL, q, SLICE("k00001"), &arena, &got), ERR_NOT_FOUND);
	expect_row("a", "1");
	compact();
	refresh();
	assert_int_equal(find(q, SLICE("k00000"), &got), LOCATED_ROW);
	assert_int_equal(find(q, SLICE("k00001"), &got), LOCATED_NOTHING);
}

static void test_a_small_partition_is_dropped(void **state)
{
	drop_and_look(10);
}

static void test_a_large_partition_is_dropped(void **state)
{
	drop_and_look(2000);
}

static void test_tables_from_before_are_indexed_when_read_often(void **state)
{
	put("a", "1");
	engine->ops->close(engine);
	open_it();
	refresh();
	for (int i = 0; i < ASKED_OFTEN; i++)
		expect_unknown("a");
	refresh();
	expect_row("a", "1");
	put("b", "1");
	flush_and_refresh();
	expect_row("a", "1");
	expect_row("b", "1"); /* a table of our own, at once */
}

static void test_no_more_tables_than_allowed(void **state)
{
	locator()->options.tables_max = 1;
	put("a", "1");
	flush();
	put("b", "1");
	flush_and_refresh();
	assert_int_equal(locator()->index_count, 1);
	struct slice got;
	assert_int_equal(engine->ops->get(engine, NULL, P, SLICE("a"), &arena, &got), ERR_OK);
	assert_int_equal(engine->ops->get(engine, NULL, P, SLICE("b"), &arena, &got), ERR_OK);
}

/* The server is to end, and not after the tables of a large store. */
static void test_nothing_is_indexed_at_the_end(void **state)
{
	put("a", "1");
	flush();
	locator()->stop = true;
	(void)locator_refresh(locator());
	assert_int_equal(locator()->index_count, 0);
	locator()->stop = false;
	refresh();
	expect_row("a", "1");
}

/* What was read in vain takes nothing from the memory of the request. */
static void test_a_look_in_vain_costs_no_memory(void **state)
{
	static char value[LIMIT_VALUE_BYTES];
	struct arena small;
	struct slice got;
	struct full_key k;
	full_key_make(&k, P, SLICE("a"));
	memset(value, 'v', sizeof value);
	for (int i = 0; i < 3; i++) { /* all of them in level 0 */
		write_one(P, SLICE("a"), slice_make(value, sizeof value));
		flush();
	}
	refresh();
	arena_init(&small, 3 * LIMIT_VALUE_BYTES);
	assert_int_equal(locator_find(locator(), FAMILY_ROWS, slice_make(k.bytes, k.len), &small, &got),
			 LOCATED_UNKNOWN);
	assert_int_equal(engine->ops->get(engine, NULL, P, SLICE("a"), &small, &got), ERR_OK);
	assert_true(slice_eq(got, slice_make(value, sizeof value)));
	arena_fini(&small);
}

/* Changes one byte of every table. */
static void damage(off_t at)
{
	char pattern[96];
	glob_t found;
	snprintf(pattern, sizeof pattern, "%s/db/*.sst", dir);
	assert_int_equal(glob(pattern, 0, NULL, &found), 0);
	for (size_t i = 0; i < found.gl_pathc; i++) {
		char byte;
		int fd = open(found.gl_pathv[i], O_RDWR);
		assert_true(fd >= 0);
		assert_int_equal(pread(fd, &byte, 1, at), 1);
		byte ^= 0x40;
		assert_int_equal(pwrite(fd, &byte, 1, at), 1);
		close(fd);
	}
	globfree(&found);
}

static void test_a_damaged_block_is_not_believed(void **state)
{
	struct slice got;
	put("a", "some value that is longer than the damage");
	flush_and_refresh();
	expect_row("a", "some value that is longer than the damage");
	damage(40);
	expect_unknown("a");
	assert_int_equal(engine->ops->get(engine, NULL, P, SLICE("a"), &arena, &got), ERR_CORRUPT);
	damage(40);
	expect_row("a", "some value that is longer than the damage");
}

/* ---- a read that takes its time ---- */

static void *write_and_flush(void *arg)
{
	for (int i = 0; i < PAGES_ALIVE_MAX + 2; i++) {
		put("a", "2");
		if (rocks_flush(rocks_of(engine)) != ERR_OK)
			return NULL;
	}
	return arg;
}

/* A disk may take seconds over one block: who writes does not wait for who reads. */
static void test_a_slow_read_holds_up_no_writer(void **state)
{
	pthread_t writer;
	void *done = NULL;
	struct timespec until;
	put("a", "1");
	put("b", "1");
	flush_and_refresh();
	assert_int_equal(pthread_rwlock_rdlock(&locator()->slot[3].lock), 0); /* as a read that is under way */
	assert_int_equal(pthread_create(&writer, NULL, write_and_flush, &until), 0);
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 30;
	assert_int_equal(pthread_timedjoin_np(writer, &done, &until), 0);
	assert_non_null(done);
	pthread_rwlock_unlock(&locator()->slot[3].lock);
	expect_unknown("a");
	flush_and_refresh();
	flush_and_refresh();
	expect_row("a", "2");
	expect_row("b", "1");
}

/* ---- a model ---- */

enum { PARTITIONS = 3, KEYS = 200, STEPS = 6000 };

static const char *const partition_name[PARTITIONS] = { "account/a", "account/ab", "account/b" };

static struct slice model_value(uint32_t version)
{
	static char text[20000];
	size_t len = version % 7 == 0 ? version % sizeof text : version % 300;
	memset(text, 'a' + (int)(version % 26), len);
	if (len >= 10)
		snprintf(text, 10, "%09u", version);
	return slice_make(text, len);
}

static void model_check(uint32_t version[PARTITIONS][KEYS], size_t *ret_unknown)
{
	char key[16];
	struct slice got;
	for (int p = 0; p < PARTITIONS; p++) {
		for (int k = 0; k < KEYS; k++) {
			struct slice name = slice_str(partition_name[p]), expected = model_value(version[p][k]);
			snprintf(key, sizeof key, "key%04d", k);
			enum located located = find(name, slice_str(key), &got);
			*ret_unknown += located == LOCATED_UNKNOWN;
			if (located == LOCATED_ROW)
				assert_true(version[p][k] && slice_eq(got, expected));
			if (located == LOCATED_NOTHING)
				assert_int_equal(version[p][k], 0);
			enum err err = engine->ops->get(engine, NULL, name, slice_str(key), &arena, &got);
			assert_int_equal(err, version[p][k] ? ERR_OK : ERR_NOT_FOUND);
			if (version[p][k])
				assert_true(slice_eq(got, expected));
		}
	}
	arena_reset(&arena);
}

static void test_as_a_model_says(void **state)
{
	uint32_t version[PARTITIONS][KEYS] = { 0 };
	struct rng rng;
	rng_init_seed(&rng, 14);
	for (uint32_t step = 1; step <= STEPS; step++) {
		char key[16];
		size_t unknown = 0;
		int p = (int)rng_below(&rng, PARTITIONS), k = (int)rng_below(&rng, KEYS);
		uint64_t what = rng_below(&rng, 1000);
		snprintf(key, sizeof key, "key%04d", k);
		if (what < 700) {
			write_one(slice_str(partition_name[p]), slice_str(key), model_value(step));
			version[p][k] = step;
		} else if (what < 900) {
			write_one(slice_str(partition_name[p]), slice_str(key), SLICE_NONE);
			version[p][k] = 0;
		} else if (what < 960) {
			flush();
		} else if (what < 985) {
			refresh();
			model_check(version, &unknown);
		} else if (what < 995) {
			compact();
			model_check(version, &unknown);
		} else if (what < 998) {
			assert_int_equal(engine->ops->drop_partition(engine, slice_str(partition_name[p])), ERR_OK);
			memset(version[p], 0, sizeof version[p]);
		} else {
			engine->ops->close(engine);
			open_it();
		}
	}
	size_t unknown = 0;
	flush();
	compact();
	refresh();
	locator()->first_own = 0; /* and those from before the last opening */
	refresh();
	model_check(version, &unknown);
	assert_int_equal(unknown, 0);
}

/* ---- by itself ---- */

/* The engine as it is opened: nobody asks for a refresh. */
static void test_the_thread_comes_to_know_what_was_flushed(void **state)
{
	struct slice got;
	enum located located = LOCATED_UNKNOWN;
	engine->ops->close(engine);
	engine = folder_open();
	put("a", "1");
	flush();
	for (int i = 0; i < 3000 && located == LOCATED_UNKNOWN; i++) { /* half a second; 30 on a busy machine */
		usleep(10000);
		located = find(P, SLICE("a"), &got);
	}
	assert_int_equal(located, LOCATED_ROW);
	assert_true(slice_eq(got, SLICE("1")));
}

/* ---- while others write ---- */

enum { RACE_KEYS = 64, RACE_ROUNDS = 1500, READERS = 3 };

static atomic_uint acknowledged[RACE_KEYS];
static atomic_bool race_over;
static atomic_uint race_wrong, race_located;

static void race_key(char key[16], int k)
{
	snprintf(key, 16, "key%04d", k);
}

static void *race_reader(void *arg)
{
	struct rng rng;
	struct arena own;
	rng_init_seed(&rng, (uint64_t)(uintptr_t)arg);
	arena_init(&own, MIB);
	while (!atomic_load(&race_over)) {
		char key[16];
		struct slice got;
		uint64_t value;
		int k = (int)rng_below(&rng, RACE_KEYS);
		race_key(key, k);
		unsigned before = atomic_load(&acknowledged[k]);
		enum err err = engine->ops->get(engine, NULL, P, slice_str(key), &own, &got);
		if (err != ERR_OK || !slice_to_u64(got, &value) || value < before)
			atomic_fetch_add(&race_wrong, 1);
		struct full_key full;
		full_key_make(&full, P, slice_str(key));
		if (locator_find(locator(), FAMILY_ROWS, slice_make(full.bytes, full.len), &own, &got) == LOCATED_ROW)
			atomic_fetch_add(&race_located, 1);
		arena_reset(&own);
	}
	arena_fini(&own);
	return NULL;
}

static void *race_refresher(void *arg)
{
	while (!atomic_load(&race_over))
		(void)locator_refresh(locator());
	return NULL;
}

static void *race_flusher(void *arg)
{
	while (!atomic_load(&race_over)) {
		if (rocks_flush(rocks_of(engine)) != ERR_OK)
			atomic_fetch_add(&race_wrong, 1);
		usleep(2000);
	}
	return NULL;
}

static void test_no_read_is_older_than_what_was_acknowledged(void **state)
{
	pthread_t reader[READERS], refresher, flusher;
	struct rng rng;
	char key[16], value[16];
	rng_init_seed(&rng, 5);
	atomic_store(&race_over, false);
	for (int k = 0; k < RACE_KEYS; k++) {
		race_key(key, k);
		put(key, "0");
	}
	flush_and_refresh();
	for (uintptr_t i = 0; i < READERS; i++)
		assert_int_equal(pthread_create(&reader[i], NULL, race_reader, (void *)(i + 1)), 0);
	assert_int_equal(pthread_create(&refresher, NULL, race_refresher, NULL), 0);
	assert_int_equal(pthread_create(&flusher, NULL, race_flusher, NULL), 0);
	for (unsigned i = 1; i <= RACE_ROUNDS; i++) {
		int k = (int)rng_below(&rng, RACE_KEYS);
		race_key(key, k);
		snprintf(value, sizeof value, "%u", i);
		put(key, value);
		atomic_store(&acknowledged[k], i);
	}
	atomic_store(&race_over, true);
	for (int i = 0; i < READERS; i++)
		pthread_join(reader[i], NULL);
	pthread_join(refresher, NULL);
	pthread_join(flusher, NULL);
	assert_int_equal(atomic_load(&race_wrong), 0);
	assert_true(atomic_load(&race_located) > 0); /* or nothing was tried here */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_rows_of_every_size, setup, teardown),
		cmocka_unit_test_setup_teardown(test_keys_that_go_on_like_the_end_of_another, setup, teardown),
		cmocka_unit_test_setup_teardown(test_contents_have_their_own_tables, setup, teardown),
		cmocka_unit_test_setup_teardown(test_knows_nothing_at_first, setup, teardown),
		cmocka_unit_test_setup_teardown(test_what_was_written_since_is_not_known, setup, teardown),
		cmocka_unit_test_setup_teardown(test_what_is_written_while_a_flush_runs_stays_noted, setup, teardown),
		cmocka_unit_test_setup_teardown(test_the_newest_table_counts, setup, teardown),
		cmocka_unit_test_setup_teardown(test_an_old_set_answers_after_a_compaction, setup, teardown),
		cmocka_unit_test_setup_teardown(test_old_versions_for_a_snapshot, setup, teardown),
		cmocka_unit_test_setup_teardown(test_too_many_flushes, setup, teardown),
		cmocka_unit_test_setup_teardown(test_too_many_flushes_cost_no_index, setup, teardown),
		cmocka_unit_test_setup_teardown(test_tables_that_are_gone_are_not_kept, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_table_that_could_not_be_read_is_tried_again, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_set_that_is_too_old_is_not_taken, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_small_partition_is_dropped, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_large_partition_is_dropped, setup, teardown),
		cmocka_unit_test_setup_teardown(test_tables_from_before_are_indexed_when_read_often, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_more_tables_than_allowed, setup, teardown),
		cmocka_unit_test_setup_teardown(test_nothing_is_indexed_at_the_end, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_look_in_vain_costs_no_memory, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_damaged_block_is_not_believed, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_slow_read_holds_up_no_writer, setup, teardown),
		cmocka_unit_test_setup_teardown(test_as_a_model_says, setup, teardown),
		cmocka_unit_test_setup_teardown(test_the_thread_comes_to_know_what_was_flushed, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_read_is_older_than_what_was_acknowledged, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
