/* SPDX-License-Identifier: Apache-2.0 */
#include "base/hash.h"

static uint64_t mix(uint64_t a, uint64_t b)
{
	__uint128_t m = (__uint128_t)(a ^ UINT64_C(0x9e3779b97f4a7c15)) * (b ^ UINT64_C(0xd6e8feb86659fd93));
	return (uint64_t)m ^ (uint64_t)(m >> 64);
}

uint64_t hash_bytes(uint64_t seed, struct slice s)
{
	const char *p = s.ptr;
	size_t n = s.len;
	uint64_t h = seed, a = 0;
	for (; n >= 8; p += 8, n -= 8) {
		memcpy(&a, p, 8);
		h = mix(h, a);
	}
	a = 0;
	if (n)
		memcpy(&a, p, n);
	return mix(h ^ s.len, a);
}
