/* SPDX-License-Identifier: Apache-2.0
 * Deletes and undeletes by a mark (svc/blob/history.h) against the same done row by row: two containers get the same
 * operations, one of them with marks and a sweep that comes when it comes; they must look the same after every step, in
 * lists and in reads, and when all is over no extent may be left. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "container.h"
#include "engine/mem/mem.h"
#include "store/extent.h"
#include "store/key.h"
#include "svc/blob/blob.h"
#include "svc/blob/content/append.h"
#include "svc/blob/content/page.h"
#include "svc/blob/history.h"
#include "svc/blob/retire.h"
#include "svc/blob/state.h"
#include "svc/common/generation.h"

#define NOON (UINT64_C(639000000000000000))
#define DAY  (UINT64_C(86400) * TICKS_PER_SECOND)

enum { NAMES = 2, LIST_MAX = 400 };

struct side {
	struct clock clock;
	struct engine *engine;
	struct store *store;
	struct arena arena;
	char partition_bytes[CONTAINER_PARTITION_BYTES];
	struct slice partition;
	uint32_t rows_at_once;
};

/* What a client sees of a row; a state is known by its length. */
struct seen {
	size_t name;
	uint64_t length, ticks;
	bool is_snapshot, is_current, is_deleted, is_version;
};

struct bench {
	struct side plain, marked;
	struct rng rng;
	bool versioning, soft_delete;
	uint64_t next_length;
};

static uint64_t pick(struct bench *b, uint64_t bound)
{
	return rng_below(&b->rng, bound);
}

static struct slice name_of(size_t i)
{
	return i ? SLICE("two") : SLICE("one");
}

static struct blob_target target_of(const struct bench *b, const struct side *s, size_t name)
{
	return (struct blob_target){ .name = name_of(name),
				     .rules = { .versioning = b->versioning,
						.soft_delete = b->soft_delete,
						.retention_days = 3,
						.rows_at_once = s->rows_at_once } };
}

static enum err run(struct side *s, apply_fn *apply, void *call)
{
	return store_write_wait(s->store, s->partition, apply, call, &s->arena);
}

/* ---- what it looks like ---- */

static size_t list(struct side *s, struct seen *seen)
{
	size_t count = 0;
	struct blob_list_call c = {
		.limit = 7, .snapshots = true, .versions = true, .deleted = true, .base_too = true
	};
	c.prefix = c.delimiter = SLICE("");
	do {
		c.from = c.more ? arena_dup(&s->arena, c.next) : SLICE_NONE;
		c.from_ticks = c.more ? c.next_ticks : 0;
		assert_int_equal(store_read(s->store, s->partition, blob_apply_list, &c, &s->arena), ERR_OK);
		for (size_t i = 0; i < c.count; i++) {
			const struct blob *v = &c.item[i].blob;
			assert_true(count < LIST_MAX);
			seen[count++] = (struct seen){ .name = slice_eq(v->name, name_of(1)),
						       .length = v->length_bytes,
						       .ticks = v->history_ticks,
						       .is_snapshot = v->is_snapshot,
						       .is_current = c.item[i].is_current,
						       .is_deleted = v->deleted_ticks != 0,
						       .is_version = v->version_ticks != 0 };
		}
	} while (c.more);
	return count;
}

static enum err read_one(struct bench *b, struct side *s, const struct seen *v)
{
	struct blob_get_call g = { .target = target_of(b, s, v->name), .want_bytes = true, .on_snapshot = true };
	*(v->is_snapshot ? &g.target.snapshot_ticks : &g.target.version_ticks) = v->ticks;
	uint64_t pin = extent_pin(s->store);
	enum err e = store_read(s->store, s->partition, blob_apply_get, &g, &s->arena);
	if (e == ERR_OK) {
		static char bytes[LIST_MAX * 64];
		assert_int_equal(g.blob.length_bytes, v->length);
		assert_int_equal(g.piece_count, 1);
		assert_int_equal(extent_read(s->store, &g.piece[0].extent, 0, (uint32_t)v->length, bytes), ERR_OK);
	}
	extent_unpin(s->store, pin);
	return e;
}

static void check(struct bench *b)
{
	static struct seen a[LIST_MAX], m[LIST_MAX];
	size_t count = list(&b->plain, a);
	assert_int_equal(list(&b->marked, m), count);
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(a[i].name, m[i].name);
		assert_int_equal(a[i].length, m[i].length);
		assert_int_equal(a[i].is_snapshot, m[i].is_snapshot);
		assert_int_equal(a[i].is_current, m[i].is_current);
		assert_int_equal(a[i].is_deleted, m[i].is_deleted);
		assert_int_equal(a[i].is_version, m[i].is_version);
		if (!a[i].is_current && (a[i].is_snapshot || a[i].is_version)) {
			enum err wanted = a[i].is_deleted ? ERR_BLOB_NOT_FOUND : ERR_OK;
			assert_int_equal(read_one(b, &b->plain, &a[i]), wanted);
			assert_int_equal(read_one(b, &b->marked, &m[i]), wanted);
		}
	}
	arena_reset(&b->plain.arena);
	arena_reset(&b->marked.arena);
}

/* ---- the same on both sides ---- */

static enum err put(struct bench *b, struct side *s, size_t name)
{
	static const char bytes[LIST_MAX * 64] = "bytes";
	struct payload_writer *w;
	struct payload p;
	assert_true(b->next_length < sizeof bytes);
	assert_int_equal(payload_writer_new(s->store, b->next_length, &w), ERR_OK);
	payload_writer_only_extents(w);
	assert_int_equal(payload_append(w, slice_make(bytes, b->next_length)), ERR_OK);
	assert_int_equal(payload_finish(w, &p), ERR_OK);
	struct blob_put_call c = { .target = target_of(b, s, name),
				   .type = BLOB_BLOCK,
				   .payload = &p,
				   .content_id = b->next_length,
				   .may_overwrite = true };
	enum err e = run(s, blob_apply_put, &c);
	payload_fini(&p);
	return e;
}

static enum err snapshot(struct bench *b, struct side *s, size_t name)
{
	struct blob_snapshot_call c = { .target = target_of(b, s, name) };
	return run(s, blob_apply_snapshot, &c);
}

static enum err delete (struct bench *b, struct side *s, size_t name, enum delete_snapshots how) {
	struct blob_delete_call c = { .target = target_of(b, s, name), .snapshots = how }; enum err e; size_t times = 0;
	do e = run(s, blob_apply_delete, &c);
	while (e == ERR_OK && c.again && ++times < 1000);
	assert_true(times < 1000);
	return e;
}

static enum err undelete(struct side *s, size_t name)
{
	struct blob_undelete_call c = { .name = name_of(name), .rows_at_once = s->rows_at_once };
	enum err e;
	size_t times = 0;
	do
		e = run(s, blob_apply_undelete, &c);
	while (e == ERR_OK && c.again && ++times < 1000);
	assert_true(times < 1000);
	return e;
}

/* The n-th row of history of the name, whatever it is: it goes, or its tier changes. */
static enum err touch_one(struct bench *b, struct side *s, size_t name, uint64_t which, bool set_tier)
{
	static struct seen v[LIST_MAX];
	size_t count = list(s, v), of_name = 0;
	for (size_t i = 0; i < count; i++)
		if (v[i].name == name && !v[i].is_current)
			v[of_name++] = v[i];
	if (!of_name)
		return ERR_OK;
	const struct seen *one = &v[which % of_name];
	struct blob_target t = target_of(b, s, name);
	*(one->is_snapshot ? &t.snapshot_ticks : &t.version_ticks) = one->ticks;
	if (set_tier) {
		struct blob_state_call c = { .target = t, .tier = TIER_COOL };
		return run(s, blob_apply_set_tier, &c);
	}
	struct blob_delete_call c = { .target = t };
	return run(s, blob_apply_delete, &c);
}

static void sweep(struct side *s, size_t rounds)
{
	bool more = true;
	for (size_t i = 0; more && i < rounds; i++)
		assert_int_equal(blob_retire_round(s->store, s->partition, &more), ERR_OK);
}

static void expire(struct side *s)
{
	struct buf from;
	bool more = true;
	buf_init(&from, 2 * LIMIT_KEY_BYTES);
	while (more)
		assert_int_equal(blob_expire_round(s->store, s->partition, &from, &more), ERR_OK);
	buf_fini(&from);
}

static void step(struct bench *b)
{
	size_t name = pick(b, 4) == 0;
	uint64_t dice = pick(b, 100), which = pick(b, 1000);
	enum delete_snapshots how = (enum delete_snapshots)pick(b, 3);
	enum err a = ERR_OK, m = ERR_OK;
	struct side *side[2] = { &b->plain, &b->marked };
	enum err *result[2] = { &a, &m };
	b->next_length++;
	for (int i = 0; i < 2; i++) {
		struct side *s = side[i];
		*result[i] = dice < 20	 ? put(b, s, name)
			     : dice < 60 ? snapshot(b, s, name)
			     : dice < 70 ? delete (b, s, name, how)
			     : dice < 80 ? undelete(s, name)
			     : dice < 88 ? touch_one(b, s, name, which, false)
			     : dice < 92 ? touch_one(b, s, name, which, true)
					 : ERR_OK;
	}
	if (a != m)
		fail_msg("row by row %s, by a mark %s (step %llu)", err_name(a), err_name(m), (unsigned long long)dice);
	/* Never on the edge of a day: a sweep in the way takes ticks of its own. */
	uint64_t ahead = TICKS_PER_SECOND + (pick(b, 12) == 0 ? DAY * (1 + pick(b, 2)) : 0);
	for (int i = 0; i < 2; i++)
		clock_fake_advance(&side[i]->clock, ahead);
	if (dice >= 92 && which % 3 == 0)
		for (int i = 0; i < 2; i++)
			expire(side[i]);
	if (pick(b, 3) == 0)
		sweep(&b->marked, 1 + pick(b, 2));
	if (pick(b, 20) == 0)
		sweep(&b->marked, 1000);
	check(b);
}

/* ---- runs ---- */

static enum err close_generation(struct txn *txn, void *call)
{
	return generation_close(txn);
}

static void side_open(struct side *s, uint64_t seed, uint32_t rows_at_once)
{
	struct mem_options options = { .seed = seed };
	memset(s, 0, sizeof *s);
	s->rows_at_once = rows_at_once;
	clock_init_fake(&s->clock, NOON);
	arena_init(&s->arena, 256 * MIB);
	mem_store_open(&options, &s->clock, &s->engine, &s->store);
	s->partition = container_partition(s->partition_bytes);
	assert_int_equal(run(s, open_generation, NULL), ERR_OK);
}

static void side_close(struct side *s)
{
	bool more = true;
	struct mem_counts counts;
	assert_int_equal(run(s, close_generation, NULL), ERR_OK);
	while (more)
		assert_int_equal(blob_retire_container(s->store, s->partition, &more), ERR_OK);
	for (more = true; more;)
		assert_int_equal(s->engine->ops->reclaim(s->engine, &more), ERR_OK);
	engine_mem_counts(s->engine, &counts);
	assert_int_equal(counts.extents, 0);
	store_close(s->store);
	arena_fini(&s->arena);
}

static void run_pairs(uint64_t first_seed, bool versioning, bool soft_delete)
{
	enum { SEEDS = 10, STEPS = 250 };
	const char *more = getenv("ZAFFRE_MODEL_SEEDS"); /* the long form */
	uint64_t seeds = more ? strtoull(more, NULL, 10) : SEEDS;
	for (uint64_t seed = first_seed; seed < first_seed + seeds; seed++) {
		static struct bench b;
		b = (struct bench){ .versioning = versioning, .soft_delete = soft_delete, .next_length = 40 };
		rng_init_seed(&b.rng, seed);
		side_open(&b.plain, seed, 0);
		side_open(&b.marked, seed, 1 + (uint32_t)(seed % 3));
		for (unsigned i = 0; i < STEPS; i++)
			step(&b);
		side_close(&b.plain);
		side_close(&b.marked);
	}
}

static void test_for_good(void **state)
{
	run_pairs(1, false, false);
}

static void test_soft(void **state)
{
	run_pairs(1001, false, true);
}

static void test_versions(void **state)
{
	run_pairs(2001, true, false);
}

static void test_soft_versions(void **state)
{
	run_pairs(3001, true, true);
}

/* What came back stays, whatever the days of its old deletion; also where only the mark says so. */
static void test_back_in_time(void **state)
{
	static struct bench b;
	b = (struct bench){ .soft_delete = true, .next_length = 40 };
	side_open(&b.plain, 1, 0);
	side_open(&b.marked, 1, 2);
	struct side *side[2] = { &b.plain, &b.marked };
	for (int i = 0; i < 2; i++) {
		assert_int_equal(put(&b, side[i], 0), ERR_OK);
		for (int k = 0; k < 9; k++)
			assert_int_equal(snapshot(&b, side[i], 0), ERR_OK);
		assert_int_equal(delete (&b, side[i], 0, DELETE_SNAPSHOTS_INCLUDE), ERR_OK);
		sweep(side[i], 1000);
		assert_int_equal(undelete(side[i], 0), ERR_OK);
		clock_fake_advance(&side[i]->clock, 10 * DAY);
		expire(side[i]);
	}
	check(&b);
	sweep(&b.marked, 2);
	expire(&b.marked);
	check(&b);
	sweep(&b.marked, 1000);
	expire(&b.marked);
	check(&b);
	static struct seen v[LIST_MAX];
	assert_int_equal(list(&b.marked, v), 10);
	side_close(&b.plain);
	side_close(&b.marked);
}

static enum err set_metadata(struct bench *b, struct side *s, size_t name)
{
	struct blob_modify_call c = { .target = target_of(b, s, name) };
	return run(s, blob_apply_set_metadata, &c);
}

/* Versions that are switched off are still there: the current one stays when it is replaced, and what comes after it
 * is no version. A delete deletes. */
static void test_versions_switched_off(void **state)
{
	static struct bench b;
	static struct seen v[LIST_MAX];
	struct side *s = &b.plain;
	for (int how = 0; how < 3; how++) {
		b = (struct bench){ .versioning = true, .soft_delete = how == 2, .next_length = 41 };
		side_open(s, 1, 0);
		for (size_t name = 0; name < 2; name++, b.next_length++)
			assert_int_equal(put(&b, s, name), ERR_OK);
		b.versioning = false;
		for (int twice = 0; twice < 2; twice++, b.next_length++)
			assert_int_equal(how ? put(&b, s, 0) : set_metadata(&b, s, 0), ERR_OK);
		assert_int_equal(delete (&b, s, 1, DELETE_SNAPSHOTS_NONE), ERR_OK);
		size_t count = list(s, v), last = count - (how == 2 ? 2 : 1); /* soft deleted ones are listed, too */
		assert_int_equal(count, how == 2 ? 4 : 2);
		assert_true(v[0].name == 0 && v[0].length == 41 && v[0].is_version && !v[0].is_current);
		assert_true(v[last].name == 0 && !v[last].is_version && v[last].ticks == 0);
		assert_int_equal(read_one(&b, s, &v[0]), ERR_OK);
		assert_int_equal(read_one(&b, s, &v[last]), ERR_OK);
		if (how == 2) {
			assert_true(v[3].name == 1 && v[3].length == 42 && v[3].is_deleted);
			assert_int_equal(undelete(s, 1), ERR_OK);
			count = list(s, v);
			assert_true(v[count - 1].name == 1 && v[count - 1].ticks == 0);
		}
		side_close(s);
	}
}

/* ---- readers whose gets are of different instants ---- */

struct between {
	struct bench *bench;
	struct side *side;
	void (*happens)(struct between *);
	size_t reads_left; /* before it happens */
	bool happened;
};

static void between_gets(void *arg, enum mem_point at)
{
	struct between *t = arg;
	if (at != MEM_AFTER_GET || t->happened || t->reads_left--)
		return;
	t->happened = true;
	t->happens(t);
}

static void overwrite(struct between *t)
{
	assert_int_equal(put(t->bench, t->side, 0), ERR_OK);
}

static void sweep_all(struct between *t)
{
	sweep(t->side, 1000);
}

/* Reads as requests do. False: it read less than so many times, and nothing happened. */
static bool read_while(struct between t, size_t reads, const struct blob_target *target, enum err wanted)
{
	struct blob_get_call g = { .target = *target };
	t.reads_left = reads;
	engine_mem_interfere(t.side->engine, between_gets, &t);
	enum err e = store_read_points(t.side->store, t.side->partition, blob_apply_get, &g, &t.side->arena);
	engine_mem_interfere(t.side->engine, NULL, NULL);
	assert_int_equal(e, wanted);
	return t.happened;
}

static void test_version_that_moves(void **state)
{
	static struct bench b;
	struct side *s = &b.plain;
	b = (struct bench){ .versioning = true, .next_length = 40 };
	side_open(s, 1, 0);
	bool happened = true;
	for (size_t reads = 0; happened; reads++) {
		struct blob_get_call current = { .target = target_of(&b, s, 0) };
		b.next_length++;
		assert_int_equal(put(&b, s, 0), ERR_OK);
		b.next_length++;
		assert_int_equal(store_read(s->store, s->partition, blob_apply_get, &current, &s->arena), ERR_OK);
		struct blob_target target = current.target;
		target.version_ticks = current.blob.version_ticks;
		happened = read_while((struct between){ .bench = &b, .side = s, .happens = overwrite }, reads, &target,
				      ERR_OK);
		assert_true(happened || reads > 0);
	}
	side_close(s);
}

/* Snapshots deleted and brought back by a mark are so for everybody at once, wherever its sweep is. */
static void test_mark_that_goes(void **state)
{
	for (int back = 0; back < 2; back++) {
		static struct bench b;
		struct side *s = &b.marked;
		bool happened = true;
		b = (struct bench){ .soft_delete = true, .next_length = 40 };
		side_open(s, 1, 2);
		for (size_t reads = 0; happened; reads++) {
			struct blob_snapshot_call taken;
			b.next_length++;
			assert_int_equal(put(&b, s, 0), ERR_OK);
			for (int i = 0; i < 5; i++) {
				taken = (struct blob_snapshot_call){ .target = target_of(&b, s, 0) };
				assert_int_equal(run(s, blob_apply_snapshot, &taken), ERR_OK);
			}
			assert_int_equal(delete (&b, s, 0, DELETE_SNAPSHOTS_ONLY), ERR_OK);
			if (back)
				assert_int_equal(undelete(s, 0), ERR_OK);
			struct blob_target target = taken.target;
			target.snapshot_ticks = taken.snapshot.history_ticks;
			happened = read_while((struct between){ .side = s, .happens = sweep_all }, reads, &target,
					      back ? ERR_OK : ERR_BLOB_NOT_FOUND);
			assert_true(happened || reads > 0);
		}
		side_close(s);
	}
}

/* A snapshot shares the rows of its base: whatever a front end lets through, nothing is written to it. */
static void test_unchangeable(void **state)
{
	static struct bench b;
	struct side *s = &b.plain;
	b = (struct bench){ .next_length = 40 };
	side_open(s, 1, 0);
	for (size_t name = 0; name < 2; name++) {
		struct blob_put_call put = { .target = target_of(&b, s, name),
					     .type = name ? BLOB_PAGE : BLOB_APPEND,
					     .content_id = 1 + name,
					     .page_length_bytes = PAGE_BYTES };
		struct blob_snapshot_call taken = { .target = put.target };
		assert_int_equal(run(s, blob_apply_put, &put), ERR_OK);
		assert_int_equal(run(s, blob_apply_snapshot, &taken), ERR_OK);
		struct blob_append_call append = { .target = put.target };
		append.target.snapshot_ticks = taken.snapshot.history_ticks;
		struct blob_put_page_call clear = { .target = append.target, .clear = true, .length = PAGE_BYTES };
		struct blob_modify_call modify = { .target = append.target };
		assert_int_equal(run(s, blob_apply_append, &append), ERR_INVALID_OPERATION);
		assert_int_equal(run(s, blob_apply_seal, &append), ERR_INVALID_OPERATION);
		assert_int_equal(run(s, blob_apply_put_page, &clear), ERR_INVALID_OPERATION);
		assert_int_equal(run(s, blob_apply_set_properties, &modify), ERR_INVALID_OPERATION);
		assert_int_equal(run(s, blob_apply_set_metadata, &modify), ERR_INVALID_OPERATION);
	}
	side_close(s);
}

/* A mark is one more row to read: damage shows. */
static void test_record(void **state)
{
	static const char good[] = { 1, 'D', 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 7, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 1 };
	struct history_mark m;
	char bad[sizeof good];
	assert_int_equal(blob_history_mark_decode(slice_make(good, sizeof good), &m), ERR_OK);
	assert_int_equal(m.kind, MARK_DELETED);
	memcpy(bad, good, sizeof good);
	bad[1] = 'X';
	assert_int_equal(blob_history_mark_decode(slice_make(bad, sizeof bad), &m), ERR_CORRUPT);
	assert_int_equal(blob_history_mark_decode(slice_make(good, sizeof good - 1), &m), ERR_CORRUPT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_for_good),
		cmocka_unit_test(test_soft),
		cmocka_unit_test(test_versions),
		cmocka_unit_test(test_soft_versions),
		cmocka_unit_test(test_back_in_time),
		cmocka_unit_test(test_unchangeable),
		cmocka_unit_test(test_versions_switched_off),
		cmocka_unit_test(test_version_that_moves),
		cmocka_unit_test(test_mark_that_goes),
		cmocka_unit_test(test_record),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
