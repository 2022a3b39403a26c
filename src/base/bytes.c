/* SPDX-License-Identifier: Apache-2.0
 * Little-endian numbers and strings of records, read back by a cursor that fails once and stays failed; CRC-32C with the
 * processor's instruction where there is one. */
#include "base/bytes.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

void bytes_put_u8(struct buf *b, uint8_t v)
{
	buf_put_byte(b, v);
}

static inline void put_le(struct buf *b, uint64_t v, size_t n)
{
	char *p = buf_reserve(b, n);
	if (!p)
		return;
	bytes_store(p, v, n);
	b->len += n;
}

void bytes_put_u16(struct buf *b, uint16_t v)
{
	put_le(b, v, 2);
}
void bytes_put_u32(struct buf *b, uint32_t v)
{
	put_le(b, v, 4);
}
void bytes_put_u64(struct buf *b, uint64_t v)
{
	put_le(b, v, 8);
}

void bytes_put_str(struct buf *b, struct slice s)
{
	if (!slice_is_set(s)) {
		bytes_put_u32(b, UINT32_MAX);
		return;
	}
	if (s.len >= UINT32_MAX) {
		b->failed = true;
		return;
	}
	bytes_put_u32(b, (uint32_t)s.len);
	buf_put(b, s);
}

static inline uint64_t get_le(struct cursor *c, size_t n)
{
	if (c->failed || cursor_left(c) < n) {
		c->failed = true;
		return 0;
	}
	uint64_t v = bytes_load(c->at, n);
	c->at += n;
	return v;
}

uint8_t cursor_u8(struct cursor *c)
{
	return (uint8_t)get_le(c, 1);
}
uint16_t cursor_u16(struct cursor *c)
{
	return (uint16_t)get_le(c, 2);
}
uint32_t cursor_u32(struct cursor *c)
{
	return (uint32_t)get_le(c, 4);
}
uint64_t cursor_u64(struct cursor *c)
{
	return get_le(c, 8);
}

struct slice cursor_raw(struct cursor *c, size_t len)
{
	if (c->failed || cursor_left(c) < len) {
		c->failed = true;
		return SLICE_NONE;
	}
	struct slice s = slice_make(c->at, len);
	c->at += len;
	return s;
}

struct slice cursor_str(struct cursor *c)
{
	uint32_t len = cursor_u32(c);
	return len == UINT32_MAX ? SLICE_NONE : cursor_raw(c, len);
}

static uint32_t crc32c_table(uint32_t crc, const unsigned char *p, size_t n)
{
	while (n--) {
		crc ^= *p++;
		for (int k = 0; k < 8; k++)
			crc = (crc >> 1) ^ (0x82f63b78u & (0u - (crc & 1)));
	}
	return crc;
}

#if defined(__x86_64__)
/* The instruction takes a word a cycle but answers after three, so long inputs go in three lanes side by side. A lane
 * is moved past the bytes behind it by a multiplication with x^(8 * bytes - 33): the product of two reflected values is
 * off by one bit, and the instruction that reduces it adds 32. */
enum { CRC_LANE_BYTES = 1360 }; /* three of them are just below a record of 4 KiB */
#define CRC_PAST_ONE 0x3f70cc6fu
#define CRC_PAST_TWO 0x5aa1f3cfu

__attribute__((target("sse4.2,pclmul"))) static uint64_t crc32c_past(uint64_t crc, uint32_t power)
{
	__m128i product = _mm_clmulepi64_si128(_mm_cvtsi64_si128((long long)crc), _mm_cvtsi32_si128((int)power), 0);
	return _mm_crc32_u64(0, (uint64_t)_mm_cvtsi128_si64(product));
}

__attribute__((target("sse4.2,pclmul"))) static uint32_t crc32c_hardware(uint32_t crc, const unsigned char *p, size_t n)
{
	uint64_t a = crc;
	for (; n >= 3 * CRC_LANE_BYTES; n -= 3 * CRC_LANE_BYTES, p += 2 * CRC_LANE_BYTES) {
		uint64_t b = 0, c = 0;
		for (const unsigned char *end = p + CRC_LANE_BYTES; p < end; p += 8) {
			uint64_t x, y, z;
			memcpy(&x, p, 8);
			memcpy(&y, p + CRC_LANE_BYTES, 8);
			memcpy(&z, p + 2 * CRC_LANE_BYTES, 8);
			a = _mm_crc32_u64(a, x);
			b = _mm_crc32_u64(b, y);
			c = _mm_crc32_u64(c, z);
		}
		a = crc32c_past(a, CRC_PAST_TWO) ^ crc32c_past(b, CRC_PAST_ONE) ^ c;
	}
	for (; n >= 32; p += 32, n -= 32) {
		a = _mm_crc32_u64(_mm_crc32_u64(a, bytes_load(p, 8)), bytes_load(p + 8, 8));
		a = _mm_crc32_u64(_mm_crc32_u64(a, bytes_load(p + 16, 8)), bytes_load(p + 24, 8));
	}
	for (; n >= 8; p += 8, n -= 8)
		a = _mm_crc32_u64(a, bytes_load(p, 8));
	uint32_t r = (uint32_t)a;
	if (n & 4)
		r = _mm_crc32_u32(r, (uint32_t)bytes_load(p, 4));
	p += n & 4;
	if (n & 2)
		r = _mm_crc32_u16(r, (uint16_t)bytes_load(p, 2));
	p += n & 2;
	return n & 1 ? _mm_crc32_u8(r, *p) : r;
}

#define CRC_WIDE __attribute__((target("avx512f,vpclmulqdq,pclmul,sse4.2")))
enum { CRC_WIDE_BYTES = 256 };

/* Moves the accumulator ahead (the factors are x^(bits + 63) and x^(bits - 1) modulo P, reflected) and adds what is
 * there. */
CRC_WIDE static inline __m512i crc32c_fold(__m512i acc, __m512i factors, const unsigned char *p)
{
	__m512i low = _mm512_clmulepi64_epi128(acc, factors, 0x00), high = _mm512_clmulepi64_epi128(acc, factors, 0x11);
	return _mm512_ternarylogic_epi64(low, high, _mm512_loadu_si512((const void *)p), 0x96);
}

/* Four accumulators are folded forward over the input, 256 bytes a step; then each onto the next. What the last one
 * holds is a message of 64 bytes with the same checksum. n >= CRC_WIDE_BYTES. */
CRC_WIDE static uint32_t crc32c_wide(uint32_t crc, const unsigned char *p, size_t n)
{
	const __m512i by_2048 = _mm512_broadcast_i32x4(
		_mm_set_epi64x((long long)UINT64_C(0x1426a81500000000), (long long)UINT64_C(0xe9a5d8be00000000)));
	const __m512i by_512 = _mm512_broadcast_i32x4(
		_mm_set_epi64x((long long)UINT64_C(0x75bba45b00000000), (long long)UINT64_C(0x1c19243b00000000)));
	unsigned char rest[4][64];
	__m512i a = _mm512_loadu_si512((const void *)p), b = _mm512_loadu_si512((const void *)(p + 64));
	__m512i c = _mm512_loadu_si512((const void *)(p + 128)), d = _mm512_loadu_si512((const void *)(p + 192));
	a = _mm512_xor_si512(a, _mm512_zextsi128_si512(_mm_cvtsi32_si128((int)crc)));
	for (p += CRC_WIDE_BYTES, n -= CRC_WIDE_BYTES; n >= CRC_WIDE_BYTES; p += CRC_WIDE_BYTES, n -= CRC_WIDE_BYTES) {
		a = crc32c_fold(a, by_2048, p);
		b = crc32c_fold(b, by_2048, p + 64);
		c = crc32c_fold(c, by_2048, p + 128);
		d = crc32c_fold(d, by_2048, p + 192);
	}
	_mm512_storeu_si512((void *)rest[1], b);
	_mm512_storeu_si512((void *)rest[2], c);
	_mm512_storeu_si512((void *)rest[3], d);
	for (int i = 1; i < 4; i++)
		a = crc32c_fold(a, by_512, rest[i]);
	for (; n >= 64; p += 64, n -= 64)
		a = crc32c_fold(a, by_512, p);
	_mm512_storeu_si512((void *)rest[0], a);
	return crc32c_hardware(crc32c_hardware(0, rest[0], sizeof rest[0]), p, n);
}
#endif

uint32_t crc32c_narrow(uint32_t crc, struct slice bytes)
{
	const unsigned char *p = (const unsigned char *)bytes.ptr;
	if (!p) /* an absent slice has no bytes, and no address to count from */
		return crc;
#if defined(__x86_64__)
	if (__builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("pclmul"))
		return ~crc32c_hardware(~crc, p, bytes.len);
#endif
	return ~crc32c_table(~crc, p, bytes.len);
}

uint32_t crc32c(uint32_t crc, struct slice bytes)
{
	if (bytes.len == 0) /* its pointer may be NULL, to which not even 0 may be added */
		return crc;
#if defined(__x86_64__)
	if (bytes.len >= CRC_WIDE_BYTES && __builtin_cpu_supports("vpclmulqdq") && __builtin_cpu_supports("avx512f"))
		return ~crc32c_wide(~crc, (const unsigned char *)bytes.ptr, bytes.len);
#endif
	return crc32c_narrow(crc, bytes);
}
