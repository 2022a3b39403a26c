/* SPDX-License-Identifier: Apache-2.0
 * Block lists as rows: the encoding of an entry, and the parts of a list. */
#include "svc/blob/content/manifest.h"

#include "base/bytes.h"

#include <assert.h>

enum { MANIFEST_PART_VERSION = 1 };

void blob_block_encode(struct buf *b, const struct block *k)
{
	assert(k->id.len <= UINT8_MAX);
	bytes_put_u8(b, (uint8_t)k->id.len);
	buf_put(b, k->id);
	bytes_put_u64(b, k->length_bytes);
	bytes_put_u8(b, k->owned);
	bytes_put_u32(b, k->extent_count);
	for (uint32_t i = 0; i < k->extent_count; i++)
		extent_ref_encode(b, &k->extents[i]);
}

enum err blob_block_decode(struct cursor *c, struct arena *arena, struct block *ret)
{
	struct block k = { .owned = false };
	k.id = cursor_raw(c, cursor_u8(c));
	k.length_bytes = cursor_u64(c);
	k.owned = cursor_u8(c) != 0;
	k.extent_count = cursor_u32(c);
	if (c->failed || k.extent_count > cursor_left(c) / EXTENT_REF_BYTES)
		return ERR_CORRUPT;
	k.extents = ARENA_NEW_ARRAY(arena, struct extent_ref, k.extent_count);
	if (!k.extents)
		return ERR_NO_MEMORY;
	for (uint32_t i = 0; i < k.extent_count; i++)
		k.extents[i] = extent_ref_decode(c);
	if (c->failed)
		return ERR_CORRUPT;
	*ret = k;
	return ERR_OK;
}

void blob_manifest_part_key(struct key *k, uint64_t content_id, uint32_t part)
{
	key_init(k);
	key_tag(k, 'f');
	key_u64(k, content_id);
	key_u64(k, part);
}

static enum err make_part(struct txn *txn, uint64_t content_id, uint32_t part, uint32_t count, struct slice entries,
			  struct txn_row *ret)
{
	struct key k;
	struct buf b;
	blob_manifest_part_key(&k, content_id, part);
	buf_init(&b, 2 * BLOB_MANIFEST_PART_BYTES);
	bytes_put_u8(&b, MANIFEST_PART_VERSION);
	bytes_put_u32(&b, count);
	buf_put(&b, entries);
	enum err e = buf_ok(&b) ? txn_row_make(txn, key_slice(&k), buf_slice(&b), ret) : ERR_NO_MEMORY;
	buf_fini(&b);
	return e;
}

size_t blob_block_encoded_bytes(const struct block *k)
{
	return 16 + k->id.len + (size_t)k->extent_count * EXTENT_REF_BYTES;
}

size_t blob_manifest_bytes(const struct manifest *m)
{
	size_t bytes = 0;
	for (size_t i = 0; i < m->count; i++)
		bytes += blob_block_encoded_bytes(&m->block[i]);
	return bytes;
}

enum err blob_manifest_put_part(struct txn *txn, uint64_t content_id, uint32_t part, const struct manifest *m)
{
	struct buf entries;
	struct txn_row row;
	buf_init(&entries, 2 * BLOB_MANIFEST_PART_BYTES);
	for (size_t i = 0; i < m->count; i++)
		blob_block_encode(&entries, &m->block[i]);
	enum err e = ERR_NO_MEMORY;
	if (buf_ok(&entries))
		e = make_part(txn, content_id, part, (uint32_t)m->count, buf_slice(&entries), &row);
	buf_fini(&entries);
	TRY(e);
	return txn_put_row(txn, &row);
}

/* How many blocks from `from` on are one part. */
static size_t part_blocks(const struct manifest *m, size_t from)
{
	size_t bytes = 0, extents = 0, at = from;
	for (; at < m->count; at++) {
		const struct block *k = &m->block[at];
		bytes += blob_block_encoded_bytes(k);
		extents += k->extent_count;
		bool full = bytes > BLOB_MANIFEST_PART_BYTES - 16 || extents > MANIFEST_PART_EXTENTS;
		if (full && at > from)
			break;
	}
	return at - from;
}

enum err blob_manifest_make(struct txn *txn, uint64_t content_id, const struct manifest *m, struct txn_row **ret,
			    uint32_t *ret_parts)
{
	struct buf entries;
	uint32_t parts = 0, made = 0;
	enum err e = ERR_OK;
	for (size_t at = 0; at < m->count; at += part_blocks(m, at))
		parts++;
	struct txn_row *row = ARENA_NEW_ARRAY(txn_arena(txn), struct txn_row, parts ? parts : 1);
	if (!row)
		return ERR_NO_MEMORY;
	buf_init(&entries, 2 * BLOB_MANIFEST_PART_BYTES);
	for (size_t at = 0; at < m->count && e == ERR_OK; made++) {
		size_t count = part_blocks(m, at);
		buf_clear(&entries);
		for (size_t i = 0; i < count; i++)
			blob_block_encode(&entries, &m->block[at + i]);
		e = ERR_NO_MEMORY;
		if (buf_ok(&entries))
			e = make_part(txn, content_id, made, (uint32_t)count, buf_slice(&entries), &row[made]);
		at += count;
	}
	buf_fini(&entries);
	TRY(e);
	assert(made == parts); /* no block of the list is left out */
	*ret = row;
	*ret_parts = parts;
	return ERR_OK;
}

enum err blob_manifest_get_part(struct txn *txn, uint64_t content_id, uint32_t part, struct manifest *ret)
{
	struct key k;
	struct slice value;
	struct arena *arena = txn_arena(txn);
	blob_manifest_part_key(&k, content_id, part);
	TRY(txn_get(txn, key_slice(&k), &value));
	struct cursor c = cursor_make(value);
	if (cursor_u8(&c) != MANIFEST_PART_VERSION)
		return ERR_CORRUPT;
	struct manifest m = { .count = cursor_u32(&c) };
	if (c.failed || m.count > cursor_left(&c))
		return ERR_CORRUPT;
	m.block = ARENA_NEW_ARRAY(arena, struct block, m.count);
	if (!m.block)
		return ERR_NO_MEMORY;
	for (size_t i = 0; i < m.count; i++)
		TRY(blob_block_decode(&c, arena, &m.block[i]));
	*ret = m;
	return cursor_done(&c) ? ERR_OK : ERR_CORRUPT;
}

enum err blob_manifest_get(struct txn *txn, const struct content *content, struct manifest *ret)
{
	struct arena *arena = txn_arena(txn);
	struct manifest *parts = ARENA_NEW_ARRAY(arena, struct manifest, content->part_count ? content->part_count : 1);
	struct manifest all = { NULL, 0 };
	if (!parts)
		return ERR_NO_MEMORY;
	for (uint32_t i = 0; i < content->part_count; i++) {
		enum err e = blob_manifest_get_part(txn, content->id, i, &parts[i]);
		TRY(e == ERR_NOT_FOUND ? ERR_CORRUPT : e);
		all.count += parts[i].count;
	}
	if (content->part_count == 1) {
		*ret = parts[0];
		return ERR_OK;
	}
	all.block = ARENA_NEW_ARRAY(arena, struct block, all.count ? all.count : 1);
	if (!all.block)
		return ERR_NO_MEMORY;
	size_t at = 0;
	for (uint32_t i = 0; i < content->part_count; i++) {
		memcpy(&all.block[at], parts[i].block, parts[i].count * sizeof *all.block);
		at += parts[i].count;
	}
	assert(at == all.count);
	*ret = all;
	return ERR_OK;
}
