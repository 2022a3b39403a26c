/* SPDX-License-Identifier: Apache-2.0
 * Classes of bytes and small helpers that several codecs of this room share. Not for other rooms. */
#ifndef WIRE_CHARS_H
#define WIRE_CHARS_H

#include "base/slice.h"

enum {
	CHAR_TOKEN = 1,	     /* tchar of RFC 9110: header names, methods */
	CHAR_HOST = 2,	     /* host names, addresses, port */
	CHAR_UNRESERVED = 4, /* RFC 3986 */
};
extern const unsigned char wire_chars[256];

static inline bool char_is(char c, unsigned class)
{
	return wire_chars[(unsigned char)c] & class;
}
static inline bool char_is_digit(char c)
{
	return (unsigned char)(c - '0') <= 9;
}
/* 0..15, or -1. */
static inline int char_hex(char c)
{
	if (char_is_digit(c))
		return c - '0';
	unsigned char l = (unsigned char)((c | 0x20) - 'a');
	return l < 6 ? l + 10 : -1;
}
/* `count` decimal digits at p as a number; false if one is none. */
static inline bool char_digits(const char *p, size_t count, unsigned *ret)
{
	unsigned v = 0;
	for (size_t i = 0; i < count; i++) {
		unsigned d = (unsigned)(unsigned char)p[i] - '0';
		if (d > 9)
			return false;
		v = v * 10 + d;
	}
	*ret = v;
	return true;
}

/* Eight bytes as a number, the first one lowest. */
static inline uint64_t char_load_le64(const void *p)
{
	uint64_t v;
	memcpy(&v, p, sizeof v);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	v = __builtin_bswap64(v);
#endif
	return v;
}

/* The first byte below 0x20 or equal to 0x7f at or behind p, or end. Eight at a time: the lowest byte that the borrow
 * trick flags is exact, only those above it may be flagged by mistake. */
const char *char_find_control(const char *p, const char *end);
/* How many bytes at the front a request target may have: visible ASCII but '#'. */
size_t char_target_length(struct slice s);
/* Well-formed UTF-8 (no surrogates, no overlong forms) without NUL. */
bool char_utf8_valid(struct slice s);
/* Decodes one character at p; 0 bytes if it is malformed. */
size_t char_utf8_decode(const char *p, const char *end, uint32_t *ret);

#endif
