/* SPDX-License-Identifier: Apache-2.0
 * An arena owns the memory of one request or one transaction: allocations are never freed one by one, all go at reset.
 * It has a byte limit; what does not fit returns NULL and the caller answers an error. Not for sharing between threads
 * without handing over. arena_reset keeps the first chunk, so a keep-alive connection allocates nothing per request. */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include "base/slice.h"

struct arena_chunk;

struct arena {
	struct arena_chunk *chunk; /* newest first */
	char *next;
	char *end;
	size_t used_bytes; /* taken from the system, all chunks */
	size_t limit_bytes;
};

void arena_init(struct arena *, size_t limit_bytes);
void arena_fini(struct arena *); /* accepts a zeroed arena */
void arena_reset(struct arena *);
/* Before a reset, where a secret was in it: all that was handed out is overwritten. */
void arena_wipe(struct arena *);

/* Gives back everything allocated since the position: for loops that look at much and keep little. */
struct arena_position {
	struct arena_chunk *chunk;
	char *next;
};
struct arena_position arena_position(const struct arena *);
void arena_rewind(struct arena *, struct arena_position);

/* 16-byte aligned, not cleared; NULL past the limit or out of memory. */
void *arena_alloc(struct arena *, size_t bytes);
void *arena_zalloc(struct arena *, size_t bytes);
/* Copies; an absent slice stays absent. On failure the result is absent while s was not: check with slice_is_set. */
struct slice arena_dup(struct arena *, struct slice s);
/* printf into the arena; absent on failure. */
struct slice arena_printf(struct arena *, const char *format, ...) __attribute__((format(printf, 2, 3)));

#define ARENA_NEW(arena, type)		    ((type *)arena_zalloc((arena), sizeof(type)))
#define ARENA_NEW_ARRAY(arena, type, count) ((type *)arena_zalloc_array((arena), sizeof(type), (count)))
void *arena_zalloc_array(struct arena *, size_t size, size_t count);

#endif
