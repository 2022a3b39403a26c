/* SPDX-License-Identifier: Apache-2.0
 * Names and paths: what is allowed, how they compare and sort. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "svc/file/name.h"

static struct arena arena;

static enum err split(const char *text, bool keep_dots, struct file_path *ret)
{
	return file_path_split(&arena, slice_str(text), (struct file_path_rules){ .keep_dots = keep_dots }, ret);
}

static void test_allowed(void **state)
{
	(void)state;
	static const struct {
		const char *name;
		enum err wanted;
	} cases[] = {
		{ "a", ERR_OK },
		{ "with space! #$%&'()+,;=@[]^`{}", ERR_OK },
		{ "\xef\xbf\xbf", ERR_OK }, /* U+FFFF */
		{ "\xf0\x9f\x98\x80", ERR_OK },
		{ "con.txt", ERR_OK },
		{ "COM0", ERR_OK },
		{ "", ERR_INVALID_RESOURCE_NAME },
		{ ".", ERR_INVALID_RESOURCE_NAME },
		{ "..", ERR_INVALID_RESOURCE_NAME },
		{ "nul", ERR_INVALID_RESOURCE_NAME },
		{ "Lpt9", ERR_INVALID_RESOURCE_NAME },
		{ "clock$", ERR_INVALID_RESOURCE_NAME },
		{ "a:b", ERR_INVALID_RESOURCE_NAME },
		{ "a\\b", ERR_INVALID_RESOURCE_NAME },
		{ "a\"b", ERR_INVALID_RESOURCE_NAME },
		{ "a|b", ERR_INVALID_RESOURCE_NAME },
		{ "a<b", ERR_INVALID_RESOURCE_NAME },
		{ "a>b", ERR_INVALID_RESOURCE_NAME },
		{ "a*b", ERR_INVALID_RESOURCE_NAME },
		{ "a?b", ERR_INVALID_RESOURCE_NAME },
		{ "a\x1f", ERR_INVALID_RESOURCE_NAME },
		{ "\xc3", ERR_INVALID_RESOURCE_NAME },	       /* cut off */
		{ "\xed\xa0\x80", ERR_INVALID_RESOURCE_NAME }, /* a surrogate */
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		if (file_name_check(slice_str(cases[i].name)) != cases[i].wanted)
			fail_msg("\"%s\": not %s", cases[i].name, err_name(cases[i].wanted));
}

static void test_lengths(void **state)
{
	(void)state;
	char text[4 * 2100];
	struct file_path p;
	memset(text, 'a', sizeof text);
	assert_int_equal(file_name_check(slice_make(text, 255)), ERR_OK);
	assert_int_equal(file_name_check(slice_make(text, 256)), ERR_NAME_LENGTH_OUT_OF_RANGE);
	/* A character beyond U+FFFF is two units. */
	for (size_t i = 0; i < 128; i++)
		memcpy(text + 4 * i, "\xf0\x9f\x98\x80", 4);
	assert_int_equal(file_name_check(slice_make(text, 4 * 127)), ERR_OK);
	assert_int_equal(file_name_check(slice_make(text, 4 * 128)), ERR_NAME_LENGTH_OUT_OF_RANGE);
	/* 250 levels, 2,048 characters with the separators. */
	for (size_t i = 0; i < 251; i++)
		memcpy(text + 2 * i, "a/", 2);
	struct file_path_rules none = { false, false };
	assert_int_equal(file_path_split(&arena, slice_make(text, 2 * 250 - 1), none, &p), ERR_OK);
	assert_int_equal(p.count, 250);
	assert_int_equal(file_path_split(&arena, slice_make(text, 2 * 251 - 1), none, &p),
			 ERR_INVALID_FILE_OR_DIRECTORY_PATH_NAME);
	memset(text, 'a', sizeof text);
	for (size_t i = 1; i <= 8; i++)
		text[i * 228 - 1] = '/';
	assert_int_equal(file_path_split(&arena, slice_make(text, 2048), none, &p), ERR_OK);
	assert_int_equal(file_path_split(&arena, slice_make(text, 2049), none, &p),
			 ERR_INVALID_FILE_OR_DIRECTORY_PATH_NAME);
}

static void test_paths(void **state)
{
	(void)state;
	struct file_path p;
	assert_int_equal(split("", false, &p), ERR_OK);
	assert_int_equal(p.count, 0);
	assert_int_equal(split("/", false, &p), ERR_OK);
	assert_int_equal(p.count, 0);
	assert_int_equal(split("/a/b/", false, &p), ERR_OK);
	assert_int_equal(p.count, 2);
	assert_true(slice_eq(p.name[1], SLICE("b")));
	assert_int_equal(split("a//b", false, &p), ERR_INVALID_RESOURCE_NAME);
	assert_int_equal(split("a//", false, &p), ERR_INVALID_RESOURCE_NAME);
	assert_int_equal(split("a../b.", false, &p), ERR_OK);
	assert_true(slice_eq(p.name[0], SLICE("a")) && slice_eq(p.name[1], SLICE("b")));
	assert_int_equal(split("a../b.", true, &p), ERR_OK);
	assert_true(slice_eq(p.name[0], SLICE("a..")) && slice_eq(p.name[1], SLICE("b.")));
	assert_int_equal(split("a/...", false, &p), ERR_INVALID_RESOURCE_NAME);
	assert_int_equal(file_path_split(&arena, SLICE("a\\b"), (struct file_path_rules){ .backslash = true }, &p),
			 ERR_OK);
	assert_int_equal(p.count, 2);
}

static int order(const char *a, const char *b)
{
	struct slice x = file_name_fold(&arena, slice_str(a)), y = file_name_fold(&arena, slice_str(b));
	int c = slice_cmp(x, y);
	return c < 0 ? -1 : c > 0;
}

static void test_folding(void **state)
{
	(void)state;
	assert_int_equal(order("File.TXT", "fILE.txt"), 0);
	assert_int_equal(order("\xc3\xa4\xc3\x96", "\xc3\x84\xc3\xb6"), 0); /* umlauts */
	assert_int_equal(order("\xce\xb1", "\xce\x91"), 0);		    /* alpha */
	assert_int_equal(order("\xc3\xbf", "\xc5\xb8"), 0);		    /* y with diaeresis: other length */
	assert_int_equal(order("\xf0\x90\x90\xa8", "\xf0\x90\x90\x80"), 0); /* Deseret, beyond U+FFFF */
	assert_int_not_equal(order("stra\xc3\x9f"
				   "e",
				   "strasse"),
			     0);			 /* one character stays one */
	assert_int_not_equal(order("\xc4\xb1", "i"), 0); /* dotless i */
	assert_int_equal(order("dirA", "DIRb"), -1);
	assert_int_equal(order("dirB", "ListX"), -1);
	assert_int_equal(order("a", "ab"), -1);
	assert_int_equal(order("_", "a"), 1); /* upper-case letters come before the underscore */
	/* UTF-16 order: surrogates before U+E000 and above. */
	assert_int_equal(order("\xf0\x9f\x98\x80", "\xef\xbf\xbd"), -1);
	assert_true(file_name_equal(&arena, SLICE("A"), SLICE("a")));
	assert_false(file_name_equal(&arena, SLICE("A"), SLICE("b")));
}

/* Every character of the basic plane and some beyond: folding twice is folding once, and never makes a name longer in
 * units. */
static void test_folding_is_stable(void **state)
{
	(void)state;
	for (int32_t c = 0x80; c < 0x12000; c++) {
		char text[4];
		size_t n = 0;
		if (c >= 0xd800 && c < 0xe000)
			continue;
		if (c < 0x800) {
			text[n++] = (char)(0xc0 | c >> 6);
		} else if (c < 0x10000) {
			text[n++] = (char)(0xe0 | c >> 12);
			text[n++] = (char)(0x80 | (c >> 6 & 63));
		} else {
			text[n++] = (char)(0xf0 | c >> 18);
			text[n++] = (char)(0x80 | (c >> 12 & 63));
			text[n++] = (char)(0x80 | (c >> 6 & 63));
		}
		text[n++] = (char)(0x80 | (c & 63));
		struct slice once = file_name_fold(&arena, slice_make(text, n));
		if (c < 0x10000 && !slice_eq(once, file_name_fold(&arena, once)))
			fail_msg("U+%04X", (unsigned)c);
		arena_reset(&arena);
	}
}

static void test_short_names(void **state)
{
	static const char *const are[] = { "a", "a.b", "ABCDEFGH.XYZ", "~1", "a-b_c.t~t" };
	static const char *const are_not[] = {
		"", ".a", "a.", "abcdefghi", "a.text", "a b", "a.b.c", "a+b", "\xc3\xa4"
	};
	char room[FILE_SHORT_NAME_BYTES];
	uint64_t id;
	for (size_t i = 0; i < sizeof are / sizeof *are; i++)
		assert_true(file_name_is_short(slice_str(are[i])));
	for (size_t i = 0; i < sizeof are_not / sizeof *are_not; i++)
		assert_false(file_name_is_short(slice_str(are_not[i])));
	/* There and back, from the first id that has one to the last. */
	const uint64_t first = UINT64_C(637134336000000000), count = UINT64_C(131621703842267136);
	for (uint64_t step = 0; step < count; step = step * 7 + 1) {
		struct slice name = file_short_name(first + step, room);
		assert_true(slice_is_set(name) && file_name_is_short(name));
		assert_true(file_short_name_parse(name, &id) && id == first + step);
	}
	assert_true(slice_is_set(file_short_name(first + count - 1, room)));
	assert_false(slice_is_set(file_short_name(first + count, room)));
	assert_false(slice_is_set(file_short_name(first - 1, room)));
	assert_false(slice_is_set(file_short_name(1, room)));
	assert_true(file_short_name_parse(SLICE("0000000a.00z"), &id));
	assert_false(file_short_name_parse(SLICE("0000000A00.0"), &id));
	assert_false(file_short_name_parse(SLICE("000000-A.000"), &id));
	assert_false(file_short_name_parse(SLICE("0000000A.00"), &id));
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_allowed),
					    cmocka_unit_test(test_lengths),
					    cmocka_unit_test(test_paths),
					    cmocka_unit_test(test_folding),
					    cmocka_unit_test(test_folding_is_stable),
					    cmocka_unit_test(test_short_names) };
	arena_init(&arena, 1 << 20);
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	arena_fini(&arena);
	return failed;
}
