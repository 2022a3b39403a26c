/* SPDX-License-Identifier: Apache-2.0
 * A 64-bit hash for tables in memory. Seeded, so that a client cannot choose names that fall into one bucket. */
#include "base/hash.h"

static uint64_t mix(uint64_t a, uint64_t b)
{
	__uint128_t m = (__uint128_t)(a ^ UINT64_C(0x9e3779b97f4a7c15)) * (b ^ UINT64_C(0xd6e8feb86659fd93));
	return (uint64_t)m ^ (uint64_t)(m >> 64);
}

/* What went before is in both factors, in two ways: whoever does not know the seed can make neither of them 0, nor have
 * them change places. */
static uint64_t mix_into(uint64_t h, uint64_t a, uint64_t b)
{
	return mix(h ^ a, (h << 32 | h >> 32) ^ b);
}

uint64_t base_hash_bytes(uint64_t seed, struct slice s)
{
	const char *p = s.ptr;
	size_t n = s.len;
	uint64_t h = seed, a, b;
	for (; n > 16; p += 16, n -= 16) {
		memcpy(&a, p, 8);
		memcpy(&b, p + 8, 8);
		h = mix_into(h, a, b);
	}
	/* What is left in two words, which overlap if it is short. */
	a = b = 0;
	if (n >= 8) {
		memcpy(&a, p, 8);
		memcpy(&b, p + n - 8, 8);
	} else if (n >= 4) {
		memcpy(&a, p, 4);
		memcpy(&b, p + n - 4, 4);
	} else if (n) {
		a = (uint64_t)(unsigned char)p[0] << 16 | (uint64_t)(unsigned char)p[n / 2] << 8 |
		    (unsigned char)p[n - 1];
	}
	return mix(mix_into(h, a, b), s.len);
}
