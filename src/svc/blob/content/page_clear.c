/* SPDX-License-Identifier: Apache-2.0
 * Clears of more chunks than a commit may touch. One row says that a range of chunks is cleared,
 *
 *   'o' u64(content) u64(ticks)     u8 version, u64 first chunk, u64 end chunk, u64 epoch, u8 exclusive
 *
 * and from that commit on it hides, for readers of its epoch and later ones, every chunk row that is older than it: of
 * an earlier epoch, or of the same one with an earlier stamp. Readers of earlier epochs (snapshots) do not see it. Rows
 * that are written while a content has such rows carry the time as their stamp, so what comes after the clear wins. The
 * sweep (retire.c) goes through the range afterwards, in small commits, and ends with the row.
 *
 * Exclusive: no snapshot shared the content, so rows of earlier epochs can go too. Rows of the clear's own epoch are
 * nobody's but the base's in any case: taking a snapshot begins a new epoch. */
#include "svc/blob/content/page_int.h"
#include "svc/blob/retire.h"

enum { CLEAR_RECORD_VERSION = 1, SWEEP_ROWS = 256, SWEEP_EXTENTS = 500 };

static void clear_key(struct key *k, uint64_t content, uint64_t ticks)
{
	key_init(k);
	key_tag(k, 'o');
	key_u64(k, content);
	key_u64(k, ticks);
}

static enum err clear_decode(struct slice key, struct slice value, struct clear *ret)
{
	struct cursor c = cursor_make(value);
	uint64_t content;
	if (cursor_u8(&c) != CLEAR_RECORD_VERSION)
		return ERR_CORRUPT;
	struct clear v = { .first = cursor_u64(&c) };
	v.end = cursor_u64(&c);
	v.epoch = cursor_u64(&c);
	v.exclusive = cursor_u8(&c) != 0;
	if (!cursor_done(&c) || !key_take_tag(&key, 'o') || !key_take_u64(&key, &content) ||
	    !key_take_u64(&key, &v.ticks))
		return ERR_CORRUPT;
	*ret = v;
	return ERR_OK;
}

enum err blob_page_clears_load(struct txn *txn, const struct content *content, struct clears *ret)
{
	struct key from, until;
	struct rows rows;
	struct clears all = { .count = 0 };
	if (!content->clears) {
		*ret = all;
		return ERR_OK;
	}
	clear_key(&from, content->id, 0);
	clear_key(&until, content->id, UINT64_MAX);
	struct scan_spec spec = { .from = key_slice(&from), .until = key_slice(&until), .limit_rows = PAGE_CLEARS_MAX };
	TRY(txn_scan(txn, &spec, &rows));
	all.clear = ARENA_NEW_ARRAY(txn_arena(txn), struct clear, rows.count ? rows.count : 1);
	if (!all.clear)
		return ERR_NO_MEMORY;
	for (size_t i = 0; i < rows.count; i++) {
		TRY(clear_decode(rows.row[i].key, rows.row[i].value, &all.clear[all.count]));
		all.count += all.clear[all.count].epoch <= content->epoch; /* later ones are not for this reader */
	}
	*ret = all;
	return ERR_OK;
}

static bool clear_hides(const struct clear *c, uint64_t chunk, uint64_t epoch, uint64_t stamp)
{
	return chunk >= c->first && chunk < c->end && (epoch < c->epoch || (epoch == c->epoch && stamp < c->ticks));
}

uint64_t blob_page_clears_hide(const struct clears *all, uint64_t chunk, uint64_t epoch, uint64_t stamp)
{
	for (size_t i = 0; i < all->count; i++) /* in the order of their times */
		if (clear_hides(&all->clear[i], chunk, epoch, stamp))
			return all->clear[i].epoch;
	return 0;
}

/* More rows, or more bytes of rows, than a commit should go through? */
static enum err range_is_large(struct txn *txn, const struct content *content, uint64_t first, uint64_t end,
			       size_t at_once, bool *ret)
{
	struct key from, until;
	struct rows rows;
	size_t count = 0, bytes = 0;
	*ret = false;
	if (end - first < at_once && end - first < PAGE_CLEAR_CHUNKS_ANYWAY)
		return ERR_OK;
	key_init(&from);
	key_tag(&from, 'p');
	key_u64(&from, content->id);
	until = from;
	key_u64(&from, first);
	key_u64(&until, end);
	do {
		struct arena_position position = arena_position(txn_arena(txn));
		struct scan_spec spec = { .from = key_slice(&from),
					  .until = key_slice(&until),
					  .limit_rows = PAGE_CLEAR_CHUNKS_ANYWAY };
		TRY(txn_scan(txn, &spec, &rows));
		for (size_t i = 0; i < rows.count; i++)
			bytes += rows.row[i].value.len;
		count += rows.count;
		if (rows.more)
			key_after(&from, rows.row[rows.count - 1].key);
		arena_rewind(txn_arena(txn), position);
		*ret = count >= at_once || bytes >= PAGE_CLEAR_BYTES_AT_ONCE;
	} while (rows.more && !*ret);
	return ERR_OK;
}

static enum err clear_put(struct txn *txn, const struct content *content, const struct clear *c)
{
	struct key k;
	char bytes[32];
	struct buf b = { .ptr = bytes, .cap = sizeof bytes, .limit_bytes = sizeof bytes };
	bytes_put_u8(&b, CLEAR_RECORD_VERSION);
	bytes_put_u64(&b, c->first);
	bytes_put_u64(&b, c->end);
	bytes_put_u64(&b, c->epoch);
	bytes_put_u8(&b, c->exclusive);
	clear_key(&k, content->id, c->ticks);
	return txn_put(txn, key_slice(&k), buf_slice(&b));
}

enum err blob_page_clear_at_once(struct txn *txn, struct content *content, uint64_t first, uint64_t end, size_t at_once,
				 bool *ret_done)
{
	struct clears all;
	bool shared;
	*ret_done = false;
	if (first < end)
		TRY(range_is_large(txn, content, first, end, at_once ? at_once : PAGE_CLEAR_ROWS_AT_ONCE, ret_done));
	if (!*ret_done)
		return ERR_OK;
	TRY(blob_content_is_shared(txn, content, &shared));
	struct clear c = { .first = first,
			   .end = end,
			   .epoch = content->epoch,
			   .ticks = txn_now(txn),
			   .exclusive = !shared || content->epoch == 1 };
	TRY(blob_page_clears_load(txn, content, &all));
	size_t left = all.count;
	for (size_t i = 0; i < all.count; i++) {
		const struct clear *old = &all.clear[i];
		/* One that this covers has nothing more to say. */
		if (old->epoch == c.epoch && old->first >= first && old->end <= end) {
			struct key k;
			clear_key(&k, content->id, old->ticks);
			TRY(txn_del(txn, key_slice(&k)));
			left--;
		}
	}
	if (left >= PAGE_CLEARS_MAX)
		return ERR_BUSY; /* the sweep is behind */
	TRY(clear_put(txn, content, &c));
	content->clears = true;
	return blob_retire_clear(txn, content->id, c.ticks);
}

/* ---- the sweep ---- */

/* An older row of a chunk that snapshots may hold: an empty one of the clear's epoch hides it for good. */
static enum err hide_older(struct txn *txn, uint64_t content, uint64_t chunk, const struct clear *c, struct slice older)
{
	struct key k;
	struct slice value;
	struct page_chunk was;
	blob_page_chunk_key(&k, content, chunk, c->epoch);
	enum err e = txn_get(txn, key_slice(&k), &value);
	if (e != ERR_NOT_FOUND)
		return e;
	/* Rows come newest first: this one is what the clear took. */
	TRY(blob_page_chunk_decode(older, txn_arena(txn), &was));
	return blob_page_chunk_put_empty(txn, content, chunk, c, &was);
}

static enum err sweep_row(struct txn *txn, uint64_t content, const struct clear *c, const struct row *row,
			  size_t *extents)
{
	struct page_chunk chunk;
	uint64_t index, epoch;
	if (!blob_page_chunk_key_decode(row->key, &index, &epoch))
		return ERR_CORRUPT;
	if (epoch > c->epoch)
		return ERR_OK;
	if (epoch < c->epoch && !c->exclusive)
		return hide_older(txn, content, index, c, row->value);
	TRY(blob_page_chunk_decode(row->value, txn_arena(txn), &chunk));
	if (!clear_hides(c, index, epoch, chunk.stamp))
		return ERR_OK;
	struct cursor value = cursor_make(row->value);
	struct extent_ref *refs;
	uint16_t count;
	TRY(blob_row_extents_decode(&value, txn_arena(txn), &refs, &count));
	for (uint16_t i = 0; i < count; i++)
		TRY(blob_extent_drop_ref(txn, &refs[i]));
	*extents += count;
	return c->exclusive ? txn_del(txn, row->key) : blob_page_chunk_put_empty(txn, content, index, c, &chunk);
}

enum err blob_page_clear_sweep(struct txn *txn, uint64_t content, uint64_t ticks, struct slice from_key,
			       struct slice *ret_next)
{
	struct key k, from, until;
	struct slice value;
	struct clear c;
	struct rows rows;
	*ret_next = SLICE_NONE;
	clear_key(&k, content, ticks);
	enum err e = txn_get(txn, key_slice(&k), &value);
	if (e == ERR_NOT_FOUND) /* a later clear took its place */
		return ERR_OK;
	TRY(e);
	TRY(clear_decode(key_slice(&k), value, &c));
	key_init(&from);
	key_tag(&from, 'p');
	key_u64(&from, content);
	until = from;
	key_u64(&from, c.first);
	key_u64(&until, c.end);
	struct scan_spec spec = { .from = from_key.len ? from_key : key_slice(&from),
				  .until = key_slice(&until),
				  .limit_rows = SWEEP_ROWS };
	TRY(txn_scan(txn, &spec, &rows));
	size_t extents = 0, i = 0;
	while (i < rows.count && extents < SWEEP_EXTENTS)
		TRY(sweep_row(txn, content, &c, &rows.row[i++], &extents));
	if (i == rows.count && !rows.more)
		return txn_del(txn, key_slice(&k));
	key_after(&from, rows.row[i - 1].key);
	*ret_next = arena_dup(txn_arena(txn), key_slice(&from));
	return slice_is_set(*ret_next) ? ERR_OK : ERR_NO_MEMORY;
}
