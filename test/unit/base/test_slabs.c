/* SPDX-License-Identifier: Apache-2.0
 * Large buffers: each its own memory, aligned where it was asked for, and given back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/sys/slabs.h"

enum { PAGE = 4096 };

static void test_alignment(void **state)
{
	static const size_t lengths[] = { SLABS_LEAST_BYTES, 256 * 1024 + 112,	256 * 1024 + 113, 1024 * 1024 + 112,
					  1024 * 1024 + 164, 1024 * 1024 + 165, 4 * 1024 * 1024,  SLABS_MOST_BYTES };
	static const size_t aheads[] = { 0, 112, 164, SLABS_AHEAD_MOST_BYTES };
	struct slabs p = { 0 };
	for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++)
		for (size_t k = 0; k < sizeof aheads / sizeof aheads[0]; k++) {
			char *m = slabs_take(&p, lengths[i], aheads[k]);
			assert_non_null(m);
			assert_int_equal((uintptr_t)(m + aheads[k]) % PAGE, 0);
			memset(m, 1, lengths[i]);
			slabs_give(&p, m, lengths[i]);
		}
	slabs_fini(&p);
	assert_int_equal(p.bytes, 0);
}

/* More than one slab of each class, taken and given in another order; nobody writes into another's. */
static void test_many(void **state)
{
	enum { COUNT = 40 };
	static const size_t lengths[] = { 100, SLABS_LEAST_BYTES, 1024 * 1024 + 112, 5 * 1024 * 1024 };
	char *m[COUNT];
	struct slabs p = { 0 };
	for (int round = 0; round < 3; round++) {
		for (size_t i = 0; i < COUNT; i++) {
			m[i] = slabs_take(&p, lengths[i % 4], 112);
			assert_non_null(m[i]);
			memset(m[i], (int)i, lengths[i % 4]);
		}
		for (size_t n = 0; n < COUNT; n++) {
			size_t i = n * 17 % COUNT, len = lengths[i % 4];
			assert_int_equal(m[i][0], i);
			assert_int_equal(m[i][len - 1], i);
			slabs_give(&p, m[i], len);
		}
		assert_true(p.bytes <= SLABS_KEPT_BYTES); /* no more is kept */
	}
	slabs_give(&p, NULL, 5);
	slabs_fini(&p);
}

static void test_unused_goes_back(void **state)
{
	struct slabs p = { 0 };
	char *kept = slabs_take(&p, SLABS_LEAST_BYTES, 0), *m = slabs_take(&p, 1024 * 1024, 0);
	slabs_give(&p, m, 1024 * 1024);
	size_t both = p.bytes;
	slabs_trim(&p); /* it was used a moment ago */
	assert_int_equal(p.bytes, both);
	slabs_trim(&p);
	assert_true(p.bytes < both && p.bytes > 0);
	memset(kept, 1, SLABS_LEAST_BYTES);
	slabs_give(&p, kept, SLABS_LEAST_BYTES);
	slabs_trim(&p);
	slabs_trim(&p);
	assert_int_equal(p.bytes, 0);
	assert_int_equal(p.free_bytes, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_alignment),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_unused_goes_back),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
