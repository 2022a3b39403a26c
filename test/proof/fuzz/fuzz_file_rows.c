/* SPDX-License-Identifier: Apache-2.0
 * Rows of a share: what is read is written again as the same bytes. The first byte of the input chooses the kind, the
 * next gives the length of the key. */
#include "svc/common/names.h"
#include "svc/file/open/open_int.h"
#include "svc/file/rows.h"

#include "fuzz.h"

static void same(struct buf *b, struct slice value)
{
	CHECK(buf_ok(b) && slice_eq(buf_slice(b), value));
	buf_fini(b);
}

static void check_inode(struct slice value)
{
	struct arena arena;
	struct inode n;
	struct buf b;
	arena_init(&arena, 1 << 20);
	if (inode_decode(value, &arena, &n) == ERR_OK) {
		buf_init(&b, 1 << 20);
		inode_encode(&b, &n);
		/* A flag or a lease may be written in more than one way; what it says may not change. */
		struct inode again;
		CHECK(inode_decode(buf_slice(&b), &arena, &again) == ERR_OK);
		CHECK(again.id == n.id && again.size_bytes == n.size_bytes && again.stamp == n.stamp);
		CHECK(slice_eq(again.name, n.name) && again.metadata.count == n.metadata.count);
		CHECK(again.data_end == n.data_end && again.content == n.content && again.sole == n.sole);
		if (n.id != FILE_ROOT_ID) /* of which nothing is kept */
			CHECK(again.below.levels == n.below.levels && again.below.chars == n.below.chars);
		buf_fini(&b);
	}
	arena_fini(&arena);
}

static void check_run(struct slice key, struct slice value)
{
	struct run r;
	struct buf b;
	if (run_decode(key, value, &r) != ERR_OK)
		return;
	CHECK(r.first < r.end);
	buf_init(&b, 1 << 20);
	run_encode(&b, &r);
	same(&b, value);
}

static void check_where(struct slice value)
{
	struct inode_where w;
	struct buf b;
	if (where_decode(value, &w) != ERR_OK)
		return;
	buf_init(&b, 1 << 20);
	where_encode(&b, &w);
	same(&b, value);
}

static void check_cover(struct slice key, struct slice value)
{
	struct cover c;
	struct buf b;
	if (cover_decode(key, value, &c) != ERR_OK)
		return;
	buf_init(&b, 64);
	cover_encode(&b, &c);
	same(&b, value);
}

static void check_work(struct slice value)
{
	struct work w;
	struct buf b;
	if (work_decode(value, &w) != ERR_OK)
		return;
	buf_init(&b, 1 << 20);
	work_encode(&b, &w);
	same(&b, value);
}

static void check_snapshot(struct slice value)
{
	struct arena arena;
	struct share_snapshot s;
	arena_init(&arena, 1 << 20);
	if (snapshot_decode(value, &arena, &s) == ERR_OK)
		CHECK(s.number != 0);
	arena_fini(&arena);
}

static void check_state(struct slice value)
{
	struct share_state s;
	struct buf b;
	if (share_state_decode(value, &s) != ERR_OK)
		return;
	buf_init(&b, 64);
	share_state_encode(&b, &s);
	same(&b, value);
}

static void check_small(struct slice value)
{
	uint32_t names;
	struct merge_row merge, again;
	struct slice text;
	struct buf b;
	if (names_decode(value, NAMES_IN_SHARE, &names) == ERR_OK) {
		CHECK(names >= 2);
		buf_init(&b, 16);
		names_encode(&b, NAMES_IN_SHARE, names);
		same(&b, value);
	}
	if (merge_decode(value, &merge) == ERR_OK) {
		buf_init(&b, 32);
		merge_encode(&b, &merge);
		CHECK(merge_decode(buf_slice(&b), &again) == ERR_OK && again.next == merge.next &&
		      again.etag == merge.etag && again.not_before_ticks == merge.not_before_ticks);
		buf_fini(&b);
	}
	if (permission_decode(value, &text) == ERR_OK) {
		buf_init(&b, 1 << 20);
		permission_encode(&b, text);
		same(&b, value);
	}
}

static void check_opens(struct slice key, struct slice value)
{
	struct arena arena;
	struct file_open o, again;
	struct open_oplock lease;
	struct open_state state;
	struct buf b;
	arena_init(&arena, 1 << 20);
	buf_init(&b, 1 << 20);
	enum err fits = file_open_row_check(key, value, &arena);
	CHECK(fits == ERR_OK || fits == ERR_CORRUPT);
	if (open_row_decode(value, &arena, &o) == ERR_OK) {
		open_row_encode(&b, &o);
		/* A flag may be written in more than one way; what it says may not change. */
		CHECK(open_row_decode(buf_slice(&b), &arena, &again) == ERR_OK);
		CHECK(again.inode_id == o.inode_id && again.open_id == o.open_id && again.access == o.access);
		CHECK(again.range_count == o.range_count && again.life == o.life);
		CHECK(slice_eq(again.opener.user, o.opener.user));
	}
	if (open_lease_decode(value, &lease) == ERR_OK)
		CHECK(lease.oplock.kind == OPLOCK_LEASE);
	buf_clear(&b);
	if (open_state_decode(value, &state) == ERR_OK) {
		open_state_encode(&b, &state);
		CHECK(slice_eq(buf_slice(&b), value));
	}
	buf_fini(&b);
	arena_fini(&arena);
}

static void check_others(struct slice key, struct slice value)
{
	struct share_settings settings;
	struct slice row_key;
	uint64_t number, stamp;
	struct key again;
	if (share_settings_decode(value, &settings) == ERR_OK)
		CHECK(settings.tier <= SHARE_TIER_PREMIUM);
	if (file_row_stamp(value, &stamp) == ERR_OK)
		CHECK(value.len >= 9);
	if (!history_key_split(key, &row_key, &number))
		return;
	history_key(&again, row_key, number);
	CHECK(!again.overflow && slice_eq(key_slice(&again), key));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 2)
		return 0;
	struct slice rest = slice_make(data + 2, size - 2);
	struct slice key = fuzz_copy(slice_first(rest, data[1])), value = fuzz_copy(slice_from(rest, data[1]));
	switch (data[0] % 10) {
	case 0:
		check_inode(value);
		break;
	case 1:
		check_run(key, value);
		break;
	case 2:
		check_where(value);
		break;
	case 3:
		check_cover(key, value);
		break;
	case 4:
		check_work(value);
		break;
	case 5:
		check_snapshot(value);
		break;
	case 7:
		check_state(value);
		break;
	case 8:
		check_small(value);
		break;
	case 9:
		check_opens(key, value);
		break;
	default:
		check_others(key, value);
	}
	fuzz_free(key);
	fuzz_free(value);
	return 0;
}
