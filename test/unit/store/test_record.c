/* SPDX-License-Identifier: Apache-2.0
 * Records come back as they were put, and not at all once a bit, the key or the partition is another. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "store/record.h"

static void round_trip(void **state)
{
	char record[64];
	struct slice payload;
	record_wrap(SLICE("p"), SLICE("k"), SLICE("value"), record);
	assert_int_equal(record_unwrap(SLICE("p"), SLICE("k"), slice_make(record, 10), &payload), ERR_OK);
	assert_true(slice_eq(payload, SLICE("value")));
	record_wrap(SLICE("p"), SLICE("k"), SLICE(""), record);
	assert_int_equal(record_unwrap(SLICE("p"), SLICE("k"), slice_make(record, 5), &payload), ERR_OK);
	assert_int_equal(payload.len, 0);
	assert_true(slice_is_set(payload));
}

/* The bytes on disk: they may never change without a new version. */
static void golden(void **state)
{
	char record[10];
	record_wrap(SLICE("acct\x01"
			  "a"),
		    SLICE("kname\x01"), SLICE("value"), record);
	static const unsigned char want[10] = { 1, 'v', 'a', 'l', 'u', 'e', 0x5c, 0x22, 0xec, 0x5e };
	assert_memory_equal(record, want, sizeof want);
}

static void damage_is_noticed(void **state)
{
	char record[10];
	struct slice payload;
	record_wrap(SLICE("part"), SLICE("key"), SLICE("value"), record);
	for (size_t bit = 0; bit < 8 * sizeof record; bit++) {
		record[bit / 8] ^= (char)(1 << bit % 8);
		assert_int_equal(record_unwrap(SLICE("part"), SLICE("key"), slice_make(record, 10), &payload),
				 ERR_CORRUPT);
		record[bit / 8] ^= (char)(1 << bit % 8);
	}
	for (size_t len = 0; len < sizeof record; len++)
		assert_int_equal(record_unwrap(SLICE("part"), SLICE("key"), slice_make(record, len), &payload),
				 ERR_CORRUPT);
	assert_int_equal(record_unwrap(SLICE("part"), SLICE("kez"), slice_make(record, 10), &payload), ERR_CORRUPT);
	assert_int_equal(record_unwrap(SLICE("paru"), SLICE("key"), slice_make(record, 10), &payload), ERR_CORRUPT);
	assert_int_equal(record_unwrap(SLICE("part"), SLICE("key"), slice_make(record, 10), &payload), ERR_OK);
	struct slice whole = slice_make(record, 10);
	assert_int_equal(record_unwrap_seeded(record_seed(SLICE("part")), SLICE("key"), whole, &payload), ERR_OK);
	assert_int_equal(record_unwrap_seeded(record_seed(SLICE("paru")), SLICE("key"), whole, &payload), ERR_CORRUPT);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(round_trip), cmocka_unit_test(golden),
					    cmocka_unit_test(damage_is_noticed) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
