/* SPDX-License-Identifier: Apache-2.0
 * UTF-16 of the wire to UTF-8 and back; halves of pairs are refused. */
#include "wire/utf16.h"

#include "base/bytes.h"

enum { REPLACEMENT = 0xFFFD, UTF8_BYTES_PER_UNIT = 3 };

static size_t utf8_put(char *dst, uint32_t c)
{
	if (c < 0x80) {
		dst[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		dst[0] = (char)(0xC0 | c >> 6);
		dst[1] = (char)(0x80 | (c & 63));
		return 2;
	}
	if (c < 0x10000) {
		dst[0] = (char)(0xE0 | c >> 12);
		dst[1] = (char)(0x80 | (c >> 6 & 63));
		dst[2] = (char)(0x80 | (c & 63));
		return 3;
	}
	dst[0] = (char)(0xF0 | c >> 18);
	dst[1] = (char)(0x80 | (c >> 12 & 63));
	dst[2] = (char)(0x80 | (c >> 6 & 63));
	dst[3] = (char)(0x80 | (c & 63));
	return 4;
}

enum err utf16_to_utf8(struct slice in, struct arena *arena, struct slice *ret)
{
	if (in.len % 2)
		return ERR_SYNTAX;
	char *out = arena_alloc(arena, in.len / 2 * UTF8_BYTES_PER_UNIT + 1);
	size_t len = 0;
	if (!out)
		return ERR_NO_MEMORY;
	for (size_t i = 0; i < in.len; i += 2) {
		uint32_t c = (uint32_t)bytes_load(in.ptr + i, 2);
		if (c >= 0xDC00 && c < 0xE000)
			return ERR_SYNTAX;
		if (c >= 0xD800 && c < 0xDC00) {
			i += 2;
			uint32_t low = i < in.len ? (uint32_t)bytes_load(in.ptr + i, 2) : 0;
			if (low < 0xDC00 || low >= 0xE000)
				return ERR_SYNTAX;
			c = 0x10000 + ((c - 0xD800) << 10) + (low - 0xDC00);
		}
		len += utf8_put(out + len, c);
	}
	*ret = slice_make(out, len);
	return ERR_OK;
}

/* The next character; *at moves behind it. False: malformed, *at moves one byte. */
static bool utf8_next(struct slice s, size_t *at, uint32_t *ret)
{
	static const uint32_t least[] = { 0, 0x80, 0x800, 0x10000 };
	unsigned char first = (unsigned char)s.ptr[(*at)++];
	unsigned more = first < 0x80 ? 0 : first >= 0xF0 && first < 0xF8 ? 3 : first >= 0xE0 ? 2 : 1;
	if (first < 0x80) {
		*ret = first;
		return true;
	}
	if (first < 0xC0 || first >= 0xF8 || more > s.len - *at)
		return false;
	uint32_t c = first & (0x3Fu >> more);
	for (unsigned i = 0; i < more; i++) {
		unsigned char b = (unsigned char)s.ptr[*at + i];
		if ((b & 0xC0) != 0x80)
			return false;
		c = c << 6 | (b & 63);
	}
	if (c < least[more] || c > 0x10FFFF || (c >= 0xD800 && c < 0xE000))
		return false;
	*at += more;
	*ret = c;
	return true;
}

static size_t utf16_store(char *dst, uint32_t c)
{
	if (c < 0x10000) {
		bytes_store(dst, c, 2);
		return 2;
	}
	bytes_store(dst, 0xD800 + ((c - 0x10000) >> 10), 2);
	bytes_store(dst + 2, 0xDC00 + ((c - 0x10000) & 0x3FF), 2);
	return 4;
}

enum err utf16_from_utf8(struct slice in, struct arena *arena, struct slice *ret)
{
	char *out = arena_alloc(arena, in.len * 2 + 1);
	size_t len = 0;
	if (!out)
		return ERR_NO_MEMORY;
	for (size_t at = 0; at < in.len;) {
		uint32_t c;
		if (!utf8_next(in, &at, &c))
			return ERR_SYNTAX;
		len += utf16_store(out + len, c);
	}
	*ret = slice_make(out, len);
	return ERR_OK;
}

void utf16_put(struct buf *b, struct slice in)
{
	char *out = buf_reserve(b, in.len * 2 + 1);
	if (!out)
		return;
	size_t len = 0;
	for (size_t at = 0; at < in.len;) {
		uint32_t c;
		if (!utf8_next(in, &at, &c))
			c = REPLACEMENT;
		len += utf16_store(out + len, c);
	}
	b->len += len;
}
