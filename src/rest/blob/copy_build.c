/* SPDX-License-Identifier: Apache-2.0 */
#include "rest/blob/copy_build.h"

#include <stdlib.h>

enum { BUILD_BUFFER_BYTES = 1024 * 1024, BUILD_ARENA_BYTES = 32 * 1024 * 1024 };

enum err copy_build_init(struct copy_build *b)
{
	b->block = calloc(BUILD_STEP_EXTENTS, sizeof *b->block);
	b->payload = calloc(BUILD_STEP_EXTENTS, sizeof *b->payload);
	b->buffer = malloc(BUILD_BUFFER_BYTES);
	return b->block && b->payload && b->buffer ? ERR_OK : ERR_NO_MEMORY;
}

static void forget(struct copy_build *b, bool abandon)
{
	for (size_t i = 0; i < b->count; i++) {
		if (abandon)
			payload_abandon(b->store, &b->payload[i]);
		payload_fini(&b->payload[i]);
	}
	b->count = b->extents = b->bytes = 0;
}

void copy_build_fini(struct copy_build *b)
{
	if (b->payload)
		forget(b, true);
	free(b->block);
	free(b->payload);
	free(b->buffer);
	b->block = NULL;
	b->payload = NULL;
	b->buffer = NULL;
}

void copy_build_drop(struct store *store, struct slice partition, uint64_t content_id)
{
	struct arena arena;
	struct build_drop_call c = { .content_id = content_id };
	arena_init(&arena, BUILD_ARENA_BYTES);
	/* What does not work now is done in the background, later. */
	enum err e = store_write_wait(store, partition, build_apply_drop, &c, &arena);
	(void)e;
	arena_fini(&arena);
}

static enum err flush(struct copy_build *b)
{
	struct arena arena;
	struct build_add_call c = { .content_id = b->built.content_id,
				    .kind = b->kind,
				    .first = !b->begun,
				    .blocks = { b->block, b->count },
				    .offset = b->flushed_bytes };
	arena_init(&arena, BUILD_ARENA_BYTES);
	enum err e = store_write_wait(b->store, b->partition, build_apply_add, &c, &arena);
	arena_fini(&arena);
	if (e == ERR_OK) {
		b->begun = true;
		b->flushed_bytes = b->built.length_bytes;
	}
	/* After ERR_UNKNOWN it may have happened: the build says so, and is given back as a whole. */
	forget(b, e != ERR_OK && e != ERR_UNKNOWN);
	return e;
}

static enum err copy_bytes(struct copy_build *b, const struct block *source, struct payload_writer *w)
{
	for (uint32_t i = 0; i < source->extent_count; i++) {
		const struct extent_ref *ref = &source->extents[i];
		for (uint32_t at = 0; at < ref->length_bytes;) {
			uint32_t left = ref->length_bytes - at,
				 n = left < BUILD_BUFFER_BYTES ? left : BUILD_BUFFER_BYTES;
			TRY(extent_read(b->store, ref, at, n, b->buffer));
			TRY(payload_append(w, slice_make(b->buffer, n)));
			b->stopped = !b->seen(b->arg, slice_make(b->buffer, n));
			if (b->stopped)
				return ERR_OK;
			at += n;
		}
	}
	return ERR_OK;
}

static enum err add_block(struct copy_build *b, const struct block *source)
{
	struct payload_writer *w;
	struct payload payload;
	TRY(payload_writer_new(b->store, source->length_bytes, &w));
	payload_writer_only_extents(w);
	enum err e = copy_bytes(b, source, w);
	if (e != ERR_OK || b->stopped) {
		payload_writer_free(w);
		return e;
	}
	TRY(payload_finish(w, &payload));
	struct block block = { .id = source->id,
			       .length_bytes = payload.length_bytes,
			       .owned = true,
			       .extent_count = (uint32_t)payload.extent_count,
			       .extents = payload.extents };
	bool full =
		b->count && (b->extents + block.extent_count > BUILD_STEP_EXTENTS || b->count == BUILD_STEP_EXTENTS ||
			     b->bytes + block_encoded_bytes(&block) > BLOB_MANIFEST_PART_BYTES - 16);
	if (full)
		e = flush(b);
	if (e != ERR_OK) {
		payload_abandon(b->store, &payload);
		payload_fini(&payload);
		return e;
	}
	b->block[b->count] = block;
	b->payload[b->count++] = payload;
	b->extents += block.extent_count;
	b->bytes += block_encoded_bytes(&block);
	b->built.length_bytes += block.length_bytes;
	b->built.block_count++;
	return ERR_OK;
}

enum err copy_build_add(struct copy_build *b, const struct manifest *source)
{
	for (size_t i = 0; i < source->count && !b->stopped; i++)
		TRY(add_block(b, &source->block[i]));
	return ERR_OK;
}

enum err copy_build_finish(struct copy_build *b)
{
	return b->count ? flush(b) : ERR_OK;
}
