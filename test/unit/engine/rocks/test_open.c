/* SPDX-License-Identifier: Apache-2.0
 * What a directory may do to a start: every refusal has its own error and a message that says what to do, and leaves
 * the store as it was. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "again.h"
#include "base/bytes.h"
#include "base/limits.h"
#include "engine/rocks/journal/journal_int.h"
#include "engine/rocks/rocks.h"

#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char dir[64];
static struct buf message;

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
	return remove(path);
}

static int setup(void **state)
{
	snprintf(dir, sizeof dir, "/tmp/zaffre-open-XXXXXX");
	buf_init(&message, 4096);
	return mkdtemp(dir) ? 0 : -1;
}

static int teardown(void **state)
{
	buf_fini(&message);
	return nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static enum err open_it(bool create, struct engine **ret)
{
	buf_clear(&message);
	return engine_rocks_open(&(struct rocks_options){ .dir = dir, .create = create }, ret, &message);
}

static void expect_message(const char *part)
{
	buf_put_byte(&message, 0);
	if (!strstr(message.ptr, part))
		fail_msg("'%s' does not say '%s'", message.ptr, part);
	message.len--;
	if (!strstr(message.ptr, dir))
		fail_msg("'%s' does not name the directory", message.ptr);
}

static void put(struct engine *e, const char *key, const char *value)
{
	struct engine_group *g;
	struct write w = { .kind = WRITE_PUT, .key = slice_str(key), .value = slice_str(value) };
	assert_int_equal(e->ops->group_begin(e, &g), ERR_OK);
	assert_int_equal(e->ops->group_accept(g, SLICE("p"), &w, 1), ERR_OK);
	assert_int_equal(e->ops->group_commit(g), OUTCOME_DONE);
}

static void expect_row(struct engine *e, const char *key, const char *value)
{
	struct arena a;
	struct slice got;
	arena_init(&a, MIB);
	assert_int_equal(e->ops->get(e, NULL, SLICE("p"), slice_str(key), &a, &got), ERR_OK);
	assert_true(slice_eq(got, slice_str(value)));
	arena_fini(&a);
}

static void make_store(void)
{
	struct engine *e;
	assert_int_equal(open_it(true, &e), ERR_OK);
	put(e, "k", "v");
	e->ops->close(e);
}

static void still_there(void)
{
	struct engine *e;
	assert_int_equal(open_it(false, &e), ERR_OK);
	expect_row(e, "k", "v");
	e->ops->close(e);
}

static void write_file(const char *name, const char *text)
{
	char path[128];
	snprintf(path, sizeof path, "%s/%s", dir, name);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

static void a_store_is_made_once(void **state)
{
	struct engine *e;
	assert_int_equal(open_it(false, &e), ERR_NOT_FOUND);
	expect_message("no store");
	make_store();
	still_there();
}

static void a_second_server_is_refused(void **state)
{
	struct engine *e, *second;
	char pid[32];
	assert_int_equal(open_it(true, &e), ERR_OK);
	put(e, "k", "v");
	assert_int_equal(open_it(true, &second), ERR_BUSY);
	expect_message("another server");
	snprintf(pid, sizeof pid, "process %d", (int)getpid());
	expect_message(pid);
	put(e, "k2", "v2"); /* the first one does not notice */
	expect_row(e, "k", "v");
	e->ops->close(e);
	still_there();
}

static void another_format_is_refused(void **state)
{
	struct engine *e;
	make_store();
	write_file("FORMAT", "zaffre 6\n");
	assert_int_equal(open_it(true, &e), ERR_CORRUPT);
	expect_message("use a newer program");
	write_file("FORMAT", "zaffre 2\n");
	assert_int_equal(open_it(true, &e), ERR_CORRUPT);
	expect_message("only the program that wrote it can read");
	write_file("FORMAT", "zaffre 5\n");
	still_there();
}

static void a_store_of_the_format_before_is_taken_over(void **state)
{
	struct engine *e;
	char path[128], text[16] = "";
	make_store();
	write_file("FORMAT", "zaffre 4\n");
	assert_int_equal(open_it(true, &e), ERR_OK);
	e->ops->close(e);
	snprintf(path, sizeof path, "%s/FORMAT", dir);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(read(fd, text, sizeof text - 1) > 0);
	close(fd);
	assert_string_equal(text, "zaffre 5\n");
	still_there();
}

static void a_damaged_format_is_refused(void **state)
{
	static const char *const bad[] = { "", "zaffre", "zaffre x\n", "other 1\n", "zaffre 99999999999999999999\n" };
	struct engine *e;
	make_store();
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		write_file("FORMAT", bad[i]);
		assert_int_equal(open_it(true, &e), ERR_CORRUPT);
		expect_message("damaged");
	}
	char path[128];
	snprintf(path, sizeof path, "%s/FORMAT", dir);
	unlink(path);
	assert_int_equal(open_it(true, &e), ERR_CORRUPT);
	expect_message("FORMAT file is missing");
	write_file("FORMAT", "zaffre 5\n");
	still_there();
}

/* Killed between the first file and a working database: the next start goes on. */
static void a_half_made_store_is_finished(void **state)
{
	struct engine *e;
	write_file("FORMAT", "zaffre 5 new\n");
	assert_int_equal(open_it(true, &e), ERR_OK);
	put(e, "k", "v");
	e->ops->close(e);
	still_there();
}

static void a_lost_database_is_not_made_anew(void **state)
{
	struct engine *e;
	char path[128];
	make_store();
	snprintf(path, sizeof path, "%s/db", dir);
	assert_int_equal(nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
	assert_int_equal(open_it(true, &e), ERR_CORRUPT);
	expect_message("files are damaged or missing, restore the directory from a backup");
}

static void a_short_segment_is_noticed(void **state)
{
	struct engine *e;
	struct extent_writer *w;
	struct engine_group *g;
	struct write write = { .kind = WRITE_PUBLISH };
	static char bytes[100000];
	assert_int_equal(open_it(true, &e), ERR_OK);
	assert_int_equal(e->ops->extent_begin(e, sizeof bytes, &w), ERR_OK);
	assert_int_equal(e->ops->extent_append(w, slice_make(bytes, sizeof bytes)), ERR_OK);
	assert_int_equal(e->ops->extent_seal(w, &write.extent), ERR_OK);
	assert_int_equal(e->ops->group_begin(e, &g), ERR_OK);
	assert_int_equal(e->ops->group_accept(g, SLICE("p"), &write, 1), ERR_OK);
	assert_int_equal(e->ops->group_commit(g), OUTCOME_DONE);
	e->ops->close(e);
	char path[128];
	snprintf(path, sizeof path, "%s/segments/000000.seg", dir);
	assert_int_equal(truncate(path, 4096), 0);
	assert_int_equal(open_it(true, &e), ERR_CORRUPT);
	expect_message("segment files");
}

/* As another user: root may write everywhere. */
static void an_unwritable_directory_is_named(void **state)
{
	if (geteuid() != 0) {
		print_message("reason: only root can become another user\n");
		skip();
	}
	pid_t pid = fork();
	if (pid == 0) {
		struct engine *e;
		if (setgid(65534) != 0 || setuid(65534) != 0)
			_exit(2);
		enum err err = open_it(true, &e);
		buf_put_byte(&message, 0);
		_exit(err == ERR_IO && strstr(message.ptr, "write permission") && strstr(message.ptr, dir) ? 0 : 1);
	}
	int status;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* Ids given out before a restart are never given again, even if nothing was published. */
static void extent_ids_are_new_after_a_restart(void **state)
{
	struct extent_ref first = { 0 }, second = { 0 };
	for (int i = 0; i < 2; i++) {
		struct engine *e;
		struct extent_writer *w;
		assert_int_equal(open_it(true, &e), ERR_OK);
		assert_int_equal(e->ops->extent_begin(e, 10, &w), ERR_OK);
		assert_int_equal(e->ops->extent_append(w, SLICE("0123456789")), ERR_OK);
		assert_int_equal(e->ops->extent_seal(w, i ? &second : &first), ERR_OK);
		e->ops->close(e);
	}
	assert_true(second.id > first.id);
	assert_int_equal(second.place, first.place); /* the space was free again */
}

/* In a process of its own (the database's threads do not survive a fork): a hundred commits, then SIGKILL. */
static int killed_main(const char *where)
{
	struct engine *e;
	char key[16], value[1000];
	snprintf(dir, sizeof dir, "%s", where);
	buf_init(&message, 4096);
	if (open_it(true, &e) != ERR_OK)
		return 1;
	for (int i = 0; i < 100; i++) {
		memset(value, 'a' + i % 26, sizeof value - 1);
		value[sizeof value - 1] = 0;
		snprintf(key, sizeof key, "k%d", i);
		put(e, key, value);
	}
	return raise(SIGKILL);
}

static void run_killed(void)
{
	int status;
	pid_t pid;
	assert_int_equal(again_start((char *)"--killed", dir, &pid), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
}

static void a_killed_server_starts_again(void **state)
{
	struct engine *e;
	run_killed();
	assert_int_equal(open_it(false, &e), ERR_OK);
	struct arena a;
	struct slice v;
	arena_init(&a, MIB);
	assert_int_equal(e->ops->get(e, NULL, SLICE("p"), SLICE("k99"), &a, &v), ERR_OK);
	arena_fini(&a);
	e->ops->close(e);
}

/* A bit in the middle of the log: what lies behind it was acknowledged. */
static void a_rotten_journal_is_noticed(void **state)
{
	struct engine *e;
	char c, path[256];
	run_killed();
	snprintf(path, sizeof path, "%s/journal/0", dir);
	int fd = open(path, O_RDWR);
	assert_true(fd >= 0);
	assert_int_equal(pread(fd, &c, 1, 41500), 1);
	c ^= 4;
	assert_int_equal(pwrite(fd, &c, 1, 41500), 1);
	close(fd);
	for (int i = 0; i < 2; i++) { /* it stays refused */
		assert_int_equal(open_it(false, &e), ERR_CORRUPT);
		expect_message("acknowledged and cannot be read");
	}
	snprintf(path, sizeof path, "%s/TAIL", dir);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(open_it(false, &e), ERR_OK); /* as the message says */
	e->ops->close(e);
}

/* Appends a record to the journal of a killed store, whole and with a right checksum. */
static void append_record(struct slice batch)
{
	static char block[4 * JOURNAL_BLOCK_BYTES];
	char path[256];
	uint64_t at = JOURNAL_BLOCK_BYTES;
	snprintf(path, sizeof path, "%s/journal/0", dir);
	int fd = open(path, O_RDWR);
	assert_true(fd >= 0);
	assert_int_equal(pread(fd, block, 64, 0), 64);
	uint64_t epoch = bytes_load(block + 20, 8), number = bytes_load(block + 28, 8);
	while (pread(fd, block, JOURNAL_RECORD_HEAD_BYTES, (off_t)at) == JOURNAL_RECORD_HEAD_BYTES &&
	       bytes_load(block + 8, 8) == number && bytes_load(block + 16, 8) == epoch) {
		at += journal_record_bytes(JOURNAL_RECORD_HEAD_BYTES, bytes_load(block + 4, 4));
		number++;
	}
	memset(block, 0, sizeof block);
	memcpy(block + JOURNAL_RECORD_HEAD_BYTES, batch.ptr, batch.len);
	journal_record_encode(block, number, epoch, number - 1,
			      slice_make(block + JOURNAL_RECORD_HEAD_BYTES, batch.len));
	size_t bytes = journal_record_bytes(JOURNAL_RECORD_HEAD_BYTES, batch.len);
	assert_int_equal(pwrite(fd, block, bytes, (off_t)at), (ssize_t)bytes);
	close(fd);
}

static void a_record_that_no_server_wrote_is_refused(void **state)
{
	static const struct slice bad[] = {
		SLICE(""),
		SLICE("no batch at all, but some bytes"),
		SLICE("\0\0\0\0\0\0\0\0\1\0\0\0"),			  /* an entry is missing */
		SLICE("\0\0\0\0\0\0\0\0\1\0\0\0\1\xff\xff\xff\xff\x0fk"), /* a key beyond the end */
		SLICE("\0\0\0\0\0\0\0\0\1\0\0\0\2\3p\0k\1v"),		  /* a merge, which nobody can do */
		SLICE("\0\0\0\0\0\0\0\0\1\0\0\0\5\7\3p\0k\1v"),		  /* a family there is not */
		SLICE("\0\0\0\0\0\0\0\0\1\0\0\0\x0f\1z\1a"),		  /* a range that ends before it begins */
	};
	struct engine *e;
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		run_killed();
		append_record(bad[i]);
		assert_int_equal(open_it(false, &e), ERR_CORRUPT);
		expect_message("no server wrote");
		assert_int_equal(teardown(NULL), 0);
		assert_int_equal(setup(NULL), 0);
	}
}

int main(int argc, char **argv)
{
	if (argc == 3 && strcmp(argv[1], "--killed") == 0)
		return killed_main(argv[2]);
#define T(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(a_store_is_made_once),
		T(a_second_server_is_refused),
		T(another_format_is_refused),
		T(a_store_of_the_format_before_is_taken_over),
		T(a_damaged_format_is_refused),
		T(a_half_made_store_is_finished),
		T(a_lost_database_is_not_made_anew),
		T(a_short_segment_is_noticed),
		T(an_unwritable_directory_is_named),
		T(extent_ids_are_new_after_a_restart),
		T(a_killed_server_starts_again),
		T(a_rotten_journal_is_noticed),
		T(a_record_that_no_server_wrote_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
