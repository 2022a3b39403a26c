/* SPDX-License-Identifier: Apache-2.0
 * Byte-range locks: overlap up to the last byte of 64 bits, stacking, reads and writes, unlock. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lock/byte_range.h"

static struct byte_range range(uint64_t offset, uint64_t length, bool exclusive)
{
	return (struct byte_range){ .offset = offset, .length = length, .exclusive = exclusive };
}

static bool overlap(uint64_t a, uint64_t an, uint64_t b, uint64_t bn)
{
	struct byte_range x = range(a, an, true), y = range(b, bn, true);
	bool forth = byte_range_overlaps(&x, &y), back = byte_range_overlaps(&y, &x);
	assert_int_equal(forth, back);
	return forth;
}

/* Every small pair, against a count of shared bytes. */
static void overlap_is_a_shared_byte(void **state)
{
	for (uint64_t a = 0; a < 8; a++)
		for (uint64_t an = 1; an < 8; an++)
			for (uint64_t b = 0; b < 8; b++)
				for (uint64_t bn = 1; bn < 8; bn++) {
					bool shared = false;
					for (uint64_t i = 0; i < 16; i++)
						shared |= i >= a && i < a + an && i >= b && i < b + bn;
					assert_int_equal(overlap(a, an, b, bn), shared);
				}
}

static void the_end_of_64_bits(void **state)
{
	assert_true(overlap(UINT64_MAX, 1, UINT64_MAX, 1));
	assert_true(overlap(0, UINT64_MAX, UINT64_MAX - 1, 1));
	assert_false(overlap(0, UINT64_MAX, UINT64_MAX, 1));
	assert_true(overlap(1, UINT64_MAX, UINT64_MAX, 1));
	assert_true(byte_range_is_valid(UINT64_MAX, 1));
	assert_false(byte_range_is_valid(UINT64_MAX, 2));
	assert_true(byte_range_is_valid(0, UINT64_MAX));
	assert_false(byte_range_is_valid(2, UINT64_MAX));
	assert_true(byte_range_is_valid(UINT64_MAX, 0));
}

static void no_bytes_conflict_only_inside(void **state)
{
	assert_false(overlap(5, 0, 5, 0));
	assert_false(overlap(10, 0, 10, 5));
	assert_true(overlap(11, 0, 10, 5));
	assert_true(overlap(14, 0, 10, 5));
	assert_false(overlap(15, 0, 10, 5));
	assert_false(overlap(9, 0, 10, 5));
}

static void stacking(void **state)
{
	struct byte_range shared = range(0, 10, false), exclusive = range(0, 10, true);
	assert_false(byte_range_conflicts(&shared, &shared, true));
	assert_false(byte_range_conflicts(&shared, &shared, false));
	assert_false(byte_range_conflicts(&exclusive, &shared, true));
	assert_true(byte_range_conflicts(&exclusive, &shared, false));
	assert_true(byte_range_conflicts(&shared, &exclusive, true));
	assert_true(byte_range_conflicts(&shared, &exclusive, false));
	assert_true(byte_range_conflicts(&exclusive, &exclusive, true));
	assert_true(byte_range_conflicts(&exclusive, &exclusive, false));
}

static void reads_and_writes(void **state)
{
	struct byte_range shared = range(10, 10, false), exclusive = range(10, 10, true);
	for (int own = 0; own < 2; own++) {
		assert_false(byte_range_stops_io(&shared, own, false, 10, 1));
		assert_true(byte_range_stops_io(&shared, own, true, 19, 1)); /* not even its own open */
		assert_int_equal(byte_range_stops_io(&exclusive, own, false, 10, 1), !own);
		assert_int_equal(byte_range_stops_io(&exclusive, own, true, 10, 1), !own);
		assert_false(byte_range_stops_io(&exclusive, own, true, 20, 5));
		assert_false(byte_range_stops_io(&exclusive, own, true, 0, 10));
		assert_false(byte_range_stops_io(&exclusive, own, true, 15, 0)); /* no bytes */
	}
}

static void unlock_wants_the_very_range(void **state)
{
	struct byte_range held[] = { range(0, 10, false), range(0, 10, true), range(5, 5, false) };
	assert_int_equal(byte_range_find(held, 3, 0, 10), 1); /* exclusive first */
	assert_int_equal(byte_range_find(held, 1, 0, 10), 0);
	assert_int_equal(byte_range_find(held, 3, 0, 9), 3);
	assert_int_equal(byte_range_find(held, 3, 5, 5), 2);
	assert_int_equal(byte_range_find(NULL, 0, 5, 5), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(overlap_is_a_shared_byte),
		cmocka_unit_test(the_end_of_64_bits),
		cmocka_unit_test(no_bytes_conflict_only_inside),
		cmocka_unit_test(stacking),
		cmocka_unit_test(reads_and_writes),
		cmocka_unit_test(unlock_wants_the_very_range),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
