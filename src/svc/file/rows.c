/* SPDX-License-Identifier: Apache-2.0
 * Bytes of the rows. Each begins with its version; those with a stamp have it next.
 *
 *   state (1)     used, quota, newest, u32 snapshots, last ticks, deleting ticks, tree stamp
 *   inode (1 to 3) stamp, id, parent, u8 kind, name, size, u32 attributes, four times, etag, permission, six headers,
 *                 metadata, lease, copy, content, born, run count, merge at, covers, data end; (2) then the source of
 *                 its only run, (3) of a directory then u16 levels and u16 characters that what is below reaches
 *   where (1)     stamp, parent, folded name
 *   run (1)       stamp, data stamp, first, u8 kind, by kind: bytes | source, u32 offset | extent, u32 offset
 *   cover (1)     first, end
 *   snapshot (1)  ticks, number, etag, u32 quota, metadata, lease
 *   work (1)      u8 kind, subject, stamp, next key
 *   names         svc/common/names.h
 *   permission (1) text
 *   merge (2)     offset to go on from, etag at the beginning, not before; (1) had the offset or nothing */
#include "svc/file/rows.h"

#include <assert.h>

#include "svc/common/generation.h"

enum {
	ROW_VERSION = 1,
	INODE_SOLE_VERSION = 2, /* of inodes that say where their only run is */
	INODE_BELOW_VERSION = 3 /* of directories that say how far down they reach; others are of an earlier program */
};

enum err file_row_put(struct txn *txn, const struct key *k, struct buf *b)
{
	enum err e = k->overflow || !buf_ok(b) ? ERR_LIMIT : txn_put(txn, key_slice(k), buf_slice(b));
	buf_fini(b);
	return e;
}

static void tag_u64(struct key *k, char tag, uint64_t v)
{
	key_init(k);
	key_tag(k, tag);
	key_u64(k, v);
}

/* ---- state ---- */

#define STATE_KEY SLICE("s")

enum err share_state_get(struct txn *txn, struct share_state *ret)
{
	TRY(generation_require(txn, ERR_SHARE_NOT_FOUND));
	return share_state_load(txn, ret);
}

enum err share_state_load(struct txn *txn, struct share_state *ret)
{
	struct slice value;
	enum err e = txn_get(txn, STATE_KEY, &value);
	if (e == ERR_NOT_FOUND) /* the generation is live, so this row was there */
		return ERR_CORRUPT;
	TRY(e);
	return share_state_decode(value, ret);
}

enum err share_state_decode(struct slice record, struct share_state *ret)
{
	struct cursor c = cursor_make(record);
	if (cursor_u8(&c) != ROW_VERSION)
		return ERR_CORRUPT;
	struct share_state s = { .used_bytes = cursor_u64(&c) };
	s.quota_bytes = cursor_u64(&c);
	s.newest = cursor_u64(&c);
	s.snapshot_count = cursor_u32(&c);
	s.last_ticks = cursor_u64(&c);
	s.deleting_ticks = cursor_u64(&c);
	s.tree_stamp = cursor_u64(&c);
	if (!cursor_done(&c))
		return ERR_CORRUPT;
	*ret = s;
	return ERR_OK;
}

void share_state_encode(struct buf *b, const struct share_state *s)
{
	bytes_put_u8(b, ROW_VERSION);
	bytes_put_u64(b, s->used_bytes);
	bytes_put_u64(b, s->quota_bytes);
	bytes_put_u64(b, s->newest);
	bytes_put_u32(b, s->snapshot_count);
	bytes_put_u64(b, s->last_ticks);
	bytes_put_u64(b, s->deleting_ticks);
	bytes_put_u64(b, s->tree_stamp);
}

enum err share_state_put(struct txn *txn, const struct share_state *s)
{
	char bytes[64];
	struct buf b = { .ptr = bytes, .cap = sizeof bytes, .limit_bytes = sizeof bytes };
	share_state_encode(&b, s);
	assert(buf_ok(&b));
	return txn_put(txn, STATE_KEY, buf_slice(&b));
}

/* ---- inodes ---- */

void inode_key(struct key *k, uint64_t parent_id, struct slice folded)
{
	tag_u64(k, 'n', parent_id);
	key_str(k, folded);
}

void inode_root_key(struct key *k)
{
	/* Behind every directory's range: no id is that large. */
	inode_key(k, UINT64_MAX, SLICE(""));
}

static void http_encode(struct buf *b, const struct file_http *h)
{
	bytes_put_str(b, h->content_type);
	bytes_put_str(b, h->content_encoding);
	bytes_put_str(b, h->content_language);
	bytes_put_str(b, h->content_disposition);
	bytes_put_str(b, h->cache_control);
	bytes_put_u8(b, h->has_md5);
	if (h->has_md5)
		buf_put(b, slice_make(h->md5, sizeof h->md5));
}

static struct file_http http_decode(struct cursor *c)
{
	struct file_http h = { .content_type = cursor_str(c) };
	h.content_encoding = cursor_str(c);
	h.content_language = cursor_str(c);
	h.content_disposition = cursor_str(c);
	h.cache_control = cursor_str(c);
	h.has_md5 = cursor_u8(c) != 0;
	if (h.has_md5) {
		struct slice md5 = cursor_raw(c, sizeof h.md5);
		if (!c->failed)
			memcpy(h.md5, md5.ptr, sizeof h.md5);
	}
	return h;
}

static void copy_encode(struct buf *b, const struct file_copy *copy)
{
	bytes_put_u8(b, (uint8_t)copy->status);
	if (copy->status == FILE_COPY_NONE)
		return;
	buf_put(b, slice_make(copy->id.bytes, sizeof copy->id.bytes));
	bytes_put_str(b, copy->source);
	bytes_put_str(b, copy->description);
	bytes_put_u64(b, copy->copied_bytes);
	bytes_put_u64(b, copy->total_bytes);
	bytes_put_u64(b, copy->completed_ticks);
	bytes_put_u64(b, copy->heartbeat_ticks);
}

static struct file_copy copy_decode(struct cursor *c)
{
	struct file_copy copy = { .status = (enum file_copy_status)cursor_u8(c) };
	if (copy.status == FILE_COPY_NONE)
		return copy;
	if (copy.status > FILE_COPY_FAILED)
		c->failed = true;
	struct slice id = cursor_raw(c, sizeof copy.id.bytes);
	if (!c->failed)
		memcpy(copy.id.bytes, id.ptr, sizeof copy.id.bytes);
	copy.source = cursor_str(c);
	copy.description = cursor_str(c);
	copy.copied_bytes = cursor_u64(c);
	copy.total_bytes = cursor_u64(c);
	copy.completed_ticks = cursor_u64(c);
	copy.heartbeat_ticks = cursor_u64(c);
	return copy;
}

static uint8_t inode_version(const struct inode *n)
{
	if (n->kind == FILE_KIND_DIRECTORY && n->id != FILE_ROOT_ID && n->below.levels != FILE_REACH_UNKNOWN)
		return INODE_BELOW_VERSION;
	return n->sole ? INODE_SOLE_VERSION : ROW_VERSION;
}

void inode_encode(struct buf *b, const struct inode *n)
{
	uint8_t version = inode_version(n);
	bytes_put_u8(b, version);
	bytes_put_u64(b, n->stamp);
	bytes_put_u64(b, n->id);
	bytes_put_u64(b, n->parent_id);
	bytes_put_u8(b, (uint8_t)n->kind);
	bytes_put_str(b, n->name);
	bytes_put_u64(b, n->size_bytes);
	bytes_put_u32(b, n->attributes);
	bytes_put_u64(b, n->created_ticks);
	bytes_put_u64(b, n->written_ticks);
	bytes_put_u64(b, n->accessed_ticks);
	bytes_put_u64(b, n->changed_ticks);
	bytes_put_u64(b, n->etag);
	bytes_put_u64(b, n->permission);
	http_encode(b, &n->http);
	pairs_encode(b, &n->metadata);
	lease_encode(b, &n->lease);
	copy_encode(b, &n->copy);
	bytes_put_u64(b, n->content);
	bytes_put_u64(b, n->born_ticks);
	bytes_put_u64(b, n->run_count);
	bytes_put_u64(b, n->merge_at);
	bytes_put_u64(b, n->covers);
	bytes_put_u64(b, n->data_end);
	if (version == INODE_SOLE_VERSION)
		bytes_put_u64(b, n->sole);
	if (version == INODE_BELOW_VERSION) {
		bytes_put_u16(b, n->below.levels);
		bytes_put_u16(b, n->below.chars);
	}
}

/* What is said of the contents fits together. */
static bool sole_is_sound(const struct inode *n)
{
	return n->kind == FILE_KIND_FILE && n->sole && n->content && n->run_count == 1 && !n->covers && n->data_end &&
	       n->data_end <= n->size_bytes;
}

static bool below_is_sound(const struct inode *n)
{
	return n->kind == FILE_KIND_DIRECTORY && n->id != FILE_ROOT_ID && n->below.levels != FILE_REACH_UNKNOWN &&
	       n->below.chars != FILE_REACH_UNKNOWN;
}

enum err inode_decode(struct slice record, struct arena *arena, struct inode *ret)
{
	struct cursor c = cursor_make(record);
	uint8_t version = cursor_u8(&c);
	if (version < ROW_VERSION || version > INODE_BELOW_VERSION)
		return ERR_CORRUPT;
	struct inode n = { .stamp = cursor_u64(&c) };
	n.id = cursor_u64(&c);
	n.parent_id = cursor_u64(&c);
	n.kind = (enum file_kind)cursor_u8(&c);
	n.name = cursor_str(&c);
	n.size_bytes = cursor_u64(&c);
	n.attributes = cursor_u32(&c);
	n.created_ticks = cursor_u64(&c);
	n.written_ticks = cursor_u64(&c);
	n.accessed_ticks = cursor_u64(&c);
	n.changed_ticks = cursor_u64(&c);
	n.etag = cursor_u64(&c);
	n.permission = cursor_u64(&c);
	n.http = http_decode(&c);
	n.metadata = pairs_decode(&c, arena);
	n.lease = lease_decode(&c);
	n.copy = copy_decode(&c);
	n.content = cursor_u64(&c);
	n.born_ticks = cursor_u64(&c);
	n.run_count = cursor_u64(&c);
	n.merge_at = cursor_u64(&c);
	n.covers = cursor_u64(&c);
	n.data_end = cursor_u64(&c);
	if (version == INODE_SOLE_VERSION)
		n.sole = cursor_u64(&c);
	if (n.kind == FILE_KIND_DIRECTORY)
		n.below = (struct reach){ FILE_REACH_UNKNOWN, FILE_REACH_UNKNOWN };
	if (version == INODE_BELOW_VERSION) {
		n.below.levels = cursor_u16(&c);
		n.below.chars = cursor_u16(&c);
	}
	if (!cursor_done(&c) || (version == INODE_SOLE_VERSION && !sole_is_sound(&n)) ||
	    (version == INODE_BELOW_VERSION && !below_is_sound(&n)) ||
	    (n.kind != FILE_KIND_FILE && n.kind != FILE_KIND_DIRECTORY))
		return ERR_CORRUPT;
	*ret = n;
	return ERR_OK;
}

void where_key(struct key *k, uint64_t id)
{
	tag_u64(k, 'i', id);
}

void where_encode(struct buf *b, const struct inode_where *w)
{
	bytes_put_u8(b, ROW_VERSION);
	bytes_put_u64(b, w->stamp);
	bytes_put_u64(b, w->parent_id);
	bytes_put_str(b, w->folded);
}

enum err where_decode(struct slice record, struct inode_where *ret)
{
	struct cursor c = cursor_make(record);
	if (cursor_u8(&c) != ROW_VERSION)
		return ERR_CORRUPT;
	struct inode_where w = { .stamp = cursor_u64(&c) };
	w.parent_id = cursor_u64(&c);
	w.folded = cursor_str(&c);
	if (!cursor_done(&c))
		return ERR_CORRUPT;
	*ret = w;
	return ERR_OK;
}

/* ---- runs ---- */

void run_key(struct key *k, uint64_t content, uint64_t last_byte)
{
	tag_u64(k, 'r', content);
	key_u64(k, last_byte);
}

void run_encode(struct buf *b, const struct run *r)
{
	bytes_put_u8(b, ROW_VERSION);
	bytes_put_u64(b, r->stamp);
	bytes_put_u64(b, r->data_stamp);
	bytes_put_u64(b, r->first);
	bytes_put_u8(b, (uint8_t)r->kind);
	switch (r->kind) {
	case RUN_ZEROS:
		return;
	case RUN_INLINE:
		assert(r->bytes.len == r->end - r->first);
		buf_put(b, r->bytes);
		return;
	case RUN_ROW:
		bytes_put_u64(b, r->source);
		break;
	case RUN_EXTENT:
		extent_ref_encode(b, &r->extent);
		break;
	}
	bytes_put_u32(b, r->offset);
}

static bool run_is_sound(const struct run *r)
{
	uint64_t length = r->end - r->first;
	if (r->first >= r->end || r->end > FILE_SIZE_MAX_BYTES)
		return false;
	if (r->kind == RUN_INLINE)
		return r->bytes.len == length;
	return r->kind != RUN_EXTENT ||
	       (r->offset <= r->extent.length_bytes && length <= r->extent.length_bytes - r->offset);
}

enum err run_decode(struct slice key, struct slice record, struct run *ret)
{
	uint64_t content, last;
	struct cursor c = cursor_make(record);
	if (!key_take_tag(&key, 'r') || !key_take_u64(&key, &content) || !key_take_u64(&key, &last) || key.len ||
	    last == UINT64_MAX || cursor_u8(&c) != ROW_VERSION)
		return ERR_CORRUPT;
	struct run r = { .stamp = cursor_u64(&c), .end = last + 1 };
	r.data_stamp = cursor_u64(&c);
	r.first = cursor_u64(&c);
	r.kind = (enum run_kind)cursor_u8(&c);
	switch (r.kind) {
	case RUN_ZEROS:
		break;
	case RUN_INLINE:
		r.bytes = cursor_raw(&c, cursor_left(&c));
		break;
	case RUN_ROW:
		r.source = cursor_u64(&c);
		r.offset = cursor_u32(&c);
		break;
	case RUN_EXTENT:
		r.extent = extent_ref_decode(&c);
		r.offset = cursor_u32(&c);
		break;
	default:
		return ERR_CORRUPT;
	}
	if (!cursor_done(&c) || !run_is_sound(&r))
		return ERR_CORRUPT;
	*ret = r;
	return ERR_OK;
}

void source_key(struct key *k, uint64_t source)
{
	tag_u64(k, KEY_TAG_CONTENT, source);
}

void cover_key(struct key *k, uint64_t content, uint64_t stamp)
{
	tag_u64(k, 'c', content);
	key_u64(k, stamp);
}

void cover_encode(struct buf *b, const struct cover *v)
{
	bytes_put_u8(b, ROW_VERSION);
	bytes_put_u64(b, v->first);
	bytes_put_u64(b, v->end);
}

enum err cover_decode(struct slice key, struct slice record, struct cover *ret)
{
	uint64_t content;
	struct cursor c = cursor_make(record);
	struct cover v = { .first = 0 };
	if (cursor_u8(&c) != ROW_VERSION || !key_take_tag(&key, 'c') || !key_take_u64(&key, &content) ||
	    !key_take_u64(&key, &v.stamp) || key.len)
		return ERR_CORRUPT;
	v.first = cursor_u64(&c);
	v.end = cursor_u64(&c);
	if (!cursor_done(&c) || v.first >= v.end)
		return ERR_CORRUPT;
	*ret = v;
	return ERR_OK;
}

/* ---- snapshots ---- */

void snapshot_key(struct key *k, uint64_t ticks)
{
	tag_u64(k, 'S', ticks);
}

void snapshot_encode(struct buf *b, const struct share_snapshot *s)
{
	bytes_put_u8(b, ROW_VERSION);
	bytes_put_u64(b, s->ticks);
	bytes_put_u64(b, s->number);
	bytes_put_u64(b, s->etag);
	bytes_put_u32(b, s->quota_gib);
	pairs_encode(b, &s->metadata);
	lease_encode(b, &s->lease);
}

enum err snapshot_decode(struct slice record, struct arena *arena, struct share_snapshot *ret)
{
	struct cursor c = cursor_make(record);
	if (cursor_u8(&c) != ROW_VERSION)
		return ERR_CORRUPT;
	struct share_snapshot s = { .ticks = cursor_u64(&c) };
	s.number = cursor_u64(&c);
	s.etag = cursor_u64(&c);
	s.quota_gib = cursor_u32(&c);
	s.metadata = pairs_decode(&c, arena);
	s.lease = lease_decode(&c);
	if (!cursor_done(&c) || s.number == 0)
		return ERR_CORRUPT;
	*ret = s;
	return ERR_OK;
}

/* ---- history ---- */

enum err file_row_stamp(struct slice record, uint64_t *ret)
{
	struct cursor c = cursor_make(record);
	uint8_t version = cursor_u8(&c);
	uint64_t stamp = cursor_u64(&c);
	if (c.failed || version < ROW_VERSION || version > INODE_BELOW_VERSION)
		return ERR_CORRUPT;
	*ret = stamp;
	return ERR_OK;
}

void history_key(struct key *k, struct slice row_key, uint64_t number)
{
	key_init(k);
	key_tag(k, 'h');
	if (row_key.len > sizeof k->bytes - k->len - KEY_U64_BYTES) {
		k->overflow = true;
		return;
	}
	memcpy(k->bytes + k->len, row_key.ptr, row_key.len);
	k->len += row_key.len;
	key_u64(k, number);
}

bool history_key_split(struct slice key, struct slice *ret_row_key, uint64_t *ret_number)
{
	if (!key_take_tag(&key, 'h') || key.len <= KEY_U64_BYTES)
		return false;
	struct slice number = slice_from(key, key.len - KEY_U64_BYTES);
	*ret_row_key = slice_first(key, key.len - KEY_U64_BYTES);
	return key_take_u64(&number, ret_number);
}

/* ---- work ---- */

void work_key(struct key *k, uint64_t stamp, uint64_t subject)
{
	tag_u64(k, 'w', stamp);
	key_u64(k, subject);
}

void work_encode(struct buf *b, const struct work *w)
{
	bytes_put_u8(b, ROW_VERSION);
	bytes_put_u8(b, (uint8_t)w->kind);
	bytes_put_u64(b, w->subject);
	bytes_put_u64(b, w->stamp);
	bytes_put_str(b, w->next);
}

enum err work_decode(struct slice record, struct work *ret)
{
	struct cursor c = cursor_make(record);
	if (cursor_u8(&c) != ROW_VERSION)
		return ERR_CORRUPT;
	struct work w = { .kind = (enum work_kind)cursor_u8(&c) };
	w.subject = cursor_u64(&c);
	w.stamp = cursor_u64(&c);
	w.next = cursor_str(&c);
	if (!cursor_done(&c) || (w.kind != WORK_CONTENT && w.kind != WORK_COVER && w.kind != WORK_SNAPSHOT))
		return ERR_CORRUPT;
	*ret = w;
	return ERR_OK;
}

enum err work_add(struct txn *txn, const struct work *w)
{
	struct key k;
	struct buf b;
	buf_init(&b, 2 * LIMIT_KEY_BYTES);
	work_encode(&b, w);
	work_key(&k, w->stamp, w->subject);
	return file_row_put(txn, &k, &b);
}

void merge_key(struct key *k, uint64_t inode_id)
{
	tag_u64(k, 'm', inode_id);
}

/* The first version has an offset or nothing, and is to be done now. */
enum { MERGE_VERSION = 2 };

void merge_encode(struct buf *b, const struct merge_row *m)
{
	bytes_put_u8(b, MERGE_VERSION);
	bytes_put_u64(b, m->next);
	bytes_put_u64(b, m->etag);
	bytes_put_u64(b, m->not_before_ticks);
}

enum err merge_decode(struct slice record, struct merge_row *ret)
{
	struct cursor c = cursor_make(record);
	struct merge_row m = { 0, 0, 0 };
	uint8_t version = cursor_u8(&c);
	if (version == MERGE_VERSION) {
		m.next = cursor_u64(&c);
		m.etag = cursor_u64(&c);
		m.not_before_ticks = cursor_u64(&c);
	} else if (version == ROW_VERSION) {
		m.next = cursor_left(&c) ? cursor_u64(&c) : 0;
	} else {
		return ERR_CORRUPT;
	}
	if (!cursor_done(&c))
		return ERR_CORRUPT;
	*ret = m;
	return ERR_OK;
}

/* ---- permissions ---- */

void permission_key(struct key *k, uint64_t key)
{
	tag_u64(k, 'p', key);
}

void permission_encode(struct buf *b, struct slice sddl)
{
	bytes_put_u8(b, ROW_VERSION);
	buf_put(b, sddl);
}

enum err permission_decode(struct slice record, struct slice *ret_sddl)
{
	if (!record.len || record.ptr[0] != ROW_VERSION)
		return ERR_CORRUPT;
	*ret_sddl = slice_from(record, 1);
	return ERR_OK;
}

/* The share counts its bytes itself, in its state. */
enum err share_row_weigh(struct slice key, struct slice value, struct arena *arena, uint64_t *ret_bytes)
{
	struct share_state s = { .used_bytes = 0 };
	if (slice_eq(key, STATE_KEY))
		TRY(share_state_decode(value, &s));
	*ret_bytes = s.used_bytes;
	return ERR_OK;
}

static bool row_is_file(struct slice key, struct slice value, struct arena *arena)
{
	struct inode n;
	return key.ptr[0] == 'n' && inode_decode(value, arena, &n) == ERR_OK && n.kind == FILE_KIND_FILE;
}

const struct count_rule share_count_rule = { "ns", share_row_weigh, row_is_file };
