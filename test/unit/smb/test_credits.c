/* SPDX-License-Identifier: Apache-2.0
 * The window of message ids. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "smb/credits.h"

static void ids_once(void **state)
{
	struct credits c;
	credits_init(&c);
	assert_false(credits_use(&c, 1, 1)); /* not granted yet */
	assert_true(credits_use(&c, 0, 0));
	assert_false(credits_use(&c, 0, 1));
	assert_int_equal(credits_grant(&c, 0), 1); /* never none */
	assert_int_equal(credits_grant(&c, 9), 9);
	assert_true(credits_use(&c, 5, 3)); /* 5, 6, 7 */
	assert_false(credits_use(&c, 7, 1));
	assert_false(credits_use(&c, 4, 2));
	assert_true(credits_use(&c, 1, 4));
	assert_false(credits_use(&c, 8, 4)); /* 8 to 11: 11 is one too far */
	assert_true(credits_use(&c, 8, 3));
}

static void window_is_bounded(void **state)
{
	struct credits c;
	credits_init(&c);
	assert_int_equal(credits_grant(&c, 65535), CREDITS_MAX - 1);
	assert_int_equal(credits_grant(&c, 1), 0);
	assert_true(credits_use(&c, 1, 1)); /* 0 stays free: nothing is granted for it */
	assert_int_equal(credits_grant(&c, 10), 0);
	assert_true(credits_use(&c, 0, 1));
	assert_int_equal(credits_grant(&c, 10), 2);
	for (uint64_t id = 2; id < 100000; id++) {
		assert_true(credits_use(&c, id, 1));
		assert_int_equal(credits_grant(&c, 1), 1);
	}
	c.low = c.high = UINT64_MAX - 3;
	assert_int_equal(credits_grant(&c, 100), 2);
	assert_int_equal(c.high, UINT64_MAX - 1);
}

static void charges(void **state)
{
	assert_int_equal(credits_for(0), 1);
	assert_int_equal(credits_for(65536), 1);
	assert_int_equal(credits_for(65537), 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(ids_once), cmocka_unit_test(window_is_bounded),
					    cmocka_unit_test(charges) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
