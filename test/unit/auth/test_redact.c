/* SPDX-License-Identifier: Apache-2.0
 * Signatures are found however they are spelled, and what only looks like one is left alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "auth/redact.h"

static void check(const char *text, const char *expected)
{
	struct slice rest = slice_str(text);
	struct buf b;
	buf_init(&b, 4096);
	while (rest.len > 0) {
		bool hidden;
		buf_put(&b, redact_next(&rest, &hidden));
		if (hidden)
			BUF_PUT(&b, "*");
	}
	if (!slice_eq(buf_slice(&b), slice_str(expected)))
		fail_msg("'%s' became '%.*s', not '%s'", text, (int)b.len, b.ptr, expected);
	buf_fini(&b);
}

static void test_signatures_are_cut(void **state)
{
	(void)state;
	check("sig=abc", "sig=*");
	check("?sv=1&sig=abc/+==&a=1", "?sv=1&sig=*&a=1");
	check("/c/b%3Fsv=1%26sig=abc%2B%26x", "/c/b%3Fsv=1%26sig=*%26x");
	check("/c/b%3fSIG%3dabc", "/c/b%3fSIG%3d*");
	check("x;sig=abc;sig=def", "x;sig=*;sig=*");
	check("x;sig%20=abc", "x;sig%20=*");
	check("x; sig =abc", "x; sig =*");
	check("%73%69%67=abc", "%73%69%67=*");
	check("a%253Fsig%253Dabc", "a%253Fsig%253D*");
	check("a%25253Fsig%25253Dabc%252526b", "a%25253Fsig%25253D*%252526b");
	check("sig:abc", "sig:*");
	check("sig=", "sig=*");
}

static void test_other_text_stays(void **state)
{
	(void)state;
	static const char *const same[] = { "",	     "/c/sig",	    "/c/sigma=1", "/c/design=1", "sig&a=1", "/sig/a=1",
					    "a=sig", "/c/b%3Fsi=1", "%",	  "%2",		 "100%25=1" };
	for (size_t i = 0; i < sizeof same / sizeof *same; i++)
		check(same[i], same[i]);
}

static void test_names(void **state)
{
	(void)state;
	static const char *const secret[] = { "sig",   "SIG",	 "?sig",
					      "sig ",  "sig%20", "%3Fsig",
					      "%73ig", "a;sig",	 "x-ms-encryption-key" };
	static const char *const open[] = { "", "sign", "design", "sigma", "sv", "x-sign", "prefix" };
	for (size_t i = 0; i < sizeof secret / sizeof *secret; i++)
		assert_true(redact_is_secret_name(slice_str(secret[i])));
	for (size_t i = 0; i < sizeof open / sizeof *open; i++)
		assert_false(redact_is_secret_name(slice_str(open[i])));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_signatures_are_cut),
		cmocka_unit_test(test_other_text_stays),
		cmocka_unit_test(test_names),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
