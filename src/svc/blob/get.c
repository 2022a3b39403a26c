/* SPDX-License-Identifier: Apache-2.0
 * Reads of one blob: its record, and where the bytes of a range are.
 * The container was found by its live record just before; a generation that died meanwhile still shows its last state,
 * which is the state just before the delete. */
#include <assert.h>

#include "store/encrypted.h"
#include "svc/blob/blob.h"
#include "svc/blob/content/manifest.h"
#include "svc/blob/state.h"

enum err blob_piece_read(struct blob_piece_reader *p, char *dst, size_t room, size_t *ret_bytes)
{
	size_t filled = 0;
	while (filled < room && p->index < p->count) {
		const struct blob_piece *piece = &p->piece[p->index];
		assert(p->at <= piece->length_bytes);
		uint64_t left = piece->length_bytes - p->at;
		size_t n = left < room - filled ? (size_t)left : room - filled;
		if (slice_is_set(piece->bytes))
			memcpy(dst + filled, piece->bytes.ptr + p->at, n);
		else if (piece->extent.length_bytes && p->cipher)
			TRY(extent_read_encrypted(p->store, p->cipher, &piece->extent, piece->offset + (uint32_t)p->at,
						  (uint32_t)n, dst + filled));
		else if (piece->extent.length_bytes)
			TRY(extent_read(p->store, &piece->extent, piece->offset + (uint32_t)p->at, (uint32_t)n,
					dst + filled));
		else
			memset(dst + filled, 0, n);
		filled += n;
		p->at += n;
		if (p->at == piece->length_bytes) {
			p->index++;
			p->at = 0;
		}
	}
	*ret_bytes = filled;
	return ERR_OK;
}

static enum err one_piece(struct txn *txn, struct blob_get_call *c, struct blob_piece piece)
{
	c->piece = ARENA_NEW(txn_arena(txn), struct blob_piece);
	if (!c->piece)
		return ERR_NO_MEMORY;
	*c->piece = piece;
	c->piece_count = 1;
	return ERR_OK;
}

static enum err memory_piece(struct txn *txn, struct blob_get_call *c, struct slice bytes)
{
	if (bytes.len != c->blob.length_bytes)
		return ERR_CORRUPT;
	return one_piece(txn, c,
			 (struct blob_piece){ .bytes = slice_make(bytes.ptr + c->offset, c->length),
					      .length_bytes = c->length });
}

/* Walks extents in blob order and keeps what overlaps the range. */
struct walk {
	uint64_t at; /* blob offset of the next extent */
	uint64_t from, to;
};

static void walk_extent(struct walk *w, struct blob_get_call *c, const struct extent_ref *e)
{
	uint64_t begin = w->at, end = w->at + extent_ref_data_bytes(e, c->blob.encryption.has_key);
	w->at = end;
	if (end <= w->from || begin >= w->to)
		return;
	uint64_t first = begin > w->from ? begin : w->from, last = end < w->to ? end : w->to;
	c->piece[c->piece_count++] =
		(struct blob_piece){ .extent = *e, .offset = (uint32_t)(first - begin), .length_bytes = last - first };
}

static enum err extent_pieces(struct txn *txn, struct blob_get_call *c)
{
	const struct content *content = &c->blob.content;
	struct walk w = { .from = c->offset, .to = c->offset + c->length };
	c->piece = ARENA_NEW_ARRAY(txn_arena(txn), struct blob_piece, content->extent_count);
	if (!c->piece)
		return ERR_NO_MEMORY;
	for (uint32_t i = 0; i < content->extent_count && w.at < w.to; i++)
		walk_extent(&w, c, &content->extents[i]);
	return w.at >= w.to ? ERR_OK : ERR_CORRUPT;
}

static enum err manifest_pieces(struct txn *txn, struct blob_get_call *c)
{
	struct manifest m;
	struct walk w = { .from = c->offset, .to = c->offset + c->length };
	size_t total = 0;
	enum err e = blob_manifest_get(txn, &c->blob.content, &m);
	TRY(e == ERR_CORRUPT ? ERR_CONFLICT : e);
	c->blocks = m;
	if (c->for_copy && c->length > COPY_PIECES_MAX_BYTES)
		return ERR_OK;
	for (size_t i = 0; i < m.count; i++)
		total += m.block[i].extent_count;
	c->piece = ARENA_NEW_ARRAY(txn_arena(txn), struct blob_piece, total ? total : 1);
	if (!c->piece)
		return ERR_NO_MEMORY;
	for (size_t i = 0; i < m.count && w.at < w.to; i++)
		for (uint32_t k = 0; k < m.block[i].extent_count && w.at < w.to; k++)
			walk_extent(&w, c, &m.block[i].extents[k]);
	return w.at >= w.to ? ERR_OK : ERR_CORRUPT;
}

static enum err find_pieces(struct txn *txn, struct blob_get_call *c)
{
	c->piece_count = 0;
	c->blocks = (struct manifest){ NULL, 0 };
	c->too_many = false;
	if (c->length == 0)
		return ERR_OK;
	switch (c->blob.content.kind) {
	case CONTENT_EMPTY:
		return ERR_CORRUPT;
	case CONTENT_INLINE:
		return memory_piece(txn, c, c->blob.content.inline_bytes);
	case CONTENT_ROW:
		TRY(blob_content_load(txn, &c->blob.content));
		return memory_piece(txn, c, c->blob.content.inline_bytes);
	case CONTENT_EXTENTS:
		return extent_pieces(txn, c);
	case CONTENT_MANIFEST:
		return manifest_pieces(txn, c);
	case CONTENT_ROWS:
		/* The record and these rows change together: read apart, they could be of two states. */
		if (!c->on_snapshot)
			return ERR_CONFLICT;
		/* Copies go through an append blob by themselves. */
		if (c->for_copy && c->blob.type == BLOB_APPEND && c->length > COPY_PIECES_MAX_BYTES)
			return ERR_OK;
		return c->blob.type == BLOB_PAGE ? blob_page_pieces(txn, c) : blob_append_pieces(txn, c);
	}
	return ERR_CORRUPT;
}

enum err blob_apply_get(struct txn *txn, void *call)
{
	struct blob_get_call *c = call;
	c->now_ticks = txn_now(txn);
	c->blob.deleted_ticks = 0;
	enum err e = blob_load(txn, &c->target, &c->blob);
	c->soft_deleted =
		e == ERR_BLOB_NOT_FOUND && c->blob.deleted_ticks && !blob_retention_over(&c->blob, c->now_ticks);
	TRY(e);
	c->tags_unmet = blob_check_tags(&c->target, &c->blob) != ERR_OK;
	TRY(blob_check_read(txn, &c->target, &c->blob));
	if (c->want_bytes) /* whoever reads them: without the key there is nothing to read */
		TRY(blob_check_encryption(&c->target, &c->blob.encryption));
	c->offset = 0;
	c->length = c->blob.length_bytes;
	if (c->has_range) {
		if (c->range_first >= c->blob.length_bytes)
			return ERR_INVALID_RANGE;
		uint64_t last = c->range_last < c->blob.length_bytes ? c->range_last : c->blob.length_bytes - 1;
		c->offset = c->range_first;
		c->length = last - c->range_first + 1;
	}
	if (!c->want_bytes)
		return ERR_OK;
	if (blob_is_incremental(&c->blob)) /* its snapshots have the bytes */
		return ERR_OPERATION_NOT_ALLOWED_ON_INCREMENTAL_COPY_BLOB;
	if (!c->archived_too)
		TRY(blob_check_online(&c->blob));
	return find_pieces(txn, c);
}
