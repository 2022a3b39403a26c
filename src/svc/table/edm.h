/* SPDX-License-Identifier: Apache-2.0
 * The types of table properties (Edm) and their bytes in a record.
 *
 * A property is stored as
 *   u8 type | varint name length | name | value
 *   String, Binary  varint length | bytes            Int32, Int64  zigzag varint
 *   Double          u64 little-endian bits           Boolean       u8 0 or 1
 *   DateTime        u64 ticks since 0001-01-01       Guid          16 bytes, in the order of its text
 * Varints are 7 bits a byte, low bits first. The numbers of enum edm_type are on disk: they never change.
 * A run of properties is their concatenation; order is the order of arrival, names are unique within an entity.
 *
 * Slices of a decoded value point into the run. Everything here is pure; any thread. */
#ifndef SVC_TABLE_EDM_H
#define SVC_TABLE_EDM_H

#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"

enum edm_type {
	EDM_NONE = 0, /* no value: a property the entity does not have */
	EDM_STRING = 1,
	EDM_INT32 = 2,
	EDM_INT64 = 3,
	EDM_DOUBLE = 4,
	EDM_BOOLEAN = 5,
	EDM_DATETIME = 6,
	EDM_GUID = 7,
	EDM_BINARY = 8,
	EDM_TYPE_COUNT
};

struct edm_value {
	enum edm_type type;
	union {
		int64_t integer; /* Int32, Int64 */
		double number;
		bool boolean;
		uint64_t ticks;
		struct slice bytes; /* String, Binary, Guid (16) */
	};
};

struct property {
	struct slice name;
	struct edm_value value;
	struct slice encoded; /* all of it, type to value */
};

void property_encode(struct buf *, struct slice name, const struct edm_value *);

struct property_cursor {
	const unsigned char *at;
	const unsigned char *end;
	bool failed; /* the run is damaged */
};

static inline struct property_cursor property_cursor_make(struct slice properties)
{
	const unsigned char *at = (const unsigned char *)properties.ptr;
	return (struct property_cursor){ at, properties.len ? at + properties.len : at, false };
}
/* The next one; false at the end or on damage (then failed is set). */
bool property_next(struct property_cursor *, struct property *ret);

/* Finds names among at most NAME_INDEX_MAX, so that runs with many properties meet in linear time. The names stay with
 * the caller; start with a zeroed index. */
enum { NAME_INDEX_SLOTS = 2048, NAME_INDEX_MAX = 1024 };
struct name_index {
	uint16_t slot[NAME_INDEX_SLOTS]; /* position + 1, 0 = free */
};
void entity_name_index_add(struct name_index *, const struct slice *names, size_t position);
/* The position of the name, or -1. */
int entity_name_index_find(const struct name_index *, const struct slice *names, struct slice name);

/* "Edm.String" and so on, exactly; EDM_NONE if it is none of them. */
enum edm_type edm_type_from_name(struct slice name);
struct slice edm_type_name(enum edm_type);

/* Bytes of a value as the service counts them towards 64 KiB and 1 MiB: text is UTF-16. */
size_t edm_value_size(const struct edm_value *);
/* UTF-16 code units of UTF-8 text. */
size_t edm_utf16_units(struct slice utf8);

/* How a stored value relates to a literal: -1, 0, 1; false if they do not compare (other type, NaN). A whole number
 * without 'L' is an Int32 and also compares with a stored Int64 or Double, as the service widens it; nothing else is
 * converted. Strings and binaries compare by bytes, false is less than true. */
bool edm_compare(const struct edm_value *stored, const struct edm_value *literal, int *ret);

/* ISO 8601, date and time to the minute at least, up to 9 fraction digits (7 count), then 'Z', an offset or nothing. */
bool edm_datetime_parse(struct slice text, uint64_t *ret_ticks);
enum { EDM_DATETIME_TEXT_MAX = 28 };
/* yyyy-MM-ddTHH:mm:ss[.fffffff]Z, trailing zeros of the fraction dropped, later times as the last; returns the length.
 */
size_t edm_datetime_format(uint64_t ticks, char *dst);
/* The same for times that come in a row: what they have in common with the last one is not worked out again. Start with
 * a zeroed one. */
struct edm_second {
	uint64_t end;  /* the second behind it; 0 = none yet */
	char text[19]; /* yyyy-MM-ddTHH:mm:ss */
};
size_t edm_datetime_format_near(struct edm_second *last, uint64_t ticks, char *dst);
/* Bounds of a stored DateTime: 1601-01-01T00:00:00Z and 9999-12-31T23:59:59.9999999Z. */
#define EDM_DATETIME_MIN UINT64_C(504911232000000000)
#define EDM_DATETIME_MAX UINT64_C(3155378975999999999)

#endif
