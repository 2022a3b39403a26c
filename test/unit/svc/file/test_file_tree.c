/* SPDX-License-Identifier: Apache-2.0
 * Directories and files of a share: create, list, rename, delete, leases, quota, permissions, snapshots of a tree, and
 * the life of a share. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "bench.h"
#include "svc/file/rows.h"

static struct inode get(struct bench *b, const char *path, uint64_t snapshot, enum err wanted)
{
	struct file_get_call c = { .target = target_of(b, path, FILE_KIND_ANY) };
	c.target.has_snapshot = snapshot != 0;
	c.target.snapshot_ticks = snapshot;
	enum err e = look(b, file_apply_get, &c);
	if (e != wanted)
		fail_msg("%s: %s instead of %s", path, err_name(e), err_name(wanted));
	return c.inode;
}

static enum err rename_to(struct bench *b, const char *from, const char *to, bool replace)
{
	struct file_rename_call c = { .source = target_of(b, from, FILE_KIND_ANY),
				      .target = target_of(b, to, FILE_KIND_ANY),
				      .replace = replace };
	return run(b, file_apply_rename, &c);
}

static enum err remove_it(struct bench *b, const char *path, enum file_kind kind)
{
	struct file_delete_call c = { .target = target_of(b, path, kind) };
	return run(b, file_apply_delete, &c);
}

static uint64_t take_snapshot(struct bench *b)
{
	struct share_snapshot_call c = { .has_metadata = false };
	expect(b, share_apply_snapshot, &c, ERR_OK);
	return c.snapshot.ticks;
}

/* The names of a directory, joined by a blank. */
static const char *names(struct bench *b, const char *path, uint64_t snapshot, size_t page)
{
	static char text[4096];
	struct file_list_call c = { .target = target_of(b, path, FILE_KIND_DIRECTORY), .limit = page };
	c.target.has_snapshot = snapshot != 0;
	c.target.snapshot_ticks = snapshot;
	text[0] = 0;
	size_t at = 0;
	do {
		assert_int_equal(look(b, file_apply_list, &c), ERR_OK);
		for (size_t i = 0; i < c.count; i++)
			at += (size_t)snprintf(text + at, sizeof text - at, "%s%.*s", at ? " " : "",
					       SLICE_FMT(c.entry[i].name));
		c.from = c.next;
	} while (c.more);
	return text;
}

static void test_create(void **state)
{
	(void)state;
	struct bench b;
	bench_open(&b, 1, NULL);
	assert_int_equal(bench_create(&b, "dir/file", FILE_KIND_FILE, 0), ERR_PARENT_NOT_FOUND);
	assert_int_equal(bench_create(&b, "dir", FILE_KIND_DIRECTORY, 0), ERR_OK);
	assert_int_equal(bench_create(&b, "DIR", FILE_KIND_DIRECTORY, 0), ERR_RESOURCE_ALREADY_EXISTS);
	assert_int_equal(bench_create(&b, "Dir", FILE_KIND_FILE, 0), ERR_RESOURCE_TYPE_MISMATCH);
	assert_int_equal(bench_create(&b, "dir/File", FILE_KIND_FILE, 10), ERR_OK);
	assert_int_equal(bench_create(&b, "dir/file/x", FILE_KIND_FILE, 0), ERR_PARENT_NOT_FOUND);
	assert_int_equal(bench_create(&b, "dir/file", FILE_KIND_DIRECTORY, 0), ERR_RESOURCE_ALREADY_EXISTS);
	struct inode first = get(&b, "DIR/FILE", 0, ERR_OK);
	assert_true(slice_eq(first.name, SLICE("File")));
	assert_int_equal(first.size_bytes, 10);
	assert_int_equal(first.parent_id, get(&b, "dir", 0, ERR_OK).id);
	assert_int_equal(first.etag, first.created_ticks);
	/* Over it: the same file, the name as it was. */
	assert_int_equal(bench_create(&b, "dir/FILE", FILE_KIND_FILE, 20), ERR_OK);
	struct inode second = get(&b, "dir/file", 0, ERR_OK);
	assert_int_equal(second.id, first.id);
	assert_true(slice_eq(second.name, SLICE("File")));
	assert_true(second.etag > first.etag && second.created_ticks > first.created_ticks);
	assert_int_equal(second.size_bytes, 20);
	get(&b, "dir/none", 0, ERR_RESOURCE_NOT_FOUND);
	get(&b, "none/file", 0, ERR_PARENT_NOT_FOUND);
	struct inode root = get(&b, "", 0, ERR_OK);
	assert_int_equal(root.id, FILE_ROOT_ID);
	assert_int_equal(root.kind, FILE_KIND_DIRECTORY);
	bench_close(&b);
}

static void test_list(void **state)
{
	(void)state;
	struct bench b;
	bench_open(&b, 1, NULL);
	static const char *const made[] = { "ListX", "dirB", "dirA", "file2", "FILE1", "_x", "file10" };
	for (size_t i = 0; i < sizeof made / sizeof *made; i++)
		assert_int_equal(bench_create(&b, made[i], i % 2 ? FILE_KIND_DIRECTORY : FILE_KIND_FILE, 0), ERR_OK);
	assert_int_equal(bench_create(&b, "dirB/inside", FILE_KIND_FILE, 0), ERR_OK);
	for (size_t page = 1; page < 9; page++)
		assert_string_equal(names(&b, "", 0, page), "dirA dirB FILE1 file10 file2 ListX _x");
	assert_string_equal(names(&b, "dirb", 0, 10), "inside");
	struct file_list_call c = { .target = target_of(&b, "", FILE_KIND_DIRECTORY),
				    .prefix = SLICE("FiLe"),
				    .from = SLICE("file10"),
				    .after = true,
				    .limit = 10 };
	assert_int_equal(look(&b, file_apply_list, &c), ERR_OK);
	assert_int_equal(c.count, 1);
	assert_true(slice_eq(c.entry[0].name, SLICE("file2")));
	c.target = target_of(&b, "ListX", FILE_KIND_DIRECTORY);
	assert_int_equal(look(&b, file_apply_list, &c), ERR_RESOURCE_NOT_FOUND);
	bench_close(&b);
}

static void test_rename(void **state)
{
	(void)state;
	struct bench b;
	bench_open(&b, 1, NULL);
	assert_int_equal(bench_create(&b, "a", FILE_KIND_DIRECTORY, 0), ERR_OK);
	assert_int_equal(bench_create(&b, "a/b", FILE_KIND_DIRECTORY, 0), ERR_OK);
	assert_int_equal(bench_create(&b, "a/b/f", FILE_KIND_FILE, 3), ERR_OK);
	assert_int_equal(bench_write(&b, "a/b/f", 0, "abc", 3), ERR_OK);
	struct inode f = get(&b, "a/b/f", 0, ERR_OK), dir = get(&b, "a/b", 0, ERR_OK);
	assert_int_equal(rename_to(&b, "a/b", "c", false), ERR_OK);
	assert_int_equal(get(&b, "c/f", 0, ERR_OK).id, f.id);
	assert_int_equal(get(&b, "c/f", 0, ERR_OK).etag, f.etag);
	assert_int_equal(get(&b, "c", 0, ERR_OK).id, dir.id);
	assert_true(get(&b, "c", 0, ERR_OK).etag > dir.etag);
	assert_int_equal(get(&b, "c", 0, ERR_OK).parent_id, FILE_ROOT_ID);
	get(&b, "a/b", 0, ERR_RESOURCE_NOT_FOUND);
	get(&b, "a/b/f", 0, ERR_PARENT_NOT_FOUND);
	/* Into itself, over directories and files. */
	assert_int_equal(bench_create(&b, "c/d", FILE_KIND_DIRECTORY, 0), ERR_OK);
	assert_int_equal(rename_to(&b, "c", "c/d/e", false), ERR_INVALID_INPUT);
	assert_int_equal(rename_to(&b, "c", "c/e", false), ERR_INVALID_INPUT);
	assert_int_equal(rename_to(&b, "none", "x", false), ERR_RESOURCE_NOT_FOUND);
	assert_int_equal(rename_to(&b, "none/none", "x", false), ERR_RESOURCE_NOT_FOUND);
	assert_int_equal(rename_to(&b, "c", "none/x", false), ERR_PARENT_NOT_FOUND);
	assert_int_equal(rename_to(&b, "c", "a", true), ERR_RESOURCE_ALREADY_EXISTS);
	assert_int_equal(rename_to(&b, "c/f", "a", true), ERR_RESOURCE_TYPE_MISMATCH);
	assert_int_equal(bench_create(&b, "g", FILE_KIND_FILE, 100), ERR_OK);
	assert_int_equal(rename_to(&b, "a", "g", false), ERR_RESOURCE_ALREADY_EXISTS);
	assert_int_equal(rename_to(&b, "a", "g", true), ERR_OK); /* a directory may replace a file */
	assert_int_equal(get(&b, "g", 0, ERR_OK).kind, FILE_KIND_DIRECTORY);
	/* Only the case. */
	assert_int_equal(rename_to(&b, "c/f", "C/F", false), ERR_OK);
	assert_string_equal(names(&b, "c", 0, 10), "d F");
	assert_int_equal(get(&b, "c/f", 0, ERR_OK).id, f.id);
	struct share_stats_call stats;
	assert_int_equal(look(&b, share_apply_stats, &stats), ERR_OK);
	assert_int_equal(stats.used_bytes, 3);
	bench_close(&b);
}

static void test_delete(void **state)
{
	(void)state;
	struct bench b;
	bench_open(&b, 1, NULL);
	assert_int_equal(bench_create(&b, "a", FILE_KIND_DIRECTORY, 0), ERR_OK);
	assert_int_equal(bench_create(&b, "a/f", FILE_KIND_FILE, 5), ERR_OK);
	assert_int_equal(remove_it(&b, "a", FILE_KIND_DIRECTORY), ERR_DIRECTORY_NOT_EMPTY);
	assert_int_equal(remove_it(&b, "a", FILE_KIND_FILE), ERR_RESOURCE_TYPE_MISMATCH);
	assert_int_equal(remove_it(&b, "", FILE_KIND_DIRECTORY), ERR_INVALID_QUERY_PARAMETER_VALUE);
	assert_int_equal(remove_it(&b, "a/f", FILE_KIND_FILE), ERR_OK);
	assert_int_equal(remove_it(&b, "a/f", FILE_KIND_FILE), ERR_RESOURCE_NOT_FOUND);
	assert_int_equal(remove_it(&b, "a", FILE_KIND_DIRECTORY), ERR_OK);
	assert_int_equal(rows_of(&b, 'n'), 1);
	assert_int_equal(rows_of(&b, 'i'), 0);
	bench_close(&b);
}

static void test_read_only(void **state)
{
	(void)state;
	struct bench b;
	bench_open(&b, 1, NULL);
	assert_int_equal(bench_create(&b, "f", FILE_KIND_FILE, 5), ERR_OK);
	assert_int_equal(bench_create(&b, "g", FILE_KIND_FILE, 5), ERR_OK);
	struct file_modify_call c = { .target = target_of(&b, "f", FILE_KIND_FILE),
				      .settings = { .set_attributes = true, .attributes = FILE_ATTR_READONLY } };
	expect(&b, file_apply_set_properties, &c, ERR_OK);
	assert_int_equal(bench_write(&b, "f", 0, "x", 1), ERR_READ_ONLY_ATTRIBUTE);
	assert_int_equal(bench_create(&b, "f", FILE_KIND_FILE, 5), ERR_READ_ONLY_ATTRIBUTE);
	assert_int_equal(remove_it(&b, "f", FILE_KIND_FILE), ERR_READ_ONLY_ATTRIBUTE);
	assert_int_equal(rename_to(&b, "g", "f", true), ERR_READ_ONLY_ATTRIBUTE);
	assert_int_equal(rename_to(&b, "g", "f", false), ERR_RESOURCE_ALREADY_EXISTS);
	c.settings.attributes = 0;
	expect(&b, file_apply_set_properties, &c, ERR_OK);
	assert_int_equal(bench_write(&b, "f", 0, "x", 1), ERR_OK);
	bench_close(&b);
}

static void test_quota(void **state)
{
	(void)state;
	struct bench b;
	struct share_stats_call stats;
	bench_open(&b, 1, NULL);
	struct share_call quota = { .set_quota = true, .change = { .quota_gib = 1 } };
	expect(&b, share_apply_set_quota, &quota, ERR_OK);
	assert_int_equal(bench_create(&b, "f", FILE_KIND_FILE, GIB - 10), ERR_OK);
	assert_int_equal(bench_create(&b, "g", FILE_KIND_FILE, 11), ERR_SHARE_SIZE_LIMIT_REACHED);
	assert_int_equal(bench_create(&b, "g", FILE_KIND_FILE, 10), ERR_OK);
	assert_int_equal(bench_create(&b, "h", FILE_KIND_FILE, 0), ERR_OK); /* empty ones may still be made */
	struct file_modify_call grow = { .target = target_of(&b, "h", FILE_KIND_FILE),
					 .resize = true,
					 .size_bytes = 1 };
	expect(&b, file_apply_set_properties, &grow, ERR_SHARE_SIZE_LIMIT_REACHED);
	assert_int_equal(bench_create(&b, "f", FILE_KIND_FILE, 5), ERR_OK);
	expect(&b, file_apply_set_properties, &grow, ERR_OK);
	assert_int_equal(look(&b, share_apply_stats, &stats), ERR_OK);
	assert_int_equal(stats.used_bytes, 16);
	assert_int_equal(bench_create(&b, "big", FILE_KIND_FILE, FILE_SIZE_MAX_BYTES + 1), ERR_OUT_OF_RANGE_INPUT);
	bench_close(&b);
}

static void test_lease(void **state)
{
	(void)state;
	struct bench b;
	bench_open(&b, 1, NULL);
	assert_int_equal(bench_create(&b, "f", FILE_KIND_FILE, 5), ERR_OK);
	struct file_modify_call c = { .target = target_of(&b, "f", FILE_KIND_FILE) };
	c.lease = (struct lease_request){ .action = LEASE_ACTION_ACQUIRE,
					  .duration_s = LEASE_INFINITE,
					  .minted = rng_uuid(&b.rng) };
	struct inode before = get(&b, "f", 0, ERR_OK);
	expect(&b, file_apply_lease, &c, ERR_OK);
	struct uuid id = c.lease.result_id;
	assert_int_equal(get(&b, "f", 0, ERR_OK).etag, before.etag);
	expect(&b, file_apply_lease, &c, ERR_LEASE_ALREADY_PRESENT);
	assert_int_equal(bench_write(&b, "f", 0, "x", 1), ERR_FILE_LEASE_ID_MISSING);
	assert_int_equal(remove_it(&b, "f", FILE_KIND_FILE), ERR_FILE_LEASE_ID_MISSING);
	assert_int_equal(rename_to(&b, "f", "g", false), ERR_FILE_LEASE_ID_MISSING);
	struct file_create_call over = { .target = target_of(&b, "f", FILE_KIND_FILE), .size_bytes = 9 };
	over.target.has_lease_id = true;
	over.target.lease_id = id;
	expect(&b, file_apply_create, &over, ERR_OK); /* the lease stays */
	assert_int_equal(bench_write(&b, "f", 0, "x", 1), ERR_FILE_LEASE_ID_MISSING);
	struct file_rename_call r = { .source = target_of(&b, "f", FILE_KIND_FILE),
				      .target = target_of(&b, "g", FILE_KIND_FILE) };
	r.source.has_lease_id = true;
	r.source.lease_id = id;
	expect(&b, file_apply_rename, &r, ERR_OK);
	assert_int_equal(bench_write(&b, "g", 0, "x", 1), ERR_FILE_LEASE_ID_MISSING); /* moved along */
	c.target = target_of(&b, "g", FILE_KIND_FILE);
	c.lease = (struct lease_request){ .action = LEASE_ACTION_BREAK, .break_period_s = 0 };
	expect(&b, file_apply_lease, &c, ERR_OK);
	assert_int_equal(bench_write(&b, "g", 0, "x", 1), ERR_OK);
	over.target = target_of(&b, "new", FILE_KIND_FILE);
	over.target.has_lease_id = true;
	over.target.lease_id = id;
	expect(&b, file_apply_create, &over, ERR_FILE_LEASE_NOT_PRESENT);
	bench_close(&b);
}

static struct slice inherit(struct arena *arena, struct slice parent, bool directory)
{
	return arena_printf(arena, "%s(%.*s)", directory ? "d" : "f", SLICE_FMT(parent));
}

static void test_permissions(void **state)
{
	(void)state;
	struct bench b;
	bench_open(&b, 1, NULL);
	struct file_permission_call p = { .text = SLICE("O:SYG:SYD:(A;;FA;;;SY)") };
	expect(&b, file_apply_create_permission, &p, ERR_OK);
	uint64_t key = p.key;
	expect(&b, file_apply_create_permission, &p, ERR_OK);
	assert_int_equal(p.key, key);
	p.key++;
	assert_int_equal(look(&b, file_apply_get_permission, &p), ERR_FILE_INVALID_PERMISSION_KEY);
	p.key = key;
	assert_int_equal(look(&b, file_apply_get_permission, &p), ERR_OK);
	assert_true(slice_eq(p.text, SLICE("O:SYG:SYD:(A;;FA;;;SY)")));
	struct file_create_call d = { .target = target_of(&b, "d", FILE_KIND_DIRECTORY),
				      .settings.permission = { .how = FILE_PERMISSION_KEY, .key = key } };
	expect(&b, file_apply_create, &d, ERR_OK);
	assert_int_equal(d.inode.permission, key);
	struct file_create_call f = { .target = target_of(&b, "d/f", FILE_KIND_FILE),
				      .settings.permission = { .how = FILE_PERMISSION_INHERIT, .inherit = inherit } };
	expect(&b, file_apply_create, &f, ERR_OK);
	p.key = f.inode.permission;
	assert_int_equal(look(&b, file_apply_get_permission, &p), ERR_OK);
	assert_true(slice_eq(p.text, SLICE("f(O:SYG:SYD:(A;;FA;;;SY))")));
	f.settings.permission = (struct file_permission){ .how = FILE_PERMISSION_KEY, .key = key + 1 };
	expect(&b, file_apply_create, &f, ERR_FILE_INVALID_PERMISSION_KEY);
	bench_close(&b);
}

/* A tree as it was, whatever became of it: renamed, replaced, deleted, created again. */
static void test_snapshots_of_a_tree(void **state)
{
	(void)state;
	struct bench b;
	bench_open(&b, 1, NULL);
	assert_int_equal(bench_create(&b, "a", FILE_KIND_DIRECTORY, 0), ERR_OK);
	assert_int_equal(bench_create(&b, "a/x", FILE_KIND_FILE, 1), ERR_OK);
	assert_int_equal(bench_create(&b, "a/y", FILE_KIND_FILE, 2), ERR_OK);
	struct inode x = get(&b, "a/x", 0, ERR_OK);
	uint64_t one = take_snapshot(&b);
	assert_int_equal(rename_to(&b, "a", "b", false), ERR_OK);
	assert_int_equal(rename_to(&b, "b/x", "b/z", false), ERR_OK);
	assert_int_equal(remove_it(&b, "b/y", FILE_KIND_FILE), ERR_OK);
	uint64_t two = take_snapshot(&b);
	assert_true(two > one && two % TICKS_PER_SECOND == 0);
	assert_int_equal(bench_create(&b, "b/y", FILE_KIND_FILE, 7), ERR_OK);
	assert_int_equal(rename_to(&b, "b/z", "b/x", false), ERR_OK);
	assert_string_equal(names(&b, "", one, 1), "a");
	assert_string_equal(names(&b, "a", one, 1), "x y");
	assert_string_equal(names(&b, "", two, 10), "b");
	assert_string_equal(names(&b, "b", two, 10), "z");
	assert_string_equal(names(&b, "b", 0, 10), "x y");
	assert_int_equal(get(&b, "a/x", one, ERR_OK).etag, x.etag);
	assert_int_equal(get(&b, "a/x", one, ERR_OK).id, get(&b, "b/x", 0, ERR_OK).id);
	assert_int_equal(get(&b, "a/y", one, ERR_OK).size_bytes, 2);
	get(&b, "b/y", two, ERR_RESOURCE_NOT_FOUND);
	get(&b, "b/x", two, ERR_RESOURCE_NOT_FOUND);
	get(&b, "b/z", two, ERR_OK);
	get(&b, "b/z", two + 1, ERR_SHARE_NOT_FOUND);
	/* Dropping one keeps what the other needs. */
	struct share_snapshot_call c = { .ticks = one };
	expect(&b, share_apply_delete_snapshot, &c, ERR_OK);
	bench_settle(&b);
	assert_string_equal(names(&b, "b", two, 10), "z");
	get(&b, "a/x", one, ERR_SHARE_NOT_FOUND);
	expect(&b, share_apply_delete_snapshot, &c, ERR_SHARE_SNAPSHOT_NOT_FOUND);
	c.ticks = two;
	expect(&b, share_apply_delete_snapshot, &c, ERR_OK);
	bench_settle(&b);
	assert_int_equal(rows_of(&b, 'h'), 0);
	assert_string_equal(names(&b, "b", 0, 10), "x y");
	bench_close(&b);
}

static void test_share_life(void **state)
{
	(void)state;
	struct bench b;
	bench_open(&b, 1, NULL);
	char bytes[64];
	struct key k;
	key_partition_account(&k, SLICE("acc"));
	memcpy(bytes, k.bytes, k.len);
	struct slice account = slice_make(bytes, k.len), inside = b.partition;
	struct share_create create;
	share_create_init(&create, SLICE("share"), 7);
	create.settings.quota_gib = 3;
#define ACCOUNT(call, apply, wanted) (b.partition = account, expect(&b, apply, call, wanted), b.partition = inside)
	ACCOUNT(&create, share_create_reserve, ERR_OK);
	expect(&b, share_create_open, &create, ERR_OK);
	ACCOUNT(&create, share_create_publish, ERR_OK);
	struct share_call c = { .name = SLICE("share") };
	ACCOUNT(&c, share_apply_get, ERR_OK);
	assert_int_equal(c.settings.quota_gib, 3);
	assert_int_equal(c.settings.tier_changed_ticks, c.resource.created_ticks);
	/* A lease keeps others from changing and deleting it. */
	c.lease = (struct lease_request){ .action = LEASE_ACTION_ACQUIRE,
					  .duration_s = LEASE_INFINITE,
					  .minted = rng_uuid(&b.rng) };
	ACCOUNT(&c, share_apply_lease, ERR_OK);
	struct uuid id = c.lease.result_id;
	c.set_quota = true;
	c.change.quota_gib = 5;
	ACCOUNT(&c, share_apply_set_properties, ERR_SHARE_LEASE_ID_MISSING);
	ACCOUNT(&c, share_apply_set_metadata, ERR_SHARE_LEASE_ID_MISSING);
	c.has_lease_id = true;
	c.lease_id = id;
	ACCOUNT(&c, share_apply_set_properties, ERR_OK);
	expect(&b, share_apply_set_quota, &c, ERR_OK);
	struct share_delete d;
	share_delete_init(&d, SLICE("share"), 7);
	d.found_lease = c.resource.lease;
	expect(&b, share_delete_begin, &d, ERR_SHARE_LEASE_ID_MISSING);
	d.has_lease_id = true;
	d.lease_id = id;
	/* Snapshots. */
	struct share_snapshot_call s = { .base = c.resource };
	expect(&b, share_apply_snapshot, &s, ERR_OK);
	assert_int_equal(s.snapshot.etag, c.resource.etag);
	assert_int_equal(s.snapshot.quota_gib, 5);
	expect(&b, share_delete_begin, &d, ERR_SHARE_HAS_SNAPSHOTS);
	s.ticks = s.snapshot.ticks;
	s.lease =
		(struct lease_request){ .action = LEASE_ACTION_ACQUIRE, .duration_s = 15, .minted = rng_uuid(&b.rng) };
	expect(&b, share_apply_lease_snapshot, &s, ERR_OK);
	d.snapshots = SHARE_DELETE_SNAPSHOTS_INCLUDE;
	expect(&b, share_delete_begin, &d, ERR_DELETE_SHARE_WHEN_SNAPSHOT_LEASED);
	expect(&b, share_apply_delete_snapshot, &s, ERR_SHARE_LEASE_ID_MISSING);
	d.snapshots = SHARE_DELETE_SNAPSHOTS_LEASED;
	expect(&b, share_delete_begin, &d, ERR_OK);
	expect(&b, share_apply_snapshot, &s, ERR_SHARE_BEING_DELETED); /* none comes in between */
	ACCOUNT(&d, share_delete_remove, ERR_OK);
	expect(&b, share_delete_end, &d, ERR_OK);
	ACCOUNT(&c, share_apply_get, ERR_SHARE_NOT_FOUND);
	assert_int_equal(bench_create(&b, "f", FILE_KIND_FILE, 0), ERR_SHARE_NOT_FOUND);
	bench_close(&b);
}

/* A dropped generation gives back every extent, whatever its rows were. */
static void test_empty(void **state)
{
	(void)state;
	struct bench b;
	struct mem_counts counts;
	bool more = true;
	static char bytes[64 * 1024];
	bench_open(&b, 1, NULL);
	for (int i = 0; i < 20; i++) {
		char name[8];
		snprintf(name, sizeof name, "f%d", i);
		assert_int_equal(bench_create(&b, name, FILE_KIND_FILE, 1 << 20), ERR_OK);
		assert_int_equal(bench_write(&b, name, 1000, bytes, sizeof bytes), ERR_OK);
		if (i == 10)
			take_snapshot(&b);
		if (i > 10)
			assert_int_equal(bench_write(&b, "f3", (uint64_t)i * 5000, bytes, 40000), ERR_OK);
	}
	while (more)
		assert_int_equal(file_empty(b.store, b.partition, &more), ERR_OK);
	more = true;
	while (more)
		assert_int_equal(b.engine->ops->reclaim(b.engine, &more), ERR_OK);
	engine_mem_counts(b.engine, &counts);
	assert_int_equal(counts.extents, 0);
	bench_close(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_create),
		cmocka_unit_test(test_list),
		cmocka_unit_test(test_rename),
		cmocka_unit_test(test_delete),
		cmocka_unit_test(test_read_only),
		cmocka_unit_test(test_quota),
		cmocka_unit_test(test_lease),
		cmocka_unit_test(test_permissions),
		cmocka_unit_test(test_snapshots_of_a_tree),
		cmocka_unit_test(test_share_life),
		cmocka_unit_test(test_empty),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
