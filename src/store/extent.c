/* SPDX-License-Identifier: Apache-2.0
 * Payloads: in memory while they fit a record, else a run of extents, each begun when its first byte arrives. A payload
 * whose announced length does not fit a record never touches the memory buffer. What an extent reserves grows with what
 * has arrived, up to LIMIT_EXTENT_BYTES: who announces much and sends little holds little of the disk. */
#include "store/extent.h"

#include "base/bytes.h"
#include "base/limits.h"
#include "store/encrypted.h"
#include "store/store_int.h"

#include <assert.h>
#include <stdlib.h>

enum {
	RESERVE_FACTOR =
		4, /* of what has arrived; a body read in windows of 1 MiB has whole extents from the first on */
	RESERVE_STEP_BYTES = 64 * 1024,
};

/* The frame that is being gathered. It is held back until it is known whether another follows in its extent. */
struct encrypting {
	const struct extent_cipher *cipher;
	uint64_t extent_id;
	uint32_t frame, frame_limit; /* of the extent that is open */
	unsigned char head[EXTENT_HEAD_BYTES];
	size_t fill;
	unsigned char data[EXTENT_FRAME_BYTES];
	unsigned char out[EXTENT_FRAME_BYTES + EXTENT_TAG_BYTES];
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
	struct encrypting *encrypting; /* NULL: as they come */
	bool failed;		       /* no memory when it was set up */
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

/* `last` are bytes of the extent that were not appended yet. */
static enum err seal_with(struct payload_writer *w, struct slice last)
{
	assert(w->writer && w->writer_bytes && (w->encrypting || w->writer_bytes <= w->writer_room));
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
	struct extent_ref *ref = &w->extents[w->extent_count];
	TRY(last.len ? ops->extent_append_seal(writer, last, ref) : ops->extent_seal(writer, ref));
	w->extent_count++;
	return ERR_OK;
}

static enum err seal(struct payload_writer *w)
{
	return seal_with(w, SLICE_NONE);
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

void payload_writer_encrypt(struct payload_writer *w, const struct extent_cipher *cipher)
{
	assert(w->length_bytes == 0 && !w->encrypting);
	w->only_extents = true;
	w->encrypting = calloc(1, sizeof *w->encrypting);
	w->failed = !w->encrypting;
	if (w->encrypting)
		w->encrypting->cipher = cipher;
}

/* An extent of whole frames: all that are announced, as many as it holds. */
static enum err begin_encrypted(struct payload_writer *w)
{
	struct engine *e = store_engine(w->store);
	struct encrypting *c = w->encrypting;
	uint32_t data = extent_room(w, c->fill);
	c->frame_limit = (data + EXTENT_FRAME_BYTES - 1) / EXTENT_FRAME_BYTES;
	if (c->frame_limit > EXTENT_FRAMES_MAX)
		c->frame_limit = EXTENT_FRAMES_MAX;
	if (data > c->frame_limit * EXTENT_FRAME_BYTES)
		data = c->frame_limit * EXTENT_FRAME_BYTES;
	TRY(e->ops->extent_begin(e, EXTENT_HEAD_BYTES + data + c->frame_limit * EXTENT_TAG_BYTES, &w->writer));
	c->extent_id = e->ops->extent_id(w->writer);
	c->frame = 0;
	extent_head_make(c->head);
	return e->ops->extent_append(w->writer, slice_make(c->head, sizeof c->head));
}

static enum err write_frame(struct payload_writer *w, bool at_end)
{
	struct encrypting *c = w->encrypting;
	if (!w->writer)
		TRY(begin_encrypted(w));
	bool last = at_end || c->frame + 1 == c->frame_limit;
	TRY(extent_frame_seal(c->cipher, c->extent_id, c->head, c->frame, last, slice_make(c->data, c->fill), c->out));
	TRY(store_engine(w->store)->ops->extent_append(w->writer, slice_make(c->out, c->fill + EXTENT_TAG_BYTES)));
	w->writer_bytes += (uint32_t)c->fill;
	c->frame++;
	c->fill = 0;
	return last ? seal(w) : ERR_OK;
}

static enum err append_encrypted(struct payload_writer *w, struct slice bytes)
{
	struct encrypting *c = w->encrypting;
	while (bytes.len) {
		if (c->fill == EXTENT_FRAME_BYTES)
			TRY(write_frame(w, false));
		struct slice now = slice_first(bytes, EXTENT_FRAME_BYTES - c->fill);
		memcpy(c->data + c->fill, now.ptr, now.len);
		c->fill += now.len;
		bytes = slice_from(bytes, now.len);
	}
	return ERR_OK;
}

static enum err append_extents(struct payload_writer *w, struct slice bytes)
{
	if (w->encrypting)
		return append_encrypted(w, bytes);
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
	if (w->failed)
		return ERR_NO_MEMORY;
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
	enum err err = w->failed ? ERR_NO_MEMORY : ERR_OK;
	if (w->encrypting && w->encrypting->fill)
		err = write_frame(w, true);
	else if (w->writer)
		err = seal(w);
	/* What is named holds every byte that came, or nothing is named. */
	assert(err != ERR_OK || (w->extent_count ? w->sealed_bytes : w->memory.len) == w->length_bytes);
	if (err == ERR_OK && !w->extent_count && !w->memory.ptr && !buf_reserve(&w->memory, 1))
		err = ERR_NO_MEMORY;
	if (err == ERR_OK) {
		*ret = (struct payload){ .length_bytes = w->length_bytes, .encrypted = w->encrypting != NULL };
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

static enum err write_extents(struct payload_writer *w, struct slice bytes)
{
	struct engine *e = store_engine(w->store);
	while (bytes.len) {
		struct slice now = slice_first(bytes, LIMIT_EXTENT_BYTES);
		TRY(e->ops->extent_begin(e, (uint32_t)now.len, &w->writer));
		w->writer_room = w->writer_bytes = (uint32_t)now.len;
		TRY(seal_with(w, now));
		w->length_bytes += now.len;
		bytes = slice_from(bytes, now.len);
	}
	return ERR_OK;
}

enum err payload_write(struct store *s, struct slice bytes, struct payload *ret)
{
	struct payload_writer *w;
	assert(bytes.len);
	TRY(payload_writer_new(s, bytes.len, &w));
	enum err err = write_extents(w, bytes);
	if (err == ERR_OK)
		return payload_finish(w, ret);
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
	if (w->encrypting)
		explicit_bzero(w->encrypting->data, sizeof w->encrypting->data);
	free(w->encrypting);
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
