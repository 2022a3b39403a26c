/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/uri.h"

#include "base/buf.h"
#include "base/limits.h"
#include "wire/chars.h"

/* Decodes into dst, which has room for encoded.len bytes; the number written, or -1. */
static ptrdiff_t decode_into(struct slice encoded, char *dst)
{
	const char *p = encoded.ptr, *end = encoded.ptr + encoded.len;
	char *d = dst;
	while (p < end) {
		const char *mark = memchr(p, '%', (size_t)(end - p));
		size_t plain = (size_t)((mark ? mark : end) - p);
		memmove(d, p, plain); /* a query part is decoded in place */
		d += plain;
		p += plain;
		if (!mark)
			break;
		int high = end - p >= 3 ? char_hex(p[1]) : -1, low = high >= 0 ? char_hex(p[2]) : -1;
		if (low < 0)
			return -1;
		*d++ = (char)(high << 4 | low);
		p += 3;
	}
	return char_utf8_valid(slice_make(dst, (size_t)(d - dst))) ? d - dst : -1;
}

enum err uri_decode(struct slice encoded, struct arena *arena, struct slice *ret)
{
	char *dst = arena_alloc(arena, encoded.len);
	if (!dst)
		return ERR_NO_MEMORY;
	ptrdiff_t len = encoded.len ? decode_into(encoded, dst) : 0;
	if (len < 0)
		return ERR_SYNTAX;
	*ret = slice_make(dst, (size_t)len);
	return ERR_OK;
}

static size_t count_params(struct slice query)
{
	size_t count = 0;
	while (slice_is_set(query))
		count += slice_cut(&query, '&').len != 0;
	return count;
}

/* Decodes a name or value to *at and moves *at behind it. */
static bool decode_part(struct slice encoded, char **at, struct slice *ret)
{
	char *plus = encoded.len ? memchr(encoded.ptr, '+', encoded.len) : NULL;
	if (plus) { /* there is room for all of it, and decoding in place only shrinks it */
		memcpy(*at, encoded.ptr, encoded.len);
		for (char *p = *at + (plus - encoded.ptr); p < *at + encoded.len; p++)
			if (*p == '+')
				*p = ' ';
		encoded.ptr = *at;
	}
	ptrdiff_t len = encoded.len ? decode_into(encoded, *at) : 0;
	if (len < 0)
		return false;
	*ret = slice_make(*at, (size_t)len);
	*at += len;
	return true;
}

enum err uri_parse_query(struct slice query, struct arena *arena, struct query *ret)
{
	uint64_t marks = 0;
	size_t count = count_params(query);
	if (count > LIMIT_QUERY_PARAMS)
		return ERR_SYNTAX;
	struct param *params = ARENA_NEW_ARRAY(arena, struct param, count);
	char *text = arena_alloc(arena, query.len);
	if (!params || !text)
		return ERR_NO_MEMORY;
	for (size_t i = 0; i < count;) {
		struct slice part = slice_cut(&query, '&');
		if (part.len == 0)
			continue;
		struct slice name = slice_cut(&part, '=');
		params[i].raw_value = slice_is_set(part) ? part : slice_make(name.ptr + name.len, 0);
		if (!decode_part(name, &text, &params[i].name) ||
		    !decode_part(params[i].raw_value, &text, &params[i].value))
			return ERR_SYNTAX;
		marks |= slice_name_mark(params[i++].name);
	}
	*ret = (struct query){ params, count, marks };
	return ERR_OK;
}

struct slice query_search(const struct query *q, struct slice name)
{
	for (size_t i = 0; i < q->count; i++)
		if (slice_eq_nocase(q->params[i].name, name))
			return q->params[i].value;
	return SLICE_NONE;
}

size_t query_count(const struct query *q, struct slice name)
{
	size_t count = 0;
	for (size_t i = 0; i < q->count; i++)
		count += slice_eq_nocase(q->params[i].name, name);
	return count;
}

void uri_encode(struct buf *out, struct slice text, const char *keep)
{
	static const char digits[] = "0123456789ABCDEF";
	for (size_t i = 0; i < text.len; i++) {
		unsigned char c = (unsigned char)text.ptr[i];
		if (char_is((char)c, CHAR_UNRESERVED) || (c && keep && strchr(keep, c))) {
			buf_put_byte(out, c);
		} else {
			char *p = buf_reserve(out, 3);
			if (!p)
				return;
			p[0] = '%';
			p[1] = digits[c >> 4];
			p[2] = digits[c & 15];
			out->len += 3;
		}
	}
}
