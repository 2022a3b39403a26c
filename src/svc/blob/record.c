/* SPDX-License-Identifier: Apache-2.0
 * Blob record, version 1. Flags say which optional groups follow, so that a plain small blob stays small. */
#include "svc/blob/record.h"

#include <assert.h>

#include "svc/blob/retire.h"
#include "svc/common/names.h"

enum { BLOB_RECORD_VERSION = 1 };

enum {
	HAS_ENCODING = 1 << 0,
	HAS_LANGUAGE = 1 << 1,
	HAS_DISPOSITION = 1 << 2,
	HAS_CACHE_CONTROL = 1 << 3,
	HAS_MD5 = 1 << 4,
	HAS_METADATA = 1 << 5,
	HAS_TAGS = 1 << 6,
	HAS_LEASE = 1 << 7,
	HAS_SEQUENCE = 1 << 8,
	HAS_BLOCK_COUNT = 1 << 9,
	HAS_TIER = 1 << 10,
	HAS_COPY = 1 << 11,
	HAS_VERSION = 1 << 12,
	HAS_HISTORY = 1 << 13,
	HAS_DELETED = 1 << 14,
	HAS_IMMUTABILITY = 1 << 15,
	HAS_EXPIRY = 1 << 16,
	IS_SEALED = 1 << 17,
	IS_SNAPSHOT = 1 << 18,
	IS_LEGAL_HOLD = 1 << 19,
	HAS_ODD_MD5 = 1 << 20,
	HAS_CLEARS = 1 << 21,
	IS_REHYDRATE_HIGH = 1 << 22,
	HAS_KEY = 1 << 23,
	HAS_SCOPE = 1 << 24,
	TELLS_LEGAL_HOLD = 1 << 25,
};

static uint32_t flags_of(const struct blob *b)
{
	uint32_t f = 0;
	f |= slice_is_set(b->http.content_encoding) ? HAS_ENCODING : 0;
	f |= slice_is_set(b->http.content_language) ? HAS_LANGUAGE : 0;
	f |= slice_is_set(b->http.content_disposition) ? HAS_DISPOSITION : 0;
	f |= slice_is_set(b->http.cache_control) ? HAS_CACHE_CONTROL : 0;
	f |= b->http.has_md5 ? HAS_MD5 : 0;
	f |= !b->http.has_md5 && slice_is_set(b->http.odd_md5) ? HAS_ODD_MD5 : 0;
	f |= b->metadata.count ? HAS_METADATA : 0;
	f |= b->tags.count ? HAS_TAGS : 0;
	f |= b->lease.held ? HAS_LEASE : 0;
	f |= b->sequence_number ? HAS_SEQUENCE : 0;
	f |= b->block_count ? HAS_BLOCK_COUNT : 0;
	f |= b->tier != TIER_NONE || b->rehydrate != REHYDRATE_NONE ? HAS_TIER : 0;
	f |= b->copy.status != COPY_NONE ? HAS_COPY : 0;
	f |= b->version_ticks ? HAS_VERSION : 0;
	f |= b->history_ticks ? HAS_HISTORY : 0;
	f |= b->deleted_ticks ? HAS_DELETED : 0;
	f |= b->immutability != IMMUTABLE_NONE ? HAS_IMMUTABILITY : 0;
	f |= b->expires_ticks ? HAS_EXPIRY : 0;
	f |= b->sealed ? IS_SEALED : 0;
	f |= b->is_snapshot ? IS_SNAPSHOT : 0;
	f |= b->legal_hold ? IS_LEGAL_HOLD : 0;
	f |= b->tells_legal_hold ? TELLS_LEGAL_HOLD : 0;
	f |= b->content.clears ? HAS_CLEARS : 0;
	f |= b->rehydrate_high ? IS_REHYDRATE_HIGH : 0;
	f |= b->encryption.has_key ? HAS_KEY : 0;
	f |= slice_is_set(b->encryption.scope) ? HAS_SCOPE : 0;
	return f;
}

static void copy_encode(struct buf *b, const struct blob_copy *c)
{
	bytes_put_u8(b, (uint8_t)c->status);
	buf_put(b, slice_make(c->id.bytes, sizeof c->id.bytes));
	bytes_put_str(b, c->source);
	bytes_put_str(b, c->description);
	bytes_put_u64(b, c->copied_bytes);
	bytes_put_u64(b, c->total_bytes);
	bytes_put_u64(b, c->completed_ticks);
	bytes_put_u64(b, c->heartbeat_ticks);
	bytes_put_u8(b, c->incremental);
	bytes_put_u64(b, c->incremental_snapshot);
}

static struct blob_copy copy_decode(struct cursor *c)
{
	struct blob_copy copy = { .status = (enum copy_status)cursor_u8(c) };
	struct slice id = cursor_raw(c, sizeof copy.id.bytes);
	if (!c->failed)
		memcpy(copy.id.bytes, id.ptr, id.len);
	copy.source = cursor_str(c);
	copy.description = cursor_str(c);
	copy.copied_bytes = cursor_u64(c);
	copy.total_bytes = cursor_u64(c);
	copy.completed_ticks = cursor_u64(c);
	copy.heartbeat_ticks = cursor_u64(c);
	copy.incremental = cursor_u8(c) != 0;
	copy.incremental_snapshot = cursor_u64(c);
	return copy;
}

static void encryption_encode(struct buf *b, uint32_t f, const struct blob_encryption *e)
{
	if (f & HAS_KEY)
		buf_put(b, slice_make(e->key_sha256, sizeof e->key_sha256));
	if (f & HAS_SCOPE)
		bytes_put_str(b, e->scope);
}

static struct blob_encryption encryption_decode(struct cursor *c, uint32_t f)
{
	struct blob_encryption e = { .has_key = (f & HAS_KEY) != 0 };
	if (e.has_key) {
		struct slice sha256 = cursor_raw(c, sizeof e.key_sha256);
		if (!c->failed)
			memcpy(e.key_sha256, sha256.ptr, sha256.len);
	}
	if (f & HAS_SCOPE)
		e.scope = cursor_str(c);
	return e;
}

static void content_encode(struct buf *b, const struct content *c)
{
	bytes_put_u8(b, (uint8_t)c->kind);
	switch (c->kind) {
	case CONTENT_EMPTY:
		break;
	case CONTENT_INLINE:
		bytes_put_str(b, c->inline_bytes);
		break;
	case CONTENT_ROW:
		bytes_put_u64(b, c->id);
		break;
	case CONTENT_EXTENTS:
		bytes_put_u64(b, c->id);
		bytes_put_u32(b, c->extent_count);
		for (uint32_t i = 0; i < c->extent_count; i++)
			extent_ref_encode(b, &c->extents[i]);
		break;
	case CONTENT_MANIFEST:
		bytes_put_u64(b, c->id);
		bytes_put_u32(b, c->part_count);
		bytes_put_u64(b, c->epoch);
		break;
	case CONTENT_ROWS:
		bytes_put_u64(b, c->id);
		bytes_put_u64(b, c->epoch);
		break;
	}
}

static struct content content_decode(struct cursor *c, struct arena *arena)
{
	struct content content = { .kind = (enum content_kind)cursor_u8(c) };
	switch (content.kind) {
	case CONTENT_EMPTY:
		return content;
	case CONTENT_INLINE:
		content.inline_bytes = cursor_str(c);
		return content;
	case CONTENT_ROW:
		content.id = cursor_u64(c);
		return content;
	case CONTENT_EXTENTS:
		content.id = cursor_u64(c);
		content.extent_count = cursor_u32(c);
		if (c->failed || content.extent_count > cursor_left(c) / EXTENT_REF_BYTES)
			break;
		content.extents = ARENA_NEW_ARRAY(arena, struct extent_ref, content.extent_count);
		if (!content.extents)
			break;
		for (uint32_t i = 0; i < content.extent_count; i++)
			content.extents[i] = extent_ref_decode(c);
		return content;
	case CONTENT_MANIFEST:
		content.id = cursor_u64(c);
		content.part_count = cursor_u32(c);
		content.epoch = cursor_u64(c);
		return content;
	case CONTENT_ROWS:
		content.id = cursor_u64(c);
		content.epoch = cursor_u64(c);
		return content;
	}
	c->failed = true;
	return (struct content){ .kind = CONTENT_EMPTY };
}

void blob_encode(struct buf *b, const struct blob *v)
{
	uint32_t f = flags_of(v);
	bytes_put_u8(b, BLOB_RECORD_VERSION);
	bytes_put_u8(b, (uint8_t)v->type);
	bytes_put_u32(b, f);
	bytes_put_u64(b, v->etag);
	bytes_put_u64(b, v->modified_ticks);
	bytes_put_u64(b, v->created_ticks);
	bytes_put_u64(b, v->length_bytes);
	bytes_put_str(b, v->http.content_type);
	if (f & HAS_ENCODING)
		bytes_put_str(b, v->http.content_encoding);
	if (f & HAS_LANGUAGE)
		bytes_put_str(b, v->http.content_language);
	if (f & HAS_DISPOSITION)
		bytes_put_str(b, v->http.content_disposition);
	if (f & HAS_CACHE_CONTROL)
		bytes_put_str(b, v->http.cache_control);
	if (f & HAS_MD5)
		buf_put(b, slice_make(v->http.md5, sizeof v->http.md5));
	if (f & HAS_ODD_MD5)
		bytes_put_str(b, v->http.odd_md5);
	if (f & HAS_METADATA)
		pairs_encode(b, &v->metadata);
	if (f & HAS_TAGS)
		pairs_encode(b, &v->tags);
	if (f & HAS_LEASE)
		lease_encode(b, &v->lease);
	if (f & HAS_SEQUENCE)
		bytes_put_u64(b, v->sequence_number);
	if (f & HAS_BLOCK_COUNT)
		bytes_put_u32(b, v->block_count);
	if (f & HAS_TIER) {
		bytes_put_u8(b, (uint8_t)v->tier);
		bytes_put_u8(b, (uint8_t)v->rehydrate);
		bytes_put_u64(b, v->tier_changed_ticks);
	}
	if (f & HAS_COPY)
		copy_encode(b, &v->copy);
	if (f & HAS_VERSION)
		bytes_put_u64(b, v->version_ticks);
	if (f & HAS_HISTORY)
		bytes_put_u64(b, v->history_ticks);
	if (f & HAS_DELETED) {
		bytes_put_u64(b, v->deleted_ticks);
		bytes_put_u32(b, v->retention_days);
	}
	if (f & HAS_IMMUTABILITY) {
		bytes_put_u8(b, (uint8_t)v->immutability);
		bytes_put_u64(b, v->immutable_until_ticks);
	}
	if (f & HAS_EXPIRY)
		bytes_put_u64(b, v->expires_ticks);
	encryption_encode(b, f, &v->encryption);
	content_encode(b, &v->content);
}

static void decode_http(struct cursor *c, uint32_t f, struct blob_http *h)
{
	h->content_type = cursor_str(c);
	if (f & HAS_ENCODING)
		h->content_encoding = cursor_str(c);
	if (f & HAS_LANGUAGE)
		h->content_language = cursor_str(c);
	if (f & HAS_DISPOSITION)
		h->content_disposition = cursor_str(c);
	if (f & HAS_CACHE_CONTROL)
		h->cache_control = cursor_str(c);
	if (f & HAS_MD5) {
		struct slice md5 = cursor_raw(c, sizeof h->md5);
		h->has_md5 = !c->failed;
		if (h->has_md5)
			memcpy(h->md5, md5.ptr, md5.len);
	}
	if (f & HAS_ODD_MD5) {
		h->odd_md5 = cursor_str(c);
		c->failed = c->failed || h->odd_md5.len > BLOB_ODD_MD5_MAX;
	}
}

enum err blob_decode(struct slice record, struct arena *arena, struct blob *ret)
{
	struct cursor c = cursor_make(record);
	struct blob v = { .name = SLICE_NONE };
	if (cursor_u8(&c) != BLOB_RECORD_VERSION)
		return ERR_CORRUPT;
	v.type = (enum blob_type)cursor_u8(&c);
	uint32_t f = cursor_u32(&c);
	v.etag = cursor_u64(&c);
	v.modified_ticks = cursor_u64(&c);
	v.created_ticks = cursor_u64(&c);
	v.length_bytes = cursor_u64(&c);
	decode_http(&c, f, &v.http);
	if (f & HAS_METADATA)
		v.metadata = pairs_decode(&c, arena);
	if (f & HAS_TAGS)
		v.tags = pairs_decode(&c, arena);
	if (f & HAS_LEASE)
		v.lease = lease_decode(&c);
	if (f & HAS_SEQUENCE)
		v.sequence_number = cursor_u64(&c);
	if (f & HAS_BLOCK_COUNT)
		v.block_count = cursor_u32(&c);
	if (f & HAS_TIER) {
		v.tier = (enum blob_tier)cursor_u8(&c);
		v.rehydrate = (enum blob_rehydrate)cursor_u8(&c);
		v.tier_changed_ticks = cursor_u64(&c);
	}
	if (f & HAS_COPY)
		v.copy = copy_decode(&c);
	if (f & HAS_VERSION)
		v.version_ticks = cursor_u64(&c);
	if (f & HAS_HISTORY)
		v.history_ticks = cursor_u64(&c);
	if (f & HAS_DELETED) {
		v.deleted_ticks = cursor_u64(&c);
		v.retention_days = cursor_u32(&c);
	}
	if (f & HAS_IMMUTABILITY) {
		v.immutability = (enum immutability_mode)cursor_u8(&c);
		v.immutable_until_ticks = cursor_u64(&c);
	}
	if (f & HAS_EXPIRY)
		v.expires_ticks = cursor_u64(&c);
	v.sealed = (f & IS_SEALED) != 0;
	v.is_snapshot = (f & IS_SNAPSHOT) != 0;
	v.legal_hold = (f & IS_LEGAL_HOLD) != 0;
	v.tells_legal_hold = (f & TELLS_LEGAL_HOLD) != 0;
	v.rehydrate_high = (f & IS_REHYDRATE_HIGH) != 0;
	v.encryption = encryption_decode(&c, f);
	v.content = content_decode(&c, arena);
	v.content.clears = (f & HAS_CLEARS) != 0;
	if (!cursor_done(&c))
		return ERR_CORRUPT;
	*ret = v;
	return ERR_OK;
}

void blob_key(struct key *k, struct slice name)
{
	key_init(k);
	key_tag(k, 'b');
	key_str(k, name);
}

void blob_history_key(struct key *k, struct slice name, uint64_t ticks)
{
	key_init(k);
	key_tag(k, 'h');
	key_str(k, name);
	key_u64(k, ticks);
}

static enum err get_row(struct txn *txn, const struct key *k, struct slice name, struct blob *ret)
{
	struct slice value;
	if (k->overflow)
		return ERR_NOT_FOUND;
	TRY(txn_get(txn, key_slice(k), &value));
	TRY(blob_decode(value, txn_arena(txn), ret));
	ret->name = name;
	return ERR_OK;
}

enum err blob_get(struct txn *txn, struct slice name, struct blob *ret)
{
	struct key k;
	blob_key(&k, name);
	return get_row(txn, &k, name, ret);
}

enum err blob_history_get_row(struct txn *txn, struct slice name, uint64_t ticks, struct blob *ret)
{
	struct key k;
	blob_history_key(&k, name, ticks);
	return get_row(txn, &k, name, ret);
}

enum err blob_put(struct txn *txn, const struct blob *v)
{
	struct key k;
	struct buf b;
	if (v->history_ticks)
		blob_history_key(&k, v->name, v->history_ticks);
	else
		blob_key(&k, v->name);
	if (k.overflow)
		return ERR_LIMIT;
	buf_init(&b, BLOB_RECORD_MAX);
	blob_encode(&b, v);
	enum err e = buf_ok(&b) ? txn_put(txn, key_slice(&k), buf_slice(&b)) : ERR_LIMIT;
	buf_fini(&b);
	return e;
}

/* ---- contents ---- */

void blob_content_row_key(struct key *k, uint64_t id)
{
	key_init(k);
	key_tag(k, KEY_TAG_CONTENT);
	key_u64(k, id);
}

enum err blob_content_from_payload(struct txn *txn, const struct payload *p, uint64_t id, struct content *ret)
{
	struct content c = { .kind = CONTENT_EMPTY };
	if (p->length_bytes && p->extent_count == 0) {
		struct key k;
		c.kind = p->length_bytes <= CONTENT_IN_RECORD_BYTES ? CONTENT_INLINE : CONTENT_ROW;
		c.inline_bytes = p->inline_bytes;
		if (c.kind == CONTENT_ROW) {
			/* Ids that grow put new rows behind the old ones, where a compaction does not meet them again;
			 * random ones had it rewrite all contents each time. */
			c.id = txn_unique(txn);
			blob_content_row_key(&k, c.id);
			TRY(txn_put(txn, key_slice(&k), p->inline_bytes));
		}
	} else if (p->extent_count) {
		if (p->extent_count > BLOB_EXTENTS_IN_RECORD)
			return ERR_LIMIT;
		c.kind = CONTENT_EXTENTS;
		c.id = id;
		c.extents = p->extents;
		c.extent_count = (uint32_t)p->extent_count;
		for (uint32_t i = 0; i < c.extent_count; i++)
			TRY(txn_publish(txn, &c.extents[i]));
	}
	*ret = c;
	return ERR_OK;
}

enum err blob_content_load(struct txn *txn, struct content *c)
{
	struct key k;
	if (c->kind != CONTENT_ROW)
		return ERR_OK;
	blob_content_row_key(&k, c->id);
	enum err e = txn_get(txn, key_slice(&k), &c->inline_bytes);
	return e == ERR_NOT_FOUND ? ERR_CONFLICT : e;
}

static bool has_id(const struct content *c)
{
	return c->kind != CONTENT_EMPTY && c->kind != CONTENT_INLINE;
}

static void share_key(struct key *k, uint64_t id)
{
	key_init(k);
	key_tag(k, 'c');
	key_u64(k, id);
}

/* The row is there once a content was ever shared, and says enough of a manifest to give it back when the last holder
 * knows only its id (a borrower). */
struct share {
	uint32_t count;
	uint32_t part_count;
	uint64_t lender;
};

static enum err share_get(struct txn *txn, const struct key *k, const struct content *c, struct share *ret)
{
	struct slice value;
	enum err e = txn_get(txn, key_slice(k), &value);
	if (e == ERR_NOT_FOUND && c) {
		*ret = (struct share){ .count = 1, .part_count = c->part_count, .lender = c->epoch };
		return ERR_OK;
	}
	if (e != ERR_OK)
		return e == ERR_NOT_FOUND ? ERR_CORRUPT : e;
	struct cursor cursor = cursor_make(value);
	struct share s = { .count = cursor_u32(&cursor) };
	s.part_count = cursor_u32(&cursor);
	s.lender = cursor_u64(&cursor);
	*ret = s;
	return cursor_done(&cursor) && s.count ? ERR_OK : ERR_CORRUPT;
}

static enum err share_put(struct txn *txn, const struct key *k, const struct share *s)
{
	char bytes[16];
	struct buf b = { .ptr = bytes, .cap = sizeof bytes, .limit_bytes = sizeof bytes };
	bytes_put_u32(&b, s->count);
	bytes_put_u32(&b, s->part_count);
	bytes_put_u64(&b, s->lender);
	return txn_put(txn, key_slice(k), buf_slice(&b));
}

enum err blob_content_share(struct txn *txn, const struct content *c)
{
	struct key k;
	struct share s;
	if (!has_id(c))
		return ERR_OK;
	share_key(&k, c->id);
	TRY(share_get(txn, &k, c, &s));
	s.count++;
	return share_put(txn, &k, &s);
}

enum err blob_content_is_shared(struct txn *txn, const struct content *c, bool *ret)
{
	struct key k;
	struct share s = { .count = 1 };
	if (has_id(c)) {
		share_key(&k, c->id);
		TRY(share_get(txn, &k, c, &s));
	}
	*ret = s.count > 1;
	return ERR_OK;
}

enum err blob_content_release(struct txn *txn, const struct content *c)
{
	struct key k;
	struct share s;
	if (!has_id(c))
		return ERR_OK;
	share_key(&k, c->id);
	TRY(share_get(txn, &k, c, &s));
	if (--s.count)
		return share_put(txn, &k, &s);
	TRY(txn_del(txn, key_slice(&k)));
	return blob_retire_content(txn, c);
}

enum err blob_content_release_lender(struct txn *txn, uint64_t id)
{
	struct key k;
	struct share s;
	share_key(&k, id);
	TRY(share_get(txn, &k, NULL, &s));
	struct content lender = { .kind = CONTENT_MANIFEST, .id = id, .part_count = s.part_count, .epoch = s.lender };
	return blob_content_release(txn, &lender);
}

/* ---- extents of 'p' rows ---- */

static void extent_key(struct key *k, uint64_t id)
{
	key_init(k);
	key_tag(k, 'x');
	key_u64(k, id);
}

enum err blob_extent_add_ref(struct txn *txn, const struct extent_ref *ref, uint32_t more)
{
	struct key k;
	extent_key(&k, ref->id);
	return names_add(txn, key_slice(&k), NAMES_IN_CONTAINER, more);
}

enum err blob_extent_drop_ref(struct txn *txn, const struct extent_ref *ref)
{
	struct key k;
	bool last;
	extent_key(&k, ref->id);
	TRY(names_drop(txn, key_slice(&k), NAMES_IN_CONTAINER, &last));
	return last ? txn_retire(txn, ref) : ERR_OK;
}

void blob_row_extents_encode(struct buf *b, const struct extent_ref *refs, uint16_t count)
{
	bytes_put_u8(b, ROW_RECORD_VERSION);
	bytes_put_u16(b, count);
	for (uint16_t i = 0; i < count; i++)
		extent_ref_encode(b, &refs[i]);
}

enum err blob_row_extents_decode(struct cursor *c, struct arena *arena, struct extent_ref **ret_refs,
				 uint16_t *ret_count)
{
	if (cursor_u8(c) != ROW_RECORD_VERSION)
		return ERR_CORRUPT;
	uint16_t count = cursor_u16(c);
	if (c->failed || count > cursor_left(c) / EXTENT_REF_BYTES)
		return ERR_CORRUPT;
	struct extent_ref *refs = ARENA_NEW_ARRAY(arena, struct extent_ref, count ? count : 1);
	if (!refs)
		return ERR_NO_MEMORY;
	for (uint16_t i = 0; i < count; i++)
		refs[i] = extent_ref_decode(c);
	*ret_refs = refs;
	*ret_count = count;
	return c->failed ? ERR_CORRUPT : ERR_OK;
}
