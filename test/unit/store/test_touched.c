/* SPDX-License-Identifier: Apache-2.0
 * Sets of touched rows: they meet if they share a row, or if one is about all rows and the other about any. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "store/commit/touched.h"

static void sets_meet_in_what_both_touched(void **state)
{
	struct touched a = { 0 }, b = { 0 };
	assert_false(touched_meet(&a, &b));
	for (uint64_t hash = 0; hash < TOUCHED_BITS; hash += 3)
		touched_add(&a, hash);
	for (uint64_t hash = 1; hash < TOUCHED_BITS; hash += 3)
		touched_add(&b, hash);
	assert_false(touched_meet(&a, &b));
	touched_add(&b, 3 * 700);
	assert_true(touched_meet(&a, &b));
	assert_true(touched_meet(&b, &a));
	touched_clear(&b);
	assert_false(touched_meet(&a, &b));
}

static void all_rows_meet_any(void **state)
{
	struct touched all = { 0 }, one = { 0 }, none = { 0 };
	touched_add_all(&all);
	touched_add(&one, UINT64_MAX);
	assert_true(touched_meet(&all, &one));
	assert_true(touched_meet(&one, &all));
	assert_true(touched_meet(&all, &all));
	assert_false(touched_meet(&all, &none));
}

static void merged_sets_have_both(void **state)
{
	struct touched group = { 0 }, member = { 0 }, other = { 0 };
	touched_add(&member, 5);
	touched_merge(&group, &member);
	touched_clear(&member);
	touched_add(&member, 4095);
	touched_merge(&group, &member);
	touched_add(&other, 5 + TOUCHED_BITS); /* the same place: yes where it is no */
	assert_true(touched_meet(&group, &other));
	touched_clear(&other);
	touched_add(&other, 4095);
	assert_true(touched_meet(&group, &other));
	touched_clear(&other);
	touched_add(&other, 6);
	assert_false(touched_meet(&group, &other));
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(sets_meet_in_what_both_touched),
					    cmocka_unit_test(all_rows_meet_any),
					    cmocka_unit_test(merged_sets_have_both) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
