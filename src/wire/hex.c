/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/hex.h"

#include "wire/chars.h"

static void encode(struct buf *out, struct slice raw, const char *digits)
{
	char *p = raw.len <= SIZE_MAX / 2 ? buf_reserve(out, raw.len * 2) : NULL;
	if (!p) {
		out->failed = true;
		return;
	}
	for (size_t i = 0; i < raw.len; i++) {
		unsigned char c = (unsigned char)raw.ptr[i];
		*p++ = digits[c >> 4];
		*p++ = digits[c & 15];
	}
	out->len += raw.len * 2;
}

void hex_encode_lower(struct buf *out, struct slice raw)
{
	encode(out, raw, "0123456789abcdef");
}

void hex_encode_upper(struct buf *out, struct slice raw)
{
	encode(out, raw, "0123456789ABCDEF");
}

bool hex_decode_exact(struct slice text, void *dst, size_t len)
{
	unsigned char *d = dst;
	if (text.len % 2 || text.len / 2 != len)
		return false;
	for (size_t i = 0; i < len; i++) {
		int high = char_hex(text.ptr[2 * i]), low = char_hex(text.ptr[2 * i + 1]);
		if (high < 0 || low < 0)
			return false;
		d[i] = (unsigned char)(high << 4 | low);
	}
	return true;
}

bool hex_to_u64(struct slice text, uint64_t *ret)
{
	uint64_t v = 0;
	if (text.len == 0 || text.len > 16)
		return false;
	for (size_t i = 0; i < text.len; i++) {
		int d = char_hex(text.ptr[i]);
		if (d < 0)
			return false;
		v = v << 4 | (unsigned)d;
	}
	*ret = v;
	return true;
}
