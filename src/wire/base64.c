/* SPDX-License-Identifier: Apache-2.0
 * Base64 as the services read it (strict, with padding) and base64url as tokens write it. */
#include "wire/base64.h"

enum { NOT_BASE64 = 64 };

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
/* The value of an ASCII character, NOT_BASE64 for all others. */
/* clang-format off */
static const unsigned char values[128] = {
	64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64,
	64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64,
	64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 62, 64, 64, 64, 63,
	52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 64, 64, 64, 64, 64, 64,
	64,  0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10, 11, 12, 13, 14,
	15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 64, 64, 64, 64, 64,
	64, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40,
	41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, 64, 64, 64, 64, 64,
};
static const unsigned char url_values[128] = {
	64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64,
	64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64,
	64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 62, 64, 64,
	52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 64, 64, 64, 64, 64, 64,
	64,  0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10, 11, 12, 13, 14,
	15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 64, 64, 64, 64, 63,
	64, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40,
	41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, 64, 64, 64, 64, 64,
};
/* clang-format on */

void base64_encode_to(char *dst, struct slice raw)
{
	const unsigned char *p = (const unsigned char *)raw.ptr;
	size_t left = raw.len;
	for (; left >= 3; left -= 3, p += 3) {
		unsigned v = (unsigned)p[0] << 16 | (unsigned)p[1] << 8 | p[2];
		*dst++ = alphabet[v >> 18];
		*dst++ = alphabet[v >> 12 & 63];
		*dst++ = alphabet[v >> 6 & 63];
		*dst++ = alphabet[v & 63];
	}
	if (left == 0)
		return;
	unsigned v = (unsigned)p[0] << 16 | (left == 2 ? (unsigned)p[1] << 8 : 0);
	*dst++ = alphabet[v >> 18];
	*dst++ = alphabet[v >> 12 & 63];
	*dst++ = left == 2 ? alphabet[v >> 6 & 63] : '=';
	*dst = '=';
}

void base64_encode(struct buf *out, struct slice raw)
{
	char *p = buf_reserve(out, BASE64_BYTES(raw.len));
	if (!p)
		return;
	base64_encode_to(p, raw);
	out->len += BASE64_BYTES(raw.len);
}

/* dst has room for text.len / 4 * 3 + 2 bytes. `text` is without padding. */
static bool decode_unpadded(struct slice text, const unsigned char *map, unsigned char *dst)
{
	unsigned char bad = 0;
	uint32_t bits = 0;
	size_t i = 0;
	for (; i < text.len; i++) {
		unsigned char c = (unsigned char)text.ptr[i];
		unsigned char v = c < 128 ? map[c] : NOT_BASE64;
		bad |= v;
		bits = bits << 6 | (v & 63);
		if (i % 4 == 3) {
			*dst++ = (unsigned char)(bits >> 16);
			*dst++ = (unsigned char)(bits >> 8);
			*dst++ = (unsigned char)bits;
		}
	}
	if (i % 4 == 2) {
		*dst = (unsigned char)(bits >> 4);
	} else if (i % 4 == 3) {
		*dst++ = (unsigned char)(bits >> 10);
		*dst = (unsigned char)(bits >> 2);
	}
	return !(bad & NOT_BASE64) && i % 4 != 1;
}

/* Takes the padding off; false if the length or the padding is wrong. */
static bool strip_padding(struct slice *text)
{
	if (text->len % 4)
		return false;
	for (int i = 0; i < 2 && text->len && text->ptr[text->len - 1] == '='; i++)
		text->len--;
	return true;
}

static size_t unpadded_bytes(size_t len)
{
	return len / 4 * 3 + (len % 4 ? len % 4 - 1 : 0);
}

static enum err decode_arena(struct slice text, const unsigned char *map, struct arena *arena, struct slice *ret)
{
	unsigned char *dst = arena_alloc(arena, text.len / 4 * 3 + 2);
	if (!dst)
		return ERR_NO_MEMORY;
	if (!decode_unpadded(text, map, dst))
		return ERR_SYNTAX;
	*ret = slice_make(dst, unpadded_bytes(text.len));
	return ERR_OK;
}

enum err base64_decode(struct slice text, struct arena *arena, struct slice *ret)
{
	return strip_padding(&text) ? decode_arena(text, values, arena, ret) : ERR_SYNTAX;
}

enum err base64url_decode(struct slice text, struct arena *arena, struct slice *ret)
{
	return decode_arena(text, url_values, arena, ret);
}

bool base64_decode_exact(struct slice text, void *dst, size_t len)
{
	return strip_padding(&text) && unpadded_bytes(text.len) == len && decode_unpadded(text, values, dst);
}
