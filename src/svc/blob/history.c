/* SPDX-License-Identifier: Apache-2.0
 * What becomes of a state that is replaced or deleted: a version, a soft-deleted snapshot, or nothing. And the marks
 * that change many history rows at once. */
#include "svc/blob/history.h"

#include "base/bytes.h"
#include "svc/blob/blob.h"
#include "svc/blob/retire.h"
#include "svc/blob/state.h"

#include <assert.h>

enum { MARK_RECORD_VERSION = 1, WALK_ROWS = 256 };

enum err blob_supersede(struct txn *txn, const struct blob_target *t, const struct blob *old)
{
	struct blob kept = *old;
	kept.lease = (struct lease){ .held = false };
	assert(!old->history_ticks &&
	       slice_eq(old->name, t->name)); /* only a base becomes history, and under its own name */
	if (blob_is_kept(t, old)) {
		/* A state from before versioning was switched on becomes the version of its own time. */
		kept.history_ticks = old->version_ticks ? old->version_ticks : old->etag;
		kept.version_ticks = kept.history_ticks;
		kept.is_snapshot = false;
		return blob_put(txn, &kept);
	}
	if (t->rules.soft_delete) {
		TRY(blob_version_after(txn, old->name, etag_next(txn_now(txn), old->etag), &kept.history_ticks));
		kept.is_snapshot = true;
		kept.deleted_ticks = txn_now(txn);
		kept.retention_days = t->rules.retention_days;
		return blob_put(txn, &kept);
	}
	return blob_content_release(txn, &old->content);
}

/* ---- marks ---- */

void blob_history_mark_key(struct key *k, struct slice name)
{
	key_init(k);
	key_tag(k, 'g');
	key_str(k, name);
}

enum err blob_history_mark_decode(struct slice record, struct history_mark *ret)
{
	struct cursor c = cursor_make(record);
	if (cursor_u8(&c) != MARK_RECORD_VERSION)
		return ERR_CORRUPT;
	struct history_mark m = { .kind = (enum mark_kind)cursor_u8(&c) };
	m.ticks = cursor_u64(&c);
	m.retention_days = cursor_u32(&c);
	m.sweep_rows = cursor_u32(&c);
	m.next_ticks = cursor_u64(&c);
	if (!cursor_done(&c) || m.sweep_rows == 0 ||
	    (m.kind != MARK_DELETED && m.kind != MARK_SOFT_DELETED && m.kind != MARK_UNDELETED))
		return ERR_CORRUPT;
	*ret = m;
	return ERR_OK;
}

enum err blob_history_mark_get(struct txn *txn, struct slice name, struct history_mark *ret)
{
	struct key k;
	struct slice value;
	blob_history_mark_key(&k, name);
	if (k.overflow)
		return ERR_NOT_FOUND;
	TRY(txn_get(txn, key_slice(&k), &value));
	return blob_history_mark_decode(value, ret);
}

static enum err mark_write(struct txn *txn, struct slice name, const struct history_mark *m)
{
	struct key k;
	char bytes[32];
	struct buf b = { .ptr = bytes, .cap = sizeof bytes, .limit_bytes = sizeof bytes };
	bytes_put_u8(&b, MARK_RECORD_VERSION);
	bytes_put_u8(&b, (uint8_t)m->kind);
	bytes_put_u64(&b, m->ticks);
	bytes_put_u32(&b, m->retention_days);
	bytes_put_u32(&b, m->sweep_rows);
	bytes_put_u64(&b, m->next_ticks);
	blob_history_mark_key(&k, name);
	return txn_put(txn, key_slice(&k), buf_slice(&b));
}

enum err blob_history_mark_put(struct txn *txn, struct slice name, const struct history_mark *m)
{
	assert(m->sweep_rows > 0 && m->ticks); /* a mark that no sweep can move would stay for ever */
	TRY(mark_write(txn, name, m));
	return blob_retire_history(txn, name);
}

bool blob_history_mark_apply(const struct history_mark *m, struct blob *b, bool *ret_changed)
{
	bool changed = false;
	if (m->kind == MARK_UNDELETED) {
		changed = b->deleted_ticks && b->deleted_ticks <= m->ticks && !blob_retention_over(b, m->ticks);
		if (changed) {
			if (blob_history_is_base(b)) {
				b->is_snapshot = true;
				b->version_ticks = 0;
			}
			b->deleted_ticks = 0;
			b->retention_days = 0;
		}
	} else {
		changed = b->is_snapshot && !b->deleted_ticks && b->history_ticks <= m->ticks;
		if (changed && m->kind == MARK_SOFT_DELETED) {
			b->deleted_ticks = m->ticks;
			b->retention_days = m->retention_days;
		}
	}
	if (ret_changed)
		*ret_changed = changed;
	return !changed || m->kind != MARK_DELETED;
}

/* The mark first: the sweep brings it into the row before it goes, and what is in the row already changes nothing. */
enum err blob_history_get(struct txn *txn, struct slice name, uint64_t ticks, struct blob *ret)
{
	struct history_mark mark;
	enum err e = blob_history_mark_get(txn, name, &mark);
	if (e != ERR_OK && e != ERR_NOT_FOUND)
		return e;
	TRY(blob_history_get_row(txn, name, ticks, ret));
	return e == ERR_NOT_FOUND || blob_history_mark_apply(&mark, ret, NULL) ? ERR_OK : ERR_NOT_FOUND;
}

/* ---- walks ---- */

static void history_bounds(struct slice name, uint64_t from_ticks, struct key *from, struct key *until)
{
	key_init(from);
	key_tag(from, 'h');
	key_str(from, name);
	*until = *from;
	key_prefix_end(until);
	if (from_ticks)
		blob_history_key(from, name, from_ticks);
}

enum err blob_history_each(struct txn *txn, struct slice name, uint64_t from_ticks, history_fn *fn, void *arg)
{
	struct key from, until;
	struct rows rows = { .more = true };
	struct history_mark mark;
	bool go_on = true;
	enum err e = blob_history_mark_get(txn, name, &mark);
	bool marked = e == ERR_OK;
	if (!marked && e != ERR_NOT_FOUND)
		return e;
	history_bounds(name, from_ticks, &from, &until);
	while (rows.more && go_on) {
		struct arena_position memory = arena_position(txn_arena(txn));
		struct scan_spec spec = { .from = key_slice(&from),
					  .until = key_slice(&until),
					  .limit_rows = WALK_ROWS };
		TRY(txn_scan(txn, &spec, &rows));
		for (size_t i = 0; i < rows.count && go_on; i++) {
			struct blob b;
			TRY(blob_decode(rows.row[i].value, txn_arena(txn), &b));
			b.name = name;
			if (!marked || blob_history_mark_apply(&mark, &b, NULL))
				TRY(fn(&b, arg, &go_on));
		}
		if (rows.more)
			key_after(&from, rows.row[rows.count - 1].key);
		arena_rewind(txn_arena(txn), memory);
	}
	return ERR_OK;
}

enum err blob_history_change_each(struct txn *txn, struct slice name, history_change_fn *fn, void *arg)
{
	struct key from, until;
	struct rows rows = { .more = true };
	history_bounds(name, 0, &from, &until);
	while (rows.more) {
		struct scan_spec spec = { .from = key_slice(&from), .until = key_slice(&until) };
		TRY(txn_scan(txn, &spec, &rows));
		for (size_t i = 0; i < rows.count; i++) {
			struct blob b;
			TRY(blob_decode(rows.row[i].value, txn_arena(txn), &b));
			b.name = name;
			TRY(fn(txn, &b, arg));
		}
		if (rows.more)
			key_after(&from, rows.row[rows.count - 1].key);
	}
	return ERR_OK;
}

static enum err sweep_row(struct txn *txn, const struct history_mark *m, struct blob *b, struct slice key)
{
	bool changed, there = blob_history_mark_apply(m, b, &changed);
	if (!changed)
		return ERR_OK;
	if (there)
		return blob_put(txn, b);
	assert(m->kind == MARK_DELETED);
	TRY(blob_content_release(txn, &b->content));
	return txn_del(txn, key);
}

enum err blob_history_sweep(struct txn *txn, struct slice name, bool *ret_done)
{
	struct key k, from, until;
	struct rows rows;
	struct history_mark m;
	enum err e = blob_history_mark_get(txn, name, &m);
	*ret_done = e == ERR_NOT_FOUND;
	if (*ret_done)
		return ERR_OK;
	TRY(e);
	history_bounds(name, m.next_ticks, &from, &until);
	struct scan_spec spec = { .from = key_slice(&from), .until = key_slice(&until), .limit_rows = m.sweep_rows };
	TRY(txn_scan(txn, &spec, &rows));
	size_t i = 0;
	for (size_t extents = 0; i < rows.count && extents < HISTORY_EXTENTS_AT_ONCE; i++) {
		struct blob b;
		TRY(blob_decode(rows.row[i].value, txn_arena(txn), &b));
		b.name = name;
		m.next_ticks = b.history_ticks + 1;
		extents += b.content.extent_count;
		TRY(sweep_row(txn, &m, &b, rows.row[i].key));
	}
	*ret_done = i == rows.count && !rows.more;
	if (!*ret_done)
		return mark_write(txn, name, &m);
	blob_history_mark_key(&k, name);
	return txn_del(txn, key_slice(&k));
}
