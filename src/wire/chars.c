/* SPDX-License-Identifier: Apache-2.0
 * Classes of characters, one table for all readers. */
#include "wire/chars.h"

#include "base/wide.h"

/* clang-format off */
const unsigned char wire_chars[256] = {
	 0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,
	 0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,
	 0,  3,  0,  1,  3,  3,  3,  3,  2,  2,  3,  3,  2,  7,  7,  0,
	 7,  7,  7,  7,  7,  7,  7,  7,  7,  7,  2,  2,  0,  2,  0,  0,
	 0,  7,  7,  7,  7,  7,  7,  7,  7,  7,  7,  7,  7,  7,  7,  7,
	 7,  7,  7,  7,  7,  7,  7,  7,  7,  7,  7,  2,  0,  2,  1,  7,
	 1,  7,  7,  7,  7,  7,  7,  7,  7,  7,  7,  7,  7,  7,  7,  7,
	 7,  7,  7,  7,  7,  7,  7,  7,  7,  7,  7,  0,  1,  0,  7,  0,
};
/* clang-format on */

const char *char_find_control(const char *p, const char *end)
{
	const uint64_t ones = UINT64_C(0x0101010101010101), highs = ones * 0x80;
	for (; end - p >= 8; p += 8) {
		uint64_t x = char_load_le64(p), del = x ^ (ones * 0x7f);
		uint64_t hit = (((x - ones * 0x20) & ~x) | ((del - ones) & ~del)) & highs;
		if (hit)
			return p + (__builtin_ctzll(hit) >> 3);
	}
	while (p < end && (unsigned char)*p >= 0x20 && *p != 0x7f)
		p++;
	return p;
}

static wide_t is_no_target(wide_t c)
{
	return (c <= 0x20) | (c == 0x7f) | (c == '#');
}

size_t char_target_length(struct slice s)
{
	return wide_find(s, is_no_target);
}

size_t char_utf8_decode(const char *p, const char *end, uint32_t *ret)
{
	const unsigned char *u = (const unsigned char *)p;
	size_t left = (size_t)(end - p);
	if (left == 0)
		return 0;
	if (u[0] < 0x80) {
		*ret = u[0];
		return 1;
	}
	size_t n = u[0] >= 0xf0 ? 4 : u[0] >= 0xe0 ? 3 : 2;
	static const uint32_t least[5] = { 0, 0, 0x80, 0x800, 0x10000 };
	if (u[0] < 0xc2 || u[0] > 0xf4 || left < n)
		return 0;
	uint32_t c = u[0] & (0x7fu >> n);
	for (size_t i = 1; i < n; i++) {
		if ((u[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (u[i] & 0x3f);
	}
	if (c < least[n] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
		return 0;
	*ret = c;
	return n;
}

static wide_t is_no_ascii(wide_t c)
{
	return c < 1; /* NUL neither */
}

bool char_utf8_valid(struct slice s)
{
	const char *p = s.ptr + wide_find(s, is_no_ascii), *end = s.ptr + s.len;
	while (p < end) {
		uint32_t c;
		size_t n = char_utf8_decode(p, end, &c);
		if (n == 0 || c == 0)
			return false;
		p += n;
		if (n == 1) /* back among ASCII: there may be much of it */
			p += wide_find(slice_make(p, (size_t)(end - p)), is_no_ascii);
	}
	return true;
}
