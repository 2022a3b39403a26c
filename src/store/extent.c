/* SPDX-License-Identifier: Apache-2.0
 * Payloads: in memory while they fit a record, else a run of extents, each begun when its first byte arrives. A payload
 * whose announced length does not fit a record never touches the memory buffer. What an extent reserves grows with what
 * has arrived, up to LIMIT_EXTENT_BYTES: who announces much and sends little holds little of the disk. */
#include "store/extent.h"

#include "base/bytes.h"
#include "base/limits.h"
#include "store/store_int.h"

#include <assert.h>
#include <stdlib.h>

enum {
	RESERVE_FACTOR =
		4, /* of what has arrived; a body read in windows of 1 MiB has whole extents from the first on */
	RESERVE_STEP_BYTES = 64 * 1024,
};

struct payload_writer {
	struct store *store;
	size_t inline_bytes;
	uint64_t hint_bytes; /* announced; 0 = not known */
	uint64_t length_bytes;
	bool only_extents;
	struct buf memory;
	struct extent_writer *writer;
	uint32_t writer_bytes, writer_room;
	uint64_t sealed_bytes; /* in extents */
	struct extent_ref *extents;
	size_t extent_count, extent_cap;
};

void extent_ref_encode(struct buf *b, const struct extent_ref *ref)
{
	bytes_put_u64(b, ref->id);
	bytes_put_u64(b, ref->place);
	bytes_put_u32(b, ref->length_bytes);
}

struct extent_ref extent_ref_decode(struct cursor *c)
{
	struct extent_ref ref;
	ref.id = cursor_u64(c);
	ref.place = cursor_u64(c);
	ref.length_bytes = cursor_u32(c);
	return ref;
}

enum err payload_writer_new(struct store *s, uint64_t length_hint, struct payload_writer **ret)
{
	struct payload_writer *w = calloc(1, sizeof *w);
	if (!w)
		return ERR_NO_MEMORY;
	w->store = s;
	w->hint_bytes = length_hint;
	w->inline_bytes = store_inline_bytes(s);
	buf_init(&w->memory, w->inline_bytes);
	*ret = w;
	return ERR_OK;
}

void payload_writer_only_extents(struct payload_writer *w)
{
	w->only_extents = true;
}

static bool left_memory(const struct payload_writer *w)
{
	return w->only_extents || w->writer || w->extent_count || w->hint_bytes > w->inline_bytes;
}

bool payload_writer_stays_in_memory(const struct payload_writer *w, size_t bytes)
{
	return !left_memory(w) && bytes <= w->inline_bytes && w->length_bytes <= w->inline_bytes - bytes;
}

static enum err seal(struct payload_writer *w)
{
	assert(w->writer && w->writer_bytes && w->writer_bytes <= w->writer_room);
	const struct engine_ops *ops = store_engine(w->store)->ops;
	if (w->extent_count == w->extent_cap) {
		size_t cap = w->extent_cap ? w->extent_cap * 2 : 4;
		struct extent_ref *refs = realloc(w->extents, cap * sizeof *refs);
		if (!refs)
			return ERR_NO_MEMORY;
		w->extents = refs;
		w->extent_cap = cap;
	}
	struct extent_writer *writer = w->writer;
	w->writer = NULL;
	w->sealed_bytes += w->writer_bytes;
	w->writer_bytes = 0;
	TRY(ops->extent_seal(writer, &w->extents[w->extent_count]));
	w->extent_count++;
	return ERR_OK;
}

/* What the extent about to begin may hold: all that is announced, but no more than a few times what has arrived. */
static uint32_t extent_room(const struct payload_writer *w, size_t at_hand)
{
	uint64_t left = w->hint_bytes > w->sealed_bytes ? w->hint_bytes - w->sealed_bytes : 0;
	uint64_t room = (w->sealed_bytes + at_hand) * RESERVE_FACTOR;
	room = (room + RESERVE_STEP_BYTES - 1) / RESERVE_STEP_BYTES * RESERVE_STEP_BYTES;
	if (left >= at_hand && left < room) /* else more came than was announced */
		room = left;
	return (uint32_t)(room < LIMIT_EXTENT_BYTES ? room : LIMIT_EXTENT_BYTES);
}

static enum err append_extents(struct payload_writer *w, struct slice bytes)
{
	struct engine *e = store_engine(w->store);
	while (bytes.len) {
		if (!w->writer) {
			w->writer_room = extent_room(w, bytes.len);
			TRY(e->ops->extent_begin(e, w->writer_room, &w->writer));
		}
		size_t room = w->writer_room - w->writer_bytes;
		assert(room > 0); /* a full one is sealed at once */
		struct slice now = slice_first(bytes, room);
		TRY(e->ops->extent_append(w->writer, now));
		w->writer_bytes += (uint32_t)now.len;
		bytes = slice_from(bytes, now.len);
		if (w->writer_bytes == w->writer_room)
			TRY(seal(w));
	}
	return ERR_OK;
}

enum err payload_append(struct payload_writer *w, struct slice bytes)
{
	if (bytes.len == 0)
		return ERR_OK;
	if (payload_writer_stays_in_memory(w, bytes.len)) {
		/* One allocation of the right size where the length was announced. */
		size_t want = bytes.len;
		if (!w->memory.ptr && w->hint_bytes > want)
			want = (size_t)w->hint_bytes;
		if (!buf_reserve(&w->memory, want))
			return ERR_NO_MEMORY;
		buf_put(&w->memory, bytes);
	} else {
		if (w->memory.len) {
			struct slice first = buf_slice(&w->memory);
			w->memory.len = 0;
			TRY(append_extents(w, first));
			buf_fini(&w->memory);
		}
		TRY(append_extents(w, bytes));
	}
	w->length_bytes += bytes.len;
	return ERR_OK;
}

enum err payload_finish(struct payload_writer *w, struct payload *ret)
{
	enum err err = w->writer ? seal(w) : ERR_OK;
	/* What is named holds every byte that came, or nothing is named. */
	assert(err != ERR_OK || (w->extent_count ? w->sealed_bytes : w->memory.len) == w->length_bytes);
	if (err == ERR_OK && !w->extent_count && !w->memory.ptr && !buf_reserve(&w->memory, 1))
		err = ERR_NO_MEMORY;
	if (err == ERR_OK) {
		*ret = (struct payload){ .length_bytes = w->length_bytes };
		if (w->extent_count) {
			ret->extents = w->extents;
			ret->extent_count = w->extent_count;
			w->extents = NULL;
			w->extent_count = 0;
		} else {
			ret->inline_bytes = buf_slice(&w->memory);
			w->memory = (struct buf){ 0 };
		}
	}
	payload_writer_free(w);
	return err;
}

/* Nobody will name them. What that leaves empty goes back to the file system with the next reclaim. */
static void abandon(struct store *s, const struct extent_ref *extents, size_t count)
{
	struct engine *e = store_engine(s);
	for (size_t i = 0; i < count; i++)
		e->ops->extent_abandon(e, &extents[i]);
	if (count)
		store_reclaim_soon(s);
}

void payload_writer_free(struct payload_writer *w)
{
	if (!w)
		return;
	store_engine(w->store)->ops->extent_writer_free(w->writer);
	abandon(w->store, w->extents, w->extent_count);
	if (w->writer && !w->extent_count)
		store_reclaim_soon(w->store); /* what it reserved */
	free(w->extents);
	buf_fini(&w->memory);
	free(w);
}

void payload_abandon(struct store *s, struct payload *p)
{
	abandon(s, p->extents, p->extent_count);
	p->extent_count = 0;
}

void payload_fini(struct payload *p)
{
	free(p->extents);
	if (!p->borrowed)
		free((void *)(uintptr_t)p->inline_bytes.ptr);
	*p = (struct payload){ 0 };
}

enum err extent_read(struct store *s, const struct extent_ref *ref, uint32_t offset, uint32_t length, void *dst)
{
	struct engine *e = store_engine(s);
	return e->ops->extent_read(e, ref, offset, length, dst);
}

uint64_t extent_pin(struct store *s)
{
	struct engine *e = store_engine(s);
	return e->ops->pin(e);
}

void extent_unpin(struct store *s, uint64_t pin)
{
	struct engine *e = store_engine(s);
	e->ops->unpin(e, pin);
}
