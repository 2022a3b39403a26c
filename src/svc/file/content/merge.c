/* SPDX-License-Identifier: Apache-2.0
 * Merging, off the write path. A round goes along the runs of one file until it has a stretch of many small neighbours,
 * reads their bytes from extents it pinned, writes them as one payload, and then, in one commit, puts one run in their
 * place if every one of them is still the row it was (rows are known by key and stamp). If a writer was faster, the
 * stretch is left alone. A file that was written while it was gone through is gone through once more after a while,
 * another one when it has more runs: without writes nothing is looked at again.
 *
 * Only runs whose row and bytes are younger than the newest snapshot are joined: older ones are shared with it, and
 * range differences tell new from old by the bytes' time.
 *
 * The row 'm' u64(inode) has the position, and until when it waits. */
#include "svc/file/content/merge.h"

#include <assert.h>

#include "svc/file/content/run.h"

enum {
	MERGE_LOOK_ROWS = 16384, /* gone along in a round, before others have their turn */
	MERGE_PAGE_ROWS = 256,
	MERGE_WAITING_MAX = 16384, /* files that wait, among which one is looked for that is due */
	MERGE_ARENA_BYTES = 32 * 1024 * 1024
};

static const struct file_view live_view = { 0 };

struct stretch {
	uint64_t first, end;
	size_t count;
	uint64_t last_byte[MERGE_RUNS_MAX], stamp[MERGE_RUNS_MAX];
};

struct merge {
	/* what the look found */
	bool found; /* a file is due */
	uint64_t inode_id;
	uint64_t content;
	uint64_t covers; /* of the inode */
	uint64_t from;	 /* where the look began */
	uint64_t etag;	 /* of the file when the whole pass began */
	uint64_t next;	 /* where to go on */
	bool at_end;	 /* of the file; or there is nothing to merge in it */
	struct stretch stretch;
	struct file_pieces pieces;
	/* for the commit */
	const struct payload *payload;
	bool joined; /* out */
};

static bool stretch_is_full(const struct stretch *s)
{
	return s->count >= MERGE_RUNS_MIN;
}

/* Takes the run into the stretch. False: it ends here, and is good enough. */
static bool stretch_take(struct stretch *s, const struct run *r, uint64_t newest)
{
	bool small = r->end - r->first < MERGE_SMALL_BYTES && r->stamp > newest && r->data_stamp > newest;
	bool joins =
		s->count && s->count < MERGE_RUNS_MAX && r->first == s->end && r->end - s->first <= MERGE_WINDOW_BYTES;
	if (!small || !joins) {
		if (stretch_is_full(s))
			return false;
		s->count = 0;
	}
	if (!small)
		return true;
	if (!s->count)
		s->first = r->first;
	s->last_byte[s->count] = r->end - 1;
	s->stamp[s->count++] = r->stamp;
	s->end = r->end;
	return true;
}

/* Goes along the runs of the file from m->from. */
static enum err look_along(struct txn *txn, struct merge *m, const struct inode *n, uint64_t newest)
{
	struct run_walk w;
	m->next = m->from;
	TRY(run_walk_begin(&w, txn, &live_view, n, m->from, n->data_end, MERGE_PAGE_ROWS));
	for (size_t i = 0; i < MERGE_LOOK_ROWS; i++) {
		struct run_row row;
		enum err e = run_walk_next(&w, &row);
		m->at_end = e == ERR_NOT_FOUND;
		if (m->at_end)
			return ERR_OK;
		TRY(e);
		if (!stretch_take(&m->stretch, &row.run, newest))
			return ERR_OK;
		m->next = row.run.end;
	}
	return ERR_OK;
}

static enum err first_due(struct txn *txn, struct merge *m)
{
	struct rows rows;
	struct scan_spec spec = { .from = SLICE("m"), .until = SLICE("n"), .limit_rows = MERGE_WAITING_MAX };
	TRY(txn_scan(txn, &spec, &rows));
	for (size_t i = 0; i < rows.count && !m->found; i++) {
		struct slice key = rows.row[i].key;
		struct merge_row row;
		if (!key_take_tag(&key, 'm') || !key_take_u64(&key, &m->inode_id))
			return ERR_CORRUPT;
		TRY(merge_decode(rows.row[i].value, &row));
		m->found = row.not_before_ticks <= txn_now(txn);
		m->from = row.next;
		m->etag = row.etag;
	}
	return ERR_OK;
}

static enum err apply_look(struct txn *txn, void *call)
{
	struct merge *m = call;
	struct inode n;
	struct share_state state;
	*m = (struct merge){ .found = false };
	TRY(share_state_get(txn, &state));
	TRY(first_due(txn, m));
	if (!m->found)
		return ERR_OK;
	enum err e = inode_get(txn, &live_view, m->inode_id, &n);
	m->at_end = e == ERR_RESOURCE_NOT_FOUND || (e == ERR_OK && !n.content);
	if (m->at_end)
		return ERR_OK;
	TRY(e);
	m->content = n.content;
	m->covers = n.covers;
	m->etag = m->from ? m->etag : n.etag;
	TRY(look_along(txn, m, &n, state.newest));
	if (!stretch_is_full(&m->stretch))
		m->stretch.count = 0;
	if (!m->stretch.count)
		return ERR_OK;
	m->at_end = false; /* there may be more behind the stretch */
	m->next = m->stretch.end;
	return inode_pieces(txn, &live_view, &n, m->stretch.first, m->stretch.end - m->stretch.first, m->stretch.count,
			    &m->pieces);
}

/* ---- bytes ---- */

static enum err append_piece(struct store *store, struct payload_writer *w, const struct file_piece *p, char *scratch)
{
	if (slice_is_set(p->bytes))
		return payload_append(w, p->bytes);
	assert(p->length_bytes <= MERGE_SMALL_BYTES);
	if (!p->extent.length_bytes)
		memset(scratch, 0, p->length_bytes);
	else
		TRY(extent_read(store, &p->extent, p->offset, (uint32_t)p->length_bytes, scratch));
	return payload_append(w, slice_make(scratch, p->length_bytes));
}

static enum err write_payload(struct store *store, const struct merge *m, struct arena *arena, struct payload *ret)
{
	struct payload_writer *w;
	char *scratch = arena_alloc(arena, MERGE_SMALL_BYTES);
	if (!scratch)
		return ERR_NO_MEMORY;
	TRY(payload_writer_new(store, m->pieces.length_bytes, &w));
	for (size_t i = 0; i < m->pieces.count; i++) {
		enum err e = append_piece(store, w, &m->pieces.piece[i], scratch);
		if (e != ERR_OK) {
			payload_writer_free(w);
			return e;
		}
	}
	return payload_finish(w, ret);
}

/* ---- the commit ---- */

static enum err rows_unchanged(struct txn *txn, const struct merge *m, bool *ret)
{
	*ret = true;
	for (size_t i = 0; i < m->stretch.count && *ret; i++) {
		struct key k;
		struct slice record;
		uint64_t stamp;
		run_key(&k, m->content, m->stretch.last_byte[i]);
		enum err e = txn_get(txn, key_slice(&k), &record);
		if (e == ERR_OK)
			e = file_row_stamp(record, &stamp);
		if (e != ERR_OK && e != ERR_NOT_FOUND)
			return e;
		*ret = e == ERR_OK && stamp == m->stretch.stamp[i];
	}
	return ERR_OK;
}

/* `again`: the file as it is, which is to be gone through once more; NULL: it is not. */
static enum err put_position(struct txn *txn, const struct merge *m, const struct inode *again)
{
	struct key k;
	char bytes[32];
	struct buf b = { .ptr = bytes, .cap = sizeof bytes, .limit_bytes = sizeof bytes };
	struct merge_row row = { .next = m->next, .etag = m->etag };
	merge_key(&k, m->inode_id);
	if (m->at_end && !again)
		return txn_del(txn, key_slice(&k));
	if (m->at_end)
		row = (struct merge_row){ .not_before_ticks = txn_now(txn) + merge_wait_ticks(again->run_count) };
	merge_encode(&b, &row);
	return txn_put(txn, key_slice(&k), buf_slice(&b));
}

/* The pass is over. Written meanwhile (merges keep the ETag), the file may have neighbours where it was gone along
 * already. */
static enum err end_pass(struct txn *txn, const struct merge *m, struct inode *n)
{
	bool again = n->etag != m->etag && n->run_count > MERGE_FILE_RUNS;
	n->merge_at = again ? 2 * n->run_count : n->run_count;
	return put_position(txn, m, again ? n : NULL);
}

static enum err apply_join(struct txn *txn, void *call)
{
	struct merge *m = call;
	struct share_state state;
	struct inode n;
	bool same;
	m->joined = false;
	TRY(share_state_get(txn, &state));
	enum err e = inode_get(txn, &live_view, m->inode_id, &n);
	if (e == ERR_RESOURCE_NOT_FOUND) {
		m->at_end = true;
		return put_position(txn, m, NULL);
	}
	TRY(e);
	bool same_content = n.content == m->content;
	m->at_end = m->at_end || !same_content;
	if (same_content && m->stretch.count && n.covers == m->covers) {
		TRY(rows_unchanged(txn, m, &same));
		if (same)
			TRY(inode_write(txn, &n, m->stretch.first, m->payload));
		m->joined = same;
	}
	TRY(m->at_end ? end_pass(txn, m, &n) : put_position(txn, m, NULL));
	return m->joined || m->at_end ? inode_put(txn, &n) : ERR_OK;
}

static enum err merge_one(struct store *store, struct slice partition, struct arena *arena, bool *ret_more)
{
	struct merge *m = ARENA_NEW(arena, struct merge);
	struct payload payload = { .length_bytes = 0 };
	if (!m)
		return ERR_NO_MEMORY;
	TRY(store_read(store, partition, apply_look, m, arena));
	*ret_more = m->found;
	if (!m->found)
		return ERR_OK;
	if (m->stretch.count)
		TRY(write_payload(store, m, arena, &payload));
	m->payload = &payload;
	enum err e = store_write_wait(store, partition, apply_join, m, arena);
	if (!(e == ERR_OK && m->joined) && e != ERR_UNKNOWN && e != ERR_STOPPED)
		payload_abandon(store, &payload);
	payload_fini(&payload);
	return e;
}

enum err merge_round(struct store *store, struct slice partition, bool *ret_more)
{
	struct arena arena;
	arena_init(&arena, MERGE_ARENA_BYTES);
	uint64_t pin = extent_pin(store);
	enum err e = merge_one(store, partition, &arena, ret_more);
	extent_unpin(store, pin);
	arena_fini(&arena);
	return e;
}
