/* SPDX-License-Identifier: Apache-2.0
 * The low-level digest calls of OpenSSL, not EVP: their state is a plain struct, so a prepared key is copied on the
 * stack (0.44 us for an HMAC of 600 bytes, against 1.15 us with EVP_MAC_CTX_dup) and no request allocates for hashing.
 */
#define OPENSSL_API_COMPAT 10100
#include "wire/hash.h"

#include <assert.h>
#include <openssl/crypto.h>
#include <openssl/md5.h>
#include <openssl/sha.h>

#include "wire/base64.h"

_Static_assert(sizeof(MD5_CTX) <= sizeof(struct hash_md5), "hash_md5 holds an MD5_CTX");
_Static_assert(sizeof(SHA256_CTX) <= sizeof(struct hash_sha256), "hash_sha256 holds a SHA256_CTX");

static MD5_CTX *md5_of(struct hash_md5 *h)
{
	return (MD5_CTX *)(void *)h;
}

static SHA256_CTX *sha256_of(struct hash_sha256 *h)
{
	return (SHA256_CTX *)(void *)h;
}

void hash_md5_init(struct hash_md5 *h)
{
	int ok = MD5_Init(md5_of(h));
	assert(ok);
}

void hash_md5_update(struct hash_md5 *h, struct slice s)
{
	if (s.len)
		MD5_Update(md5_of(h), s.ptr, s.len);
}

void hash_md5_final(struct hash_md5 *h, unsigned char dst[HASH_MD5_BYTES])
{
	MD5_Final(dst, md5_of(h));
}

void hash_md5(struct slice s, unsigned char dst[HASH_MD5_BYTES])
{
	struct hash_md5 h;
	hash_md5_init(&h);
	hash_md5_update(&h, s);
	hash_md5_final(&h, dst);
}

void hash_sha256_init(struct hash_sha256 *h)
{
	int ok = SHA256_Init(sha256_of(h));
	assert(ok);
}

void hash_sha256_update(struct hash_sha256 *h, struct slice s)
{
	if (s.len)
		SHA256_Update(sha256_of(h), s.ptr, s.len);
}

void hash_sha256_final(struct hash_sha256 *h, unsigned char dst[HASH_SHA256_BYTES])
{
	SHA256_Final(dst, sha256_of(h));
}

void hash_sha256(struct slice s, unsigned char dst[HASH_SHA256_BYTES])
{
	struct hash_sha256 h;
	hash_sha256_init(&h);
	hash_sha256_update(&h, s);
	hash_sha256_final(&h, dst);
}

void hash_hmac_key_init(struct hash_hmac_key *k, struct slice key)
{
	unsigned char block[64] = { 0 }, padded[64];
	if (key.len > sizeof block)
		hash_sha256(key, block);
	else if (key.len)
		memcpy(block, key.ptr, key.len);
	struct slice pad = slice_make(padded, sizeof padded);
	for (size_t i = 0; i < sizeof block; i++)
		padded[i] = block[i] ^ 0x36;
	hash_sha256_init(&k->inner);
	hash_sha256_update(&k->inner, pad);
	for (size_t i = 0; i < sizeof block; i++)
		padded[i] = block[i] ^ 0x5c;
	hash_sha256_init(&k->outer);
	hash_sha256_update(&k->outer, pad);
	hash_wipe(block, sizeof block);
	hash_wipe(padded, sizeof padded);
}

void hash_hmac(const struct hash_hmac_key *k, struct slice message, unsigned char dst[HASH_SHA256_BYTES])
{
	struct hash_sha256 h = k->inner;
	unsigned char digest[HASH_SHA256_BYTES];
	hash_sha256_update(&h, message);
	hash_sha256_final(&h, digest);
	h = k->outer;
	hash_sha256_update(&h, slice_make(digest, sizeof digest));
	hash_sha256_final(&h, dst);
	hash_wipe(&h, sizeof h);
}

void hash_wipe(void *secret, size_t len)
{
	OPENSSL_cleanse(secret, len);
}

void hash_crc64_format(uint64_t crc, char dst[HASH_CRC64_TEXT_BYTES])
{
	unsigned char raw[8];
	for (size_t i = 0; i < sizeof raw; i++)
		raw[i] = (unsigned char)(crc >> 8 * i);
	base64_encode_to(dst, slice_make(raw, sizeof raw));
}

bool hash_crc64_parse(struct slice text, uint64_t *ret)
{
	unsigned char raw[8];
	if (!base64_decode_exact(text, raw, sizeof raw))
		return false;
	uint64_t crc = 0;
	for (size_t i = 0; i < sizeof raw; i++)
		crc |= (uint64_t)raw[i] << 8 * i;
	*ret = crc;
	return true;
}
