/* SPDX-License-Identifier: Apache-2.0
 * Groups: the overlay, its merge into scans, atomicity, order of writes, the largest write set. */
#include "suite.h"

static void overlay_is_seen_inside_only(void **state)
{
	struct fixture *f = *state;
	struct engine *e = f->engine;
	commit_put(e, "p", SLICE("b"), SLICE("old"));
	struct engine_group *g = group_open(e);
	expect_group_row(g, "p", SLICE("a"), SLICE_NONE);
	expect_group_row(g, "p", SLICE("b"), SLICE("old"));
	group_put(g, "p", SLICE("a"), SLICE("1"));
	group_put(g, "p", SLICE("b"), SLICE("new"));
	bool spans = !e->ops->may_be_unknown; /* a group may hold several partitions */
	if (spans)
		group_put(g, "q", SLICE("a"), SLICE("other"));
	expect_group_row(g, "p", SLICE("a"), SLICE("1"));
	expect_group_row(g, "p", SLICE("b"), SLICE("new"));
	if (spans)
		expect_group_row(g, "q", SLICE("a"), SLICE("other"));
	expect_row(e, NULL, "p", SLICE("a"), SLICE_NONE);
	expect_row(e, NULL, "p", SLICE("b"), SLICE("old"));
	struct engine_snapshot *before = snapshot_open(e);
	group_del(g, "p", SLICE("b"));
	expect_group_row(g, "p", SLICE("b"), SLICE_NONE);
	group_put(g, "p", SLICE("a"), SLICE("2"));
	group_done(g);
	expect_row(e, NULL, "p", SLICE("a"), SLICE("2"));
	expect_row(e, NULL, "p", SLICE("b"), SLICE_NONE);
	if (spans)
		expect_row(e, NULL, "q", SLICE("a"), SLICE("other"));
	expect_row(e, before, "p", SLICE("a"), SLICE_NONE);
	expect_row(e, before, "p", SLICE("b"), SLICE("old"));
	e->ops->snapshot_drop(e, before);
}

static void overlay_is_merged_into_scans(void **state)
{
	struct fixture *f = *state;
	struct engine *e = f->engine;
	struct engine_group *g = group_open(e);
	for (char c = 'b'; c <= 'h'; c += 2)
		group_put(g, "p", slice_make(&c, 1), SLICE("old"));
	group_done(g); /* b d f h */
	commit_put(e, "o", SLICE("z"), SLICE("no"));
	commit_put(e, "q", SLICE("a"), SLICE("no"));
	g = group_open(e);
	group_put(g, "p", SLICE("a"), SLICE("new"));
	group_del(g, "p", SLICE("b"));
	group_put(g, "p", SLICE("d"), SLICE("new"));
	group_put(g, "p", SLICE("e"), SLICE("new"));
	group_del(g, "p", SLICE("e"));
	group_del(g, "p", SLICE("f"));
	group_put(g, "p", SLICE("f"), SLICE("again"));
	group_del(g, "p", SLICE("nothing"));
	group_put(g, "p", SLICE("z"), SLICE("new"));
	if (!e->ops->may_be_unknown)
		group_put(g, "q", SLICE("0"), SLICE("no"));
	const char *all = "a=new d=new f=again h=old z=new ";
	for (size_t limit = 0; limit <= 6; limit++)
		expect_text(f, NULL, g, "p", SLICE_NONE, SLICE_NONE, limit, all);
	expect_text(f, NULL, g, "p", SLICE("b"), SLICE("h"), 1, "d=new f=again ");
	expect_text(f, NULL, g, "p", SLICE("b"), SLICE("c"), 0, "");
	expect_text(f, NULL, g, "p", SLICE("i"), SLICE_NONE, 0, "z=new ");
	expect_text(f, NULL, NULL, "p", SLICE_NONE, SLICE_NONE, 0, "b=old d=old f=old h=old ");
	group_done(g);
	expect_text(f, NULL, NULL, "p", SLICE_NONE, SLICE_NONE, 3, all);
}

/* Where groups overlap: the second is begun while the first is on its way, and sees it before and after. Four times, so
 * that each of the engine's groups is once below and once above. */
static void a_group_sees_the_one_on_its_way(void **state)
{
	struct fixture *f = *state;
	struct engine *e = f->engine;
	if (!e->ops->groups_overlap)
		return; /* there is only one at a time */
	for (int round = 0; round < 4; round++) {
		struct engine_group *first = group_open(e);
		for (char c = 'a'; c <= 'f'; c++)
			group_put(first, "p", slice_make(&c, 1), SLICE("base"));
		group_done(first);
		if (round & 1)
			group_done(group_open(e));
		first = group_open(e);
		group_put(first, "p", SLICE("b"), SLICE("1"));
		group_put(first, "p", SLICE("c"), SLICE("1"));
		group_put(first, "p", SLICE("dd"), SLICE("1"));
		group_del(first, "p", SLICE("e"));
		struct engine_group *second = group_open(e);
		expect_text(f, NULL, second, "p", SLICE_NONE, SLICE_NONE, 0, "a=base b=1 c=1 d=base dd=1 f=base ");
		group_put(second, "p", SLICE("c"), SLICE("2"));
		group_del(second, "p", SLICE("dd"));
		group_put(second, "p", SLICE("e"), SLICE("2"));
		for (int committed = 0; committed < 2; committed++) {
			for (size_t limit = 0; limit <= 7; limit++)
				expect_text(f, NULL, second, "p", SLICE_NONE, SLICE_NONE, limit,
					    "a=base b=1 c=2 d=base e=2 f=base ");
			expect_group_row(second, "p", SLICE("b"), SLICE("1"));
			expect_group_row(second, "p", SLICE("c"), SLICE("2"));
			expect_group_row(second, "p", SLICE("dd"), SLICE_NONE);
			expect_group_row(second, "p", SLICE("e"), SLICE("2"));
			if (!committed)
				group_done(first);
			expect_text(f, NULL, NULL, "p", SLICE_NONE, SLICE_NONE, 0,
				    "a=base b=1 c=1 d=base dd=1 f=base ");
		}
		e->ops->group_abort(second);
		expect_text(f, NULL, NULL, "p", SLICE_NONE, SLICE_NONE, 0, "a=base b=1 c=1 d=base dd=1 f=base ");
		struct engine_group *last = group_open(e);
		group_del(last, "p", SLICE("dd"));
		group_done(last);
	}
}

/* An engine may keep an iterator for the short scans of a group. Scans whose ends come nearer and go farther, before
 * and after the group below is committed; and a group sees what was committed after those before it were begun. */
static void short_scans_of_one_group(void **state)
{
	struct fixture *f = *state;
	struct engine *e = f->engine;
	if (!e->ops->groups_overlap)
		return;
	for (int round = 0; round < 4; round++) {
		struct engine_group *first = group_open(e);
		for (char c = '1'; c <= '6'; c++)
			group_put(first, "p", slice_make((char[]){ 'r', c }, 2), SLICE("base"));
		expect_text(f, NULL, first, "p", SLICE("r"), SLICE("r2"), 1, "r1=base ");
		group_done(first);
		if (round & 1)
			group_done(group_open(e));
		first = group_open(e);
		expect_text(f, NULL, first, "p", SLICE("r2"), SLICE("r4"), 1, "r2=base r3=base ");
		group_put(first, "p", SLICE("r2"), SLICE("1"));
		group_del(first, "p", SLICE("r4"));
		struct engine_group *second = group_open(e);
		for (int committed = 0; committed < 2; committed++) {
			expect_text(f, NULL, second, "p", SLICE("r1"), SLICE("r3"), 1, "r1=base r2=1 ");
			group_put(second, "p", SLICE("r5"), SLICE("2"));
			for (size_t limit = 1; limit <= 6; limit++) {
				expect_text(f, NULL, second, "p", SLICE("r1"), SLICE("s"), limit,
					    "r1=base r2=1 r3=base r5=2 r6=base ");
				expect_text(f, NULL, second, "p", SLICE("r4"), SLICE("r5"), limit, "");
				expect_text(f, NULL, second, "p", SLICE("r3"), SLICE("r6"), limit, "r3=base r5=2 ");
				expect_text(f, NULL, second, "q", SLICE("r1"), SLICE("s"), limit, "");
			}
			if (!committed)
				group_done(first);
		}
		group_done(second);
		first = group_open(e);
		expect_text(f, NULL, first, "p", SLICE("r1"), SLICE("s"), 2, "r1=base r2=1 r3=base r5=2 r6=base ");
		e->ops->group_abort(first);
	}
}

/* `more` is exact over the merge too: rows the overlay deleted do not count. */
static void more_over_the_overlay(void **state)
{
	struct fixture *f = *state;
	struct engine *e = f->engine;
	struct rows rows;
	struct scan_spec spec = { .limit_rows = 1 };
	commit_put(e, "p", SLICE("a"), SLICE("v"));
	commit_put(e, "p", SLICE("b"), SLICE("v"));
	struct engine_group *g = group_open(e);
	group_del(g, "p", SLICE("b"));
	assert_int_equal(e->ops->group_scan(g, SLICE("p"), &spec, &f->arena, &rows), ERR_OK);
	assert_int_equal(rows.count, 1);
	assert_false(rows.more);
	group_put(g, "p", SLICE("c"), SLICE("v"));
	assert_int_equal(e->ops->group_scan(g, SLICE("p"), &spec, &f->arena, &rows), ERR_OK);
	assert_true(rows.more);
	spec.keys_only = true;
	spec.limit_rows = 2;
	assert_int_equal(e->ops->group_scan(g, SLICE("p"), &spec, &f->arena, &rows), ERR_OK);
	assert_int_equal(rows.count, 2);
	assert_false(rows.more);
	assert_false(slice_is_set(rows.row[1].value));
	e->ops->group_abort(g);
}

static void abort_leaves_nothing(void **state)
{
	struct fixture *f = *state;
	struct engine *e = f->engine;
	commit_put(e, "p", SLICE("k"), SLICE("old"));
	struct engine_group *g = group_open(e);
	group_put(g, "p", SLICE("k"), SLICE("new"));
	group_put(g, "p", SLICE("l"), SLICE("new"));
	e->ops->group_abort(g);
	e->ops->group_abort(NULL);
	expect_text(f, NULL, NULL, "p", SLICE_NONE, SLICE_NONE, 0, "k=old ");
	g = group_open(e); /* nothing leaks into the next group */
	expect_group_row(g, "p", SLICE("k"), SLICE("old"));
	expect_group_row(g, "p", SLICE("l"), SLICE_NONE);
	group_done(g); /* an empty group, or one that only read, is done */
	expect_text(f, NULL, NULL, "p", SLICE_NONE, SLICE_NONE, 0, "k=old ");
}

static void a_write_set_is_in_order(void **state)
{
	struct fixture *f = *state;
	struct engine *e = f->engine;
	struct write w[] = {
		{ .kind = WRITE_PUT, .key = SLICE("a"), .value = SLICE("1") },
		{ .kind = WRITE_DEL, .key = SLICE("a") },
		{ .kind = WRITE_DEL, .key = SLICE("b") },
		{ .kind = WRITE_PUT, .key = SLICE("b"), .value = SLICE("2") },
		{ .kind = WRITE_PUT, .key = SLICE("c"), .value = SLICE("3") },
		{ .kind = WRITE_PUT, .key = SLICE("c"), .value = SLICE("4") },
	};
	commit_put(e, "p", SLICE("b"), SLICE("old"));
	struct engine_group *g = group_open(e);
	assert_int_equal(e->ops->group_accept(g, SLICE("p"), w, 6), ERR_OK);
	expect_text(f, NULL, g, "p", SLICE_NONE, SLICE_NONE, 0, "b=2 c=4 ");
	group_done(g);
	expect_text(f, NULL, NULL, "p", SLICE_NONE, SLICE_NONE, 0, "b=2 c=4 ");
}

/* accept copies: what the caller does with its memory afterwards does not matter. */
static void accept_copies(void **state)
{
	struct fixture *f = *state;
	char key[] = "key", value[] = "value";
	struct engine_group *g = group_open(f->engine);
	group_put(g, "p", slice_make(key, 3), slice_make(value, 5));
	memset(key, 'x', 3);
	memset(value, 'x', 5);
	expect_group_row(g, "p", SLICE("key"), SLICE("value"));
	expect_text(f, NULL, g, "p", SLICE_NONE, SLICE_NONE, 0, "key=value ");
	group_done(g);
	expect_text(f, NULL, NULL, "p", SLICE_NONE, SLICE_NONE, 0, "key=value ");
}

static void largest_write_set(void **state)
{
	struct fixture *f = *state;
	struct engine *e = f->engine;
	static char keys[LIMIT_COMMIT_WRITES][8];
	struct write *w = calloc(LIMIT_COMMIT_WRITES, sizeof *w);
	size_t each = LIMIT_COMMIT_BYTES / LIMIT_COMMIT_WRITES - 6;
	char *value = pattern_new(3, each);
	for (int i = 0; i < LIMIT_COMMIT_WRITES; i++) {
		w[i].kind = WRITE_PUT;
		w[i].key = slice_make(keys[i], (size_t)snprintf(keys[i], sizeof keys[i], "%06d", i));
		w[i].value = slice_make(value, each);
	}
	struct engine_group *g = group_open(e);
	assert_int_equal(e->ops->group_accept(g, SLICE("p"), w, LIMIT_COMMIT_WRITES), ERR_OK);
	if (e->ops->may_be_unknown) { /* one partition a group */
		group_done(g);
		g = group_open(e);
	}
	assert_int_equal(e->ops->group_accept(g, SLICE("q"), w, LIMIT_COMMIT_WRITES), ERR_OK);
	group_done(g);
	f->kind->reopen(f);
	for (int i = 0; i < LIMIT_COMMIT_WRITES; i += 111) {
		expect_row(f->engine, NULL, "p", w[i].key, w[i].value);
		expect_row(f->engine, NULL, "q", w[i].key, w[i].value);
	}
	free(value);
	free(w);
}

static void groups_count_as_syncs(void **state)
{
	struct fixture *f = *state;
	struct engine_stats before = stats_of(f->engine);
	commit_put(f->engine, "p", SLICE("k"), SLICE("v"));
	struct engine_stats after = stats_of(f->engine);
	assert_true(after.syncs > before.syncs);
	assert_true(after.bytes_written > before.bytes_written);
}

const struct CMUnitTest group_tests[] = {
	SUITE_TEST(overlay_is_seen_inside_only),
	SUITE_TEST(overlay_is_merged_into_scans),
	SUITE_TEST(a_group_sees_the_one_on_its_way),
	SUITE_TEST(short_scans_of_one_group),
	SUITE_TEST(more_over_the_overlay),
	SUITE_TEST(abort_leaves_nothing),
	SUITE_TEST(a_write_set_is_in_order),
	SUITE_TEST(accept_copies),
	SUITE_TEST(largest_write_set),
	SUITE_TEST(groups_count_as_syncs),
};
const size_t group_test_count = sizeof group_tests / sizeof group_tests[0];
