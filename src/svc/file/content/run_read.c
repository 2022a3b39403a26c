/* SPDX-License-Identifier: Apache-2.0
 * Walking runs: which rows of a content a view sees, and the pieces of a read. */
#include "svc/file/content/run.h"

#include <assert.h>

enum {
	READ_PAGE_ROWS = 64,
	PIECES_FIRST = 16,
	RECENT_ROWS = 16,
	PIECES_MEMORY_BYTES = 10 * 1024 * 1024 /* of bytes that lie in rows, in one answer: the largest SMB read fits */
};

/* ---- covers ---- */

enum err covers_load_content(struct txn *txn, const struct file_view *view, uint64_t content, struct covers *ret)
{
	struct key from, until;
	struct rows rows;
	struct covers all = { NULL, 0 };
	cover_key(&from, content, 0);
	/* A snapshot does not see what was cut after it. */
	cover_key(&until, content, view->snapshot ? view->snapshot : UINT64_MAX);
	struct scan_spec spec = { .from = key_slice(&from), .until = key_slice(&until), .limit_rows = FILE_COVERS_MAX };
	TRY(txn_scan(txn, &spec, &rows));
	if (rows.count) {
		all.cover = ARENA_NEW_ARRAY(txn_arena(txn), struct cover, rows.count);
		if (!all.cover)
			return ERR_NO_MEMORY;
	}
	for (; all.count < rows.count; all.count++)
		TRY(cover_decode(rows.row[all.count].key, rows.row[all.count].value, &all.cover[all.count]));
	*ret = all;
	return ERR_OK;
}

enum err covers_load(struct txn *txn, const struct file_view *view, const struct inode *n, struct covers *ret)
{
	if (n->covers)
		return covers_load_content(txn, view, n->content, ret);
	*ret = (struct covers){ NULL, 0 };
	return ERR_OK;
}

const struct cover *covers_hide(const struct covers *all, const struct run *r)
{
	for (size_t i = 0; i < all->count; i++) {
		const struct cover *c = &all->cover[i];
		if (r->stamp < c->stamp && r->first >= c->first && r->end <= c->end)
			return c;
	}
	return NULL;
}

/* ---- walks ---- */

static enum err is_uncovered(void *arg, const struct row *row, bool *ret_visible)
{
	struct run_walk *w = arg;
	struct run run;
	TRY(run_decode(row->key, row->value, &run));
	*ret_visible = !covers_hide(&w->covers, &run);
	if (!*ret_visible && w->hidden_limit && ++w->hidden > w->hidden_limit)
		return ERR_BUSY;
	return ERR_OK;
}

struct run inode_sole_run(const struct inode *n)
{
	assert(n->sole);
	return (struct run){
		.stamp = n->stamp, .data_stamp = n->sole, .end = n->data_end, .kind = RUN_ROW, .source = n->sole
	};
}

enum err run_walk_begin(struct run_walk *w, struct txn *txn, const struct file_view *view, const struct inode *n,
			uint64_t first, uint64_t end, size_t page_rows)
{
	struct key from, until;
	w->first = first;
	w->end = end;
	w->hidden = w->hidden_limit = 0;
	w->is_sole = n->sole != 0;
	if (w->is_sole) {
		w->sole = inode_sole_run(n);
		w->sole_left = w->sole.end > first;
		return ERR_OK;
	}
	TRY(covers_load(txn, view, n, &w->covers));
	run_key(&from, n->content, first);
	/* A run that reaches into the range ends at most this far behind it. */
	run_key(&until, n->content, end + RUN_MAX_BYTES);
	TRY(file_row_walk_begin(&w->rows, txn, view, &from, &until, page_rows));
	if (w->covers.count) {
		w->rows.filter = is_uncovered;
		w->rows.filter_arg = w;
	}
	return ERR_OK;
}

enum err run_walk_next(struct run_walk *w, struct run_row *ret)
{
	struct row row;
	struct run run;
	if (w->is_sole) {
		if (!w->sole_left)
			return ERR_NOT_FOUND;
		w->sole_left = false;
		*ret = (struct run_row){ SLICE_NONE, SLICE_NONE, w->sole };
		return ERR_OK;
	}
	TRY(file_row_walk_next(&w->rows, &row));
	TRY(run_decode(row.key, row.value, &run));
	if (run.first >= w->end)
		return ERR_NOT_FOUND;
	*ret = (struct run_row){ row.key, row.value, run };
	return ERR_OK;
}

struct run run_part(const struct run *r, uint64_t first, uint64_t end)
{
	struct run part = *r;
	assert(r->first < end && first < r->end);
	part.first = first > r->first ? first : r->first;
	part.end = end < r->end ? end : r->end;
	uint64_t skip = part.first - r->first;
	if (r->kind == RUN_INLINE)
		part.bytes = slice_make(r->bytes.ptr + skip, part.end - part.first);
	else if (r->kind != RUN_ZEROS)
		part.offset = r->offset + (uint32_t)skip;
	return part;
}

/* ---- pieces ---- */

struct gather {
	struct txn *txn;
	struct file_pieces out;
	size_t cap, limit;
	size_t memory_bytes; /* of the pieces that are in memory */
	/* Rows that were just read: a write that was cut into many runs is still one row. */
	struct {
		uint64_t source;
		struct slice bytes;
	} recent[RECENT_ROWS];
	size_t recent_next;
};

static enum err source_bytes(struct gather *g, uint64_t source, struct slice *ret)
{
	struct key k;
	for (size_t i = 0; i < RECENT_ROWS; i++) {
		if (g->recent[i].source != source)
			continue;
		*ret = g->recent[i].bytes;
		return ERR_OK;
	}
	source_key(&k, source);
	enum err e = txn_get(g->txn, key_slice(&k), ret);
	if (e == ERR_NOT_FOUND) /* a run names it */
		return ERR_CORRUPT;
	TRY(e);
	g->memory_bytes += ret->len;
	g->recent[g->recent_next].source = source;
	g->recent[g->recent_next].bytes = *ret;
	g->recent_next = (g->recent_next + 1) % RECENT_ROWS;
	return ERR_OK;
}

/* ERR_LIMIT: there are enough. */
static enum err add_piece(struct gather *g, const struct file_piece *p)
{
	if (g->out.count == g->limit || g->memory_bytes > PIECES_MEMORY_BYTES)
		return ERR_LIMIT;
	if (g->out.count == g->cap) {
		size_t cap = g->cap ? 2 * g->cap : PIECES_FIRST;
		struct file_piece *more = ARENA_NEW_ARRAY(txn_arena(g->txn), struct file_piece, cap);
		if (!more)
			return ERR_NO_MEMORY;
		if (g->out.count)
			memcpy(more, g->out.piece, g->out.count * sizeof *more);
		g->out.piece = more;
		g->cap = cap;
	}
	g->out.piece[g->out.count++] = *p;
	g->out.length_bytes += p->length_bytes;
	return ERR_OK;
}

static enum err add_zeros(struct gather *g, uint64_t length)
{
	return length ? add_piece(g, &(struct file_piece){ .length_bytes = length }) : ERR_OK;
}

static enum err add_run(struct gather *g, const struct run *r)
{
	struct file_piece p = { .length_bytes = r->end - r->first };
	struct slice bytes;
	switch (r->kind) {
	case RUN_ZEROS:
		break;
	case RUN_INLINE:
		p.bytes = r->bytes;
		break; /* few bytes, and the limit of pieces counts them */
	case RUN_ROW:
		TRY(source_bytes(g, r->source, &bytes));
		if (r->offset > bytes.len || p.length_bytes > bytes.len - r->offset)
			return ERR_CORRUPT;
		p.bytes = slice_make(bytes.ptr + r->offset, p.length_bytes);
		break;
	case RUN_EXTENT:
		p.extent = r->extent;
		p.offset = r->offset;
		break;
	}
	return add_piece(g, &p);
}

static enum err gather_runs(struct gather *g, struct run_walk *w, uint64_t offset, uint64_t end)
{
	for (;;) {
		struct run_row row;
		enum err e = run_walk_next(w, &row);
		if (e == ERR_NOT_FOUND)
			return add_zeros(g, end - offset - g->out.length_bytes);
		TRY(e);
		struct run part = run_part(&row.run, offset, end);
		uint64_t at = offset + g->out.length_bytes;
		if (part.first < at)
			return ERR_CORRUPT; /* visible runs never overlap */
		TRY(add_zeros(g, part.first - at));
		TRY(add_run(g, &part));
		if (part.end == end)
			return ERR_OK;
	}
}

enum err inode_pieces(struct txn *txn, const struct file_view *view, const struct inode *n, uint64_t offset,
		      uint64_t length, size_t limit, struct file_pieces *ret)
{
	struct gather g = { .txn = txn, .limit = limit };
	struct run_walk w;
	assert(limit > 0);
	enum err e;
	if (!n->content || offset >= n->data_end) {
		e = add_zeros(&g, length);
	} else {
		size_t rows = length / RUN_INLINE_BYTES + 2;
		TRY(run_walk_begin(&w, txn, view, n, offset, offset + length,
				   rows < READ_PAGE_ROWS ? rows : READ_PAGE_ROWS));
		e = gather_runs(&g, &w, offset, offset + length);
	}
	if (e != ERR_OK && (e != ERR_LIMIT || !g.out.count))
		return e;
	*ret = g.out;
	return ERR_OK;
}

static enum err last_run_get(struct txn *txn, const struct inode *n, struct run *ret)
{
	struct key k;
	struct slice record;
	if (!n->content || !n->data_end)
		return ERR_CONFLICT;
	if (n->sole) {
		*ret = inode_sole_run(n);
		return ERR_OK;
	}
	run_key(&k, n->content, n->data_end - 1);
	enum err e = txn_get(txn, key_slice(&k), &record);
	if (e == ERR_NOT_FOUND)
		return ERR_CONFLICT;
	TRY(e);
	return run_decode(key_slice(&k), record, ret);
}

enum err inode_last_run(struct txn *txn, const struct inode *n, uint64_t offset, uint64_t length,
			struct file_pieces *ret)
{
	struct gather g = { .txn = txn, .limit = 2 }; /* of it, and zeros behind it */
	uint64_t end = offset + length;
	struct run run;
	TRY(last_run_get(txn, n, &run));
	if (run.first > offset || run.end <= offset)
		return ERR_CONFLICT;
	struct run part = run_part(&run, offset, end);
	enum err e = add_run(&g, &part);
	TRY(e == ERR_CORRUPT ? ERR_CONFLICT : e); /* its bytes may be gone by now: a snapshot tells */
	TRY(add_zeros(&g, end - part.end));
	*ret = g.out;
	return ERR_OK;
}
