/* SPDX-License-Identifier: Apache-2.0
 * Walking chunks, reading pages, listing ranges and differences. */
#include <stdlib.h>

#include "svc/blob/content/page_int.h"
#include "svc/blob/history.h"
#include "svc/common/generation.h"

enum {
	WALK_ROWS = 64,
	SPANS_PER_GET = 64,	      /* decoded and listed in the time of a get */
	GETS_PER_DIFF = 16,	      /* a chunk of two states compared page by page */
	LIST_BYTES = 16 * 1024 * 1024 /* chunks that one list of ranges goes through, as they lie in memory */
};

enum err blob_page_chunk_walk_begin(struct chunk_walk *w, struct txn *txn, const struct content *content,
				    uint64_t first, uint64_t last)
{
	*w = (struct chunk_walk){ .txn = txn, .content = *content };
	key_init(&w->from);
	key_tag(&w->from, 'p');
	key_u64(&w->from, content->id);
	w->until = w->from;
	key_u64(&w->from, first);
	key_u64(&w->until, last);
	key_prefix_end(&w->until);
	return blob_page_clears_load(txn, content, &w->clears);
}

static enum err walk_fetch(struct chunk_walk *w)
{
	struct scan_spec spec = { .from = key_slice(&w->from), .until = key_slice(&w->until), .limit_rows = WALK_ROWS };
	TRY(txn_scan(w->txn, &spec, &w->rows));
	w->at = 0;
	w->begun = true;
	w->exhausted = !w->rows.more;
	if (w->rows.count)
		key_after(&w->from, w->rows.row[w->rows.count - 1].key);
	return ERR_OK;
}

enum err blob_page_chunk_walk_next(struct chunk_walk *w, struct chunk_at *ret)
{
	for (;;) {
		if (!w->begun || w->at == w->rows.count) {
			if (w->begun && w->exhausted)
				return ERR_NOT_FOUND;
			TRY(walk_fetch(w));
			continue;
		}
		const struct row *row = &w->rows.row[w->at++];
		uint64_t index, epoch;
		if (!blob_page_chunk_key_decode(row->key, &index, &epoch))
			return ERR_CORRUPT;
		if (epoch > w->content.epoch || (w->has_last && index == w->last_index))
			continue;
		w->has_last = true;
		w->last_index = index;
		TRY(blob_page_chunk_decode(row->value, txn_arena(w->txn), &ret->chunk));
		TRY(txn_spend(w->txn, 1 + ret->chunk.count / SPANS_PER_GET));
		ret->chunk.hidden_epoch = blob_page_clears_hide(&w->clears, index, epoch, ret->chunk.stamp);
		if (ret->chunk.hidden_epoch && !w->with_hidden)
			continue;
		ret->chunk.epoch = epoch;
		ret->index = index;
		return ERR_OK;
	}
}

/* ---- Get Blob ---- */

/* Pieces grow as chunks are met; holes become zeros. */
struct gather {
	struct blob_get_call *call;
	struct arena *arena;
	size_t cap;
	uint64_t at, end;
};

static enum err add_piece(struct gather *g, struct blob_piece p)
{
	struct blob_get_call *c = g->call;
	if (c->for_copy && c->piece_count == COPY_PIECES_MAX)
		return ERR_LIMIT;
	if (c->piece_count == g->cap) {
		size_t cap = g->cap ? g->cap * 2 : 64;
		struct blob_piece *more = ARENA_NEW_ARRAY(g->arena, struct blob_piece, cap);
		if (!more)
			return ERR_NO_MEMORY;
		if (c->piece_count)
			memcpy(more, c->piece, c->piece_count * sizeof *more);
		c->piece = more;
		g->cap = cap;
	}
	c->piece[c->piece_count++] = p;
	g->at += p.length_bytes;
	return ERR_OK;
}

static enum err add_zeros_to(struct gather *g, uint64_t to)
{
	return to > g->at ? add_piece(g, (struct blob_piece){ .length_bytes = to - g->at }) : ERR_OK;
}

static enum err add_chunk(struct gather *g, const struct chunk_at *at)
{
	for (size_t i = 0; i < at->chunk.count; i++) {
		const struct page_span *s = &at->chunk.span[i];
		uint64_t begin = at->index * PAGE_CHUNK_BYTES + (uint64_t)s->first * PAGE_BYTES;
		uint64_t end = begin + (uint64_t)s->count * PAGE_BYTES;
		uint64_t first = begin > g->at ? begin : g->at, last = end < g->end ? end : g->end;
		if (first >= last)
			continue;
		TRY(add_zeros_to(g, first));
		TRY(add_piece(g, (struct blob_piece){ .extent = s->extent,
						      .offset = s->offset + (uint32_t)(first - begin),
						      .length_bytes = last - first }));
	}
	return ERR_OK;
}

enum err blob_page_pieces(struct txn *txn, struct blob_get_call *c)
{
	struct gather g = { .call = c, .arena = txn_arena(txn), .at = c->offset, .end = c->offset + c->length };
	struct chunk_walk walk;
	struct chunk_at at;
	TRY(blob_page_chunk_walk_begin(&walk, txn, &c->blob.content, c->offset / PAGE_CHUNK_BYTES,
				       (g.end - 1) / PAGE_CHUNK_BYTES));
	for (;;) {
		enum err e = blob_page_chunk_walk_next(&walk, &at);
		if (e == ERR_NOT_FOUND)
			break;
		TRY(e);
		e = add_chunk(&g, &at);
		c->too_many = e == ERR_LIMIT;
		if (c->too_many) {
			c->piece_count = 0;
			return ERR_OK;
		}
		TRY(e);
	}
	return add_zeros_to(&g, g.end);
}

/* ---- Get Page Ranges ---- */

struct lister {
	struct blob_page_ranges_call *call;
	uint64_t from, end;
	const struct arena *arena;
	size_t begin_bytes; /* of the arena */
};

static void list_ends_at(struct lister *l, uint64_t offset)
{
	l->call->more = true;
	l->call->next = offset;
}

/* False: enough was read for one answer. Chunks that differ in nothing, or go on where the last one ended, make no
 * range that would fill it. */
static bool has_room(struct lister *l, uint64_t chunk)
{
	if (l->arena->used_bytes - l->begin_bytes <= LIST_BYTES)
		return true;
	list_ends_at(l, chunk * PAGE_CHUNK_BYTES);
	return false;
}

/* False: the page is full. */
static bool add_range(struct lister *l, uint64_t begin, uint64_t end, bool clear)
{
	struct blob_page_ranges_call *c = l->call;
	begin = begin > l->from ? begin : l->from;
	end = end < l->end ? end : l->end;
	if (begin >= end)
		return true;
	struct page_range *last = c->count ? &c->range[c->count - 1] : NULL;
	if (last && last->clear == clear && last->last + 1 == begin) {
		last->last = end - 1;
		return true;
	}
	if (c->count == c->limit) {
		list_ends_at(l, begin);
		return false;
	}
	c->range[c->count++] = (struct page_range){ begin, end - 1, clear };
	return true;
}

static bool list_chunk(struct lister *l, const struct chunk_at *at)
{
	if (!has_room(l, at->index))
		return false;
	for (size_t i = 0; i < at->chunk.count; i++) {
		uint64_t begin = at->index * PAGE_CHUNK_BYTES + (uint64_t)at->chunk.span[i].first * PAGE_BYTES;
		if (!add_range(l, begin, begin + (uint64_t)at->chunk.span[i].count * PAGE_BYTES, false))
			return false;
	}
	return true;
}

/* Where a page of a chunk lies: 0 = nowhere. */
struct place {
	uint64_t extent;
	uint32_t offset;
};

static void chunk_places(const struct page_chunk *c, struct place places[PAGE_CHUNK_PAGES])
{
	memset(places, 0, PAGE_CHUNK_PAGES * sizeof *places);
	for (size_t i = 0; i < c->count && !c->hidden_epoch; i++)
		for (uint32_t k = 0; k < c->span[i].count; k++)
			places[c->span[i].first + k] =
				(struct place){ c->span[i].extent.id, c->span[i].offset + k * PAGE_BYTES };
}

/* A chunk of two states, page by page. */
struct diff {
	uint64_t before_epoch;
	struct place now[PAGE_CHUNK_PAGES], before[PAGE_CHUNK_PAGES];
	struct page_marks cleared;
};

/* Written or cleared since the snapshot: also a page that is as empty as it was then, and was not in between. */
static bool page_differs(const struct diff *d, uint32_t p)
{
	const struct place *a = &d->now[p], *b = &d->before[p];
	return a->extent != b->extent || a->offset != b->offset ||
	       (!a->extent && d->cleared.epoch[p] > d->before_epoch);
}

static bool diff_chunk(struct lister *l, uint64_t index, const struct page_chunk *now, const struct page_chunk *before,
		       struct diff *d)
{
	if (!has_room(l, index))
		return false;
	chunk_places(now, d->now);
	chunk_places(before, d->before);
	blob_page_marks_of(now, &d->cleared);
	for (uint32_t p = 0; p < PAGE_CHUNK_PAGES; p++) {
		uint64_t at = index * PAGE_CHUNK_BYTES + (uint64_t)p * PAGE_BYTES;
		if (page_differs(d, p) && !add_range(l, at, at + PAGE_BYTES, d->now[p].extent == 0))
			return false;
	}
	return true;
}

/* Both walks side by side; a chunk that only one has is compared with an empty one. */
static enum err list_diff(struct txn *txn, struct lister *l, const struct content *now, const struct content *before)
{
	struct chunk_walk wa, wb;
	struct chunk_at a, b;
	static const struct page_chunk empty;
	struct diff *d = ARENA_NEW(txn_arena(txn), struct diff);
	if (!d)
		return ERR_NO_MEMORY;
	d->before_epoch = before->epoch;
	uint64_t first = l->from / PAGE_CHUNK_BYTES, last = (l->end - 1) / PAGE_CHUNK_BYTES;
	TRY(blob_page_chunk_walk_begin(&wa, txn, now, first, last));
	TRY(blob_page_chunk_walk_begin(&wb, txn, before, first, last));
	wa.with_hidden = true;
	enum err ea = blob_page_chunk_walk_next(&wa, &a), eb = blob_page_chunk_walk_next(&wb, &b);
	for (;;) {
		/* One walk may have ended and the other failed: only two ends are the end. */
		if (ea != ERR_OK && ea != ERR_NOT_FOUND)
			return ea;
		if (eb != ERR_OK && eb != ERR_NOT_FOUND)
			return eb;
		if (ea != ERR_OK && eb != ERR_OK)
			return ERR_OK;
		bool take_a = ea == ERR_OK && (eb != ERR_OK || a.index <= b.index);
		bool take_b = eb == ERR_OK && (ea != ERR_OK || b.index <= a.index);
		TRY(txn_spend(txn, GETS_PER_DIFF));
		if (!diff_chunk(l, take_a ? a.index : b.index, take_a ? &a.chunk : &empty, take_b ? &b.chunk : &empty,
				d))
			return ERR_OK;
		if (take_a)
			ea = blob_page_chunk_walk_next(&wa, &a);
		if (take_b)
			eb = blob_page_chunk_walk_next(&wb, &b);
	}
}

static enum err load_previous(struct txn *txn, struct blob_page_ranges_call *c, struct blob *ret)
{
	enum err e = blob_history_get(txn, c->target.name, c->previous_ticks, ret);
	if (e == ERR_NOT_FOUND || (e == ERR_OK && (!ret->is_snapshot || ret->deleted_ticks)))
		return ERR_PREVIOUS_SNAPSHOT_NOT_FOUND;
	TRY(e);
	if (c->target.snapshot_ticks && c->previous_ticks > c->target.snapshot_ticks)
		return ERR_PREVIOUS_SNAPSHOT_CANNOT_BE_NEWER;
	return ret->content.id != c->blob.content.id ? ERR_BLOB_OVERWRITTEN : ERR_OK;
}

enum err blob_apply_page_ranges(struct txn *txn, void *call)
{
	struct blob_page_ranges_call *c = call;
	struct blob previous;
	c->count = 0;
	c->more = false;
	TRY(generation_require(txn, ERR_CONTAINER_NOT_FOUND));
	TRY(blob_load(txn, &c->target, &c->blob));
	TRY(blob_check_read(txn, &c->target, &c->blob));
	if (c->blob.type != BLOB_PAGE)
		return ERR_INVALID_BLOB_TYPE;
	if (blob_is_incremental(&c->blob))
		return ERR_OPERATION_NOT_ALLOWED_ON_INCREMENTAL_COPY_BLOB;
	if (c->diff)
		TRY(load_previous(txn, c, &previous));
	struct lister l = { .call = c, .from = c->from, .end = c->blob.length_bytes, .arena = txn_arena(txn) };
	if (c->has_range) {
		if (c->range_first >= c->blob.length_bytes)
			return ERR_INVALID_RANGE;
		l.from = c->range_first > l.from ? c->range_first : l.from;
		l.end = c->range_last < l.end ? c->range_last + 1 : l.end;
	}
	c->range = ARENA_NEW_ARRAY(txn_arena(txn), struct page_range, c->limit);
	if (!c->range)
		return ERR_NO_MEMORY;
	if (l.from >= l.end)
		return ERR_OK;
	l.begin_bytes = l.arena->used_bytes;
	if (c->diff)
		return list_diff(txn, &l, &c->blob.content, &previous.content);
	struct chunk_walk walk;
	struct chunk_at at;
	TRY(blob_page_chunk_walk_begin(&walk, txn, &c->blob.content, l.from / PAGE_CHUNK_BYTES,
				       (l.end - 1) / PAGE_CHUNK_BYTES));
	for (;;) {
		enum err e = blob_page_chunk_walk_next(&walk, &at);
		if (e == ERR_NOT_FOUND || (e == ERR_OK && !list_chunk(&l, &at)))
			return ERR_OK;
		TRY(e);
	}
}
