/* SPDX-License-Identifier: Apache-2.0
 * Record bytes to OData JSON. The inner loop of queries: room is reserved once per piece, then plain stores. */
#include "rest/table/entity_json.h"

#include "base/digits.h"
#include "base/sys/rng.h"
#include "base/wide.h"
#include "wire/base64.h"
#include "wire/http/uri.h"
#include "wire/json.h"

#include <math.h>

/* What runs for every member is worth a copy at every place that calls it. */
#define INNER inline __attribute__((always_inline))

/* Most is short: two words that may overlap cost less than the call. */
static inline char *put(char *p, struct slice s)
{
	if (s.len > 16 && s.len <= 32) {
		memcpy(p, s.ptr, 16);
		memcpy(p + s.len - 16, s.ptr + s.len - 16, 16);
	} else if (s.len >= 8 && s.len <= 16) {
		memcpy(p, s.ptr, 8);
		memcpy(p + s.len - 8, s.ptr + s.len - 8, 8);
	} else if (s.len >= 4 && s.len < 8) {
		memcpy(p, s.ptr, 4);
		memcpy(p + s.len - 4, s.ptr + s.len - 4, 4);
	} else {
		memcpy(p, s.ptr, s.len);
	}
	return p + s.len;
}
#define PUT(p, literal) put((p), SLICE(literal))

/* buf_reserve without the call while there is room. */
static inline char *room(struct buf *b, size_t bytes)
{
	return bytes <= b->cap - b->len && !b->failed ? b->ptr + b->len : buf_reserve(b, bytes);
}

/* Stored text is well-formed UTF-8: only these stand in the way of copying it. */
static inline bool needs_escape(unsigned char c)
{
	return c < 0x20 || c == '"' || c == '\\';
}

static char *put_escape(char *p, unsigned char c)
{
	static const char hex[] = "0123456789abcdef";
	*p++ = '\\';
	switch (c) {
	case '"':
	case '\\':
		*p++ = (char)c;
		return p;
	case '\n':
		*p++ = 'n';
		return p;
	case '\r':
		*p++ = 'r';
		return p;
	case '\t':
		*p++ = 't';
		return p;
	default:
		p = PUT(p, "u00");
		*p++ = hex[c >> 4];
		*p++ = hex[c & 15];
		return p;
	}
}

#define BLANKS UINT64_C(0x2020202020202020)

static inline bool block_needs_escape(wide_t v)
{
	wide_t hit = ((v >= 0) & (v < 0x20)) | (v == '"') | (v == '\\');
	uint64_t half[2];
	memcpy(half, &hit, sizeof half);
	return (half[0] | half[1]) != 0;
}

static inline bool put_block(char *p, const char *s)
{
	wide_t v = wide_load(s);
	memcpy(p, &v, sizeof v);
	return !block_needs_escape(v);
}

/* `half` bytes and up to twice as many: both ends, which may overlap. */
static inline bool put_ends(char *p, const char *s, size_t len, size_t half)
{
	uint64_t ends[2] = { BLANKS, BLANKS };
	wide_t v;
	memcpy(&ends[0], s, half);
	memcpy(&ends[1], s + len - half, half);
	memcpy(p, &ends[0], half);
	memcpy(p + len - half, &ends[1], half);
	memcpy(&v, ends, sizeof v);
	return !block_needs_escape(v);
}

static size_t put_bytes(char *p, struct slice s)
{
	size_t i = 0;
	for (; i < s.len && !needs_escape((unsigned char)s.ptr[i]); i++)
		p[i] = s.ptr[i];
	return i;
}

/* Copies up to the first byte that must be escaped and returns how many those were. Copying and looking are one pass
 * over whole blocks; the last one overlaps the one before. p has room for all of s and nothing more. */
static INNER size_t put_plain(char *p, struct slice s)
{
	size_t i = 0;
	if (s.len < WIDE_BYTES) {
		bool plain = s.len >= 8 ? put_ends(p, s.ptr, s.len, 8) : s.len >= 4 && put_ends(p, s.ptr, s.len, 4);
		return plain ? s.len : put_bytes(p, s);
	}
	while (i + WIDE_BYTES < s.len && put_block(p + i, s.ptr + i))
		i += WIDE_BYTES;
	if (i + WIDE_BYTES >= s.len && put_block(p + s.len - WIDE_BYTES, s.ptr + s.len - WIDE_BYTES))
		return s.len;
	return i + put_bytes(p + i, slice_from(s, i));
}

void rest_table_json_text_write(struct buf *b, struct slice s)
{
	char *p = buf_reserve(b, s.len + 2);
	if (!p)
		return;
	*p++ = '"';
	for (;;) {
		size_t n = put_plain(p, s);
		p += n;
		if (n == s.len)
			break;
		/* Each escape may take 5 bytes more than was reserved for it. */
		b->len = (size_t)(p - b->ptr);
		p = buf_reserve(b, s.len - n + 8);
		if (!p)
			return;
		p = put_escape(p, (unsigned char)s.ptr[n]);
		s = slice_from(s, n + 1);
	}
	*p++ = '"';
	b->len = (size_t)(p - b->ptr);
}

static char *put_i64(char *p, int64_t v)
{
	if (v < 0)
		*p++ = '-';
	return digits_put_u64(p, v < 0 ? 0 - (uint64_t)v : (uint64_t)v);
}

/* Numbers with at most six decimals, which most are: k / 10^6 is rounded once, so if that gives v back, the decimal k *
 * 10^-6 reads back as v, and with at most 15 digits no shorter one does. NULL: not such a number. */
static char *put_decimal(char *p, double v)
{
	const double scale = 1e6;
	double k = rint(v * scale);
	if (!(fabs(k) < 1e15) || k / scale != v || k == 0)
		return NULL;
	uint64_t u = (uint64_t)fabs(k);
	unsigned fraction = (unsigned)(u % 1000000);
	if (v < 0)
		*p++ = '-';
	p = digits_put_u64(p, u / 1000000);
	*p++ = '.';
	p = digits_put2(p, fraction / 10000);
	p = digits_put2(p, fraction / 100 % 100);
	p = digits_put2(p, fraction % 100);
	while (p[-1] == '0' && p[-2] != '.')
		p--;
	return p;
}

/* A string at p, where s.len + 2 + behind bytes are reserved; returns where it ended, with `behind` bytes reserved
 * there. NULL: no memory. */
static char *put_text(struct buf *b, char *p, struct slice s, size_t behind)
{
	*p = '"';
	if (put_plain(p + 1, s) == s.len) {
		p[s.len + 1] = '"';
		return p + s.len + 2;
	}
	b->len = (size_t)(p - b->ptr);
	rest_table_json_text_write(b, s);
	return room(b, behind);
}

static char *put_double(struct buf *b, char *p, double v, size_t behind)
{
	char *end = put_decimal(p, v);
	if (end)
		return end;
	b->len = (size_t)(p - b->ptr);
	json_put_double(b, v);
	return room(b, behind);
}

static char *put_quoted_i64(char *p, int64_t v)
{
	*p++ = '"';
	p = put_i64(p, v);
	*p++ = '"';
	return p;
}

static char *put_datetime(char *p, uint64_t ticks)
{
	*p++ = '"';
	p += edm_datetime_format(ticks, p);
	*p++ = '"';
	return p;
}

static char *put_guid(char *p, struct slice bytes)
{
	*p++ = '"';
	uuid_format((const struct uuid *)bytes.ptr, p);
	p += UUID_TEXT_BYTES;
	*p++ = '"';
	return p;
}

static char *put_binary(char *p, struct slice bytes)
{
	*p++ = '"';
	base64_encode_to(p, bytes);
	p += BASE64_BYTES(bytes.len);
	*p++ = '"';
	return p;
}

/* Beside a member's name and value: quotes, an annotation, a value of bounded length, what follows. */
enum { MEMBER_BYTES = 128 };

/* At p, with room for it as write_member reserves it; returns where it ended, with room for a comma. */
static INNER char *put_value(struct buf *b, char *p, const struct edm_value *v)
{
	switch (v->type) {
	case EDM_STRING:
		return put_text(b, p, v->bytes, 1);
	case EDM_INT32:
		return put_i64(p, v->integer);
	case EDM_BOOLEAN:
		return v->boolean ? PUT(p, "true") : PUT(p, "false");
	case EDM_DOUBLE:
		return put_double(b, p, v->number, 1);
	case EDM_INT64:
		return put_quoted_i64(p, v->integer);
	case EDM_DATETIME:
		return put_datetime(p, v->ticks);
	case EDM_GUID:
		return put_guid(p, v->bytes);
	case EDM_BINARY:
		return put_binary(p, v->bytes);
	default:
		return PUT(p, "null");
	}
}

/* Types a reader could not guess from the value. */
static bool is_annotated(enum odata_level level, const struct edm_value *v)
{
	if (level == ODATA_NONE)
		return false;
	return v->type == EDM_INT64 || v->type == EDM_DATETIME || v->type == EDM_GUID || v->type == EDM_BINARY ||
	       (v->type == EDM_DOUBLE && !isfinite(v->number));
}

static INNER void write_member(struct buf *b, enum odata_level level, struct slice name, const struct edm_value *v)
{
	bool has_bytes = v->type == EDM_STRING || v->type == EDM_BINARY;
	char *p = room(b, 2 * name.len + MEMBER_BYTES + (has_bytes ? 2 * v->bytes.len : 0));
	if (!p)
		return;
	/* Names are identifiers: nothing in them needs an escape. */
	*p++ = '"';
	p = put(p, name);
	if (is_annotated(level, v)) {
		p = PUT(p, "@odata.type\":\"");
		p = put(p, edm_type_name(v->type));
		p = PUT(p, "\",\"");
		p = put(p, name);
	}
	p = PUT(p, "\":");
	p = put_value(b, p, v);
	if (!p)
		return;
	*p++ = ',';
	b->len = (size_t)(p - b->ptr);
}

/* The text of an entity's ticks, which its ETag and its Timestamp have in common. It is copied with what may be behind
 * it, which is a constant number of bytes. */
struct stamp {
	size_t len;
	char text[EDM_DATETIME_TEXT_MAX];
};

/* As it stands in an ETag, yyyy-MM-ddTHH%3Amm%3Ass... */
static char *put_encoded(char *p, const struct stamp *s)
{
	p = put(p, slice_make(s->text, 13));
	p = PUT(p, "%3A");
	p = put(p, slice_make(s->text + 14, 2));
	p = PUT(p, "%3A");
	memcpy(p, s->text + 17, sizeof s->text - 17);
	return p + s->len - 17;
}

size_t rest_entity_etag_format(uint64_t ticks, char *dst)
{
	struct stamp s = { 0 };
	s.len = edm_datetime_format(ticks, s.text);
	char *p = PUT(dst, "W/\"datetime'");
	p = put_encoded(p, &s);
	p = PUT(p, "'\"");
	return (size_t)(p - dst);
}

uint64_t rest_entity_etag_parse(struct slice etag)
{
	struct slice head = SLICE("W/\"datetime'");
	char text[EDM_DATETIME_TEXT_MAX], again[ENTITY_ETAG_MAX];
	size_t n = 0;
	if (!slice_has_prefix(etag, head))
		return 0;
	for (size_t i = head.len; i < etag.len && etag.ptr[i] != '\'' && n < sizeof text; i++) {
		bool colon = slice_has_prefix(slice_from(etag, i), SLICE("%3A"));
		text[n++] = colon ? ':' : etag.ptr[i];
		i += colon ? 2 : 0;
	}
	uint64_t ticks;
	if (!edm_datetime_parse(slice_make(text, n), &ticks))
		return 0;
	size_t len = rest_entity_etag_format(ticks, again);
	return slice_eq(etag, slice_make(again, len)) ? ticks : 0;
}

void rest_entity_link_write(struct buf *b, const struct entity_writer *w, struct slice partition_key,
			    struct slice row_key)
{
	const struct slice keys[] = { partition_key, row_key };
	buf_put(b, w->table);
	BUF_PUT(b, "(PartitionKey='");
	for (int i = 0; i < 2; i++) {
		struct slice rest = keys[i];
		while (slice_is_set(rest)) {
			uri_encode(b, slice_cut(&rest, '\''), "");
			if (slice_is_set(rest))
				BUF_PUT(b, "''");
		}
		if (i == 0)
			BUF_PUT(b, "',RowKey='");
	}
	BUF_PUT(b, "')");
}

void rest_entity_metadata_write(struct buf *b, const struct entity_writer *w, bool element)
{
	BUF_PUT(b, "\"odata.metadata\":\"");
	buf_put(b, w->root);
	BUF_PUT(b, "$metadata#");
	buf_put(b, w->table);
	if (element)
		BUF_PUT(b, "/@Element");
	for (size_t i = 0; !w->select_all && i < w->select_count; i++) {
		buf_put(b, i ? SLICE(",") : SLICE("&$select="));
		buf_put(b, w->select[i]);
	}
	BUF_PUT(b, "\",");
}

static void write_full_head(struct buf *b, const struct entity_writer *w, const struct entity *e)
{
	BUF_PUT(b, "\"odata.type\":\"");
	buf_put(b, w->account);
	BUF_PUT(b, ".");
	buf_put(b, w->table);
	BUF_PUT(b, "\",\"odata.id\":\"");
	buf_put(b, w->root);
	rest_entity_link_write(b, w, e->partition_key, e->row_key);
	BUF_PUT(b, "\",");
}

static void write_heads(struct buf *b, const struct entity_writer *w, const struct entity *e, const struct stamp *stamp,
			bool metadata_url)
{
	if (metadata_url)
		rest_entity_metadata_write(b, w, true);
	if (w->level == ODATA_FULL)
		write_full_head(b, w, e);
	char *p = room(b, MEMBER_BYTES);
	if (!p)
		return;
	p = PUT(p, "\"odata.etag\":\"W/\\\"datetime'");
	p = put_encoded(p, stamp);
	p = PUT(p, "'\\\"\",");
	b->len = (size_t)(p - b->ptr);
	if (w->level == ODATA_FULL) {
		BUF_PUT(b, "\"odata.editLink\":\"");
		rest_entity_link_write(b, w, e->partition_key, e->row_key);
		BUF_PUT(b, "\",");
	}
}

/* Readers know the type of Timestamp: only full metadata says it. */
static char *put_timestamp(char *p, enum odata_level level, const struct stamp *stamp)
{
	if (level == ODATA_FULL)
		p = PUT(p, "\"Timestamp@odata.type\":\"Edm.DateTime\",");
	p = PUT(p, "\"Timestamp\":\"");
	memcpy(p, stamp->text, sizeof stamp->text);
	p += stamp->len;
	return PUT(p, "\",");
}

static void write_timestamp(struct buf *b, enum odata_level level, const struct stamp *stamp)
{
	char *p = room(b, MEMBER_BYTES);
	if (p)
		b->len = (size_t)(put_timestamp(p, level, stamp) - b->ptr);
}

/* What every entity begins with. */
static void write_keys(struct buf *b, enum odata_level level, const struct entity *e, const struct stamp *stamp)
{
	char *p = room(b, e->partition_key.len + e->row_key.len + 3 * MEMBER_BYTES);
	if (!p)
		return;
	p = PUT(p, "\"PartitionKey\":");
	p = put_text(b, p, e->partition_key, e->row_key.len + 2 * MEMBER_BYTES);
	if (!p)
		return;
	p = PUT(p, ",\"RowKey\":");
	p = put_text(b, p, e->row_key, MEMBER_BYTES);
	if (!p)
		return;
	*p++ = ',';
	p = put_timestamp(p, level, stamp);
	b->len = (size_t)(p - b->ptr);
}

/* Properties that $select names and the entity lacks stand there as null. */
static void write_selected(struct buf *b, const struct entity_writer *w, const struct entity *e,
			   const struct stamp *stamp)
{
	struct edm_value values[SELECT_MAX];
	struct property_cursor c = property_cursor_make(e->properties);
	struct property p;
	for (size_t i = 0; i < w->select_count; i++)
		values[i].type = EDM_NONE;
	while (property_next(&c, &p)) {
		int at = entity_name_index_find(w->select_index, w->select, p.name);
		if (at >= 0)
			values[at] = p.value;
	}
	for (size_t i = 0; i < w->select_count; i++) {
		struct slice name = w->select[i];
		if (slice_eq(name, SLICE("Timestamp"))) {
			write_timestamp(b, w->level, stamp);
			continue;
		}
		if (slice_eq(name, SLICE("PartitionKey")))
			values[i] = (struct edm_value){ .type = EDM_STRING, .bytes = e->partition_key };
		else if (slice_eq(name, SLICE("RowKey")))
			values[i] = (struct edm_value){ .type = EDM_STRING, .bytes = e->row_key };
		write_member(b, w->level, name, &values[i]);
	}
}

static void write_all(struct buf *b, const struct entity_writer *w, const struct entity *e, const struct stamp *stamp)
{
	struct property_cursor c = property_cursor_make(e->properties);
	struct property p;
	write_keys(b, w->level, e, stamp);
	while (property_next(&c, &p))
		write_member(b, w->level, p.name, &p.value);
}

void rest_entity_json_write(struct buf *b, struct entity_writer *w, const struct entity *e, bool metadata_url)
{
	struct stamp stamp = { 0 };
	stamp.len = edm_datetime_format_near(&w->second, e->ticks, stamp.text);
	buf_put_byte(b, '{');
	if (w->level != ODATA_NONE)
		write_heads(b, w, e, &stamp, metadata_url);
	if (w->select_all)
		write_all(b, w, e, &stamp);
	else
		write_selected(b, w, e, &stamp);
	/* Every member ended with a comma, whose place the bracket takes; an object without any has none. */
	if (buf_ok(b) && b->ptr[b->len - 1] == ',')
		b->ptr[b->len - 1] = '}';
	else
		buf_put_byte(b, '}');
}
