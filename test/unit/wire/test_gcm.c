/* SPDX-License-Identifier: Apache-2.0
 * AES-GCM in wide registers: NIST's known answers, and every kind of length against OpenSSL. */
#include "wire/aead/gcm.h"

#include "base/sys/rng.h"
#include "wire_test.h"

#include <openssl/evp.h>

enum { DATA_MAX = 3000 };

struct sample {
	unsigned char key[32], nonce[GCM_NONCE_BYTES], aad[200], data[DATA_MAX];
	size_t key_len, aad_len, len;
};

/* What OpenSSL makes of it: ciphertext and tag. */
static void openssl_seal(const struct sample *s, unsigned char *out, unsigned char tag[GCM_TAG_BYTES])
{
	EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
	int n = 0;
	assert_non_null(c);
	assert_int_equal(
		EVP_EncryptInit_ex(c, s->key_len == 16 ? EVP_aes_128_gcm() : EVP_aes_256_gcm(), NULL, s->key, s->nonce),
		1);
	if (s->aad_len)
		assert_int_equal(EVP_EncryptUpdate(c, NULL, &n, s->aad, (int)s->aad_len), 1);
	if (s->len)
		assert_int_equal(EVP_EncryptUpdate(c, out, &n, s->data, (int)s->len), 1);
	assert_int_equal(EVP_EncryptFinal_ex(c, out, &n), 1);
	assert_int_equal(EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_GET_TAG, GCM_TAG_BYTES, tag), 1);
	EVP_CIPHER_CTX_free(c);
}

static void compare(const struct sample *s)
{
	unsigned char want[DATA_MAX + 16], want_tag[GCM_TAG_BYTES], tag[GCM_TAG_BYTES], data[DATA_MAX];
	struct slice aad = slice_make(s->aad, s->aad_len);
	struct gcm_key k;
	gcm_key_init(&k, slice_make(s->key, s->key_len));
	openssl_seal(s, want, want_tag);
	memcpy(data, s->data, s->len);
	gcm_seal(&k, s->nonce, aad, data, s->len, tag);
	assert_memory_equal(tag, want_tag, sizeof tag);
	assert_memory_equal(data, want, s->len);
	assert_true(gcm_open(&k, s->nonce, aad, data, s->len, tag));
	assert_memory_equal(data, s->data, s->len);

	/* One bit anywhere is noticed. */
	memcpy(data, want, s->len);
	size_t at = s->len ? (size_t)s->data[0] * 7 % s->len : 0;
	if (s->len)
		data[at] ^= 0x10;
	else
		tag[3] ^= 1;
	assert_false(gcm_open(&k, s->nonce, aad, data, s->len, tag));
}

static void skip_elsewhere(void)
{
	if (gcm_is_here())
		return;
	print_message("this processor has no VAES and VPCLMULQDQ: the server uses OpenSSL here\n");
	skip();
}

static void test_every_length(void **state)
{
	struct rng rng;
	struct sample s;
	skip_elsewhere();
	rng_init_seed(&rng, 20);
	for (size_t len = 0; len <= DATA_MAX; len += len < 1100 ? 1 : 61) {
		rng_bytes(&rng, &s, sizeof s);
		s.len = len;
		s.aad_len = rng_below(&rng, sizeof s.aad + 1);
		s.key_len = len % 2 ? 16 : 32;
		compare(&s);
	}
}

/* The counter's lowest 32 bits run over without touching the nonce: it takes a data of 64 GiB, which nobody sends. What
 * can be shown is that a nonce of ones is left alone. */
static void test_nonce_of_ones(void **state)
{
	struct sample s = { .key_len = 16, .len = 2 * 512 + 33, .aad_len = 32 };
	skip_elsewhere();
	memset(s.nonce, 0xff, sizeof s.nonce);
	compare(&s);
}

static void test_mac_in_pieces(void **state)
{
	struct rng rng;
	struct sample s;
	skip_elsewhere();
	rng_init_seed(&rng, 21);
	for (size_t len = 0; len <= DATA_MAX - 128; len += 1 + len / 40) {
		unsigned char want[16], tag[GCM_TAG_BYTES], none[16];
		struct gcm_key k;
		rng_bytes(&rng, &s, sizeof s);
		struct slice pieces[3] = { slice_make(s.data, 48), slice_make(s.data + 48, 16),
					   slice_make(s.data + 64, len) };
		EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
		int n = 0;
		assert_int_equal(EVP_EncryptInit_ex(c, EVP_aes_128_gcm(), NULL, s.key, s.nonce), 1);
		assert_int_equal(EVP_EncryptUpdate(c, NULL, &n, s.data, (int)(64 + len)), 1);
		assert_int_equal(EVP_EncryptFinal_ex(c, none, &n), 1);
		assert_int_equal(EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_GET_TAG, GCM_TAG_BYTES, want), 1);
		EVP_CIPHER_CTX_free(c);
		gcm_key_init(&k, slice_make(s.key, 16));
		gcm_mac(&k, s.nonce, pieces, 3, tag);
		assert_memory_equal(tag, want, sizeof tag);
	}
}

/* Cases 1 and 2 of the paper that defines GCM (McGrew and Viega). */
static void test_known_answers(void **state)
{
	static const unsigned char zeros[32];
	unsigned char tag[GCM_TAG_BYTES], data[16] = { 0 };
	struct gcm_key k;
	skip_elsewhere();
	gcm_key_init(&k, slice_make(zeros, 16));
	gcm_seal(&k, zeros, SLICE(""), data, 0, tag);
	static const unsigned char empty[] = { 0x58, 0xe2, 0xfc, 0xce, 0xfa, 0x7e, 0x30, 0x61,
					       0x36, 0x7f, 0x1d, 0x57, 0xa4, 0xe7, 0x45, 0x5a };
	assert_memory_equal(tag, empty, sizeof tag);
	gcm_seal(&k, zeros, SLICE(""), data, 16, tag);
	static const unsigned char cipher[] = { 0x03, 0x88, 0xda, 0xce, 0x60, 0xb6, 0xa3, 0x92,
						0xf3, 0x28, 0xc2, 0xb9, 0x71, 0xb2, 0xfe, 0x78 };
	static const unsigned char one[] = { 0xab, 0x6e, 0x47, 0xd4, 0x2c, 0xec, 0x13, 0xbd,
					     0xf5, 0x3a, 0x67, 0xb2, 0x12, 0x57, 0xbd, 0xdf };
	assert_memory_equal(data, cipher, sizeof data);
	assert_memory_equal(tag, one, sizeof tag);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_known_answers),
		cmocka_unit_test(test_every_length),
		cmocka_unit_test(test_nonce_of_ones),
		cmocka_unit_test(test_mac_in_pieces),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
