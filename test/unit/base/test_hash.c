/* SPDX-License-Identifier: Apache-2.0
 * Hashes of bytes: the same for the same, others for others, also where they differ in length or in zeros only. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/hash.h"

static void test_the_same_bytes_anywhere(void **state)
{
	static const char text[] = "x0123456789abcdefghij";
	char moved[sizeof text + 8];
	for (size_t shift = 0; shift < 8; shift++) {
		memcpy(moved + shift, text, sizeof text);
		for (size_t len = 0; len < sizeof text; len++)
			assert_true(base_hash_bytes(7, slice_make(text, len)) ==
				    base_hash_bytes(7, slice_make(moved + shift, len)));
	}
}

static void test_others_differ(void **state)
{
	enum { MOST = 40 };
	static const char zeros[MOST] = { 0 };
	uint64_t seen[2 * MOST * 8];
	size_t count = 0;
	for (size_t len = 0; len < MOST; len++)
		seen[count++] = base_hash_bytes(7, slice_make(zeros, len));
	for (size_t bit = 0; bit < (size_t)MOST * 8; bit++) {
		char one[MOST] = { 0 };
		one[bit / 8] = (char)(1 << bit % 8);
		seen[count++] = base_hash_bytes(7, slice_make(one, MOST));
	}
	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < i; k++)
			assert_true(seen[i] != seen[k]);
}

static void test_the_seed_counts(void **state)
{
	assert_true(base_hash_bytes(1, SLICE("a")) != base_hash_bytes(2, SLICE("a")));
	assert_true(base_hash_bytes(1, SLICE_NONE) != base_hash_bytes(2, SLICE_NONE));
	/* What went before counts, and where it ended. */
	assert_true(base_hash_bytes(base_hash_bytes(1, SLICE("a")), SLICE("bc")) !=
		    base_hash_bytes(base_hash_bytes(1, SLICE("ab")), SLICE("c")));
}

/* Nobody who does not know the seed can tell which bytes fall together: not by a factor of 0, nor by factors that
 * change places. */
static void test_no_bytes_fall_together_for_every_seed(void **state)
{
	static const uint64_t one = UINT64_C(0x9e3779b97f4a7c15), other = UINT64_C(0xd6e8feb86659fd93);
	uint64_t a[6] = { 1, 2, 3, 4, 5, 6 }, b[6];
	for (size_t bytes = 16; bytes <= sizeof a; bytes++) {
		for (size_t i = 0; i + 1 < bytes / 8; i += 2) {
			memcpy(a + i, (uint64_t[]){ i, other }, 16);
			memcpy(b, a, sizeof b);
			b[i] ^= 0xff00;
			assert_true(base_hash_bytes(5, slice_make(a, bytes)) !=
				    base_hash_bytes(5, slice_make(b, bytes)));
			memcpy(a + i, (uint64_t[]){ one, i }, 16);
			memcpy(b, a, sizeof b);
			b[i + 1] ^= 0xff00;
			assert_true(base_hash_bytes(5, slice_make(a, bytes)) !=
				    base_hash_bytes(5, slice_make(b, bytes)));
			memcpy(a + i, (uint64_t[]){ 7, 8 }, 16);
			memcpy(b, a, sizeof b);
			b[i] = a[i + 1] ^ one ^ other;
			b[i + 1] = a[i] ^ one ^ other;
			assert_true(base_hash_bytes(5, slice_make(a, bytes)) !=
				    base_hash_bytes(5, slice_make(b, bytes)));
		}
	}
}

/* Whoever indexes by a part of it needs every part to be even. */
static void test_every_part_is_even(void **state)
{
	enum { BUCKETS = 64, KEYS = 64000 };
	static const int shift[] = { 0, 16, 32, 36, 58 };
	for (size_t s = 0; s < sizeof shift / sizeof *shift; s++) {
		int bucket[BUCKETS] = { 0 };
		for (uint32_t i = 0; i < KEYS; i++)
			bucket[base_hash_bytes(3, slice_make(&i, sizeof i)) >> shift[s] & (BUCKETS - 1)]++;
		for (int i = 0; i < BUCKETS; i++)
			assert_in_range(bucket[i], KEYS / BUCKETS * 8 / 10, KEYS / BUCKETS * 12 / 10);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_same_bytes_anywhere),
		cmocka_unit_test(test_others_differ),
		cmocka_unit_test(test_the_seed_counts),
		cmocka_unit_test(test_no_bytes_fall_together_for_every_seed),
		cmocka_unit_test(test_every_part_is_even),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
