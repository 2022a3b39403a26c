/* SPDX-License-Identifier: Apache-2.0
 * Binary fields, identifiers, numbers and arenas: what records and requests are made of. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/bytes.h"
#include "base/sys/rng.h"

static void fields_round_trip(void **state)
{
	(void)state;
	struct buf b;
	buf_init(&b, 1024);
	bytes_put_u8(&b, 0xfe);
	bytes_put_u16(&b, 0xfedc);
	bytes_put_u32(&b, 0xfedcba98u);
	bytes_put_u64(&b, UINT64_C(0xfedcba9876543210));
	bytes_put_str(&b, SLICE("text"));
	bytes_put_str(&b, SLICE(""));
	bytes_put_str(&b, SLICE_NONE);
	for (size_t cut = 0; cut <= b.len; cut++) {
		struct cursor c = cursor_make(slice_first(buf_slice(&b), cut));
		uint8_t u8 = cursor_u8(&c);
		uint16_t u16 = cursor_u16(&c);
		uint32_t u32 = cursor_u32(&c);
		uint64_t u64 = cursor_u64(&c);
		struct slice text = cursor_str(&c), empty = cursor_str(&c), none = cursor_str(&c);
		if (cut < b.len) {
			assert_false(cursor_done(&c));
			continue;
		}
		assert_true(cursor_done(&c));
		assert_int_equal(u8, 0xfe);
		assert_int_equal(u16, 0xfedc);
		assert_int_equal(u32, 0xfedcba98u);
		assert_true(u64 == UINT64_C(0xfedcba9876543210));
		assert_true(slice_eq(text, SLICE("text")));
		assert_true(slice_is_set(empty) && empty.len == 0);
		assert_false(slice_is_set(none));
	}
	buf_fini(&b);
}

static void fields_in_place(void **state)
{
	(void)state;
	for (size_t bytes = 1; bytes <= 8; bytes++) {
		unsigned char field[10] = { 0 };
		uint64_t v = UINT64_C(0xfedcba9876543210), kept = bytes < 8 ? v & ((UINT64_C(1) << 8 * bytes) - 1) : v;
		bytes_store(field + 1, v, bytes);
		for (size_t i = 0; i < sizeof field; i++)
			assert_int_equal(field[i], i >= 1 && i <= bytes ? v >> 8 * (i - 1) & 0xff : 0);
		assert_true(bytes_load(field + 1, bytes) == kept);
	}
}

static void uuids(void **state)
{
	(void)state;
	static const char *const good[] = { "6f9619ff8b86d011b42d00cf4fc964ff", "6F9619FF-8B86-D011-B42D-00CF4FC964FF",
					    "{6f9619ff-8b86-d011-b42d-00cf4fc964ff}",
					    "(6f9619ff-8b86-d011-b42d-00cf4fc964ff)" };
	static const char *const bad[] = { "",
					   "6f9619ff",
					   "6f9619ff-8b86-d011-b42d-00cf4fc964f",
					   "{6f9619ff-8b86-d011-b42d-00cf4fc964ff)",
					   "6f9619ff-8b86-d011-b42d-00cf4fc964fg",
					   "6f9619ff8-b86-d011-b42d-00cf4fc964ff" };
	struct uuid first, u;
	char text[UUID_TEXT_BYTES];
	assert_true(uuid_parse(slice_str(good[0]), &first));
	for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
		assert_true(uuid_parse(slice_str(good[i]), &u));
		assert_true(uuid_eq(&first, &u));
	}
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_false(uuid_parse(slice_str(bad[i]), &u));
	uuid_format(&first, text);
	assert_memory_equal(text, "6f9619ff-8b86-d011-b42d-00cf4fc964ff", sizeof text);
}

static void numbers(void **state)
{
	(void)state;
	uint64_t u;
	int64_t i;
	assert_true(slice_to_u64(SLICE("18446744073709551615"), &u) && u == UINT64_MAX);
	assert_false(slice_to_u64(SLICE("18446744073709551616"), &u));
	assert_false(slice_to_u64(SLICE(""), &u));
	assert_false(slice_to_u64(SLICE("+1"), &u));
	assert_false(slice_to_u64(SLICE(" 1"), &u));
	assert_true(slice_to_i64(SLICE("-9223372036854775808"), &i) && i == INT64_MIN);
	assert_false(slice_to_i64(SLICE("9223372036854775808"), &i));
	assert_false(slice_to_i64(SLICE("-"), &i));
}

/* Every pair of bytes, at every place of slices around a word's length. */
static void comparisons(void **state)
{
	(void)state;
	for (size_t len = 1; len <= 20; len++)
		for (unsigned pair = 0; pair < 65536; pair += len == 1 ? 1 : 251) {
			char a[20], b[20];
			size_t at = pair % len;
			memset(a, 'k', sizeof a);
			memset(b, 'k', sizeof b);
			a[at] = (char)(pair >> 8);
			b[at] = (char)pair;
			struct slice x = slice_make(a, len), y = slice_make(b, len);
			int low = (pair & 0xff) >= 'A' && (pair & 0xff) <= 'Z' ? 0x20 : 0;
			int high = pair >> 8 >= 'A' && pair >> 8 <= 'Z' ? 0x20 : 0;
			bool alike = ((pair >> 8) | (unsigned)high) == ((pair & 0xff) | (unsigned)low);
			assert_int_equal(slice_eq_nocase(x, y), alike);
			assert_int_equal(slice_has_prefix_nocase(x, slice_first(y, at)), true);
			assert_int_equal(slice_eq_consttime(x, y), a[at] == b[at]);
			assert_false(slice_eq_consttime(x, slice_first(y, len - 1)));
			assert_false(slice_eq_nocase(x, slice_first(y, len - 1)));
		}
	assert_true(slice_eq_consttime(SLICE(""), SLICE_NONE));
	assert_true(slice_eq_nocase(SLICE(""), SLICE_NONE));
}

static void arenas_end(void **state)
{
	(void)state;
	struct arena a;
	arena_init(&a, 64 * 1024);
	size_t got = 0;
	while (arena_alloc(&a, 1000))
		got += 1000;
	assert_true(got >= 32 * 1024 && got <= 64 * 1024);
	assert_null(arena_alloc(&a, SIZE_MAX));
	assert_null(arena_zalloc_array(&a, SIZE_MAX / 2, 4));
	arena_reset(&a);
	assert_non_null(arena_alloc(&a, 1000));
	arena_fini(&a);
}

/* Text of every length around what is left where it is printed to. */
static void prints_fit_anywhere(void **state)
{
	(void)state;
	static char letters[9000];
	memset(letters, 'x', sizeof letters);
	for (int length = 0; length < (int)sizeof letters; length += length < 520 || length > 8000 ? 1 : 97) {
		struct arena a;
		struct buf b;
		arena_init(&a, 64 * 1024);
		buf_init(&b, 64 * 1024);
		for (int i = 0; i < 3; i++) {
			struct slice text = arena_printf(&a, "%d%.*s%d", i, length, letters, i);
			assert_int_equal(text.len, length + 2);
			assert_int_equal(text.ptr[0], '0' + i);
			assert_int_equal(text.ptr[length + 1], '0' + i);
			buf_printf(&b, "%d%.*s%d", i, length, letters, i);
			assert_memory_equal(b.ptr + (size_t)i * text.len, text.ptr, text.len);
		}
		assert_true(buf_ok(&b));
		assert_int_equal(b.len, 3 * (length + 2));
		buf_fini(&b);
		arena_fini(&a);
	}
	struct buf small;
	buf_init(&small, 4);
	buf_printf(&small, "%s", "abc");
	assert_true(buf_ok(&small));
	buf_printf(&small, "%s", "d");
	assert_false(buf_ok(&small));
	assert_memory_equal(small.ptr, "abc", 3);
	buf_fini(&small);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(fields_round_trip),
					    cmocka_unit_test(fields_in_place),
					    cmocka_unit_test(uuids),
					    cmocka_unit_test(numbers),
					    cmocka_unit_test(comparisons),
					    cmocka_unit_test(arenas_end),
					    cmocka_unit_test(prints_fit_anywhere) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
