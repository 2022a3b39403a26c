/* SPDX-License-Identifier: Apache-2.0
 * Append blobs: Append Block, Append Blob Seal, and where the bytes of a range lie. */
#include "svc/blob/content/append.h"

#include "store/encrypted.h"
#include "svc/common/generation.h"

#include <assert.h>

enum { APPEND_BLOCKS_MAX = 50000 };

static void block_key(struct key *k, uint64_t content, uint64_t offset)
{
	key_init(k);
	key_tag(k, 'p');
	key_u64(k, content);
	key_u64_desc(k, offset);
}

static uint64_t added_bytes(const struct blob_append_call *c)
{
	return c->payload ? c->payload->length_bytes : 0;
}

static enum err check_append_conditions(const struct blob_append_call *c)
{
	uint64_t length = c->blob.length_bytes;
	if (c->has_position && c->position != length)
		return ERR_APPEND_POSITION_CONDITION_NOT_MET;
	if (c->has_max_size && (length > c->max_size || added_bytes(c) > c->max_size - length))
		return ERR_MAX_BLOB_SIZE_CONDITION_NOT_MET;
	return ERR_OK;
}

static enum err load_append(struct txn *txn, struct blob_append_call *c)
{
	TRY(generation_require(txn, ERR_CONTAINER_NOT_FOUND));
	TRY(blob_load(txn, &c->target, &c->blob));
	TRY(blob_check_conditions(txn, &c->target, &c->blob));
	if (c->blob.type == BLOB_APPEND)
		TRY(check_append_conditions(c));
	TRY(blob_check_changeable(&c->blob, txn_now(txn)));
	return c->blob.type == BLOB_APPEND ? ERR_OK : ERR_INVALID_BLOB_TYPE;
}

enum err blob_append_put_row(struct txn *txn, uint64_t content_id, uint64_t offset, const struct extent_ref *extents,
			     size_t count, uint64_t length_bytes)
{
	struct key k;
	struct buf b;
	if (count > UINT16_MAX || length_bytes > UINT32_MAX)
		return ERR_LIMIT;
	block_key(&k, content_id, offset);
	buf_init(&b, LIMIT_VALUE_BYTES);
	blob_row_extents_encode(&b, extents, (uint16_t)count);
	bytes_put_u32(&b, (uint32_t)length_bytes);
	enum err e = buf_ok(&b) ? txn_put(txn, key_slice(&k), buf_slice(&b)) : ERR_NO_MEMORY;
	buf_fini(&b);
	return e;
}

static enum err put_block(struct txn *txn, const struct blob_append_call *c)
{
	const struct payload *p = c->payload;
	assert(p->extent_count > 0); /* a block in the record itself would be lost: append blobs take extents alone */
	for (size_t i = 0; i < p->extent_count; i++)
		TRY(txn_publish(txn, &p->extents[i]));
	return blob_append_put_row(txn, c->blob.content.id, c->offset, p->extents, p->extent_count, p->length_bytes);
}

enum err blob_apply_append(struct txn *txn, void *call)
{
	struct blob_append_call *c = call;
	TRY(load_append(txn, c));
	struct blob *b = &c->blob;
	if (b->sealed)
		return ERR_BLOB_IS_SEALED;
	if (b->block_count >= APPEND_BLOCKS_MAX)
		return ERR_BLOCK_COUNT_EXCEEDS_LIMIT;
	if (!c->payload)
		return ERR_OK;
	c->offset = b->length_bytes;
	TRY(put_block(txn, c));
	assert(b->content.kind == CONTENT_ROWS && c->offset == b->length_bytes);
	b->length_bytes += added_bytes(c);
	b->block_count++;
	b->http.has_md5 = false; /* it was of other bytes */
	lease_note_write(&b->lease, txn_now(txn));
	blob_touch(txn, b, b->etag);
	return blob_put(txn, b);
}

enum err blob_apply_seal(struct txn *txn, void *call)
{
	struct blob_append_call *c = call;
	TRY(load_append(txn, c));
	if (c->blob.sealed)
		return ERR_OK;
	c->blob.sealed = true;
	lease_note_write(&c->blob.lease, txn_now(txn));
	blob_touch(txn, &c->blob, c->blob.etag);
	return blob_put(txn, &c->blob);
}

/* ---- reading ---- */

struct found_block {
	uint64_t offset;
	uint32_t length;
	struct extent_ref *extents;
	uint16_t extent_count;
};

static enum err decode_block(struct txn *txn, const struct row *row, struct found_block *ret)
{
	struct slice rest = row->key;
	uint64_t content;
	struct cursor c = cursor_make(row->value);
	if (!key_take_tag(&rest, 'p') || !key_take_u64(&rest, &content) || !key_take_u64_desc(&rest, &ret->offset))
		return ERR_CORRUPT;
	TRY(blob_row_extents_decode(&c, txn_arena(txn), &ret->extents, &ret->extent_count));
	ret->length = cursor_u32(&c);
	return cursor_done(&c) ? ERR_OK : ERR_CORRUPT;
}

/* The blocks that overlap the range, last first. */
static enum err collect(struct txn *txn, const struct blob_get_call *c, struct found_block *found, size_t *ret_count,
			size_t *ret_extents)
{
	struct key from, until;
	size_t count = 0, extents = 0;
	block_key(&from, c->blob.content.id, c->offset + c->length - 1);
	key_init(&until);
	key_tag(&until, 'p');
	key_u64(&until, c->blob.content.id);
	key_prefix_end(&until);
	for (bool done = false; !done;) {
		struct rows rows;
		struct scan_spec spec = { .from = key_slice(&from), .until = key_slice(&until) };
		TRY(txn_scan(txn, &spec, &rows));
		for (size_t i = 0; i < rows.count && !done; i++) {
			if (count == c->blob.block_count)
				return ERR_CORRUPT;
			TRY(decode_block(txn, &rows.row[i], &found[count]));
			TRY(txn_spend(txn, 1));
			extents += found[count].extent_count;
			done = found[count++].offset <= c->offset;
		}
		if (!rows.more)
			break;
		if (rows.count)
			key_after(&from, rows.row[rows.count - 1].key);
	}
	*ret_count = count;
	*ret_extents = extents;
	return ERR_OK;
}

enum err blob_append_pieces(struct txn *txn, struct blob_get_call *c)
{
	struct arena *arena = txn_arena(txn);
	size_t count, extents;
	struct found_block *found =
		ARENA_NEW_ARRAY(arena, struct found_block, c->blob.block_count ? c->blob.block_count : 1);
	if (!found)
		return ERR_NO_MEMORY;
	TRY(collect(txn, c, found, &count, &extents));
	c->piece = ARENA_NEW_ARRAY(arena, struct blob_piece, extents ? extents : 1);
	if (!c->piece)
		return ERR_NO_MEMORY;
	uint64_t from = c->offset, to = c->offset + c->length;
	while (count--) {
		uint64_t at = found[count].offset;
		for (uint16_t i = 0; i < found[count].extent_count && from < to; i++) {
			const struct extent_ref *e = &found[count].extents[i];
			uint64_t end = at + extent_ref_data_bytes(e, c->blob.encryption.has_key);
			uint64_t last = end < to ? end : to;
			if (last > from) {
				if (from < at)
					return ERR_CORRUPT;
				c->piece[c->piece_count++] = (struct blob_piece){ .extent = *e,
										  .offset = (uint32_t)(from - at),
										  .length_bytes = last - from };
				from = last;
			}
			at = end;
		}
	}
	return from == to ? ERR_OK : ERR_CORRUPT;
}

/* ---- copying ---- */

enum { COPY_BLOCKS = 256, COPY_EXTENTS = 512 };

/* Every row is found by its offset: the one before says where it begins. */
enum err blob_apply_append_blocks(struct txn *txn, void *call)
{
	struct append_blocks_call *c = call;
	struct arena *arena = txn_arena(txn);
	struct manifest m = { .block = ARENA_NEW_ARRAY(arena, struct block, COPY_BLOCKS) };
	uint64_t at = c->offset;
	if (!m.block)
		return ERR_NO_MEMORY;
	for (size_t extents = 0; at < c->end && m.count < COPY_BLOCKS && extents < COPY_EXTENTS;) {
		struct key k;
		struct found_block found;
		struct row row;
		block_key(&k, c->content_id, at);
		row.key = key_slice(&k);
		TRY(txn_get(txn, row.key, &row.value));
		TRY(decode_block(txn, &row, &found));
		if (found.length == 0)
			return ERR_CORRUPT;
		m.block[m.count++] = (struct block){ .id = SLICE(""),
						     .length_bytes = found.length,
						     .owned = true,
						     .extent_count = found.extent_count,
						     .extents = found.extents };
		at += found.length;
		extents += found.extent_count;
	}
	c->blocks = m;
	return ERR_OK;
}
