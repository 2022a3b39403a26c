/* SPDX-License-Identifier: Apache-2.0
 * Values of headers and fields: base64, dates, ETags, ranges. */
#include "base/limits.h"
#include "base/sys/clock.h"
#include "base/sys/rng.h"
#include "wire/base64.h"
#include "wire/date.h"
#include "wire/etag.h"
#include "wire/http/range.h"
#include "wire_test.h"

static void test_base64(void **state)
{
	static const struct {
		const char *raw, *text;
	} rows[] = { { "", "" },
		     { "f", "Zg==" },
		     { "fo", "Zm8=" },
		     { "foo", "Zm9v" },
		     { "foob", "Zm9vYg==" },
		     { "fooba", "Zm9vYmE=" },
		     { "foobar", "Zm9vYmFy" },
		     { "\xff\xef\xbe", "/+++" } };
	static const char *const bad[] = { "Z",	   "Zg",       "Zg=",	   "Zg===",   "=",    "==",   "====",
					   "Z===", "Zg==Zg==", "Zm9v\n",   " Zm9v",   "Zm 9", "Zm9-", "Zm9_",
					   "Zm=v", "Zm9v=",    "Zm9v====", "\x80m9v", "Zm9vY" };
	struct arena arena;
	struct buf b;
	struct slice out;
	arena_init(&arena, 1 << 20);
	buf_init(&b, 1024);
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		buf_clear(&b);
		base64_encode(&b, slice_str(rows[i].raw));
		assert_slice(buf_slice(&b), rows[i].text);
		struct slice text = exact(rows[i].text, strlen(rows[i].text));
		assert_int_equal(base64_decode(text, &arena, &out), ERR_OK);
		assert_slice(out, rows[i].raw);
		char raw[8];
		assert_true(base64_decode_exact(text, raw, out.len));
		assert_memory_equal(raw, rows[i].raw, out.len);
		assert_false(base64_decode_exact(text, raw, out.len + 1));
		exact_free(text);
	}
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		char raw[16];
		if (base64_decode(slice_str(bad[i]), &arena, &out) != ERR_SYNTAX)
			fail_msg("not refused: %s", bad[i]);
		for (size_t len = 0; len < 10; len++)
			assert_false(base64_decode_exact(slice_str(bad[i]), raw, len));
	}
	/* More bits than bytes: legal, dropped. */
	assert_int_equal(base64_decode(SLICE("block1=="), &arena, &out), ERR_OK);
	assert_int_equal(out.len, 4);
	assert_int_equal(base64url_decode(SLICE("_-8"), &arena, &out), ERR_OK);
	assert_slice(out, "\xff\xef");
	assert_int_equal(base64url_decode(SLICE("_-8="), &arena, &out), ERR_SYNTAX);
	assert_int_equal(base64url_decode(SLICE("/+8"), &arena, &out), ERR_SYNTAX);
	assert_int_equal(base64url_decode(SLICE("A"), &arena, &out), ERR_SYNTAX);
	buf_fini(&b);
	arena_fini(&arena);
}

static uint64_t unix_ticks(uint64_t seconds)
{
	return TICKS_UNIX_EPOCH + seconds * TICKS_PER_SECOND;
}

static void test_rfc1123(void **state)
{
	char text[DATE_RFC1123_BYTES];
	uint64_t t;
	static const struct {
		uint64_t unix_seconds;
		const char *text;
	} rows[] = {
		{ 784111777, "Sun, 06 Nov 1994 08:49:37 GMT" },	 { 0, "Thu, 01 Jan 1970 00:00:00 GMT" },
		{ 951782400, "Tue, 29 Feb 2000 00:00:00 GMT" },	 { 4107542400, "Mon, 01 Mar 2100 00:00:00 GMT" },
		{ 1767225599, "Wed, 31 Dec 2025 23:59:59 GMT" }, { 253402300799, "Fri, 31 Dec 9999 23:59:59 GMT" }
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		date_format_rfc1123(unix_ticks(rows[i].unix_seconds) + 9999999, text);
		assert_slice(slice_make(text, sizeof text), rows[i].text);
		assert_true(date_parse_rfc1123(slice_str(rows[i].text), &t));
		assert_true(t == unix_ticks(rows[i].unix_seconds));
	}
	date_format_rfc1123(TICKS_FOREVER, text);
	assert_slice(slice_make(text, sizeof text), "Fri, 31 Dec 9999 23:59:59 GMT");
	date_format_rfc1123(0, text);
	assert_slice(slice_make(text, sizeof text), "Mon, 01 Jan 0001 00:00:00 GMT");
	static const char *const bad[] = {
		"",
		"Mon, 06 Nov 1994 08:49:37 GMT",
		"Sun, 06 Nov 1994 08:49:37 UTC",
		"Sun, 06 Nov 1994 08:49:37",
		"Sun, 6 Nov 1994 08:49:37 GMT",
		"Sun, 06 nov 1994 08:49:37 GMT",
		"Sun, 06 Nov 1994 24:00:00 GMT",
		"Sun, 06 Nov 1994 08:60:37 GMT",
		"Sun, 06 Nov 1994 08:49:60 GMT",
		"Thu, 29 Feb 1900 00:00:00 GMT",
		"Sun, 31 Nov 1994 08:49:37 GMT",
		"Sun, 00 Nov 1994 08:49:37 GMT",
		"Sun, 06 Nov 0000 08:49:37 GMT",
		"Sun, 06-Nov-1994 08:49:37 GMT",
		" Sun, 06 Nov 1994 08:49:37 GMT",
		"Sunday, 06-Nov-94 08:49:37 GMT",
		"Sun Nov  6 08:49:37 1994",
		"Sun, 06 Nov 1994 08:49:37 GMT ",
		"Sun, 06 Nov 1994 0a:49:37 GMT",
		"Sun, 06 Xyz 1994 08:49:37 GMT",
	};
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		struct slice s = exact(bad[i], strlen(bad[i]));
		if (date_parse_rfc1123(s, &t))
			fail_msg("not refused: %s", bad[i]);
		exact_free(s);
	}
}

/* Every day of 1..9999 follows its predecessor by the calendar's own rules. */
static void test_calendar(void **state)
{
	static const unsigned lengths[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
	unsigned y = 1, m = 1, d = 1;
	for (uint64_t day = 0; day < 3652059; day++) {
		struct date_civil c;
		uint64_t t, expected = day * 86400 * TICKS_PER_SECOND + 123;
		date_civil_of(expected, &c);
		if (c.year != y || c.month != m || c.day != d || c.weekday != day % 7 || c.hour ||
		    c.fraction_ticks != 123 || !date_civil_ticks(&c, &t) || t != expected)
			fail_msg("day %llu", (unsigned long long)day);
		bool leap = y % 4 == 0 && (y % 100 || y % 400 == 0);
		if (++d > lengths[m - 1] + (m == 2 && leap)) {
			d = 1;
			if (++m > 12) {
				m = 1;
				y++;
			}
		}
	}
	assert_int_equal(y, 10000);
}

static void test_iso(void **state)
{
	static const struct {
		const char *text;
		uint64_t unix_seconds, ticks;
	} good[] = {
		{ "1994-11-06", 784080000, 0 },
		{ "1994-11-06T08:49Z", 784111740, 0 },
		{ "1994-11-06T08:49:37Z", 784111777, 0 },
		{ "1994-11-06t08:49:37z", 784111777, 0 },
		{ "1994-11-06T08:49:37.5Z", 784111777, 5000000 },
		{ "1994-11-06T08:49:37.123Z", 784111777, 1230000 },
		{ "1994-11-06T08:49:37.1234567Z", 784111777, 1234567 },
		{ "1994-11-06T08:49:37.0000001Z", 784111777, 1 },
		{ "1994-11-06T09:49:37+01:00", 784111777, 0 },
		{ "1994-11-06T03:19:37.5-05:30", 784111777, 5000000 },
		{ "1994-11-06T08:49+00:00", 784111740, 0 },
		{ "1994-11-07T00:00+14:00", 784116000, 0 },
	};
	static const char *const bad[] = {
		"",
		"1994",
		"1994-11",
		"1994-11-6",
		"1994-13-06",
		"1994-11-31",
		"94-11-06",
		"1994/11/06",
		"1994-11-06 08:49:37Z",
		"1994-11-06T",
		"1994-11-06T08",
		"1994-11-06T08Z",
		"1994-11-06T08:49",
		"1994-11-06T08:49:37",
		"1994-11-06T08:49:3Z",
		"1994-11-06T08:49:37.Z",
		"1994-11-06T08:49:37.12345678Z",
		"1994-11-06T08:49:37,5Z",
		"1994-11-06T08:49:37ZZ",
		"1994-11-06T08:49:37+0100",
		"1994-11-06T08:49:37+01",
		"1994-11-06T08:49:37+15:00",
		"1994-11-06T08:49:37+01:60",
		"1994-11-06T24:00:00Z",
		"1994-11-06T08:60:00Z",
		"1994-11-06T08:49:60Z",
		"0001-01-01T00:00+00:01",
		"9999-12-31T23:59:59-00:01",
		"1994-11-06Z",
		"1994-11-06T08:49:37.5",
		"+994-11-06",
		"0000-01-01",
	};
	uint64_t t;
	for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
		if (!date_parse_iso(slice_str(good[i].text), &t) ||
		    t != unix_ticks(good[i].unix_seconds) + good[i].ticks)
			fail_msg("%s", good[i].text);
	}
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		struct slice s = exact(bad[i], strlen(bad[i]));
		if (date_parse_iso(s, &t))
			fail_msg("not refused: %s", bad[i]);
		exact_free(s);
	}
}

static void test_iso_forms(void **state)
{
	static const struct {
		uint64_t ticks;
		const char *full, *brief;
	} forms[] = {
		{ 0, "1994-11-06T08:49:37.0000000Z", "1994-11-06T08:49:37Z" },
		{ 1, "1994-11-06T08:49:37.0000001Z", "1994-11-06T08:49:37.0000001Z" },
		{ 1234500, "1994-11-06T08:49:37.1234500Z", "1994-11-06T08:49:37.12345Z" },
		{ 5000000, "1994-11-06T08:49:37.5000000Z", "1994-11-06T08:49:37.5Z" },
		{ 9999999, "1994-11-06T08:49:37.9999999Z", "1994-11-06T08:49:37.9999999Z" },
	};
	for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
		char text[DATE_ISO_BYTES];
		date_format_iso(unix_ticks(784111777) + forms[i].ticks, text);
		assert_slice(slice_make(text, sizeof text), forms[i].full);
		size_t n = date_format_iso_short(unix_ticks(784111777) + forms[i].ticks, text);
		assert_slice(slice_make(text, n), forms[i].brief);
	}
}

static void test_date_round_trip(void **state)
{
	struct rng rng;
	struct buf b;
	char brief[DATE_ISO_BYTES];
	rng_init_seed(&rng, 7);
	buf_init(&b, 256);
	for (int i = 0; i < 100000; i++) {
		uint64_t t = rng_below(&rng, DATE_TICKS_MAX + 1), back;
		buf_clear(&b);
		date_put_iso(&b, t);
		assert_true(date_parse_iso(buf_slice(&b), &back) && back == t);
		size_t n = date_format_iso_short(t, brief);
		assert_true(date_parse_iso(slice_make(brief, n), &back) && back == t);
		buf_clear(&b);
		date_put_rfc1123(&b, t);
		assert_true(date_parse_rfc1123(buf_slice(&b), &back) && back == t - t % TICKS_PER_SECOND);
	}
	buf_fini(&b);
}

static void test_etag(void **state)
{
	char text[ETAG_BYTES];
	uint64_t v;
	etag_format(UINT64_C(0x8D4BCC2E4835CD0), text);
	assert_slice(slice_make(text, sizeof text), "\"0x8D4BCC2E4835CD0\"");
	etag_format(1, text);
	assert_slice(slice_make(text, sizeof text), "\"0x000000000000001\"");
	assert_true(etag_parse(SLICE("\"0x8D4BCC2E4835CD0\""), &v) && v == UINT64_C(0x8D4BCC2E4835CD0));
	assert_true(etag_parse(SLICE("0x8D4BCC2E4835CD0"), &v) && v == UINT64_C(0x8D4BCC2E4835CD0));
	static const char *const bad[] = { "",
					   "\"\"",
					   "0x",
					   "0X8D4BCC2E4835CD0",
					   "\"0x8d4bcc2e4835cd0\"",
					   "\"0x8D4BCC2E4835CD0",
					   "0x8D4BCC2E4835CD0\"",
					   "0x8D4BCC2E4835CDG",
					   "0x08D4BCC2E4835CD0",
					   "0x8D4BCC2E4835CD",
					   "W/\"0x8D4BCC2E4835CD0\"",
					   "garbage" };
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
		if (etag_parse(slice_str(bad[i]), &v))
			fail_msg("not refused: %s", bad[i]);
}

static void test_etag_list(void **state)
{
	struct arena arena;
	struct etag_list l;
	arena_init(&arena, 1 << 16);
#define A "0x00000000000000A"
#define B "0x00000000000000B"
	assert_int_equal(etag_parse_list(SLICE("*"), &arena, &l), ERR_OK);
	assert_true(l.any && l.count == 0 && l.foreign_count == 0);
	assert_int_equal(etag_parse_list(SLICE("\"" A "\""), &arena, &l), ERR_OK);
	assert_true(!l.any && l.count == 1 && l.etags[0] == 10);
	assert_int_equal(etag_parse_list(SLICE(" \"" A "\" ,\t" B), &arena, &l), ERR_OK);
	assert_true(l.count == 2 && l.etags[0] == 10 && l.etags[1] == 11 && l.foreign_count == 0);
	assert_int_equal(etag_parse_list(SLICE("garbage, \"a,b\", W/\"" A "\", W/x, \"*\", " B), &arena, &l), ERR_OK);
	assert_true(l.count == 1 && l.etags[0] == 11 && l.foreign_count == 5 && !l.any);
	static const char *const bad[] = {
		"",    " ",   ",",    "\"",	 "\"" A, A "\"", "*, \"" A "\"", "\"" A "\", *", "\"" A "\" x",
		"*,*", A ",", "W/\"", "\"a\"b\""
	};
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
		if (etag_parse_list(slice_str(bad[i]), &arena, &l) != ERR_SYNTAX)
			fail_msg("not refused: %s", bad[i]);
	struct buf b;
	buf_init(&b, 8192);
	for (uint64_t i = 0; i < LIMIT_ETAGS; i++) {
		if (i)
			BUF_PUT(&b, ",");
		etag_put(&b, i);
	}
	assert_int_equal(etag_parse_list(buf_slice(&b), &arena, &l), ERR_OK);
	assert_true(l.count == LIMIT_ETAGS && l.etags[LIMIT_ETAGS - 1] == LIMIT_ETAGS - 1);
	BUF_PUT(&b, ",x");
	assert_int_equal(etag_parse_list(buf_slice(&b), &arena, &l), ERR_LIMIT);
	buf_fini(&b);
	arena_fini(&arena);
}

static void test_range(void **state)
{
	static const struct {
		const char *text;
		enum range_kind kind;
		uint64_t first, last;
	} rows[] = {
		{ NULL, RANGE_NONE, 0, 0 },
		{ "bytes=0-0", RANGE_CLOSED, 0, 0 },
		{ "Bytes=0-511", RANGE_CLOSED, 0, 511 },
		{ " bytes=5-7 ", RANGE_CLOSED, 5, 7 },
		{ "bytes=512-", RANGE_OPEN, 512, UINT64_MAX },
		{ "bytes=2147483647-2147483648", RANGE_CLOSED, 2147483647, UINT64_C(2147483648) },
		{ "bytes=4294967295-4294967296", RANGE_CLOSED, UINT64_C(4294967295), UINT64_C(4294967296) },
		{ "bytes=9223372036854775807-9223372036854775808", RANGE_CLOSED, INT64_MAX, UINT64_C(1) << 63 },
		{ "bytes=0-18446744073709551615", RANGE_CLOSED, 0, UINT64_MAX },
		{ "bytes=0-18446744073709551616", RANGE_CLOSED, 0, UINT64_MAX },
		{ "bytes=18446744073709551616-", RANGE_OPEN, UINT64_MAX, UINT64_MAX },
		{ "bytes=99999999999999999999999-999999999999999999999999", RANGE_CLOSED, UINT64_MAX, UINT64_MAX },
		{ "bytes=-5", RANGE_NONE, 0, 0 },
		{ "bytes=0-1,3-4", RANGE_NONE, 0, 0 },
		{ "items=0-1", RANGE_NONE, 0, 0 },
		{ "", RANGE_BAD, 0, 0 },
		{ "0-5", RANGE_BAD, 0, 0 },
		{ "bytes=", RANGE_BAD, 0, 0 },
		{ "bytes=-", RANGE_BAD, 0, 0 },
		{ "bytes=5", RANGE_BAD, 0, 0 },
		{ "bytes=5-4", RANGE_BAD, 0, 0 },
		{ "bytes=+5-6", RANGE_BAD, 0, 0 },
		{ "bytes=5--6", RANGE_BAD, 0, 0 },
		{ "bytes=5-6x", RANGE_BAD, 0, 0 },
		{ "bytes=x-6", RANGE_BAD, 0, 0 },
		{ "bytes= 5-6", RANGE_BAD, 0, 0 },
		{ "bytes=0x5-6", RANGE_BAD, 0, 0 },
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct range r = range_parse(slice_str(rows[i].text));
		if (r.kind != rows[i].kind ||
		    (r.kind >= RANGE_OPEN && (r.first != rows[i].first || r.last != rows[i].last)))
			fail_msg("row %zu: %s", i, rows[i].text);
	}
	struct range r = range_parse_either(SLICE("bytes=1-2"), SLICE("bytes=3-4"));
	assert_true(r.first == 1);
	r = range_parse_either(SLICE_NONE, SLICE("bytes=3-4"));
	assert_true(r.first == 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_base64), cmocka_unit_test(test_rfc1123),	 cmocka_unit_test(test_calendar),
		cmocka_unit_test(test_iso),    cmocka_unit_test(test_iso_forms), cmocka_unit_test(test_date_round_trip),
		cmocka_unit_test(test_etag),   cmocka_unit_test(test_etag_list), cmocka_unit_test(test_range),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
