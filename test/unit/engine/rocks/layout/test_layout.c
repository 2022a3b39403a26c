/* SPDX-License-Identifier: Apache-2.0
 * The engine's own rows: golden bytes, what data format 3 wrote, and every flipped bit is noticed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "engine/rocks/layout/layout.h"

#include <stdio.h>

static void expect_hex(struct slice got, const char *want)
{
	char hex[256];
	assert_true(got.len * 2 < sizeof hex);
	for (size_t i = 0; i < got.len; i++)
		snprintf(hex + 2 * i, 3, "%02x", (unsigned char)got.ptr[i]);
	assert_string_equal(hex, want);
}

static struct slice row_key(const struct layout_row *row)
{
	return slice_make(row->key, row->key_len);
}

static struct slice row_value(const struct layout_row *row)
{
	return slice_make(row->value, row->value_len);
}

static void a_retired_extent(void **state)
{
	struct layout_row row;
	struct extent_ref got, ref = { .id = 0x10000000002, .place = UINT64_C(3) << 32 | 5, .length_bytes = 70000 };
	uint64_t sequence;
	layout_retired_encode(&row, 0x0102, &ref);
	expect_hex(row_key(&row), "00640000000000000102");
	expect_hex(row_value(&row), "0102000000000100000500000003000000701101005597ac3d");
	assert_int_equal(layout_retired_decode(row_key(&row), row_value(&row), &sequence, &got), ERR_OK);
	assert_int_equal(sequence, 0x0102);
	assert_int_equal(got.id, ref.id);
	assert_int_equal(got.place, ref.place);
	assert_int_equal(got.length_bytes, ref.length_bytes);
	/* Without version and checksum, as before. */
	assert_int_equal(
		layout_retired_decode(row_key(&row), slice_make(row.value + 1, LAYOUT_RETIRED_BYTES), &sequence, &got),
		ERR_OK);
	assert_int_equal(got.place, ref.place);
	for (size_t len = 0; len < row.value_len; len++)
		if (len != LAYOUT_RETIRED_BYTES)
			assert_int_equal(
				layout_retired_decode(row_key(&row), slice_make(row.value, len), &sequence, &got),
				ERR_CORRUPT);
}

static void a_number(void **state)
{
	struct layout_row row;
	uint64_t got;
	layout_number_encode(&row, LAYOUT_FLUSHED_KEY, 258);
	expect_hex(row_key(&row), "0066");
	expect_hex(row_value(&row), "010201000000000000512d3137");
	assert_int_equal(layout_number_decode(LAYOUT_FLUSHED_KEY, row_value(&row), &got), ERR_OK);
	assert_int_equal(got, 258);
	/* One row's value under another's key is damage. */
	assert_int_equal(layout_number_decode(LAYOUT_OPENS_KEY, row_value(&row), &got), ERR_CORRUPT);
	assert_int_equal(layout_number_decode(LAYOUT_OPENS_KEY, slice_make(row.value + 1, 8), &got), ERR_OK);
	assert_int_equal(got, 258);
}

static void a_bitmap(void **state)
{
	static struct layout_row row;
	unsigned char bits[LAYOUT_BITMAP_BYTES] = { 0 };
	const unsigned char *got;
	uint32_t region;
	bits[0] = 3;
	bits[LAYOUT_BITMAP_BYTES - 1] = 0x80;
	layout_bitmap_encode(&row, 0x01020304, bits);
	expect_hex(row_key(&row), "006201020304");
	expect_hex(slice_first(row_value(&row), 3), "010300");
	expect_hex(slice_from(row_value(&row), row.value_len - 5), "8038105fa0");
	assert_int_equal(layout_bitmap_decode(row_key(&row), row_value(&row), &region, &got), ERR_OK);
	assert_int_equal(region, 0x01020304);
	assert_memory_equal(got, bits, sizeof bits);
	assert_int_equal(layout_bitmap_decode(row_key(&row), slice_make((char *)bits, sizeof bits), &region, &got),
			 ERR_OK);
	for (size_t i = 0; i < row.value_len; i++) {
		row.value[i] ^= 16;
		assert_int_equal(layout_bitmap_decode(row_key(&row), row_value(&row), &region, &got), ERR_CORRUPT);
		row.value[i] ^= 16;
	}
}

static void families(void **state)
{
	struct full_key k;
	assert_int_equal(layout_family(SLICE("acct\x01"
					     "c"),
				       SLICE("dx")),
			 FAMILY_CONTENTS);
	assert_int_equal(layout_family(SLICE("acct\x01"
					     "c"),
				       SLICE("bx")),
			 FAMILY_ROWS);
	assert_int_equal(layout_family(SLICE("\x01store"), SLICE("dx")), FAMILY_METADATA);
	full_key_make(&k, SLICE("p"), SLICE("k"));
	expect_hex(full_key_slice(&k), "70006b");
	full_key_make_end(&k, SLICE("p"));
	expect_hex(full_key_slice(&k), "7001");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_retired_extent),
		cmocka_unit_test(a_number),
		cmocka_unit_test(a_bitmap),
		cmocka_unit_test(families),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
