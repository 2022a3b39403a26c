/* SPDX-License-Identifier: Apache-2.0
 * The background's side of a share: what no inode names, what covers hide, what only a dropped snapshot needed, and the
 * end of a whole generation. One commit does a bounded piece of one work row, so that others need not wait long; a row
 * that cannot be worked on does not keep the others. */
#include "svc/file/content/merge.h"
#include "svc/file/content/run.h"
#include "svc/file/file.h"

enum {
	WORK_ROWS = 128, /* rows gone through in a commit: at most three writes each */
	WORK_ITEMS = 8,	 /* rows of work looked at in a round */
	EMPTY_ROWS = 512,
	WORK_ARENA_BYTES = 64 * 1024 * 1024
};

static const struct file_view live_view = { 0 };

struct piece {
	size_t skip;	/* in: work rows before this one could not be worked on */
	bool found;	/* out: there was one */
	bool more;	/* out: there may be more to do */
	bool any_merge; /* out of the look: files wait for a merge */
};

/* How far a scan came: `next` is where to go on, absent at the end. */
static enum err next_key(struct txn *txn, const struct rows *rows, struct slice *ret)
{
	struct key k;
	*ret = SLICE_NONE;
	if (!rows->more)
		return ERR_OK;
	key_after(&k, rows->row[rows->count - 1].key);
	*ret = arena_dup(txn_arena(txn), key_slice(&k));
	return slice_is_set(*ret) ? ERR_OK : ERR_NO_MEMORY;
}

static enum err scan_from(struct txn *txn, struct slice next, const struct key *from, const struct key *until,
			  struct rows *ret)
{
	struct scan_spec spec = { .from = next.len ? next : key_slice(from),
				  .until = key_slice(until),
				  .limit_rows = WORK_ROWS };
	return txn_scan(txn, &spec, ret);
}

/* Rows of runs, of the file or of history, that are gone through together. */
struct run_page {
	struct run_row *row; /* of history the key is the row's own */
	size_t count;
	struct run_sharing sharing;
};

static enum err run_page_begin(struct txn *txn, size_t limit, struct run_page *ret)
{
	ret->count = 0;
	ret->row = ARENA_NEW_ARRAY(txn_arena(txn), struct run_row, limit ? limit : 1);
	return ret->row ? ERR_OK : ERR_NO_MEMORY;
}

static enum err run_page_add(struct run_page *p, struct slice key, struct slice record)
{
	struct run_row *row = &p->row[p->count];
	row->key = key;
	row->record = record;
	TRY(run_decode(key, record, &row->run));
	p->count++;
	return ERR_OK;
}

/* The only run of an inode that history held. */
static enum err run_page_add_sole(struct txn *txn, struct run_page *p, struct slice record)
{
	struct inode n;
	TRY(inode_decode(record, txn_arena(txn), &n));
	if (n.sole)
		p->row[p->count++] = (struct run_row){ SLICE_NONE, SLICE_NONE, inode_sole_run(&n) };
	return ERR_OK;
}

static enum err run_page_load(struct txn *txn, const struct rows *rows, struct run_page *ret)
{
	TRY(run_page_begin(txn, rows->count, ret));
	for (size_t i = 0; i < rows->count; i++)
		TRY(run_page_add(ret, rows->row[i].key, rows->row[i].value));
	return run_sharing_look(txn, ret->row, ret->count, &ret->sharing);
}

static enum err run_page_drop_names(struct txn *txn, struct run_page *p)
{
	TRY(run_sharing_look(txn, p->row, p->count, &p->sharing));
	for (size_t i = 0; i < p->count; i++)
		TRY(run_drop_name(txn, &p->row[i].run, &p->sharing));
	return ERR_OK;
}

/* ---- contents without an inode ---- */

static enum err del_covers(struct txn *txn, uint64_t content, const struct covers *covers)
{
	struct key k;
	for (size_t i = 0; i < covers->count; i++) {
		cover_key(&k, content, covers->cover[i].stamp);
		TRY(txn_del(txn, key_slice(&k)));
	}
	return ERR_OK;
}

static enum err do_content(struct txn *txn, const struct work *w, struct slice *ret_next)
{
	struct key from, until;
	struct rows rows;
	struct run_page page;
	struct covers covers;
	struct snapshots snapshots;
	run_key(&from, w->subject, 0);
	run_key(&until, w->subject, UINT64_MAX);
	TRY(covers_load_content(txn, &live_view, w->subject, &covers));
	TRY(snapshots_load(txn, &snapshots));
	TRY(scan_from(txn, w->next, &from, &until, &rows));
	TRY(run_page_load(txn, &rows, &page));
	for (size_t i = 0; i < page.count; i++) {
		const struct cover *hides = covers_hide(&covers, &page.row[i].run);
		TRY(run_row_drop(txn, &snapshots, hides ? hides->stamp : w->stamp, &page.row[i], &page.sharing));
	}
	TRY(next_key(txn, &rows, ret_next));
	return slice_is_set(*ret_next) ? ERR_OK : del_covers(txn, w->subject, &covers);
}

/* ---- covers ---- */

static enum err do_cover(struct txn *txn, const struct work *w, struct slice *ret_next)
{
	struct key k, from, until;
	struct slice value;
	struct rows rows;
	struct run_page page;
	struct cover cover;
	struct covers covers;
	struct snapshots snapshots;
	*ret_next = SLICE_NONE;
	cover_key(&k, w->subject, w->stamp);
	enum err e = txn_get(txn, key_slice(&k), &value);
	if (e != ERR_OK)
		return e == ERR_NOT_FOUND ? ERR_OK : e; /* its content went first */
	TRY(cover_decode(key_slice(&k), value, &cover));
	TRY(covers_load_content(txn, &live_view, w->subject, &covers));
	TRY(snapshots_load(txn, &snapshots));
	run_key(&from, w->subject, cover.first);
	run_key(&until, w->subject, cover.end);
	TRY(scan_from(txn, w->next, &from, &until, &rows));
	TRY(run_page_load(txn, &rows, &page));
	for (size_t i = 0; i < page.count; i++) {
		const struct cover *hides = covers_hide(&covers, &page.row[i].run);
		if (hides)
			TRY(run_row_drop(txn, &snapshots, hides->stamp, &page.row[i], &page.sharing));
	}
	TRY(next_key(txn, &rows, ret_next));
	return slice_is_set(*ret_next) ? ERR_OK : txn_del(txn, key_slice(&k));
}

/* ---- dropped snapshots ---- */

/* A history row whose interval no snapshot is in any more goes. */
static enum err do_history_row(struct txn *txn, const struct snapshots *snapshots, const struct row *row,
			       struct run_page *runs)
{
	struct slice key;
	uint64_t number, stamp;
	if (!history_key_split(row->key, &key, &number))
		return ERR_CORRUPT;
	TRY(file_row_stamp(row->value, &stamp));
	if (snapshots_between(snapshots, stamp, number))
		return ERR_OK;
	if (key.ptr[0] == 'r')
		TRY(run_page_add(runs, key, row->value));
	else if (key.ptr[0] == 'n')
		TRY(run_page_add_sole(txn, runs, row->value));
	return txn_del(txn, row->key);
}

static enum err do_snapshot(struct txn *txn, const struct work *w, struct slice *ret_next)
{
	struct key from, until;
	struct rows rows;
	struct run_page runs;
	struct snapshots snapshots;
	key_init(&from);
	key_tag(&from, 'h');
	until = from;
	key_prefix_end(&until);
	TRY(snapshots_load(txn, &snapshots));
	TRY(scan_from(txn, w->next, &from, &until, &rows));
	TRY(run_page_begin(txn, rows.count, &runs));
	for (size_t i = 0; i < rows.count; i++)
		TRY(do_history_row(txn, &snapshots, &rows.row[i], &runs));
	TRY(run_page_drop_names(txn, &runs));
	return next_key(txn, &rows, ret_next);
}

/* ---- a round ---- */

static enum err do_work(struct txn *txn, const struct row *row)
{
	struct work w;
	struct slice next; /* not in its own place: what is done reads where it came to, too */
	struct key k;
	struct buf b;
	TRY(work_decode(row->value, &w));
	enum err e = w.kind == WORK_CONTENT ? do_content(txn, &w, &next)
		     : w.kind == WORK_COVER ? do_cover(txn, &w, &next)
					    : do_snapshot(txn, &w, &next);
	TRY(e);
	w.next = next;
	if (!slice_is_set(w.next))
		return txn_del(txn, row->key);
	buf_init(&b, 2 * LIMIT_KEY_BYTES);
	work_encode(&b, &w);
	work_key(&k, w.stamp, w.subject);
	return file_row_put(txn, &k, &b);
}

static enum err apply_piece(struct txn *txn, void *call)
{
	struct piece *p = call;
	struct rows rows;
	struct scan_spec spec = { .from = SLICE("w"), .until = SLICE("x"), .limit_rows = p->skip + 1 };
	TRY(txn_scan(txn, &spec, &rows));
	p->found = rows.count > p->skip;
	p->more = p->found;
	return p->found ? do_work(txn, &rows.row[p->skip]) : ERR_OK;
}

/* Is there anything? Asked without a commit, so that an idle share costs none. */
static enum err apply_look(struct txn *txn, void *call)
{
	struct piece *p = call;
	struct rows rows;
	struct scan_spec work = { .from = SLICE("w"), .until = SLICE("x"), .limit_rows = 1, .keys_only = true };
	struct scan_spec merge = { .from = SLICE("m"), .until = SLICE("n"), .limit_rows = 1, .keys_only = true };
	TRY(txn_scan(txn, &work, &rows));
	p->found = rows.count != 0;
	TRY(txn_scan(txn, &merge, &rows));
	p->any_merge = rows.count != 0;
	return ERR_OK;
}

enum err file_round(struct store *store, struct slice partition, bool *ret_more)
{
	struct arena arena;
	struct piece p = { .skip = 0 };
	enum err first = ERR_OK;
	bool merged = false;
	arena_init(&arena, WORK_ARENA_BYTES);
	enum err e = store_look(store, partition, apply_look, &p, &arena);
	bool any_merge = e == ERR_OK && p.any_merge, any_work = e == ERR_OK && p.found;
	first = e;
	for (; any_work && p.skip < WORK_ITEMS; p.skip++) {
		arena_reset(&arena);
		e = store_write_wait(store, partition, apply_piece, &p, &arena);
		if (e == ERR_OK || e == ERR_STOPPED)
			break;
		first = first == ERR_OK ? e : first;
	}
	if (any_merge) {
		e = merge_round(store, partition, &merged);
		first = first == ERR_OK ? e : first;
	}
	arena_fini(&arena);
	if (first == ERR_OK)
		*ret_more = (any_work && p.more) || merged;
	return first;
}

/* ---- a dropped generation ---- */

static enum err empty_rows(struct txn *txn, bool history, size_t *ret_count)
{
	struct rows rows;
	struct run_page runs;
	struct scan_spec spec = { .from = history ? SLICE("h") : SLICE("r"),
				  .until = history ? SLICE("i") : SLICE("s"),
				  .limit_rows = EMPTY_ROWS };
	TRY(txn_scan(txn, &spec, &rows));
	TRY(run_page_begin(txn, rows.count, &runs));
	for (size_t i = 0; i < rows.count; i++) {
		struct slice key = rows.row[i].key;
		uint64_t number;
		if (history && !history_key_split(rows.row[i].key, &key, &number))
			return ERR_CORRUPT;
		if (key.ptr[0] == 'r')
			TRY(run_page_add(&runs, key, rows.row[i].value));
		TRY(txn_del(txn, rows.row[i].key));
	}
	TRY(run_page_drop_names(txn, &runs));
	*ret_count = rows.count;
	return ERR_OK;
}

static enum err apply_empty(struct txn *txn, void *call)
{
	struct piece *p = call;
	size_t count;
	TRY(empty_rows(txn, false, &count));
	if (!count)
		TRY(empty_rows(txn, true, &count));
	p->more = count != 0;
	return ERR_OK;
}

enum err file_empty(struct store *store, struct slice partition, bool *ret_more)
{
	struct arena arena;
	struct piece p = { .more = false };
	arena_init(&arena, WORK_ARENA_BYTES);
	enum err e = store_write_wait(store, partition, apply_empty, &p, &arena);
	arena_fini(&arena);
	if (e == ERR_OK)
		*ret_more = p.more;
	return e;
}
