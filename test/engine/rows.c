/* SPDX-License-Identifier: Apache-2.0
 * Rows: order, bounds, partitions, paging, snapshots, arenas. */
#include "suite.h"

static void get_put_delete(void **state)
{
	struct fixture *f = *state;
	struct engine *e = f->engine;
	expect_row(e, NULL, "p", SLICE("k"), SLICE_NONE);
	commit_put(e, "p", SLICE("k"), SLICE("one"));
	expect_row(e, NULL, "p", SLICE("k"), SLICE("one"));
	expect_row(e, NULL, "p", SLICE("k1"), SLICE_NONE);
	expect_row(e, NULL, "q", SLICE("k"), SLICE_NONE);
	commit_put(e, "p", SLICE("k"), SLICE("two, longer"));
	expect_row(e, NULL, "p", SLICE("k"), SLICE("two, longer"));
	commit_del(e, "p", SLICE("k"));
	expect_row(e, NULL, "p", SLICE("k"), SLICE_NONE);
	commit_del(e, "p", SLICE("k"));
	commit_put(e, "p", SLICE("k"), SLICE("three"));
	expect_row(e, NULL, "p", SLICE("k"), SLICE("three"));
}

static void sizes_at_the_bounds(void **state)
{
	struct fixture *f = *state;
	struct engine *e = f->engine;
	char *key = malloc(LIMIT_KEY_BYTES);
	char *value = pattern_new(7, LIMIT_VALUE_BYTES); /* values may hold any byte, NUL too */
	memset(key, 0xff, LIMIT_KEY_BYTES);
	commit_put(e, "p", slice_make(key, LIMIT_KEY_BYTES), slice_make(value, LIMIT_VALUE_BYTES));
	commit_put(e, "p", slice_make(key, LIMIT_KEY_BYTES - 1), slice_make(value, 1));
	commit_put(e, "p", SLICE("\x01"), slice_make(value, LIMIT_VALUE_BYTES - 1));
	f->kind->reopen(f);
	e = f->engine;
	expect_row(e, NULL, "p", slice_make(key, LIMIT_KEY_BYTES), slice_make(value, LIMIT_VALUE_BYTES));
	expect_row(e, NULL, "p", slice_make(key, LIMIT_KEY_BYTES - 1), slice_make(value, 1));
	expect_row(e, NULL, "p", SLICE("\x01"), slice_make(value, LIMIT_VALUE_BYTES - 1));
	free(key);
	free(value);
}

static void order_is_by_unsigned_bytes(void **state)
{
	struct fixture *f = *state;
	struct rows rows;
	struct scan_spec spec = { .keys_only = true };
	struct engine_group *g = group_open(f->engine);
	for (int c = 255; c >= 1; c--) { /* written backwards, one and two bytes long */
		char key[2] = { (char)c, (char)c };
		group_put(g, "p", slice_make(key, 2), SLICE("v"));
		group_put(g, "p", slice_make(key, 1), SLICE("v"));
	}
	group_done(g);
	assert_int_equal(f->engine->ops->scan(f->engine, NULL, SLICE("p"), &spec, &f->arena, &rows), ERR_OK);
	assert_int_equal(rows.count, 510);
	assert_false(rows.more);
	for (int i = 0; i < 510; i++) {
		struct slice key = rows.row[i].key;
		assert_int_equal(key.len, i % 2 + 1);
		assert_int_equal((unsigned char)key.ptr[0], i / 2 + 1);
	}
}

static void partitions_are_apart(void **state)
{
	struct fixture *f = *state;
	struct engine *e = f->engine;
	/* Ids that are prefixes of each other, and keys that would collide if the two were only joined. */
	commit_put(e, "p", SLICE("qk"), SLICE("1"));
	commit_put(e, "pq", SLICE("k"), SLICE("2"));
	commit_put(e, "p\x01", SLICE("k"), SLICE("3"));
	commit_put(e, "p\xff", SLICE("k"), SLICE("4"));
	commit_put(e, "o", SLICE("\xff\xff"), SLICE("5"));
	expect_text(f, NULL, NULL, "p", SLICE_NONE, SLICE_NONE, 0, "qk=1 ");
	expect_text(f, NULL, NULL, "pq", SLICE_NONE, SLICE_NONE, 0, "k=2 ");
	expect_text(f, NULL, NULL, "p\x01", SLICE(""), SLICE_NONE, 0, "k=3 ");
	expect_text(f, NULL, NULL, "p\xff", SLICE_NONE, SLICE_NONE, 0, "k=4 ");
	expect_text(f, NULL, NULL, "o", SLICE_NONE, SLICE_NONE, 0, "\xff\xff=5 ");
	expect_text(f, NULL, NULL, "none", SLICE_NONE, SLICE_NONE, 0, "");
	expect_row(f->engine, NULL, "p", SLICE("k"), SLICE_NONE);
	expect_row(f->engine, NULL, "pq", SLICE("qk"), SLICE_NONE);
}

static void fill_letters(struct engine *e, const char *letters)
{
	struct engine_group *g = group_open(e);
	for (const char *c = letters; *c; c++)
		group_put(g, "p", slice_make(c, 1), slice_make(c, 1));
	group_done(g);
}

static void scan_ranges(void **state)
{
	struct fixture *f = *state;
	fill_letters(f->engine, "abcdef");
	commit_put(f->engine, "o", SLICE("z"), SLICE("before"));
	commit_put(f->engine, "q", SLICE("a"), SLICE("after"));
	expect_text(f, NULL, NULL, "p", SLICE("b"), SLICE("e"), 0, "b=b c=c d=d ");
	expect_text(f, NULL, NULL, "p", SLICE("bb"), SLICE("ee"), 0, "c=c d=d e=e ");
	expect_text(f, NULL, NULL, "p", SLICE("e"), SLICE_NONE, 0, "e=e f=f ");
	expect_text(f, NULL, NULL, "p", SLICE_NONE, SLICE("b"), 0, "a=a ");
	expect_text(f, NULL, NULL, "p", SLICE("c"), SLICE("c"), 0, "");
	expect_text(f, NULL, NULL, "p", SLICE("d"), SLICE("b"), 0, "");
	expect_text(f, NULL, NULL, "p", SLICE("g"), SLICE_NONE, 0, "");
	expect_text(f, NULL, NULL, "p", SLICE("a"), SLICE("a\x01"), 0, "a=a ");
	for (size_t limit = 1; limit <= 7; limit++)
		expect_text(f, NULL, NULL, "p", SLICE_NONE, SLICE_NONE, limit, "a=a b=b c=c d=d e=e f=f ");
}

/* `more` is exact: true only if a row of the range follows. */
static void scan_more(void **state)
{
	struct fixture *f = *state;
	struct rows rows;
	fill_letters(f->engine, "abc");
	commit_put(f->engine, "q", SLICE("a"), SLICE("next partition"));
	struct {
		const char *until;
		size_t limit, count;
		bool more;
	} cases[] = { { NULL, 1, 1, true },  { NULL, 2, 2, true },    { NULL, 3, 3, false }, { NULL, 4, 3, false },
		      { "c", 2, 2, false },  { "c", 1, 1, true },     { "b", 1, 1, false },  { "a", 1, 0, false },
		      { NULL, 0, 3, false }, { "c\x01", 3, 3, false } };
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct scan_spec spec = { .until = slice_str(cases[i].until), .limit_rows = cases[i].limit };
		assert_int_equal(f->engine->ops->scan(f->engine, NULL, SLICE("p"), &spec, &f->arena, &rows), ERR_OK);
		assert_int_equal(rows.count, cases[i].count);
		assert_int_equal(rows.more, cases[i].more);
	}
}

static void scan_keys_only(void **state)
{
	struct fixture *f = *state;
	struct rows rows;
	struct scan_spec spec = { .keys_only = true, .limit_rows = 2 };
	fill_letters(f->engine, "abc");
	assert_int_equal(f->engine->ops->scan(f->engine, NULL, SLICE("p"), &spec, &f->arena, &rows), ERR_OK);
	assert_int_equal(rows.count, 2);
	assert_true(rows.more);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(rows.row[i].key.ptr[0], 'a' + (int)i);
		assert_false(slice_is_set(rows.row[i].value));
	}
}

static void scan_row_limit(void **state)
{
	struct fixture *f = *state;
	struct rows rows;
	char key[16];
	enum { COUNT = 2 * LIMIT_SCAN_ROWS + 1 };
	struct engine_group *g = group_open(f->engine);
	for (int i = 0; i < COUNT; i++)
		group_put(g, "p", slice_make(key, (size_t)snprintf(key, sizeof key, "%06d", i)), SLICE("v"));
	group_done(g);
	for (size_t limit = 0; limit <= COUNT; limit += COUNT) { /* 0, and more than is allowed */
		struct scan_spec spec = { .limit_rows = limit };
		assert_int_equal(f->engine->ops->scan(f->engine, NULL, SLICE("p"), &spec, &f->arena, &rows), ERR_OK);
		assert_int_equal(rows.count, LIMIT_SCAN_ROWS);
		assert_true(rows.more);
		assert_memory_equal(rows.row[LIMIT_SCAN_ROWS - 1].key.ptr, "001023", 6);
	}
}

static void scan_byte_limit(void **state)
{
	struct fixture *f = *state;
	static struct key next;
	char *value = pattern_new(1, LIMIT_VALUE_BYTES);
	int seen = 0, pages = 0;
	enum { COUNT = 70 };
	for (int i = 0; i < COUNT; i++) {
		char key = (char)(i + 1);
		commit_put(f->engine, "p", slice_make(&key, 1), slice_make(value, LIMIT_VALUE_BYTES));
	}
	struct scan_spec spec = { .from = SLICE_NONE };
	for (bool more = true; more; pages++) {
		struct rows rows;
		size_t bytes = 0;
		arena_reset(&f->arena);
		assert_int_equal(f->engine->ops->scan(f->engine, NULL, SLICE("p"), &spec, &f->arena, &rows), ERR_OK);
		assert_true(rows.count >= 1);
		for (size_t i = 0; i < rows.count; i++) {
			assert_int_equal(rows.row[i].key.ptr[0], ++seen);
			bytes += rows.row[i].value.len;
		}
		/* Gathered up to the limit: at most one row past it. */
		assert_true(bytes <= LIMIT_SCAN_BYTES + LIMIT_VALUE_BYTES);
		more = rows.more;
		key_after(&next, rows.row[rows.count - 1].key);
		spec.from = key_slice(&next);
	}
	assert_int_equal(seen, COUNT);
	assert_true(pages >= 2);
	free(value);
}

static void snapshots_stand_still(void **state)
{
	struct fixture *f = *state;
	struct engine *e = f->engine;
	if (e->ops->waits) {
		print_message("reason: a snapshot of this engine is of one call\n");
		skip();
	}
	struct engine_snapshot *empty = snapshot_open(e);
	fill_letters(e, "abc");
	struct engine_snapshot *abc = snapshot_open(e);
	commit_put(e, "p", SLICE("b"), SLICE("new"));
	commit_del(e, "p", SLICE("c"));
	commit_put(e, "p", SLICE("d"), SLICE("d"));
	struct engine_snapshot *abd = snapshot_open(e);
	assert_int_equal(e->ops->drop_partition(e, SLICE("p")), ERR_OK);
	fill_letters(e, "x");

	expect_text(f, empty, NULL, "p", SLICE_NONE, SLICE_NONE, 0, "");
	expect_text(f, abc, NULL, "p", SLICE_NONE, SLICE_NONE, 1, "a=a b=b c=c ");
	expect_text(f, abd, NULL, "p", SLICE_NONE, SLICE_NONE, 2, "a=a b=new d=d ");
	expect_text(f, NULL, NULL, "p", SLICE_NONE, SLICE_NONE, 0, "x=x ");
	expect_row(e, empty, "p", SLICE("a"), SLICE_NONE);
	expect_row(e, abc, "p", SLICE("b"), SLICE("b"));
	expect_row(e, abc, "p", SLICE("c"), SLICE("c"));
	expect_row(e, abc, "p", SLICE("d"), SLICE_NONE);
	expect_row(e, abd, "p", SLICE("b"), SLICE("new"));
	expect_row(e, abd, "p", SLICE("c"), SLICE_NONE);
	expect_row(e, NULL, "p", SLICE("b"), SLICE_NONE);
	e->ops->snapshot_drop(e, abc);
	expect_row(e, abd, "p", SLICE("d"), SLICE("d")); /* dropping one leaves the others */
	e->ops->snapshot_drop(e, empty);
	e->ops->snapshot_drop(e, abd);
	e->ops->snapshot_drop(e, NULL);
}

static void snapshots_survive_much_writing(void **state)
{
	struct fixture *f = *state;
	struct engine *e = f->engine;
	if (e->ops->waits) {
		print_message("reason: a snapshot of this engine is of one call\n");
		skip();
	}
	fill_letters(e, "abcdef");
	struct engine_snapshot *s = snapshot_open(e);
	for (int i = 0; i < 300; i++) {
		char c = (char)('a' + i % 6);
		if (i % 3 == 0)
			commit_del(e, "p", slice_make(&c, 1));
		else
			commit_put(e, "p", slice_make(&c, 1), SLICE("later"));
	}
	expect_text(f, s, NULL, "p", SLICE_NONE, SLICE_NONE, 0, "a=a b=b c=c d=d e=e f=f ");
	e->ops->snapshot_drop(e, s);
}

static void arena_limit(void **state)
{
	struct fixture *f = *state;
	struct engine *e = f->engine;
	struct arena small;
	char *value = pattern_new(1, 64 * 1024);
	struct slice got = SLICE_NONE;
	struct rows rows = { 0 };
	struct scan_spec spec = { .from = SLICE_NONE };
	struct engine_group *g;
	commit_put(e, "p", SLICE("k"), slice_make(value, 64 * 1024));
	arena_init(&small, 32 * 1024);
	assert_int_equal(e->ops->get(e, NULL, SLICE("p"), SLICE("k"), &small, &got), ERR_NO_MEMORY);
	assert_null(got.ptr);
	assert_int_equal(e->ops->scan(e, NULL, SLICE("p"), &spec, &small, &rows), ERR_NO_MEMORY);
	assert_null(rows.row);
	g = group_open(e);
	assert_int_equal(e->ops->group_get(g, SLICE("p"), SLICE("k"), &small, &got), ERR_NO_MEMORY);
	assert_int_equal(e->ops->group_scan(g, SLICE("p"), &spec, &small, &rows), ERR_NO_MEMORY);
	assert_null(got.ptr);
	assert_null(rows.row);
	e->ops->group_abort(g);
	expect_row(e, NULL, "p", SLICE("k"), slice_make(value, 64 * 1024));
	arena_fini(&small);
	free(value);
}

/* Engines may keep partitions of their own outside "t-". */
static void expect_partitions(struct fixture *f, const char *from, size_t limit, const char *want)
{
	char text[256];
	size_t count = 0, used = 0;
	struct slice *ids = NULL;
	text[0] = 0;
	arena_reset(&f->arena);
	assert_int_equal(f->engine->ops->list_partitions(f->engine, slice_str(from), limit, &f->arena, &ids, &count),
			 ERR_OK);
	assert_true(count <= limit);
	for (size_t i = 0; i < count; i++)
		if (slice_has_prefix(ids[i], SLICE("t-")))
			used += (size_t)snprintf(text + used, sizeof text - used, "%.*s ", SLICE_FMT(ids[i]));
	assert_string_equal(text, want);
}

static void partitions_are_listed(void **state)
{
	struct fixture *f = *state;
	struct engine *e = f->engine;
	if (!e->ops->list_partitions) {
		print_message("reason: this engine cannot list its partitions\n");
		skip();
	}
	expect_partitions(f, "t-", 10, "");
	const char *ids[] = { "t-c", "t-a", "t-ab", "t-b", "t-a\x01" };
	for (size_t i = 0; i < 5; i++) {
		commit_put(e, ids[i], SLICE("k1"), SLICE("v"));
		commit_put(e, ids[i], SLICE("k2"), SLICE("v"));
	}
	expect_partitions(f, "t-", 10, "t-a t-a\x01 t-ab t-b t-c ");
	expect_partitions(f, "t-ab", 10, "t-ab t-b t-c ");
	expect_partitions(f, "t-aba", 10, "t-b t-c ");
	expect_partitions(f, "t-a", 2, "t-a t-a\x01 ");
	expect_partitions(f, "t-d", 10, "");
	expect_partitions(f, "", 100, "t-a t-a\x01 t-ab t-b t-c ");
	commit_del(e, "t-b", SLICE("k1"));
	commit_del(e, "t-b", SLICE("k2"));
	expect_partitions(f, "t-", 10, "t-a t-a\x01 t-ab t-c ");
	assert_int_equal(e->ops->drop_partition(e, SLICE("t-a")), ERR_OK);
	expect_partitions(f, "t-", 10, "t-a\x01 t-ab t-c ");
	f->kind->reopen(f);
	expect_partitions(f, "t-", 10, "t-a\x01 t-ab t-c ");
}

static void drop_takes_one_partition(void **state)
{
	struct fixture *f = *state;
	struct engine *e = f->engine;
	const char *ids[] = { "t", "t\x01", "tt", "s\xff", "u" };
	char key[16];
	for (size_t i = 0; i < 5; i++) {
		struct engine_group *g = group_open(e);
		for (int k = 0; k < 300; k++)
			group_put(g, ids[i], slice_make(key, (size_t)snprintf(key, sizeof key, "%03d", k)), SLICE("v"));
		group_put(g, ids[i], SLICE("\xff\xff\xff"), SLICE("last"));
		group_put(g, ids[i], SLICE("\x01"), SLICE("first"));
		group_done(g);
	}
	assert_int_equal(e->ops->drop_partition(e, SLICE("t")), ERR_OK);
	assert_int_equal(e->ops->drop_partition(e, SLICE("absent")), ERR_OK);
	expect_text(f, NULL, NULL, "t", SLICE_NONE, SLICE_NONE, 0, "");
	commit_put(e, "t", SLICE("reborn"), SLICE("v"));
	f->kind->reopen(f);
	e = f->engine;
	expect_text(f, NULL, NULL, "t", SLICE_NONE, SLICE_NONE, 0, "reborn=v ");
	for (size_t i = 1; i < 5; i++) {
		struct rows rows;
		struct scan_spec spec = { .keys_only = true };
		arena_reset(&f->arena);
		assert_int_equal(e->ops->scan(e, NULL, slice_str(ids[i]), &spec, &f->arena, &rows), ERR_OK);
		assert_int_equal(rows.count, 302);
	}
}

const struct CMUnitTest rows_tests[] = {
	SUITE_TEST(get_put_delete),
	SUITE_TEST(sizes_at_the_bounds),
	SUITE_TEST(order_is_by_unsigned_bytes),
	SUITE_TEST(partitions_are_apart),
	SUITE_TEST(scan_ranges),
	SUITE_TEST(scan_more),
	SUITE_TEST(scan_keys_only),
	SUITE_TEST(scan_row_limit),
	SUITE_TEST(scan_byte_limit),
	SUITE_TEST(snapshots_stand_still),
	SUITE_TEST(snapshots_survive_much_writing),
	SUITE_TEST(arena_limit),
	SUITE_TEST(partitions_are_listed),
	SUITE_TEST(drop_takes_one_partition),
};
const size_t rows_test_count = sizeof rows_tests / sizeof rows_tests[0];
