/* SPDX-License-Identifier: Apache-2.0
 * List Ranges and the difference to a snapshot. Runs are gone through in bounded pieces whose memory is given back,
 * so a file of ten million runs costs no more of it than one of ten. */
#include "svc/file/content/run.h"
#include "svc/file/target.h"

#include <assert.h>

enum {
	BATCH_ROWS = 1024,
	WINDOW_PAGES = 2048, /* of a diff, looked at together */
	WINDOWS_A_CALL = 16384,
	BATCHES_A_CALL = 16384
};
#define WINDOW_BYTES ((uint64_t)WINDOW_PAGES * RUN_PAGE_BYTES)

struct lister {
	struct txn *txn;
	struct file_ranges_call *call;
	uint64_t from, end; /* asked for, within the file */
	uint64_t look_end;  /* the end of its last page: bytes behind `end` count, too, for what that page is */
};

static void list_ends_at(struct lister *l, uint64_t offset)
{
	l->call->more = true;
	l->call->next = offset;
}

/* False: the answer is full. */
static bool add_range(struct lister *l, uint64_t first, uint64_t end, bool clear)
{
	struct file_ranges_call *c = l->call;
	first = first > l->from ? first : l->from;
	end = end < l->end ? end : l->end;
	struct file_range *last = c->count ? &c->range[c->count - 1] : NULL;
	if (last && last->clear == clear && first <= last->last + 1) {
		if (end > last->last + 1)
			last->last = end - 1;
		return true;
	}
	if (first >= end)
		return true;
	if (c->count == c->limit) {
		list_ends_at(l, first);
		return false;
	}
	assert(c->range);
	c->range[c->count++] = (struct file_range){ first, end - 1, clear };
	return true;
}

static uint64_t page_floor(uint64_t offset)
{
	return offset - offset % RUN_PAGE_BYTES;
}

static uint64_t page_ceil(uint64_t offset)
{
	return page_floor(offset + RUN_PAGE_BYTES - 1);
}

static bool add_run(struct lister *l, const struct run *r)
{
	return l->call->exact ? add_range(l, r->first, r->end, false)
			      : add_range(l, page_floor(r->first), page_ceil(r->end), false);
}

/* One batch from *at on, which moves behind it. */
static enum err list_batch(struct lister *l, const struct file_view *view, uint64_t *at, bool *ret_done)
{
	struct run_walk w;
	TRY(run_walk_begin(&w, l->txn, view, &l->call->inode, *at, l->look_end, BATCH_ROWS / 4));
	for (size_t i = 0; i < BATCH_ROWS; i++) {
		struct run_row row;
		enum err e = run_walk_next(&w, &row);
		*ret_done = e == ERR_NOT_FOUND;
		if (*ret_done)
			return ERR_OK;
		TRY(e);
		*ret_done = !add_run(l, &row.run);
		if (*ret_done)
			return ERR_OK;
		*at = row.run.end;
	}
	return ERR_OK;
}

static enum err list_runs(struct lister *l, const struct file_view *view)
{
	/* A page counts as a whole, also if the range begins or ends inside it. */
	uint64_t at = l->call->exact ? l->from : page_floor(l->from);
	bool done = false;
	for (size_t i = 0; !done && at < l->end; i++) {
		struct arena_position position = arena_position(txn_arena(l->txn));
		if (i == BATCHES_A_CALL) {
			list_ends_at(l, at);
			return ERR_OK;
		}
		TRY(list_batch(l, view, &at, &done));
		arena_rewind(txn_arena(l->txn), position);
	}
	return ERR_OK;
}

/* ---- difference ---- */

enum { PAGE_NOW = 1, PAGE_WRITTEN = 2, PAGE_BEFORE = 4 };

struct diff {
	const struct inode *now, *before;
	struct file_view now_view, before_view;
	unsigned char page[WINDOW_PAGES];
	/* Bytes that lay in runs before, less those that do now. Runs of before only lose bytes, to writes or to a
	 * resize; what a resize took from the middle of a page shows here alone. */
	int16_t lost[WINDOW_PAGES];
};

/* One of the two states: its walk, and the run it is at. */
struct side {
	struct run_walk walk;
	struct run_row head;
	bool has;
};

static void mark_run(struct diff *d, const struct run *r, uint64_t window, uint64_t limit, bool before)
{
	uint64_t first = r->first > window ? r->first - window : 0;
	uint64_t end = (r->end < limit ? r->end : limit) - window;
	unsigned char mark = before				       ? PAGE_BEFORE
			     : r->data_stamp > d->before_view.snapshot ? PAGE_NOW | PAGE_WRITTEN
								       : PAGE_NOW;
	end = end < WINDOW_BYTES ? end : WINDOW_BYTES;
	while (first < end) {
		uint64_t p = first / RUN_PAGE_BYTES, page_end = (p + 1) * RUN_PAGE_BYTES;
		int bytes = (int)((end < page_end ? end : page_end) - first);
		d->page[p] |= mark;
		d->lost[p] = (int16_t)(d->lost[p] + (before ? bytes : -bytes));
		first = page_end;
	}
}

/* Marks the pages of its runs in a window, up to `limit`, where the file ends or the last page that was asked for. */
static enum err mark_side(struct side *s, struct diff *d, uint64_t window, uint64_t limit, bool before)
{
	while (s->has && s->head.run.first < window + WINDOW_BYTES) {
		const struct run *r = &s->head.run;
		mark_run(d, r, window, limit, before);
		if (r->end >= window + WINDOW_BYTES)
			return ERR_OK; /* goes on in the next one */
		enum err e = run_walk_next(&s->walk, &s->head);
		s->has = e == ERR_OK;
		if (e != ERR_NOT_FOUND)
			TRY(e);
	}
	return ERR_OK;
}

static enum err walk_open(struct lister *l, const struct file_view *view, const struct inode *n, uint64_t at,
			  struct side *s)
{
	s->has = false;
	if (!n->content)
		return ERR_OK;
	TRY(run_walk_begin(&s->walk, l->txn, view, n, at, l->look_end, 256));
	enum err e = run_walk_next(&s->walk, &s->head);
	s->has = e == ERR_OK;
	return e == ERR_NOT_FOUND ? ERR_OK : e;
}

static bool list_window(struct lister *l, const struct diff *d, uint64_t window)
{
	for (size_t p = 0; p < WINDOW_PAGES; p++) {
		uint64_t first = window + p * RUN_PAGE_BYTES;
		bool written = (d->page[p] & PAGE_WRITTEN) || ((d->page[p] & PAGE_NOW) && d->lost[p]);
		bool cleared = (d->page[p] & (PAGE_BEFORE | PAGE_NOW)) == PAGE_BEFORE;
		if ((written || cleared) && !add_range(l, first, first + RUN_PAGE_BYTES, cleared))
			return false;
	}
	return true;
}

/* The next window at or behind *at that has runs in either state. */
static enum err diff_window(struct lister *l, struct diff *d, uint64_t *at, bool *ret_done)
{
	struct side now, before;
	TRY(walk_open(l, &d->now_view, d->now, *at, &now));
	TRY(walk_open(l, &d->before_view, d->before, *at, &before));
	*ret_done = !now.has && !before.has;
	if (*ret_done)
		return ERR_OK;
	uint64_t first = now.has ? now.head.run.first : before.head.run.first;
	if (before.has && before.head.run.first < first)
		first = before.head.run.first;
	uint64_t window = page_floor(first > *at ? first : *at);
	memset(d->page, 0, sizeof d->page);
	memset(d->lost, 0, sizeof d->lost);
	TRY(mark_side(&now, d, window, l->look_end, false));
	TRY(mark_side(&before, d, window, l->look_end, true));
	*ret_done = !list_window(l, d, window);
	*at = window + WINDOW_BYTES;
	return ERR_OK;
}

static enum err list_diff(struct lister *l, struct diff *d)
{
	uint64_t at = page_floor(l->from);
	bool done = false;
	for (size_t i = 0; !done && at < l->end; i++) {
		struct arena_position position = arena_position(txn_arena(l->txn));
		if (i == WINDOWS_A_CALL) {
			list_ends_at(l, at);
			return ERR_OK;
		}
		TRY(diff_window(l, d, &at, &done));
		arena_rewind(txn_arena(l->txn), position);
	}
	return ERR_OK;
}

/* No such file was there then. If another one of its name was, it was deleted and made anew since. */
static enum err not_there_before(struct txn *txn, const struct file_ranges_call *c, const struct file_view *view)
{
	struct inode other;
	enum err e =
		c->target.place.by_id ? ERR_RESOURCE_NOT_FOUND : inode_find(txn, view, &c->target.place, NULL, &other);
	if (e == ERR_OK)
		return other.kind == FILE_KIND_FILE ? ERR_FILE_GENERATION_MISMATCH : ERR_RESOURCE_NOT_FOUND;
	return e == ERR_PARENT_NOT_FOUND ? ERR_RESOURCE_NOT_FOUND : e;
}

/* The file as the earlier snapshot has it. */
static enum err find_before(struct txn *txn, struct file_ranges_call *c, const struct file_view *now_view,
			    struct file_view *ret_view, struct inode *ret)
{
	struct share_snapshot s;
	struct inode by_path;
	enum err e = share_snapshot_find(txn, c->previous_ticks, &s);
	if (e == ERR_NOT_FOUND)
		return ERR_SHARE_NOT_FOUND;
	TRY(e);
	if (now_view->snapshot && s.number > now_view->snapshot)
		return ERR_PREVIOUS_SNAPSHOT_CANNOT_BE_NEWER;
	ret_view->snapshot = s.number;
	e = inode_get(txn, ret_view, c->inode.id, ret);
	if (e == ERR_RESOURCE_NOT_FOUND)
		return not_there_before(txn, c, ret_view);
	TRY(e);
	if (ret->born_ticks != c->inode.born_ticks)
		return ERR_FILE_GENERATION_MISMATCH;
	if (c->follow_rename || c->target.place.by_id)
		return ERR_OK;
	e = inode_find(txn, ret_view, &c->target.place, NULL, &by_path);
	if (e == ERR_OK && by_path.id == c->inode.id)
		return ERR_OK;
	return e == ERR_OK || e == ERR_RESOURCE_NOT_FOUND || e == ERR_PARENT_NOT_FOUND ? ERR_FILE_GENERATION_MISMATCH
										       : e;
}

static enum err list_all(struct txn *txn, struct file_ranges_call *c, const struct file_view *view)
{
	struct lister l = { .txn = txn, .call = c, .from = c->from, .end = c->inode.size_bytes };
	struct inode before;
	struct diff *d;
	if (c->has_range) {
		if (c->range_first >= c->inode.size_bytes)
			return ERR_INVALID_RANGE;
		l.from = c->range_first > l.from ? c->range_first : l.from;
		l.end = c->range_last < l.end ? c->range_last + 1 : l.end;
	}
	l.look_end = c->exact ? l.end : page_ceil(l.end);
	if (l.look_end > c->inode.size_bytes)
		l.look_end = c->inode.size_bytes;
	if (!c->diff)
		return l.from < l.end && c->inode.content ? list_runs(&l, view) : ERR_OK;
	d = ARENA_NEW(txn_arena(txn), struct diff);
	if (!d)
		return ERR_NO_MEMORY;
	TRY(find_before(txn, c, view, &d->before_view, &before));
	d->now = &c->inode;
	d->before = &before;
	d->now_view = *view;
	return l.from < l.end ? list_diff(&l, d) : ERR_OK;
}

enum err file_apply_ranges(struct txn *txn, void *call)
{
	struct file_ranges_call *c = call;
	struct file_view view;
	c->count = 0;
	c->more = false;
	TRY(target_read(txn, &c->target, &view, &c->inode));
	if (c->inode.kind != FILE_KIND_FILE)
		return ERR_RESOURCE_NOT_FOUND;
	TRY(target_check_read(txn, &c->target, &c->inode, FILE_REST_LIST_RANGES));
	c->range = ARENA_NEW_ARRAY(txn_arena(txn), struct file_range, c->limit ? c->limit : 1);
	if (!c->range)
		return ERR_NO_MEMORY;
	return list_all(txn, c, &view);
}
