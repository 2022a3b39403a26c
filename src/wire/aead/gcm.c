/* SPDX-License-Identifier: Apache-2.0
 * GHASH and counter mode, 32 blocks a step.
 *
 * GHASH's polynomials have their lowest power in the highest bit. Blocks are turned byte by byte when they are loaded,
 * so that only the order of bits within the whole is the other way round; a product of such values is short of one
 * multiplication by x, which the hash key carries from the beginning (key_init). A batch of n blocks is the sum of
 * block i times the key's power n - i, the hash so far being added to the first block; it is reduced once. */
#include "wire/aead/gcm.h"

#include <assert.h>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>

#define WIDE	    __attribute__((target("avx512f,avx512bw,avx512vl,vaes,vpclmulqdq,aes,pclmul,sse4.1")))
#define WIDE_INLINE WIDE __attribute__((always_inline)) static inline

enum { VECTOR_BYTES = 64, VECTOR_BLOCKS = 4, BATCH_VECTORS = GCM_BATCH_BLOCKS / VECTOR_BLOCKS };
enum { BATCH_BYTES = GCM_BATCH_BLOCKS * GCM_BLOCK_BYTES };

bool gcm_is_here(void)
{
	unsigned a, b, c = 0, d;
	/* Not every compiler knows how to ask for VAES by name. */
	return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (c & bit_VAES) && __builtin_cpu_supports("vpclmulqdq") &&
	       __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
	       __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("aes");
}

/* ---- GHASH ---- */

WIDE_INLINE __m512i turn(__m512i blocks)
{
	const __m128i order = _mm_set_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
	return _mm512_shuffle_epi8(blocks, _mm512_broadcast_i32x4(order));
}

WIDE_INLINE __m128i turn_one(__m128i block)
{
	return _mm512_castsi512_si128(turn(_mm512_castsi128_si512(block)));
}

WIDE_INLINE __m512i xor3(__m512i a, __m512i b, __m512i c)
{
	return _mm512_ternarylogic_epi64(a, b, c, 0x96);
}

struct product { /* the halves of products, not reduced yet */
	__m512i low, middle, high;
};

WIDE_INLINE void product_add(struct product *p, __m512i a, __m512i b)
{
	p->low = _mm512_xor_si512(p->low, _mm512_clmulepi64_epi128(a, b, 0x00));
	p->middle = xor3(p->middle, _mm512_clmulepi64_epi128(a, b, 0x01), _mm512_clmulepi64_epi128(a, b, 0x10));
	p->high = _mm512_xor_si512(p->high, _mm512_clmulepi64_epi128(a, b, 0x11));
}

/* Modulo x^128 + x^7 + x^2 + x + 1, each of the four by itself: the lowest 64 bits are folded up, twice. */
WIDE_INLINE __m512i product_reduce(const struct product *p)
{
	const __m512i poly = _mm512_set1_epi64((long long)UINT64_C(0xc200000000000000));
	__m512i m = xor3(p->middle, _mm512_shuffle_epi32(p->low, _MM_PERM_BADC),
			 _mm512_clmulepi64_epi128(poly, p->low, 0x00));
	return xor3(p->high, _mm512_shuffle_epi32(m, _MM_PERM_BADC), _mm512_clmulepi64_epi128(poly, m, 0x00));
}

WIDE_INLINE __m128i lanes_add(__m512i v)
{
	__m256i half = _mm256_xor_si256(_mm512_castsi512_si256(v), _mm512_extracti64x4_epi64(v, 1));
	return _mm_xor_si128(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
}

WIDE_INLINE __m512i powers_load(const struct gcm_key *k, size_t blocks, size_t vector)
{
	return _mm512_loadu_si512(k->power[GCM_BATCH_BLOCKS - blocks + vector * VECTOR_BLOCKS]);
}

/* One whole batch, already in registers as it lies in memory. */
WIDE_INLINE __m128i batch_hash(const struct gcm_key *k, __m128i hash, const __m512i v[BATCH_VECTORS])
{
	struct product p = { _mm512_setzero_si512(), _mm512_setzero_si512(), _mm512_setzero_si512() };
	product_add(&p, _mm512_xor_si512(turn(v[0]), _mm512_zextsi128_si512(hash)),
		    powers_load(k, GCM_BATCH_BLOCKS, 0));
#pragma GCC unroll 8
	for (size_t i = 1; i < BATCH_VECTORS; i++)
		product_add(&p, turn(v[i]), powers_load(k, GCM_BATCH_BLOCKS, i));
	return lanes_add(product_reduce(&p));
}

WIDE_INLINE __mmask64 mask_of(size_t len)
{
	return len >= VECTOR_BYTES ? ~UINT64_C(0) : (UINT64_C(1) << len) - 1;
}

/* Fewer than a batch; the last block is filled up with zeros. */
WIDE static __m128i rest_hash(const struct gcm_key *k, __m128i hash, const unsigned char *p, size_t len)
{
	size_t blocks = (len + GCM_BLOCK_BYTES - 1) / GCM_BLOCK_BYTES;
	struct product sum = { _mm512_setzero_si512(), _mm512_setzero_si512(), _mm512_setzero_si512() };
	__m512i add = _mm512_zextsi128_si512(hash);
	for (size_t i = 0, at = 0; at < len; i++, at += VECTOR_BYTES) {
		__m512i v = turn(_mm512_maskz_loadu_epi8(mask_of(len - at), p + at));
		product_add(&sum, _mm512_xor_si512(v, add), powers_load(k, blocks, i));
		add = _mm512_setzero_si512();
	}
	return blocks ? lanes_add(product_reduce(&sum)) : hash;
}

WIDE static __m128i hash_add(const struct gcm_key *k, __m128i hash, struct slice bytes)
{
	const unsigned char *p = (const unsigned char *)bytes.ptr;
	size_t len = bytes.len;
	for (; len >= BATCH_BYTES; p += BATCH_BYTES, len -= BATCH_BYTES) {
		__m512i v[BATCH_VECTORS];
#pragma GCC unroll 8
		for (size_t i = 0; i < BATCH_VECTORS; i++)
			v[i] = _mm512_loadu_si512(p + i * VECTOR_BYTES);
		hash = batch_hash(k, hash, v);
	}
	return len ? rest_hash(k, hash, p, len) : hash;
}

/* ---- AES ---- */

static uint32_t word_load(const unsigned char *p)
{
	uint32_t w;
	memcpy(&w, p, sizeof w);
	return w;
}

/* FIPS 197's key expansion, word by word. */
WIDE static void round_keys_make(struct gcm_key *k, struct slice key)
{
	size_t words = key.len / 4, all = 4 * (k->rounds + 1);
	unsigned char *w = k->round_key[0];
	uint32_t constant = 1;
	memcpy(w, key.ptr, key.len);
	for (size_t i = words; i < all; i++) {
		uint32_t last = word_load(w + 4 * (i - 1));
		__m128i boxed = _mm_aeskeygenassist_si128(_mm_set1_epi32((int)last), 0);
		if (i % words == 0) {
			last = (uint32_t)_mm_extract_epi32(boxed, 1) ^ constant; /* turned by a byte, too */
			constant = constant << 1 ^ (constant & 0x80 ? 0x11b : 0);
		} else if (words == 8 && i % words == 4) {
			last = (uint32_t)_mm_extract_epi32(boxed, 0);
		}
		last ^= word_load(w + 4 * (i - words));
		memcpy(w + 4 * i, &last, sizeof last);
	}
}

WIDE_INLINE __m512i round_key(const struct gcm_key *k, unsigned round)
{
	return _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)(const void *)k->round_key[round]));
}

/* The key stream of so many vectors, from counters that are numbers of the processor's. */
WIDE_INLINE void stream_make(const struct gcm_key *k, __m512i counters, __m512i *ret, size_t vectors)
{
	const __m512i four = _mm512_broadcast_i32x4(_mm_set_epi32(0, 0, 0, VECTOR_BLOCKS));
	__m512i key = round_key(k, 0);
#pragma GCC unroll 8
	for (size_t i = 0; i < vectors; i++) {
		ret[i] = _mm512_xor_si512(turn(counters), key);
		counters = _mm512_add_epi32(counters, four);
	}
	for (unsigned r = 1; r < k->rounds; r++) {
		key = round_key(k, r);
#pragma GCC unroll 8
		for (size_t i = 0; i < vectors; i++)
			ret[i] = _mm512_aesenc_epi128(ret[i], key);
	}
	key = round_key(k, k->rounds);
#pragma GCC unroll 8
	for (size_t i = 0; i < vectors; i++)
		ret[i] = _mm512_aesenclast_epi128(ret[i], key);
}

/* Nonce and 1, 2, 3, 4: the first is for the tag. */
WIDE static __m512i counters_begin(const unsigned char nonce[GCM_NONCE_BYTES])
{
	unsigned char first[GCM_BLOCK_BYTES] = { 0 };
	memcpy(first, nonce, GCM_NONCE_BYTES);
	__m128i block = turn_one(_mm_loadu_si128((const __m128i *)(const void *)first));
	return _mm512_add_epi32(_mm512_broadcast_i32x4(block),
				_mm512_set_epi32(0, 0, 0, 4, 0, 0, 0, 3, 0, 0, 0, 2, 0, 0, 0, 1));
}

WIDE static void tag_make(const struct gcm_key *k, __m512i counters, __m128i hash, uint64_t aad_len, uint64_t data_len,
			  unsigned char ret_tag[GCM_TAG_BYTES])
{
	uint64_t aad_bits = aad_len * 8, data_bits = data_len * 8;
	__m128i lengths = _mm_set_epi64x((long long)aad_bits, (long long)data_bits);
	struct product p = { _mm512_setzero_si512(), _mm512_setzero_si512(), _mm512_setzero_si512() };
	__m512i stream;
	product_add(&p, _mm512_zextsi128_si512(_mm_xor_si128(hash, lengths)), powers_load(k, 1, 0));
	hash = _mm512_castsi512_si128(product_reduce(&p));
	stream_make(k, counters, &stream, 1);
	_mm_storeu_si128((__m128i *)(void *)ret_tag, _mm_xor_si128(turn_one(hash), _mm512_castsi512_si128(stream)));
}

/* Counter mode over the data, and the hash of what is encrypted of it. */
WIDE_INLINE __m128i crypt(const struct gcm_key *k, __m512i counters, __m128i hash, unsigned char *p, size_t len,
			  bool sealing)
{
	const __m512i batch = _mm512_broadcast_i32x4(_mm_set_epi32(0, 0, 0, GCM_BATCH_BLOCKS));
	__m512i stream[BATCH_VECTORS], in[BATCH_VECTORS];
	for (; len >= BATCH_BYTES; p += BATCH_BYTES, len -= BATCH_BYTES) {
		stream_make(k, counters, stream, BATCH_VECTORS);
		counters = _mm512_add_epi32(counters, batch);
#pragma GCC unroll 8
		for (size_t i = 0; i < BATCH_VECTORS; i++) {
			in[i] = _mm512_loadu_si512(p + i * VECTOR_BYTES);
			stream[i] = _mm512_xor_si512(stream[i], in[i]);
			_mm512_storeu_si512(p + i * VECTOR_BYTES, stream[i]);
		}
		hash = batch_hash(k, hash, sealing ? stream : in);
	}
	if (len == 0)
		return hash;
	if (!sealing)
		hash = rest_hash(k, hash, p, len);
	stream_make(k, counters, stream, BATCH_VECTORS);
	for (size_t i = 0, at = 0; at < len; i++, at += VECTOR_BYTES) {
		__mmask64 mask = mask_of(len - at);
		__m512i v = _mm512_xor_si512(_mm512_maskz_loadu_epi8(mask, p + at), stream[i]);
		_mm512_mask_storeu_epi8(p + at, mask, v);
	}
	return sealing ? rest_hash(k, hash, p, len) : hash;
}

/* Counters of data begin at 2. */
WIDE_INLINE __m512i counters_next(__m512i counters)
{
	return _mm512_add_epi32(counters, _mm512_broadcast_i32x4(_mm_set_epi32(0, 0, 0, 1)));
}

/* ---- outside ---- */

WIDE void gcm_key_init(struct gcm_key *k, struct slice key)
{
	assert(key.len == 16 || key.len == 32);
	*k = (struct gcm_key){ .rounds = key.len == 16 ? 10 : 14 };
	round_keys_make(k, key);
	__m512i stream;
	/* The hash key is an encrypted block of zeros. */
	stream_make(k, _mm512_setzero_si512(), &stream, 1);
	__m128i h = turn_one(_mm512_castsi512_si128(stream));
	/* Times x: a bit up, and what falls out at the top comes back as the polynomial. */
	uint64_t low = (uint64_t)_mm_extract_epi64(h, 0), high = (uint64_t)_mm_extract_epi64(h, 1);
	uint64_t out = 0 - (high >> 63);
	high = (high << 1 | low >> 63) ^ (out & UINT64_C(0xc200000000000000));
	low = low << 1 ^ (out & 1);
	h = _mm_set_epi64x((long long)high, (long long)low);
	__m128i power = h;
	for (size_t i = GCM_BATCH_BLOCKS; i-- > 0;) {
		_mm_storeu_si128((__m128i *)(void *)k->power[i], power);
		struct product p = { _mm512_setzero_si512(), _mm512_setzero_si512(), _mm512_setzero_si512() };
		product_add(&p, _mm512_zextsi128_si512(power), _mm512_zextsi128_si512(h));
		power = _mm512_castsi512_si128(product_reduce(&p));
	}
}

WIDE void gcm_mac(const struct gcm_key *k, const unsigned char nonce[GCM_NONCE_BYTES], const struct slice *pieces,
		  size_t count, unsigned char ret_tag[GCM_TAG_BYTES])
{
	__m128i hash = _mm_setzero_si128();
	uint64_t len = 0;
	for (size_t i = 0; i < count; i++) {
		assert(len % GCM_BLOCK_BYTES == 0);
		hash = hash_add(k, hash, pieces[i]);
		len += pieces[i].len;
	}
	tag_make(k, counters_begin(nonce), hash, len, 0, ret_tag);
}

WIDE void gcm_seal(const struct gcm_key *k, const unsigned char nonce[GCM_NONCE_BYTES], struct slice aad, void *data,
		   size_t len, unsigned char ret_tag[GCM_TAG_BYTES])
{
	__m512i counters = counters_begin(nonce);
	__m128i hash = hash_add(k, _mm_setzero_si128(), aad);
	hash = crypt(k, counters_next(counters), hash, data, len, true);
	tag_make(k, counters, hash, aad.len, len, ret_tag);
}

WIDE bool gcm_open(const struct gcm_key *k, const unsigned char nonce[GCM_NONCE_BYTES], struct slice aad, void *data,
		   size_t len, const unsigned char tag[GCM_TAG_BYTES])
{
	unsigned char own[GCM_TAG_BYTES];
	__m512i counters = counters_begin(nonce);
	__m128i hash = hash_add(k, _mm_setzero_si128(), aad);
	hash = crypt(k, counters_next(counters), hash, data, len, false);
	tag_make(k, counters, hash, aad.len, len, own);
	return slice_eq_consttime(slice_make(own, sizeof own), slice_make(tag, sizeof own));
}

#else

bool gcm_is_here(void)
{
	return false;
}

void gcm_key_init(struct gcm_key *k, struct slice key)
{
	assert(!"not on this processor");
}

void gcm_mac(const struct gcm_key *k, const unsigned char nonce[GCM_NONCE_BYTES], const struct slice *pieces,
	     size_t count, unsigned char ret_tag[GCM_TAG_BYTES])
{
	assert(!"not on this processor");
}

void gcm_seal(const struct gcm_key *k, const unsigned char nonce[GCM_NONCE_BYTES], struct slice aad, void *data,
	      size_t len, unsigned char ret_tag[GCM_TAG_BYTES])
{
	assert(!"not on this processor");
}

bool gcm_open(const struct gcm_key *k, const unsigned char nonce[GCM_NONCE_BYTES], struct slice aad, void *data,
	      size_t len, const unsigned char tag[GCM_TAG_BYTES])
{
	assert(!"not on this processor");
	return false;
}

#endif
