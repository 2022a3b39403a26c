/* SPDX-License-Identifier: Apache-2.0
 * The journal by itself: what was appended comes back after a crash, to the last record that is whole, and a gap is
 * never taken for the end. A crash is a journal that is not stopped: its files are as they are. */
#include "base/slice.h"
#include "engine/rocks/journal/journal.h"

#include <fcntl.h>
#include <ftw.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { FILE_BYTES = 64 * 1024, BLOCK = 4096 };

static char dir[64];
static int dir_fd;
static int flushes;
static bool flush_works, disk_has_room;

/* A table file of its own kind: everything given so far. */
static uint64_t given, in_tables;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, gate = PTHREAD_MUTEX_INITIALIZER;

static bool flush(void *arg)
{
	pthread_mutex_lock(&gate); /* whoever holds it makes the flush take long */
	pthread_mutex_unlock(&gate);
	pthread_mutex_lock(&lock);
	flushes++;
	in_tables = given;
	bool ok = flush_works;
	pthread_mutex_unlock(&lock);
	return ok;
}

static bool may_grow(void *arg, uint64_t bytes)
{
	return disk_has_room;
}

static int setup(void **state)
{
	snprintf(dir, sizeof dir, "/tmp/journal.XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	dir_fd = open(dir, O_RDONLY | O_DIRECTORY);
	flushes = 0;
	given = in_tables = 0;
	flush_works = disk_has_room = true;
	return dir_fd < 0;
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
	return remove(path);
}

static int teardown(void **state)
{
	close(dir_fd);
	return nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static enum err open_it(struct journal **ret, uint64_t *ret_last)
{
	return journal_open(
		&(struct journal_options){
			.dir_fd = dir_fd, .file_bytes = FILE_BYTES, .flush = flush, .may_grow = may_grow },
		ret, ret_last);
}

/* Record i of a run: its own text, of its own length. */
static struct slice text(uint64_t i, char tag, char dst[20000])
{
	size_t len = 10 + i * 977 % 9000;
	memset(dst, (int)('a' + i % 26), len);
	dst[0] = tag;
	memcpy(dst + 1, &i, 8);
	return slice_make(dst, len);
}

static uint64_t append_by(struct journal *j, uint64_t i, char tag,
			  enum err (*how)(struct journal *, struct slice, uint64_t *))
{
	char bytes[20000];
	uint64_t number;
	assert_int_equal(how(j, text(i, tag, bytes), &number), ERR_OK);
	pthread_mutex_lock(&lock);
	given = number;
	pthread_mutex_unlock(&lock);
	return number;
}

static uint64_t append(struct journal *j, uint64_t i, char tag)
{
	return append_by(j, i, tag, journal_append);
}

static uint64_t append_later(struct journal *j, uint64_t i, char tag)
{
	return append_by(j, i, tag, journal_append_later);
}

struct seen {
	uint64_t count, first, last;
	char tag;
};

static enum err see(void *arg, struct slice batch)
{
	struct seen *s = arg;
	char bytes[20000];
	uint64_t i;
	assert_true(batch.len >= 10);
	memcpy(&i, batch.ptr + 1, 8);
	assert_true(slice_eq(batch, text(i, batch.ptr[0], bytes)));
	if (s->count++ == 0)
		s->first = i;
	else
		assert_int_equal(i, s->last + 1);
	s->last = i;
	s->tag = batch.ptr[0];
	return ERR_OK;
}

static struct seen replay(uint64_t *ret_last)
{
	struct journal *j;
	struct seen s = { 0 };
	uint64_t count;
	assert_int_equal(open_it(&j, ret_last), ERR_OK);
	assert_int_equal(journal_replay(j, see, &s, &count), ERR_OK);
	assert_int_equal(count, s.count);
	journal_free(j);
	return s;
}

static struct journal *begin(void)
{
	struct journal *j;
	uint64_t last;
	assert_int_equal(open_it(&j, &last), ERR_OK);
	assert_int_equal(journal_start(j), ERR_OK);
	return j;
}

static void poke(const char *file, off_t at)
{
	char path[128], c;
	snprintf(path, sizeof path, "%s/journal/%s", dir, file);
	int fd = open(path, O_RDWR);
	assert_true(fd >= 0);
	assert_int_equal(pread(fd, &c, 1, at), 1);
	c ^= 1;
	assert_int_equal(pwrite(fd, &c, 1, at), 1);
	close(fd);
}

static void what_was_appended_comes_back(void **state)
{
	struct journal *j = begin();
	uint64_t last;
	for (uint64_t i = 1; i <= 7; i++)
		assert_int_equal(append(j, i, 'x'), i);
	for (int twice = 0; twice < 2; twice++) { /* reading changes nothing */
		struct seen s = replay(&last);
		assert_int_equal(s.count, 7);
		assert_int_equal(s.first, 1);
		assert_int_equal(last, 7);
	}
	journal_free(j);
}

static void numbers_go_on_after_a_clean_end(void **state)
{
	struct journal *j = begin();
	uint64_t last;
	for (uint64_t i = 1; i <= 3; i++)
		append(j, i, 'x');
	journal_stop(j);
	journal_clear(j);
	journal_free(j);
	assert_int_equal(replay(&last).count, 0);
	assert_int_equal(last, 3);
	j = begin();
	assert_int_equal(append(j, 4, 'y'), 4);
	assert_int_equal(replay(&last).count, 1);
	journal_free(j);
}

/* Far more than all files hold: each is used again and again, and a crash finds what no table has. */
static void files_are_used_again(void **state)
{
	struct journal *j = begin();
	uint64_t last;
	for (uint64_t i = 1; i <= 500; i++) {
		append(j, i, 'x');
		if (i % 37 == 0) {
			struct seen s = replay(&last);
			assert_int_equal(last, i);
			assert_int_equal(s.last, i);
			pthread_mutex_lock(&lock);
			assert_true(s.first <= in_tables + 1);
			pthread_mutex_unlock(&lock);
		}
	}
	journal_free(j);
	assert_true(flushes > 10);
	struct stat st;
	char path[128];
	snprintf(path, sizeof path, "%s/journal/4", dir);
	assert_int_not_equal(stat(path, &st), 0); /* never more than four */
}

static void a_torn_record_is_the_end(void **state)
{
	struct journal *j = begin();
	uint64_t last;
	for (uint64_t i = 1; i <= 3; i++)
		append(j, i, 'x');
	journal_free(j);
	/* Record 1 has 987 bytes, 2 has 1964, 3 has 2941: a block each. */
	poke("0", 3 * BLOCK + 100);
	struct seen s = replay(&last);
	assert_int_equal(s.count, 2);
	assert_int_equal(last, 2);
}

/* A record that was lost, and behind it, in the same file, what an earlier run had left: not taken for this run's. */
static void what_an_earlier_run_left_is_not_ours(void **state)
{
	struct journal *j = begin();
	uint64_t last;
	for (uint64_t i = 1; i <= 3; i++)
		append(j, i, 'x');
	append_later(j, 4, 'x');
	append_later(j, 5, 'x');
	journal_free(j); /* a power cut: two were not synced, and one of them is there */
	poke("0", 4 * BLOCK + 100);
	assert_int_equal(replay(&last).last, 3);
	j = begin(); /* 4 is given again; 5 of the old run lies where 5 of this one would */
	assert_int_equal(append(j, 4, 'y'), 4);
	journal_free(j);
	struct seen s = replay(&last);
	assert_int_equal(last, 4);
	assert_int_equal(s.count, 1);
	assert_int_equal(s.tag, 'y');
}

static void a_gap_is_not_the_end(void **state)
{
	struct journal *j = begin();
	uint64_t last;
	flush_works = false; /* nothing gets into tables: every file is needed */
	for (uint64_t i = 1; i <= 20; i++) {
		char bytes[20000];
		uint64_t number;
		if (journal_append(j, text(i, 'x', bytes), &number) != ERR_OK)
			break;
	}
	journal_free(j);
	struct journal *again;
	assert_int_equal(open_it(&again, &last), ERR_OK);
	journal_free(again);
	poke("0", 2 * BLOCK + 50); /* in the middle of the first file; there is a second one */
	assert_int_equal(open_it(&again, &last), ERR_CORRUPT);
	poke("0", 2 * BLOCK + 50);
	assert_int_equal(open_it(&again, &last), ERR_OK);
	journal_free(again);
	poke("0", 30); /* its header */
	assert_int_equal(open_it(&again, &last), ERR_CORRUPT);
}

/* ---- records that are synced later ---- */

static void expect_last(uint64_t want)
{
	uint64_t last;
	struct seen s = replay(&last);
	assert_int_equal(last, want);
	assert_int_equal(s.count, want);
	struct journal *j;
	assert_int_equal(open_it(&j, &last), ERR_OK);
	assert_true(journal_said_synced(j) <= last);
	journal_free(j);
}

/* What is there ends with `last`, and it is known that more was durable. */
static void expect_damage(uint64_t want_last, uint64_t want_synced)
{
	struct journal *j;
	uint64_t last;
	assert_int_equal(open_it(&j, &last), ERR_OK);
	assert_int_equal(last, want_last);
	assert_int_equal(journal_said_synced(j), want_synced);
	journal_free(j);
}

static void what_is_not_synced_survives_the_process(void **state)
{
	struct journal *j = begin();
	append(j, 1, 'x');
	for (uint64_t i = 2; i <= 6; i++)
		append_later(j, i, 'x');
	assert_int_equal(journal_synced(j), 1);
	journal_free(j);
	expect_last(6);
}

/* Records 1 to 5 have a block each, from block 1 on; 1 and 2 are synced, 3 to 5 are not: a power cut keeps any. */
static void a_power_cut_keeps_any_of_what_is_not_synced(void **state)
{
	for (unsigned lost = 0; lost < 8; lost++) {
		struct journal *j = begin();
		uint64_t first = append(j, 1, 'x');
		append(j, 2, 'x');
		for (uint64_t i = 3; i <= 5; i++)
			append_later(j, i, 'x');
		journal_free(j);
		for (unsigned i = 0; i < 3; i++)
			if (lost & 1U << i)
				poke("0", (3 + (off_t)i) * BLOCK + 100);
		uint64_t last, want = lost & 1 ? 2 : lost & 2 ? 3 : lost & 4 ? 4 : 5;
		assert_int_equal(replay(&last).last, want);
		assert_int_equal(last, first - 1 + want);
		/* What comes now has the numbers of what was lost, and is not taken for it. */
		j = begin();
		assert_int_equal(append(j, want + 1, 'y'), last + 1);
		journal_free(j);
		struct seen s = replay(&last);
		assert_int_equal(s.count, 1);
		assert_int_equal(s.tag, 'y');
		j = begin();
		journal_stop(j);
		journal_clear(j);
		journal_free(j);
	}
}

static void what_a_sync_covered_may_not_be_missing(void **state)
{
	struct journal *j = begin();
	for (uint64_t i = 1; i <= 4; i++)
		append_later(j, i, 'x');
	assert_int_equal(journal_synced(j), 0);
	assert_int_equal(journal_sync(j), ERR_OK);
	assert_int_equal(journal_synced(j), 4);
	append_later(j, 5, 'x');
	journal_free(j);
	expect_last(5);
	poke("0", 4 * BLOCK + 100);
	expect_damage(3, 4);
	poke("0", 4 * BLOCK + 100);
	poke("0", 5 * BLOCK + 100); /* the last one, 5, was not synced */
	expect_last(4);
}

static void a_record_that_is_synced_covers_those_before_it(void **state)
{
	struct journal *j = begin();
	append_later(j, 1, 'x');
	append_later(j, 2, 'x');
	append(j, 3, 'x');
	assert_int_equal(journal_synced(j), 3);
	append(j, 4, 'x');
	journal_free(j);
	expect_last(4);
	poke("0", BLOCK + 100);
	expect_damage(0, 3);
}

/* Also where nothing was ever put off, and no other file lies behind: the next record began after the sync of this. */
static void damage_before_the_last_record_is_no_end(void **state)
{
	struct journal *j = begin();
	for (uint64_t i = 1; i <= 3; i++)
		append(j, i, 'x');
	journal_free(j);
	poke("0", 2 * BLOCK + 100);
	expect_damage(1, 2);
}

static void the_next_file_begins_with_a_sync(void **state)
{
	struct journal *j = begin();
	for (uint64_t i = 1; i <= 9; i++) /* they fill the first file */
		append_later(j, i, 'x');
	assert_int_equal(journal_synced(j), 0);
	append_later(j, 10, 'x');
	assert_true(journal_synced(j) >= 9);
	journal_free(j);
}

/* While a full file waits for its flush nothing is put off: what a flush takes into tables is in the journal. */
static void nothing_is_put_off_while_a_flush_is_asked_for(void **state)
{
	struct journal *j = begin();
	uint64_t number = 0;
	pthread_mutex_lock(&gate);
	for (uint64_t i = 1; i <= 14; i++) {
		number = append_later(j, i, 'x');
		assert_int_equal(journal_synced(j), i < 10 ? 0 : i);
	}
	pthread_mutex_unlock(&gate);
	for (int tries = 0; tries < 10000 && journal_synced(j) == number; tries++) {
		number = append_later(j, number + 1, 'x');
		usleep(1000);
	}
	assert_true(journal_synced(j) < number); /* the flush is over */
	journal_free(j);
}

/* Tables cannot be written: appends end with an error, they do not wait for ever. */
static void a_flush_that_fails_stops_it(void **state)
{
	struct journal *j = begin();
	char bytes[20000];
	uint64_t number;
	flush_works = disk_has_room = false;
	enum err err = ERR_OK;
	for (uint64_t i = 1; i <= 100 && err == ERR_OK; i++)
		err = journal_append(j, text(i, 'x', bytes), &number);
	assert_int_equal(err, ERR_IO);
	journal_free(j);
}

/* No room for a third file: the two there are go round. */
static void a_full_disk_makes_it_wait(void **state)
{
	struct journal *j = begin();
	disk_has_room = false;
	for (uint64_t i = 1; i <= 200; i++)
		append(j, i, 'x');
	uint64_t last;
	replay(&last);
	assert_int_equal(last, 200);
	journal_free(j);
}

static void remove_file(const char *file)
{
	char path[128];
	snprintf(path, sizeof path, "%s/journal/%s", dir, file);
	assert_int_equal(unlink(path), 0);
}

static void a_missing_file_hides_none_behind_it(void **state)
{
	struct journal *j = begin();
	uint64_t last;
	for (uint64_t i = 1; i <= 12; i++) /* nine fill the first file */
		append(j, i, 'x');
	journal_free(j);
	remove_file("0");
	assert_int_equal(open_it(&j, &last), ERR_CORRUPT);
}

static void a_missing_file_that_held_nothing_is_made_again(void **state)
{
	struct journal *j = begin();
	uint64_t last;
	append(j, 1, 'x');
	append(j, 2, 'x');
	journal_stop(j);
	journal_clear(j);
	journal_free(j);
	remove_file("1");
	j = begin();
	remove_file("1");
	assert_int_equal(append(j, 3, 'y'), 3);
	journal_free(j);
	struct seen s = replay(&last);
	assert_int_equal(s.count, 1);
	assert_int_equal(last, 3);
	remove_file("0");
	assert_int_equal(open_it(&j, &last), ERR_OK);
	assert_int_equal(last, 0); /* nothing is left that could tell: TAIL knows */
	journal_free(j);
}

int main(void)
{
#define T(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(what_was_appended_comes_back),
		T(numbers_go_on_after_a_clean_end),
		T(files_are_used_again),
		T(a_torn_record_is_the_end),
		T(what_an_earlier_run_left_is_not_ours),
		T(a_gap_is_not_the_end),
		T(what_is_not_synced_survives_the_process),
		T(a_power_cut_keeps_any_of_what_is_not_synced),
		T(what_a_sync_covered_may_not_be_missing),
		T(a_record_that_is_synced_covers_those_before_it),
		T(damage_before_the_last_record_is_no_end),
		T(the_next_file_begins_with_a_sync),
		T(nothing_is_put_off_while_a_flush_is_asked_for),
		T(a_flush_that_fails_stops_it),
		T(a_full_disk_makes_it_wait),
		T(a_missing_file_hides_none_behind_it),
		T(a_missing_file_that_held_nothing_is_made_again),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
