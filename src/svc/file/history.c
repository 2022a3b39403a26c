/* SPDX-License-Identifier: Apache-2.0
 * History rows and reading through them. */
#include "svc/file/history.h"

#include <assert.h>

enum err snapshots_load(struct txn *txn, struct snapshots *ret)
{
	struct rows rows;
	struct scan_spec spec = { .from = SLICE("S"), .until = SLICE("T"), .limit_rows = SHARE_SNAPSHOTS_MAX + 1 };
	struct arena_position position = arena_position(txn_arena(txn));
	TRY(txn_scan(txn, &spec, &rows));
	if (rows.count > SHARE_SNAPSHOTS_MAX || rows.more)
		return ERR_CORRUPT;
	ret->count = 0;
	for (size_t i = 0; i < rows.count; i++) {
		struct share_snapshot s;
		TRY(snapshot_decode(rows.row[i].value, txn_arena(txn), &s));
		/* Names and numbers grow together. */
		if (ret->count && s.number <= ret->number[ret->count - 1])
			return ERR_CORRUPT;
		ret->number[ret->count++] = s.number;
	}
	arena_rewind(txn_arena(txn), position);
	return ERR_OK;
}

uint64_t snapshots_between(const struct snapshots *s, uint64_t stamp, uint64_t until)
{
	for (size_t i = s->count; i-- > 0;)
		if (s->number[i] <= until)
			return s->number[i] > stamp ? s->number[i] : 0;
	return 0;
}

static enum err keep_under(struct txn *txn, uint64_t number, struct slice key, struct slice record)
{
	struct key k;
	history_key(&k, key, number);
	return k.overflow ? ERR_LIMIT : txn_put(txn, key_slice(&k), record);
}

enum err history_keep(struct txn *txn, uint64_t newest, struct slice key, struct slice record, bool *ret_kept)
{
	uint64_t stamp;
	TRY(file_row_stamp(record, &stamp));
	*ret_kept = newest > stamp;
	return *ret_kept ? keep_under(txn, newest, key, record) : ERR_OK;
}

enum err history_keep_as_of(struct txn *txn, const struct snapshots *all, uint64_t as_of, struct slice key,
			    struct slice record, bool *ret_kept)
{
	uint64_t stamp;
	TRY(file_row_stamp(record, &stamp));
	uint64_t number = snapshots_between(all, stamp, as_of);
	*ret_kept = number != 0;
	return *ret_kept ? keep_under(txn, number, key, record) : ERR_OK;
}

/* ---- reading ---- */

static enum err get_past(struct txn *txn, uint64_t snapshot, struct slice key, struct slice *ret)
{
	struct key from, until;
	struct rows rows;
	uint64_t stamp;
	history_key(&from, key, snapshot);
	history_key(&until, key, UINT64_MAX);
	if (from.overflow)
		return ERR_NOT_FOUND;
	struct scan_spec spec = { .from = key_slice(&from), .until = key_slice(&until), .limit_rows = 1 };
	TRY(txn_scan(txn, &spec, &rows));
	if (!rows.count)
		return ERR_NOT_FOUND;
	TRY(file_row_stamp(rows.row[0].value, &stamp));
	*ret = rows.row[0].value;
	return stamp < snapshot ? ERR_OK : ERR_NOT_FOUND;
}

enum err file_row_get(struct txn *txn, const struct file_view *view, struct slice key, struct slice *ret)
{
	struct slice value;
	uint64_t stamp;
	enum err e = txn_get(txn, key, &value);
	if (!view->snapshot) {
		if (e == ERR_OK)
			*ret = value;
		return e;
	}
	if (e == ERR_OK) {
		TRY(file_row_stamp(value, &stamp));
		if (stamp < view->snapshot) {
			*ret = value;
			return ERR_OK;
		}
	}
	return e == ERR_OK || e == ERR_NOT_FOUND ? get_past(txn, view->snapshot, key, ret) : e;
}

/* ---- walks ---- */

/* The history beside the live rows, and the next row of each. Live rows are looked for no further than the history page
 * at hand goes: in a directory that was emptied since, a scan that finds none passes all that is left of what was
 * deleted. */
struct row_past {
	struct row_stream stream;
	struct key begin;
	struct key live_until;
	bool has_live, has_past;
	struct row head_live, head_past;
};

static void stream_begin(struct row_stream *s, const struct key *from, const struct key *until)
{
	s->from = *from;
	s->until = *until;
	s->rows.count = s->at = 0;
	s->exhausted = false;
}

/* The key behind the tag of history; a key that long is no row's. */
static struct key past_key(const struct key *row_key)
{
	struct key k;
	key_init(&k);
	key_tag(&k, 'h');
	size_t len = row_key->len < sizeof k.bytes - 1 ? row_key->len : sizeof k.bytes - 1;
	memcpy(k.bytes + 1, row_key->bytes, len);
	k.len = len + 1;
	return k;
}

enum err file_row_walk_begin(struct row_walk *w, struct txn *txn, const struct file_view *view, const struct key *from,
			     const struct key *until, size_t page_rows)
{
	assert(page_rows > 0);
	w->txn = txn;
	w->snapshot = view->snapshot;
	w->page_rows = page_rows;
	w->past = NULL;
	w->filter = NULL;
	stream_begin(&w->live, from, until);
	if (!view->snapshot)
		return ERR_OK;
	w->past = ARENA_NEW(txn_arena(txn), struct row_past);
	if (!w->past)
		return ERR_NO_MEMORY;
	struct key past_from = past_key(from), past_until = past_key(until);
	stream_begin(&w->past->stream, &past_from, &past_until);
	w->past->begin = *from;
	return ERR_OK;
}

/* Is the row part of what the walk sees? Of history, *row becomes the row it was. */
static enum err is_visible(const struct row_walk *w, bool past, struct row *row, bool *ret)
{
	uint64_t stamp, number;
	struct slice key;
	*ret = true;
	if (!w->snapshot)
		return ERR_OK;
	TRY(file_row_stamp(row->value, &stamp));
	*ret = stamp < w->snapshot;
	if (!past)
		return ERR_OK;
	if (!history_key_split(row->key, &key, &number))
		return ERR_CORRUPT;
	row->key = key;
	/* The number follows the key, so a key just before the beginning has its history behind it. */
	*ret = *ret && w->snapshot <= number && slice_cmp(key, key_slice(&w->past->begin)) >= 0;
	return ERR_OK;
}

/* How far live rows are looked for beside the history page that was just read. */
static enum err bound_live(struct row_walk *w)
{
	struct row_past *p = w->past;
	struct slice key;
	uint64_t number;
	p->live_until = w->live.until;
	if (p->stream.exhausted || !p->stream.rows.count)
		return ERR_OK;
	if (!history_key_split(p->stream.rows.row[p->stream.rows.count - 1].key, &key, &number))
		return ERR_CORRUPT;
	key_after(&p->live_until, key);
	return ERR_OK;
}

/* One page; false: there is none, or not before the next page of history. */
static enum err stream_fetch(struct row_walk *w, struct row_stream *s, bool *ret)
{
	bool past = s != &w->live;
	const struct key *until = !past && w->past ? &w->past->live_until : &s->until;
	*ret = !s->exhausted && slice_cmp(key_slice(&s->from), key_slice(until)) < 0;
	if (!*ret)
		return ERR_OK;
	struct scan_spec spec = { .from = key_slice(&s->from), .until = key_slice(until), .limit_rows = w->page_rows };
	TRY(txn_scan(w->txn, &spec, &s->rows));
	s->at = 0;
	if (s->rows.more)
		key_after(&s->from, s->rows.row[s->rows.count - 1].key);
	else
		s->from = *until;
	s->exhausted = slice_cmp(key_slice(&s->from), key_slice(&s->until)) >= 0;
	return past ? bound_live(w) : ERR_OK;
}

/* The next visible row of a stream; ERR_NOT_FOUND at its end, or where stream_fetch has none. */
static enum err stream_next(struct row_walk *w, struct row_stream *s, struct row *ret)
{
	bool past = s != &w->live, any = false;
	struct arena_position position = arena_position(txn_arena(w->txn));
	for (;;) {
		while (s->at < s->rows.count) {
			struct row row = s->rows.row[s->at++];
			TRY(is_visible(w, past, &row, &any));
			if (any && w->filter)
				TRY(w->filter(w->filter_arg, &row, &any));
			if (any) {
				*ret = row;
				return ERR_OK;
			}
		}
		/* What was fetched since the position held nothing visible. */
		arena_rewind(txn_arena(w->txn), position);
		TRY(stream_fetch(w, s, &any));
		if (!any)
			return ERR_NOT_FOUND;
	}
}

static enum err head_fill(struct row_walk *w, struct row_stream *s, struct row *head, bool *has)
{
	if (*has)
		return ERR_OK;
	enum err e = stream_next(w, s, head);
	*has = e == ERR_OK;
	return e == ERR_NOT_FOUND ? ERR_OK : e;
}

enum err file_row_walk_next(struct row_walk *w, struct row *ret)
{
	if (!w->snapshot)
		return stream_next(w, &w->live, ret);
	struct row_past *p = w->past;
	/* A stream gives back only what it fetched in its own call, so the other head stays. */
	TRY(head_fill(w, &p->stream, &p->head_past, &p->has_past));
	TRY(head_fill(w, &w->live, &p->head_live, &p->has_live));
	if (!p->has_live && !p->has_past)
		return ERR_NOT_FOUND;
	bool take_live = p->has_live && (!p->has_past || slice_cmp(p->head_live.key, p->head_past.key) <= 0);
	*ret = take_live ? p->head_live : p->head_past;
	if (take_live)
		p->has_live = false;
	else
		p->has_past = false;
	return ERR_OK;
}
