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

static enum err put_part(struct txn *txn, uint64_t content_id, uint32_t part, uint32_t count, const struct buf *entries)
{
	struct key k;
	struct buf b;
	blob_manifest_part_key(&k, content_id, part);
	buf_init(&b, 2 * BLOB_MANIFEST_PART_BYTES);
	bytes_put_u8(&b, MANIFEST_PART_VERSION);
	bytes_put_u32(&b, count);
	buf_put(&b, buf_slice(entries));
	enum err e = buf_ok(&b) ? txn_put(txn, key_slice(&k), buf_slice(&b)) : ERR_NO_MEMORY;
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
	buf_init(&entries, 2 * BLOB_MANIFEST_PART_BYTES);
	for (size_t i = 0; i < m->count; i++)
		blob_block_encode(&entries, &m->block[i]);
	enum err e = buf_ok(&entries) ? put_part(txn, content_id, part, (uint32_t)m->count, &entries) : ERR_NO_MEMORY;
	buf_fini(&entries);
	return e;
}

enum err blob_manifest_put(struct txn *txn, uint64_t content_id, const struct manifest *m, uint32_t *ret_parts)
{
	struct buf entries;
	uint32_t parts = 0, in_part = 0;
	size_t extents = 0;
	enum err e = ERR_OK;
	buf_init(&entries, 2 * BLOB_MANIFEST_PART_BYTES);
	for (size_t i = 0; i < m->count && e == ERR_OK; i++) {
		const struct block *k = &m->block[i];
		size_t bytes = blob_block_encoded_bytes(k);
		bool full = in_part && (entries.len + bytes > BLOB_MANIFEST_PART_BYTES - 16 ||
					extents + k->extent_count > MANIFEST_PART_EXTENTS);
		if (full) {
			e = put_part(txn, content_id, parts++, in_part, &entries);
			buf_clear(&entries);
			in_part = 0;
			extents = 0;
		}
		blob_block_encode(&entries, k);
		in_part++;
		extents += k->extent_count;
	}
	if (e == ERR_OK && in_part)
		e = put_part(txn, content_id, parts++, in_part, &entries);
	if (e == ERR_OK && !buf_ok(&entries))
		e = ERR_NO_MEMORY;
	buf_fini(&entries);
	assert(e != ERR_OK || m->count == 0 || parts > 0);
	*ret_parts = parts;
	return e;
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
