/* SPDX-License-Identifier: Apache-2.0
 * XAES-256-GCM over OpenSSL's AES. The key of a message is two blocks of CMAC (NIST SP 800-108, counter mode) over the
 * first half of the nonce; GCM takes the other half. Derived keys are wiped. */
#include "wire/aead/xaes.h"

#include <limits.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <string.h>

enum { BLOCK_BYTES = 16, DERIVE_BYTES = 12, GCM_NONCE_BYTES = 12 };

/* One step of CMAC's subkey: times x in GF(2^128). */
static void double_block(unsigned char b[BLOCK_BYTES])
{
	unsigned carry = b[0] >> 7;
	for (int i = 0; i < BLOCK_BYTES - 1; i++)
		b[i] = (unsigned char)(b[i] << 1 | b[i + 1] >> 7);
	b[BLOCK_BYTES - 1] = (unsigned char)(b[BLOCK_BYTES - 1] << 1 ^ (carry ? 0x87 : 0));
}

static bool encrypt_blocks(EVP_CIPHER_CTX *ctx, const unsigned char *in, int bytes, unsigned char *out)
{
	int n;
	return EVP_EncryptUpdate(ctx, out, &n, in, bytes) == 1 && n == bytes;
}

static bool derive(const unsigned char key[XAES_KEY_BYTES], const unsigned char *nonce,
		   unsigned char ret[XAES_KEY_BYTES])
{
	unsigned char subkey[BLOCK_BYTES] = { 0 }, input[2 * BLOCK_BYTES];
	EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
	bool ok = ctx && EVP_EncryptInit_ex(ctx, EVP_aes_256_ecb(), NULL, key, NULL) == 1 &&
		  EVP_CIPHER_CTX_set_padding(ctx, 0) == 1 && encrypt_blocks(ctx, subkey, BLOCK_BYTES, subkey);
	double_block(subkey);
	for (unsigned i = 0; i < 2; i++) {
		unsigned char *block = input + (size_t)i * BLOCK_BYTES;
		const unsigned char label[] = { 0, (unsigned char)(i + 1), 'X', 0 };
		memcpy(block, label, sizeof label);
		memcpy(block + sizeof label, nonce, DERIVE_BYTES);
		for (int k = 0; k < BLOCK_BYTES; k++)
			block[k] ^= subkey[k];
	}
	ok = ok && encrypt_blocks(ctx, input, sizeof input, ret);
	EVP_CIPHER_CTX_free(ctx); /* wipes */
	OPENSSL_cleanse(subkey, sizeof subkey);
	OPENSSL_cleanse(input, sizeof input);
	return ok;
}

/* A GCM context with key and nonce set. NULL: no memory. */
static EVP_CIPHER_CTX *begin(const unsigned char key[XAES_KEY_BYTES], const unsigned char *nonce, int encrypt)
{
	unsigned char derived[XAES_KEY_BYTES];
	EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
	/* GCM's nonce is of 12 bytes unless something else is said. */
	_Static_assert(XAES_NONCE_BYTES == DERIVE_BYTES + GCM_NONCE_BYTES, "the nonce has two halves");
	bool ok = ctx && derive(key, nonce, derived) &&
		  EVP_CipherInit_ex(ctx, EVP_aes_256_gcm(), NULL, derived, nonce + DERIVE_BYTES, encrypt) == 1;
	OPENSSL_cleanse(derived, sizeof derived);
	if (ok)
		return ctx;
	EVP_CIPHER_CTX_free(ctx);
	return NULL;
}

static bool run(EVP_CIPHER_CTX *ctx, struct slice bound, struct slice in, unsigned char *out)
{
	int n;
	if (bound.len && EVP_CipherUpdate(ctx, NULL, &n, (const unsigned char *)bound.ptr, (int)bound.len) != 1)
		return false;
	return in.len == 0 || EVP_CipherUpdate(ctx, out, &n, (const unsigned char *)in.ptr, (int)in.len) == 1;
}

enum err xaes_seal(const unsigned char key[XAES_KEY_BYTES], const unsigned char nonce[XAES_NONCE_BYTES],
		   struct slice bound, struct slice in, unsigned char *out)
{
	int n;
	if (in.len > INT_MAX || bound.len > INT_MAX)
		return ERR_LIMIT;
	EVP_CIPHER_CTX *ctx = begin(key, nonce, 1);
	bool ok = ctx && run(ctx, bound, in, out) && EVP_CipherFinal_ex(ctx, out + in.len, &n) == 1 &&
		  EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_GCM_GET_TAG, XAES_TAG_BYTES, out + in.len) == 1;
	EVP_CIPHER_CTX_free(ctx);
	return ok ? ERR_OK : ERR_NO_MEMORY;
}

enum err xaes_open(const unsigned char key[XAES_KEY_BYTES], const unsigned char nonce[XAES_NONCE_BYTES],
		   struct slice bound, struct slice in, unsigned char *out)
{
	int n;
	unsigned char tag[XAES_TAG_BYTES], rest[BLOCK_BYTES];
	if (in.len < XAES_TAG_BYTES || in.len > INT_MAX || bound.len > INT_MAX)
		return ERR_CORRUPT;
	struct slice data = slice_first(in, in.len - XAES_TAG_BYTES);
	EVP_CIPHER_CTX *ctx = begin(key, nonce, 0);
	if (!ctx)
		return ERR_NO_MEMORY;
	memcpy(tag, in.ptr + data.len, sizeof tag);
	bool ok = run(ctx, bound, data, out) &&
		  EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_GCM_SET_TAG, XAES_TAG_BYTES, tag) == 1 &&
		  EVP_CipherFinal_ex(ctx, rest, &n) == 1;
	EVP_CIPHER_CTX_free(ctx);
	if (!ok)
		OPENSSL_cleanse(out, data.len);
	return ok ? ERR_OK : ERR_CORRUPT;
}
