/* SPDX-License-Identifier: Apache-2.0
 * Failed logins are counted by address and by account, slowed, and forgotten. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "auth/guard/failures.h"

static unsigned of_address(struct failures *f, struct slice address, uint64_t now_ms)
{
	return failures_add(f, FAILURES_SMB, address, SLICE(""), now_ms).of_address;
}

static void an_address_is_counted_and_forgotten(void **state)
{
	static struct failures f;
	failures_init(&f, 0);
	assert_int_equal(of_address(&f, SLICE("192.0.2.1"), 1000), 1);
	assert_int_equal(of_address(&f, SLICE("192.0.2.1"), 2000), 2);
	assert_int_equal(of_address(&f, SLICE("192.0.2.2"), 2000), 1);
	assert_int_equal(of_address(&f, SLICE("192.0.2.1"), 2000 + FAILURES_FORGET_MS), 3);
	assert_int_equal(of_address(&f, SLICE("192.0.2.1"), 2001 + 2 * FAILURES_FORGET_MS), 1);
	assert_int_equal(f.total[FAILURES_SMB], 5);
	assert_int_equal(f.total[FAILURES_REST], 0);
	assert_int_equal(f.slowed[FAILURES_SMB], 0); /* nobody waits without a delay */
}

static void a_long_address_is_taken(void **state)
{
	static struct failures f;
	char text[200];
	failures_init(&f, 0);
	memset(text, 'x', sizeof text);
	assert_int_equal(of_address(&f, slice_make(text, sizeof text), 1), 1);
	assert_int_equal(of_address(&f, slice_make(text, sizeof text), 2), 2);
}

static void others_in_the_same_place_start_anew(void **state)
{
	static struct failures f;
	unsigned forgotten = 0;
	failures_init(&f, 0);
	for (unsigned round = 0; round < 2; round++)
		for (unsigned i = 0; i < 4 * FAILURES_PLACES; i++) {
			char text[32];
			int len = snprintf(text, sizeof text, "192.0.%u.%u", i / 256, i % 256);
			unsigned count = of_address(&f, slice_make(text, (size_t)len), 1 + round);
			assert_in_range(count, 1, round + 1);
			forgotten += round && count == 1;
		}
	/* More addresses than places: some were overwritten, none was counted for another. */
	assert_true(forgotten > 0);
}

static void both_front_ends_count_for_one_address(void **state)
{
	static struct failures f;
	failures_init(&f, 700);
	assert_int_equal(failures_add(&f, FAILURES_REST, SLICE("a"), SLICE("x"), 1).wait_ms, 0);
	assert_int_equal(failures_add(&f, FAILURES_SMB, SLICE("a"), SLICE("y"), 2).wait_ms, 0);
	assert_int_equal(failures_add(&f, FAILURES_REST, SLICE("a"), SLICE("z"), 3).wait_ms, 700);
	assert_int_equal(failures_add(&f, FAILURES_REST, SLICE("b"), SLICE("z"), 3).wait_ms, 0);
	assert_int_equal(f.slowed[FAILURES_REST], 1);
}

static void one_account_is_slowed_over_many_addresses(void **state)
{
	static struct failures f;
	failures_init(&f, 700);
	for (unsigned i = 1; i <= FAILURES_FREE_ACCOUNT + 5; i++) {
		char text[32];
		int len = snprintf(text, sizeof text, "192.0.2.%u", i);
		struct failures_verdict v =
			failures_add(&f, FAILURES_REST, slice_make(text, (size_t)len), SLICE("x"), i);
		assert_int_equal(v.wait_ms, i > FAILURES_FREE_ACCOUNT ? 700 : 0);
	}
}

static void few_of_many_are_told(void **state)
{
	static struct failures f;
	unsigned told = 0;
	failures_init(&f, 0);
	for (unsigned i = 0; i < 1000; i++) {
		struct failures_verdict v = failures_add(&f, FAILURES_REST, SLICE("a"), SLICE("x"), i);
		bool tells = failures_worth_telling(&v);
		told += tells;
		assert_int_equal(i < 2 && tells, 0);
	}
	assert_in_range(told, 5, 12);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_address_is_counted_and_forgotten),
		cmocka_unit_test(a_long_address_is_taken),
		cmocka_unit_test(others_in_the_same_place_start_anew),
		cmocka_unit_test(both_front_ends_count_for_one_address),
		cmocka_unit_test(one_account_is_slowed_over_many_addresses),
		cmocka_unit_test(few_of_many_are_told),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
