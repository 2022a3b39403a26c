/* SPDX-License-Identifier: Apache-2.0
 * Frames of encrypted extents (encrypted.h). A read fetches runs of whole frames, as many as READ_FRAMES at a time, and
 * gives out nothing of a frame that did not verify. */
#include "store/encrypted.h"

#include <stdlib.h>

#include "base/bytes.h"
#include "base/limits.h"
#include "base/sys/rng.h"

enum {
	HEAD_VERSION = 1,
	HEAD_RANDOM_AT = 4,
	STORED_FRAME_BYTES = EXTENT_FRAME_BYTES + EXTENT_TAG_BYTES,
	READ_FRAMES = 9, /* what a piece of an answer spans, wherever it begins */
	BOUND_BYTES = 9 + EXTENT_IDENTITY_BYTES
};

uint32_t extent_data_bytes(uint32_t stored)
{
	if (stored <= EXTENT_HEAD_BYTES + EXTENT_TAG_BYTES)
		return 0;
	uint32_t rest = stored - EXTENT_HEAD_BYTES;
	uint32_t frames = (rest + STORED_FRAME_BYTES - 1) / STORED_FRAME_BYTES;
	uint32_t last = rest - (frames - 1) * STORED_FRAME_BYTES;
	return last > EXTENT_TAG_BYTES ? rest - frames * EXTENT_TAG_BYTES : 0;
}

void extent_head_make(unsigned char head[EXTENT_HEAD_BYTES])
{
	struct rng rng;
	rng_init_system(&rng);
	memset(head, 0, HEAD_RANDOM_AT);
	head[0] = HEAD_VERSION;
	rng_bytes(&rng, head + HEAD_RANDOM_AT, EXTENT_HEAD_BYTES - HEAD_RANDOM_AT);
}

struct frame_names {
	unsigned char nonce[EXTENT_NONCE_BYTES];
	unsigned char bound[BOUND_BYTES];
};

static struct frame_names names_of(const struct extent_cipher *c, uint64_t extent_id,
				   const unsigned char head[EXTENT_HEAD_BYTES], uint32_t frame, bool last)
{
	struct frame_names n;
	size_t random = EXTENT_HEAD_BYTES - HEAD_RANDOM_AT;
	memcpy(n.nonce, head + HEAD_RANDOM_AT, random);
	bytes_store(n.nonce + random, frame, EXTENT_NONCE_BYTES - random);
	bytes_store(n.bound, extent_id, 8);
	n.bound[8] = last;
	memcpy(n.bound + 9, c->identity, sizeof c->identity);
	return n;
}

enum err extent_frame_seal(const struct extent_cipher *c, uint64_t extent_id,
			   const unsigned char head[EXTENT_HEAD_BYTES], uint32_t frame, bool last, struct slice data,
			   unsigned char *out)
{
	struct frame_names n = names_of(c, extent_id, head, frame, last);
	return c->seal(c, n.nonce, slice_make(n.bound, sizeof n.bound), data, out);
}

struct reading {
	struct store *store;
	const struct extent_cipher *cipher;
	const struct extent_ref *extent;
	unsigned char head[EXTENT_HEAD_BYTES];
	uint32_t data_bytes, frame_count;
	unsigned char *stored;			 /* room for READ_FRAMES */
	unsigned char frame[EXTENT_FRAME_BYTES]; /* one that is not wanted whole */
};

static uint32_t frame_data_bytes(const struct reading *r, uint32_t frame)
{
	return frame + 1 < r->frame_count ? EXTENT_FRAME_BYTES : r->data_bytes - frame * EXTENT_FRAME_BYTES;
}

static enum err open_frame(struct reading *r, uint32_t frame, const unsigned char *stored, unsigned char *out)
{
	struct frame_names n = names_of(r->cipher, r->extent->id, r->head, frame, frame + 1 == r->frame_count);
	return r->cipher->open(r->cipher, n.nonce, slice_make(n.bound, sizeof n.bound),
			       slice_make(stored, frame_data_bytes(r, frame) + EXTENT_TAG_BYTES), out);
}

/* What [from, to) of the data takes of one frame, whose first byte is `begin`. */
static enum err give_frame(struct reading *r, uint32_t frame, const unsigned char *stored, uint32_t from, uint32_t to,
			   unsigned char *dst)
{
	uint32_t begin = frame * EXTENT_FRAME_BYTES, end = begin + frame_data_bytes(r, frame);
	if (from <= begin && to >= end)
		return open_frame(r, frame, stored, dst + (begin - from));
	TRY(open_frame(r, frame, stored, r->frame));
	uint32_t first = from > begin ? from : begin, last = to < end ? to : end;
	memcpy(dst + (first - from), r->frame + (first - begin), last - first);
	return ERR_OK;
}

static enum err read_frames(struct reading *r, uint32_t offset, uint32_t length, unsigned char *dst)
{
	uint32_t to = offset + length, frame = offset / EXTENT_FRAME_BYTES;
	uint32_t end = (to + EXTENT_FRAME_BYTES - 1) / EXTENT_FRAME_BYTES;
	TRY(extent_read(r->store, r->extent, 0, EXTENT_HEAD_BYTES, r->head));
	if (r->head[0] != HEAD_VERSION)
		return ERR_CORRUPT;
	while (frame < end) {
		uint32_t count = end - frame < READ_FRAMES ? end - frame : READ_FRAMES;
		uint32_t at = EXTENT_HEAD_BYTES + frame * STORED_FRAME_BYTES;
		uint32_t bytes =
			(count - 1) * STORED_FRAME_BYTES + frame_data_bytes(r, frame + count - 1) + EXTENT_TAG_BYTES;
		TRY(extent_read(r->store, r->extent, at, bytes, r->stored));
		for (uint32_t i = 0; i < count; i++)
			TRY(give_frame(r, frame + i, r->stored + (size_t)i * STORED_FRAME_BYTES, offset, to, dst));
		frame += count;
	}
	return ERR_OK;
}

enum err extent_read_encrypted(struct store *s, const struct extent_cipher *c, const struct extent_ref *ref,
			       uint32_t offset, uint32_t length, void *dst)
{
	uint32_t data = extent_data_bytes(ref->length_bytes);
	if (data == 0 || offset > data || length > data - offset)
		return ERR_CORRUPT;
	if (length == 0)
		return ERR_OK;
	struct reading *r = malloc(sizeof *r + (size_t)READ_FRAMES * STORED_FRAME_BYTES);
	if (!r)
		return ERR_NO_MEMORY;
	r->store = s;
	r->cipher = c;
	r->extent = ref;
	r->data_bytes = data;
	r->frame_count = (data + EXTENT_FRAME_BYTES - 1) / EXTENT_FRAME_BYTES;
	r->stored = (unsigned char *)(r + 1);
	enum err e = read_frames(r, offset, length, dst);
	free(r);
	return e;
}
