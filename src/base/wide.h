/* SPDX-License-Identifier: Apache-2.0
 * Searches for bytes of a kind, sixteen at a time: the compiler makes the machine's vector instructions of them. */
#ifndef BASE_WIDE_H
#define BASE_WIDE_H

#include "base/slice.h"

enum { WIDE_BYTES = 16 };
/* Signed, so that `v < 0x20` are control bytes and what is not ASCII in one comparison. */
typedef signed char wide_t __attribute__((vector_size(16)));

/* Which bytes are of the kind: those are -1 in the result, the others 0, as comparisons of vectors have it. */
typedef wide_t wide_kind(wide_t);

static inline wide_t wide_load(const char *p)
{
	wide_t v;
	memcpy(&v, p, sizeof v);
	return v;
}

/* The position of the first -1, or WIDE_BYTES. */
static inline size_t wide_first(wide_t found)
{
	uint64_t half[2];
	memcpy(half, &found, sizeof half);
	size_t skipped = half[0] ? 0 : 8;
	uint64_t hit = half[0] ? half[0] : half[1];
	if (!hit)
		return WIDE_BYTES;
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	return skipped + ((size_t)__builtin_clzll(hit) >> 3);
#else
	return skipped + ((size_t)__builtin_ctzll(hit) >> 3);
#endif
}

/* Less than WIDE_BYTES, and zeros behind them. */
static inline wide_t wide_load_short(struct slice s)
{
	char padded[WIDE_BYTES] = { 0 };
	if (s.len >= 8) { /* the first and the last, which may overlap */
		memcpy(padded, s.ptr, 8);
		memcpy(padded + s.len - 8, s.ptr + s.len - 8, 8);
	} else if (s.len >= 4) {
		memcpy(padded, s.ptr, 4);
		memcpy(padded + s.len - 4, s.ptr + s.len - 4, 4);
	} else {
		for (size_t i = 0; i < s.len; i++)
			padded[i] = s.ptr[i];
	}
	return wide_load(padded);
}

/* Position of the first byte of the kind, or s.len. Reads no byte outside of s. */
__attribute__((always_inline)) static inline size_t wide_find(struct slice s, wide_kind *kind)
{
	size_t at = 0, n;
	if (s.len < WIDE_BYTES) {
		n = wide_first(kind(wide_load_short(s)));
		return n < s.len ? n : s.len;
	}
	for (; s.len - at >= WIDE_BYTES; at += WIDE_BYTES) {
		n = wide_first(kind(wide_load(s.ptr + at)));
		if (n < WIDE_BYTES)
			return at + n;
	}
	/* The rest with the bytes before it, which are of another kind. */
	at = s.len - WIDE_BYTES;
	return at + wide_first(kind(wide_load(s.ptr + at)));
}

/* Below 0x20, or DEL. */
static inline wide_t wide_is_control(wide_t c)
{
	return ((c >= 0) & (c < 0x20)) | (c == 0x7f);
}

#endif
