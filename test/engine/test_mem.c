/* SPDX-License-Identifier: Apache-2.0
 * What the mem engine adds to the contract: conflicts, unknown outcomes, faults, the second front end, the power cut.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/limits.h"
#include "engine/mem/mem.h"

static struct engine *open_with(const struct mem_options *options)
{
	struct engine *e;
	assert_int_equal(engine_mem_open(options, &e), ERR_OK);
	return e;
}

static struct engine_group *group_open(struct engine *e)
{
	struct engine_group *g;
	assert_int_equal(e->ops->group_begin(e, &g), ERR_OK);
	return g;
}

static void put(struct engine *e, struct engine_group *g, const char *key, const char *value)
{
	struct write w = { .kind = WRITE_PUT, .key = slice_str(key), .value = slice_str(value) };
	assert_int_equal(e->ops->group_accept(g, SLICE("p"), &w, 1), ERR_OK);
}

static enum outcome put_now(struct engine *e, const char *key, const char *value)
{
	struct engine_group *g = group_open(e);
	put(e, g, key, value);
	return e->ops->group_commit(g);
}

static enum outcome del_now(struct engine *e, const char *key)
{
	struct engine_group *g = group_open(e);
	struct write w = { .kind = WRITE_DEL, .key = slice_str(key) };
	assert_int_equal(e->ops->group_accept(g, SLICE("p"), &w, 1), ERR_OK);
	return e->ops->group_commit(g);
}

/* "" for not found. */
static const char *value_at(struct engine *e, struct engine_group *g, const char *key)
{
	static char text[64];
	struct arena arena;
	struct slice value = SLICE("");
	arena_init(&arena, MIB);
	enum err err = g ? e->ops->group_get(g, SLICE("p"), slice_str(key), &arena, &value)
			 : e->ops->get(e, NULL, SLICE("p"), slice_str(key), &arena, &value);
	assert_true(err == ERR_OK || err == ERR_NOT_FOUND);
	snprintf(text, sizeof text, "%.*s", SLICE_FMT(value));
	arena_fini(&arena);
	return text;
}

static void scan_in(struct engine *e, struct engine_group *g, const char *from, const char *until, size_t limit)
{
	struct arena arena;
	struct rows rows;
	struct scan_spec spec = { .from = slice_str(from), .until = slice_str(until), .limit_rows = limit };
	arena_init(&arena, MIB);
	assert_int_equal(e->ops->group_scan(g, SLICE("p"), &spec, &arena, &rows), ERR_OK);
	arena_fini(&arena);
}

static void a_changed_read_conflicts(void **state)
{
	struct engine *e = open_with(NULL), *other;
	assert_int_equal(engine_mem_attach(e, &other), ERR_OK);
	assert_int_equal(put_now(e, "k", "1"), OUTCOME_DONE);
	assert_int_equal(put_now(e, "gone", "1"), OUTCOME_DONE);
	const struct {
		const char *read, *changed;
		bool deletes, conflicts;
	} cases[] = { { "k", "k", false, true },
		      { "k", "l", false, false },
		      { "absent", "absent", false, true },
		      { "gone", "gone", true, true },
		      { "k", "ka", false, false } };
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct engine_group *g = group_open(e);
		value_at(e, g, cases[i].read);
		put(e, g, "mine", cases[i].read);
		if (cases[i].deletes)
			assert_int_equal(del_now(other, cases[i].changed), OUTCOME_DONE);
		else
			assert_int_equal(put_now(other, cases[i].changed, "theirs"), OUTCOME_DONE);
		assert_int_equal(e->ops->group_commit(g), cases[i].conflicts ? OUTCOME_CONFLICT : OUTCOME_DONE);
		if (cases[i].conflicts)
			assert_string_not_equal(value_at(e, NULL, "mine"), cases[i].read);
	}
	struct engine_group *blind = group_open(e); /* what was only written cannot conflict */
	put(e, blind, "k", "blind");
	assert_int_equal(put_now(other, "k", "theirs"), OUTCOME_DONE);
	value_at(e, blind, "k"); /* its own write */
	assert_int_equal(e->ops->group_commit(blind), OUTCOME_DONE);
	assert_string_equal(value_at(e, NULL, "k"), "blind");
	other->ops->close(other);
	e->ops->close(e);
}

static void a_changed_range_conflicts(void **state)
{
	const struct {
		const char *from, *until;
		size_t limit;
		const char *changed;
		bool deletes, conflicts;
	} cases[] = {
		{ "b", "f", 0, "c", false, true },    { "b", "f", 0, "bb", false, true },
		{ "b", "f", 0, "f", false, false },   { "b", "f", 0, "a", false, false },
		{ "b", "f", 0, "d", true, true },     { "a", NULL, 2, "e", false, false },
		{ "a", NULL, 2, "b", true, true },    { "a", NULL, 2, "c", true, true }, /* `more` rested on it */
		{ NULL, NULL, 0, "zz", false, true }, { "x", "y", 0, "xx", false, true },
	};
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct engine *e = open_with(NULL);
		for (char c = 'a'; c <= 'f'; c++) {
			char key[2] = { c, 0 };
			assert_int_equal(put_now(e, key, "v"), OUTCOME_DONE);
		}
		struct engine_group *g = group_open(e);
		scan_in(e, g, cases[i].from, cases[i].until, cases[i].limit);
		put(e, g, "mine", "v");
		enum outcome theirs =
			cases[i].deletes ? del_now(e, cases[i].changed) : put_now(e, cases[i].changed, "w");
		assert_int_equal(theirs, OUTCOME_DONE);
		assert_int_equal(e->ops->group_commit(g), cases[i].conflicts ? OUTCOME_CONFLICT : OUTCOME_DONE);
		e->ops->close(e);
	}
}

/* Deleted rows vanish from memory once nobody can ask for them, and not before. */
static void versions_do_not_pile_up(void **state)
{
	struct engine *e = open_with(NULL);
	struct mem_counts counts;
	struct engine_snapshot *s;
	char key[16];
	assert_int_equal(put_now(e, "hot", "first"), OUTCOME_DONE);
	assert_int_equal(e->ops->snapshot_take(e, &s), ERR_OK);
	for (int i = 0; i < 2000; i++) {
		snprintf(key, sizeof key, "t%d", i);
		assert_int_equal(put_now(e, key, "v"), OUTCOME_DONE);
		assert_int_equal(put_now(e, "hot", key), OUTCOME_DONE);
		assert_int_equal(del_now(e, key), OUTCOME_DONE);
	}
	struct arena arena;
	struct slice value;
	arena_init(&arena, MIB);
	assert_int_equal(e->ops->get(e, s, SLICE("p"), SLICE("hot"), &arena, &value), ERR_OK);
	assert_true(slice_eq(value, SLICE("first")));
	arena_fini(&arena);
	e->ops->snapshot_drop(e, s);
	for (int i = 0; i < 3000; i++)
		assert_int_equal(del_now(e, "nothing"), OUTCOME_DONE);
	engine_mem_counts(e, &counts);
	assert_true(counts.rows < 200);
	assert_true(counts.versions < 400);
	e->ops->close(e);
}

static void injected_conflicts_do_nothing(void **state)
{
	struct engine *e = open_with(&(struct mem_options){ .seed = 1, .conflict_permille = 500 });
	struct mem_counts counts;
	int done = 0;
	for (int i = 0; i < 1000; i++) {
		char key[16];
		snprintf(key, sizeof key, "k%d", i);
		enum outcome outcome = put_now(e, key, "v");
		assert_true(outcome == OUTCOME_DONE || outcome == OUTCOME_CONFLICT);
		assert_string_equal(value_at(e, NULL, key), outcome == OUTCOME_DONE ? "v" : "");
		done += outcome == OUTCOME_DONE;
	}
	engine_mem_counts(e, &counts);
	assert_int_equal(counts.conflicts_injected + (uint64_t)done, 1000);
	assert_in_range(done, 400, 600);
	e->ops->close(e);
}

static void unknown_means_either(void **state)
{
	struct engine *e = open_with(
		&(struct mem_options){ .seed = 2, .unknown_happened_permille = 300, .unknown_lost_permille = 300 });
	int happened = 0, lost = 0;
	for (int i = 0; i < 1000; i++) {
		char key[16];
		snprintf(key, sizeof key, "k%d", i);
		enum outcome outcome = put_now(e, key, "v");
		bool there = *value_at(e, NULL, key);
		if (outcome == OUTCOME_DONE)
			assert_true(there);
		else
			assert_int_equal(outcome, OUTCOME_UNKNOWN);
		happened += outcome == OUTCOME_UNKNOWN && there;
		lost += outcome == OUTCOME_UNKNOWN && !there;
	}
	assert_true(happened > 100 && lost > 100);
	e->ops->close(e);
}

/* A late group happens by itself, but never over something that changed what it read. */
static void late_groups_respect_their_reads(void **state)
{
	struct mem_options late = { .seed = 3, .unknown_late_permille = 1000 }, none = { 0 };
	struct engine *e = open_with(&none);
	int arrived = 0, stopped = 0;
	for (int i = 0; i < 200; i++) {
		assert_int_equal(put_now(e, "k", "before"), OUTCOME_DONE);
		struct engine_group *g = group_open(e);
		value_at(e, g, "k");
		put(e, g, "k", "late");
		engine_mem_set_faults(e, &late);
		assert_int_equal(e->ops->group_commit(g), OUTCOME_UNKNOWN);
		engine_mem_set_faults(e, &none);
		assert_string_equal(value_at(e, NULL, "k"), "before");
		/* The store's remedy: change what it read, guarded by what is read now. */
		for (enum outcome bump = OUTCOME_CONFLICT; bump == OUTCOME_CONFLICT;) {
			g = group_open(e);
			bool late_there = strcmp(value_at(e, g, "k"), "late") == 0;
			put(e, g, "k", late_there ? "arrived" : "bumped");
			bump = e->ops->group_commit(g);
			if (bump == OUTCOME_DONE)
				late_there ? arrived++ : stopped++;
		}
		const char *settled = value_at(e, NULL, "k");
		assert_true(strcmp(settled, "arrived") == 0 || strcmp(settled, "bumped") == 0);
		for (int calls = 0; calls < 20; calls++) { /* whatever comes later, it does not come any more */
			g = group_open(e);
			assert_string_not_equal(value_at(e, g, "k"), "late");
			e->ops->group_abort(g);
		}
	}
	assert_true(arrived > 20 && stopped > 20);
	e->ops->close(e);
}

static void full_and_failed(void **state)
{
	struct engine *e = open_with(&(struct mem_options){ .seed = 4, .no_space_permille = 1000 });
	struct extent_writer *w;
	assert_int_equal(put_now(e, "k", "v"), OUTCOME_NO_SPACE);
	assert_string_equal(value_at(e, NULL, "k"), "");
	assert_int_equal(e->ops->extent_begin(e, 1, &w), ERR_NO_SPACE);
	engine_mem_set_faults(e, &(struct mem_options){ 0 });
	assert_int_equal(put_now(e, "k", "v"), OUTCOME_DONE);
	engine_mem_set_faults(e, &(struct mem_options){ .fail_after_commits = 2 });
	assert_int_equal(put_now(e, "l", "v"), OUTCOME_FAILED);
	assert_int_equal(put_now(e, "m", "v"), OUTCOME_FAILED);
	assert_string_equal(value_at(e, NULL, "k"), "v"); /* reads go on */
	engine_mem_set_faults(e, &(struct mem_options){ 0 });
	assert_int_equal(put_now(e, "m", "v"), OUTCOME_FAILED); /* and there is no way back but a restart */
	struct engine *again = engine_mem_crash(e);
	assert_string_equal(value_at(again, NULL, "k"), "v");
	assert_string_equal(value_at(again, NULL, "m"), "");
	assert_int_equal(put_now(again, "m", "v"), OUTCOME_DONE);
	e->ops->close(e);
	again->ops->close(again);
}

static void the_dead_engine_stays_dead(void **state)
{
	struct engine *e = open_with(NULL);
	struct arena arena;
	struct slice value;
	struct rows rows;
	struct scan_spec spec = { .from = SLICE_NONE };
	struct engine_snapshot *s, *t;
	arena_init(&arena, MIB);
	assert_int_equal(put_now(e, "k", "v"), OUTCOME_DONE);
	assert_int_equal(e->ops->snapshot_take(e, &s), ERR_OK);
	uint64_t pin = e->ops->pin(e);
	struct engine_group *g = group_open(e), *h = group_open(e);
	put(e, g, "k", "lost");
	struct engine *again = engine_mem_crash(e);
	assert_int_equal(e->ops->group_commit(g), OUTCOME_FAILED);
	assert_int_equal(e->ops->group_get(h, SLICE("p"), SLICE("k"), &arena, &value), ERR_IO);
	e->ops->group_abort(h);
	assert_int_equal(e->ops->get(e, s, SLICE("p"), SLICE("k"), &arena, &value), ERR_IO);
	assert_int_equal(e->ops->scan(e, NULL, SLICE("p"), &spec, &arena, &rows), ERR_IO);
	assert_int_equal(e->ops->snapshot_take(e, &t), ERR_IO);
	assert_int_equal(e->ops->group_begin(e, &g), ERR_IO);
	e->ops->snapshot_drop(e, s);
	e->ops->unpin(e, pin);
	e->ops->close(e);
	assert_string_equal(value_at(again, NULL, "k"), "v");
	again->ops->close(again);
	arena_fini(&arena);
}

static void a_volatile_commit_is_lost(void **state)
{
	struct engine *e = open_with(&(struct mem_options){ .commits_volatile = true });
	assert_int_equal(put_now(e, "a", "v"), OUTCOME_DONE);
	assert_int_equal(put_now(e, "b", "v"), OUTCOME_DONE);
	assert_string_equal(value_at(e, NULL, "b"), "v");
	struct engine *after = engine_mem_crash(e);
	assert_string_equal(value_at(after, NULL, "a"), "v");
	assert_string_equal(value_at(after, NULL, "b"), "");
	assert_int_equal(put_now(after, "b", "v"), OUTCOME_DONE);
	engine_mem_sync(after);
	struct engine *last = engine_mem_crash(after);
	assert_string_equal(value_at(last, NULL, "b"), "v");
	e->ops->close(e);
	after->ops->close(after);
	last->ops->close(last);
}

struct meddler {
	struct engine *other;
	enum mem_point when;
	int calls;
};

static void meddle(void *arg, enum mem_point point)
{
	struct meddler *m = arg;
	if (point == m->when && m->calls++ == 0)
		assert_int_equal(put_now(m->other, "k", "theirs"), OUTCOME_DONE);
}

static void others_come_between(void **state)
{
	for (enum mem_point when = MEM_BEFORE_READ; when <= MEM_AFTER_COMMIT; when++) {
		struct engine *e = open_with(NULL);
		struct meddler m = { .when = when };
		assert_int_equal(engine_mem_attach(e, &m.other), ERR_OK);
		engine_mem_interfere(e, meddle, &m);
		struct engine_group *g = group_open(e);
		assert_string_equal(value_at(e, g, "k"), when == MEM_BEFORE_READ ? "theirs" : "");
		put(e, g, "k", "mine");
		assert_int_equal(e->ops->group_commit(g), when == MEM_BEFORE_COMMIT ? OUTCOME_CONFLICT : OUTCOME_DONE);
		assert_int_equal(m.calls, 1);
		assert_string_equal(value_at(e, NULL, "k"), when == MEM_BEFORE_READ ? "mine" : "theirs");
		m.other->ops->close(m.other);
		e->ops->close(e);
	}
}

/* get read the old value before the other's commit, and returns it after. */
static void a_read_may_grow_old(void **state)
{
	struct engine *e = open_with(NULL);
	struct meddler m = { .when = MEM_AFTER_GET };
	assert_int_equal(put_now(e, "k", "mine"), OUTCOME_DONE);
	assert_int_equal(engine_mem_attach(e, &m.other), ERR_OK);
	engine_mem_interfere(e, meddle, &m);
	assert_string_equal(value_at(e, NULL, "k"), "mine");
	assert_string_equal(value_at(e, NULL, "k"), "theirs");
	m.other->ops->close(m.other);
	e->ops->close(e);
}

/* The same seed and calls give the same outcomes. */
static void seeds_repeat(void **state)
{
	char first[300], second[300];
	for (int round = 0; round < 2; round++) {
		struct engine *e = open_with(&(struct mem_options){ .seed = 11,
								    .conflict_permille = 200,
								    .unknown_happened_permille = 200,
								    .unknown_lost_permille = 200,
								    .unknown_late_permille = 100,
								    .no_space_permille = 100 });
		for (size_t i = 0; i < sizeof first; i++)
			(round ? second : first)[i] = (char)put_now(e, "k", "v");
		e->ops->close(e);
	}
	assert_memory_equal(first, second, sizeof first);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_changed_read_conflicts),  cmocka_unit_test(a_changed_range_conflicts),
		cmocka_unit_test(versions_do_not_pile_up),   cmocka_unit_test(injected_conflicts_do_nothing),
		cmocka_unit_test(unknown_means_either),	     cmocka_unit_test(late_groups_respect_their_reads),
		cmocka_unit_test(full_and_failed),	     cmocka_unit_test(the_dead_engine_stays_dead),
		cmocka_unit_test(a_volatile_commit_is_lost), cmocka_unit_test(others_come_between),
		cmocka_unit_test(a_read_may_grow_old),	     cmocka_unit_test(seeds_repeat),
	};
	return cmocka_run_group_tests_name("engine mem: faults", tests, NULL, NULL);
}
