/* SPDX-License-Identifier: Apache-2.0
 * The checksum of records and extents against its definition, bit by bit, over lengths around every step of the fast
 * form. */
#include "base/bytes.h"
#include "base/sys/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static char noise[20000];

static uint32_t plain(uint32_t crc, struct slice s)
{
	crc = ~crc;
	for (size_t i = 0; i < s.len; i++) {
		crc ^= (unsigned char)s.ptr[i];
		for (int k = 0; k < 8; k++)
			crc = (crc >> 1) ^ ((crc & 1) ? 0x82f63b78u : 0);
	}
	return ~crc;
}

static int fill(void **state)
{
	struct rng rng;
	rng_init_seed(&rng, 5);
	rng_bytes(&rng, noise, sizeof noise);
	return 0;
}

static void test_known(void **state)
{
	assert_int_equal(crc32c(0, SLICE("123456789")), 0xe3069283u);
	assert_int_equal(crc32c(0, SLICE("")), 0);
}

static void test_lengths(void **state)
{
	static const size_t around[] = { 0, 8, 64, 240, 310, 500, 1000, 1360, 4080, 4096, 8160, 12240, 19000 };
	for (size_t i = 0; i < sizeof around / sizeof around[0]; i++)
		for (size_t more = 0; more < 20; more++)
			for (size_t skip = 0; skip < 3; skip++) {
				struct slice s = slice_make(noise + skip, around[i] + more);
				assert_int_equal(crc32c(0x1234, s), plain(0x1234, s));
				assert_int_equal(crc32c_narrow(0x1234, s), plain(0x1234, s));
			}
}

/* Nothing behind the end is read: the sanitizer watches memory that is exactly as long. */
static void test_ends(void **state)
{
	for (size_t len = 0; len <= 300; len++) {
		char *exact = malloc(len + 1);
		memcpy(exact + 1, noise, len);
		assert_int_equal(crc32c(0, slice_make(exact + 1, len)), plain(0, slice_make(noise, len)));
		free(exact);
	}
}

/* Fed in pieces of any size it is the same. */
static void test_pieces(void **state)
{
	struct rng rng;
	rng_init_seed(&rng, 6);
	uint32_t whole = plain(0, slice_make(noise, sizeof noise));
	for (int round = 0; round < 50; round++) {
		uint32_t crc = 0;
		for (size_t at = 0; at < sizeof noise;) {
			size_t n = (size_t)rng_below(&rng, 9000) + 1;
			if (n > sizeof noise - at)
				n = sizeof noise - at;
			crc = crc32c(crc, slice_make(noise + at, n));
			at += n;
		}
		assert_int_equal(crc, whole);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_known),
		cmocka_unit_test(test_lengths),
		cmocka_unit_test(test_ends),
		cmocka_unit_test(test_pieces),
	};
	return cmocka_run_group_tests(tests, fill, NULL);
}
