/* SPDX-License-Identifier: Apache-2.0
 * Changing runs. Every change is: cut a range free, put new runs into it. A cut through very many runs puts a cover
 * instead: it cuts the two runs at its ends, so that every other run lies inside it or outside, and hides those inside
 * until the background has removed them. */
#include "svc/file/content/run.h"

#include <assert.h>

#include "svc/file/content/merge.h"

enum {
	CUT_FEW_BYTES = 16 * 1024, /* a short write meets few runs, as a rule */
	CUT_FEW_ROWS = 4,
	CUT_PAGE_ROWS = 64
};

static const struct file_view live_view = { 0 };

/* ---- names ---- */

static bool run_has_source(const struct run *r)
{
	return r->kind == RUN_ROW || r->kind == RUN_EXTENT;
}

static void names_key(struct key *k, bool extent, uint64_t id)
{
	key_init(k);
	key_tag(k, extent ? 'x' : 'y');
	key_u64(k, id);
}

static void names_key_of(struct key *k, const struct run *r)
{
	names_key(k, r->kind == RUN_EXTENT, r->kind == RUN_EXTENT ? r->extent.id : r->source);
}

enum err run_add_names(struct txn *txn, const struct run *r, uint32_t more)
{
	struct key k;
	if (!run_has_source(r))
		return ERR_OK;
	names_key_of(&k, r);
	return names_add(txn, key_slice(&k), NAMES_IN_SHARE, more);
}

static enum err give_back(struct txn *txn, const struct run *r)
{
	struct key k;
	if (r->kind == RUN_EXTENT)
		return txn_retire(txn, &r->extent);
	source_key(&k, r->source);
	return txn_del(txn, key_slice(&k));
}

enum err run_drop_name(struct txn *txn, const struct run *r, const struct run_sharing *sharing)
{
	struct key k;
	bool last = true;
	if (!run_has_source(r))
		return ERR_OK;
	if (!sharing || (r->kind == RUN_EXTENT ? sharing->extents : sharing->sources)) {
		names_key_of(&k, r);
		TRY(names_drop(txn, key_slice(&k), NAMES_IN_SHARE, &last));
	}
	return last ? give_back(txn, r) : ERR_OK;
}

struct id_range {
	uint64_t first, last;
	bool any;
};

static void id_range_add(struct id_range *g, uint64_t id)
{
	g->first = !g->any || id < g->first ? id : g->first;
	g->last = !g->any || id > g->last ? id : g->last;
	g->any = true;
}

static enum err any_names(struct txn *txn, bool extent, const struct id_range *g, bool *ret)
{
	struct key from, until;
	*ret = false;
	if (!g->any)
		return ERR_OK;
	names_key(&from, extent, g->first);
	names_key(&until, extent, g->last);
	key_prefix_end(&until);
	return names_any(txn, key_slice(&from), key_slice(&until), ret);
}

enum err run_sharing_look(struct txn *txn, const struct run_row *row, size_t count, struct run_sharing *ret)
{
	struct id_range extents = { 0, 0, false }, sources = { 0, 0, false };
	for (size_t i = 0; i < count; i++) {
		if (row[i].run.kind == RUN_EXTENT)
			id_range_add(&extents, row[i].run.extent.id);
		else if (row[i].run.kind == RUN_ROW)
			id_range_add(&sources, row[i].run.source);
	}
	TRY(any_names(txn, true, &extents, &ret->extents));
	return any_names(txn, false, &sources, &ret->sources);
}

/* ---- rows ---- */

static enum err run_write(struct txn *txn, uint64_t content, const struct run *r)
{
	struct key k;
	struct buf b;
	run_key(&k, content, r->end - 1);
	buf_init(&b, RUN_INLINE_BYTES + 128);
	run_encode(&b, r);
	return file_row_put(txn, &k, &b);
}

enum err run_row_drop(struct txn *txn, const struct snapshots *snapshots, uint64_t as_of, const struct run_row *row,
		      const struct run_sharing *sharing)
{
	bool kept;
	TRY(history_keep_as_of(txn, snapshots, as_of, row->key, row->record, &kept));
	if (!kept)
		TRY(run_drop_name(txn, &row->run, sharing));
	return txn_del(txn, row->key);
}

/* The key may be that of a row which a cover hides: it goes now, as the background would have it. */
static enum err make_room(struct txn *txn, const struct inode *n, uint64_t last_byte)
{
	struct key k;
	struct snapshots snapshots;
	struct covers covers;
	struct run_row row;
	run_key(&k, n->content, last_byte);
	enum err e = txn_get(txn, key_slice(&k), &row.record);
	if (e != ERR_OK)
		return e == ERR_NOT_FOUND ? ERR_OK : e;
	row.key = key_slice(&k);
	TRY(run_decode(row.key, row.record, &row.run));
	TRY(covers_load(txn, &live_view, n, &covers));
	const struct cover *hides = covers_hide(&covers, &row.run);
	if (!hides)
		return ERR_CORRUPT; /* the range was cut free */
	TRY(snapshots_load(txn, &snapshots));
	return run_row_drop(txn, &snapshots, hides->stamp, &row, NULL);
}

/* ---- the only run, which its inode names ---- */

/* Is the inode's row, as it is stored, in a snapshot? Then it goes into history when the inode is put, and goes on to
 * name its run from there. */
static enum err sole_is_kept(struct txn *txn, const struct inode *n, bool *ret)
{
	struct share_state state;
	*ret = false;
	if (n->stamp == txn_now(txn))
		return ERR_OK;
	TRY(share_state_load(txn, &state));
	*ret = state.newest > n->stamp;
	return ERR_OK;
}

/* The inode no longer names its run; `more` other rows will. */
static enum err sole_leave(struct txn *txn, struct inode *n, uint32_t more)
{
	struct run r = inode_sole_run(n);
	bool kept;
	TRY(sole_is_kept(txn, n, &kept));
	uint32_t names = more + kept;
	n->sole = 0;
	n->run_count = 0;
	if (names > 1)
		return run_add_names(txn, &r, names - 1);
	return names ? ERR_OK : run_drop_name(txn, &r, NULL);
}

/* It is not the only one any more: it gets a row. */
static enum err sole_to_row(struct txn *txn, struct inode *n)
{
	struct run r = inode_sole_run(n);
	TRY(sole_leave(txn, n, 1));
	return runs_put(txn, n, &r);
}

static enum err sole_cut(struct txn *txn, struct inode *n, uint64_t first, uint64_t end)
{
	struct run r = inode_sole_run(n);
	bool left = first > 0, right = end < r.end;
	if (left && !right) { /* shorter, and still the only one */
		n->data_end = first;
		return ERR_OK;
	}
	TRY(sole_leave(txn, n, (uint32_t)left + (uint32_t)right));
	n->data_end = right ? n->data_end : 0;
	if (left) {
		struct run part = run_part(&r, 0, first);
		TRY(runs_put(txn, n, &part));
	}
	if (right) {
		struct run part = run_part(&r, end, r.end);
		TRY(runs_put(txn, n, &part));
	}
	return ERR_OK;
}

/* ---- putting ---- */

enum err runs_put(struct txn *txn, struct inode *n, struct run *r)
{
	assert(r->first < r->end && r->end - r->first <= RUN_MAX_BYTES);
	if (n->sole)
		TRY(sole_to_row(txn, n));
	if (n->covers)
		TRY(make_room(txn, n, r->end - 1));
	r->stamp = txn_now(txn);
	n->run_count++;
	n->data_end = r->end > n->data_end ? r->end : n->data_end;
	return run_write(txn, n->content, r);
}

/* ---- cutting ---- */

/* The row keeps what lies before `first` and behind `end`. */
static enum err cut_row(struct txn *txn, struct inode *n, uint64_t newest, const struct run_row *row, uint64_t first,
			uint64_t end)
{
	const struct run *r = &row->run;
	bool left = r->first<first, right = r->end> end, kept;
	uint32_t names = (uint32_t)left + (uint32_t)right;
	TRY(history_keep(txn, newest, row->key, row->record, &kept));
	names += kept;
	if (names > 1)
		TRY(run_add_names(txn, r, names - 1));
	else if (!names)
		TRY(run_drop_name(txn, r, NULL));
	n->run_count -= n->run_count ? 1 : 0;
	TRY(txn_del(txn, row->key));
	if (left) {
		struct run part = run_part(r, r->first, first);
		TRY(runs_put(txn, n, &part));
	}
	if (right) {
		struct run part = run_part(r, end, r->end);
		TRY(runs_put(txn, n, &part));
	}
	return ERR_OK;
}

struct cut {
	struct run_row *row; /* visible ones in the range, in order */
	size_t count;
	bool too_many; /* only the first RUNS_AT_ONCE are here */
};

static enum err cut_gather(struct txn *txn, const struct inode *n, uint64_t first, uint64_t end, struct cut *ret)
{
	struct run_walk w;
	struct cut c = { NULL, 0, false };
	size_t cap = 0;
	TRY(run_walk_begin(&w, txn, &live_view, n, first, end,
			   end - first <= CUT_FEW_BYTES ? CUT_FEW_ROWS : CUT_PAGE_ROWS));
	w.hidden_limit = RUNS_HIDDEN_MAX;
	for (;;) {
		struct run_row row;
		enum err e = run_walk_next(&w, &row);
		if (e == ERR_NOT_FOUND)
			break;
		TRY(e);
		c.too_many = c.count == RUNS_AT_ONCE;
		if (c.too_many)
			break;
		if (c.count == cap) {
			cap = cap ? 4 * cap : 4;
			struct run_row *more = ARENA_NEW_ARRAY(txn_arena(txn), struct run_row, cap);
			if (!more)
				return ERR_NO_MEMORY;
			if (c.count)
				memcpy(more, c.row, c.count * sizeof *more);
			c.row = more;
		}
		c.row[c.count++] = row;
		if (row.run.end >= end)
			break;
	}
	*ret = c;
	return ERR_OK;
}

/* The run that lies across `at`, one end of [first, end), keeps only what lies outside: no run lies across the end of a
 * cover. */
static enum err cut_across(struct txn *txn, struct inode *n, uint64_t newest, uint64_t at, uint64_t first, uint64_t end)
{
	struct run_walk w;
	struct run_row row;
	TRY(run_walk_begin(&w, txn, &live_view, n, at, at + 1, 4));
	w.hidden_limit = RUNS_HIDDEN_MAX;
	enum err e = run_walk_next(&w, &row);
	if (e == ERR_NOT_FOUND)
		return ERR_OK;
	TRY(e);
	return row.run.first < at ? cut_row(txn, n, newest, &row, first, end) : ERR_OK;
}

static enum err cut_by_cover(struct txn *txn, struct inode *n, const struct share_state *state, uint64_t first,
			     uint64_t end)
{
	struct covers all;
	struct cover c = { .first = first, .end = end, .stamp = txn_now(txn) };
	struct key k;
	struct buf b;
	TRY(cut_across(txn, n, state->newest, first, first, end));
	TRY(cut_across(txn, n, state->newest, end, first, end));
	TRY(covers_load(txn, &live_view, n, &all));
	if (all.count >= FILE_COVERS_MAX)
		return ERR_BUSY; /* the background is behind */
	n->covers = c.stamp;
	buf_init(&b, 64);
	cover_encode(&b, &c);
	cover_key(&k, n->content, c.stamp);
	TRY(file_row_put(txn, &k, &b));
	return work_add(txn, &(struct work){ .kind = WORK_COVER, .subject = n->content, .stamp = c.stamp });
}

/* Once the background has resolved them all, nobody needs to look for covers. */
static enum err forget_covers(struct txn *txn, struct inode *n)
{
	struct covers all;
	TRY(covers_load(txn, &live_view, n, &all));
	if (!all.count)
		n->covers = 0;
	return ERR_OK;
}

/* A short write mostly goes where one of the same length went before: then the run that it meets is found by its last
 * byte, without a scan. ERR_NOT_FOUND: there is more to it. */
static enum err cut_one(struct txn *txn, struct inode *n, uint64_t first, uint64_t end)
{
	struct share_state state;
	struct run_row row;
	struct key k;
	if (n->covers || end - first > CUT_FEW_BYTES)
		return ERR_NOT_FOUND;
	run_key(&k, n->content, end - 1);
	TRY(txn_get(txn, key_slice(&k), &row.record));
	row.key = key_slice(&k);
	TRY(run_decode(row.key, row.record, &row.run));
	if (row.run.first > first)
		return ERR_NOT_FOUND;
	TRY(share_state_load(txn, &state));
	return cut_row(txn, n, state.newest, &row, first, end);
}

enum err runs_cut(struct txn *txn, struct inode *n, uint64_t first, uint64_t end)
{
	struct share_state state = { 0 };
	struct cut cut;
	end = end < n->data_end ? end : n->data_end;
	if (!n->content || first >= end)
		return ERR_OK;
	if (n->sole)
		return sole_cut(txn, n, first, end);
	TRY(forget_covers(txn, n));
	enum err e = cut_one(txn, n, first, end);
	if (e != ERR_NOT_FOUND) {
		if (e == ERR_OK && end == n->data_end)
			n->data_end = first;
		return e;
	}
	TRY(cut_gather(txn, n, first, end, &cut));
	if (cut.count)
		TRY(share_state_load(txn, &state));
	if (cut.too_many)
		return cut_by_cover(txn, n, &state, first, end);
	for (size_t i = 0; i < cut.count; i++)
		TRY(cut_row(txn, n, state.newest, &cut.row[i], first, end));
	if (end == n->data_end)
		n->data_end = first;
	return ERR_OK;
}

enum err runs_drop_all(struct txn *txn, struct inode *n)
{
	struct key k;
	if (!n->content)
		return ERR_OK;
	merge_key(&k, n->id);
	if (n->merge_at) /* it has asked */
		TRY(txn_del(txn, key_slice(&k)));
	if (n->run_count <= RUNS_DROP_AT_ONCE)
		TRY(runs_cut(txn, n, 0, n->data_end));
	else
		TRY(work_add(txn,
			     &(struct work){ .kind = WORK_CONTENT, .subject = n->content, .stamp = txn_now(txn) }));
	n->content = n->run_count = n->merge_at = n->covers = n->data_end = n->sole = 0;
	return ERR_OK;
}

/* ---- bytes in ---- */

/* `first`: the file has no run. */
static enum err put_small(struct txn *txn, struct inode *n, uint64_t offset, struct slice bytes, bool first)
{
	struct run r = { .data_stamp = txn_now(txn), .first = offset, .end = offset + bytes.len };
	if (bytes.len <= RUN_INLINE_BYTES) {
		r.kind = RUN_INLINE;
		r.bytes = bytes;
		return runs_put(txn, n, &r);
	}
	struct key k;
	r.kind = RUN_ROW;
	r.source = txn_now(txn); /* a transaction puts at most one */
	source_key(&k, r.source);
	TRY(txn_put(txn, key_slice(&k), bytes));
	if (!first || offset)
		return runs_put(txn, n, &r);
	n->sole = r.source; /* most small files stay like this: a row less to write, and to read */
	n->run_count = 1;
	n->data_end = r.end;
	return ERR_OK;
}

/* Once a file has very many runs, the background looks whether neighbours can be joined: the first time at once, later
 * after a while, for what is being written in scattered places has few neighbours until the end. A file that waits
 * already has this write seen, too. */
static enum err merge_ask(struct txn *txn, struct inode *n)
{
	struct key k;
	struct buf b;
	struct slice there;
	struct merge_row m = { 0, 0, 0 };
	uint64_t at = n->merge_at > MERGE_FILE_RUNS ? n->merge_at : MERGE_FILE_RUNS;
	if (n->run_count <= at)
		return ERR_OK;
	if (n->merge_at)
		m.not_before_ticks = txn_now(txn) + merge_wait_ticks(n->run_count);
	n->merge_at = 2 * n->run_count;
	merge_key(&k, n->id);
	enum err e = txn_get(txn, key_slice(&k), &there);
	if (e != ERR_NOT_FOUND)
		return e;
	buf_init(&b, 32);
	merge_encode(&b, &m);
	return file_row_put(txn, &k, &b);
}

enum err inode_write(struct txn *txn, struct inode *n, uint64_t offset, const struct payload *p)
{
	assert(n->kind == FILE_KIND_FILE && offset <= n->size_bytes && p->length_bytes <= n->size_bytes - offset);
	if (!p->length_bytes)
		return ERR_OK;
	/* Contents of their own whenever there is no run left: no row of older ones can be in the way. */
	bool first = !n->content || (n->sole && !offset && p->length_bytes >= n->data_end);
	TRY(runs_cut(txn, n, offset, offset + p->length_bytes));
	if (first)
		n->content = txn_now(txn);
	if (!p->extent_count)
		TRY(put_small(txn, n, offset, p->inline_bytes, first));
	for (size_t i = 0; i < p->extent_count; i++) {
		struct run r = { .data_stamp = txn_now(txn),
				 .first = offset,
				 .end = offset + p->extents[i].length_bytes,
				 .kind = RUN_EXTENT,
				 .extent = p->extents[i] };
		TRY(txn_publish(txn, &p->extents[i]));
		TRY(runs_put(txn, n, &r));
		offset = r.end;
	}
	return merge_ask(txn, n);
}

/* A part of a page is cleared: what it had becomes zeros that stay allocated. */
static enum err clear_edge(struct txn *txn, struct inode *n, uint64_t first, uint64_t end)
{
	struct cut cut;
	if (first >= end || first >= n->data_end)
		return ERR_OK;
	TRY(cut_gather(txn, n, first, end, &cut));
	if (!cut.count)
		return ERR_OK;
	TRY(runs_cut(txn, n, first, end));
	struct run r = { .data_stamp = txn_now(txn), .first = first, .end = end, .kind = RUN_ZEROS };
	return runs_put(txn, n, &r);
}

enum err inode_clear(struct txn *txn, struct inode *n, uint64_t offset, uint64_t length)
{
	uint64_t end = offset + length;
	assert(n->kind == FILE_KIND_FILE && offset <= n->size_bytes && length <= n->size_bytes - offset);
	uint64_t first_page = (offset + RUN_PAGE_BYTES - 1) / RUN_PAGE_BYTES * RUN_PAGE_BYTES;
	/* The last page ends with the file. */
	uint64_t end_page = end == n->size_bytes ? end : end / RUN_PAGE_BYTES * RUN_PAGE_BYTES;
	if (first_page >= end_page) {
		if (first_page >= end)
			return clear_edge(txn, n, offset, end); /* within one page */
		TRY(clear_edge(txn, n, offset, first_page));
		return clear_edge(txn, n, first_page, end);
	}
	/* The edges last: a cut of many runs hides what is older than this commit, and what an edge leaves of a run
	 * that reaches into the pages would be as young. */
	TRY(runs_cut(txn, n, first_page, end_page));
	TRY(clear_edge(txn, n, offset, first_page));
	return clear_edge(txn, n, end_page, end);
}

/* ---- size ---- */

enum err inode_charge(struct txn *txn, uint64_t before, uint64_t after)
{
	struct share_state state;
	if (before == after)
		return ERR_OK;
	TRY(share_state_load(txn, &state));
	if (after > before &&
	    (state.used_bytes > state.quota_bytes || after - before > state.quota_bytes - state.used_bytes))
		return ERR_SHARE_SIZE_LIMIT_REACHED;
	if (state.used_bytes + after < before)
		return ERR_CORRUPT;
	state.used_bytes = state.used_bytes + after - before;
	return share_state_put(txn, &state);
}

enum err inode_resize(struct txn *txn, struct inode *n, uint64_t size)
{
	assert(n->kind == FILE_KIND_FILE);
	if (size > FILE_SIZE_MAX_BYTES)
		return ERR_OUT_OF_RANGE_INPUT;
	TRY(inode_charge(txn, n->size_bytes, size));
	if (size == 0)
		TRY(runs_drop_all(txn, n));
	else if (size < n->data_end)
		TRY(runs_cut(txn, n, size, n->data_end));
	n->size_bytes = size;
	return ERR_OK;
}

enum err inode_reset_contents(struct txn *txn, struct inode *n, uint64_t size)
{
	assert(n->kind == FILE_KIND_FILE);
	if (size > FILE_SIZE_MAX_BYTES)
		return ERR_OUT_OF_RANGE_INPUT;
	TRY(inode_charge(txn, n->size_bytes, size));
	TRY(runs_drop_all(txn, n));
	n->size_bytes = size;
	return ERR_OK;
}
