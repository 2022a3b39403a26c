/* SPDX-License-Identifier: Apache-2.0
 * Hashes of the wire: known answers, pieces of every length, lanes side by side. */
#include "wire/hash.h"

#include "base/sys/rng.h"
#include "wire_test.h"

static void assert_hex(const void *bytes, size_t len, const char *hex)
{
	struct buf b;
	buf_init(&b, 256);
	for (size_t i = 0; i < len; i++)
		buf_printf(&b, "%02x", ((const unsigned char *)bytes)[i]);
	assert_slice(buf_slice(&b), hex);
	buf_fini(&b);
}

static void test_digests(void **state)
{
	unsigned char md5[HASH_MD5_BYTES], sha[HASH_SHA256_BYTES];
	hash_md5(SLICE(""), md5);
	assert_hex(md5, sizeof md5, "d41d8cd98f00b204e9800998ecf8427e");
	hash_md5(SLICE_NONE, md5);
	assert_hex(md5, sizeof md5, "d41d8cd98f00b204e9800998ecf8427e");
	hash_sha256(SLICE("abc"), sha);
	assert_hex(sha, sizeof sha, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");

	struct hash_md5 m;
	struct hash_sha256 s;
	hash_md5_init(&m);
	hash_sha256_init(&s);
	for (int i = 0; i < 3; i++) {
		hash_md5_update(&m, slice_make(&"abc"[i], 1));
		hash_sha256_update(&s, slice_make(&"abc"[i], 1));
		hash_md5_update(&m, SLICE(""));
	}
	hash_md5_final(&m, md5);
	hash_sha256_final(&s, sha);
	assert_hex(md5, sizeof md5, "900150983cd24fb0d6963f7d28e17f72");
	assert_hex(sha, sizeof sha, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

enum { STREAMS_MAX = 37, STREAM_BYTES_MAX = 3000 };

/* Streams of random lengths in random pieces on one unit, against OpenSSL over the whole of each. */
static void many_streams(struct rng *rng, enum hash_md5_unit unit, size_t count, size_t length_max, size_t piece_max)
{
	static unsigned char bytes[STREAMS_MAX][STREAM_BYTES_MAX];
	struct hash_md5 state[STREAMS_MAX];
	size_t length[STREAMS_MAX], done[STREAMS_MAX];
	bool more = true;
	for (size_t i = 0; i < count; i++) {
		length[i] = (size_t)rng_below(rng, length_max + 1);
		done[i] = 0;
		rng_bytes(rng, bytes[i], length[i]);
		hash_md5_init(&state[i]);
	}
	while (more) {
		struct hash_md5_piece piece[STREAMS_MAX];
		more = false;
		for (size_t i = 0; i < count; i++) {
			size_t n = (size_t)rng_below(rng, piece_max + 1);
			if (n > length[i] - done[i])
				n = length[i] - done[i];
			piece[i] = (struct hash_md5_piece){ &state[i], slice_make(bytes[i] + done[i], n) };
			done[i] += n;
			more = more || done[i] < length[i];
		}
		hash_md5_update_many_on(unit, piece, count);
	}
	for (size_t i = 0; i < count; i++) {
		unsigned char expected[HASH_MD5_BYTES], digest[HASH_MD5_BYTES];
		hash_md5(slice_make(bytes[i], length[i]), expected);
		hash_md5_final(&state[i], digest);
		assert_memory_equal(digest, expected, sizeof digest);
	}
}

static void test_md5_many(void **state)
{
	struct rng rng;
	rng_init_seed(&rng, 5);
	for (enum hash_md5_unit unit = HASH_MD5_SCALAR; unit <= hash_md5_best_unit(); unit++)
		for (size_t count = 0; count <= STREAMS_MAX; count++) {
			many_streams(&rng, unit, count, STREAM_BYTES_MAX, STREAM_BYTES_MAX);
			many_streams(&rng, unit, count, STREAM_BYTES_MAX, 200);
			many_streams(&rng, unit, count, 130, 70);
		}
}

/* OpenSSL counts the bits of a stream in two 32-bit words: beyond 512 MiB the second one is needed. */
static void test_md5_many_long(void **state)
{
	enum { PIECE_BYTES = 1 << 20, PIECES = 520, STREAMS = 2 };
	static char zeros[PIECE_BYTES + 1];
	struct hash_md5 many[STREAMS], alone;
	unsigned char expected[HASH_MD5_BYTES], digest[HASH_MD5_BYTES];
	hash_md5_init(&many[0]);
	hash_md5_init(&many[1]);
	hash_md5_init(&alone);
	for (int i = 0; i < PIECES; i++) {
		struct hash_md5_piece piece[STREAMS] = { { &many[0], slice_make(zeros, sizeof zeros) },
							 { &many[1], slice_make(zeros, sizeof zeros) } };
		hash_md5_update_many(piece, STREAMS);
		hash_md5_update(&alone, slice_make(zeros, sizeof zeros));
	}
	hash_md5_final(&alone, expected);
	for (int i = 0; i < STREAMS; i++) {
		hash_md5_final(&many[i], digest);
		assert_memory_equal(digest, expected, sizeof digest);
	}
}

/* Test cases 1, 2 and 6 of RFC 4231: short key, text key, key longer than a block. */
static void test_hmac(void **state)
{
	unsigned char mac[HASH_SHA256_BYTES], key[131];
	struct hash_hmac_key k;
	memset(key, 0x0b, 20);
	hash_hmac_key_init(&k, slice_make(key, 20));
	for (int again = 0; again < 2; again++) {
		hash_hmac(&k, SLICE("Hi There"), mac);
		assert_hex(mac, sizeof mac, "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
	}
	hash_hmac_key_init(&k, SLICE("Jefe"));
	hash_hmac(&k, SLICE("what do ya want for nothing?"), mac);
	assert_hex(mac, sizeof mac, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
	memset(key, 0xaa, sizeof key);
	hash_hmac_key_init(&k, slice_make(key, sizeof key));
	hash_hmac(&k, SLICE("Test Using Larger Than Block-Size Key - Hash Key First"), mac);
	assert_hex(mac, sizeof mac, "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

/* The definition, bit by bit. */
static uint64_t crc64_slow(const unsigned char *p, size_t len)
{
	uint64_t crc = UINT64_MAX;
	for (size_t i = 0; i < len; i++) {
		crc ^= p[i];
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? UINT64_C(0x9A6C9329AC4BC9B5) : 0);
	}
	return ~crc;
}

static void test_crc64(void **state)
{
	assert_true(hash_crc64(0, SLICE("123456789")) == UINT64_C(0xAE8B14860A799888));
	assert_true(hash_crc64_portable(0, SLICE("123456789")) == UINT64_C(0xAE8B14860A799888));
	assert_true(hash_crc64(0, SLICE("")) == 0);

	struct rng rng;
	rng_init_seed(&rng, 64);
	static unsigned char bytes[5000];
	rng_bytes(&rng, bytes, sizeof bytes);
	for (size_t len = 0; len <= sizeof bytes; len += len < 400 ? 1 : 97) {
		size_t offset = len % 13 < sizeof bytes - len ? len % 13 : 0;
		uint64_t expected = crc64_slow(bytes + offset, len);
		assert_true(hash_crc64(0, slice_make(bytes + offset, len)) == expected);
		assert_true(hash_crc64_portable(0, slice_make(bytes + offset, len)) == expected);
		size_t cut = len ? (size_t)rng_below(&rng, len + 1) : 0;
		uint64_t first = hash_crc64(0, slice_make(bytes + offset, cut));
		assert_true(hash_crc64(first, slice_make(bytes + offset + cut, len - cut)) == expected);
	}
}

static void test_crc64_text(void **state)
{
	char text[HASH_CRC64_TEXT_BYTES];
	uint64_t crc;
	hash_crc64_format(UINT64_C(0xAE8B14860A799888), text);
	assert_slice(slice_make(text, sizeof text), "iJh5CoYUi64=");
	assert_true(hash_crc64_parse(slice_make(text, sizeof text), &crc) && crc == UINT64_C(0xAE8B14860A799888));
	assert_false(hash_crc64_parse(SLICE("iJh5CoYUi64"), &crc));
	assert_false(hash_crc64_parse(SLICE("iJh5CoYU"), &crc));
	assert_false(hash_crc64_parse(SLICE(""), &crc));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_digests), cmocka_unit_test(test_md5_many), cmocka_unit_test(test_md5_many_long),
		cmocka_unit_test(test_hmac),	cmocka_unit_test(test_crc64),	 cmocka_unit_test(test_crc64_text),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
