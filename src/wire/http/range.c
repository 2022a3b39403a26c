/* SPDX-License-Identifier: Apache-2.0
 * Range and x-ms-range headers: "bytes=a-b", "bytes=a-", nothing else. */
#include "wire/http/range.h"

#include "wire/chars.h"

/* Digits off the front of *rest, saturating; false if there are none. */
static bool take_number(struct slice *rest, uint64_t *ret)
{
	uint64_t v = 0;
	size_t n = 0;
	for (; n < rest->len && char_is_digit(rest->ptr[n]); n++) {
		unsigned d = (unsigned)(rest->ptr[n] - '0');
		v = v > (UINT64_MAX - d) / 10 ? UINT64_MAX : v * 10 + d;
	}
	*rest = slice_from(*rest, n);
	*ret = v;
	return n != 0;
}

struct range range_parse(struct slice header)
{
	struct range none = { .kind = RANGE_NONE }, bad = { .kind = RANGE_BAD }, r = { .last = UINT64_MAX };
	header = slice_trim(header);
	if (!slice_is_set(header))
		return none;
	size_t equals = slice_find_byte(header, '=');
	if (equals == header.len)
		return bad;
	if (!slice_eq_nocase(slice_first(header, equals), SLICE("bytes")))
		return none;
	struct slice rest = slice_from(header, equals + 1);
	if (slice_find_byte(rest, ',') < rest.len)
		return none;
	if (!take_number(&rest, &r.first)) {
		uint64_t suffix;
		bool is_suffix = rest.len && rest.ptr[0] == '-';
		rest = slice_from(rest, 1);
		return is_suffix && take_number(&rest, &suffix) && rest.len == 0 ? none : bad;
	}
	if (rest.len == 0 || rest.ptr[0] != '-')
		return bad;
	rest = slice_from(rest, 1);
	r.kind = RANGE_OPEN;
	if (rest.len) {
		r.kind = RANGE_CLOSED;
		if (!take_number(&rest, &r.last) || rest.len || r.last < r.first)
			return bad;
	}
	return r;
}

struct range range_parse_either(struct slice x_ms_range, struct slice range)
{
	return range_parse(slice_is_set(x_ms_range) ? x_ms_range : range);
}
