/* SPDX-License-Identifier: Apache-2.0
 * Put Block, Put Block List, Get Block List.
 *
 * Put Block List builds the new manifest out of the open staging and the committed list, in one transaction whatever
 * their size: it reads the staging by pages, writes the manifest's parts and the record, and leaves giving back the
 * rest to the background. A long one is planned first, on a snapshot outside of the committer: all reading, looking up
 * and encoding. The transaction then checks that the plan still holds, and writes its rows. */
#include "svc/blob/content/block_list.h"

#include <assert.h>
#include <stdlib.h>

#include "svc/blob/replace.h"
#include "svc/blob/retire.h"
#include "svc/common/generation.h"

/* Version 2 is 1 and a lease behind it; without a lease it is 1. Version 3 is 2 and the hash of a customer's key.
 * Version 4 is 2, how many bytes the blocks have, whether there is a key, and its hash. */
enum { STAGE_RECORD_VERSION = 1, STAGE_RECORD_LEASED = 2, STAGE_RECORD_KEYED = 3, STAGE_RECORD_COUNTED = 4 };

static void stage_key(struct key *k, struct slice name)
{
	key_init(k);
	key_tag(k, 'U');
	key_str(k, name);
}

static void staged_block_prefix(struct key *k, struct slice name, uint64_t stage_id)
{
	key_init(k);
	key_tag(k, 'u');
	key_str(k, name);
	key_u64(k, stage_id);
}

enum err blob_stage_decode(struct slice record, struct stage *ret)
{
	struct cursor c = cursor_make(record);
	uint8_t version = cursor_u8(&c);
	if (version < STAGE_RECORD_VERSION || version > STAGE_RECORD_COUNTED)
		return ERR_CORRUPT;
	struct stage s = { .id = cursor_u64(&c) };
	s.block_id_bytes = cursor_u32(&c);
	s.block_count = cursor_u32(&c);
	s.last_ticks = cursor_u64(&c);
	s.created_ticks = cursor_u64(&c);
	if (version >= STAGE_RECORD_LEASED)
		s.lease = lease_decode(&c);
	if (version == STAGE_RECORD_COUNTED)
		s.staged_bytes = cursor_u64(&c);
	uint8_t has_key = version == STAGE_RECORD_COUNTED ? cursor_u8(&c) : version == STAGE_RECORD_KEYED;
	if (has_key > 1 || (version == STAGE_RECORD_COUNTED && !s.staged_bytes))
		return ERR_CORRUPT;
	s.encryption.has_key = has_key;
	struct slice sha256 = s.encryption.has_key ? cursor_raw(&c, sizeof s.encryption.key_sha256) : SLICE("");
	if (!cursor_done(&c))
		return ERR_CORRUPT;
	memcpy(s.encryption.key_sha256, sha256.ptr, sha256.len);
	*ret = s;
	return ERR_OK;
}

void blob_stage_encode(struct buf *b, const struct stage *s)
{
	uint8_t version = s->staged_bytes	  ? STAGE_RECORD_COUNTED
			  : s->encryption.has_key ? STAGE_RECORD_KEYED
			  : s->lease.held	  ? STAGE_RECORD_LEASED
						  : STAGE_RECORD_VERSION;
	bytes_put_u8(b, version);
	bytes_put_u64(b, s->id);
	bytes_put_u32(b, s->block_id_bytes);
	bytes_put_u32(b, s->block_count);
	bytes_put_u64(b, s->last_ticks);
	bytes_put_u64(b, s->created_ticks);
	if (version >= STAGE_RECORD_LEASED)
		lease_encode(b, &s->lease);
	if (version == STAGE_RECORD_COUNTED) {
		bytes_put_u64(b, s->staged_bytes);
		bytes_put_u8(b, s->encryption.has_key);
	}
	if (s->encryption.has_key)
		buf_put(b, slice_make(s->encryption.key_sha256, sizeof s->encryption.key_sha256));
}

enum err blob_stage_put(struct txn *txn, struct slice name, const struct stage *s)
{
	struct key k;
	char bytes[256];
	struct buf b = { .ptr = bytes, .cap = sizeof bytes, .limit_bytes = sizeof bytes };
	blob_stage_encode(&b, s);
	assert(buf_ok(&b));
	stage_key(&k, name);
	return txn_put(txn, key_slice(&k), buf_slice(&b));
}

/* The open staging, even if its week is over. */
static enum err stage_find(struct txn *txn, struct slice name, struct stage *ret)
{
	struct key k;
	struct slice value;
	stage_key(&k, name);
	if (k.overflow)
		return ERR_NOT_FOUND;
	TRY(txn_get(txn, key_slice(&k), &value));
	return blob_stage_decode(value, ret);
}

/* ERR_NOT_FOUND if none is open (or its week is over). */
enum err blob_stage_get(struct txn *txn, struct slice name, struct stage *ret)
{
	TRY(stage_find(txn, name, ret));
	return ret->last_ticks + STAGE_LIFE_TICKS <= txn_now(txn) ? ERR_NOT_FOUND : ERR_OK;
}

enum err blob_stage_end(struct txn *txn, struct slice name, const struct content *kept)
{
	struct stage s;
	struct key k;
	enum err e = stage_find(txn, name, &s);
	if (e == ERR_NOT_FOUND)
		return ERR_OK;
	TRY(e);
	stage_key(&k, name);
	TRY(txn_del(txn, key_slice(&k)));
	return blob_retire_staging(txn, name, s.id, kept);
}

enum err blob_stage_discard(struct txn *txn, struct slice name)
{
	static const struct content none = { .kind = CONTENT_EMPTY };
	return blob_stage_end(txn, name, &none);
}

/* ---- Put Block ---- */

/* An uncommitted block takes no conditions, but the lease of the blob it is for. */
static enum err check_put_block(struct txn *txn, struct blob_put_block_call *c, const struct lease *staged)
{
	struct blob old;
	enum err e = blob_load(txn, &c->target, &old);
	if (e != ERR_OK && e != ERR_BLOB_NOT_FOUND)
		return e;
	TRY(lease_check_write(e == ERR_OK ? &old.lease : staged, &lease_errors_blob, txn_now(txn),
			      blob_target_lease_id(&c->target)));
	if (e == ERR_BLOB_NOT_FOUND)
		return ERR_OK;
	TRY(blob_check_copy(&old));
	if (old.type != BLOB_BLOCK)
		return ERR_INVALID_BLOB_TYPE;
	TRY(blob_check_online(&old));
	/* The blob is as it was, but a lease that is over forgets its id, as at every write. */
	bool held = old.lease.held;
	lease_note_write(&old.lease, txn_now(txn));
	return held != old.lease.held ? blob_put(txn, &old) : ERR_OK;
}

/* All blocks of a blob are under one key, or none. */
static enum err check_block_key(const struct blob_target *t, const struct blob_encryption *of_blocks)
{
	struct blob_target key_only = { .encryption = t->encryption };
	key_only.encryption.scope = SLICE_NONE;
	return blob_check_encryption(&key_only, of_blocks);
}

/* The block of the same id goes; how many bytes it has. */
static enum err replace_staged(struct txn *txn, const struct key *k, bool *ret_replaced, uint64_t *ret_bytes)
{
	struct slice value;
	struct block old;
	enum err e = txn_get(txn, key_slice(k), &value);
	*ret_replaced = e == ERR_OK;
	*ret_bytes = 0;
	if (e == ERR_NOT_FOUND)
		return ERR_OK;
	TRY(e);
	struct cursor cursor = cursor_make(value);
	TRY(blob_block_decode(&cursor, txn_arena(txn), &old));
	*ret_bytes = old.length_bytes;
	for (uint32_t i = 0; i < old.extent_count; i++)
		TRY(txn_retire(txn, &old.extents[i]));
	return ERR_OK;
}

static enum err put_staged(struct txn *txn, const struct key *k, const struct blob_put_block_call *c)
{
	struct buf b;
	struct block block = { .id = c->block_id,
			       .length_bytes = c->payload->length_bytes,
			       .owned = true,
			       .extent_count = (uint32_t)c->payload->extent_count,
			       .extents = c->payload->extents };
	for (uint32_t i = 0; i < block.extent_count; i++)
		TRY(txn_publish(txn, &block.extents[i]));
	buf_init(&b, LIMIT_VALUE_BYTES);
	blob_block_encode(&b, &block);
	enum err e = buf_ok(&b) ? txn_put(txn, key_slice(k), buf_slice(&b)) : ERR_NO_MEMORY;
	buf_fini(&b);
	return e;
}

enum err blob_apply_put_block(struct txn *txn, void *call)
{
	struct blob_put_block_call *c = call;
	struct stage s;
	struct key k;
	bool replaced;
	uint64_t replaced_bytes;
	static const struct lease none;
	TRY(generation_require(txn, ERR_CONTAINER_NOT_FOUND));
	enum err e = blob_stage_get(txn, c->target.name, &s);
	if (e != ERR_OK && e != ERR_NOT_FOUND)
		return e;
	TRY(check_put_block(txn, c, e == ERR_OK ? &s.lease : &none));
	if (e == ERR_NOT_FOUND) {
		TRY(blob_stage_discard(txn, c->target.name)); /* one whose week is over */
		s = (struct stage){ .id = c->stage_id,
				    .block_id_bytes = (uint32_t)c->block_id.len,
				    .created_ticks = txn_now(txn),
				    .encryption = c->target.encryption };
		s.encryption.scope = SLICE_NONE;
	} else {
		TRY(check_block_key(&c->target, &s.encryption));
	}
	lease_note_write(&s.lease, txn_now(txn));
	if (s.block_id_bytes != c->block_id.len)
		return ERR_INVALID_BLOB_OR_BLOCK;
	staged_block_prefix(&k, c->target.name, s.id);
	key_str(&k, c->block_id);
	if (k.overflow)
		return ERR_LIMIT;
	TRY(replace_staged(txn, &k, &replaced, &replaced_bytes));
	if (!replaced && s.block_count >= BLOCKS_STAGED_MAX)
		return ERR_BLOCK_COUNT_EXCEEDS_LIMIT;
	if (!c->payload)
		return ERR_OK;
	s.block_count += !replaced;
	/* Those of before they were counted are not among them. */
	s.staged_bytes -= replaced_bytes < s.staged_bytes ? replaced_bytes : s.staged_bytes;
	s.staged_bytes += c->payload->length_bytes;
	/* Never twice the same, though a clock that was set back stands still: a plan rests on it (plan_holds). */
	s.last_ticks = etag_next(txn_now(txn), s.last_ticks);
	TRY(put_staged(txn, &k, c));
	return blob_stage_put(txn, c->target.name, &s);
}

/* ---- looking blocks up by id ---- */

static int by_id(const void *a, const void *b)
{
	return slice_cmp(((const struct block *)a)->id, ((const struct block *)b)->id);
}

static const struct block *find_block(const struct manifest *sorted, struct slice id)
{
	struct block wanted = { .id = id };
	return sorted->count ? bsearch(&wanted, sorted->block, sorted->count, sizeof wanted, by_id) : NULL;
}

/* A staging has up to BLOCKS_STAGED_MAX blocks, beside as many committed ones as a list may have. So of the rows only
 * the records of those that are asked for are kept, one behind the other. */
struct gather {
	const struct slice *id; /* sorted; NULL: all there are */
	size_t id_count;
	struct buf records;
	size_t count;
};

static int by_bytes(const void *a, const void *b)
{
	return slice_cmp(*(const struct slice *)a, *(const struct slice *)b);
}

static bool is_asked_for(const struct gather *g, struct slice id)
{
	return !g->id || (g->id_count && bsearch(&id, g->id, g->id_count, sizeof id, by_bytes));
}

/* Into the arena; the records are given back in any case. */
static enum err gather_end(struct gather *g, enum err e, struct arena *arena, struct manifest *ret)
{
	struct manifest m = { .block = ARENA_NEW_ARRAY(arena, struct block, g->count ? g->count : 1) };
	struct slice records = g->count && buf_ok(&g->records) ? arena_dup(arena, buf_slice(&g->records)) : SLICE("");
	bool whole = m.block && buf_ok(&g->records) && slice_is_set(records);
	buf_fini(&g->records);
	TRY(e);
	if (!whole)
		return ERR_NO_MEMORY;
	struct cursor c = cursor_make(records);
	while (m.count < g->count)
		TRY(blob_block_decode(&c, arena, &m.block[m.count++]));
	*ret = m;
	return cursor_done(&c) ? ERR_OK : ERR_CORRUPT;
}

static enum err gather_staged(struct txn *txn, struct slice name, const struct stage *s, struct gather *g)
{
	struct key from, until;
	struct rows rows;
	staged_block_prefix(&from, name, s->id);
	until = from;
	key_prefix_end(&until);
	do {
		struct arena_position memory = arena_position(txn_arena(txn));
		struct scan_spec spec = { .from = key_slice(&from), .until = key_slice(&until) };
		TRY(txn_scan(txn, &spec, &rows));
		for (size_t i = 0; i < rows.count; i++) {
			struct cursor c = cursor_make(rows.row[i].value);
			if (!is_asked_for(g, cursor_raw(&c, cursor_u8(&c))))
				continue;
			buf_put(&g->records, rows.row[i].value);
			g->count++;
		}
		if (rows.more)
			key_after(&from, rows.row[rows.count - 1].key);
		arena_rewind(txn_arena(txn), memory);
	} while (rows.more);
	return g->count > s->block_count ? ERR_CORRUPT : ERR_OK;
}

/* In id order: the key order is the id order. */
static enum err read_staged(struct txn *txn, struct slice name, const struct stage *s, struct gather *g,
			    struct manifest *ret)
{
	buf_init(&g->records, LIMIT_REQUEST_ARENA_BYTES);
	return gather_end(g, gather_staged(txn, name, s, g), txn_arena(txn), ret);
}

static enum err gather_committed(struct txn *txn, const struct content *content, struct gather *g)
{
	for (uint32_t i = 0; i < content->part_count; i++) {
		struct arena_position memory = arena_position(txn_arena(txn));
		struct manifest part;
		enum err e = blob_manifest_get_part(txn, content->id, i, &part);
		TRY(e == ERR_NOT_FOUND ? ERR_CORRUPT : e);
		for (size_t k = 0; k < part.count; k++) {
			if (!is_asked_for(g, part.block[k].id))
				continue;
			blob_block_encode(&g->records, &part.block[k]);
			g->count++;
		}
		arena_rewind(txn_arena(txn), memory);
	}
	return ERR_OK;
}

/* In the order of the blob. */
static enum err read_committed(struct txn *txn, const struct blob *b, struct gather *g, struct manifest *ret)
{
	*ret = (struct manifest){ NULL, 0 };
	if (b->content.kind != CONTENT_MANIFEST)
		return ERR_OK;
	buf_init(&g->records, LIMIT_REQUEST_ARENA_BYTES);
	return gather_end(g, gather_committed(txn, &b->content, g), txn_arena(txn), ret);
}

/* ---- Put Block List ---- */

struct commit {
	struct manifest staged, committed; /* that the list may mean, by id */
	struct manifest result;
	bool *from_old; /* for each of result: taken from the old content */
	uint64_t length_bytes;
	bool took_committed, took_staged;
};

/* By id; of several places of one block the one that owns its extents comes first. */
static int by_id_owned_first(const void *a, const void *b)
{
	const struct block *x = a, *y = b;
	int order = by_id(a, b);
	if (order)
		return order;
	uint64_t x_first = x->extent_count ? x->extents[0].id : 0, y_first = y->extent_count ? y->extents[0].id : 0;
	return x_first != y_first ? (x_first < y_first ? -1 : 1) : (int)y->owned - (int)x->owned;
}

/* One entry per id: a list may name a block several times, and only one of its places owns the extents. */
static void sort_committed(struct manifest *m)
{
	size_t kept = 0;
	if (m->count)
		qsort(m->block, m->count, sizeof *m->block, by_id_owned_first);
	for (size_t i = 0; i < m->count; i++)
		if (i == 0 || by_id(&m->block[i], &m->block[kept - 1]) != 0)
			m->block[kept++] = m->block[i];
	m->count = kept;
}

/* The ids that may be staged ones; with `staged` those that are not among them, and may be committed ones. */
static enum err chosen_ids(struct arena *arena, const struct blob_put_block_list_call *c, const struct manifest *staged,
			   struct gather *ret)
{
	struct slice *id = ARENA_NEW_ARRAY(arena, struct slice, c->choice_count ? c->choice_count : 1);
	size_t count = 0;
	if (!id)
		return ERR_NO_MEMORY;
	for (size_t i = 0; i < c->choice_count; i++) {
		const struct block_choice *want = &c->choice[i];
		bool may_be_staged = want->source != BLOCK_COMMITTED;
		if (staged ? !may_be_staged || !find_block(staged, want->id) : may_be_staged)
			id[count++] = want->id;
	}
	qsort(id, count, sizeof *id, by_bytes);
	*ret = (struct gather){ .id = id, .id_count = count };
	return ERR_OK;
}

static enum err read_chosen(struct txn *txn, const struct blob_put_block_list_call *c, const struct blob *old,
			    const struct stage *s, struct commit *m)
{
	struct gather g;
	if (s) {
		TRY(chosen_ids(txn_arena(txn), c, NULL, &g));
		TRY(read_staged(txn, c->put.target.name, s, &g, &m->staged));
	}
	if (old) {
		TRY(chosen_ids(txn_arena(txn), c, &m->staged, &g));
		if (g.id_count)
			TRY(read_committed(txn, old, &g, &m->committed));
		sort_committed(&m->committed);
	}
	return ERR_OK;
}

/* One block may stand in the list several times: only its first place owns the extents. */
static enum err choose_blocks(struct arena *arena, const struct blob_put_block_list_call *c, struct commit *m)
{
	struct manifest r = { .block = ARENA_NEW_ARRAY(arena, struct block, c->choice_count ? c->choice_count : 1) };
	m->from_old = ARENA_NEW_ARRAY(arena, bool, c->choice_count ? c->choice_count : 1);
	if (!r.block || !m->from_old)
		return ERR_NO_MEMORY;
	for (size_t i = 0; i < c->choice_count; i++) {
		const struct block_choice *want = &c->choice[i];
		const struct block *staged = want->source != BLOCK_COMMITTED ? find_block(&m->staged, want->id) : NULL;
		const struct block *old =
			!staged && want->source != BLOCK_UNCOMMITTED ? find_block(&m->committed, want->id) : NULL;
		const struct block *found = staged ? staged : old;
		if (!found)
			return ERR_INVALID_BLOCK_LIST;
		m->took_committed |= old != NULL;
		m->took_staged |= staged != NULL;
		if (__builtin_add_overflow(m->length_bytes, found->length_bytes, &m->length_bytes))
			return ERR_INVALID_BLOCK_LIST;
		m->from_old[r.count] = old != NULL;
		r.block[r.count++] = *found;
		((struct block *)(uintptr_t)found)->owned = false; /* a second mention borrows from the first */
	}
	m->result = r;
	return ERR_OK;
}

/* What a plan rests on, and what comes of it. The rows of a content never change, those of a staging never without its
 * last_ticks: as long as these are the same, so is everything the plan was made of. */
struct block_list_plan {
	bool is_staged, exists;
	uint64_t stage_id, stage_last_ticks;
	enum content_kind old_kind;
	uint64_t old_content;
	bool took_committed, takes_over;
	uint64_t length_bytes;
	uint32_t block_count, part_count;
	struct txn_row *part;
};

static bool plan_holds(const struct block_list_plan *p, const struct blob_replace *r)
{
	if (p->is_staged != r->is_staged || p->exists != r->exists)
		return false;
	if (p->is_staged && (p->stage_id != r->stage.id || p->stage_last_ticks != r->stage.last_ticks))
		return false;
	return !p->exists || (p->old_kind == r->old.content.kind && p->old_content == r->old.content.id);
}

/* Blocks taken from an old content that nobody else holds change hands. If snapshots or versions still share it, the
 * blocks stay theirs, and the new content keeps it alive by a share of its own. */
static enum err takes_over(struct txn *txn, const struct blob_target *t, const struct blob *old, bool *ret)
{
	bool shared;
	TRY(blob_content_is_shared(txn, &old->content, &shared));
	*ret = !shared && !blob_is_kept(t, old) && !t->rules.soft_delete;
	return ERR_OK;
}

/* Works the list out, up to the rows of its parts, and writes nothing of it. */
static enum err plan_list(struct txn *txn, struct blob_put_block_list_call *c, const struct blob_replace *r,
			  struct block_list_plan *p)
{
	struct commit m = { .length_bytes = 0 };
	const struct blob *old = r->exists ? &r->old : NULL;
	TRY(read_chosen(txn, c, old, r->is_staged ? &r->stage : NULL, &m));
	TRY(choose_blocks(txn_arena(txn), c, &m));
	if (m.took_staged)
		TRY(check_block_key(&c->put.target, &r->stage.encryption));
	if (m.took_committed)
		TRY(check_block_key(&c->put.target, &old->encryption));
	if (blob_manifest_bytes(&m.result) > MANIFEST_MAX_BYTES)
		return ERR_BLOCK_LIST_TOO_LONG;
	*p = (struct block_list_plan){ .is_staged = r->is_staged,
				       .exists = r->exists,
				       .stage_id = r->stage.id,
				       .stage_last_ticks = r->stage.last_ticks,
				       .old_kind = r->old.content.kind,
				       .old_content = r->old.content.id,
				       .took_committed = m.took_committed,
				       .length_bytes = m.length_bytes,
				       .block_count = (uint32_t)m.result.count };
	/* Asked here for what the rows say of their owner; the transaction that writes them asks again. */
	assert(old || !m.took_committed);
	if (old && m.took_committed)
		TRY(takes_over(txn, &c->put.target, old, &p->takes_over));
	for (size_t i = 0; i < m.result.count; i++)
		if (m.from_old[i] && !p->takes_over)
			m.result.block[i].owned = false;
	return blob_manifest_make(txn, c->put.content_id, &m.result, &p->part, &p->part_count);
}

static enum err use_plan(struct txn *txn, struct blob_put_block_list_call *c, const struct block_list_plan *p,
			 struct blob_replace *r)
{
	struct blob *b = r->fresh;
	b->length_bytes = p->length_bytes;
	b->block_count = p->block_count;
	b->content = (struct content){ .kind = p->block_count ? CONTENT_MANIFEST : CONTENT_EMPTY,
				       .id = c->put.content_id,
				       .part_count = p->part_count };
	if (p->took_committed) {
		TRY(takes_over(txn, &c->put.target, &r->old, &r->takes_over));
		if (r->takes_over != p->takes_over)
			return ERR_BUDGET; /* a snapshot came or went: whose the blocks are is worked out again */
		/* What the old one borrowed, the new one borrows on. */
		b->content.epoch = r->takes_over ? r->old.content.epoch : r->old.content.id;
		if (!r->takes_over)
			TRY(blob_content_share(txn, &r->old.content));
	}
	r->took_staged = r->is_staged;
	for (uint32_t i = 0; i < p->part_count; i++)
		TRY(txn_put_row(txn, &p->part[i]));
	return ERR_OK;
}

static bool list_is_long(const struct blob_put_block_list_call *c, const struct blob_replace *r)
{
	size_t blocks = c->choice_count;
	blocks += r->is_staged ? r->stage.block_count : 0;
	blocks += r->exists && r->old.content.kind == CONTENT_MANIFEST ? r->old.block_count : 0;
	return blocks > BLOCK_LIST_LONG;
}

static enum err replace_begin(struct txn *txn, struct blob_put_block_list_call *c, struct blob_replace *ret)
{
	*ret = (struct blob_replace){ .put = &c->put, .unmet_error = ERR_CONDITION_NOT_MET, .lease_wins = true };
	c->put.type = BLOB_BLOCK;
	return blob_replace_begin(txn, ret);
}

enum err blob_apply_put_block_list(struct txn *txn, void *call)
{
	struct blob_put_block_list_call *c = call;
	struct blob_replace r;
	struct block_list_plan made;
	const struct block_list_plan *p = c->plan;
	TRY(replace_begin(txn, c, &r));
	if (!p || !plan_holds(p, &r)) {
		if (c->plans_ahead && list_is_long(c, &r))
			return ERR_BUDGET;
		TRY(plan_list(txn, c, &r, &made));
		p = &made;
	}
	TRY(use_plan(txn, c, p, &r));
	return blob_replace_finish(txn, &r);
}

enum err blob_apply_plan_block_list(struct txn *txn, void *call)
{
	struct blob_put_block_list_call *c = call;
	struct blob_replace r;
	c->plan = NULL;
	struct block_list_plan *p = ARENA_NEW(txn_arena(txn), struct block_list_plan);
	if (!p)
		return ERR_NO_MEMORY;
	TRY(replace_begin(txn, c, &r));
	TRY(plan_list(txn, c, &r, p));
	c->plan = p;
	return ERR_OK;
}

/* ---- Get Block List ---- */

enum err blob_apply_get_block_list(struct txn *txn, void *call)
{
	struct blob_get_block_list_call *c = call;
	struct stage s;
	c->committed_blocks = c->uncommitted_blocks = (struct manifest){ NULL, 0 };
	enum err e = blob_load(txn, &c->target, &c->blob);
	c->exists = e == ERR_OK;
	if (e != ERR_OK && e != ERR_BLOB_NOT_FOUND)
		return e;
	bool base = !c->target.snapshot_ticks && !c->target.version_ticks;
	enum err staged = base ? blob_stage_get(txn, c->target.name, &s) : ERR_NOT_FOUND;
	if (staged != ERR_OK && staged != ERR_NOT_FOUND)
		return staged;
	if (!c->exists && staged == ERR_NOT_FOUND)
		return ERR_BLOB_NOT_FOUND;
	if (!c->exists)
		TRY(lease_check_read(&s.lease, &lease_errors_blob, txn_now(txn), blob_target_lease_id(&c->target)));
	if (c->exists) {
		TRY(blob_check_read(txn, &c->target, &c->blob));
		if (c->blob.type != BLOB_BLOCK)
			return ERR_INVALID_BLOB_TYPE;
		if (c->committed)
			TRY(read_committed(txn, &c->blob, &(struct gather){ .id = NULL }, &c->committed_blocks));
	}
	if (c->uncommitted && staged == ERR_OK)
		TRY(read_staged(txn, c->target.name, &s, &(struct gather){ .id = NULL }, &c->uncommitted_blocks));
	return ERR_OK;
}
