/* SPDX-License-Identifier: Apache-2.0
 * Property values: bytes, sizes, order, and the text form of DateTime. See edm.h. */
#include "svc/table/edm.h"

#include "base/bytes.h"
#include "base/digits.h"
#include "base/sys/clock.h"

#include <assert.h>

enum { VARINT_MAX_BYTES = 10 };

static size_t varint_write(unsigned char *dst, uint64_t v)
{
	size_t n = 0;
	while (v >= 0x80) {
		dst[n++] = (unsigned char)(v | 0x80);
		v >>= 7;
	}
	dst[n++] = (unsigned char)v;
	return n;
}

/* What is taken off the front of a run, in registers; false: it ends before. */
struct front {
	const unsigned char *at;
	const unsigned char *end;
};

static inline bool take_varint(struct front *f, uint64_t *ret)
{
	uint64_t v = 0;
	/* Most are lengths of names and small numbers. */
	if (f->at < f->end && *f->at < 0x80) {
		*ret = *f->at++;
		return true;
	}
	for (unsigned shift = 0; shift < 64 && f->at < f->end; shift += 7) {
		unsigned char b = *f->at++;
		v |= (uint64_t)(b & 0x7f) << shift;
		if (!(b & 0x80)) {
			*ret = v;
			return true;
		}
	}
	return false;
}

static inline bool take_bytes(struct front *f, uint64_t len, struct slice *ret)
{
	if (len > (uint64_t)(f->end - f->at))
		return false;
	*ret = slice_make(f->at, (size_t)len);
	f->at += len;
	return true;
}

static inline bool take_string(struct front *f, struct slice *ret)
{
	uint64_t len;
	return take_varint(f, &len) && take_bytes(f, len, ret);
}

static inline uint64_t zigzag(int64_t v)
{
	return ((uint64_t)v << 1) ^ (v < 0 ? UINT64_MAX : 0);
}

static inline int64_t unzigzag(uint64_t v)
{
	return (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
}

void property_encode(struct buf *b, struct slice name, const struct edm_value *v)
{
	bool has_bytes = v->type == EDM_STRING || v->type == EDM_BINARY || v->type == EDM_GUID;
	size_t room = 1 + 2 * VARINT_MAX_BYTES + name.len + (has_bytes ? v->bytes.len : 0);
	unsigned char *p = (unsigned char *)buf_reserve(b, room);
	if (!p)
		return;
	size_t n = 0;
	p[n++] = (unsigned char)v->type;
	n += varint_write(p + n, name.len);
	memcpy(p + n, name.ptr, name.len);
	n += name.len;
	switch (v->type) {
	case EDM_STRING:
	case EDM_BINARY:
		n += varint_write(p + n, v->bytes.len);
		if (v->bytes.len)
			memcpy(p + n, v->bytes.ptr, v->bytes.len);
		n += v->bytes.len;
		break;
	case EDM_GUID:
		assert(v->bytes.len == 16);
		memcpy(p + n, v->bytes.ptr, 16);
		n += 16;
		break;
	case EDM_INT32:
	case EDM_INT64:
		n += varint_write(p + n, zigzag(v->integer));
		break;
	case EDM_DOUBLE: {
		uint64_t bits;
		memcpy(&bits, &v->number, sizeof bits);
		bytes_store(p + n, bits, 8);
		n += 8;
		break;
	}
	case EDM_BOOLEAN:
		p[n++] = v->boolean;
		break;
	case EDM_DATETIME:
		bytes_store(p + n, v->ticks, 8);
		n += 8;
		break;
	case EDM_NONE:
	case EDM_TYPE_COUNT:
		assert(!"a property has a type");
	}
	b->len += n;
}

static inline bool take_value(struct front *f, struct edm_value *ret)
{
	struct slice s;
	uint64_t v;
	switch (ret->type) {
	case EDM_STRING:
	case EDM_BINARY:
		return take_string(f, &ret->bytes);
	case EDM_GUID:
		return take_bytes(f, 16, &ret->bytes);
	case EDM_INT32:
	case EDM_INT64:
		if (!take_varint(f, &v))
			return false;
		ret->integer = unzigzag(v);
		return true;
	case EDM_DOUBLE:
	case EDM_DATETIME:
		if (!take_bytes(f, 8, &s))
			return false;
		v = bytes_load(s.ptr, 8);
		if (ret->type == EDM_DATETIME)
			ret->ticks = v;
		else
			memcpy(&ret->number, &v, sizeof v);
		return true;
	case EDM_BOOLEAN:
		if (!take_bytes(f, 1, &s))
			return false;
		ret->boolean = s.ptr[0];
		return true;
	default:
		return false;
	}
}

bool property_next(struct property_cursor *c, struct property *ret)
{
	struct front f = { c->at, c->end };
	if (f.at == f.end || c->failed)
		return false;
	ret->value.type = (enum edm_type) * f.at++;
	if (!take_string(&f, &ret->name) || !take_value(&f, &ret->value)) {
		c->failed = true;
		return false;
	}
	ret->encoded = slice_make(c->at, (size_t)(f.at - c->at));
	c->at = f.at;
	return true;
}

static unsigned name_hash(struct slice name)
{
	uint32_t h = 2166136261u;
	for (size_t i = 0; i < name.len; i++)
		h = (h ^ (unsigned char)name.ptr[i]) * 16777619u;
	return h ^ h >> 16;
}

void entity_name_index_add(struct name_index *x, const struct slice *names, size_t position)
{
	assert(position < NAME_INDEX_MAX);
	unsigned at = name_hash(names[position]) % NAME_INDEX_SLOTS;
	while (x->slot[at])
		at = (at + 1) % NAME_INDEX_SLOTS;
	x->slot[at] = (uint16_t)(position + 1);
}

int entity_name_index_find(const struct name_index *x, const struct slice *names, struct slice name)
{
	for (unsigned at = name_hash(name) % NAME_INDEX_SLOTS; x->slot[at]; at = (at + 1) % NAME_INDEX_SLOTS)
		if (slice_eq(names[x->slot[at] - 1], name))
			return x->slot[at] - 1;
	return -1;
}

static const struct slice edm_names[EDM_TYPE_COUNT] = {
	[EDM_NONE] = { "", 0 },
	[EDM_STRING] = { "Edm.String", 10 },
	[EDM_INT32] = { "Edm.Int32", 9 },
	[EDM_INT64] = { "Edm.Int64", 9 },
	[EDM_DOUBLE] = { "Edm.Double", 10 },
	[EDM_BOOLEAN] = { "Edm.Boolean", 11 },
	[EDM_DATETIME] = { "Edm.DateTime", 12 },
	[EDM_GUID] = { "Edm.Guid", 8 },
	[EDM_BINARY] = { "Edm.Binary", 10 },
};

enum edm_type edm_type_from_name(struct slice name)
{
	for (int t = EDM_STRING; t < EDM_TYPE_COUNT; t++)
		if (slice_eq(name, edm_names[t]))
			return (enum edm_type)t;
	return EDM_NONE;
}

struct slice edm_type_name(enum edm_type t)
{
	assert(t < EDM_TYPE_COUNT);
	return edm_names[t];
}

size_t edm_utf16_units(struct slice s)
{
	size_t units = 0;
	for (size_t i = 0; i < s.len; i++) {
		unsigned char c = (unsigned char)s.ptr[i];
		/* Every character has one lead byte; those of four bytes are two units. */
		units += (c & 0xc0) != 0x80;
		units += c >= 0xf0;
	}
	return units;
}

size_t edm_value_size(const struct edm_value *v)
{
	switch (v->type) {
	case EDM_STRING:
		return 2 * edm_utf16_units(v->bytes);
	case EDM_BINARY:
		return v->bytes.len;
	case EDM_GUID:
		return 16;
	case EDM_INT32:
		return 4;
	case EDM_BOOLEAN:
		return 1;
	case EDM_INT64:
	case EDM_DOUBLE:
	case EDM_DATETIME:
		return 8;
	default:
		return 0;
	}
}

static inline int sign(int less, int greater)
{
	return greater - less;
}

bool edm_compare(const struct edm_value *a, const struct edm_value *b, int *ret)
{
	struct edm_value wide = *b;
	if (b->type == EDM_INT32 && a->type == EDM_DOUBLE)
		wide.number = (double)b->integer;
	else if (a->type != b->type && !(b->type == EDM_INT32 && a->type == EDM_INT64))
		return false;
	b = &wide;
	switch (a->type) {
	case EDM_STRING:
	case EDM_BINARY:
	case EDM_GUID: {
		int order = slice_cmp(a->bytes, b->bytes);
		*ret = sign(order<0, order> 0);
		return true;
	}
	case EDM_INT32:
	case EDM_INT64:
		*ret = sign(a->integer<b->integer, a->integer> b->integer);
		return true;
	case EDM_DOUBLE:
		*ret = sign(a->number<b->number, a->number> b->number);
		return a->number == a->number && b->number == b->number;
	case EDM_BOOLEAN:
		*ret = sign(a->boolean<b->boolean, a->boolean> b->boolean);
		return true;
	case EDM_DATETIME:
		*ret = sign(a->ticks<b->ticks, a->ticks> b->ticks);
		return true;
	default:
		return false;
	}
}

/* Days since 0001-01-01 of a date in the proleptic Gregorian calendar; March-based years make February last. */
static uint64_t days_from_date(unsigned year, unsigned month, unsigned day)
{
	unsigned y = month <= 2 ? year - 1 : year;
	unsigned m = month <= 2 ? month + 9 : month - 3;
	uint64_t days = (uint64_t)y * 365 + y / 4 - y / 100 + y / 400 + (153 * m + 2) / 5 + (day - 1);
	return days - 306;
}

/* The way back, after Neri and Schneider (Euclidean affine functions, 2022): multiplications where one divides. */
static void date_from_days(uint64_t days, unsigned *ret_year, unsigned *ret_month, unsigned *ret_day)
{
	unsigned z = 4 * ((unsigned)days + 306) + 3;
	unsigned century = z / 146097;
	/* 2939745 is 2^32 / 1461, 2141 is 2^16 / 30.6: years and months come out above the point. */
	uint64_t years = UINT64_C(2939745) * (z % 146097 | 3);
	unsigned day_of_year = (unsigned)years / 2939745 / 4;
	unsigned months = 2141 * day_of_year + 197913;
	bool next_year = day_of_year >= 306;
	*ret_day = (months & 0xffff) / 2141 + 1;
	*ret_month = (months >> 16) - (next_year ? 12 : 0);
	*ret_year = 100 * century + (unsigned)(years >> 32) + next_year;
}

static bool digits(struct slice *s, size_t count, unsigned *ret)
{
	unsigned v = 0;
	if (s->len < count)
		return false;
	for (size_t i = 0; i < count; i++) {
		unsigned d = (unsigned)(unsigned char)s->ptr[i] - '0';
		if (d > 9)
			return false;
		v = v * 10 + d;
	}
	*s = slice_from(*s, count);
	*ret = v;
	return true;
}

static bool literal(struct slice *s, char c)
{
	if (!s->len || s->ptr[0] != c)
		return false;
	*s = slice_from(*s, 1);
	return true;
}

static bool days_in_month_ok(unsigned year, unsigned month, unsigned day)
{
	static const unsigned char days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
	if (month < 1 || month > 12 || day < 1)
		return false;
	bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
	return day <= days[month - 1] + (unsigned)(month == 2 && leap);
}

/* "Z", "+hh:mm", "-hh:mm" or nothing: minutes east of UTC. */
static bool parse_offset(struct slice s, int *ret_minutes)
{
	unsigned h, m;
	if (s.len == 0 || (s.len == 1 && (s.ptr[0] == 'Z' || s.ptr[0] == 'z'))) {
		*ret_minutes = 0;
		return true;
	}
	bool west = s.ptr[0] == '-';
	if (!west && s.ptr[0] != '+')
		return false;
	s = slice_from(s, 1);
	if (!digits(&s, 2, &h) || !literal(&s, ':') || !digits(&s, 2, &m) || s.len || h > 14 || m > 59)
		return false;
	*ret_minutes = (int)(h * 60 + m) * (west ? -1 : 1);
	return true;
}

bool edm_datetime_parse(struct slice s, uint64_t *ret)
{
	unsigned year, month, day, hour, minute, second = 0;
	uint64_t fraction = 0;
	if (!digits(&s, 4, &year) || !literal(&s, '-') || !digits(&s, 2, &month) || !literal(&s, '-') ||
	    !digits(&s, 2, &day) || !literal(&s, 'T') || !digits(&s, 2, &hour) || !literal(&s, ':') ||
	    !digits(&s, 2, &minute))
		return false;
	if (literal(&s, ':')) {
		if (!digits(&s, 2, &second))
			return false;
		if (literal(&s, '.')) {
			unsigned d, count = 0;
			uint64_t scale = TICKS_PER_SECOND;
			while (count < 7 && digits(&s, 1, &d)) {
				scale /= 10;
				fraction += d * scale;
				count++;
			}
			/* Some clients write nanoseconds: what is finer than a tick is cut off. */
			for (; count >= 7 && count < 9 && digits(&s, 1, &d); count++)
				;
			if (!count)
				return false;
		}
	}
	int offset;
	if (year < 1 || !days_in_month_ok(year, month, day) || hour > 23 || minute > 59 || second > 59 ||
	    !parse_offset(s, &offset))
		return false;
	int64_t seconds = (int64_t)days_from_date(year, month, day) * 86400 + hour * 3600 + minute * 60 + second;
	seconds -= (int64_t)offset * 60;
	if (seconds < 0)
		return false;
	uint64_t ticks = (uint64_t)seconds * TICKS_PER_SECOND + fraction;
	if (ticks > EDM_DATETIME_MAX)
		return false;
	*ret = ticks;
	return true;
}

/* yyyy-MM-ddTHH:mm:ss */
static inline char *put_second(char *p, uint64_t second)
{
	unsigned year, month, day, rest = (unsigned)(second % 86400);
	date_from_days(second / 86400, &year, &month, &day);
	p = digits_put2(p, year / 100);
	p = digits_put2(p, year % 100);
	*p++ = '-';
	p = digits_put2(p, month);
	*p++ = '-';
	p = digits_put2(p, day);
	*p++ = 'T';
	p = digits_put2(p, rest / 3600);
	*p++ = ':';
	p = digits_put2(p, rest % 3600 / 60);
	*p++ = ':';
	return digits_put2(p, rest % 60);
}

/* [.fffffff]Z */
static inline char *put_fraction(char *p, unsigned fraction)
{
	if (fraction) {
		/* All seven digits by constant divisions, then the zeros at the end are taken back. */
		*p++ = '.';
		p = digits_put2(p, fraction / 100000);
		p = digits_put2(p, fraction / 1000 % 100);
		p = digits_put2(p, fraction / 10 % 100);
		*p++ = (char)('0' + fraction % 10);
		while (p[-1] == '0')
			p--;
	}
	*p++ = 'Z';
	return p;
}

size_t edm_datetime_format(uint64_t ticks, char *dst)
{
	if (ticks > EDM_DATETIME_MAX)
		ticks = EDM_DATETIME_MAX;
	char *p = put_second(dst, ticks / TICKS_PER_SECOND);
	return (size_t)(put_fraction(p, (unsigned)(ticks % TICKS_PER_SECOND)) - dst);
}

size_t edm_datetime_format_near(struct edm_second *last, uint64_t ticks, char *dst)
{
	if (ticks > EDM_DATETIME_MAX)
		ticks = EDM_DATETIME_MAX;
	uint64_t second = ticks / TICKS_PER_SECOND;
	if (last->end != second + 1) {
		last->end = second + 1;
		put_second(last->text, second);
	}
	memcpy(dst, last->text, sizeof last->text);
	char *p = dst + sizeof last->text;
	return (size_t)(put_fraction(p, (unsigned)(ticks % TICKS_PER_SECOND)) - dst);
}
