/* SPDX-License-Identifier: Apache-2.0
 * Random operations against a model too simple to be wrong: per partition an array with a number for each possible key,
 * in key order. Snapshots are copies of it. A failure prints the seed; ZAFFRE_SEED=n runs that seed alone. */
#include "suite.h"

enum {
	PARTITIONS = 3,
	ALPHABET = 3,
	KEYS = ALPHABET + ALPHABET * ALPHABET + ALPHABET * ALPHABET * ALPHABET,
	SNAPSHOTS = 4,
	EXTENTS = 24,
	PINS = 3,
	STEPS = 400,
	SEEDS = 12
};

static const char *const partition_name[PARTITIONS] = { "m", "m\x01", "mm" };
static char key_text[KEYS][4]; /* in byte order */

struct rows_model {
	unsigned value[PARTITIONS][KEYS]; /* 0: not there */
};

struct extent_model {
	struct extent_ref ref;
	uint64_t seed;
	bool used, published, retired;
	uint64_t retired_step;
};

struct model {
	struct fixture *f;
	struct rng rng;
	unsigned step, next_value;
	struct rows_model committed, pending;
	struct engine_group *group;
	size_t group_partition; /* of the group, where it may hold one only */
	struct {
		struct engine_snapshot *snapshot;
		struct rows_model rows;
	} snapshot[SNAPSHOTS];
	struct extent_model extent[EXTENTS];
	struct {
		bool held;
		uint64_t pin, step;
	} pin[PINS];
	struct extent_ref doing[EXTENTS]; /* publish or retire in the open group; id 0: none */
	bool doing_publish[EXTENTS];
};

static void keys_init(void)
{
	int n = 0;
	const char *letters = "\x02m\xff"; /* the lowest byte that is not the store's, one in between, the highest */
	for (int a = 0; a < ALPHABET; a++) {
		snprintf(key_text[n++], 4, "%c", letters[a]);
		for (int b = 0; b < ALPHABET; b++) {
			snprintf(key_text[n++], 4, "%c%c", letters[a], letters[b]);
			for (int c = 0; c < ALPHABET; c++)
				snprintf(key_text[n++], 4, "%c%c%c", letters[a], letters[b], letters[c]);
		}
	}
	assert_int_equal(n, KEYS);
}

/* The value of number n: its digits and then n % 300 more bytes, so lengths vary. */
static struct slice value_of(unsigned n, char *dst)
{
	int len = snprintf(dst, 16, "%u.", n);
	memset(dst + len, 'a' + (char)(n % 26), n % 300);
	return slice_make(dst, (size_t)len + n % 300);
}

static void expect_number(struct slice got, unsigned n)
{
	char bytes[320];
	struct slice want = value_of(n, bytes);
	assert_int_equal(got.len, want.len);
	assert_memory_equal(got.ptr, want.ptr, want.len);
}

static size_t pick(struct model *m, size_t bound)
{
	return (size_t)rng_below(&m->rng, bound);
}

/* A partition to look at or write to; in a group of an engine that allows it one only, that one. */
static size_t pick_partition(struct model *m, const struct engine_group *g)
{
	size_t p = pick(m, PARTITIONS);
	return g && m->f->engine->ops->may_be_unknown ? m->group_partition : p;
}

static void check_get(struct model *m, struct engine_snapshot *s, struct engine_group *g, const struct rows_model *rows)
{
	size_t p = pick_partition(m, g), k = pick(m, KEYS);
	struct engine *e = m->f->engine;
	struct slice got = SLICE_NONE;
	enum err err =
		g ? e->ops->group_get(g, slice_str(partition_name[p]), slice_str(key_text[k]), &m->f->arena, &got)
		  : e->ops->get(e, s, slice_str(partition_name[p]), slice_str(key_text[k]), &m->f->arena, &got);
	assert_int_equal(err, rows->value[p][k] ? ERR_OK : ERR_NOT_FOUND);
	if (!err)
		expect_number(got, rows->value[p][k]);
}

static void check_scan(struct model *m, struct engine_snapshot *s, struct engine_group *g,
		       const struct rows_model *rows)
{
	size_t p = pick_partition(m, g), from = pick(m, KEYS + 1), until = pick(m, KEYS + 4), limit = pick(m, 12),
	       n = 0;
	struct engine *e = m->f->engine;
	struct rows got;
	struct scan_spec spec = { .from = from < KEYS ? slice_str(key_text[from]) : SLICE_NONE,
				  .until = until < KEYS ? slice_str(key_text[until]) : SLICE_NONE,
				  .limit_rows = limit,
				  .keys_only = pick(m, 2) };
	enum err err = g ? e->ops->group_scan(g, slice_str(partition_name[p]), &spec, &m->f->arena, &got)
			 : e->ops->scan(e, s, slice_str(partition_name[p]), &spec, &m->f->arena, &got);
	assert_int_equal(err, ERR_OK);
	for (size_t k = from < KEYS ? from : 0; k < KEYS && k < until; k++) {
		if (!rows->value[p][k])
			continue;
		if (n == got.count) {
			assert_true(got.more);
			assert_int_equal(n, limit);
			return;
		}
		assert_true(slice_eq(got.row[n].key, slice_str(key_text[k])));
		if (spec.keys_only)
			assert_false(slice_is_set(got.row[n].value));
		else
			expect_number(got.row[n].value, rows->value[p][k]);
		n++;
	}
	assert_int_equal(n, got.count);
	assert_false(got.more);
}

static void step_read(struct model *m)
{
	size_t which = pick(m, SNAPSHOTS + 2);
	struct engine_snapshot *s = which < SNAPSHOTS ? m->snapshot[which].snapshot : NULL;
	struct engine_group *g = which == SNAPSHOTS ? m->group : NULL;
	const struct rows_model *rows = s ? &m->snapshot[which].rows : g ? &m->pending : &m->committed;
	for (int i = 0; i < 6; i++) {
		check_get(m, s, g, rows);
		check_scan(m, s, g, rows);
	}
}

static void step_accept(struct model *m)
{
	struct write w[8];
	char value[8][320];
	size_t count = 1 + pick(m, 8), p = pick_partition(m, m->group);
	if (!m->group) {
		m->group = group_open(m->f->engine);
		m->group_partition = p;
		m->pending = m->committed;
	}
	for (size_t i = 0; i < count; i++) {
		size_t k = pick(m, KEYS);
		bool put = pick(m, 3) != 0;
		unsigned n = put ? ++m->next_value : 0;
		w[i] = (struct write){ .kind = put ? WRITE_PUT : WRITE_DEL, .key = slice_str(key_text[k]) };
		if (put)
			w[i].value = value_of(n, value[i]);
		m->pending.value[p][k] = n;
	}
	assert_int_equal(m->f->engine->ops->group_accept(m->group, slice_str(partition_name[p]), w, count), ERR_OK);
}

static void step_accept_extent(struct model *m)
{
	size_t i = pick(m, EXTENTS);
	struct extent_model *x = &m->extent[i];
	if (!m->group || !x->used || x->retired || m->doing[i].id)
		return;
	m->doing[i] = x->ref;
	m->doing_publish[i] = !x->published;
	struct write w = { .kind = x->published ? WRITE_RETIRE : WRITE_PUBLISH, .extent = x->ref };
	assert_int_equal(
		m->f->engine->ops->group_accept(m->group, slice_str(partition_name[m->group_partition]), &w, 1),
		ERR_OK);
}

static void step_end_group(struct model *m)
{
	if (!m->group)
		return;
	bool commits = pick(m, 4) != 0;
	if (commits)
		group_done(m->group);
	else
		m->f->engine->ops->group_abort(m->group);
	m->group = NULL;
	if (commits)
		m->committed = m->pending;
	for (size_t i = 0; i < EXTENTS; i++) {
		struct extent_model *x = &m->extent[i];
		if (m->doing[i].id && commits && m->doing_publish[i])
			x->published = true;
		else if (m->doing[i].id && commits)
			x->retired = true, x->retired_step = m->step;
		m->doing[i].id = 0;
	}
}

static void step_snapshot(struct model *m)
{
	struct engine *e = m->f->engine;
	size_t i = pick(m, SNAPSHOTS);
	if (m->snapshot[i].snapshot) {
		e->ops->snapshot_drop(e, m->snapshot[i].snapshot);
		m->snapshot[i].snapshot = NULL;
	} else {
		m->snapshot[i].snapshot = snapshot_open(e);
		m->snapshot[i].rows = m->committed;
	}
}

static void step_extent(struct model *m)
{
	struct engine *e = m->f->engine;
	size_t i = pick(m, EXTENTS);
	struct extent_model *x = &m->extent[i];
	if (m->doing[i].id)
		return;
	if (!x->used || x->retired) { /* a retired one is forgotten; its pins were checked while it was known */
		size_t len = 1 + pick(m, 100000);
		char *bytes = pattern_new(++m->next_value, len);
		*x = (struct extent_model){ .used = true, .seed = m->next_value };
		x->ref = extent_write(e, slice_make(bytes, len));
		free(bytes);
	} else if (!x->published) {
		e->ops->extent_abandon(e, &x->ref);
		x->used = false;
	}
}

static void step_pin(struct model *m)
{
	struct engine *e = m->f->engine;
	size_t i = pick(m, PINS);
	if (m->pin[i].held)
		e->ops->unpin(e, m->pin[i].pin);
	else
		m->pin[i].pin = e->ops->pin(e);
	m->pin[i].held = !m->pin[i].held;
	m->pin[i].step = m->step;
}

static void step_check_extents(struct model *m)
{
	bool more;
	uint64_t oldest = UINT64_MAX;
	assert_int_equal(m->f->engine->ops->reclaim(m->f->engine, &more), ERR_OK);
	for (size_t i = 0; i < PINS; i++)
		if (m->pin[i].held && m->pin[i].step < oldest)
			oldest = m->pin[i].step;
	for (size_t i = 0; i < EXTENTS; i++) {
		const struct extent_model *x = &m->extent[i];
		if (!x->used || (x->retired && x->retired_step <= oldest))
			continue;
		char *bytes = pattern_new(x->seed, x->ref.length_bytes);
		extent_expect(m->f->engine, &x->ref, slice_make(bytes, x->ref.length_bytes));
		free(bytes);
	}
}

static void step_drop_partition(struct model *m)
{
	size_t p = pick(m, PARTITIONS);
	if (m->group)
		return; /* the store drops only what no group can reach */
	assert_int_equal(m->f->engine->ops->drop_partition(m->f->engine, slice_str(partition_name[p])), ERR_OK);
	memset(m->committed.value[p], 0, sizeof m->committed.value[p]);
}

/* Everything a restart takes with it, given back first. */
static void let_go(struct model *m)
{
	struct engine *e = m->f->engine;
	step_end_group(m);
	for (size_t i = 0; i < SNAPSHOTS; i++) {
		e->ops->snapshot_drop(e, m->snapshot[i].snapshot);
		m->snapshot[i].snapshot = NULL;
	}
	for (size_t i = 0; i < PINS; i++)
		if (m->pin[i].held) {
			e->ops->unpin(e, m->pin[i].pin);
			m->pin[i].held = false;
		}
	for (size_t i = 0; i < EXTENTS; i++)
		m->extent[i].used = m->extent[i].used && m->extent[i].published && !m->extent[i].retired;
}

static void step_restart(struct model *m)
{
	if (pick(m, 4))
		return; /* dear on engines with files */
	let_go(m);
	if (pick(m, 2))
		m->f->kind->reopen(m->f);
	else
		m->f->kind->crash_after(m->f, "nothing");
}

static void run_seed(struct fixture *f, uint64_t seed)
{
	struct model *m = calloc(1, sizeof *m);
	static void (*const step[])(struct model *) = {
		step_read,   step_read,		 step_read,	step_accept, step_accept,	 step_accept,
		step_accept, step_accept_extent, step_snapshot, step_extent, step_end_group,	 step_accept_extent,
		step_pin,    step_check_extents, step_extent,	step_read,   step_check_extents, step_end_group,
	};
	m->f = f;
	rng_init_seed(&m->rng, seed);
	for (m->step = 1; m->step <= STEPS; m->step++) {
		arena_reset(&f->arena);
		size_t n = pick(m, 400);
		if (n < 6)
			step_drop_partition(m);
		else if (n < 12)
			step_restart(m);
		else
			step[pick(m, sizeof step / sizeof step[0])](m);
	}
	let_go(m);
	for (size_t p = 0; p < PARTITIONS; p++)
		assert_int_equal(f->engine->ops->drop_partition(f->engine, slice_str(partition_name[p])), ERR_OK);
	free(m);
}

static void random_operations(void **state)
{
	struct fixture *f = *state;
	const char *one = getenv("ZAFFRE_SEED");
	keys_init();
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		uint64_t now = one ? strtoull(one, NULL, 10) : seed;
		print_message("seed %llu\n", (unsigned long long)now);
		run_seed(f, now);
		if (one)
			break;
	}
}

const struct CMUnitTest model_tests[] = {
	SUITE_TEST(random_operations),
};
const size_t model_test_count = sizeof model_tests / sizeof model_tests[0];
