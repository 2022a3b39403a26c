/* SPDX-License-Identifier: Apache-2.0
 * A table file of RocksDB's read without RocksDB: all rows are there, and a file with any byte changed, or cut off
 * anywhere, is refused or read right. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/limits.h"
#include "engine/rocks/locator/sst.h"
#include "folder.h"

#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ROWS = 300, VALUE_BYTES = 60, TABLE_MAX_BYTES = 256 * 1024 };

static char table[TABLE_MAX_BYTES];
static size_t table_bytes;

static void row_make(int i, char key[16], char value[VALUE_BYTES])
{
	snprintf(key, 16, "key%05d", i);
	memset(value, 'a' + i % 26, VALUE_BYTES);
}

static void fill(struct engine *e)
{
	struct engine_group *g;
	char key[16], value[VALUE_BYTES];
	assert_int_equal(e->ops->group_begin(e, &g), ERR_OK);
	for (int i = 0; i < ROWS; i++) {
		row_make(i, key, value);
		struct write w = { .kind = WRITE_PUT, .key = slice_str(key), .value = slice_make(value, VALUE_BYTES) };
		assert_int_equal(e->ops->group_accept(g, SLICE("p"), &w, 1), ERR_OK);
	}
	assert_int_equal(e->ops->group_commit(g), OUTCOME_DONE);
}

/* The largest file is that of the rows. */
static void take_table(void)
{
	char pattern[96];
	glob_t found;
	snprintf(pattern, sizeof pattern, "%s/db/*.sst", dir);
	assert_int_equal(glob(pattern, 0, NULL, &found), 0);
	for (size_t i = 0; i < found.gl_pathc; i++) {
		struct stat st;
		int fd = open(found.gl_pathv[i], O_RDONLY);
		assert_true(fd >= 0 && fstat(fd, &st) == 0 && st.st_size <= TABLE_MAX_BYTES);
		if ((size_t)st.st_size > table_bytes) {
			table_bytes = (size_t)st.st_size;
			assert_int_equal(pread(fd, table, table_bytes, 0), st.st_size);
		}
		close(fd);
	}
	globfree(&found);
}

static int setup(void **state)
{
	if (folder_make("table") != 0)
		return -1;
	struct engine *e = folder_open();
	fill(e);
	e->ops->close(e);
	take_table();
	const char *golden = getenv("ZAFFRE_MAKE_GOLDEN"); /* makes the file anew */
	if (golden) {
		int fd = open(golden, O_WRONLY | O_CREAT | O_TRUNC, 0644);
		if (fd < 0 || write(fd, table, table_bytes) != (ssize_t)table_bytes)
			return -1;
		close(fd);
	}
	return 0;
}

static int teardown(void **state)
{
	return folder_remove();
}

static int copy_table(void)
{
	int fd = open(dir, O_TMPFILE | O_RDWR, 0600);
	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, table, table_bytes, 0), (ssize_t)table_bytes);
	return fd;
}

/* ERR_OK: all rows were there and right. Anything that is read is right. */
static enum err read_rows(int fd)
{
	static char block[TABLE_MAX_BYTES];
	struct sst_map m;
	struct sst_cursor c;
	struct sst_row row;
	int rows = 0;
	TRY(sst_map_read(fd, &m));
	assert_int_equal(m.row_count, ROWS);
	assert_true(m.block_count > 1);
	enum err err = ERR_OK;
	for (uint32_t i = 0; i < m.block_count && err == ERR_OK; i++) {
		assert_true(sst_block_bytes(&m, i) <= sizeof block);
		err = sst_block_read(fd, &m, i, block);
		if (err != ERR_OK)
			break;
		struct slice whole = slice_make(block, sst_block_bytes(&m, i) - SST_TRAILER_BYTES);
		assert_true(sst_block_begin(&c, whole));
		while (c.at < c.end) {
			char key[16], value[VALUE_BYTES];
			row_make(rows++, key, value);
			assert_true(sst_block_next(&c, &row));
			assert_true(slice_eq(slice_from(row.key, 2), slice_str(key)));
			assert_true(slice_eq(row.value, slice_make(value, VALUE_BYTES)));
			assert_false(row.deleted);
			struct sst_row found;
			assert_int_equal(sst_block_find(whole, row.key, &found), ERR_OK);
			assert_true(slice_eq(found.value, row.value) && found.sequence == row.sequence);
			/* One byte less, which no row has. */
			assert_int_equal(sst_block_find(whole, slice_first(row.key, row.key.len - 1), &found),
					 ERR_NOT_FOUND);
		}
	}
	if (err == ERR_OK)
		assert_int_equal(rows, ROWS);
	sst_map_free(&m);
	return err;
}

static void test_all_rows(void **state)
{
	int fd = copy_table();
	assert_int_equal(read_rows(fd), ERR_OK);
	close(fd);
}

/* As RocksDB 7.8 of Debian 12 wrote it. A version that writes tables in another way is met by those of a store, not by
 * this file: both must be read. */
static void test_golden(void **state)
{
	int fd = open(ZAFFRE_SOURCE "/test/unit/engine/rocks/locator/golden.sst", O_RDONLY);
	assert_true(fd >= 0);
	assert_int_equal(read_rows(fd), ERR_OK);
	close(fd);
}

static void test_any_byte_changed(void **state)
{
	int fd = copy_table(), refused = 0;
	for (size_t at = 0; at < table_bytes; at++) {
		for (int bit = 0; bit < 8; bit += 7) {
			char byte = (char)(table[at] ^ 1 << bit);
			assert_int_equal(pwrite(fd, &byte, 1, (off_t)at), 1);
			refused += read_rows(fd) != ERR_OK;
			assert_int_equal(pwrite(fd, table + at, 1, (off_t)at), 1);
		}
	}
	/* All but the filter of keys, which is not looked at, and bytes of the footer that mean nothing. */
	assert_true(refused > (int)table_bytes);
	close(fd);
}

static void test_cut_off(void **state)
{
	int fd = copy_table();
	for (size_t bytes = table_bytes; bytes-- > 0;) {
		assert_int_equal(ftruncate(fd, (off_t)bytes), 0);
		assert_int_not_equal(read_rows(fd), ERR_OK);
	}
	close(fd);
}

/* Blocks whose checksum is right and that are wrong all the same. */
static void test_blocks_that_are_none(void **state)
{
	const struct slice block[] = {
		SLICE(""),	     SLICE("\0\0\0"),
		SLICE("\1\0\0\0"),   SLICE("\xff\xff\xff\x7f"),
		SLICE("\0\0\0\x80"), SLICE("\xff\xff\0\0\0\x80"),
		SLICE("x\0\0\0\0"),
	};
	struct sst_cursor c;
	struct sst_row row;
	for (size_t i = 0; i < sizeof block / sizeof *block; i++) {
		if (sst_block_begin(&c, block[i]))
			assert_false(sst_block_next(&c, &row));
		assert_int_not_equal(sst_block_find(block[i], SLICE("k"), &row), ERR_OK);
	}
	const struct slice entry[] = {
		SLICE("\1\x09\0"
		      "k\1\0\0\0\0\0\0\0"
		      "\0\0\0\0"), /* shares more than there was */
		SLICE("\0\x7f\0"
		      "k\1\0\0\0\0\0\0\0"
		      "\0\0\0\0"), /* a key beyond the end */
		SLICE("\0\x09\x7f"
		      "k\1\0\0\0\0\0\0\0"
		      "\0\0\0\0"), /* a value beyond it */
		SLICE("\0\x07\0"
		      "\1\0\0\0\0\0\0"
		      "\0\0\0\0"), /* a key that is too short */
		SLICE("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"
		      "\0\0\0\0"), /* an endless number */
		SLICE("\0\x09\0"
		      "k\x22\0\0\0\0\0\0\0"
		      "\0\0\0\0"), /* a kind nobody writes */
	};
	for (size_t i = 0; i < sizeof entry / sizeof *entry; i++) {
		assert_true(sst_block_begin(&c, entry[i]));
		assert_false(sst_block_next(&c, &row));
		assert_int_not_equal(sst_block_find(entry[i], SLICE("k"), &row), ERR_OK);
	}
}

/* A disk that cannot read is not a table that is damaged: the next time it may be able to. */
static void test_a_read_that_fails_is_no_damage(void **state)
{
	static char block[TABLE_MAX_BYTES];
	char path[64];
	struct sst_map m;
	int fd = copy_table();
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	int unreadable = open(path, O_WRONLY);
	assert_true(unreadable >= 0);
	assert_int_equal(sst_map_read(unreadable, &m), ERR_IO);
	assert_int_equal(sst_map_read(fd, &m), ERR_OK);
	assert_int_equal(sst_block_read(unreadable, &m, 0, block), ERR_IO);
	sst_map_free(&m);
	close(unreadable);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_read_that_fails_is_no_damage),
		cmocka_unit_test(test_all_rows),
		cmocka_unit_test(test_golden),
		cmocka_unit_test(test_any_byte_changed),
		cmocka_unit_test(test_cut_off),
		cmocka_unit_test(test_blocks_that_are_none),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
