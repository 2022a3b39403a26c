/* SPDX-License-Identifier: Apache-2.0
 * Small files whose only run is named by their inode: which rows there are, what makes the run a row, and that its
 * bytes stay as long as the file or a snapshot needs them and no longer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "bench.h"
#include "svc/file/rows.h"

enum { BYTES = 4096 };

static unsigned char one[BYTES], two[BYTES];

static void small_file(struct bench *b, const char *path)
{
	assert_int_equal(bench_create(b, path, FILE_KIND_FILE, 2 * BYTES), ERR_OK);
	assert_int_equal(bench_write(b, path, 0, one, BYTES), ERR_OK);
}

static void open_with_file(struct bench *b)
{
	memset(one, 1, sizeof one);
	memset(two, 2, sizeof two);
	bench_open(b, 1, NULL);
	small_file(b, "f");
	assert_int_equal(rows_of(b, 'r'), 0);
	assert_int_equal(rows_of(b, 'd'), 1);
	assert_int_equal(rows_of(b, 'y'), 0);
}

static struct inode read_all(struct bench *b, const char *path, uint64_t snapshot, bool by_points, unsigned char *dst)
{
	struct file_get_call c = { .target = target_of(b, path, FILE_KIND_FILE),
				   .want_bytes = true,
				   .by_points = by_points };
	c.target.has_snapshot = snapshot != 0;
	c.target.snapshot_ticks = snapshot;
	enum err e = look(b, file_apply_get, &c);
	if (e == ERR_CONFLICT && by_points && !c.inode.sole) { /* it may have several runs */
		c.by_points = false;
		e = look(b, file_apply_get, &c);
	}
	if (e != ERR_OK)
		fail_msg("%s: %s", path, err_name(e));
	memset(dst, 0xee, 4 * (size_t)BYTES);
	read_pieces(b, &c.pieces, dst);
	return c.inode;
}

/* The first BYTES are these, what follows is zeros. */
static void expect_bytes(struct bench *b, const char *path, uint64_t snapshot, const unsigned char *wanted)
{
	static unsigned char got[4 * BYTES];
	for (int by_points = 0; by_points < (snapshot ? 1 : 2); by_points++) {
		struct inode n = read_all(b, path, snapshot, by_points, got);
		assert_memory_equal(got, wanted, BYTES);
		for (size_t i = BYTES; i < n.size_bytes; i++)
			assert_int_equal(got[i], 0);
	}
}

static uint64_t take_snapshot(struct bench *b)
{
	struct share_snapshot_call c = { .has_metadata = false };
	expect(b, share_apply_snapshot, &c, ERR_OK);
	return c.snapshot.ticks;
}

static void drop_snapshot(struct bench *b, uint64_t ticks)
{
	struct share_snapshot_call c = { .ticks = ticks };
	expect(b, share_apply_delete_snapshot, &c, ERR_OK);
	bench_settle(b);
}

static void remove_file(struct bench *b, const char *path)
{
	struct file_delete_call c = { .target = target_of(b, path, FILE_KIND_FILE) };
	expect(b, file_apply_delete, &c, ERR_OK);
	bench_settle(b);
}

static void rename_file(struct bench *b, const char *from, const char *to, bool replace)
{
	struct file_rename_call c = { .source = target_of(b, from, FILE_KIND_FILE),
				      .target = target_of(b, to, FILE_KIND_FILE),
				      .replace = replace };
	expect(b, file_apply_rename, &c, ERR_OK);
}

static void set_metadata(struct bench *b, const char *path)
{
	struct file_modify_call c = { .target = target_of(b, path, FILE_KIND_FILE) };
	expect(b, file_apply_set_metadata, &c, ERR_OK);
}

static void resize(struct bench *b, const char *path, uint64_t size)
{
	struct file_modify_call c = { .target = target_of(b, path, FILE_KIND_FILE),
				      .resize = true,
				      .size_bytes = size };
	expect(b, file_apply_set_properties, &c, ERR_OK);
}

static void expect_rows(struct bench *b, size_t runs, size_t sources)
{
	assert_int_equal(rows_of(b, 'r'), runs);
	assert_int_equal(rows_of(b, 'd'), sources);
}

/* Nothing but the root is left. */
static void close_empty(struct bench *b)
{
	static const char tags[] = "rdyhiw";
	for (const char *tag = tags; *tag; tag++)
		if (rows_of(b, *tag))
			fail_msg("%zu rows '%c' are left", rows_of(b, *tag), *tag);
	bench_close(b);
}

static void test_alone(void **state)
{
	(void)state;
	struct bench b;
	open_with_file(&b);
	expect_bytes(&b, "f", 0, one);
	assert_int_equal(bench_write(&b, "f", 0, two, BYTES), ERR_OK); /* all of it anew */
	expect_rows(&b, 0, 1);
	expect_bytes(&b, "f", 0, two);
	resize(&b, "f", 3 * BYTES); /* longer: it stays what it is */
	expect_rows(&b, 0, 1);
	rename_file(&b, "f", "g", false);
	expect_rows(&b, 0, 1);
	expect_bytes(&b, "g", 0, two);
	small_file(&b, "f");
	rename_file(&b, "g", "f", true); /* over another one */
	expect_rows(&b, 0, 1);
	expect_bytes(&b, "f", 0, two);
	resize(&b, "f", 100); /* shorter, and then its end is zeros */
	resize(&b, "f", BYTES);
	memset(two + 100, 0, BYTES - 100);
	expect_bytes(&b, "f", 0, two);
	expect_rows(&b, 0, 1);
	remove_file(&b, "f");
	close_empty(&b);
}

/* A second run makes the first a row. */
static void test_more_runs(void **state)
{
	(void)state;
	struct bench b;
	unsigned char both[BYTES];
	open_with_file(&b);
	assert_int_equal(bench_write(&b, "f", BYTES, two, 600), ERR_OK); /* behind it */
	expect_rows(&b, 2, 2);
	resize(&b, "f", BYTES);
	expect_bytes(&b, "f", 0, one);
	assert_int_equal(bench_create(&b, "f", FILE_KIND_FILE, 2 * BYTES), ERR_OK);
	expect_rows(&b, 0, 0);
	assert_int_equal(bench_write(&b, "f", 0, one, BYTES), ERR_OK);
	assert_int_equal(bench_write(&b, "f", 1000, two, 1000), ERR_OK); /* inside it: two parts of one source */
	expect_rows(&b, 3, 2);
	memcpy(both, one, BYTES);
	memcpy(both + 1000, two, 1000);
	expect_bytes(&b, "f", 0, both);
	remove_file(&b, "f");
	close_empty(&b);
}

/* What happens to the file after a snapshot does not happen to the snapshot. */
static void after_snapshot(void (*change)(struct bench *), const char *path)
{
	struct bench b;
	open_with_file(&b);
	uint64_t first = take_snapshot(&b);
	change(&b);
	uint64_t second = take_snapshot(&b);
	expect_bytes(&b, "f", first, one);
	if (path)
		remove_file(&b, path);
	expect_bytes(&b, "f", first, one);
	drop_snapshot(&b, second);
	expect_bytes(&b, "f", first, one);
	drop_snapshot(&b, first);
	close_empty(&b);
}

static void change_nothing(struct bench *b)
{
	(void)b;
}

static void change_delete(struct bench *b)
{
	remove_file(b, "f");
}

static void change_record(struct bench *b)
{
	set_metadata(b, "f");
	set_metadata(b, "f");
	expect_rows(b, 0, 1);
	expect_bytes(b, "f", 0, one);
}

static void change_name(struct bench *b)
{
	rename_file(b, "f", "g", false);
	expect_rows(b, 0, 1);
	expect_bytes(b, "g", 0, one);
}

static void change_bytes(struct bench *b)
{
	assert_int_equal(bench_write(b, "f", 0, two, BYTES), ERR_OK);
	expect_rows(b, 0, 2);
	expect_bytes(b, "f", 0, two);
}

static void change_part(struct bench *b)
{
	assert_int_equal(bench_write(b, "f", 10, two, 20), ERR_OK);
}

static void change_more(struct bench *b)
{
	assert_int_equal(bench_write(b, "f", 5000, two, 20), ERR_OK);
}

static void change_size(struct bench *b)
{
	resize(b, "f", 50);
}

static void change_create(struct bench *b)
{
	assert_int_equal(bench_create(b, "f", FILE_KIND_FILE, 10), ERR_OK);
}

static void change_clear(struct bench *b)
{
	struct file_write_call c = {
		.target = target_of(b, "f", FILE_KIND_FILE), .clear = true, .offset = 0, .length = 2 * BYTES
	};
	expect(b, file_apply_write, &c, ERR_OK);
}

static void test_snapshots(void **state)
{
	(void)state;
	after_snapshot(change_nothing, "f");
	after_snapshot(change_delete, NULL);
	after_snapshot(change_record, "f");
	after_snapshot(change_name, "g");
	after_snapshot(change_bytes, "f");
	after_snapshot(change_part, "f");
	after_snapshot(change_more, "f");
	after_snapshot(change_size, "f");
	after_snapshot(change_create, "f");
	after_snapshot(change_clear, "f");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_alone),
		cmocka_unit_test(test_more_runs),
		cmocka_unit_test(test_snapshots),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
