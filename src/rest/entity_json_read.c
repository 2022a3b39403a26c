/* SPDX-License-Identifier: Apache-2.0
 * OData JSON of an entity to record bytes. The object is flat, so one pass makes a list of members; types come from
 * name@odata.type members, which may stand before or behind the value they speak of. */
#include "rest/entity_json.h"

#include "base/rng.h"
#include "wire/base64.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

struct reader {
	const unsigned char *at, *end;
	struct arena *arena;
};

/* Well-formed UTF-8 without surrogates and overlong forms. */
static bool utf8_valid(struct slice s)
{
	const unsigned char *p = (const unsigned char *)s.ptr, *end = p + s.len;
	while (p < end) {
		uint64_t eight;
		if (end - p >= 8 && (memcpy(&eight, p, 8), !(eight & UINT64_C(0x8080808080808080)))) {
			p += 8;
			continue;
		}
		if (*p < 0x80) {
			p++;
			continue;
		}
		unsigned extra = *p >= 0xf0 ? 3 : *p >= 0xe0 ? 2 : 1;
		if (*p < 0xc2 || *p > 0xf4 || (size_t)(end - p) <= extra)
			return false;
		unsigned char low = *p == 0xe0 ? 0xa0 : *p == 0xf0 ? 0x90 : 0x80;
		unsigned char high = *p == 0xed ? 0x9f : *p == 0xf4 ? 0x8f : 0xbf;
		if (p[1] < low || p[1] > high)
			return false;
		for (unsigned i = 2; i <= extra; i++)
			if ((p[i] & 0xc0) != 0x80)
				return false;
		p += extra + 1;
	}
	return true;
}

static void skip_blanks(struct reader *r)
{
	while (r->at < r->end && (*r->at == ' ' || *r->at == '\n' || *r->at == '\r' || *r->at == '\t'))
		r->at++;
}

static bool take(struct reader *r, char c)
{
	skip_blanks(r);
	if (r->at == r->end || *r->at != (unsigned char)c)
		return false;
	r->at++;
	return true;
}

static bool hex4(struct reader *r, uint32_t *ret)
{
	uint32_t v = 0;
	if (r->end - r->at < 4)
		return false;
	for (int i = 0; i < 4; i++) {
		unsigned char c = *r->at++, l = (unsigned char)((c | 0x20) - 'a');
		if ((unsigned char)(c - '0') < 10)
			v = v << 4 | (uint32_t)(c - '0');
		else if (l < 6)
			v = v << 4 | (uint32_t)(l + 10);
		else
			return false;
	}
	*ret = v;
	return true;
}

static char *utf8_put(char *p, uint32_t c)
{
	if (c < 0x80) {
		*p++ = (char)c;
	} else if (c < 0x800) {
		*p++ = (char)(0xc0 | c >> 6);
		*p++ = (char)(0x80 | (c & 0x3f));
	} else if (c < 0x10000) {
		*p++ = (char)(0xe0 | c >> 12);
		*p++ = (char)(0x80 | (c >> 6 & 0x3f));
		*p++ = (char)(0x80 | (c & 0x3f));
	} else {
		*p++ = (char)(0xf0 | c >> 18);
		*p++ = (char)(0x80 | (c >> 12 & 0x3f));
		*p++ = (char)(0x80 | (c >> 6 & 0x3f));
		*p++ = (char)(0x80 | (c & 0x3f));
	}
	return p;
}

/* Behind the backslash; NULL if it is no escape. */
static char *unescape(struct reader *r, char *p)
{
	static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
	if (r->at == r->end)
		return NULL;
	char c = (char)*r->at++;
	if (c != 'u') {
		const char *at = c ? strchr(names, c) : NULL;
		if (!at)
			return NULL;
		*p++ = values[at - names];
		return p;
	}
	uint32_t high, low;
	if (!hex4(r, &high))
		return NULL;
	if (high >= 0xd800 && high < 0xdc00) {
		if (r->end - r->at < 6 || r->at[0] != '\\' || r->at[1] != 'u')
			return NULL;
		r->at += 2;
		if (!hex4(r, &low) || low < 0xdc00 || low > 0xdfff)
			return NULL;
		high = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
	} else if (high >= 0xdc00 && high <= 0xdfff) {
		return NULL;
	}
	return utf8_put(p, high);
}

static enum err read_string(struct reader *r, struct slice *ret)
{
	if (!take(r, '"'))
		return ERR_INVALID_INPUT;
	const unsigned char *start = r->at;
	while (r->at < r->end && *r->at != '"' && *r->at != '\\' && *r->at >= 0x20)
		r->at++;
	if (r->at < r->end && *r->at == '"') {
		*ret = slice_make(start, (size_t)(r->at++ - start));
		return ERR_OK;
	}
	/* It has escapes: the plain text is shorter than what is left up to its closing quote. */
	const unsigned char *close = r->at;
	while (close < r->end && *close != '"')
		close += *close == '\\' ? 2 : 1;
	if (close >= r->end)
		return ERR_INVALID_INPUT;
	char *plain = arena_alloc(r->arena, (size_t)(close - start)), *p = plain;
	if (!plain)
		return ERR_NO_MEMORY;
	r->at = start;
	while (r->at < r->end && *r->at != '"') {
		if (*r->at < 0x20)
			return ERR_INVALID_INPUT;
		if (*r->at != '\\') {
			*p++ = (char)*r->at++;
			continue;
		}
		r->at++;
		p = unescape(r, p);
		if (!p)
			return ERR_INVALID_INPUT;
	}
	if (r->at == r->end)
		return ERR_INVALID_INPUT;
	r->at++;
	*ret = slice_make(plain, (size_t)(p - plain));
	return ERR_OK;
}

static size_t read_digits(struct reader *r)
{
	const unsigned char *start = r->at;
	while (r->at < r->end && (unsigned char)(*r->at - '0') < 10)
		r->at++;
	return (size_t)(r->at - start);
}

static enum err read_number(struct reader *r, struct slice *ret)
{
	const unsigned char *start = r->at;
	if (*r->at == '-')
		r->at++;
	const unsigned char *first = r->at;
	size_t whole = read_digits(r);
	if (!whole || (whole > 1 && *first == '0'))
		return ERR_INVALID_INPUT;
	if (r->at < r->end && *r->at == '.') {
		r->at++;
		if (!read_digits(r))
			return ERR_INVALID_INPUT;
	}
	if (r->at < r->end && (*r->at | 0x20) == 'e') {
		r->at++;
		if (r->at < r->end && (*r->at == '+' || *r->at == '-'))
			r->at++;
		if (!read_digits(r))
			return ERR_INVALID_INPUT;
	}
	*ret = slice_make(start, (size_t)(r->at - start));
	return ERR_OK;
}

static bool take_word(struct reader *r, struct slice word)
{
	if (!slice_has_prefix(slice_make(r->at, (size_t)(r->end - r->at)), word))
		return false;
	r->at += word.len;
	return true;
}

static enum err read_value(struct reader *r, struct flat_member *m)
{
	skip_blanks(r);
	if (r->at == r->end)
		return ERR_INVALID_INPUT;
	m->text = slice_make("", 0);
	if (*r->at == '"') {
		m->kind = FLAT_STRING;
		return read_string(r, &m->text);
	}
	if (*r->at == '-' || (unsigned char)(*r->at - '0') < 10) {
		m->kind = FLAT_NUMBER;
		return read_number(r, &m->text);
	}
	if (take_word(r, SLICE("true")))
		m->kind = FLAT_TRUE;
	else if (take_word(r, SLICE("false")))
		m->kind = FLAT_FALSE;
	else if (take_word(r, SLICE("null")))
		m->kind = FLAT_NULL;
	else
		return ERR_INVALID_INPUT;
	return ERR_OK;
}

enum err flat_parse(struct slice text, struct arena *arena, struct flat_object *ret)
{
	struct reader r = { (const unsigned char *)text.ptr, (const unsigned char *)text.ptr + text.len, arena };
	struct flat_object o = { NULL, 0 };
	size_t cap = 0;
	if (text.len >= 3 && !memcmp(text.ptr, "\xef\xbb\xbf", 3))
		r.at += 3;
	if (!utf8_valid(text) || !take(&r, '{'))
		return ERR_INVALID_INPUT;
	if (take(&r, '}'))
		goto end;
	do {
		if (o.count == cap) {
			size_t more = cap ? cap * 2 : 32;
			struct flat_member *m = more <= 2 * FLAT_MEMBERS_MAX ? arena_alloc(arena, more * sizeof *m) : NULL;
			if (!m)
				return more > 2 * FLAT_MEMBERS_MAX ? ERR_TOO_MANY_PROPERTIES : ERR_NO_MEMORY;
			if (cap)
				memcpy(m, o.member, cap * sizeof *m);
			o.member = m;
			cap = more;
		}
		struct flat_member *m = &o.member[o.count++];
		TRY(read_string(&r, &m->name));
		if (!take(&r, ':'))
			return ERR_INVALID_INPUT;
		TRY(read_value(&r, m));
	} while (take(&r, ','));
	if (!take(&r, '}'))
		return ERR_INVALID_INPUT;
	if (o.count > FLAT_MEMBERS_MAX)
		return ERR_TOO_MANY_PROPERTIES;
end:
	skip_blanks(&r);
	if (r.at != r.end)
		return ERR_INVALID_INPUT;
	*ret = o;
	return ERR_OK;
}

const struct flat_member *flat_find(const struct flat_object *o, struct slice name)
{
	for (size_t i = 0; i < o->count; i++)
		if (slice_eq(o->member[i].name, name))
			return &o->member[i];
	return NULL;
}

/* ---- Types ---- */

#define TYPE_SUFFIX SLICE("@odata.type")

/* "name@odata.type": the name in *ret. */
static bool is_type_member(struct slice name, struct slice *ret)
{
	if (name.len <= TYPE_SUFFIX.len || name.ptr[name.len - 1] != 'e' ||
	    !slice_eq(slice_from(name, name.len - TYPE_SUFFIX.len), TYPE_SUFFIX))
		return false;
	*ret = slice_first(name, name.len - TYPE_SUFFIX.len);
	return true;
}

/* The type given for member i; most clients write it next to the value. */
static const struct flat_member *find_type(const struct flat_object *o, size_t i)
{
	struct slice name;
	if (i > 0 && is_type_member(o->member[i - 1].name, &name) && slice_eq(name, o->member[i].name))
		return &o->member[i - 1];
	if (i + 1 < o->count && is_type_member(o->member[i + 1].name, &name) && slice_eq(name, o->member[i].name))
		return &o->member[i + 1];
	for (size_t j = 0; j < o->count; j++)
		if (is_type_member(o->member[j].name, &name) && slice_eq(name, o->member[i].name))
			return &o->member[j];
	return NULL;
}

static bool parse_double(struct slice text, double *ret)
{
	if (slice_eq(text, SLICE("NaN")))
		*ret = (double)NAN;
	else if (slice_eq(text, SLICE("Infinity")) || slice_eq(text, SLICE("INF")))
		*ret = (double)INFINITY;
	else if (slice_eq(text, SLICE("-Infinity")) || slice_eq(text, SLICE("-INF")))
		*ret = -(double)INFINITY;
	else {
		char copy[512], *end;
		bool plain = text.len && text.len < sizeof copy &&
			     (text.ptr[0] == '-' || (unsigned char)(text.ptr[0] - '0') < 10);
		if (!plain)
			return false;
		memcpy(copy, text.ptr, text.len);
		copy[text.len] = 0;
		*ret = strtod(copy, &end);
		return end == copy + text.len && isfinite(*ret) && !memchr(copy, 'x', text.len);
	}
	return true;
}

static bool parse_integer(struct slice text, int64_t low, int64_t high, int64_t *ret)
{
	return slice_to_i64(text, ret) && *ret >= low && *ret <= high;
}

/* Without a type: true, false and strings are what they look like, numbers with a point or an exponent Double, others Int32. */
static enum edm_type natural_type(const struct flat_member *m)
{
	if (m->kind == FLAT_STRING)
		return EDM_STRING;
	if (m->kind != FLAT_NUMBER)
		return EDM_BOOLEAN;
	for (size_t i = 0; i < m->text.len; i++)
		if (m->text.ptr[i] == '.' || (m->text.ptr[i] | 0x20) == 'e')
			return EDM_DOUBLE;
	return EDM_INT32;
}

static enum err value_boolean(const struct flat_member *m, struct edm_value *v)
{
	bool is_true = m->kind == FLAT_TRUE || (m->kind == FLAT_STRING && slice_eq_nocase(m->text, SLICE("true")));
	bool is_false = m->kind == FLAT_FALSE || (m->kind == FLAT_STRING && slice_eq_nocase(m->text, SLICE("false")));
	v->boolean = is_true;
	return is_true || is_false ? ERR_OK : ERR_INVALID_VALUE_TYPE;
}

/* Typed values written as text: az and some SDKs send every typed value in quotes, so quotes are no error anywhere. */
static enum err value_of(const struct flat_member *m, enum edm_type type, struct arena *arena, struct edm_value *v)
{
	bool text = m->kind == FLAT_STRING || (m->kind == FLAT_NUMBER && type != EDM_STRING && type != EDM_BINARY);
	enum err e;
	v->type = type;
	if (type == EDM_BOOLEAN)
		return value_boolean(m, v);
	if (!text)
		return ERR_INVALID_VALUE_TYPE;
	switch (type) {
	case EDM_STRING:
		v->bytes = m->text;
		return m->text.len > ENTITY_VALUE_BYTES_MAX / 2 && edm_value_size(v) > ENTITY_VALUE_BYTES_MAX
			       ? ERR_PROPERTY_VALUE_TOO_LARGE
			       : ERR_OK;
	case EDM_BINARY:
		e = base64_decode(m->text, arena, &v->bytes);
		if (e)
			return e == ERR_SYNTAX ? ERR_INVALID_VALUE_TYPE : e;
		return v->bytes.len > ENTITY_VALUE_BYTES_MAX ? ERR_PROPERTY_VALUE_TOO_LARGE : ERR_OK;
	case EDM_INT32:
		return parse_integer(m->text, INT32_MIN, INT32_MAX, &v->integer) ? ERR_OK : ERR_INVALID_VALUE_TYPE;
	case EDM_INT64:
		return parse_integer(m->text, INT64_MIN, INT64_MAX, &v->integer) ? ERR_OK : ERR_INVALID_VALUE_TYPE;
	case EDM_DOUBLE:
		return parse_double(m->text, &v->number) ? ERR_OK : ERR_INVALID_VALUE_TYPE;
	case EDM_DATETIME:
		return edm_datetime_parse(m->text, &v->ticks) && v->ticks >= EDM_DATETIME_MIN ? ERR_OK : ERR_INVALID_VALUE_TYPE;
	case EDM_GUID: {
		struct uuid *u = ARENA_NEW(arena, struct uuid);
		if (!u)
			return ERR_NO_MEMORY;
		v->bytes = slice_make(u->bytes, sizeof u->bytes);
		return uuid_parse(m->text, u) ? ERR_OK : ERR_INVALID_VALUE_TYPE;
	}
	default:
		return ERR_INVALID_INPUT;
	}
}

/* ---- The entity ---- */

static bool is_metadata(struct slice name)
{
	return slice_has_prefix(name, SLICE("odata.")) || slice_find_byte(name, '@') < name.len;
}

/* A bit for a name: names whose bits differ differ. */
static uint64_t name_bit(struct slice name)
{
	size_t n = name.len;
	unsigned h = (unsigned)(n * 7 + (unsigned char)name.ptr[0] * 31u + (unsigned char)name.ptr[n - 1] * 131u +
				(unsigned char)name.ptr[n / 2] * 17u);
	return UINT64_C(1) << (h & 63);
}

static bool seen_before(const struct flat_object *o, size_t i)
{
	for (size_t j = 0; j < i; j++)
		if (slice_eq(o->member[j].name, o->member[i].name))
			return true;
	return false;
}

static enum err read_key(const struct flat_member *m, struct slice *ret)
{
	if (m->kind == FLAT_NULL)
		return ERR_OK;
	if (m->kind != FLAT_STRING)
		return ERR_INVALID_INPUT;
	*ret = m->text;
	return ERR_OK;
}

static enum err read_property(const struct flat_object *o, size_t i, struct arena *arena, struct buf *run)
{
	const struct flat_member *m = &o->member[i];
	TRY(entity_name_check(m->name));
	const struct flat_member *t = find_type(o, i);
	enum edm_type type = natural_type(m);
	if (t) {
		type = t->kind == FLAT_STRING ? edm_type_from_name(t->text) : EDM_NONE;
		if (type == EDM_NONE)
			return ERR_INVALID_INPUT;
	}
	if (m->kind == FLAT_NULL)
		return ERR_OK;
	struct edm_value v;
	TRY(value_of(m, type, arena, &v));
	property_encode(run, m->name, &v);
	return ERR_OK;
}

enum err entity_body_parse(struct slice text, struct arena *arena, struct entity_body *ret)
{
	struct flat_object o;
	struct entity_body b = { SLICE_NONE, SLICE_NONE, SLICE_NONE };
	TRY(flat_parse(text, arena, &o));
	/* Record bytes are never longer than the text but for a few bytes a property; encoding asks for some to spare. */
	size_t room = text.len + o.count * 32 + 64;
	struct buf run = { .ptr = arena_alloc(arena, room), .cap = room, .limit_bytes = room };
	if (!run.ptr)
		return ERR_NO_MEMORY;
	uint64_t seen = 0;
	for (size_t i = 0; i < o.count; i++) {
		struct slice name = o.member[i].name;
		if (!name.len)
			return ERR_PROPERTY_NAME_INVALID;
		uint64_t bit = name_bit(name);
		if ((seen & bit) && seen_before(&o, i))
			return ERR_DUPLICATE_PROPERTIES_SPECIFIED;
		seen |= bit;
		if (slice_eq(name, SLICE("PartitionKey")))
			TRY(read_key(&o.member[i], &b.partition_key));
		else if (slice_eq(name, SLICE("RowKey")))
			TRY(read_key(&o.member[i], &b.row_key));
		else if (!slice_eq(name, SLICE("Timestamp")) && !is_metadata(name))
			TRY(read_property(&o, i, arena, &run));
	}
	if (!buf_ok(&run))
		return ERR_NO_MEMORY;
	b.properties = buf_slice(&run);
	*ret = b;
	return ERR_OK;
}
