/* SPDX-License-Identifier: Apache-2.0
 * MD5 of several streams side by side. One stream is a chain of dependent steps that leaves most of a core idle; the
 * lanes of a vector register run such chains of different streams for the price of one. What is not whole blocks of at
 * least two streams goes through OpenSSL, whose state this shares: a stream may change between the two at any byte. */
#define OPENSSL_API_COMPAT 10100
#include "wire/hash.h"

#include <openssl/md5.h>

enum { MD5_LANES_MAX = 16, MD5_BLOCK_BYTES = 64 };

#if defined(__x86_64__)
#include <immintrin.h>

typedef void md5_kernel(uint32_t state[4][MD5_LANES_MAX], const unsigned char *from[MD5_LANES_MAX], size_t block_count);

/* What every x86-64 has. G adds its two halves, which have no bit in common, so that b is needed later; without a
 * rotation, two shifts. */
#define GENERIC_F(sum, b, c, d) V(add_epi32)(sum, XOR(d, AND(b, XOR(c, d))))
#define GENERIC_G(sum, b, c, d) V(add_epi32)(V(add_epi32)(sum, AND_NOT(c, d)), AND(b, d))
#define GENERIC_H(sum, b, c, d) V(add_epi32)(sum, XOR(b, XOR(c, d)))
#define GENERIC_I(sum, b, c, d) V(add_epi32)(sum, XOR(c, OR(b, XOR(d, V(set1_epi32)(-1)))))
#define GENERIC_ROTATE(a, bits) OR(V(slli_epi32)(a, bits), V(srli_epi32)(a, 32 - (bits)))

/* AVX-512: any function of three bits is one instruction (its truth table the argument), and so is a rotation. */
#define TERNARY_F(sum, b, c, d) V(add_epi32)(sum, V(ternarylogic_epi32)(b, c, d, 0xca))
#define TERNARY_G(sum, b, c, d) V(add_epi32)(sum, V(ternarylogic_epi32)(b, c, d, 0xe4))
#define TERNARY_H(sum, b, c, d) V(add_epi32)(sum, V(ternarylogic_epi32)(b, c, d, 0x96))
#define TERNARY_I(sum, b, c, d) V(add_epi32)(sum, V(ternarylogic_epi32)(b, c, d, 0x39))

#define ROW_16(i, offset) _mm_loadu_si128((const void *)(from[i] + (offset)))
#define ROW_32(i, offset) _mm256_inserti128_si256(_mm256_castsi128_si256(ROW_16(i, offset)), ROW_16((i) + 4, offset), 1)
#define ROW_64(i, offset) _mm512_inserti64x4(_mm512_castsi256_si512(ROW_32(i, offset)), ROW_32((i) + 8, offset), 1)

#define _mm_loadu     _mm_loadu_si128
#define _mm_storeu    _mm_storeu_si128
#define _mm256_loadu  _mm256_loadu_si256
#define _mm256_storeu _mm256_storeu_si256
#define _mm512_loadu  _mm512_loadu_si512
#define _mm512_storeu _mm512_storeu_si512

#define AND		   _mm_and_si128
#define AND_NOT(c, d)	   _mm_andnot_si128(d, c)
#define OR		   _mm_or_si128
#define XOR		   _mm_xor_si128
#define KERNEL		   md5_sse2_4
#define KERNEL_TARGET	   __attribute__((target("sse2")))
#define KERNEL_REGISTER(v) "+x"(v)
#define WIDTH		   4
#define VEC		   __m128i
#define V(op)		   _mm_##op
#define LOAD_ROW	   ROW_16
#define MIX_F		   GENERIC_F
#define MIX_G		   GENERIC_G
#define MIX_H		   GENERIC_H
#define MIX_I		   GENERIC_I
#define ROTATE		   GENERIC_ROTATE
#include "wire/md5_kernel.h"
#undef AND
#undef AND_NOT
#undef OR
#undef XOR

#define AND		   _mm256_and_si256
#define AND_NOT(c, d)	   _mm256_andnot_si256(d, c)
#define OR		   _mm256_or_si256
#define XOR		   _mm256_xor_si256
#define KERNEL		   md5_avx2_8
#define KERNEL_TARGET	   __attribute__((target("avx2")))
#define KERNEL_REGISTER(v) "+x"(v)
#define WIDTH		   8
#define VEC		   __m256i
#define V(op)		   _mm256_##op
#define LOAD_ROW	   ROW_32
#define MIX_F		   GENERIC_F
#define MIX_G		   GENERIC_G
#define MIX_H		   GENERIC_H
#define MIX_I		   GENERIC_I
#define ROTATE		   GENERIC_ROTATE
#include "wire/md5_kernel.h"
#undef AND
#undef AND_NOT
#undef OR
#undef XOR

#define KERNEL		   md5_avx512_4
#define KERNEL_TARGET	   __attribute__((target("avx512f,avx512vl")))
#define KERNEL_REGISTER(v) "+v"(v)
#define WIDTH		   4
#define VEC		   __m128i
#define V(op)		   _mm_##op
#define LOAD_ROW	   ROW_16
#define MIX_F		   TERNARY_F
#define MIX_G		   TERNARY_G
#define MIX_H		   TERNARY_H
#define MIX_I		   TERNARY_I
#define ROTATE		   _mm_rol_epi32
#include "wire/md5_kernel.h"

#define KERNEL		   md5_avx512_8
#define KERNEL_TARGET	   __attribute__((target("avx512f,avx512vl")))
#define KERNEL_REGISTER(v) "+v"(v)
#define WIDTH		   8
#define VEC		   __m256i
#define V(op)		   _mm256_##op
#define LOAD_ROW	   ROW_32
#define MIX_F		   TERNARY_F
#define MIX_G		   TERNARY_G
#define MIX_H		   TERNARY_H
#define MIX_I		   TERNARY_I
#define ROTATE		   _mm256_rol_epi32
#include "wire/md5_kernel.h"

#define KERNEL		   md5_avx512_16
#define KERNEL_TARGET	   __attribute__((target("avx512f,avx512vl")))
#define KERNEL_REGISTER(v) "+v"(v)
#define WIDTH		   16
#define VEC		   __m512i
#define V(op)		   _mm512_##op
#define LOAD_ROW	   ROW_64
#define MIX_F		   TERNARY_F
#define MIX_G		   TERNARY_G
#define MIX_H		   TERNARY_H
#define MIX_I		   TERNARY_I
#define ROTATE		   _mm512_rol_epi32
#include "wire/md5_kernel.h"

/* The narrowest kernel for so many streams: they cost nearly the same, but wide ones lower some processors' clock. */
static md5_kernel *kernel_for(enum hash_md5_unit unit, size_t count)
{
	if (unit == HASH_MD5_AVX512)
		return count <= 4 ? md5_avx512_4 : count <= 8 ? md5_avx512_8 : md5_avx512_16;
	return unit == HASH_MD5_AVX2 && count > 4 ? md5_avx2_8 : md5_sse2_4;
}

static size_t lanes_of(enum hash_md5_unit unit)
{
	return unit == HASH_MD5_AVX512 ? 16 : unit == HASH_MD5_AVX2 ? 8 : 4;
}

static void kernel_run(enum hash_md5_unit unit, size_t count, uint32_t state[4][MD5_LANES_MAX],
		       const unsigned char *from[MD5_LANES_MAX], size_t block_count)
{
	kernel_for(unit, count)(state, from, block_count);
}
#else
/* Never asked: no unit but HASH_MD5_SCALAR is there. */
static size_t lanes_of(enum hash_md5_unit unit)
{
	return 1;
}

static void kernel_run(enum hash_md5_unit unit, size_t count, uint32_t state[4][MD5_LANES_MAX],
		       const unsigned char *from[MD5_LANES_MAX], size_t block_count)
{
}
#endif

enum hash_md5_unit hash_md5_best_unit(void)
{
#if defined(__x86_64__)
	if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl"))
		return HASH_MD5_AVX512;
	return __builtin_cpu_supports("avx2") ? HASH_MD5_AVX2 : HASH_MD5_SSE2;
#else
	return HASH_MD5_SCALAR;
#endif
}

static MD5_CTX *context_of(struct hash_md5 *h)
{
	return (MD5_CTX *)(void *)h;
}

/* The streams under way: lane i works on piece[i]. */
struct lanes {
	size_t count;
	struct hash_md5_piece *piece[MD5_LANES_MAX];
};

static size_t whole_blocks(const struct hash_md5_piece *p)
{
	return p->bytes.len / MD5_BLOCK_BYTES;
}

/* What OpenSSL keeps of an unfinished block is filled up first; from there on blocks are whole. */
static void piece_align(struct hash_md5_piece *p)
{
	MD5_CTX *m = context_of(p->state);
	size_t missing = m->num ? MD5_BLOCK_BYTES - m->num : 0;
	struct slice first = slice_first(p->bytes, missing);
	hash_md5_update(p->state, first);
	p->bytes = slice_from(p->bytes, first.len);
}

/* OpenSSL counts bits in two words. */
static void count_bytes(MD5_CTX *m, size_t bytes)
{
	uint64_t bits = ((uint64_t)m->Nh << 32 | m->Nl) + (uint64_t)bytes * 8;
	m->Nl = (MD5_LONG)bits;
	m->Nh = (MD5_LONG)(bits >> 32);
}

/* All lanes go on until the first of them is at its end. */
static void lanes_run(struct lanes *l, enum hash_md5_unit unit)
{
	uint32_t state[4][MD5_LANES_MAX];
	const unsigned char *from[MD5_LANES_MAX];
	size_t blocks = whole_blocks(l->piece[0]);
	for (size_t i = 1; i < l->count; i++)
		if (whole_blocks(l->piece[i]) < blocks)
			blocks = whole_blocks(l->piece[i]);
	for (size_t i = 0; i < MD5_LANES_MAX; i++) {
		/* A lane without a stream repeats the first and is forgotten. */
		const struct hash_md5_piece *p = l->piece[i < l->count ? i : 0];
		const MD5_CTX *m = context_of(p->state);
		from[i] = (const unsigned char *)p->bytes.ptr;
		state[0][i] = m->A;
		state[1][i] = m->B;
		state[2][i] = m->C;
		state[3][i] = m->D;
	}
	kernel_run(unit, l->count, state, from, blocks);
	for (size_t i = 0; i < l->count; i++) {
		struct hash_md5_piece *p = l->piece[i];
		MD5_CTX *m = context_of(p->state);
		m->A = state[0][i];
		m->B = state[1][i];
		m->C = state[2][i];
		m->D = state[3][i];
		count_bytes(m, blocks * MD5_BLOCK_BYTES);
		p->bytes = slice_from(p->bytes, blocks * MD5_BLOCK_BYTES);
	}
}

/* Streams at the end of their blocks leave the lanes. */
static void lanes_retire(struct lanes *l)
{
	size_t kept = 0;
	for (size_t i = 0; i < l->count; i++) {
		struct hash_md5_piece *p = l->piece[i];
		if (whole_blocks(p) > 0)
			l->piece[kept++] = p;
		else
			hash_md5_update(p->state, p->bytes);
	}
	l->count = kept;
}

void hash_md5_update_many_on(enum hash_md5_unit unit, struct hash_md5_piece *pieces, size_t count)
{
	struct lanes l = { 0 };
	size_t width = unit == HASH_MD5_SCALAR ? 1 : lanes_of(unit), next = 0;
	for (;;) {
		while (l.count < width && next < count) {
			struct hash_md5_piece *p = &pieces[next++];
			piece_align(p);
			if (whole_blocks(p) > 0)
				l.piece[l.count++] = p;
			else
				hash_md5_update(p->state, p->bytes);
		}
		if (l.count < 2)
			break;
		lanes_run(&l, unit);
		lanes_retire(&l);
	}
	/* One lane or none is left; with one lane to begin with, all of them come by here. */
	if (l.count)
		hash_md5_update(l.piece[0]->state, l.piece[0]->bytes);
	for (; next < count; next++)
		hash_md5_update(pieces[next].state, pieces[next].bytes);
}

void hash_md5_update_many(struct hash_md5_piece *pieces, size_t count)
{
	hash_md5_update_many_on(hash_md5_best_unit(), pieces, count);
}
