/* SPDX-License-Identifier: Apache-2.0
 * Comparing, cutting and searching byte ranges that somebody else owns. */
#include "base/slice.h"

int slice_cmp(struct slice a, struct slice b)
{
	size_t n = a.len < b.len ? a.len : b.len;
	int c = n ? memcmp(a.ptr, b.ptr, n) : 0;
	if (c)
		return c;
	return a.len < b.len ? -1 : a.len > b.len;
}

static unsigned char lower(unsigned char c)
{
	return c >= 'A' && c <= 'Z' ? (unsigned char)(c + 32) : c;
}

bool slice_has_prefix_nocase(struct slice s, struct slice prefix)
{
	if (s.len < prefix.len)
		return false;
	for (size_t i = 0; i < prefix.len; i++) {
		unsigned char a = (unsigned char)s.ptr[i], b = (unsigned char)prefix.ptr[i];
		if (a != b && lower(a) != lower(b))
			return false;
	}
	return true;
}

bool slice_eq_nocase(struct slice a, struct slice b)
{
	return a.len == b.len && slice_has_prefix_nocase(a, b);
}

struct slice slice_trim(struct slice s)
{
	while (s.len && (s.ptr[0] == ' ' || s.ptr[0] == '\t')) {
		s.ptr++;
		s.len--;
	}
	while (s.len && (s.ptr[s.len - 1] == ' ' || s.ptr[s.len - 1] == '\t'))
		s.len--;
	return s;
}

struct slice slice_cut(struct slice *rest, char c)
{
	size_t at = slice_find_byte(*rest, c);
	struct slice head = slice_make(rest->ptr, at);
	*rest = at == rest->len ? SLICE_NONE : slice_make(rest->ptr + at + 1, rest->len - at - 1);
	return head;
}

bool slice_to_u64(struct slice s, uint64_t *ret)
{
	uint64_t v = 0;
	if (s.len == 0)
		return false;
	for (size_t i = 0; i < s.len; i++) {
		unsigned d = (unsigned char)s.ptr[i] - '0';
		if (d > 9 || v > (UINT64_MAX - d) / 10)
			return false;
		v = v * 10 + d;
	}
	*ret = v;
	return true;
}

bool slice_to_i64(struct slice s, int64_t *ret)
{
	bool negative = s.len && s.ptr[0] == '-';
	uint64_t v;
	if (!slice_to_u64(negative ? slice_from(s, 1) : s, &v) || v > (uint64_t)INT64_MAX + negative)
		return false;
	*ret = negative ? (int64_t)(0 - v) : (int64_t)v;
	return true;
}

bool slice_eq_consttime(struct slice a, struct slice b)
{
	uint64_t diff = 0, x, y;
	size_t i = 0;
	if (a.len != b.len)
		return false;
	for (; a.len - i >= sizeof x; i += sizeof x) {
		memcpy(&x, a.ptr + i, sizeof x);
		memcpy(&y, b.ptr + i, sizeof y);
		diff |= x ^ y;
	}
	for (; i < a.len; i++)
		diff |= (unsigned char)(a.ptr[i] ^ b.ptr[i]);
	return diff == 0;
}
