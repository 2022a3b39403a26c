/* SPDX-License-Identifier: Apache-2.0
 * Writing and reading chunks of pages. */
#include "svc/blob/content/page.h"

#include "store/encrypted.h"
#include "svc/blob/content/page_int.h"
#include "svc/blob/retire.h"
#include "svc/common/generation.h"

#include <assert.h>

/* ---- chunk rows ---- */

void blob_page_chunk_key(struct key *k, uint64_t content, uint64_t chunk, uint64_t epoch)
{
	key_init(k);
	key_tag(k, 'p');
	key_u64(k, content);
	key_u64(k, chunk);
	key_u64_desc(k, epoch);
}

bool blob_page_chunk_key_decode(struct slice rest, uint64_t *ret_chunk, uint64_t *ret_epoch)
{
	uint64_t content;
	return key_take_tag(&rest, 'p') && key_take_u64(&rest, &content) && key_take_u64(&rest, ret_chunk) &&
	       key_take_u64_desc(&rest, ret_epoch) && rest.len == 0;
}

enum err blob_page_chunk_decode(struct slice value, struct arena *arena, struct page_chunk *ret)
{
	struct cursor c = cursor_make(value);
	struct extent_ref *refs;
	uint16_t ref_count;
	struct page_chunk chunk = { .count = 0 };
	TRY(blob_row_extents_decode(&c, arena, &refs, &ref_count));
	uint16_t count = cursor_u16(&c);
	if (c.failed || count > PAGE_CHUNK_PAGES)
		return ERR_CORRUPT;
	chunk.span = ARENA_NEW_ARRAY(arena, struct page_span, (size_t)count + 2);
	chunk.cleared = ARENA_NEW_ARRAY(arena, struct cleared, count ? count : 1);
	if (!chunk.span || !chunk.cleared)
		return ERR_NO_MEMORY;
	for (uint16_t i = 0; i < count; i++) {
		struct page_span s = { .first = cursor_u16(&c), .count = cursor_u16(&c) };
		uint16_t ref = cursor_u16(&c);
		s.offset = cursor_u32(&c);
		bool is_cleared = ref == PAGE_CLEARED_REF;
		if (c.failed || (!is_cleared && ref >= ref_count) || s.first + s.count > PAGE_CHUNK_PAGES)
			return ERR_CORRUPT;
		if (is_cleared) {
			chunk.cleared[chunk.cleared_count++] = (struct cleared){ s.first, s.count, s.offset };
			continue;
		}
		s.extent = refs[ref];
		chunk.span[chunk.count++] = s;
	}
	if (cursor_left(&c))
		chunk.stamp = cursor_u64(&c);
	*ret = chunk;
	return cursor_done(&c) ? ERR_OK : ERR_CORRUPT;
}

/* The newest row of the chunk that is not newer than the epoch; an absent one is an empty chunk of epoch 0. */
static enum err chunk_get(struct txn *txn, const struct content *content, const struct clears *clears, uint64_t chunk,
			  struct page_chunk *ret)
{
	struct key from, until;
	struct rows rows;
	uint64_t index;
	blob_page_chunk_key(&from, content->id, chunk, content->epoch);
	key_init(&until);
	key_tag(&until, 'p');
	key_u64(&until, content->id);
	key_u64(&until, chunk);
	key_prefix_end(&until);
	struct scan_spec spec = { .from = key_slice(&from), .until = key_slice(&until), .limit_rows = 1 };
	TRY(txn_scan(txn, &spec, &rows));
	if (!rows.count) {
		*ret = (struct page_chunk){ .span = ARENA_NEW_ARRAY(txn_arena(txn), struct page_span, 2) };
		return ret->span ? ERR_OK : ERR_NO_MEMORY;
	}
	TRY(blob_page_chunk_decode(rows.row[0].value, txn_arena(txn), ret));
	if (!blob_page_chunk_key_decode(rows.row[0].key, &index, &ret->epoch))
		return ERR_CORRUPT;
	ret->hidden_epoch = blob_page_clears_hide(clears, chunk, ret->epoch, ret->stamp);
	return ERR_OK;
}

/* Distinct extents of a chunk, in the arena, found by id: small writes make thousands of spans. */
struct chunk_refs {
	struct extent_ref *ref;
	uint16_t count;
	uint16_t *slot; /* open addressing: 1 + index into ref, 0 = free */
	size_t mask;
};

static uint16_t *refs_slot(const struct chunk_refs *r, uint64_t id)
{
	size_t at = (size_t)(id * UINT64_C(0x9e3779b97f4a7c15) >> 32) & r->mask;
	while (r->slot[at] && r->ref[r->slot[at] - 1].id != id)
		at = (at + 1) & r->mask;
	return &r->slot[at];
}

static enum err chunk_extents(struct arena *arena, const struct page_chunk *c, struct chunk_refs *ret)
{
	struct chunk_refs r = { .ref = ARENA_NEW_ARRAY(arena, struct extent_ref, c->count ? c->count : 1), .mask = 7 };
	while (r.mask < 2 * c->count)
		r.mask = 2 * r.mask + 1;
	r.slot = ARENA_NEW_ARRAY(arena, uint16_t, r.mask + 1);
	if (!r.ref || !r.slot)
		return ERR_NO_MEMORY;
	for (size_t i = 0; i < c->count; i++) {
		uint16_t *slot = refs_slot(&r, c->span[i].extent.id);
		if (*slot)
			continue;
		r.ref[r.count++] = c->span[i].extent;
		*slot = r.count;
	}
	*ret = r;
	return ERR_OK;
}

/* Replaces the row `old` by `fresh` in the epoch of the content; `arrived` is an extent of this transaction (counted by
 * the caller), or NULL. Names that go are dropped, names that are added by copying an older epoch's row are counted. */
static enum err chunk_put(struct txn *txn, const struct content *content, const struct clears *clears, uint64_t chunk,
			  const struct page_chunk *old, const struct page_chunk *fresh,
			  const struct extent_ref *arrived)
{
	struct arena *arena = txn_arena(txn);
	struct chunk_refs before, after;
	struct key k;
	struct buf b;
	bool same_epoch = old->epoch == content->epoch;
	assert(old->epoch <= content->epoch && fresh->count <= PAGE_CHUNK_PAGES);
	TRY(chunk_extents(arena, old, &before));
	TRY(chunk_extents(arena, fresh, &after));
	for (uint16_t i = 0; i < after.count && !same_epoch; i++)
		if (!arrived || after.ref[i].id != arrived->id)
			TRY(blob_extent_add_ref(txn, &after.ref[i], 1));
	blob_page_chunk_key(&k, content->id, chunk, content->epoch);
	buf_init(&b, LIMIT_VALUE_BYTES);
	blob_row_extents_encode(&b, after.ref, after.count);
	bytes_put_u16(&b, (uint16_t)(fresh->count + fresh->cleared_count));
	for (size_t i = 0; i < fresh->count; i++) {
		const struct page_span *s = &fresh->span[i];
		bytes_put_u16(&b, s->first);
		bytes_put_u16(&b, s->count);
		bytes_put_u16(&b, (uint16_t)(*refs_slot(&after, s->extent.id) - 1));
		bytes_put_u32(&b, s->offset);
	}
	blob_page_marks_encode(&b, fresh);
	if (clears->count)
		bytes_put_u64(&b, txn_now(txn));
	/* An empty chunk needs a row only to hide an older epoch's. */
	bool drop = fresh->count == 0 && same_epoch && content->epoch == 1;
	enum err e = !buf_ok(&b) ? ERR_NO_MEMORY
		     : drop	 ? txn_del(txn, key_slice(&k))
				 : txn_put(txn, key_slice(&k), buf_slice(&b));
	buf_fini(&b);
	TRY(e);
	if (!same_epoch)
		return ERR_OK;
	uint16_t gone = 0;
	for (uint16_t i = 0; i < before.count; i++)
		if (!*refs_slot(&after, before.ref[i].id))
			before.ref[gone++] = before.ref[i];
	return blob_retire_names(txn, before.ref, gone);
}

enum err blob_page_chunk_put_empty(struct txn *txn, uint64_t content, uint64_t chunk, const struct clear *clear,
				   const struct page_chunk *was)
{
	struct key k;
	struct buf b;
	struct page_chunk hidden = *was, empty = { .count = 0 };
	struct page_marks marks;
	hidden.hidden_epoch = clear->epoch;
	blob_page_marks_of(&hidden, &marks);
	TRY(blob_page_marks_keep(txn_arena(txn), &marks, &empty));
	buf_init(&b, LIMIT_VALUE_BYTES);
	blob_page_chunk_key(&k, content, chunk, clear->epoch);
	blob_row_extents_encode(&b, NULL, 0);
	bytes_put_u16(&b, (uint16_t)empty.cleared_count);
	blob_page_marks_encode(&b, &empty);
	bytes_put_u64(&b, clear->ticks);
	enum err e = buf_ok(&b) ? txn_put(txn, key_slice(&k), buf_slice(&b)) : ERR_NO_MEMORY;
	buf_fini(&b);
	return e;
}

static void add_span(struct page_chunk *c, struct page_span s)
{
	c->span[c->count++] = s;
}

/* Pages [first, first+count) of a chunk are taken, in an epoch, by `extent` at `offset` (NULL: by zeros). */
struct cut {
	uint64_t epoch;
	uint32_t first, count;
	const struct extent_ref *extent;
	uint32_t offset;
};

/* What the chunk says of cleared pages afterwards. Most never had any. */
static enum err cut_marks(struct arena *arena, const struct page_chunk *old, const struct cut *cut,
			  struct page_chunk *c)
{
	struct page_marks marks;
	bool clears = !cut->extent && cut->epoch > 1;
	if (!old->cleared_count && !old->hidden_epoch && !clears)
		return ERR_OK;
	blob_page_marks_of(old, &marks);
	uint32_t end = cut->first + cut->count;
	for (uint32_t p = cut->first; p < end && cut->extent; p++)
		marks.epoch[p] = 0;
	for (size_t i = 0; i < old->count && clears && !old->hidden_epoch; i++) {
		uint32_t first = old->span[i].first, last = first + old->span[i].count;
		for (uint32_t p = first > cut->first ? first : cut->first; p < last && p < end; p++)
			marks.epoch[p] = cut->epoch < UINT32_MAX ? (uint32_t)cut->epoch : UINT32_MAX;
	}
	return blob_page_marks_keep(arena, &marks, c);
}

static enum err chunk_cut(struct arena *arena, const struct page_chunk *old, const struct cut *cut,
			  struct page_chunk *ret)
{
	struct page_chunk c = { .span = ARENA_NEW_ARRAY(arena, struct page_span, old->count + 2), .epoch = old->epoch };
	const struct extent_ref *extent = cut->extent;
	uint32_t first = cut->first, count = cut->count, end = first + count, offset = cut->offset;
	bool placed = extent == NULL;
	assert(count > 0 && end <= PAGE_CHUNK_PAGES);
	if (!c.span)
		return ERR_NO_MEMORY;
	TRY(cut_marks(arena, old, cut, &c));
	for (size_t i = 0; i < old->count && !old->hidden_epoch; i++) {
		const struct page_span *s = &old->span[i];
		uint32_t s_end = (uint32_t)s->first + s->count;
		if (s->first < first) {
			uint32_t keep_end = s_end < first ? s_end : first;
			add_span(&c,
				 (struct page_span){ s->first, (uint16_t)(keep_end - s->first), s->extent, s->offset });
		}
		if (!placed && s_end > first) {
			add_span(&c, (struct page_span){ (uint16_t)first, (uint16_t)count, *extent, offset });
			placed = true;
		}
		if (s_end > end) {
			uint32_t keep = s->first > end ? s->first : end;
			add_span(&c, (struct page_span){ (uint16_t)keep, (uint16_t)(s_end - keep), s->extent,
							 s->offset + (keep - s->first) * PAGE_BYTES });
		}
	}
	if (!placed)
		add_span(&c, (struct page_span){ (uint16_t)first, (uint16_t)count, *extent, offset });
	assert(c.count <= old->count + 2);
	*ret = c;
	return ERR_OK;
}

/* ---- Put Page ---- */

static enum err write_extent(struct txn *txn, const struct content *content, const struct clears *clears,
			     uint64_t offset, const struct extent_ref *extent, uint32_t data_bytes)
{
	uint64_t first_chunk = offset / PAGE_CHUNK_BYTES, last_chunk = (offset + data_bytes - 1) / PAGE_CHUNK_BYTES;
	assert(data_bytes > 0 && offset % PAGE_BYTES == 0 && data_bytes % PAGE_BYTES == 0);
	TRY(txn_publish(txn, extent));
	TRY(blob_extent_add_ref(txn, extent, (uint32_t)(last_chunk - first_chunk)));
	for (uint64_t i = first_chunk; i <= last_chunk; i++) {
		struct page_chunk old, fresh;
		uint64_t chunk_at = i * PAGE_CHUNK_BYTES;
		uint64_t from = offset > chunk_at ? offset - chunk_at : 0;
		uint64_t to = offset + data_bytes - chunk_at;
		to = to < PAGE_CHUNK_BYTES ? to : PAGE_CHUNK_BYTES;
		TRY(chunk_get(txn, content, clears, i, &old));
		struct cut cut = { .epoch = content->epoch,
				   .first = (uint32_t)(from / PAGE_BYTES),
				   .count = (uint32_t)((to - from) / PAGE_BYTES),
				   .extent = extent,
				   .offset = (uint32_t)(chunk_at + from - offset) };
		TRY(chunk_cut(txn_arena(txn), &old, &cut, &fresh));
		TRY(chunk_put(txn, content, clears, i, &old, &fresh, extent));
	}
	return ERR_OK;
}

enum err blob_page_write_payload(struct txn *txn, struct content *content, uint64_t offset, const struct payload *p)
{
	struct clears clears;
	TRY(blob_page_clears_load(txn, content, &clears));
	content->clears = clears.count != 0; /* swept: later ones need not look */
	for (size_t i = 0; i < p->extent_count; i++) {
		uint32_t data_bytes = extent_ref_data_bytes(&p->extents[i], p->encrypted);
		TRY(write_extent(txn, content, &clears, offset, &p->extents[i], data_bytes));
		offset += data_bytes;
	}
	return ERR_OK;
}

/* Zeros over [offset, end), row by row: only chunks that have rows are touched. */
static enum err clear_rows(struct txn *txn, const struct content *content, uint64_t offset, uint64_t end)
{
	struct chunk_walk walk;
	struct chunk_at at;
	if (offset >= end)
		return ERR_OK;
	TRY(blob_page_chunk_walk_begin(&walk, txn, content, offset / PAGE_CHUNK_BYTES, (end - 1) / PAGE_CHUNK_BYTES));
	for (;;) {
		enum err e = blob_page_chunk_walk_next(&walk, &at);
		if (e == ERR_NOT_FOUND)
			return ERR_OK;
		TRY(e);
		struct page_chunk fresh;
		uint64_t chunk_begin = at.index * PAGE_CHUNK_BYTES;
		uint64_t from = offset > chunk_begin ? offset - chunk_begin : 0;
		uint64_t to = end - chunk_begin < PAGE_CHUNK_BYTES ? end - chunk_begin : PAGE_CHUNK_BYTES;
		struct cut cut = { .epoch = content->epoch,
				   .first = (uint32_t)(from / PAGE_BYTES),
				   .count = (uint32_t)((to - from) / PAGE_BYTES) };
		TRY(chunk_cut(txn_arena(txn), &at.chunk, &cut, &fresh));
		TRY(chunk_put(txn, content, &walk.clears, at.index, &at.chunk, &fresh, NULL));
	}
}

/* The chunks at both ends may keep pages: they are changed as they are. What lies between goes whole. */
static enum err clear_range(struct txn *txn, const struct blob_target *t, struct content *content, uint64_t offset,
			    uint64_t end)
{
	uint64_t first = (offset + PAGE_CHUNK_BYTES - 1) / PAGE_CHUNK_BYTES, last = end / PAGE_CHUNK_BYTES;
	bool done;
	TRY(blob_page_clear_at_once(txn, content, first, last, t->rules.rows_at_once, &done));
	if (!done)
		return clear_rows(txn, content, offset, end);
	TRY(clear_rows(txn, content, offset, first * PAGE_CHUNK_BYTES));
	return clear_rows(txn, content, last * PAGE_CHUNK_BYTES, end);
}

enum err blob_page_truncate(struct txn *txn, const struct blob_target *t, struct blob *b, uint64_t length)
{
	return length < b->length_bytes ? clear_range(txn, t, &b->content, length, b->length_bytes) : ERR_OK;
}

static enum err check_sequence(const struct blob_put_page_call *c)
{
	uint64_t s = c->blob.sequence_number;
	bool holds = (!c->has_le || s <= c->sequence_le) && (!c->has_lt || s < c->sequence_lt) &&
		     (!c->has_eq || s == c->sequence_eq);
	return holds ? ERR_OK : ERR_SEQUENCE_NUMBER_CONDITION_NOT_MET;
}

enum err blob_apply_put_page(struct txn *txn, void *call)
{
	struct blob_put_page_call *c = call;
	TRY(generation_require(txn, ERR_CONTAINER_NOT_FOUND));
	TRY(blob_load(txn, &c->target, &c->blob));
	struct blob *b = &c->blob;
	TRY(blob_check_conditions(txn, &c->target, b));
	if (b->type == BLOB_PAGE)
		TRY(check_sequence(c));
	TRY(blob_check_changeable(b, txn_now(txn)));
	if (b->type != BLOB_PAGE)
		return ERR_INVALID_BLOB_TYPE;
	if (c->offset >= b->length_bytes || c->length > b->length_bytes - c->offset)
		return ERR_INVALID_PAGE_RANGE;
	if (!c->clear && !c->payload)
		return ERR_OK;
	if (c->clear)
		TRY(clear_range(txn, &c->target, &b->content, c->offset, c->offset + c->length));
	else
		TRY(blob_page_write_payload(txn, &b->content, c->offset, c->payload));
	lease_note_write(&b->lease, txn_now(txn));
	blob_touch(txn, b, b->etag);
	return blob_put(txn, b);
}
