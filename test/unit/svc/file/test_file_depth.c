/* SPDX-License-Identifier: Apache-2.0
 * How deep trees may become by renames: random trees against a plain model that knows every level and every character,
 * what deletes leave behind, trees too large to look at, and directories that an earlier program made. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "bench.h"
#include "svc/file/depth.h"

static enum err rename_to(struct bench *b, const char *from, const char *to)
{
	struct file_rename_call c = { .source = target_of(b, from, FILE_KIND_ANY),
				      .target = target_of(b, to, FILE_KIND_ANY) };
	return run(b, file_apply_rename, &c);
}

static enum err remove_it(struct bench *b, const char *path)
{
	struct file_delete_call c = { .target = target_of(b, path, FILE_KIND_ANY) };
	return run(b, file_apply_delete, &c);
}

/* "name/name/..." */
static const char *chain(const char *name, size_t count)
{
	static char text[4][8192];
	static size_t turn;
	char *t = text[turn++ % 4];
	size_t at = 0;
	t[0] = 0;
	for (size_t i = 0; i < count; i++)
		at += (size_t)snprintf(t + at, sizeof text[0] - at, "%s%s", i ? "/" : "", name);
	return t;
}

static const char *join(const char *a, const char *b)
{
	static char text[4][8192];
	static size_t turn;
	char *t = text[turn++ % 4];
	snprintf(t, sizeof text[0], "%s/%s", a, b);
	return t;
}

static void grow(struct bench *b, const char *name, size_t count)
{
	for (size_t i = 1; i <= count; i++) {
		arena_reset(&b->arena);
		assert_int_equal(bench_create(b, chain(name, i), FILE_KIND_DIRECTORY, 0), ERR_OK);
	}
}

/* ---- a model ---- */

enum { NODES = 600, ROUNDS = 20, STEPS = 200, CHAINS = 4, NAME_BYTES = 24 };

struct node {
	bool used, directory;
	int parent; /* -1 = the root */
	size_t children;
	char name[NAME_BYTES];
};

struct tree {
	struct bench b;
	struct node node[NODES];
	size_t accepted, refused;
};

static size_t level_of(const struct tree *t, int i)
{
	size_t n = 0;
	for (; i >= 0; i = t->node[i].parent)
		n++;
	return n;
}

static size_t chars_of(const struct tree *t, int i) /* with a separator before each name */
{
	size_t n = 0;
	for (; i >= 0; i = t->node[i].parent)
		n += 1 + strlen(t->node[i].name);
	return n;
}

static const char *path_of(const struct tree *t, int i)
{
	static char text[4][4096];
	static size_t turn;
	char *path = text[turn++ % 4], *at = path + sizeof text[0];
	*--at = 0;
	for (; i >= 0; i = t->node[i].parent) {
		size_t len = strlen(t->node[i].name);
		at -= len;
		memcpy(at, t->node[i].name, len);
		if (t->node[i].parent >= 0)
			*--at = '/';
	}
	return at;
}

static bool is_below(const struct tree *t, int i, int ancestor)
{
	for (; i >= 0; i = t->node[i].parent)
		if (i == ancestor)
			return true;
	return false;
}

static bool fits(size_t levels, size_t chars)
{
	return levels <= FILE_PATH_DEPTH_MAX && chars <= FILE_PATH_CHARS_MAX + 1;
}

/* Would all of it fit if `moved` lay that much deeper? */
static bool subtree_fits(const struct tree *t, int moved, size_t levels, size_t chars)
{
	size_t old_levels = level_of(t, moved), old_chars = chars_of(t, moved);
	for (int i = 0; i < NODES; i++)
		if (t->node[i].used && is_below(t, i, moved) &&
		    !fits(level_of(t, i) - old_levels + levels, chars_of(t, i) - old_chars + chars))
			return false;
	return true;
}

static void make_name(struct tree *t, char name[NAME_BYTES])
{
	static unsigned number; /* names are never used twice */
	size_t len = (size_t)snprintf(name, NAME_BYTES, "%u", number++);
	for (size_t wanted = len + pick(&t->b, 12); len < wanted; len++)
		name[len] = 'x';
	name[len] = 0;
}

static int random_node(struct tree *t, bool directory)
{
	for (int tries = 0; tries < 200; tries++) {
		int i = (int)pick(&t->b, NODES);
		if (t->node[i].used && (!directory || t->node[i].directory))
			return i;
	}
	return -1;
}

/* Deep trees stay deep if what lies high is moved to what lies low, mostly. */
static int random_level(struct tree *t, bool deep)
{
	int best = random_node(t, true);
	for (int i = 0; i < 4 && best >= 0; i++) {
		int other = random_node(t, true);
		if (other >= 0 && (level_of(t, other) > level_of(t, best)) == deep)
			best = other;
	}
	return best;
}

static int add(struct tree *t, int parent, bool directory)
{
	int i = 0;
	while (i < NODES && t->node[i].used)
		i++;
	if (i == NODES)
		return -1;
	struct node *n = &t->node[i];
	*n = (struct node){ .used = true, .directory = directory, .parent = parent };
	make_name(t, n->name);
	if (!fits(level_of(t, i), chars_of(t, i))) {
		n->used = false;
		return -1;
	}
	if (parent >= 0)
		t->node[parent].children++;
	assert_int_equal(bench_create(&t->b, path_of(t, i), directory ? FILE_KIND_DIRECTORY : FILE_KIND_FILE, 0),
			 ERR_OK);
	return i;
}

static void drop(struct tree *t)
{
	int i = random_node(t, false);
	if (i < 0 || t->node[i].children)
		return;
	assert_int_equal(remove_it(&t->b, path_of(t, i)), ERR_OK);
	t->node[i].used = false;
	if (t->node[i].parent >= 0)
		t->node[t->node[i].parent].children--;
}

static void move(struct tree *t)
{
	int i = pick(&t->b, 3) ? random_level(t, false) : random_node(t, false);
	int to = pick(&t->b, 30) ? random_level(t, true) : -1;
	char name[NAME_BYTES], path[8192];
	if (i < 0)
		return;
	make_name(t, name);
	size_t levels = level_of(t, to) + 1, chars = chars_of(t, to) + 1 + strlen(name);
	if (!fits(levels, chars))
		return; /* such a path is no path */
	snprintf(path, sizeof path, "%s%s%s", path_of(t, to), to >= 0 ? "/" : "", name);
	enum err wanted = is_below(t, to, i)		       ? ERR_INVALID_INPUT
			  : !subtree_fits(t, i, levels, chars) ? ERR_INVALID_FILE_OR_DIRECTORY_PATH_NAME
							       : ERR_OK;
	enum err e = rename_to(&t->b, path_of(t, i), path);
	if (e != wanted)
		fail_msg("%s instead of %s", err_name(e), err_name(wanted));
	t->refused += e == ERR_INVALID_FILE_OR_DIRECTORY_PATH_NAME;
	if (e != ERR_OK)
		return;
	t->accepted++;
	if (t->node[i].parent >= 0)
		t->node[t->node[i].parent].children--;
	if (to >= 0)
		t->node[to].children++;
	t->node[i].parent = to;
	memcpy(t->node[i].name, name, sizeof name);
}

/* Every directory says at least what its entries say. */
static void check_bounds(struct tree *t)
{
	for (int i = 0; i < NODES; i++) {
		if (!t->node[i].used || t->node[i].parent < 0)
			continue;
		arena_reset(&t->b.arena);
		struct file_get_call child = { .target = target_of(&t->b, path_of(t, i), FILE_KIND_ANY) };
		struct file_get_call parent = { .target = target_of(&t->b, path_of(t, t->node[i].parent),
								    FILE_KIND_DIRECTORY) };
		assert_int_equal(look(&t->b, file_apply_get, &child), ERR_OK);
		assert_int_equal(look(&t->b, file_apply_get, &parent), ERR_OK);
		assert_true(parent.inode.below.levels >= 1 + child.inode.below.levels);
		assert_true(parent.inode.below.chars >= 1 + strlen(t->node[i].name) + child.inode.below.chars);
	}
}

/* Trees become flat by random moves: each round begins with deep ones. */
static void random_round(struct tree *t, uint64_t seed)
{
	bench_open(&t->b, seed, NULL);
	memset(t->node, 0, sizeof t->node);
	for (int c = 0, at = -1; c < CHAINS; c++, at = -1)
		for (int i = 0; i < 130; i++) {
			arena_reset(&t->b.arena);
			at = add(t, at, true);
		}
	for (int step = 0; step < STEPS; step++) {
		arena_reset(&t->b.arena);
		uint64_t what = pick(&t->b, 10);
		if (what < 2)
			add(t, random_node(t, true), pick(&t->b, 2));
		else if (what < 4)
			drop(t);
		else
			move(t);
	}
	check_bounds(t);
	bench_close(&t->b);
}

static void test_random_trees(void **state)
{
	(void)state;
	struct tree *t = calloc(1, sizeof *t);
	assert_non_null(t);
	for (uint64_t seed = 0; seed < ROUNDS; seed++)
		random_round(t, seed);
	print_message("%zu moves, %zu refused\n", t->accepted, t->refused);
	assert_true(t->accepted > 500 && t->refused > 100);
	free(t);
}

/* ---- what deletes leave ---- */

static void test_deleted_depth_counts_no_more(void **state)
{
	(void)state;
	struct bench b;
	bench_open(&b, 1, NULL);
	grow(&b, "a", 150);
	grow(&b, "b", 101);
	assert_int_equal(rename_to(&b, "b", join(chain("a", 150), "b")), ERR_INVALID_FILE_OR_DIRECTORY_PATH_NAME);
	assert_int_equal(remove_it(&b, chain("b", 101)), ERR_OK);
	assert_int_equal(rename_to(&b, "b", join(chain("a", 150), "b")), ERR_OK);
	/* It is as deep as can be now: no file is too much below, one level more above is. */
	assert_int_equal(rename_to(&b, chain("a", 150), "x"), ERR_OK);
	bench_close(&b);
}

/* Entries of a directory that once was deep. */
static void fill(struct bench *b, const char *dir, size_t count)
{
	char path[64];
	for (size_t i = 0; i < count; i++) {
		arena_reset(&b->arena);
		snprintf(path, sizeof path, "%s/%zu", dir, i);
		assert_int_equal(bench_create(b, path, FILE_KIND_FILE, 0), ERR_OK);
	}
}

static void test_too_much_to_look_at(void **state)
{
	(void)state;
	struct bench b;
	bench_open(&b, 1, NULL);
	grow(&b, "a", 150);
	grow(&b, "b", 110);
	for (size_t n = 110; n > 1; n--) {
		arena_reset(&b.arena);
		assert_int_equal(remove_it(&b, chain("b", n)), ERR_OK);
	}
	fill(&b, "b", DEPTH_LOOKS_MAX);
	assert_int_equal(rename_to(&b, "b", join(chain("a", 150), "b")), ERR_OK);
	assert_int_equal(rename_to(&b, join(chain("a", 150), "b"), "b"), ERR_OK);
	assert_int_equal(bench_create(&b, "b/more", FILE_KIND_FILE, 0), ERR_OK);
	assert_int_equal(rename_to(&b, "b", join(chain("a", 150), "b")), ERR_INVALID_FILE_OR_DIRECTORY_PATH_NAME);
	/* Where it fits whatever is below, nothing is looked at. */
	assert_int_equal(rename_to(&b, "b", join(chain("a", 100), "b")), ERR_OK);
	assert_int_equal(rename_to(&b, join(chain("a", 100), "b"), "b2"), ERR_OK);
	bench_close(&b);
}

static void test_characters(void **state)
{
	(void)state;
	struct bench b;
	char name[201], wide[4 * 100 + 1];
	memset(name, 'n', sizeof name - 1);
	name[sizeof name - 1] = 0;
	for (size_t i = 0; i < 100; i++) /* two UTF-16 units each */
		memcpy(wide + 4 * i, "\xf0\x9f\x98\x80", 4);
	wide[sizeof wide - 1] = 0;
	bench_open(&b, 1, NULL);
	grow(&b, name, 5); /* 1,004 characters */
	grow(&b, wide, 5); /* the same */
	assert_int_equal(rename_to(&b, wide, join(chain(name, 5), "12345678901234567890123456789012345678901")),
			 ERR_OK); /* 1,004 + 42 + 804 */
	assert_int_equal(rename_to(&b, join(chain(name, 5), "12345678901234567890123456789012345678901"), "w"), ERR_OK);
	/* 1,004 + 1 + 240 + 804 = 2,049: the longest below is one too long. */
	char longer[241];
	memset(longer, 'l', sizeof longer - 1);
	longer[sizeof longer - 1] = 0;
	assert_int_equal(rename_to(&b, "w", join(chain(name, 5), longer)), ERR_INVALID_FILE_OR_DIRECTORY_PATH_NAME);
	assert_int_equal(rename_to(&b, "w", join(chain(name, 5), longer + 1)), ERR_OK);
	/* In the same directory, too. */
	assert_int_equal(rename_to(&b, join(chain(name, 5), longer + 1), join(chain(name, 5), longer)),
			 ERR_INVALID_FILE_OR_DIRECTORY_PATH_NAME);
	assert_int_equal(rename_to(&b, join(chain(name, 5), longer + 1), join(chain(name, 5), longer + 2)), ERR_OK);
	bench_close(&b);
}

/* ---- directories of an earlier program ---- */

struct forget_call {
	struct file_target target;
};
static enum err apply_forget(struct txn *txn, void *call)
{
	struct forget_call *c = call;
	static const struct file_view live = { 0 };
	struct inode n;
	enum err e = inode_find(txn, &live, &c->target.place, NULL, &n);
	if (e != ERR_OK)
		return e;
	n.below = (struct reach){ FILE_REACH_UNKNOWN, FILE_REACH_UNKNOWN };
	return inode_put(txn, &n);
}

static void test_of_an_earlier_program(void **state)
{
	(void)state;
	struct bench b;
	bench_open(&b, 1, NULL);
	grow(&b, "a", 150);
	grow(&b, "b", 101);
	for (size_t n = 1; n <= 101; n++) {
		arena_reset(&b.arena);
		struct forget_call c = { target_of(&b, chain("b", n), FILE_KIND_DIRECTORY) };
		expect(&b, apply_forget, &c, ERR_OK);
	}
	/* What can be seen is seen, and what they are moved into knows as little. */
	assert_int_equal(rename_to(&b, "b", join(chain("a", 150), "b")), ERR_INVALID_FILE_OR_DIRECTORY_PATH_NAME);
	assert_int_equal(bench_create(&b, "new", FILE_KIND_DIRECTORY, 0), ERR_OK);
	assert_int_equal(rename_to(&b, "b", "new/b"), ERR_OK);
	assert_int_equal(rename_to(&b, "new", join(chain("a", 148), "b")), ERR_OK);
	assert_int_equal(rename_to(&b, join(chain("a", 148), "b"), "new"), ERR_OK);
	assert_int_equal(rename_to(&b, "new", join(chain("a", 149), "b")), ERR_INVALID_FILE_OR_DIRECTORY_PATH_NAME);
	/* Where there is too much to look at, they are not held for deep. */
	fill(&b, "new", DEPTH_LOOKS_MAX);
	assert_int_equal(rename_to(&b, "new", join(chain("a", 100), "b")), ERR_OK);
	bench_close(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random_trees),	      cmocka_unit_test(test_deleted_depth_counts_no_more),
		cmocka_unit_test(test_too_much_to_look_at),   cmocka_unit_test(test_characters),
		cmocka_unit_test(test_of_an_earlier_program),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
