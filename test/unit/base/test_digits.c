/* SPDX-License-Identifier: Apache-2.0
 * Decimal digits against what printf makes of the same numbers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/digits.h"

static void check(uint64_t v)
{
	char want[DIGITS_U64_MAX + 1], got[DIGITS_U64_MAX + 1];
	snprintf(want, sizeof want, "%llu", (unsigned long long)v);
	*digits_put_u64(got, v) = 0;
	assert_string_equal(got, want);
}

static void test_pairs(void **state)
{
	for (unsigned v = 0; v < 100; v++) {
		char want[3], got[3];
		snprintf(want, sizeof want, "%02u", v);
		*digits_put2(got, v) = 0;
		assert_string_equal(got, want);
	}
}

static void test_numbers(void **state)
{
	for (uint64_t v = 0; v <= 10000; v++)
		check(v);
	for (uint64_t power = 1; power <= UINT64_MAX / 10; power *= 10) {
		check(power * 10 - 1);
		check(power * 10);
		check(power * 10 + 1);
	}
	check(UINT64_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pairs),
		cmocka_unit_test(test_numbers),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
