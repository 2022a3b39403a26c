/* SPDX-License-Identifier: Apache-2.0
 * Memory of one request: chunks that only grow and are freed together. Past the limit an allocation answers NULL;
 * nothing is ever returned twice. */
#include "base/arena.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { ARENA_FIRST_CHUNK_BYTES = 8 * 1024, ARENA_ALIGN = 16 };

struct arena_chunk {
	struct arena_chunk *older;
	size_t bytes;
	_Alignas(ARENA_ALIGN) char data[];
};

void arena_init(struct arena *a, size_t limit_bytes)
{
	*a = (struct arena){ .limit_bytes = limit_bytes };
}

void arena_fini(struct arena *a)
{
	while (a->chunk) {
		struct arena_chunk *older = a->chunk->older;
		free(a->chunk);
		a->chunk = older;
	}
	a->next = a->end = NULL;
	a->used_bytes = 0;
}

void arena_reset(struct arena *a)
{
	while (a->chunk && a->chunk->older) {
		struct arena_chunk *older = a->chunk->older;
		a->used_bytes -= a->chunk->bytes;
		free(a->chunk);
		a->chunk = older;
	}
	if (a->chunk) {
		a->next = a->chunk->data;
		a->end = a->chunk->data + a->chunk->bytes;
	}
}

void arena_wipe(struct arena *a)
{
	for (struct arena_chunk *c = a->chunk; c; c = c->older)
		explicit_bzero(c->data, c == a->chunk ? (size_t)(a->next - c->data) : c->bytes);
}

struct arena_position arena_position(const struct arena *a)
{
	return (struct arena_position){ a->chunk, a->next };
}

void arena_rewind(struct arena *a, struct arena_position position)
{
	/* A position in an arena without memory keeps the first chunk, as a reset does. */
	while (a->chunk && a->chunk != position.chunk && a->chunk->older) {
		struct arena_chunk *older = a->chunk->older;
		a->used_bytes -= a->chunk->bytes;
		free(a->chunk);
		a->chunk = older;
	}
	if (a->chunk) {
		/* A mark of another arena, or one older than a reset, would hand out memory that is in use. */
		assert(!position.chunk || a->chunk == position.chunk);
		a->next = position.chunk ? position.next : a->chunk->data;
		a->end = a->chunk->data + a->chunk->bytes;
	}
}

static void *arena_grow(struct arena *a, size_t bytes)
{
	assert(a->used_bytes <= a->limit_bytes);
	size_t want = a->chunk ? a->chunk->bytes * 2 : ARENA_FIRST_CHUNK_BYTES;
	if (want > 1024 * 1024)
		want = 1024 * 1024;
	if (want < bytes)
		want = bytes;
	if (want > a->limit_bytes - a->used_bytes)
		want = a->limit_bytes - a->used_bytes;
	if (want < bytes)
		return NULL;
	struct arena_chunk *c = malloc(sizeof *c + want);
	if (!c)
		return NULL;
	c->older = a->chunk;
	c->bytes = want;
	a->chunk = c;
	a->used_bytes += want;
	a->next = c->data + bytes;
	a->end = c->data + want;
	return c->data;
}

void *arena_alloc(struct arena *a, size_t bytes)
{
	if (bytes > SIZE_MAX - ARENA_ALIGN)
		return NULL;
	bytes = (bytes + ARENA_ALIGN - 1) & ~(size_t)(ARENA_ALIGN - 1);
	if (bytes == 0)
		bytes = ARENA_ALIGN;
	if (bytes <= (size_t)(a->end - a->next)) {
		void *p = a->next;
		a->next += bytes;
		return p;
	}
	return arena_grow(a, bytes);
}

void *arena_zalloc(struct arena *a, size_t bytes)
{
	void *p = arena_alloc(a, bytes);
	if (p)
		memset(p, 0, bytes);
	return p;
}

void *arena_zalloc_array(struct arena *a, size_t size, size_t count)
{
	size_t bytes;
	if (__builtin_mul_overflow(size, count, &bytes))
		return NULL;
	return arena_zalloc(a, bytes);
}

struct slice arena_dup(struct arena *a, struct slice s)
{
	if (!slice_is_set(s))
		return SLICE_NONE;
	char *p = arena_alloc(a, s.len);
	if (!p)
		return SLICE_NONE;
	if (s.len)
		memcpy(p, s.ptr, s.len);
	return slice_make(p, s.len);
}

struct slice arena_printf(struct arena *a, const char *format, ...)
{
	va_list ap;
	char *at = a->next;
	va_start(ap, format);
	int n = vsnprintf(at, (size_t)(a->end - a->next), format, ap);
	va_end(ap);
	if (n < 0)
		return SLICE_NONE;
	char *p = arena_alloc(a, (size_t)n + 1);
	if (!p)
		return SLICE_NONE;
	if (p != at) { /* it did not fit where the arena was */
		va_start(ap, format);
		vsnprintf(p, (size_t)n + 1, format, ap);
		va_end(ap);
	}
	return slice_make(p, (size_t)n);
}
