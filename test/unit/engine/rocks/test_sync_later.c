/* SPDX-License-Identifier: Apache-2.0
 * Groups of the rocks engine that are synced later than they are answered: seen at once, in the journal without a sync,
 * and durable with whatever is synced next; TAIL and tables never have what is not durable; and what a start makes of a
 * journal of which a power cut took a part. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "again.h"
#include "engine/rocks/journal/journal_int.h"
#include "engine/rocks/rocks_int.h"
#include "folder.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

static int setup(void **state)
{
	return folder_make("later");
}

static int teardown(void **state)
{
	return folder_remove();
}

static struct buf message;

static enum err open_it(bool sync_later, struct engine **ret)
{
	buf_clear(&message);
	return engine_rocks_open(&(struct rocks_options){ .dir = dir, .create = true, .sync_later = sync_later }, ret,
				 &message);
}

static struct engine *open_later(void)
{
	struct engine *e = NULL;
	if (open_it(true, &e) != ERR_OK)
		fail_msg("%.*s", (int)message.len, message.ptr);
	return e;
}

static void commit(struct engine *e, struct write w, bool later)
{
	struct engine_group *g;
	assert_int_equal(e->ops->group_begin(e, &g), ERR_OK);
	assert_int_equal(e->ops->group_accept(g, SLICE("p"), &w, 1), ERR_OK);
	if (later)
		e->ops->group_sync_later(g);
	assert_int_equal(e->ops->group_commit(g), OUTCOME_DONE);
}

static void put(struct engine *e, const char *key, bool later)
{
	commit(e, (struct write){ .kind = WRITE_PUT, .key = slice_str(key), .value = SLICE("v") }, later);
}

static bool has(struct engine *e, const char *key)
{
	struct arena a;
	struct slice value;
	arena_init(&a, MIB);
	enum err err = e->ops->get(e, NULL, SLICE("p"), slice_str(key), &a, &value);
	arena_fini(&a);
	assert_true(err == ERR_OK || err == ERR_NOT_FOUND);
	return err == ERR_OK;
}

static uint64_t syncs(struct engine *e)
{
	struct engine_stats s;
	e->ops->stats(e, &s);
	return s.syncs;
}

static uint64_t newest(struct engine *e)
{
	return atomic_load(&rocks_of(e)->last_number);
}

static uint64_t remembered(struct engine *e)
{
	return rocks_of(e)->tail.word[0];
}

static void a_later_group_is_seen_and_not_synced(void **state)
{
	struct engine *e = open_later();
	uint64_t before = syncs(e), tail = remembered(e);
	for (int i = 0; i < 5; i++)
		put(e, "k", true);
	assert_true(has(e, "k"));
	assert_int_equal(syncs(e), before);
	assert_int_equal(remembered(e), tail);
	assert_int_equal(newest(e), tail + 5);
	for (int i = 0; i < 2; i++) { /* the second time there is nothing to do */
		assert_int_equal(e->ops->sync(e), ERR_OK);
		assert_int_equal(syncs(e), before + 1);
		assert_int_equal(remembered(e), newest(e));
	}
	put(e, "k", true);
	put(e, "k", false);
	assert_int_equal(syncs(e), before + 2);
	assert_int_equal(remembered(e), newest(e));
	e->ops->close(e);
}

static void without_the_option_all_is_synced(void **state)
{
	struct engine *e = folder_open();
	uint64_t before = syncs(e);
	put(e, "k", true);
	assert_int_equal(syncs(e), before + 1);
	assert_int_equal(remembered(e), newest(e));
	e->ops->close(e);
}

static void a_group_with_an_extent_is_synced(void **state)
{
	struct engine *e = open_later();
	struct extent_writer *w;
	struct extent_ref ref;
	assert_int_equal(e->ops->extent_begin(e, 5, &w), ERR_OK);
	assert_int_equal(e->ops->extent_append(w, SLICE("bytes")), ERR_OK);
	assert_int_equal(e->ops->extent_seal(w, &ref), ERR_OK);
	commit(e, (struct write){ .kind = WRITE_PUBLISH, .extent = ref }, true);
	assert_int_equal(remembered(e), newest(e));
	/* Nobody names it any more: its space is given away only after that is durable. */
	commit(e, (struct write){ .kind = WRITE_RETIRE, .extent = ref }, true);
	assert_int_not_equal(remembered(e), newest(e));
	bool more = true;
	while (more)
		assert_int_equal(e->ops->reclaim(e, &more), ERR_OK);
	assert_int_equal(remembered(e), newest(e));
	e->ops->close(e);
}

static void a_flush_and_a_moment_sync_first(void **state)
{
	struct engine *e = open_later();
	struct rocks_moment m;
	char path[96];
	put(e, "k1", true);
	assert_int_not_equal(remembered(e), newest(e));
	assert_int_equal(rocks_flush(rocks_of(e)), ERR_OK);
	assert_int_equal(remembered(e), newest(e));
	put(e, "k2", true);
	assert_int_not_equal(remembered(e), newest(e)); /* and it goes on as before */
	snprintf(path, sizeof path, "%s/moment", dir);
	assert_int_equal(engine_rocks_moment_begin(e, path, &m, &message), ERR_OK);
	engine_rocks_moment_end(e, &m);
	assert_int_equal(m.commit, newest(e));
	assert_int_equal(remembered(e), newest(e));
	e->ops->close(e);
}

static void while_tables_are_written_all_is_synced(void **state)
{
	struct engine *e = open_later();
	assert_int_equal(rocks_tables_begin(rocks_of(e)), ERR_OK);
	put(e, "k", true);
	assert_int_equal(remembered(e), newest(e));
	rocks_tables_end(rocks_of(e));
	put(e, "k", true);
	assert_int_not_equal(remembered(e), newest(e));
	e->ops->close(e);
}

/* ---- after a power cut ---- */

/* A process of its own, killed: 1 to 3 are synced, 4 to 6 are not; or, with "sync", 4 and 5 are, too. */
static int killed_main(const char *where, bool sync)
{
	char key[8];
	snprintf(dir, sizeof dir, "%s", where);
	buf_init(&message, 4096);
	struct engine *e = NULL;
	if (open_it(true, &e) != ERR_OK)
		return 1;
	for (int i = 1; i <= 6; i++) {
		snprintf(key, sizeof key, "k%d", i);
		put(e, key, i > 3);
		if (i == 5 && sync && e->ops->sync(e) != ERR_OK)
			return 1;
	}
	return raise(SIGKILL);
}

static void run_killed(const char *how)
{
	int status;
	pid_t pid;
	assert_int_equal(again_start((char *)(uintptr_t)how, dir, &pid), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
}

static uint64_t record_number(int fd, off_t at)
{
	uint64_t number = 0;
	assert_int_equal(pread(fd, &number, 8, at + 8), 8);
	return number;
}

/* The record of k{i} never reached the disk. Each has a block; the start wrote some before them. */
static void lose(int i)
{
	char path[96], zeros[JOURNAL_BLOCK_BYTES] = { 0 };
	snprintf(path, sizeof path, "%s/journal/0", dir);
	int fd = open(path, O_RDWR);
	assert_true(fd >= 0);
	off_t end = JOURNAL_BLOCK_BYTES;
	for (uint64_t number = record_number(fd, end); record_number(fd, end + JOURNAL_BLOCK_BYTES) == number + 1;
	     number++)
		end += JOURNAL_BLOCK_BYTES;
	assert_int_equal(pwrite(fd, zeros, sizeof zeros, end - (6 - i) * JOURNAL_BLOCK_BYTES), sizeof zeros);
	close(fd);
}

static void expect_keys(const char *there)
{
	struct engine *e = NULL;
	char key[3] = "k1";
	if (open_it(true, &e) != ERR_OK)
		fail_msg("%.*s", (int)message.len, message.ptr);
	for (int i = 1; i <= 6; i++) {
		key[1] = (char)('0' + i);
		assert_int_equal(has(e, key), strchr(there, key[1]) != NULL);
	}
	e->ops->close(e);
}

static void a_killed_process_loses_nothing(void **state)
{
	run_killed("--killed");
	expect_keys("123456");
}

static void a_power_cut_takes_what_was_not_synced(void **state)
{
	run_killed("--killed");
	lose(4); /* and not 5 and 6 */
	expect_keys("123");
	expect_keys("123"); /* and so it stays */
}

static void a_power_cut_takes_the_last(void **state)
{
	run_killed("--killed");
	lose(6);
	expect_keys("12345");
}

static void what_was_synced_is_not_lost_unseen(void **state)
{
	struct engine *e;
	char path[96];
	static const char zeros[16];
	run_killed("--killed-synced");
	lose(5); /* 6 says that 5 was synced */
	assert_int_equal(open_it(true, &e), ERR_CORRUPT);
	/* TAIL is not synced: a power cut may leave an older one, here of the first commit. */
	snprintf(path, sizeof path, "%s/TAIL", dir);
	uint64_t words[2] = { 1, ~UINT64_C(1) };
	int fd = open(path, O_RDWR);
	assert_int_equal(pwrite(fd, words, sizeof words, 0), sizeof words);
	assert_int_equal(open_it(true, &e), ERR_CORRUPT);
	buf_put_byte(&message, 0);
	assert_non_null(strstr(message.ptr, "its last 1 commits were acknowledged and cannot be read"));
	assert_int_equal(pwrite(fd, zeros, sizeof zeros, 0), sizeof zeros); /* as the message says */
	close(fd);
	expect_keys("1234");
}

int main(int argc, char **argv)
{
	if (argc == 3 && strcmp(argv[1], "--killed") == 0)
		return killed_main(argv[2], false);
	if (argc == 3 && strcmp(argv[1], "--killed-synced") == 0)
		return killed_main(argv[2], true);
	buf_init(&message, 4096);
#define T(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(a_later_group_is_seen_and_not_synced),   T(without_the_option_all_is_synced),
		T(a_group_with_an_extent_is_synced),	   T(a_flush_and_a_moment_sync_first),
		T(while_tables_are_written_all_is_synced), T(a_killed_process_loses_nothing),
		T(a_power_cut_takes_what_was_not_synced),  T(a_power_cut_takes_the_last),
		T(what_was_synced_is_not_lost_unseen),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	buf_fini(&message);
	return failed;
}
