/* SPDX-License-Identifier: Apache-2.0
 * Failed logins are counted by address, and forgotten. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "smb/failures.h"

static void an_address_is_counted_and_forgotten(void **state)
{
	static struct failures f;
	assert_int_equal(failures_add(&f, SLICE("192.0.2.1"), 1000), 1);
	assert_int_equal(failures_add(&f, SLICE("192.0.2.1"), 2000), 2);
	assert_int_equal(failures_add(&f, SLICE("192.0.2.2"), 2000), 1);
	assert_int_equal(failures_add(&f, SLICE("192.0.2.1"), 2000 + FAILURES_FORGET_MS), 3);
	assert_int_equal(failures_add(&f, SLICE("192.0.2.1"), 2001 + 2 * FAILURES_FORGET_MS), 1);
}

static void a_long_address_and_none_are_taken(void **state)
{
	static struct failures f;
	char text[200];
	memset(text, 'x', sizeof text);
	assert_int_equal(failures_add(&f, slice_make(text, sizeof text), 1), 1);
	assert_int_equal(failures_add(&f, slice_make(text, sizeof text), 2), 2);
	assert_int_equal(failures_add(&f, SLICE(""), 3), 1);
	assert_int_equal(failures_add(&f, SLICE(""), 4), 2);
}

static void others_in_the_same_place_start_anew(void **state)
{
	static struct failures f;
	unsigned forgotten = 0;
	for (unsigned round = 0; round < 2; round++)
		for (unsigned i = 0; i < 4 * FAILURES_PLACES; i++) {
			char text[32];
			int len = snprintf(text, sizeof text, "192.0.%u.%u", i / 256, i % 256);
			unsigned count = failures_add(&f, slice_make(text, (size_t)len), 1 + round);
			assert_in_range(count, 1, round + 1);
			forgotten += round && count == 1;
		}
	assert_true(forgotten >
		    0); /* more addresses than places: some were overwritten, none was counted for another */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_address_is_counted_and_forgotten),
		cmocka_unit_test(a_long_address_and_none_are_taken),
		cmocka_unit_test(others_in_the_same_place_start_anew),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
