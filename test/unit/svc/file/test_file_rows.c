/* SPDX-License-Identifier: Apache-2.0
 * Golden bytes of every kind of row of a share: what one release writes, the next must read. A change here is a
 * change of the format on disk. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "svc/common/names.h"
#include "svc/file/open/open_int.h"
#include "svc/file/rows.h"

#define GOLDEN_INODE                                                                                                   \
	"0115000000000000000200000000000000030000000000000001040000004e616d650400000000000000200000000500"             \
	"00000000000006000000000000000700000000000000080000000000000009000000000000000a000000000000000100"             \
	"000074ffffffffffffffffffffffffffffffff01aa0000000000000000000000000000000100010000006b0100000076"             \
	"00020102030405060708090a0b0c0d0e0f100100000073ffffffff0b000000000000000c000000000000000d00000000"             \
	"0000000e000000000000000f000000000000001000000000000000110000000000000012000000000000001300000000"             \
	"0000001400000000000000"
#define GOLDEN_INODE_SOLE                                                                                              \
	"0215000000000000000200000000000000030000000000000001040000004e616d651400000000000000200000000500"             \
	"00000000000006000000000000000700000000000000080000000000000009000000000000000a000000000000000100"             \
	"000074ffffffffffffffffffffffffffffffff01aa0000000000000000000000000000000100010000006b0100000076"             \
	"00020102030405060708090a0b0c0d0e0f100100000073ffffffff0b000000000000000c000000000000000d00000000"             \
	"0000000e000000000000000f000000000000001000000000000000010000000000000012000000000000000000000000"             \
	"00000014000000000000001600000000000000"
#define GOLDEN_INODE_BELOW                                                                                             \
	"0315000000000000000200000000000000030000000000000002040000004e616d6504000000000000002000000005"               \
	"0000000000000006000000000000000700000000000000080000000000000009000000000000000a00000000000000"               \
	"0100000074ffffffffffffffffffffffffffffffff01aa0000000000000000000000000000000100010000006b0100"               \
	"00007600020102030405060708090a0b0c0d0e0f100100000073ffffffff0b000000000000000c000000000000000d"               \
	"000000000000000e000000000000000f00000000000000100000000000000011000000000000001200000000000000"               \
	"1300000000000000140000000000000017001800"
#define GOLDEN_WHERE  "0101000000000000000200000000000000010000004e"
#define GOLDEN_ZEROS  "0101000000000000000200000000000000030000000000000000"
#define GOLDEN_INLINE "0101000000000000000200000000000000030000000000000001616263"
#define GOLDEN_ROW    "0101000000000000000200000000000000030000000000000002070000000000000008000000"
#define GOLDEN_EXTENT                                                                                                  \
	"010100000000000000020000000000000003000000000000000309000000000000000a000000000000000b0000000800"             \
	"0000"
#define GOLDEN_COVER	"0101000000000000000200000000000000"
#define GOLDEN_SNAPSHOT "01010000000000000002000000000000000300000000000000040000000100010000006b010000007600"
#define GOLDEN_WORK	"015601000000000000000200000000000000030000006b6579"
#define GOLDEN_SETTINGS                                                                                                \
	"010100000002020000000000000000000300000000000000040000000000000005000000000000000000000000000000"             \
	"00"
#define GOLDEN_STATE                                                                                                   \
	"0101000000000000000200000000000000030000000000000004000000050000000000000006000000000000000700000000000000"
#define GOLDEN_NAMES	  "0102000000"
#define GOLDEN_PERMISSION "014f3a5359"
#define GOLDEN_MERGE	  "02050000000000000006000000000000000700000000000000"
#define GOLDEN_OPEN                                                                                                    \
	"010100000000000000020000000000000002000000030000000400000005000000020600000007000000000000000000000000000000" \
	"0800000000000000090000000000000000000000000000000a00000000000000010000007501000000690b000000000000000c000000" \
	"000000000d000000000000000e0f00000000000000100011000000000000000000000000000000000000000000000000000000000000" \
	"000000000000000000000000000000000000000000000000000000000000000000020000000000000000000000000000000000000000" \
	"000000000000000000000000021200130000000000000000000000010000001500000000000000160000000000000001"
#define GOLDEN_LEASE                                                                                                   \
	"0101020000000000000000000000000000000000000000000000000000000000000000021200130000000000000000000000"
#define GOLDEN_OPENS	      "01010010000000000000"
#define GOLDEN_KEY_INODE      "6e808080808080808080814e414d4501"
#define GOLDEN_KEY_HISTORY    "686e808080808080808080814e414d450180808080808080808082"
#define GOLDEN_KEY_RUN	      "728080808080808080808180808080808080808082"
#define GOLDEN_KEY_COVER      "638080808080808080808180808080808080808082"
#define GOLDEN_KEY_WHERE      "6980808080808080808081"
#define GOLDEN_KEY_SOURCE     "6480808080808080808081"
#define GOLDEN_KEY_SNAPSHOT   "5380808080808080808081"
#define GOLDEN_KEY_MERGE      "6d80808080808080808081"
#define GOLDEN_KEY_PERMISSION "7080808080808080808081"
#define GOLDEN_KEY_OPEN	      "7e6f808080808080808080816f80808080808080808082"
#define GOLDEN_KEY_WORK	      "778080808080808080808180808080808080808082"

static const struct uuid some_id = { { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 } };

static void assert_hex(struct slice bytes, const char *wanted)
{
	static char text[8192];
	size_t at = 0;
	text[0] = 0;
	for (size_t i = 0; i < bytes.len; i++)
		at += (size_t)snprintf(text + at, sizeof text - at, "%02x", (unsigned char)bytes.ptr[i]);
	assert_string_equal(text, wanted);
}

static void assert_buf(struct buf *b, const char *wanted)
{
	assert_true(buf_ok(b));
	assert_hex(buf_slice(b), wanted);
	buf_clear(b);
}

static struct inode some_inode(struct pair *pair)
{
	*pair = (struct pair){ SLICE("k"), SLICE("v") };
	return (struct inode){ .id = 2,
			       .parent_id = 3,
			       .kind = FILE_KIND_FILE,
			       .name = SLICE("Name"),
			       .size_bytes = 4,
			       .attributes = FILE_ATTR_ARCHIVE,
			       .created_ticks = 5,
			       .written_ticks = 6,
			       .accessed_ticks = 7,
			       .changed_ticks = 8,
			       .etag = 9,
			       .permission = 10,
			       .http = { .content_type = SLICE("t"), .has_md5 = true, .md5 = { 0xaa } },
			       .metadata = { pair, 1 },
			       .copy = { .status = FILE_COPY_SUCCESS,
					 .id = some_id,
					 .source = SLICE("s"),
					 .copied_bytes = 11,
					 .total_bytes = 12,
					 .completed_ticks = 13,
					 .heartbeat_ticks = 14 },
			       .content = 15,
			       .born_ticks = 16,
			       .run_count = 17,
			       .merge_at = 18,
			       .covers = 19,
			       .data_end = 20,
			       .stamp = 21 };
}

static void test_inode(void **state)
{
	(void)state;
	struct buf b;
	struct arena arena;
	struct pair pair;
	struct inode n = some_inode(&pair), back;
	arena_init(&arena, 1 << 16);
	buf_init(&b, 1 << 16);
	inode_encode(&b, &n);
	assert_int_equal(inode_decode(buf_slice(&b), &arena, &back), ERR_OK);
	assert_int_equal(back.data_end, 20);
	assert_int_equal(back.copy.total_bytes, 12);
	assert_true(slice_eq(back.metadata.pair[0].value, SLICE("v")));
	for (size_t cut = 0; cut < b.len; cut++)
		assert_int_equal(inode_decode(slice_first(buf_slice(&b), cut), &arena, &back), ERR_CORRUPT);
	assert_buf(&b, GOLDEN_INODE);
	/* Of a small file that says itself where its only run is: the second version has eight bytes more. */
	n.run_count = 1;
	n.covers = 0;
	n.size_bytes = n.data_end;
	n.sole = 22;
	inode_encode(&b, &n);
	assert_int_equal(inode_decode(buf_slice(&b), &arena, &back), ERR_OK);
	assert_true(back.sole == 22 && back.data_end == 20 && back.stamp == 21);
	for (size_t cut = 0; cut < b.len; cut++)
		assert_int_equal(inode_decode(slice_first(buf_slice(&b), cut), &arena, &back), ERR_CORRUPT);
	assert_buf(&b, GOLDEN_INODE_SOLE);
	n.run_count = 2; /* then it would not be the only one */
	inode_encode(&b, &n);
	assert_int_equal(inode_decode(buf_slice(&b), &arena, &back), ERR_CORRUPT);
	buf_clear(&b);
	/* Of a directory that says how far down it reaches: the third has four bytes more than the first. */
	n = some_inode(&pair);
	n.kind = FILE_KIND_DIRECTORY;
	n.below = (struct reach){ 23, 24 };
	inode_encode(&b, &n);
	assert_int_equal(inode_decode(buf_slice(&b), &arena, &back), ERR_OK);
	assert_true(back.below.levels == 23 && back.below.chars == 24 && back.stamp == 21);
	for (size_t cut = 0; cut < b.len; cut++)
		assert_int_equal(inode_decode(slice_first(buf_slice(&b), cut), &arena, &back), ERR_CORRUPT);
	assert_buf(&b, GOLDEN_INODE_BELOW);
	/* Of one that an earlier program made nothing is known, and goes on being unknown. */
	n.below = (struct reach){ FILE_REACH_UNKNOWN, FILE_REACH_UNKNOWN };
	inode_encode(&b, &n);
	assert_int_equal(b.ptr[0], 1);
	assert_int_equal(inode_decode(buf_slice(&b), &arena, &back), ERR_OK);
	assert_int_equal(back.below.levels, FILE_REACH_UNKNOWN);
	buf_clear(&b);
	where_encode(&b, &(struct inode_where){ 1, 2, SLICE("N") });
	assert_buf(&b, GOLDEN_WHERE);
	buf_fini(&b);
	arena_fini(&arena);
}

static void check_run(struct buf *b, const struct run *r, const char *wanted)
{
	struct key k;
	struct run back;
	run_key(&k, 99, r->end - 1);
	run_encode(b, r);
	assert_int_equal(run_decode(key_slice(&k), buf_slice(b), &back), ERR_OK);
	assert_true(back.first == r->first && back.end == r->end && back.kind == r->kind && back.offset == r->offset);
	assert_buf(b, wanted);
}

static void test_runs(void **state)
{
	(void)state;
	struct buf b;
	struct run r = { .stamp = 1, .data_stamp = 2, .first = 3, .end = 6 };
	buf_init(&b, 1 << 16);
	r.kind = RUN_ZEROS;
	check_run(&b, &r, GOLDEN_ZEROS);
	r.kind = RUN_INLINE;
	r.bytes = SLICE("abc");
	check_run(&b, &r, GOLDEN_INLINE);
	r.kind = RUN_ROW;
	r.source = 7;
	r.offset = 8;
	check_run(&b, &r, GOLDEN_ROW);
	r.kind = RUN_EXTENT;
	r.extent = (struct extent_ref){ .id = 9, .place = 10, .length_bytes = 11 };
	check_run(&b, &r, GOLDEN_EXTENT);
	cover_encode(&b, &(struct cover){ 1, 2, 3 });
	assert_buf(&b, GOLDEN_COVER);
	buf_fini(&b);
}

static void test_others(void **state)
{
	(void)state;
	struct buf b;
	struct pair pair = { SLICE("k"), SLICE("v") };
	buf_init(&b, 1 << 16);
	snapshot_encode(&b, &(struct share_snapshot){
				    .ticks = 1, .number = 2, .etag = 3, .quota_gib = 4, .metadata = { &pair, 1 } });
	assert_buf(&b, GOLDEN_SNAPSHOT);
	work_encode(&b, &(struct work){ WORK_COVER, 1, 2, SLICE("key") });
	assert_buf(&b, GOLDEN_WORK);
	share_settings_encode(&b, &(struct share_settings){ .quota_gib = 1,
							    .tier = SHARE_TIER_COOL,
							    .tier_changed_ticks = 2,
							    .provisioned_iops = 3,
							    .provisioned_bandwidth_mibps = 4,
							    .paid_bursting = true,
							    .directory_lease = true });
	assert_buf(&b, GOLDEN_SETTINGS);
	buf_fini(&b);
}

static void test_counts(void **state)
{
	(void)state;
	struct buf b;
	struct share_state share = { 1, 2, 3, 4, 5, 6, 7 }, share_back;
	uint32_t names;
	struct merge_row merge;
	struct slice text;
	buf_init(&b, 1 << 16);
	share_state_encode(&b, &share);
	assert_int_equal(share_state_decode(buf_slice(&b), &share_back), ERR_OK);
	assert_int_equal(share_back.tree_stamp, 7);
	for (size_t cut = 0; cut < b.len; cut++)
		assert_int_equal(share_state_decode(slice_first(buf_slice(&b), cut), &share_back), ERR_CORRUPT);
	assert_buf(&b, GOLDEN_STATE);
	names_encode(&b, NAMES_IN_SHARE, 2);
	assert_int_equal(names_decode(buf_slice(&b), NAMES_IN_SHARE, &names), ERR_OK);
	assert_int_equal(names, 2);
	assert_int_equal(names_decode(slice_first(buf_slice(&b), 4), NAMES_IN_SHARE, &names), ERR_CORRUPT);
	assert_buf(&b, GOLDEN_NAMES);
	names_encode(&b, NAMES_IN_SHARE, 1); /* has no row */
	assert_int_equal(names_decode(buf_slice(&b), NAMES_IN_SHARE, &names), ERR_CORRUPT);
	buf_clear(&b);
	permission_encode(&b, SLICE("O:SY"));
	assert_int_equal(permission_decode(buf_slice(&b), &text), ERR_OK);
	assert_true(slice_eq(text, SLICE("O:SY")));
	assert_int_equal(permission_decode(SLICE(""), &text), ERR_CORRUPT);
	assert_buf(&b, GOLDEN_PERMISSION);
	merge_encode(&b, &(struct merge_row){ .next = 5, .etag = 6, .not_before_ticks = 7 });
	assert_int_equal(merge_decode(buf_slice(&b), &merge), ERR_OK);
	assert_true(merge.next == 5 && merge.etag == 6 && merge.not_before_ticks == 7);
	assert_int_equal(merge_decode(slice_first(buf_slice(&b), 8), &merge), ERR_CORRUPT);
	assert_buf(&b, GOLDEN_MERGE);
	/* The first version: nothing, or an offset. */
	assert_int_equal(merge_decode(slice_make("\1", 1), &merge), ERR_OK);
	assert_true(!merge.next && !merge.not_before_ticks);
	assert_int_equal(merge_decode(slice_make("\1\5\0\0\0\0\0\0\0", 9), &merge), ERR_OK);
	assert_true(merge.next == 5 && !merge.not_before_ticks);
	assert_int_equal(merge_decode(slice_make("\1\5\0\0\0\0\0\0", 8), &merge), ERR_CORRUPT);
	buf_fini(&b);
}

static struct file_open some_open(struct byte_range *range)
{
	*range = (struct byte_range){ 21, 22, true };
	return (struct file_open){
		.inode_id = 1,
		.open_id = 2,
		.access = 3,
		.share = 4,
		.options = 5,
		.delete_on_close = true,
		.life = OPEN_PERSISTENT,
		.timeout_ms = 6,
		.create_guid = { { 7 } },
		.end_ticks = 8,
		.opener = { .client = { { 9 } }, .session_id = 10, .user = SLICE("u"), .client_ip = SLICE("i") },
		.opened_ticks = 11,
		.reconnected_ticks = 12,
		.snapshot_ticks = 13,
		.action = 14,
		.position = 15,
		.channel_sequence = 16,
		.lock_sequence = { 17 },
		.oplock = { .kind = OPLOCK_LEASE, .version = 2, .epoch = 18, .state = 19 },
		.range = range,
		.range_count = 1
	};
}

static void test_opens(void **state)
{
	(void)state;
	struct buf b;
	struct arena arena;
	struct byte_range range;
	struct file_open o = some_open(&range), back;
	struct open_oplock lease;
	struct open_state opens;
	struct key k;
	arena_init(&arena, 1 << 16);
	buf_init(&b, 1 << 16);
	open_row_encode(&b, &o);
	assert_int_equal(open_row_decode(buf_slice(&b), &arena, &back), ERR_OK);
	assert_int_equal(back.range[0].length, 22);
	open_key(&k, 1, 2);
	struct slice durable = slice_from(key_slice(&k), 1);
	assert_int_equal(file_open_row_check(durable, buf_slice(&b), &arena), ERR_OK);
	assert_int_equal(file_open_row_check(durable, slice_first(buf_slice(&b), b.len - 1), &arena), ERR_CORRUPT);
	open_key(&k, 1, 3);
	assert_int_equal(file_open_row_check(slice_from(key_slice(&k), 1), buf_slice(&b), &arena), ERR_CORRUPT);
	assert_buf(&b, GOLDEN_OPEN);
	open_lease_encode(&b, &o.oplock, true);
	assert_int_equal(open_lease_decode(buf_slice(&b), &lease), ERR_OK);
	assert_int_equal(lease.oplock.epoch, 18);
	assert_buf(&b, GOLDEN_LEASE);
	open_state_encode(&b, &(struct open_state){ .delete_pending = true, .allocation_bytes = 4096 });
	assert_int_equal(open_state_decode(buf_slice(&b), &opens), ERR_OK);
	assert_true(opens.delete_pending && !opens.durable);
	assert_buf(&b, GOLDEN_OPENS);
	buf_fini(&b);
	arena_fini(&arena);
}

static void test_keys(void **state)
{
	(void)state;
	struct key k, h;
	inode_key(&k, 1, SLICE("NAME"));
	assert_hex(key_slice(&k), GOLDEN_KEY_INODE);
	history_key(&h, key_slice(&k), 2);
	assert_hex(key_slice(&h), GOLDEN_KEY_HISTORY);
	run_key(&k, 1, 2);
	assert_hex(key_slice(&k), GOLDEN_KEY_RUN);
	cover_key(&k, 1, 2);
	assert_hex(key_slice(&k), GOLDEN_KEY_COVER);
	where_key(&k, 1);
	assert_hex(key_slice(&k), GOLDEN_KEY_WHERE);
	source_key(&k, 1);
	assert_hex(key_slice(&k), GOLDEN_KEY_SOURCE);
	snapshot_key(&k, 1);
	assert_hex(key_slice(&k), GOLDEN_KEY_SNAPSHOT);
	merge_key(&k, 1);
	assert_hex(key_slice(&k), GOLDEN_KEY_MERGE);
	permission_key(&k, 1);
	assert_hex(key_slice(&k), GOLDEN_KEY_PERMISSION);
	open_key(&k, 1, 2);
	assert_hex(key_slice(&k), GOLDEN_KEY_OPEN);
	work_key(&k, 1, 2);
	assert_hex(key_slice(&k), GOLDEN_KEY_WORK);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_inode),  cmocka_unit_test(test_runs),
					    cmocka_unit_test(test_others), cmocka_unit_test(test_counts),
					    cmocka_unit_test(test_opens),  cmocka_unit_test(test_keys) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
