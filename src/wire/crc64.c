/* SPDX-License-Identifier: Apache-2.0
 * CRC-64/NVME. Where the processor multiplies without carries, four 128-bit accumulators are folded forward over the
 * input, 64 bytes a step; what they hold at the end is a 16-byte message with the same CRC, which the tables finish.
 * Where it does so four at a time (VPCLMULQDQ), four 512-bit accumulators take 256 bytes a step.
 *
 * Folding: in the reflected form a register's low half L stands for the higher powers, its value is L x^64 + H. Moving
 * it D bits ahead multiplies by x^D modulo P. The product of two reflected 64-bit numbers comes out multiplied by x, so
 * the factors are x^(D+63) mod P for L and x^(D-1) mod P for H, reflected. */
#include "wire/hash.h"

#include "wire/chars.h"
#include "wire/crc64_table.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

/* Without the inversion at start and end. */
static uint64_t crc64_tables(uint64_t crc, const unsigned char *p, size_t len)
{
	for (; len >= 8; p += 8, len -= 8) {
		crc ^= char_load_le64(p);
		crc = crc64_table[7][crc & 255] ^ crc64_table[6][crc >> 8 & 255] ^ crc64_table[5][crc >> 16 & 255] ^
		      crc64_table[4][crc >> 24 & 255] ^ crc64_table[3][crc >> 32 & 255] ^
		      crc64_table[2][crc >> 40 & 255] ^ crc64_table[1][crc >> 48 & 255] ^ crc64_table[0][crc >> 56];
	}
	for (; len; p++, len--)
		crc = crc >> 8 ^ crc64_table[0][(crc ^ *p) & 255];
	return crc;
}

#if defined(__x86_64__)
#define CLMUL __attribute__((target("pclmul,sse4.1")))

CLMUL static inline __m128i fold(__m128i acc, __m128i factors, __m128i next)
{
	__m128i low = _mm_clmulepi64_si128(acc, factors, 0x00), high = _mm_clmulepi64_si128(acc, factors, 0x11);
	return _mm_xor_si128(_mm_xor_si128(low, high), next);
}

CLMUL static inline __m128i load(const unsigned char *p)
{
	return _mm_loadu_si128((const __m128i *)(const void *)p);
}

/* len >= 64 */
CLMUL static uint64_t crc64_clmul(uint64_t crc, const unsigned char *p, size_t len)
{
	/* low half: for L, high half: for H */
	const __m128i by_512 =
		_mm_set_epi64x((long long)UINT64_C(0x62242240ACE5045A), (long long)UINT64_C(0x0C32CDB31E18A84A));
	const __m128i by_128 =
		_mm_set_epi64x((long long)UINT64_C(0x21E9761E252621AC), (long long)UINT64_C(0xEADC41FD2BA3D420));
	__m128i a = _mm_xor_si128(load(p), _mm_cvtsi64_si128((long long)crc));
	__m128i b = load(p + 16), c = load(p + 32), d = load(p + 48);
	for (p += 64, len -= 64; len >= 64; p += 64, len -= 64) {
		a = fold(a, by_512, load(p));
		b = fold(b, by_512, load(p + 16));
		c = fold(c, by_512, load(p + 32));
		d = fold(d, by_512, load(p + 48));
	}
	a = fold(fold(fold(a, by_128, b), by_128, c), by_128, d);
	for (; len >= 16; p += 16, len -= 16)
		a = fold(a, by_128, load(p));
	unsigned char rest[16];
	_mm_storeu_si128((__m128i *)(void *)rest, a);
	return crc64_tables(crc64_tables(0, rest, sizeof rest), p, len);
}

#define CLMUL_WIDE __attribute__((target("avx512f,vpclmulqdq,pclmul")))

CLMUL_WIDE static inline __m512i fold_wide(__m512i acc, __m512i factors, __m512i next)
{
	__m512i low = _mm512_clmulepi64_epi128(acc, factors, 0x00), high = _mm512_clmulepi64_epi128(acc, factors, 0x11);
	return _mm512_ternarylogic_epi64(low, high, next, 0x96);
}

CLMUL_WIDE static inline __m512i load_wide(const unsigned char *p)
{
	return _mm512_loadu_si512((const void *)p);
}

/* len >= 256. The accumulators become a message of 64 bytes with the same CRC, which goes the narrow way. */
CLMUL_WIDE static uint64_t crc64_clmul_wide(uint64_t crc, const unsigned char *p, size_t len)
{
	const __m512i by_2048 = _mm512_broadcast_i32x4(
		_mm_set_epi64x((long long)UINT64_C(0xA043808C0F782663), (long long)UINT64_C(0x37CCD3E14069CABC)));
	const __m512i by_512 = _mm512_broadcast_i32x4(
		_mm_set_epi64x((long long)UINT64_C(0x62242240ACE5045A), (long long)UINT64_C(0x0C32CDB31E18A84A)));
	__m512i a = _mm512_xor_si512(load_wide(p), _mm512_zextsi128_si512(_mm_cvtsi64_si128((long long)crc)));
	__m512i b = load_wide(p + 64), c = load_wide(p + 128), d = load_wide(p + 192);
	for (p += 256, len -= 256; len >= 256; p += 256, len -= 256) {
		a = fold_wide(a, by_2048, load_wide(p));
		b = fold_wide(b, by_2048, load_wide(p + 64));
		c = fold_wide(c, by_2048, load_wide(p + 128));
		d = fold_wide(d, by_2048, load_wide(p + 192));
	}
	a = fold_wide(fold_wide(fold_wide(a, by_512, b), by_512, c), by_512, d);
	for (; len >= 64; p += 64, len -= 64)
		a = fold_wide(a, by_512, load_wide(p));
	unsigned char rest[64];
	_mm512_storeu_si512((void *)rest, a);
	return crc64_tables(crc64_clmul(0, rest, sizeof rest), p, len);
}
#endif

uint64_t hash_crc64_portable(uint64_t crc, struct slice s)
{
	return ~crc64_tables(~crc, (const unsigned char *)s.ptr, s.len);
}

uint64_t hash_crc64(uint64_t crc, struct slice s)
{
#if defined(__x86_64__)
	if (s.len >= 256 && __builtin_cpu_supports("vpclmulqdq") && __builtin_cpu_supports("avx512f"))
		return ~crc64_clmul_wide(~crc, (const unsigned char *)s.ptr, s.len);
	if (s.len >= 64 && __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.1"))
		return ~crc64_clmul(~crc, (const unsigned char *)s.ptr, s.len);
#endif
	return hash_crc64_portable(crc, s);
}
