/* SPDX-License-Identifier: Apache-2.0
 * Random blob operations against a plain model, on the in-memory engine with its conflicts and unknown outcomes. One
 * caller, so every answer and every byte is known beforehand: put, blocks and lists that reuse and repeat committed
 * blocks, appends, pages, snapshots, versions, copies that share content and copies that bring bytes, deletes; the
 * background work runs in between. At the end everything is deleted and no extent may be left.
 * (test/proof/sim/contents.c asks for ownership under races; here the question is whether each state has exactly its
 * bytes.) */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "container.h"
#include "engine/mem/mem.h"
#include "store/extent.h"
#include "store/key.h"
#include "svc/blob/blob.h"
#include "svc/blob/content/append.h"
#include "svc/blob/content/block_list.h"
#include "svc/blob/content/build.h"
#include "svc/blob/content/page_int.h"
#include "svc/blob/copy.h"
#include "svc/blob/retire.h"
#include "svc/blob/state.h"
#include "svc/common/generation.h"

#define NOON (UINT64_C(639000000000000000))

enum {
	NAMES = 4,
	BLOCK_IDS = 5,
	LIST_MAX = 7,
	HISTORY_MAX = 24,
	BLOCK_BYTES_MAX = 900,
	PAGE_BLOB_BYTES = 2 * PAGE_CHUNK_BYTES + 16 * PAGE_BYTES,
};

struct piece_of_list {
	unsigned id;
	size_t length;
};

struct state {
	bool exists;
	enum blob_type type;
	size_t length;
	unsigned char *bytes;
	bool has_blocks; /* made by a block list */
	size_t block_count;
	struct piece_of_list block[LIST_MAX];
	uint64_t version_ticks;
};

struct past {
	uint64_t ticks;
	bool is_snapshot;
	struct state state;
};

struct staged {
	bool exists;
	size_t length;
	unsigned char bytes[BLOCK_BYTES_MAX];
};

struct name {
	char text[8];
	struct state base;
	struct staged staged[BLOCK_IDS];
	struct past past[HISTORY_MAX];
	size_t past_count;
};

struct bench {
	struct clock clock;
	struct engine *engine;
	struct store *store;
	struct arena arena;
	struct rng rng;
	char partition_bytes[CONTAINER_PARTITION_BYTES];
	struct slice partition;
	bool versioning;
	bool only_pages;
	bool few_at_once; /* what touches several rows is left to the sweep */
	struct name name[NAMES];
};

/* ---- the model's states ---- */

static void state_clear(struct state *s)
{
	free(s->bytes);
	*s = (struct state){ .exists = false };
}

static struct state state_copy(const struct state *s)
{
	struct state c = *s;
	c.bytes = malloc(s->length ? s->length : 1);
	assert_non_null(c.bytes);
	if (s->length)
		memcpy(c.bytes, s->bytes, s->length);
	return c;
}

static struct state state_make(enum blob_type type, const void *bytes, size_t length)
{
	struct state s = { .exists = true, .type = type, .length = length, .bytes = calloc(1, length ? length : 1) };
	assert_non_null(s.bytes);
	if (bytes)
		memcpy(s.bytes, bytes, length);
	return s;
}

static void past_add(struct name *n, uint64_t ticks, bool is_snapshot, const struct state *s)
{
	assert_true(n->past_count < HISTORY_MAX);
	n->past[n->past_count++] = (struct past){ ticks, is_snapshot, state_copy(s) };
}

static void past_drop(struct name *n, size_t i)
{
	state_clear(&n->past[i].state);
	n->past[i] = n->past[--n->past_count];
}

/* What the base becomes; the state it had lives on as a version where versions are kept. */
static void base_replace(struct bench *b, struct name *n, struct state fresh, const struct blob *blob)
{
	if (n->base.exists && b->versioning)
		past_add(n, n->base.version_ticks, false, &n->base);
	state_clear(&n->base);
	n->base = fresh;
	n->base.version_ticks = blob ? blob->version_ticks : 0;
}

static void staging_end(struct name *n)
{
	for (size_t i = 0; i < BLOCK_IDS; i++)
		n->staged[i].exists = false;
}

/* ---- talking to the service ---- */

static uint64_t pick(struct bench *b, uint64_t bound)
{
	return rng_below(&b->rng, bound);
}

static struct blob_target target_of(struct bench *b, const struct name *n)
{
	return (struct blob_target){ .name = slice_str(n->text),
				     .rules = { .versioning = b->versioning, .rows_at_once = b->few_at_once } };
}

static enum err run(struct bench *b, apply_fn *apply, void *call)
{
	return store_write_wait(b->store, b->partition, apply, call, &b->arena);
}

static void expect(struct bench *b, apply_fn *apply, void *call, enum err wanted)
{
	enum err e = run(b, apply, call);
	if (e != wanted)
		fail_msg("%s wanted, got %s", err_name(wanted), err_name(e));
}

static void random_bytes(struct bench *b, unsigned char *dst, size_t length)
{
	for (size_t i = 0; i < length; i++)
		dst[i] = (unsigned char)(1 + pick(b, 255));
}

static struct payload payload_of(struct bench *b, const void *bytes, size_t length, bool only_extents)
{
	struct payload_writer *w;
	struct payload p;
	assert_int_equal(payload_writer_new(b->store, length, &w), ERR_OK);
	if (only_extents)
		payload_writer_only_extents(w);
	assert_int_equal(payload_append(w, slice_make(bytes, length)), ERR_OK);
	assert_int_equal(payload_finish(w, &p), ERR_OK);
	return p;
}

/* A write that has a payload: published if it was done, given back if it was refused. */
static void expect_with(struct bench *b, apply_fn *apply, void *call, struct payload *p, enum err wanted)
{
	expect(b, apply, call, wanted);
	if (wanted != ERR_OK)
		payload_abandon(b->store, p);
	payload_fini(p);
}

static void read_pieces(struct bench *b, const struct blob_get_call *g, unsigned char *dst)
{
	size_t at = 0;
	for (size_t i = 0; i < g->piece_count; i++) {
		const struct blob_piece *p = &g->piece[i];
		assert_true(at + p->length_bytes <= g->length);
		if (p->extent.length_bytes)
			assert_int_equal(
				extent_read(b->store, &p->extent, p->offset, (uint32_t)p->length_bytes, dst + at),
				ERR_OK);
		else if (slice_is_set(p->bytes))
			memcpy(dst + at, p->bytes.ptr, p->length_bytes);
		else
			memset(dst + at, 0, p->length_bytes);
		at += p->length_bytes;
	}
	assert_int_equal(at, g->length);
}

static void check_state(struct bench *b, const struct name *n, const struct state *s, uint64_t snapshot,
			uint64_t version)
{
	struct blob_get_call g = { .target = target_of(b, n), .want_bytes = true, .on_snapshot = true };
	g.target.snapshot_ticks = snapshot;
	g.target.version_ticks = version;
	bool part = s->exists && s->length && pick(b, 3) == 0;
	if (part) {
		g.has_range = true;
		g.range_first = pick(b, s->length);
		g.range_last = g.range_first + pick(b, s->length);
	}
	uint64_t pin = extent_pin(b->store);
	enum err e = store_read(b->store, b->partition, blob_apply_get, &g, &b->arena);
	assert_int_equal(e, s->exists ? ERR_OK : ERR_BLOB_NOT_FOUND);
	if (s->exists) {
		assert_int_equal(g.blob.length_bytes, s->length);
		assert_int_equal(g.blob.type, s->type);
		unsigned char *bytes = malloc(g.length ? g.length : 1);
		assert_non_null(bytes);
		read_pieces(b, &g, bytes);
		if (memcmp(bytes, s->bytes + g.offset, g.length) != 0)
			fail_msg("%s (%s) reads other bytes than were written", n->text,
				 snapshot  ? "snapshot"
				 : version ? "version"
					   : "base");
		free(bytes);
	}
	extent_unpin(b->store, pin);
}

static void check_past(struct bench *b, const struct name *n, const struct past *p)
{
	check_state(b, n, &p->state, p->is_snapshot ? p->ticks : 0, p->is_snapshot ? 0 : p->ticks);
}

static void check_all(struct bench *b)
{
	for (size_t i = 0; i < NAMES; i++) {
		struct name *n = &b->name[i];
		check_state(b, n, &n->base, 0, 0);
		for (size_t k = 0; k < n->past_count; k++)
			check_past(b, n, &n->past[k]);
		arena_reset(&b->arena);
	}
}

/* ---- operations ---- */

static void do_put(struct bench *b, struct name *n)
{
	struct blob_put_call c = { .target = target_of(b, n), .content_id = rng_u64(&b->rng), .may_overwrite = true };
	unsigned char bytes[5000];
	uint64_t dice = b->only_pages ? 1 : pick(b, 6);
	struct state fresh;
	c.type = dice == 0 ? BLOB_APPEND : dice == 1 ? BLOB_PAGE : BLOB_BLOCK;
	enum err wanted = n->base.exists && n->base.type != c.type ? ERR_INVALID_BLOB_TYPE : ERR_OK;
	if (c.type == BLOB_APPEND) {
		expect(b, blob_apply_put, &c, wanted);
		fresh = state_make(BLOB_APPEND, NULL, 0);
	} else if (c.type == BLOB_PAGE) {
		c.page_length_bytes = PAGE_BLOB_BYTES;
		expect(b, blob_apply_put, &c, wanted);
		fresh = state_make(BLOB_PAGE, NULL, PAGE_BLOB_BYTES);
	} else { /* in the record, in a row, in extents */
		size_t length = pick(b, 3) ? pick(b, sizeof bytes) : pick(b, CONTENT_IN_RECORD_BYTES + 2);
		random_bytes(b, bytes, length);
		struct payload p = payload_of(b, bytes, length, length && dice == 2);
		c.payload = &p;
		expect_with(b, blob_apply_put, &c, &p, wanted);
		fresh = state_make(BLOB_BLOCK, bytes, length);
	}
	if (wanted != ERR_OK) {
		state_clear(&fresh);
		return;
	}
	base_replace(b, n, fresh, &c.blob);
	staging_end(n);
}

static void do_put_block(struct bench *b, struct name *n)
{
	unsigned id = (unsigned)pick(b, BLOCK_IDS);
	char text[4];
	struct staged *s = &n->staged[id];
	snprintf(text, sizeof text, "b%u", id);
	unsigned char bytes[BLOCK_BYTES_MAX];
	size_t length = 1 + pick(b, sizeof bytes);
	random_bytes(b, bytes, length);
	struct payload p = payload_of(b, bytes, length, true);
	struct blob_put_block_call c = {
		.target = target_of(b, n), .block_id = slice_str(text), .payload = &p, .stage_id = rng_u64(&b->rng)
	};
	bool fits = !n->base.exists || n->base.type == BLOB_BLOCK;
	expect_with(b, blob_apply_put_block, &c, &p, fits ? ERR_OK : ERR_INVALID_BLOB_TYPE);
	if (!fits)
		return;
	s->exists = true;
	s->length = length;
	memcpy(s->bytes, bytes, length);
}

/* Where the bytes of a committed block lie, or NULL. */
static const unsigned char *committed_block(const struct state *s, unsigned id, size_t *ret_length)
{
	const unsigned char *at = s->bytes;
	for (size_t i = 0; s->exists && s->has_blocks && i < s->block_count; i++) {
		if (s->block[i].id == id) {
			*ret_length = s->block[i].length;
			return at;
		}
		at += s->block[i].length;
	}
	return NULL;
}

static void do_block_list(struct bench *b, struct name *n)
{
	char text[LIST_MAX][4];
	struct block_choice choice[LIST_MAX];
	size_t count = pick(b, LIST_MAX + 1), length = 0;
	struct state fresh = state_make(BLOB_BLOCK, NULL, LIST_MAX * BLOCK_BYTES_MAX);
	enum err wanted = ERR_OK;
	fresh.has_blocks = count != 0;
	for (size_t i = 0; i < count; i++) {
		unsigned id = (unsigned)pick(b, BLOCK_IDS);
		enum block_source source = pick(b, 4) ? BLOCK_LATEST : (enum block_source)pick(b, 3);
		snprintf(text[i], sizeof text[i], "b%u", id);
		choice[i] = (struct block_choice){ source, slice_str(text[i]) };
		const struct staged *s = &n->staged[id];
		const unsigned char *bytes = NULL;
		size_t bytes_len = 0;
		if (source != BLOCK_COMMITTED && s->exists) {
			bytes = s->bytes;
			bytes_len = s->length;
		} else if (source != BLOCK_UNCOMMITTED) {
			bytes = committed_block(&n->base, id, &bytes_len);
		}
		if (!bytes) {
			wanted = ERR_INVALID_BLOCK_LIST;
			continue;
		}
		memcpy(fresh.bytes + length, bytes, bytes_len);
		fresh.block[fresh.block_count++] = (struct piece_of_list){ id, bytes_len };
		length += bytes_len;
	}
	fresh.length = length;
	if (n->base.exists && n->base.type != BLOB_BLOCK)
		wanted = ERR_INVALID_BLOB_TYPE;
	struct blob_put_block_list_call c = { .choice = choice, .choice_count = count };
	c.put = (struct blob_put_call){ .target = target_of(b, n),
					.content_id = rng_u64(&b->rng),
					.may_overwrite = true };
	/* Planned ahead or not, it is the same to everybody. */
	if (pick(b, 2)) {
		enum err planned = store_read(b->store, b->partition, blob_apply_plan_block_list, &c, &b->arena);
		assert_int_equal(planned, wanted);
	}
	expect(b, blob_apply_put_block_list, &c, wanted);
	if (wanted != ERR_OK) {
		state_clear(&fresh);
		return;
	}
	base_replace(b, n, fresh, &c.put.blob);
	staging_end(n);
}

static enum err not_of(const struct name *n, enum blob_type type)
{
	return !n->base.exists ? ERR_BLOB_NOT_FOUND : n->base.type != type ? ERR_INVALID_BLOB_TYPE : ERR_OK;
}

static void do_append(struct bench *b, struct name *n)
{
	unsigned char bytes[BLOCK_BYTES_MAX];
	size_t length = 1 + pick(b, sizeof bytes);
	random_bytes(b, bytes, length);
	struct payload p = payload_of(b, bytes, length, true);
	struct blob_append_call c = { .target = target_of(b, n), .payload = &p };
	enum err wanted = not_of(n, BLOB_APPEND);
	expect_with(b, blob_apply_append, &c, &p, wanted);
	if (wanted != ERR_OK)
		return;
	assert_int_equal(c.offset, n->base.length);
	n->base.bytes = realloc(n->base.bytes, n->base.length + length);
	assert_non_null(n->base.bytes);
	memcpy(n->base.bytes + n->base.length, bytes, length);
	n->base.length += length;
}

static void do_page(struct bench *b, struct name *n)
{
	static unsigned char bytes[8 * PAGE_BYTES];
	bool clear = pick(b, 3) == 0;
	/* Mostly around the edge of a chunk. */
	uint64_t first = pick(b, 2) ? (1 + pick(b, 2)) * PAGE_CHUNK_PAGES - 8 + pick(b, 16) : pick(b, 12);
	uint64_t count = clear ? 1 + pick(b, 30) : 1 + pick(b, 8);
	if (clear && pick(b, 2)) { /* whole chunks, and a little less or more */
		static const uint64_t from[] = { 0, 1, PAGE_CHUNK_PAGES, PAGE_CHUNK_PAGES - 3 };
		static const uint64_t to[] = { PAGE_CHUNK_PAGES + 1, 2 * PAGE_CHUNK_PAGES,
					       PAGE_BLOB_BYTES / PAGE_BYTES };
		first = from[pick(b, 4)];
		count = to[pick(b, 3)] - first;
	}
	struct blob_put_page_call c = {
		.target = target_of(b, n), .clear = clear, .offset = first * PAGE_BYTES, .length = count * PAGE_BYTES
	};
	struct payload p = { .length_bytes = 0 };
	enum err wanted = not_of(n, BLOB_PAGE);
	if (wanted == ERR_OK && clear && c.offset < n->base.length && c.offset + c.length > n->base.length)
		c.length = n->base.length - c.offset;
	if (wanted == ERR_OK && c.offset + c.length > n->base.length)
		wanted = ERR_INVALID_PAGE_RANGE;
	if (!clear) {
		random_bytes(b, bytes, c.length);
		p = payload_of(b, bytes, c.length, true);
		c.payload = &p;
	}
	expect_with(b, blob_apply_put_page, &c, &p, wanted);
	if (wanted != ERR_OK)
		return;
	if (clear)
		memset(n->base.bytes + c.offset, 0, c.length);
	else
		memcpy(n->base.bytes + c.offset, bytes, c.length);
}

static void do_resize(struct bench *b, struct name *n)
{
	size_t length =
		PAGE_BYTES * (pick(b, 2) ? PAGE_BLOB_BYTES / PAGE_BYTES : pick(b, PAGE_BLOB_BYTES / PAGE_BYTES));
	struct blob_modify_call c = { .target = target_of(b, n), .resize = true, .length_bytes = length };
	enum err wanted = not_of(n, BLOB_PAGE);
	expect(b, blob_apply_set_properties, &c, wanted);
	if (wanted != ERR_OK)
		return;
	struct state fresh = state_make(BLOB_PAGE, NULL, length);
	memcpy(fresh.bytes, n->base.bytes, length < n->base.length ? length : n->base.length);
	fresh.version_ticks = n->base.version_ticks;
	state_clear(&n->base);
	n->base = fresh;
}

/* With versions the former state lives on, bytes and all. */
static void do_metadata(struct bench *b, struct name *n)
{
	struct blob_modify_call c = { .target = target_of(b, n) };
	expect(b, blob_apply_set_metadata, &c, n->base.exists ? ERR_OK : ERR_BLOB_NOT_FOUND);
	if (n->base.exists)
		base_replace(b, n, state_copy(&n->base), &c.blob);
}

static void do_snapshot(struct bench *b, struct name *n)
{
	struct blob_snapshot_call c = { .target = target_of(b, n) };
	expect(b, blob_apply_snapshot, &c, n->base.exists ? ERR_OK : ERR_BLOB_NOT_FOUND);
	if (!n->base.exists)
		return;
	past_add(n, c.snapshot.history_ticks, true, &n->base);
	/* With versions the base goes on as the next one. */
	struct blob next = { .version_ticks = c.base_version_ticks };
	if (b->versioning)
		base_replace(b, n, state_copy(&n->base), &next);
}

static void do_delete(struct bench *b, struct name *n)
{
	struct blob_delete_call c = { .target = target_of(b, n), .snapshots = (enum delete_snapshots)pick(b, 3) };
	bool snapshots = false;
	for (size_t i = 0; i < n->past_count; i++)
		snapshots |= n->past[i].is_snapshot;
	bool staged = false;
	for (size_t i = 0; i < BLOCK_IDS; i++)
		staged |= n->staged[i].exists;
	if (!n->base.exists && staged) { /* uncommitted blocks alone can be deleted */
		expect(b, blob_apply_delete, &c, ERR_OK);
		staging_end(n);
		return;
	}
	enum err wanted = !n->base.exists				      ? ERR_BLOB_NOT_FOUND
			  : snapshots && c.snapshots == DELETE_SNAPSHOTS_NONE ? ERR_SNAPSHOTS_PRESENT
									      : ERR_OK;
	do
		expect(b, blob_apply_delete, &c, wanted);
	while (wanted == ERR_OK && c.again);
	if (wanted != ERR_OK)
		return;
	for (size_t i = n->past_count; i-- > 0 && c.snapshots != DELETE_SNAPSHOTS_NONE;)
		if (n->past[i].is_snapshot)
			past_drop(n, i);
	if (c.snapshots == DELETE_SNAPSHOTS_ONLY)
		return;
	base_replace(b, n, (struct state){ .exists = false }, NULL);
	staging_end(n);
}

static void do_delete_past(struct bench *b, struct name *n)
{
	if (!n->past_count)
		return;
	size_t i = pick(b, n->past_count);
	struct blob_delete_call c = { .target = target_of(b, n) };
	*(n->past[i].is_snapshot ? &c.target.snapshot_ticks : &c.target.version_ticks) = n->past[i].ticks;
	expect(b, blob_apply_delete, &c, ERR_OK);
	expect(b, blob_apply_delete, &c, ERR_BLOB_NOT_FOUND);
	past_drop(n, i);
}

/* The pages of a page blob come in steps, and the copy may be given up between them. */
static void copy_pages(struct bench *b, struct name *to, const struct state *from, struct blob_copy_call *c)
{
	bool abort = pick(b, 4) == 0;
	c->copy.status = COPY_PENDING;
	c->put.page_length_bytes = from->length;
	expect(b, blob_apply_copy, c, ERR_OK);
	struct state fresh = state_make(BLOB_PAGE, NULL, from->length);
	size_t steps = 0;
	for (size_t at = 0; at < from->length && !(abort && steps > 2); at += 8 * PAGE_BYTES) {
		size_t part = from->length - at < 8 * PAGE_BYTES ? from->length - at : 8 * PAGE_BYTES;
		static const unsigned char zeros[8 * PAGE_BYTES];
		if (memcmp(from->bytes + at, zeros, part) == 0)
			continue;
		struct copy_pages pages = { at, payload_of(b, from->bytes + at, part, true) };
		struct blob_copy_step_call s = { .name = slice_str(to->text),
						 .id = c->copy.id,
						 .status = COPY_PENDING,
						 .copied_bytes = at,
						 .pages = &pages,
						 .page_count = 1 };
		expect(b, blob_apply_copy_step, &s, ERR_OK);
		assert_false(s.gone);
		payload_fini(&pages.payload);
		memcpy(fresh.bytes + at, from->bytes + at, part);
		steps++;
	}
	if (abort) {
		struct blob_abort_copy_call a = { .target = target_of(b, to),
						  .id = c->copy.id,
						  .content_id = rng_u64(&b->rng) };
		expect(b, blob_apply_abort_copy, &a, ERR_OK);
		fresh.length = 0;
	} else {
		struct blob_copy_step_call s = { .name = slice_str(to->text),
						 .id = c->copy.id,
						 .status = COPY_SUCCESS };
		expect(b, blob_apply_copy_step, &s, ERR_OK);
		assert_false(s.gone);
	}
	base_replace(b, to, fresh, &c->put.blob);
}

/* As into another container: the blocks are committed a few at a time, and then taken; or their maker gives them back,
 * or is never heard of again. False: it was not finished. */
static bool copy_built(struct bench *b, const struct state *from, struct blob_copy_call *c)
{
	size_t at = 0, done = 0;
	bool blocks = from->type == BLOB_BLOCK, finish = pick(b, 4) != 0;
	size_t count = blocks ? from->block_count : 1 + pick(b, 4);
	c->built = (struct copy_built){ .content_id = rng_u64(&b->rng), .length_bytes = from->length };
	while (done < count && (finish || pick(b, 3))) {
		char text[LIST_MAX][4];
		struct block block[LIST_MAX];
		struct payload payload[LIST_MAX];
		struct build_add_call add = { .content_id = c->built.content_id,
					      .kind = blocks ? BUILD_MANIFEST : BUILD_APPEND,
					      .first = done == 0,
					      .blocks = { .block = block },
					      .offset = at };
		size_t here = 1 + pick(b, count - done);
		for (size_t i = 0; i < here; i++) {
			bool last = done + i + 1 == count;
			size_t length = blocks ? from->block[done + i].length
					: last ? from->length - at
					       : (from->length - at) / 2;
			if (length == 0)
				continue;
			snprintf(text[i], sizeof text[i], "b%u", blocks ? from->block[done + i].id : 0);
			struct payload *p = &payload[add.blocks.count];
			*p = payload_of(b, from->bytes + at, length, true);
			block[add.blocks.count++] = (struct block){ .id = slice_str(text[i]),
								    .length_bytes = length,
								    .owned = true,
								    .extent_count = (uint32_t)p->extent_count,
								    .extents = p->extents };
			at += length;
			c->built.block_count++;
		}
		expect(b, blob_apply_build_add, &add, ERR_OK);
		for (size_t i = 0; i < add.blocks.count; i++)
			payload_fini(&payload[i]);
		done += here;
		bool more;
		if (pick(b, 3) == 0)
			assert_int_equal(blob_retire_round(b->store, b->partition, &more), ERR_OK);
	}
	if (done == count)
		return true;
	struct build_drop_call drop = { .content_id = c->built.content_id };
	if (pick(b, 2))
		expect(b, blob_apply_build_drop, &drop, ERR_OK);
	return false;
}

static void do_copy(struct bench *b, struct name *to)
{
	struct name *n = &b->name[pick(b, NAMES)];
	const struct past *past = n->past_count && pick(b, 2) ? &n->past[pick(b, n->past_count)] : NULL;
	struct state from = state_copy(past ? &past->state : &n->base); /* it may be copied over itself */
	struct blob_get_call g = { .target = target_of(b, n) };
	if (past)
		*(past->is_snapshot ? &g.target.snapshot_ticks : &g.target.version_ticks) = past->ticks;
	if (from.exists && (!to->base.exists || to->base.type == from.type)) {
		assert_int_equal(store_read(b->store, b->partition, blob_apply_get, &g, &b->arena), ERR_OK);
		struct blob_copy_call c = { .copy = { .status = COPY_SUCCESS,
						      .id = rng_uuid(&b->rng),
						      .source = SLICE("http://a/b/c"),
						      .total_bytes = from.length },
					    .unmet_error = ERR_TARGET_CONDITION_NOT_MET };
		c.put = (struct blob_put_call){ .target = target_of(b, to),
						.type = from.type,
						.content_id = rng_u64(&b->rng),
						.may_overwrite = true };
		enum content_kind kind = g.blob.content.kind;
		bool build = (from.has_blocks || (from.type == BLOB_APPEND && from.length)) && pick(b, 2);
		if (from.type == BLOB_PAGE) {
			copy_pages(b, to, &from, &c);
		} else if (build) {
			if (!copy_built(b, &from, &c)) {
				state_clear(&from);
				return;
			}
			expect(b, blob_apply_copy, &c, ERR_OK);
			base_replace(b, to, state_copy(&from), &c.put.blob);
			/* It is taken: nothing is left to drop, and it cannot be taken twice. */
			struct build_drop_call drop = { .content_id = c.built.content_id };
			expect(b, blob_apply_build_drop, &drop, ERR_OK);
			expect(b, blob_apply_copy, &c, ERR_OPERATION_TIMED_OUT);
		} else if (from.type == BLOB_BLOCK && kind != CONTENT_EMPTY && kind != CONTENT_INLINE) {
			c.source = g.target;
			c.source_etag = g.blob.etag;
			expect(b, blob_apply_copy, &c, ERR_OK);
			base_replace(b, to, state_copy(&from), &c.put.blob);
		} else {
			struct payload p =
				payload_of(b, from.bytes, from.length, from.type == BLOB_APPEND && from.length);
			c.put.payload = &p;
			expect_with(b, blob_apply_copy, &c, &p, ERR_OK);
			base_replace(b, to, state_make(from.type, from.bytes, from.length), &c.put.blob);
		}
		staging_end(to);
	}
	state_clear(&from);
}

static void housekeep(struct bench *b, size_t rounds)
{
	struct buf from;
	bool more = true;
	for (size_t i = 0; more && i < rounds; i++)
		assert_int_equal(blob_retire_round(b->store, b->partition, &more), ERR_OK);
	buf_init(&from, 2 * LIMIT_KEY_BYTES);
	more = true;
	for (size_t i = 0; more && i < rounds; i++)
		assert_int_equal(blob_expire_round(b->store, b->partition, &from, &more), ERR_OK);
	buf_fini(&from);
	more = true; /* what ended with time */
	for (size_t i = 0; more && i < rounds; i++)
		assert_int_equal(blob_retire_round(b->store, b->partition, &more), ERR_OK);
}

static void step(struct bench *b)
{
	/* Blocks and lists twice, because they need each other. */
	static void (*const ops[])(struct bench *, struct name *) = {
		do_put,	     do_put_block, do_put_block,   do_put_block,   do_block_list, do_block_list, do_append,
		do_append,   do_page,	   do_page,	   do_page,	   do_resize,	  do_metadata,	 do_snapshot,
		do_snapshot, do_delete,	   do_delete_past, do_delete_past, do_copy,	  do_copy
	};
	static void (*const page_ops[])(struct bench *, struct name *) = {
		do_page,     do_page,	  do_page,   do_page,	do_page,   do_page,	   do_page,
		do_page,     do_page,	  do_page,   do_page,	do_page,   do_page,	   do_page,
		do_page,     do_page,	  do_page,   do_resize, do_resize, do_resize,	   do_metadata,
		do_snapshot, do_snapshot, do_delete, do_copy,	do_put,	   do_delete_past,
	};
	struct name *n = &b->name[pick(b, b->only_pages ? 2 : NAMES)];
	while (n->past_count > HISTORY_MAX - 4)
		do_delete_past(b, n);
	if (b->only_pages)
		page_ops[pick(b, sizeof page_ops / sizeof *page_ops)](b, n);
	else
		ops[pick(b, sizeof ops / sizeof *ops)](b, n);
	check_state(b, n, &n->base, 0, 0);
	if (n->past_count)
		check_past(b, n, &n->past[pick(b, n->past_count)]);
	clock_fake_advance(&b->clock, 1 + pick(b, TICKS_PER_SECOND));
	if (pick(b, 6) == 0)
		housekeep(b, 1 + pick(b, 3));
	arena_reset(&b->arena);
}

/* ---- runs ---- */

static enum err close_generation(struct txn *txn, void *call)
{
	return generation_close(txn);
}

static void bench_open(struct bench *b, uint64_t seed, bool versioning)
{
	struct mem_options options = {
		.seed = seed, .conflict_permille = 60, .unknown_happened_permille = 20, .unknown_lost_permille = 20
	};
	memset(b, 0, sizeof *b);
	clock_init_fake(&b->clock, NOON);
	arena_init(&b->arena, 256 * MIB);
	rng_init_seed(&b->rng, seed);
	b->versioning = versioning;
	b->few_at_once = seed % 2 == 0;
	mem_store_open(&options, &b->clock, &b->engine, &b->store);
	b->partition = container_partition(b->partition_bytes);
	expect(b, open_generation, NULL, ERR_OK);
	for (size_t i = 0; i < NAMES; i++)
		snprintf(b->name[i].text, sizeof b->name[i].text, "name%zu", i);
}

static void delete_name(struct bench *b, struct name *n)
{
	/* An empty blob over what is there ends a staging too. */
	struct blob_put_call put = {
		.target = target_of(b, n), .type = BLOB_BLOCK, .content_id = rng_u64(&b->rng), .may_overwrite = true
	};
	struct payload none = { .length_bytes = 0, .inline_bytes = SLICE("") };
	put.payload = &none;
	if (!n->base.exists || n->base.type == BLOB_BLOCK) { /* others have no staging */
		expect(b, blob_apply_put, &put, ERR_OK);
		base_replace(b, n, state_make(BLOB_BLOCK, NULL, 0), &put.blob);
	}
	struct blob_delete_call del = { .target = target_of(b, n), .snapshots = DELETE_SNAPSHOTS_INCLUDE };
	do
		expect(b, blob_apply_delete, &del, ERR_OK);
	while (del.again);
	for (size_t i = n->past_count; i-- > 0;)
		if (n->past[i].is_snapshot)
			past_drop(n, i);
	base_replace(b, n, (struct state){ .exists = false }, NULL);
	while (n->past_count) { /* versions */
		struct blob_delete_call one = { .target = target_of(b, n) };
		one.target.version_ticks = n->past[n->past_count - 1].ticks;
		expect(b, blob_apply_delete, &one, ERR_OK);
		past_drop(n, n->past_count - 1);
	}
	arena_reset(&b->arena);
}

static void bench_end(struct bench *b, bool drop_whole)
{
	bool more = true;
	struct mem_counts counts;
	if (drop_whole) {
		expect(b, close_generation, NULL, ERR_OK);
		while (more)
			assert_int_equal(blob_retire_container(b->store, b->partition, &more), ERR_OK);
	} else {
		for (size_t i = 0; i < NAMES; i++)
			delete_name(b, &b->name[i]);
		clock_fake_advance(&b->clock, BUILD_SILENCE_SECONDS * TICKS_PER_SECOND);
		housekeep(b, 100000);
	}
	for (size_t i = 0; i < NAMES; i++) {
		state_clear(&b->name[i].base);
		while (b->name[i].past_count)
			past_drop(&b->name[i], 0);
	}
	more = true;
	while (more)
		assert_int_equal(b->engine->ops->reclaim(b->engine, &more), ERR_OK);
	struct engine_stats stats;
	b->engine->ops->stats(b->engine, &stats);
	engine_mem_counts(b->engine, &counts);
	if (counts.extents || stats.extent_bytes_live)
		fail_msg("everything is deleted, and %llu extents are left", (unsigned long long)counts.extents);
	assert_true(counts.conflicts_injected && counts.unknown_happened &&
		    counts.unknown_lost); /* it was a hard time */
	store_close(b->store);
	arena_fini(&b->arena);
}

static void run_model(uint64_t first_seed, bool versioning, bool drop_whole, bool only_pages)
{
	enum { SEEDS = 12, STEPS = 600 };
	const char *more = getenv("ZAFFRE_MODEL_SEEDS"); /* the long form */
	uint64_t seeds = more ? strtoull(more, NULL, 10) : SEEDS;
	for (uint64_t seed = first_seed; seed < first_seed + seeds; seed++) {
		static struct bench b;
		bench_open(&b, seed, versioning);
		b.only_pages = only_pages;
		for (unsigned i = 0; i < STEPS; i++) {
			step(&b);
			if (i % 100 == 99)
				check_all(&b);
		}
		bench_end(&b, drop_whole);
	}
}

static void test_names(void **state)
{
	run_model(1, false, false, false);
}

static void test_dropped(void **state)
{
	run_model(1000001, false, true, false);
}

static void test_versions(void **state)
{
	run_model(2000001, true, false, false);
}

static void test_versions_dropped(void **state)
{
	run_model(3000001, true, true, false);
}

static void test_pages(void **state)
{
	run_model(4000001, false, false, true);
	run_model(5000001, true, true, true);
}

static enum err clear_chunk(struct bench *b, uint64_t chunk)
{
	struct blob_put_page_call c = { .target = target_of(b, &b->name[0]),
					.clear = true,
					.offset = chunk * PAGE_CHUNK_BYTES,
					.length = PAGE_CHUNK_BYTES };
	return run(b, blob_apply_put_page, &c);
}

/* Clears that wait for the sweep are counted; one that covers others takes their place. */
static void test_clears_waiting(void **state)
{
	enum { CHUNKS = PAGE_CLEARS_MAX + 2 };
	static struct bench b;
	bench_open(&b, 2, false);
	struct blob_put_call put = { .target = target_of(&b, &b.name[0]),
				     .type = BLOB_PAGE,
				     .page_length_bytes = (uint64_t)CHUNKS * PAGE_CHUNK_BYTES,
				     .content_id = 77,
				     .may_overwrite = true };
	assert_true(b.few_at_once);
	expect(&b, blob_apply_put, &put, ERR_OK);
	for (uint64_t i = 0; i < CHUNKS; i++) {
		static const unsigned char bytes[PAGE_BYTES] = "page";
		struct payload p = payload_of(&b, bytes, sizeof bytes, true);
		struct blob_put_page_call c = { .target = target_of(&b, &b.name[0]),
						.offset = i * PAGE_CHUNK_BYTES,
						.length = PAGE_BYTES,
						.payload = &p };
		expect_with(&b, blob_apply_put_page, &c, &p, ERR_OK);
	}
	for (uint64_t i = 0; i < PAGE_CLEARS_MAX; i++)
		assert_int_equal(clear_chunk(&b, i), ERR_OK);
	assert_int_equal(clear_chunk(&b, PAGE_CLEARS_MAX), ERR_BUSY);
	struct blob_put_page_call all = { .target = target_of(&b, &b.name[0]),
					  .clear = true,
					  .length = put.page_length_bytes - PAGE_CHUNK_BYTES };
	expect(&b, blob_apply_put_page, &all, ERR_OK);
	assert_int_equal(clear_chunk(&b, CHUNKS - 1), ERR_OK);
	struct blob_page_ranges_call ranges = { .target = target_of(&b, &b.name[0]), .limit = 10 };
	for (int swept = 0; swept < 2; swept++) {
		assert_int_equal(store_read(b.store, b.partition, blob_apply_page_ranges, &ranges, &b.arena), ERR_OK);
		assert_int_equal(ranges.count, 0);
		housekeep(&b, 1000);
	}
	struct blob_delete_call del = { .target = target_of(&b, &b.name[0]) };
	expect(&b, blob_apply_delete, &del, ERR_OK);
	bench_end(&b, true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),	 cmocka_unit_test(test_dropped),
		cmocka_unit_test(test_versions), cmocka_unit_test(test_versions_dropped),
		cmocka_unit_test(test_pages),	 cmocka_unit_test(test_clears_waiting),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
