/* SPDX-License-Identifier: Apache-2.0
 * Addresses and ranges of them: which texts are one, and which clients are within. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "auth/address.h"

static bool holds(const char *range_text, const char *address_text)
{
	struct address_range range;
	unsigned char address[ADDRESS_BYTES];
	assert_true(auth_address_range_parse(slice_str(range_text), &range));
	assert_true(auth_address_parse(slice_str(address_text), address));
	return auth_address_range_holds(&range, address);
}

static void test_within(void **state)
{
	(void)state;
	assert_true(holds("10.0.0.5", "10.0.0.5"));
	assert_false(holds("10.0.0.5", "10.0.0.6"));
	assert_true(holds("10.0.0.5", "::ffff:10.0.0.5"));
	assert_true(holds("10.0.0.5-10.0.0.9", "10.0.0.9"));
	assert_false(holds("10.0.0.5-10.0.0.9", "10.0.0.10"));
	assert_true(holds("10.1.2.3/8", "10.255.255.255"));
	assert_true(holds("10.1.2.3/8", "10.0.0.0"));
	assert_false(holds("10.1.2.3/8", "11.0.0.0"));
	assert_false(holds("10.1.2.3/8", "9.255.255.255"));
	assert_true(holds("10.1.2.3/32", "10.1.2.3"));
	assert_false(holds("10.1.2.3/32", "10.1.2.2"));
	assert_true(holds("0.0.0.0/0", "255.1.2.3"));
	assert_false(holds("0.0.0.0/0", "2001:db8::1"));
	assert_true(holds("2001:db8::/33", "2001:db8:7fff::1"));
	assert_false(holds("2001:db8::/33", "2001:db8:8000::1"));
	assert_true(holds("::/0", "1.2.3.4"));
	assert_false(holds("10.0.0.9-10.0.0.5", "10.0.0.7")); /* the wrong way round holds nobody */
}

static void test_no_ranges(void **state)
{
	static const char *const bad[] = {
		"",	  "x",	       "10.0.0",    "10.0.0.0/",  "10.0.0.0/33",  "10.0.0.0/-1",    "/8",
		"::/129", "10.0.0.1-", "-10.0.0.1", "10.0.0.1-x", "10.0.0.0/8/8", "1.2.3.4,5.6.7.8"
	};
	struct address_range range;
	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		if (auth_address_range_parse(slice_str(bad[i]), &range))
			fail_msg("'%s' was taken", bad[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_within),
		cmocka_unit_test(test_no_ranges),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
