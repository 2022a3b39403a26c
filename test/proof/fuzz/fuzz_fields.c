/* SPDX-License-Identifier: Apache-2.0
 * Dates, ETags, ranges, checksums in headers. */
#include "base/limits.h"
#include "fuzz.h"
#include "wire/date.h"
#include "wire/etag.h"
#include "wire/hash.h"
#include "wire/http/range.h"

static void check_dates(struct slice s, struct buf *b)
{
	uint64_t t, back;
	if (date_parse_rfc1123(s, &t)) {
		buf_clear(b);
		date_put_rfc1123(b, t);
		CHECK(slice_eq(buf_slice(b), s));
	}
	if (date_parse_iso(s, &t)) {
		CHECK(t <= DATE_TICKS_MAX);
		buf_clear(b);
		date_put_iso(b, t);
		CHECK(date_parse_iso(buf_slice(b), &back) && back == t);
		char brief[DATE_ISO_BYTES];
		size_t n = date_format_iso_short(t, brief);
		CHECK(date_parse_iso(slice_make(brief, n), &back) && back == t);
	}
}

static void check_etags(struct slice s, struct buf *b, struct arena *arena)
{
	uint64_t t;
	if (etag_parse(s, &t)) {
		buf_clear(b);
		etag_put(b, t);
		struct slice text = buf_slice(b);
		CHECK(slice_eq(text, s) || slice_eq(slice_make(text.ptr + 1, text.len - 2), s));
	}
	struct etag_list l, again;
	if (etag_parse_list(s, arena, &l) != ERR_OK)
		return;
	CHECK(l.count + l.foreign_count <= LIMIT_ETAGS && (l.any || l.count + l.foreign_count > 0));
	buf_clear(b);
	for (size_t i = 0; i < l.count; i++) {
		if (i)
			BUF_PUT(b, " , ");
		etag_put(b, l.etags[i]);
	}
	if (l.count)
		CHECK(etag_parse_list(buf_slice(b), arena, &again) == ERR_OK && again.count == l.count &&
		      again.foreign_count == 0);
}

static void check_range(struct slice s, struct buf *b)
{
	struct range r = range_parse(s);
	if (r.kind < RANGE_OPEN)
		return;
	CHECK(r.first <= r.last);
	buf_clear(b);
	BUF_PUT(b, "bytes=");
	buf_put_u64_dec(b, r.first);
	BUF_PUT(b, "-");
	if (r.kind == RANGE_CLOSED)
		buf_put_u64_dec(b, r.last);
	struct range again = range_parse(buf_slice(b));
	CHECK(again.kind == r.kind && again.first == r.first && again.last == r.last);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slice s = slice_make(data, size);
	struct buf b;
	struct arena arena;
	uint64_t crc;
	buf_init(&b, 1 << 20);
	arena_init(&arena, 1 << 20);
	check_dates(s, &b);
	check_etags(s, &b, &arena);
	check_range(s, &b);
	if (hash_crc64_parse(s, &crc)) {
		char text[HASH_CRC64_TEXT_BYTES];
		uint64_t back;
		hash_crc64_format(crc, text);
		CHECK(hash_crc64_parse(slice_make(text, sizeof text), &back) && back == crc);
	}
	CHECK(hash_crc64(0, s) == hash_crc64_portable(0, s));
	CHECK(buf_ok(&b));
	arena_fini(&arena);
	buf_fini(&b);
	return 0;
}
