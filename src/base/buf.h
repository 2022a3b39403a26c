/* SPDX-License-Identifier: Apache-2.0
 * A buf owns bytes and grows up to its limit. Appending never returns an error in the middle of building something:
 * a failed append marks the buf failed, later ones do nothing, and the builder checks once at the end (buf_ok). */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include "base/slice.h"

struct buf {
	char *ptr;
	size_t len;
	size_t cap;
	size_t limit_bytes;
	bool failed;
};

void buf_init(struct buf *, size_t limit_bytes);
void buf_fini(struct buf *);  /* accepts a zeroed buf */
void buf_clear(struct buf *); /* keeps the memory, forgets the failure */
/* Room for `bytes` more at ptr + len; NULL marks the buf failed. Advance len yourself. */
char *buf_reserve(struct buf *, size_t bytes);
/* About `bytes` more will be put: one growth now instead of several later. No promise, and no failure. */
void buf_expect(struct buf *, size_t bytes);
void buf_put(struct buf *, struct slice s);
void buf_put_byte(struct buf *, unsigned char c);
void buf_put_u64_dec(struct buf *, uint64_t v);
void buf_printf(struct buf *, const char *format, ...) __attribute__((format(printf, 2, 3)));
#define BUF_PUT(buf, literal) buf_put((buf), SLICE(literal))
/* Drops the first `bytes` bytes, moving the rest down. */
void buf_consume(struct buf *, size_t bytes);

static inline bool buf_ok(const struct buf *b)
{
	return !b->failed;
}
static inline struct slice buf_slice(const struct buf *b)
{
	return slice_make(b->ptr ? b->ptr : "", b->len);
}

#endif
