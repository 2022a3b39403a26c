/* SPDX-License-Identifier: Apache-2.0
 * Building a content block by block (copy_build.h). A payload that no commit published is given back; after ERR_UNKNOWN
 * it may have been published, and goes with the build, which is given back as a whole. */
#include "jobs/copy_build.h"

#include <assert.h>
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
	payload_writer_free(b->writer);
	b->writer = NULL;
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
	enum err e = store_write_wait(store, partition, blob_apply_build_drop, &c, &arena);
	(void)e;
	arena_fini(&arena);
}

static enum err commit_blocks(struct copy_build *b)
{
	struct arena arena;
	struct build_add_call c = { .content_id = b->built.content_id,
				    .kind = b->kind,
				    .first = !b->begun,
				    .blocks = { b->block, b->count },
				    .offset = b->flushed_bytes };
	arena_init(&arena, BUILD_ARENA_BYTES);
	enum err e = store_write_wait(b->store, b->partition, blob_apply_build_add, &c, &arena);
	arena_fini(&arena);
	if (e == ERR_OK) {
		b->begun = true;
		b->flushed_bytes = b->built.length_bytes;
	}
	forget(b, e != ERR_OK && e != ERR_UNKNOWN);
	return e;
}

/* A block that is whole joins those to be committed; these go first if there is no room for it beside them. */
static enum err keep_block(struct copy_build *b, const struct block *source, struct payload *payload)
{
	struct block block = { .id = source->id,
			       .length_bytes = payload->length_bytes,
			       .owned = true,
			       .extent_count = (uint32_t)payload->extent_count,
			       .extents = payload->extents };
	bool full =
		b->count && (b->extents + block.extent_count > BUILD_STEP_EXTENTS || b->count == BUILD_STEP_EXTENTS ||
			     b->bytes + blob_block_encoded_bytes(&block) > BLOB_MANIFEST_PART_BYTES - 16);
	enum err e = full ? commit_blocks(b) : ERR_OK;
	if (e != ERR_OK) {
		payload_abandon(b->store, payload);
		payload_fini(payload);
		return e;
	}
	assert(b->count < BUILD_STEP_EXTENTS);
	b->block[b->count] = block;
	b->payload[b->count++] = *payload;
	b->extents += block.extent_count;
	b->bytes += blob_block_encoded_bytes(&block);
	b->built.length_bytes += block.length_bytes;
	b->built.block_count++;
	return ERR_OK;
}

static enum err begin_block(struct copy_build *b, const struct block *source)
{
	TRY(payload_writer_new(b->store, source->length_bytes, &b->writer));
	payload_writer_only_extents(b->writer);
	b->extent = 0;
	b->at = 0;
	return ERR_OK;
}

static enum err end_block(struct copy_build *b, const struct block *source)
{
	struct payload payload;
	struct payload_writer *w = b->writer;
	b->writer = NULL; /* finishing ends it in any case */
	TRY(payload_finish(w, &payload));
	return keep_block(b, source, &payload);
}

/* Some bytes of the extent under way. */
static enum err read_some(struct copy_build *b, const struct block *source, size_t *ret_bytes)
{
	const struct extent_ref *ref = &source->extents[b->extent];
	struct blob_piece piece = { .extent = *ref, .length_bytes = ref->length_bytes };
	struct blob_piece_reader reader = { .store = b->store, .piece = &piece, .count = 1, .at = b->at };
	TRY(blob_piece_read(&reader, b->buffer, BUILD_BUFFER_BYTES, ret_bytes));
	b->at = reader.at;
	b->extent += reader.index == 1;
	return ERR_OK;
}

enum err copy_build_step(struct copy_build *b, const struct manifest *source, size_t *next, struct slice *ret_bytes)
{
	assert(*next < source->count);
	const struct block *block = &source->block[*next];
	size_t n = 0;
	if (!b->writer)
		TRY(begin_block(b, block));
	if (b->extent < block->extent_count) {
		TRY(read_some(b, block, &n));
		TRY(payload_append(b->writer, slice_make(b->buffer, n)));
	}
	*ret_bytes = slice_make(b->buffer, n);
	if (b->extent < block->extent_count)
		return ERR_OK;
	++*next;
	return end_block(b, block);
}

enum err copy_build_flush(struct copy_build *b)
{
	assert(!b->writer); /* between two blocks */
	return b->count ? commit_blocks(b) : ERR_OK;
}
