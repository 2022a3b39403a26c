/* SPDX-License-Identifier: Apache-2.0
 * A 'k' record: u8 version, u8 kind, u32 parts, u64 last_ticks. */
#include "svc/blob/content/build.h"

#include "base/bytes.h"
#include "svc/blob/content/append.h"
#include "svc/blob/retire.h"
#include "svc/common/generation.h"

#include <assert.h>

enum { BUILD_RECORD_VERSION = 1 };

struct build {
	enum build_kind kind;
	uint32_t part_count;
	uint64_t last_ticks;
};

static void build_key(struct key *k, uint64_t content_id)
{
	key_init(k);
	key_tag(k, 'k');
	key_u64(k, content_id);
}

static enum err build_decode(struct slice value, struct build *ret)
{
	struct cursor c = cursor_make(value);
	if (cursor_u8(&c) != BUILD_RECORD_VERSION)
		return ERR_CORRUPT;
	struct build b = { .kind = (enum build_kind)cursor_u8(&c) };
	b.part_count = cursor_u32(&c);
	b.last_ticks = cursor_u64(&c);
	if (!cursor_done(&c) || (b.kind != BUILD_MANIFEST && b.kind != BUILD_APPEND))
		return ERR_CORRUPT;
	*ret = b;
	return ERR_OK;
}

static enum err build_get(struct txn *txn, const struct key *k, struct build *ret)
{
	struct slice value;
	TRY(txn_get(txn, key_slice(k), &value));
	return build_decode(value, ret);
}

static enum err build_put(struct txn *txn, const struct key *k, const struct build *build)
{
	char bytes[16];
	struct buf b = { .ptr = bytes, .cap = sizeof bytes, .limit_bytes = sizeof bytes };
	bytes_put_u8(&b, BUILD_RECORD_VERSION);
	bytes_put_u8(&b, (uint8_t)build->kind);
	bytes_put_u32(&b, build->part_count);
	bytes_put_u64(&b, build->last_ticks);
	return txn_put(txn, key_slice(k), buf_slice(&b));
}

static struct content content_of(const struct build *b, uint64_t id)
{
	if (b->kind == BUILD_APPEND)
		return (struct content){ .kind = CONTENT_ROWS, .id = id, .epoch = 1 };
	return (struct content){ .kind = CONTENT_MANIFEST, .id = id, .part_count = b->part_count };
}

static enum err add_rows(struct txn *txn, const struct build_add_call *c)
{
	uint64_t at = c->offset;
	for (size_t i = 0; i < c->blocks.count; i++) {
		const struct block *b = &c->blocks.block[i];
		TRY(blob_append_put_row(txn, c->content_id, at, b->extents, b->extent_count, b->length_bytes));
		at += b->length_bytes;
	}
	return ERR_OK;
}

enum err blob_apply_build_add(struct txn *txn, void *call)
{
	struct build_add_call *c = call;
	struct build b = { .kind = c->kind };
	struct key k;
	assert(c->content_id && (c->kind == BUILD_APPEND || c->kind == BUILD_MANIFEST));
	TRY(generation_require(txn, ERR_CONTAINER_NOT_FOUND));
	build_key(&k, c->content_id);
	if (!c->first)
		TRY(build_get(txn, &k, &b));
	for (size_t i = 0; i < c->blocks.count; i++)
		for (uint32_t e = 0; e < c->blocks.block[i].extent_count; e++)
			TRY(txn_publish(txn, &c->blocks.block[i].extents[e]));
	if (c->kind == BUILD_APPEND)
		TRY(add_rows(txn, c));
	else
		TRY(blob_manifest_put_part(txn, c->content_id, b.part_count++, &c->blocks));
	b.last_ticks = txn_now(txn);
	return build_put(txn, &k, &b);
}

enum err blob_build_take(struct txn *txn, uint64_t content_id, struct content *ret)
{
	struct key k;
	struct build b;
	build_key(&k, content_id);
	TRY(build_get(txn, &k, &b));
	TRY(txn_del(txn, key_slice(&k)));
	*ret = content_of(&b, content_id);
	return ERR_OK;
}

enum err blob_build_drop_row(struct txn *txn, struct slice key)
{
	struct slice rest = key, value;
	struct build b;
	uint64_t id;
	if (!key_take_tag(&rest, 'k') || !key_take_u64(&rest, &id) || rest.len)
		return ERR_CORRUPT;
	TRY(txn_get(txn, key, &value));
	TRY(build_decode(value, &b));
	struct content content = content_of(&b, id);
	TRY(txn_del(txn, key));
	return blob_retire_content(txn, &content);
}

enum err blob_apply_build_drop(struct txn *txn, void *call)
{
	struct build_drop_call *c = call;
	struct key k;
	build_key(&k, c->content_id);
	enum err e = blob_build_drop_row(txn, key_slice(&k));
	return e == ERR_NOT_FOUND ? ERR_OK : e;
}

enum err blob_build_expired(struct slice value, uint64_t now, bool *ret)
{
	struct build b;
	TRY(build_decode(value, &b));
	*ret = b.last_ticks + BUILD_SILENCE_SECONDS * TICKS_PER_SECOND <= now;
	return ERR_OK;
}
