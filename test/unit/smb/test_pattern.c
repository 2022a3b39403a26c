/* SPDX-License-Identifier: Apache-2.0
 * Patterns of QUERY_DIRECTORY: DOS wildcards against names, in every combination that Windows documents. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "smb/pattern.h"

static void yes(const char *pattern, const char *name)
{
	if (!pattern_matches(slice_str(pattern), slice_str(name)))
		fail_msg("%s should match %s", pattern, name);
}

static void no(const char *pattern, const char *name)
{
	if (pattern_matches(slice_str(pattern), slice_str(name)))
		fail_msg("%s should not match %s", pattern, name);
}

static void plain(void **state)
{
	yes("A.TXT", "A.TXT");
	no("A.TXT", "A.TX");
	no("A.TX", "A.TXT");
	yes("*", "");
	yes("*", "ANY.THING");
	yes("*.TXT", "A.B.TXT");
	no("*.TXT", "A.TXT.B");
	yes("A?C", "ABC");
	no("A?C", "AC");
	no("?", "");
	yes("?", "\xC3\x84"); /* one character of two bytes */
	no("??", "\xC3\x84");
}

static void dos(void **state)
{
	yes("<.TXT", "A.B.TXT"); /* any run up to the last dot */
	no("<X", "A.BX");
	yes("<.BX", "A.BX");
	yes("A>", "A");
	yes("A>", "AB");
	no("A>", "ABC");
	yes("A>>.T", "A.T");
	yes("A>>.T", "ABC.T");
	yes("A\"", "A");
	yes("A\"", "A.");
	no("A\"", "AB");
	yes("A\"B", "A.B");
}

/* Would take ages by trying. */
static void many_stars(void **state)
{
	char name[256], pattern[256];
	memset(name, 'A', sizeof name);
	for (size_t i = 0; i + 1 < sizeof pattern; i += 2) {
		pattern[i] = '*';
		pattern[i + 1] = 'A';
	}
	pattern[sizeof pattern - 1] = 'B';
	assert_false(pattern_matches(slice_make(pattern, sizeof pattern), slice_make(name, sizeof name)));
	pattern[sizeof pattern - 1] = 'A';
	assert_true(pattern_matches(slice_make(pattern, sizeof pattern), slice_make(name, sizeof name)));
}

static void prefix_is(const char *pattern, const char *prefix)
{
	struct slice got = pattern_prefix(slice_str(pattern));
	assert_int_equal(got.len, strlen(prefix));
	assert_memory_equal(got.ptr, prefix, got.len);
}

static void prefixes(void **state)
{
	prefix_is("A.TXT", "A.TXT");
	prefix_is("A.*", "A.");
	prefix_is("*A", "");
	prefix_is("", "");
	prefix_is("AB?", "AB");
	prefix_is("AB<.T", "AB");
	prefix_is("AB>", "AB");
	prefix_is("AB\"", "AB");
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(plain), cmocka_unit_test(dos),
					    cmocka_unit_test(many_stars), cmocka_unit_test(prefixes) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
