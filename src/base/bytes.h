/* SPDX-License-Identifier: Apache-2.0
 * Binary fields of records: fixed little-endian integers and length-prefixed strings, written into a buf and read back
 * through a cursor that fails once and stays failed, so a decoder checks a single time at its end. */
#ifndef BASE_BYTES_H
#define BASE_BYTES_H

#include "base/buf.h"

void bytes_put_u8(struct buf *, uint8_t);
void bytes_put_u16(struct buf *, uint16_t);
void bytes_put_u32(struct buf *, uint32_t);
void bytes_put_u64(struct buf *, uint64_t);
/* The value whose first bytes in memory are those of v, lowest first; and back. */
static inline uint64_t bytes_le(uint64_t v)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	v = __builtin_bswap64(v);
#endif
	return v;
}
/* Fixed little-endian fields in place, where there is no buf; at most 8 bytes. */
static inline void bytes_store(void *dst, uint64_t v, size_t bytes)
{
	v = bytes_le(v);
	memcpy(dst, &v, bytes);
}
static inline uint64_t bytes_load(const void *src, size_t bytes)
{
	uint64_t v = 0;
	memcpy(&v, src, bytes);
	return bytes_le(v);
}
/* u32 length + bytes. An absent slice is written as length 2^32-1 and read back absent. */
void bytes_put_str(struct buf *, struct slice);

struct cursor {
	const unsigned char *at;
	const unsigned char *end;
	bool failed;
};

static inline struct cursor cursor_make(struct slice s)
{
	const unsigned char *begin = (const unsigned char *)s.ptr;
	/* An absent slice has no pointer to add to. */
	return (struct cursor){ begin, s.len ? begin + s.len : begin, false };
}
uint8_t cursor_u8(struct cursor *);
uint16_t cursor_u16(struct cursor *);
uint32_t cursor_u32(struct cursor *);
uint64_t cursor_u64(struct cursor *);
struct slice cursor_str(struct cursor *); /* points into the record */
struct slice cursor_raw(struct cursor *, size_t len);
static inline bool cursor_done(const struct cursor *c)
{
	return !c->failed && c->at == c->end;
}
static inline size_t cursor_left(const struct cursor *c)
{
	return (size_t)(c->end - c->at);
}

/* CRC-32C (Castagnoli), hardware where the processor has it. Start with 0, feed the result on. */
uint32_t crc32c(uint32_t crc, struct slice bytes);
/* The same without 512-bit registers; for tests. */
uint32_t crc32c_narrow(uint32_t crc, struct slice bytes);

#endif
