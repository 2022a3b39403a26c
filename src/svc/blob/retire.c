/* SPDX-License-Identifier: Apache-2.0
 * 'Z' holds the next sequence number. A 'z' record: u8 version, u8 kind, then by kind
 *   'E'  u32 count, extents                                      a plain list
 *   'X'  u32 count, extents                                      names of a page chunk that went: counted extents
 *   'M'  u64 content, u32 parts, u32 next part, u64 lender, u64 kept, u32 kept parts      a manifest
 *   'R'  u64 content                                             'p' rows
 *   'O'  u64 content, u64 ticks, string key to go on from        cleared page chunks
 *   'H'  string name                                             history under a mark
 *   'S'  string name, u64 staging, u64 kept, u32 kept parts      uncommitted blocks */
#include "svc/blob/retire.h"

#include <assert.h>
#include <stdlib.h>

#include "svc/blob/content/block_list.h"
#include "svc/blob/content/build.h"
#include "svc/blob/content/manifest.h"
#include "svc/blob/content/page_int.h"
#include "svc/blob/history.h"

enum {
	RETIRE_RECORD_VERSION = 1,
	RETIRE_WORK_PER_COMMIT = 1000, /* see struct round */
	KEPT_AT_ONCE_PARTS = 1,	       /* of a list that is looked up by the commit itself */
	RETIRE_PAGE_RECORDS = 32,      /* of the queue, read at once: few of the longest are a commit's work */
	RETIRE_EXTENTS_PER_COMMIT = 500,
	RETIRE_RECORDS_PER_COMMIT = 100
};

#define SEQUENCE_KEY SLICE("Z")

static enum err next_sequence(struct txn *txn, uint64_t *ret)
{
	struct slice value;
	uint64_t next = 1;
	char bytes[8];
	struct buf b = { .ptr = bytes, .cap = sizeof bytes, .limit_bytes = sizeof bytes };
	enum err e = txn_get(txn, SEQUENCE_KEY, &value);
	if (e == ERR_OK) {
		struct cursor c = cursor_make(value);
		next = cursor_u64(&c);
	} else if (e != ERR_NOT_FOUND) {
		return e;
	}
	bytes_put_u64(&b, next + 1);
	*ret = next;
	return txn_put(txn, SEQUENCE_KEY, buf_slice(&b));
}

static enum err enqueue(struct txn *txn, struct buf *record)
{
	struct key k;
	uint64_t sequence;
	TRY(next_sequence(txn, &sequence));
	assert(sequence != 0); /* 0 was never given out: such a row would be read before all others */
	key_init(&k);
	key_tag(&k, 'z');
	key_u64(&k, sequence);
	return buf_ok(record) ? txn_put(txn, key_slice(&k), buf_slice(record)) : ERR_NO_MEMORY;
}

static void record_begin(struct buf *b, char kind)
{
	buf_init(b, LIMIT_VALUE_BYTES);
	bytes_put_u8(b, RETIRE_RECORD_VERSION);
	bytes_put_u8(b, (uint8_t)kind);
}

static enum err record_end(struct txn *txn, struct buf *b)
{
	enum err e = enqueue(txn, b);
	buf_fini(b);
	return e;
}

static void put_kept(struct buf *b, const struct content *kept)
{
	bool some = kept->kind == CONTENT_MANIFEST;
	bytes_put_u64(b, some ? kept->id : 0);
	bytes_put_u32(b, some ? kept->part_count : 0);
}

static enum err queue_extents(struct txn *txn, char kind, const struct extent_ref *refs, uint32_t count)
{
	struct buf b;
	assert(count > 0);
	record_begin(&b, kind);
	bytes_put_u32(&b, count);
	for (uint32_t i = 0; i < count; i++)
		extent_ref_encode(&b, &refs[i]);
	return record_end(txn, &b);
}

static enum err retire_extents(struct txn *txn, const struct extent_ref *refs, uint32_t count)
{
	if (count > RETIRE_AT_ONCE_EXTENTS)
		return queue_extents(txn, 'E', refs, count);
	for (uint32_t i = 0; i < count; i++)
		TRY(txn_retire(txn, &refs[i]));
	return ERR_OK;
}

enum err blob_retire_names(struct txn *txn, const struct extent_ref *refs, uint16_t count)
{
	/* Each costs a write of its own if others name it too, and a clear goes through many chunks. */
	if (count > 2)
		return queue_extents(txn, 'X', refs, count);
	for (uint16_t i = 0; i < count; i++)
		TRY(blob_extent_drop_ref(txn, &refs[i]));
	return ERR_OK;
}

static void clear_record(struct buf *b, uint64_t content, uint64_t ticks, struct slice next)
{
	record_begin(b, 'O');
	bytes_put_u64(b, content);
	bytes_put_u64(b, ticks);
	bytes_put_str(b, next);
}

enum err blob_retire_clear(struct txn *txn, uint64_t content, uint64_t ticks)
{
	struct buf b;
	clear_record(&b, content, ticks, SLICE(""));
	return record_end(txn, &b);
}

enum err blob_retire_history(struct txn *txn, struct slice name)
{
	struct buf b;
	record_begin(&b, 'H');
	bytes_put_str(&b, name);
	return record_end(txn, &b);
}

static enum err retire_manifest(struct txn *txn, const struct content *c, uint64_t lender, const struct content *kept)
{
	struct buf b;
	assert(c->kind == CONTENT_MANIFEST && c->id);
	assert(kept->kind != CONTENT_MANIFEST || kept->id != c->id); /* it would give back what it keeps */
	record_begin(&b, 'M');
	bytes_put_u64(&b, c->id);
	bytes_put_u32(&b, c->part_count);
	bytes_put_u32(&b, 0);
	bytes_put_u64(&b, lender);
	put_kept(&b, kept);
	return record_end(txn, &b);
}

static const struct content nothing_kept = { .kind = CONTENT_EMPTY };

enum err blob_retire_content(struct txn *txn, const struct content *c)
{
	struct buf b;
	struct key k;
	switch (c->kind) {
	case CONTENT_EMPTY:
	case CONTENT_INLINE:
		return ERR_OK;
	case CONTENT_ROW:
		blob_content_row_key(&k, c->id);
		return txn_del(txn, key_slice(&k));
	case CONTENT_EXTENTS:
		return retire_extents(txn, c->extents, c->extent_count);
	case CONTENT_MANIFEST:
		return retire_manifest(txn, c, c->epoch, &nothing_kept);
	case CONTENT_ROWS:
		record_begin(&b, 'R');
		bytes_put_u64(&b, c->id);
		return record_end(txn, &b);
	}
	return ERR_CORRUPT;
}

enum err blob_retire_content_keeping(struct txn *txn, const struct content *c, const struct content *kept)
{
	/* The new content took over what the old one borrowed: its lender is not released. */
	return c->kind == CONTENT_MANIFEST ? retire_manifest(txn, c, 0, kept) : blob_retire_content(txn, c);
}

enum err blob_retire_staging(struct txn *txn, struct slice name, uint64_t staging, const struct content *kept)
{
	struct buf b;
	record_begin(&b, 'S');
	bytes_put_str(&b, name);
	bytes_put_u64(&b, staging);
	put_kept(&b, kept);
	return record_end(txn, &b);
}

/* ---- the background side ---- */

/* One commit's share of the queue. Every record, row and extent that it gives back costs one, and so does every block
 * it looks at; the last piece may cost more than is left, and sweeps have bounds of their own. A record that is not
 * finished has used up what was left: the next one waits for it. */
struct kept_set {
	uint64_t content; /* whose blocks these are; 0: of none, and the set is empty */
	uint64_t *id;	  /* sorted extent ids */
	size_t count;
};

struct round {
	size_t left;
	/* What the first record of the queue keeps, if that is a long list, was looked up ahead: it is more work than
	 * all the rest. The rows of a content stay what they are, and it lives as long as a record names it: its own
	 * end would be queued behind. A record that keeps another long list waits for the next round. */
	struct kept_set kept;
	bool more; /* out */
};

static void spend(struct round *r, size_t cost)
{
	r->left -= cost < r->left ? cost : r->left;
}

/* The record goes with the last of its rows. Until then nothing behind it has its turn, whatever ended the scan. */
static enum err rows_done(struct txn *txn, struct round *r, struct slice key, bool done)
{
	if (done)
		return txn_del(txn, key);
	r->left = 0;
	return ERR_OK;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return x < y ? -1 : x > y;
}

static enum err kept_load(struct txn *txn, uint64_t content, uint32_t parts, struct kept_set *ret)
{
	struct kept_set s = { .content = content };
	struct manifest m;
	struct content c = { .kind = CONTENT_MANIFEST, .id = content, .part_count = parts };
	TRY(blob_manifest_get(txn, &c, &m));
	size_t total = 0;
	for (size_t i = 0; i < m.count; i++)
		total += m.block[i].extent_count;
	s.id = ARENA_NEW_ARRAY(txn_arena(txn), uint64_t, total ? total : 1);
	if (!s.id)
		return ERR_NO_MEMORY;
	for (size_t i = 0; i < m.count; i++)
		for (uint32_t k = 0; k < m.block[i].extent_count; k++)
			s.id[s.count++] = m.block[i].extents[k].id;
	assert(s.count == total);
	qsort(s.id, s.count, sizeof *s.id, by_value);
	*ret = s;
	return ERR_OK;
}

/* What a record keeps. ERR_BUDGET: that is a long list, and not the one that was looked up for this round. */
static enum err kept_find(struct txn *txn, struct round *r, uint64_t content, uint32_t parts, struct kept_set *ret)
{
	if (content == 0 || content == r->kept.content) {
		*ret = content ? r->kept : (struct kept_set){ .content = 0 };
		return ERR_OK;
	}
	if (parts > KEPT_AT_ONCE_PARTS)
		return ERR_BUDGET;
	TRY(kept_load(txn, content, parts, ret));
	spend(r, ret->count);
	return ERR_OK;
}

static bool is_kept(const struct kept_set *s, uint64_t id)
{
	return s->count && bsearch(&id, s->id, s->count, sizeof id, by_value);
}

static enum err retire_block(struct txn *txn, struct round *r, const struct block *b, const struct kept_set *kept)
{
	spend(r, 1 + b->extent_count);
	assert(b->extent_count == 0 || b->extents);
	for (uint32_t i = 0; b->owned && i < b->extent_count; i++)
		if (!is_kept(kept, b->extents[i].id))
			TRY(txn_retire(txn, &b->extents[i]));
	return ERR_OK;
}

static enum err round_extents(struct txn *txn, struct round *r, struct slice key, struct cursor *c, char kind)
{
	struct buf b;
	uint32_t count = cursor_u32(c), now = count < r->left ? count : (uint32_t)r->left;
	spend(r, now);
	for (uint32_t i = 0; i < now; i++) {
		struct extent_ref ref = extent_ref_decode(c);
		if (c->failed)
			return ERR_CORRUPT;
		TRY(kind == 'X' ? blob_extent_drop_ref(txn, &ref) : txn_retire(txn, &ref));
	}
	if (now == count)
		return txn_del(txn, key);
	assert(now < count); /* else the record would never end */
	record_begin(&b, kind);
	bytes_put_u32(&b, count - now);
	buf_put(&b, cursor_raw(c, cursor_left(c)));
	enum err e = buf_ok(&b) ? txn_put(txn, key, buf_slice(&b)) : ERR_NO_MEMORY;
	buf_fini(&b);
	return e;
}

static enum err round_manifest(struct txn *txn, struct round *r, struct slice key, struct cursor *c)
{
	struct buf b;
	struct key part_key;
	struct kept_set kept;
	struct manifest part;
	uint64_t content = cursor_u64(c);
	uint32_t parts = cursor_u32(c), next = cursor_u32(c);
	uint64_t lender = cursor_u64(c), kept_id = cursor_u64(c);
	uint32_t kept_parts = cursor_u32(c);
	if (!cursor_done(c))
		return ERR_CORRUPT;
	TRY(kept_find(txn, r, kept_id, kept_parts, &kept));
	for (bool first = true; next < parts && (first || r->left); next++, first = false) {
		enum err e = blob_manifest_get_part(txn, content, next, &part);
		TRY(e == ERR_NOT_FOUND ? ERR_CORRUPT : e);
		for (size_t i = 0; i < part.count; i++)
			TRY(retire_block(txn, r, &part.block[i], &kept));
		blob_manifest_part_key(&part_key, content, next);
		TRY(txn_del(txn, key_slice(&part_key)));
	}
	if (next >= parts) {
		if (lender)
			TRY(blob_content_release_lender(txn, lender));
		return txn_del(txn, key);
	}
	record_begin(&b, 'M');
	bytes_put_u64(&b, content);
	bytes_put_u32(&b, parts);
	bytes_put_u32(&b, next);
	bytes_put_u64(&b, lender);
	bytes_put_u64(&b, kept_id);
	bytes_put_u32(&b, kept_parts);
	enum err e = buf_ok(&b) ? txn_put(txn, key, buf_slice(&b)) : ERR_NO_MEMORY;
	buf_fini(&b);
	return e;
}

static enum err round_rows(struct txn *txn, struct round *r, struct slice key, struct cursor *c)
{
	struct key from, until;
	struct rows rows;
	uint64_t content = cursor_u64(c);
	if (!cursor_done(c))
		return ERR_CORRUPT;
	key_init(&from);
	key_tag(&from, 'p');
	key_u64(&from, content);
	until = from;
	key_prefix_end(&until);
	struct scan_spec spec = { .from = key_slice(&from), .until = key_slice(&until), .limit_rows = r->left };
	TRY(txn_scan(txn, &spec, &rows));
	size_t i = 0;
	for (; i < rows.count && r->left; i++) {
		struct cursor value = cursor_make(rows.row[i].value);
		struct extent_ref *refs;
		uint16_t count;
		TRY(blob_row_extents_decode(&value, txn_arena(txn), &refs, &count));
		for (uint16_t k = 0; k < count; k++)
			TRY(blob_extent_drop_ref(txn, &refs[k]));
		TRY(txn_del(txn, rows.row[i].key));
		spend(r, 1 + count);
	}
	return rows_done(txn, r, key, i == rows.count && !rows.more);
}

static enum err round_clear(struct txn *txn, struct round *r, struct slice key, struct cursor *c)
{
	struct buf b;
	uint64_t content = cursor_u64(c), ticks = cursor_u64(c);
	struct slice from = cursor_str(c), next;
	if (!cursor_done(c))
		return ERR_CORRUPT;
	TRY(blob_page_clear_sweep(txn, content, ticks, from, &next));
	r->left = 0;
	if (!slice_is_set(next))
		return txn_del(txn, key);
	clear_record(&b, content, ticks, next);
	enum err e = buf_ok(&b) ? txn_put(txn, key, buf_slice(&b)) : ERR_NO_MEMORY;
	buf_fini(&b);
	return e;
}

static enum err round_history(struct txn *txn, struct round *r, struct slice key, struct cursor *c)
{
	struct slice name = cursor_str(c);
	bool done;
	if (!cursor_done(c))
		return ERR_CORRUPT;
	TRY(blob_history_sweep(txn, name, &done));
	r->left = 0;
	return done ? txn_del(txn, key) : ERR_OK;
}

static enum err round_staging(struct txn *txn, struct round *r, struct slice key, struct cursor *c)
{
	struct key from, until;
	struct rows rows;
	struct kept_set kept;
	struct slice name = cursor_str(c);
	uint64_t staging = cursor_u64(c), kept_id = cursor_u64(c);
	uint32_t kept_parts = cursor_u32(c);
	if (!cursor_done(c))
		return ERR_CORRUPT;
	TRY(kept_find(txn, r, kept_id, kept_parts, &kept));
	key_init(&from);
	key_tag(&from, 'u');
	key_str(&from, name);
	key_u64(&from, staging);
	until = from;
	key_prefix_end(&until);
	struct scan_spec spec = { .from = key_slice(&from), .until = key_slice(&until), .limit_rows = r->left };
	TRY(txn_scan(txn, &spec, &rows));
	size_t i = 0;
	for (; i < rows.count && (i == 0 || r->left); i++) {
		struct cursor value = cursor_make(rows.row[i].value);
		struct block b;
		TRY(blob_block_decode(&value, txn_arena(txn), &b));
		TRY(retire_block(txn, r, &b, &kept));
		TRY(txn_del(txn, rows.row[i].key));
	}
	return rows_done(txn, r, key, i == rows.count && !rows.more);
}

enum err blob_retire_is_queued(struct txn *txn, uint64_t content, bool *ret)
{
	struct key from;
	struct rows rows;
	key_init(&from);
	key_tag(&from, 'z');
	*ret = false;
	do {
		struct scan_spec spec = { .from = key_slice(&from), .until = SLICE("{") };
		struct arena_position position = arena_position(txn_arena(txn));
		TRY(txn_scan(txn, &spec, &rows));
		for (size_t i = 0; i < rows.count && !*ret; i++) {
			struct cursor c = cursor_make(rows.row[i].value);
			uint8_t version = cursor_u8(&c), kind = cursor_u8(&c);
			*ret = version == RETIRE_RECORD_VERSION && kind == 'M' && cursor_u64(&c) == content;
		}
		if (rows.more)
			key_after(&from, rows.row[rows.count - 1].key);
		arena_rewind(txn_arena(txn), position);
	} while (rows.more && !*ret);
	return ERR_OK;
}

static enum err round_record(struct txn *txn, struct round *r, const struct row *row)
{
	struct cursor c = cursor_make(row->value);
	if (cursor_u8(&c) != RETIRE_RECORD_VERSION)
		return ERR_CORRUPT;
	char kind = (char)cursor_u8(&c);
	switch (kind) {
	case 'E':
	case 'X':
		return round_extents(txn, r, row->key, &c, kind);
	case 'M':
		return round_manifest(txn, r, row->key, &c);
	case 'R':
		return round_rows(txn, r, row->key, &c);
	case 'O':
		return round_clear(txn, r, row->key, &c);
	case 'H':
		return round_history(txn, r, row->key, &c);
	case 'S':
		return round_staging(txn, r, row->key, &c);
	default:
		return ERR_CORRUPT;
	}
}

static enum err apply_round(struct txn *txn, void *call)
{
	struct round *r = call;
	struct rows rows;
	struct key from;
	key_init(&from);
	key_tag(&from, 'z');
	r->left = RETIRE_WORK_PER_COMMIT;
	do { /* until a page is empty: a record may queue another */
		struct scan_spec spec = { .from = key_slice(&from),
					  .until = SLICE("{"),
					  .limit_rows = RETIRE_PAGE_RECORDS };
		TRY(txn_scan(txn, &spec, &rows));
		for (size_t i = 0; i < rows.count && r->left; i++) {
			enum err e = round_record(txn, r, &rows.row[i]);
			if (e == ERR_BUDGET) { /* the first one of the next round, then */
				r->left = 0;
				break;
			}
			TRY(e);
			spend(r, 1);
		}
		if (rows.count)
			key_after(&from, rows.row[rows.count - 1].key);
	} while (rows.count && r->left);
	assert(r->left <= RETIRE_WORK_PER_COMMIT);
	r->more = !r->left;
	return ERR_OK;
}

/* The long list that the first record keeps; content 0: none. */
static enum err first_keeps(struct txn *txn, bool *ret_any, uint64_t *ret_content, uint32_t *ret_parts)
{
	struct rows rows;
	struct scan_spec spec = { .from = SLICE("z"), .until = SLICE("{"), .limit_rows = 1 };
	TRY(txn_scan(txn, &spec, &rows));
	*ret_any = rows.count != 0;
	*ret_content = 0;
	*ret_parts = 0;
	if (!rows.count)
		return ERR_OK;
	struct cursor c = cursor_make(rows.row[0].value);
	uint8_t version = cursor_u8(&c), kind = cursor_u8(&c);
	if (version != RETIRE_RECORD_VERSION || (kind != 'M' && kind != 'S'))
		return ERR_OK;
	if (kind == 'M') {
		(void)cursor_raw(&c, 8 + 4 + 4 + 8); /* content, parts, next part, lender */
	} else {
		(void)cursor_str(&c); /* name */
		(void)cursor_u64(&c); /* staging */
	}
	uint64_t content = cursor_u64(&c);
	*ret_parts = cursor_u32(&c);
	*ret_content = *ret_parts > KEPT_AT_ONCE_PARTS ? content : 0;
	return cursor_done(&c) ? ERR_OK : ERR_CORRUPT;
}

/* Is there anything queued? Asked beforehand, so that an idle container costs no commit. */
static enum err apply_peek(struct txn *txn, void *call)
{
	struct round *r = call;
	uint32_t parts;
	return first_keeps(txn, &r->more, &r->kept.content, &parts);
}

static enum err apply_load_kept(struct txn *txn, void *call)
{
	struct round *r = call;
	uint64_t content;
	uint32_t parts;
	r->kept = (struct kept_set){ .content = 0 };
	TRY(first_keeps(txn, &r->more, &content, &parts));
	return content ? kept_load(txn, content, parts, &r->kept) : ERR_OK;
}

/* On a snapshot and in this thread; most records keep nothing, and need none. */
static enum err round_prepare(struct store *store, struct slice partition, struct round *r, struct arena *arena)
{
	TRY(store_look(store, partition, apply_peek, r, arena));
	return r->kept.content ? store_read(store, partition, apply_load_kept, r, arena) : ERR_OK;
}

enum err blob_retire_round(struct store *store, struct slice partition, bool *ret_more)
{
	struct arena arena;
	struct round r = { .more = false };
	arena_init(&arena, 64 * MIB);
	enum err e = round_prepare(store, partition, &r, &arena);
	if (e == ERR_OK && r.more)
		e = store_write_wait(store, partition, apply_round, &r, &arena);
	arena_fini(&arena);
	if (e == ERR_OK)
		*ret_more = r.more;
	return e;
}

/* ---- a dropped container ---- */

static enum err release_records(struct txn *txn, char tag, size_t *ret_count)
{
	struct rows rows;
	char from[1] = { tag }, until[1] = { (char)(tag + 1) };
	struct scan_spec spec = { .from = slice_make(from, 1),
				  .until = slice_make(until, 1),
				  .limit_rows = RETIRE_RECORDS_PER_COMMIT };
	TRY(txn_scan(txn, &spec, &rows));
	size_t extents = 0;
	for (size_t i = 0; i < rows.count && extents < RETIRE_EXTENTS_PER_COMMIT; i++) {
		struct blob b;
		TRY(blob_decode(rows.row[i].value, txn_arena(txn), &b));
		TRY(blob_content_release(txn, &b.content));
		TRY(txn_del(txn, rows.row[i].key));
		extents += b.content.extent_count;
	}
	*ret_count = rows.count;
	return ERR_OK;
}

static enum err release_stagings(struct txn *txn, size_t *ret_count)
{
	struct rows rows;
	struct scan_spec spec = { .from = SLICE("U"), .until = SLICE("V"), .limit_rows = RETIRE_RECORDS_PER_COMMIT };
	TRY(txn_scan(txn, &spec, &rows));
	for (size_t i = 0; i < rows.count; i++) {
		struct slice rest = rows.row[i].key, name;
		struct stage s;
		char *decoded = arena_alloc(txn_arena(txn), rest.len + 1);
		if (!decoded)
			return ERR_NO_MEMORY;
		if (!key_take_tag(&rest, 'U') || !key_take_str(&rest, decoded, rest.len + 1, &name))
			return ERR_CORRUPT;
		TRY(blob_stage_decode(rows.row[i].value, &s));
		TRY(blob_retire_staging(txn, name, s.id, &nothing_kept));
		TRY(txn_del(txn, rows.row[i].key));
	}
	*ret_count = rows.count;
	return ERR_OK;
}

static enum err release_builds(struct txn *txn, size_t *ret_count)
{
	struct rows rows;
	struct scan_spec spec = {
		.from = SLICE("k"), .until = SLICE("l"), .limit_rows = RETIRE_RECORDS_PER_COMMIT, .keys_only = true
	};
	TRY(txn_scan(txn, &spec, &rows));
	for (size_t i = 0; i < rows.count; i++)
		TRY(blob_build_drop_row(txn, rows.row[i].key));
	*ret_count = rows.count;
	return ERR_OK;
}

static enum err apply_empty(struct txn *txn, void *call)
{
	struct round *r = call;
	size_t count = 0;
	r->more = true;
	TRY(release_records(txn, 'b', &count));
	if (!count)
		TRY(release_records(txn, 'h', &count));
	if (!count)
		TRY(release_stagings(txn, &count));
	if (!count)
		TRY(release_builds(txn, &count));
	return count ? ERR_OK : apply_round(txn, call);
}

enum err blob_retire_container(struct store *store, struct slice partition, bool *ret_more)
{
	struct arena arena;
	struct round r = { .more = false };
	arena_init(&arena, 64 * MIB);
	enum err e = round_prepare(store, partition, &r, &arena);
	if (e == ERR_OK)
		e = store_write_wait(store, partition, apply_empty, &r, &arena);
	arena_fini(&arena);
	if (e == ERR_OK)
		*ret_more = r.more;
	return e;
}
