/* SPDX-License-Identifier: Apache-2.0
 * A growing byte buffer with a limit. Appending never fails at the call: a failed append sets an error that is asked
 * for once, at the end, so that writers need no check a line. */
#include "base/buf.h"

#include "base/digits.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void buf_init(struct buf *b, size_t limit_bytes)
{
	*b = (struct buf){ .limit_bytes = limit_bytes };
}

void buf_fini(struct buf *b)
{
	free(b->ptr);
	b->ptr = NULL;
	b->len = b->cap = 0;
}

void buf_clear(struct buf *b)
{
	b->len = 0;
	b->failed = false;
}

char *buf_reserve(struct buf *b, size_t bytes)
{
	if (b->failed)
		return NULL;
	if (bytes <= b->cap - b->len)
		return b->len ? b->ptr + b->len : b->ptr; /* there may be nothing to count from */
	if (bytes > b->limit_bytes || b->len > b->limit_bytes - bytes) {
		b->failed = true;
		return NULL;
	}
	size_t want = b->cap ? b->cap * 2 : 256;
	while (want < b->len + bytes)
		want *= 2;
	if (want > b->limit_bytes)
		want = b->limit_bytes;
	char *p = realloc(b->ptr, want);
	if (!p) {
		b->failed = true;
		return NULL;
	}
	b->ptr = p;
	b->cap = want;
	return b->ptr + b->len;
}

void buf_expect(struct buf *b, size_t bytes)
{
	if (b->failed || bytes <= b->cap - b->len || bytes > b->limit_bytes || b->len > b->limit_bytes - bytes)
		return;
	char *p = realloc(b->ptr, b->len + bytes);
	if (!p)
		return;
	b->ptr = p;
	b->cap = b->len + bytes;
}

void buf_put(struct buf *b, struct slice s)
{
	char *p = s.len ? buf_reserve(b, s.len) : NULL;
	if (p) {
		memcpy(p, s.ptr, s.len);
		b->len += s.len;
	}
}

void buf_put_byte(struct buf *b, unsigned char c)
{
	char *p = buf_reserve(b, 1);
	if (p) {
		*p = (char)c;
		b->len++;
	}
}

void buf_put_u64_dec(struct buf *b, uint64_t v)
{
	char text[DIGITS_U64_MAX];
	buf_put(b, slice_make(text, (size_t)(digits_put_u64(text, v) - text)));
}

void buf_printf(struct buf *b, const char *format, ...)
{
	va_list ap;
	size_t room = b->cap - b->len;
	va_start(ap, format);
	int n = vsnprintf(room ? b->ptr + b->len : NULL, room, format, ap);
	va_end(ap);
	char *p = n < 0 ? NULL : buf_reserve(b, (size_t)n + 1);
	if (!p) {
		b->failed = true;
		return;
	}
	if ((size_t)n >= room) { /* it did not fit at once */
		va_start(ap, format);
		vsnprintf(p, (size_t)n + 1, format, ap);
		va_end(ap);
	}
	b->len += (size_t)n;
}

void buf_consume(struct buf *b, size_t bytes)
{
	if (bytes >= b->len) {
		b->len = 0;
		return;
	}
	memmove(b->ptr, b->ptr + bytes, b->len - bytes);
	b->len -= bytes;
}
