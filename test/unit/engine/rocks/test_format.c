/* SPDX-License-Identifier: Apache-2.0
 * Golden bytes of the files beside RocksDB: header and record of the journal, TAIL, the checksums of an extent. What
 * was written once must be read for ever; docs/format.md says it in words. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "engine/rocks/journal/journal_int.h"
#include "engine/rocks/journal/tail.h"
#include "engine/rocks/segment/segment.h"
#include "folder.h"

#include <fcntl.h>
#include <unistd.h>

static void expect_hex(const char *bytes, size_t count, const char *want)
{
	char hex[256];
	assert_true(count * 2 < sizeof hex);
	for (size_t i = 0; i < count; i++)
		snprintf(hex + 2 * i, 3, "%02x", (unsigned char)bytes[i]);
	assert_string_equal(hex, want);
}

static void a_header_of_the_journal(void **state)
{
	char block[JOURNAL_BLOCK_BYTES];
	journal_header_encode(block, &(struct journal_header){ .epoch = 0x1122334455667788, .first = 7, .flushed = 6 });
	expect_hex(block, JOURNAL_HEADER_BYTES,
		   "ed7c87297a6166666a726e6c0000000000000000887766554433221107000000000000000600000000000000");
	for (size_t i = JOURNAL_HEADER_BYTES; i < sizeof block; i++)
		assert_int_equal(block[i], 0);
}

static void a_record_of_the_journal(void **state)
{
	char record[64];
	memcpy(record + JOURNAL_RECORD_HEAD_BYTES, "batch", 5);
	journal_record_encode(record, 258, 0x1122334455667788, 257, slice_make(record + JOURNAL_RECORD_HEAD_BYTES, 5));
	expect_hex(record, JOURNAL_RECORD_HEAD_BYTES + 5, "728628fc05000000020100000000000088776655443322116261746368");
}

static void a_record_that_says_how_far_was_synced(void **state)
{
	char record[64];
	size_t head = journal_record_head_bytes(258, 3);
	assert_int_equal(head, 32);
	memcpy(record + head, "batch", 5);
	journal_record_encode(record, 258, 0x1122334455667788, 3, slice_make(record + head, 5));
	expect_hex(record, head + 5, "070a25f5050000800201000000000000887766554433221103000000000000006261746368");
}

static void the_tail(void **state)
{
	struct tail t;
	uint64_t remembered;
	char bytes[17], path[96];
	int dir_fd = open(dir, O_RDONLY | O_DIRECTORY);
	assert_int_equal(tail_open(&t, dir_fd, &remembered), ERR_OK);
	assert_int_equal(remembered, 0);
	tail_remember(&t, 258);
	tail_close(&t);
	snprintf(path, sizeof path, "%s/TAIL", dir);
	int fd = open(path, O_RDONLY);
	assert_int_equal(pread(fd, bytes, 16, 0), 16);
	close(fd);
	expect_hex(bytes, 16, "0201000000000000fdfeffffffffffff");
	assert_int_equal(tail_open(&t, dir_fd, &remembered), ERR_OK);
	assert_int_equal(remembered, 258);
	tail_close(&t);
	close(dir_fd);
}

static void an_extent(void **state)
{
	struct engine *e = folder_open();
	struct extent_writer *w;
	struct extent_ref ref;
	char path[96], sums[4], want[4], seed[12] = { 0 };
	assert_int_equal(e->ops->extent_begin(e, 5, &w), ERR_OK);
	assert_int_equal(e->ops->extent_append(w, SLICE("bytes")), ERR_OK);
	assert_int_equal(e->ops->extent_seal(w, &ref), ERR_OK);
	assert_int_equal(ref.id, UINT64_C(1) << 40); /* of the first opening */
	snprintf(path, sizeof path, "%s/segments/000000.seg", dir);
	int fd = open(path, O_RDONLY);
	assert_true(fd >= 0);
	off_t at = (off_t)((ref.place & UINT32_MAX) * SEGMENT_BLOCK_BYTES);
	char bytes[5];
	assert_int_equal(pread(fd, bytes, 5, at), 5);
	assert_memory_equal(bytes, "bytes", 5);
	assert_int_equal(pread(fd, sums, 4, at + 5), 4);
	bytes_store(seed, ref.id, 8);
	bytes_store(want, crc32c(crc32c(0, slice_make(seed, sizeof seed)), SLICE("bytes")), 4);
	assert_memory_equal(sums, want, 4);
	close(fd);
	e->ops->extent_abandon(e, &ref);
	e->ops->close(e);
}

static int setup(void **state)
{
	return folder_make("format");
}

static int teardown(void **state)
{
	return folder_remove();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_header_of_the_journal),
		cmocka_unit_test(a_record_of_the_journal),
		cmocka_unit_test(a_record_that_says_how_far_was_synced),
		cmocka_unit_test_setup_teardown(the_tail, setup, teardown),
		cmocka_unit_test_setup_teardown(an_extent, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
