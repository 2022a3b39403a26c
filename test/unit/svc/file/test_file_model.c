/* SPDX-License-Identifier: Apache-2.0
 * Random writes, clears, resizes, snapshots, copies, renames and deletes of files against plain bytes, on the in-memory
 * engine with its conflicts and unknown outcomes. One caller, so every answer and every byte is known beforehand: live
 * and in every snapshot, the ranges that are listed, and the differences to earlier snapshots. The background work runs
 * in between. At the end everything is deleted and no row of contents and no extent may be left. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "bench.h"
#include "svc/file/content/merge.h"
#include "svc/file/content/run.h"

enum { NAMES = 4, SIZE_MAX_BYTES = 24 * 1024, SNAPSHOTS = 5, RANGES_MAX = 4096, SHRED_AT_ONCE = 100 };

struct state {
	bool exists;
	size_t size;
	unsigned identity; /* which creation */
	unsigned char bytes[SIZE_MAX_BYTES];
	uint32_t when[SIZE_MAX_BYTES]; /* the step that wrote it; 0 = not allocated */
};

struct past {
	uint64_t ticks;
	uint32_t step;
	struct state *file[NAMES];
};

struct model {
	struct bench b;
	uint32_t step;
	struct state *file[NAMES];
	struct past past[SNAPSHOTS];
	size_t past_count;
};

static const char *const names[NAMES] = { "Alpha.txt", "b", "straße", "dir/inner" };

static struct file_target target(struct model *m, size_t i)
{
	return target_of(&m->b, names[i], FILE_KIND_FILE);
}

static void fill(struct model *m, unsigned char *dst, size_t length)
{
	for (size_t i = 0; i < length; i++)
		dst[i] = (unsigned char)(1 + pick(&m->b, 255));
}

/* ---- checks ---- */

static void check_bytes(struct model *m, size_t i, const struct state *s, uint64_t snapshot)
{
	static unsigned char got[SIZE_MAX_BYTES];
	struct file_get_call c = { .target = target(m, i), .want_bytes = true };
	c.target.has_snapshot = snapshot != 0;
	c.target.snapshot_ticks = snapshot;
	if (s->exists && s->size && pick(&m->b, 3) == 0) {
		c.has_range = true;
		c.range_first = pick(&m->b, s->size);
		c.range_last = c.range_first + pick(&m->b, s->size);
	}
	uint64_t pin = extent_pin(m->b.store);
	c.by_points = !snapshot && pick(&m->b, 2);
	enum err e = look(&m->b, file_apply_get, &c);
	if (c.by_points && e == ERR_CONFLICT) { /* as those who ask do */
		c.by_points = false;
		e = look(&m->b, file_apply_get, &c);
	}
	assert_int_equal(e, s->exists ? ERR_OK : ERR_RESOURCE_NOT_FOUND);
	if (s->exists) {
		assert_int_equal(c.inode.size_bytes, s->size);
		assert_int_equal(c.pieces.length_bytes, c.length);
		read_pieces(&m->b, &c.pieces, got);
		if (memcmp(got, s->bytes + c.offset, c.length) != 0)
			fail_msg("%s%s reads other bytes than were written", names[i],
				 snapshot ? " in a snapshot" : "");
	}
	extent_unpin(m->b.store, pin);
}

static bool page_any(const struct state *s, size_t page, uint32_t after)
{
	for (size_t at = page * 512; at < (page + 1) * 512 && at < s->size; at++)
		if (s->when[at] > after)
			return true;
	return false;
}

/* Bytes of the page that the file had, and has no more though it is long enough. */
static bool page_lost(const struct state *now, const struct state *before, size_t page)
{
	for (size_t at = page * 512; at < (page + 1) * 512 && at < now->size && at < before->size; at++)
		if (before->when[at] && !now->when[at])
			return true;
	return false;
}

/* What List Ranges should say of a page: 0 nothing, 1 range, 2 cleared. A page that lost a part is a range if it has
 * another: its bytes are not what they were. */
static int page_wanted(const struct state *now, const struct state *before, uint32_t since, size_t page)
{
	if (!before)
		return page_any(now, page, 0);
	if (page_any(now, page, since))
		return 1;
	if (!page_lost(now, before, page))
		return 0;
	return page_any(now, page, 0) ? 1 : 2;
}

/* The same file, whatever it was called. */
static const struct state *past_of(const struct past *p, const struct state *now)
{
	for (size_t i = 0; i < NAMES; i++)
		if (p->file[i]->exists && p->file[i]->identity == now->identity)
			return p->file[i];
	return NULL;
}

static void check_ranges(struct model *m, size_t i, const struct state *now, uint64_t snapshot, const struct past *p)
{
	struct file_ranges_call c = { .target = target(m, i), .limit = RANGES_MAX };
	const struct state *before = p ? past_of(p, now) : NULL;
	c.target.has_snapshot = snapshot != 0;
	c.target.snapshot_ticks = snapshot;
	c.diff = p != NULL;
	c.follow_rename = true;
	c.previous_ticks = p ? p->ticks : 0;
	/* A part of the file: pages count as they do in all of it, and the bytes that were asked for are told. */
	size_t from = 0, end = now->size;
	if (now->size && pick(&m->b, 2)) {
		c.has_range = true;
		c.range_first = from = pick(&m->b, now->size);
		c.range_last = from + pick(&m->b, 2000);
		end = c.range_last < now->size ? c.range_last + 1 : now->size;
	}
	enum err e = look(&m->b, file_apply_ranges, &c);
	if (p && !before) {
		assert_true(e == ERR_FILE_GENERATION_MISMATCH || e == ERR_RESOURCE_NOT_FOUND);
		return;
	}
	assert_int_equal(e, ERR_OK);
	assert_false(c.more);
	size_t at = 0;
	for (size_t page = from / 512; page * 512 < end; page++) {
		int wanted = page_wanted(now, before, p ? p->step : 0, page);
		size_t first = page * 512 > from ? page * 512 : from;
		while (at < c.count && c.range[at].last < first)
			at++;
		bool there = at < c.count && c.range[at].first <= first;
		int got = !there ? 0 : c.range[at].clear ? 2 : 1;
		if (got != wanted)
			fail_msg("%s: page %zu is listed as %d instead of %d", names[i], page, got, wanted);
	}
	if (c.count)
		assert_true(c.range[0].first >= from && c.range[c.count - 1].last < end);
}

static void check_all(struct model *m)
{
	for (size_t i = 0; i < NAMES; i++) {
		check_bytes(m, i, m->file[i], 0);
		if (m->file[i]->exists)
			check_ranges(m, i, m->file[i], 0, NULL);
		for (size_t k = 0; k < m->past_count; k++) {
			const struct past *p = &m->past[k];
			check_bytes(m, i, p->file[i], p->ticks);
			if (p->file[i]->exists)
				check_ranges(m, i, p->file[i], p->ticks, NULL);
			if (m->file[i]->exists)
				check_ranges(m, i, m->file[i], 0, p);
			if (k && p->file[i]->exists)
				check_ranges(m, i, p->file[i], p->ticks, &m->past[k - 1]);
		}
		arena_reset(&m->b.arena);
	}
	struct share_stats_call stats;
	uint64_t used = 0;
	for (size_t i = 0; i < NAMES; i++)
		used += m->file[i]->exists ? m->file[i]->size : 0;
	assert_int_equal(look(&m->b, share_apply_stats, &stats), ERR_OK);
	assert_int_equal(stats.used_bytes, used);
}

/* ---- operations ---- */

static void do_create(struct model *m, size_t i)
{
	struct state *s = m->file[i];
	struct file_create_call c = { .target = target(m, i), .size_bytes = pick(&m->b, SIZE_MAX_BYTES + 1) };
	expect(&m->b, file_apply_create, &c, ERR_OK);
	assert_int_equal(c.replaced, s->exists);
	memset(s, 0, sizeof *s);
	s->exists = true;
	s->size = c.size_bytes;
	s->identity = m->step;
}

static enum err wanted(const struct state *s)
{
	return s->exists ? ERR_OK : ERR_RESOURCE_NOT_FOUND;
}

static void do_write(struct model *m, size_t i)
{
	struct state *s = m->file[i];
	static unsigned char bytes[SIZE_MAX_BYTES];
	static const size_t longest[] = { 8, 600, 5000, SIZE_MAX_BYTES };
	uint64_t offset = s->size && pick(&m->b, 4) ? pick(&m->b, s->size) : 0;
	size_t length = 1 + pick(&m->b, longest[pick(&m->b, 4)]);
	bool fits = s->exists && offset + length <= s->size;
	fill(m, bytes, length);
	struct payload p = payload_of(&m->b, bytes, length, pick(&m->b, 2));
	struct file_write_call c = { .target = target(m, i), .offset = offset, .length = length, .payload = &p };
	c.may_extend = offset + length <= SIZE_MAX_BYTES && pick(&m->b, 3) == 0;
	enum err want = !s->exists ? ERR_RESOURCE_NOT_FOUND : fits || c.may_extend ? ERR_OK : ERR_INVALID_RANGE;
	expect(&m->b, file_apply_write, &c, want);
	if (want != ERR_OK)
		payload_abandon(m->b.store, &p);
	payload_fini(&p);
	if (want != ERR_OK)
		return;
	memcpy(s->bytes + offset, bytes, length);
	for (size_t k = 0; k < length; k++)
		s->when[offset + k] = m->step;
	s->size = offset + length > s->size ? offset + length : s->size;
}

/* Parts of pages become zeros that stay allocated where there was something; whole pages go. */
static void model_clear(struct model *m, struct state *s, size_t first, size_t end)
{
	size_t first_page = (first + 511) / 512 * 512, end_page = end == s->size ? end : end / 512 * 512;
	size_t edge[2][2] = { { first, first_page < end ? first_page : end },
			      { end_page > first ? end_page : first, end } };
	memset(s->bytes + first, 0, end - first);
	if (first_page >= end_page && first_page >= end) { /* within a page */
		edge[0][1] = end;
		edge[1][0] = end;
	} else if (first_page >= end_page) {
		edge[1][0] = first_page;
	}
	for (size_t k = 0; k < 2; k++) {
		bool any = false;
		for (size_t at = edge[k][0]; at < edge[k][1]; at++)
			any |= s->when[at] != 0;
		for (size_t at = edge[k][0]; at < edge[k][1]; at++)
			s->when[at] = any ? m->step : 0;
	}
	for (size_t at = first_page; at < end_page; at++)
		s->when[at] = 0;
}

static void do_clear(struct model *m, size_t i)
{
	struct state *s = m->file[i];
	if (!s->size)
		return;
	uint64_t offset = pick(&m->b, s->size), length = 1 + pick(&m->b, s->size - offset);
	if (pick(&m->b, 4) == 0) {
		offset = 0;
		length = s->size;
	}
	struct file_write_call c = { .target = target(m, i), .clear = true, .offset = offset, .length = length };
	expect(&m->b, file_apply_write, &c, wanted(s));
	if (s->exists)
		model_clear(m, s, offset, offset + length);
}

static void do_resize(struct model *m, size_t i)
{
	struct state *s = m->file[i];
	size_t size = pick(&m->b, 5) ? pick(&m->b, SIZE_MAX_BYTES + 1) : 0;
	struct file_modify_call c = { .target = target(m, i), .resize = true, .size_bytes = size };
	expect(&m->b, file_apply_set_properties, &c, wanted(s));
	if (!s->exists)
		return;
	if (size < s->size) {
		memset(s->bytes + size, 0, s->size - size);
		memset(s->when + size, 0, (s->size - size) * sizeof *s->when);
	}
	s->size = size;
}

/* The record changes, its bytes stay: what a snapshot holds of them is shared then. */
static void do_metadata(struct model *m, size_t i)
{
	struct file_modify_call c = { .target = target(m, i) };
	expect(&m->b, file_apply_set_metadata, &c, wanted(m->file[i]));
}

/* Very many small runs in a few commits: more than a cut goes through at once, or enough to be merged. */
struct shred {
	struct model *m;
	struct file_place place;
	size_t first, count, stride, length;
	const unsigned char *bytes;
};

static enum err apply_shred(struct txn *txn, void *call)
{
	static const struct file_view live = { 0 };
	const struct shred *s = call;
	struct inode n;
	TRY(inode_find(txn, &live, &s->place, NULL, &n));
	for (size_t k = 0; k < s->count; k++) {
		struct payload p = { .length_bytes = s->length,
				     .inline_bytes = slice_make(s->bytes + k * s->length, s->length),
				     .borrowed = true };
		TRY(inode_write(txn, &n, s->first + k * s->stride, &p));
	}
	return inode_put(txn, &n);
}

static void do_shred(struct model *m, size_t i)
{
	struct state *s = m->file[i];
	static unsigned char bytes[8 * 1024];
	struct shred c = { .m = m, .place = target(m, i).place, .bytes = bytes };
	bool gaps = pick(&m->b, 2);
	c.length = gaps ? 1 : 1 + pick(&m->b, 4);
	c.stride = gaps ? 2 + pick(&m->b, 3) : c.length;
	c.count = gaps ? RUNS_AT_ONCE + 100 : 300;
	if (!s->exists || s->size < c.count * c.stride + 1)
		return;
	c.first = pick(&m->b, s->size - c.count * c.stride);
	fill(m, bytes, c.count * c.length);
	for (size_t k = 0; k < c.count; k += SHRED_AT_ONCE) {
		struct shred part = c;
		part.first += k * c.stride;
		part.bytes += k * c.length;
		part.count = c.count - k < SHRED_AT_ONCE ? c.count - k : SHRED_AT_ONCE;
		arena_reset(&m->b.arena);
		part.place = target(m, i).place;
		expect(&m->b, apply_shred, &part, ERR_OK);
	}
	for (size_t k = 0; k < c.count; k++)
		for (size_t at = 0; at < c.length; at++) {
			s->bytes[c.first + k * c.stride + at] = bytes[k * c.length + at];
			s->when[c.first + k * c.stride + at] = m->step;
		}
}

static void do_snapshot(struct model *m)
{
	struct share_snapshot_call c = { .has_metadata = false };
	if (m->past_count == SNAPSHOTS)
		return;
	expect(&m->b, share_apply_snapshot, &c, ERR_OK);
	struct past *p = &m->past[m->past_count++];
	p->ticks = c.snapshot.ticks;
	p->step = m->step;
	for (size_t i = 0; i < NAMES; i++) {
		p->file[i] = malloc(sizeof *p->file[i]);
		assert_non_null(p->file[i]);
		*p->file[i] = *m->file[i];
	}
}

static void do_drop_snapshot(struct model *m)
{
	if (!m->past_count)
		return;
	size_t k = pick(&m->b, m->past_count);
	struct share_snapshot_call c = { .ticks = m->past[k].ticks };
	expect(&m->b, share_apply_delete_snapshot, &c, ERR_OK);
	for (size_t i = 0; i < NAMES; i++)
		free(m->past[k].file[i]);
	memmove(&m->past[k], &m->past[k + 1], (m->past_count - k - 1) * sizeof m->past[k]);
	m->past_count--;
}

static void do_delete(struct model *m, size_t i)
{
	struct file_delete_call c = { .target = target(m, i) };
	expect(&m->b, file_apply_delete, &c, wanted(m->file[i]));
	memset(m->file[i], 0, sizeof *m->file[i]);
}

static void do_copy(struct model *m, size_t from, size_t to)
{
	struct state *d = m->file[to];
	struct file_copy_call c = { .create.target = target(m, to), .share = true, .source = target(m, from) };
	const struct state *s = m->file[from];
	if (m->past_count && pick(&m->b, 2)) {
		const struct past *p = &m->past[pick(&m->b, m->past_count)];
		c.source.has_snapshot = true;
		c.source.snapshot_ticks = p->ticks;
		s = p->file[from];
	}
	expect(&m->b, file_apply_copy, &c, wanted(s));
	if (!s->exists || c.too_many)
		return;
	*d = *s;
	d->identity = m->step;
	for (size_t at = 0; at < d->size; at++)
		d->when[at] = d->when[at] ? m->step : 0;
}

static void do_rename(struct model *m, size_t from, size_t to)
{
	struct file_rename_call c = { .source = target(m, from), .target = target(m, to), .replace = pick(&m->b, 2) };
	struct state *s = m->file[from], *d = m->file[to];
	enum err want = !s->exists				? ERR_RESOURCE_NOT_FOUND
			: from != to && d->exists && !c.replace ? ERR_RESOURCE_ALREADY_EXISTS
								: ERR_OK;
	expect(&m->b, file_apply_rename, &c, want);
	if (want != ERR_OK || from == to)
		return;
	*d = *s;
	memset(s, 0, sizeof *s);
}

static void step(struct model *m)
{
	size_t i = pick(&m->b, NAMES), k = pick(&m->b, NAMES);
	bool more;
	m->step++;
	switch (pick(&m->b, 17)) {
	case 0:
		do_create(m, i);
		break;
	case 1:
	case 2:
	case 3:
	case 4:
	case 5:
		do_write(m, i);
		break;
	case 6:
		do_clear(m, i);
		break;
	case 7:
		do_resize(m, i);
		break;
	case 8:
	case 9:
		do_shred(m, i);
		break;
	case 10:
		do_snapshot(m);
		break;
	case 11:
		if (pick(&m->b, 2))
			do_drop_snapshot(m);
		break;
	case 12:
		if (pick(&m->b, 3) == 0)
			do_delete(m, i);
		break;
	case 13:
		do_copy(m, i, k);
		break;
	case 14:
		do_rename(m, i, k);
		break;
	case 15:
		do_metadata(m, i);
		break;
	default:
		if (pick(&m->b, 4) == 0) /* a file that waits to be merged again is due */
			clock_fake_advance(&m->b.clock, merge_wait_ticks(RANGES_MAX));
		assert_int_equal(file_round(m->b.store, m->b.partition, &more), ERR_OK);
	}
	arena_reset(&m->b.arena);
}

static void model_open(struct model *m, uint64_t seed)
{
	struct mem_options options = { .seed = seed, .conflict_permille = 20, .unknown_happened_permille = 10 };
	memset(m, 0, sizeof *m);
	bench_open(&m->b, seed, &options);
	assert_int_equal(bench_create(&m->b, "dir", FILE_KIND_DIRECTORY, 0), ERR_OK);
	for (size_t i = 0; i < NAMES; i++) {
		m->file[i] = calloc(1, sizeof *m->file[i]);
		assert_non_null(m->file[i]);
	}
}

/* Nothing is left once everything is deleted. */
static void model_close(struct model *m)
{
	static const char contents[] = "rdxychwmS";
	struct mem_counts counts;
	bool more = true;
	for (size_t i = 0; i < NAMES; i++) {
		if (m->file[i]->exists)
			do_delete(m, i);
		free(m->file[i]);
	}
	while (m->past_count)
		do_drop_snapshot(m);
	bench_settle(&m->b);
	for (const char *tag = contents; *tag; tag++)
		if (rows_of(&m->b, *tag))
			fail_msg("%zu rows '%c' are left", rows_of(&m->b, *tag), *tag);
	assert_int_equal(rows_of(&m->b, 'n'), 2); /* the root and the directory */
	while (more)
		assert_int_equal(m->b.engine->ops->reclaim(m->b.engine, &more), ERR_OK);
	engine_mem_counts(m->b.engine, &counts);
	assert_int_equal(counts.extents, 0);
	bench_close(&m->b);
}

static void test_random(void **state)
{
	(void)state;
	enum { SEEDS = 12 };
	const char *more = getenv("ZAFFRE_MODEL_SEEDS"); /* the long form */
	uint64_t seeds = more ? strtoull(more, NULL, 10) : SEEDS;
	for (uint64_t seed = 1; seed <= seeds; seed++) {
		struct model m;
		model_open(&m, seed);
		for (int i = 0; i < 400; i++) {
			step(&m);
			if (i % 8 == 0)
				check_all(&m);
		}
		check_all(&m);
		bench_settle(&m.b);
		check_all(&m);
		model_close(&m);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_random) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
