/* SPDX-License-Identifier: Apache-2.0
 * Paths and queries: percent-decoding, splitting, UTF-8 checks, in one pass without copies where nothing is escaped. */
#include "wire/http/uri.h"

#include "base/buf.h"
#include "base/limits.h"
#include "base/wide.h"
#include "wire/chars.h"

enum { QUERY_PARAMS_FEW = 16 }; /* most queries have no more */

/* What does not stand for itself: escapes, '+' in a query, and what must be looked at as UTF-8. */
static wide_t is_coded(wide_t c)
{
	return (c < 1) | (c == '%') | (c == '+');
}

/* Decodes into dst, which has room for encoded.len bytes; the number written, or -1. A '+' becomes `plus`. */
static ptrdiff_t decode_into(struct slice encoded, char plus, char *dst)
{
	size_t plain = wide_find(encoded, is_coded);
	const char *p = encoded.ptr + plain, *end = encoded.ptr + encoded.len;
	char *d = dst + plain, seen = 0;
	if (plain)
		memcpy(dst, encoded.ptr, plain);
	while (p < end) {
		char c = *p++;
		if (c == '+') {
			c = plus;
		} else if (c == '%') {
			int high = end - p >= 2 ? char_hex(p[0]) : -1, low = high >= 0 ? char_hex(p[1]) : -1;
			if (low < 0)
				return -1;
			c = (char)(high << 4 | low);
			p += 2;
		}
		if (c == 0)
			return -1;
		seen |= c;
		*d++ = c;
	}
	bool ascii = !(seen & 0x80);
	return ascii || char_utf8_valid(slice_make(dst, (size_t)(d - dst))) ? d - dst : -1;
}

enum err uri_decode(struct slice encoded, struct arena *arena, struct slice *ret)
{
	char *dst = arena_alloc(arena, encoded.len);
	if (!dst)
		return ERR_NO_MEMORY;
	ptrdiff_t len = encoded.len ? decode_into(encoded, '+', dst) : 0;
	if (len < 0)
		return ERR_SYNTAX;
	*ret = slice_make(dst, (size_t)len);
	return ERR_OK;
}

/* Decodes a name or value to *at and moves *at behind it. */
static bool decode_part(struct slice encoded, char **at, struct slice *ret)
{
	ptrdiff_t len = decode_into(encoded, ' ', *at);
	if (len < 0)
		return false;
	*ret = slice_make(*at, (size_t)len);
	*at += len;
	return true;
}

/* A query on its way to parameters. */
struct query_reader {
	const char *next, *end;
	const char *coded; /* the first coded byte from `next` on */
	char *text;	   /* where the next decoded part goes */
};

static const char *find_coded(const char *p, const char *end)
{
	return p + wide_find(slice_make(p, (size_t)(end - p)), is_coded);
}

/* The next "name=value", not empty and without its '&'. */
static bool read_param(struct query_reader *r, struct param *ret)
{
	const char *name = r->next, *p = name;
	while (p < r->end && *p != '=' && *p != '&')
		p++;
	ret->name = slice_make(name, (size_t)(p - name));
	if (p < r->end && *p == '=')
		p++;
	ret->raw_value = slice_make(p, slice_find_byte(slice_make(p, (size_t)(r->end - p)), '&'));
	ret->value = ret->raw_value;
	r->next = p + ret->value.len;
	if (r->coded >= r->next)
		return true;
	r->coded = find_coded(r->next, r->end);
	return decode_part(ret->name, &r->text, &ret->name) && decode_part(ret->raw_value, &r->text, &ret->value);
}

/* Room for one more parameter behind the `count` of *at. */
static bool params_grow(struct param **at, size_t count, size_t *room, struct arena *arena)
{
	if (count < *room)
		return true;
	size_t more = *room ? 2 * *room : QUERY_PARAMS_FEW;
	struct param *p = arena_alloc(arena, more * sizeof *p);
	if (!p)
		return false;
	if (count)
		memcpy(p, *at, count * sizeof *p);
	*at = p;
	*room = more;
	return true;
}

enum err uri_parse_query(struct slice query, struct arena *arena, struct query *ret)
{
	struct query q = { NULL, 0, 0 };
	size_t room = 0;
	if (query.len == 0) {
		*ret = q;
		return ERR_OK;
	}
	struct query_reader r = { .next = query.ptr, .end = query.ptr + query.len };
	r.text = arena_alloc(arena, query.len);
	if (!r.text)
		return ERR_NO_MEMORY;
	r.coded = find_coded(r.next, r.end);
	while (r.next < r.end) {
		if (*r.next == '&') {
			r.next++;
			continue;
		}
		if (q.count == LIMIT_QUERY_PARAMS)
			return ERR_SYNTAX;
		if (!params_grow(&q.params, q.count, &room, arena))
			return ERR_NO_MEMORY;
		struct param *p = &q.params[q.count++];
		if (!read_param(&r, p))
			return ERR_SYNTAX;
		q.name_marks |= slice_name_mark(p->name);
	}
	*ret = q;
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

void uri_escape(struct buf *b, struct slice text)
{
	for (size_t i = 0; i < text.len; i++) {
		unsigned char c = (unsigned char)text.ptr[i];
		if (c <= 0x20 || c >= 0x7f)
			buf_printf(b, "%%%02X", c);
		else
			buf_put_byte(b, (char)c);
	}
}
