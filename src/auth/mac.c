/* SPDX-License-Identifier: Apache-2.0 */
#include "auth/mac.h"

#include <assert.h>
#include <openssl/crypto.h>

#include "wire/base64.h"

enum { BLOCK_BYTES = 64 };

void mac_key_init(struct mac_key *k, struct slice key)
{
	unsigned char block[BLOCK_BYTES] = { 0 };
	if (key.len > BLOCK_BYTES)
		SHA256((const unsigned char *)key.ptr, key.len, block);
	else if (key.len > 0)
		memcpy(block, key.ptr, key.len);

	for (size_t i = 0; i < BLOCK_BYTES; i++)
		block[i] ^= 0x36;
	SHA256_Init(&k->inner);
	SHA256_Update(&k->inner, block, BLOCK_BYTES);
	for (size_t i = 0; i < BLOCK_BYTES; i++)
		block[i] ^= 0x36 ^ 0x5c;
	SHA256_Init(&k->outer);
	SHA256_Update(&k->outer, block, BLOCK_BYTES);
	OPENSSL_cleanse(block, sizeof block);
}

void mac_key_fini(struct mac_key *k)
{
	if (k)
		OPENSSL_cleanse(k, sizeof *k);
}

void mac_sign(const struct mac_key *k, struct slice text, unsigned char ret[MAC_BYTES])
{
	SHA256_CTX hash = k->inner;
	SHA256_Update(&hash, text.ptr, text.len);
	SHA256_Final(ret, &hash);
	hash = k->outer;
	SHA256_Update(&hash, ret, MAC_BYTES);
	SHA256_Final(ret, &hash);
	OPENSSL_cleanse(&hash, sizeof hash);
}

void mac_encode(const unsigned char mac[MAC_BYTES], char ret[MAC_TEXT_BYTES])
{
	base64_encode_to(ret, slice_make(mac, MAC_BYTES));
}

bool mac_matches(const struct mac_key *k, struct slice text, struct slice signature)
{
	unsigned char mac[MAC_BYTES];
	char encoded[MAC_TEXT_BYTES];
	mac_sign(k, text, mac);
	mac_encode(mac, encoded);
	bool same = slice_eq_consttime(slice_make(encoded, sizeof encoded), signature);
	OPENSSL_cleanse(mac, sizeof mac);
	OPENSSL_cleanse(encoded, sizeof encoded);
	return same;
}

bool account_mac_matches(const struct auth_account *a, struct slice text, struct slice signature)
{
	if (signature.len != MAC_TEXT_BYTES)
		return false;
	for (unsigned i = 0; i < 2; i++) {
		if (a->key[i].len == 0)
			continue;
		struct mac_key local;
		const struct mac_key *k = a->key_state[i];
		if (!k) {
			mac_key_init(&local, a->key[i]);
			k = &local;
		}
		bool same = mac_matches(k, text, signature);
		if (k == &local)
			mac_key_fini(&local);
		if (same)
			return true;
	}
	return false;
}

bool account_mac_sign(const struct auth_account *a, unsigned index, struct slice text, unsigned char ret[MAC_BYTES])
{
	assert(index < 2);
	if (a->key[index].len == 0)
		return false;
	struct mac_key k;
	if (a->key_state[index])
		k = *(const struct mac_key *)a->key_state[index];
	else
		mac_key_init(&k, a->key[index]);
	mac_sign(&k, text, ret);
	mac_key_fini(&k);
	return true;
}

void auth_account_prepare(struct auth_account *a)
{
	for (unsigned i = 0; i < 2; i++) {
		if (a->key[i].len == 0 || a->key_state[i])
			continue;
		struct mac_key *k = malloc(sizeof *k);
		if (!k)
			continue; /* works without, slower */
		mac_key_init(k, a->key[i]);
		a->key_state[i] = k;
	}
}

void auth_account_release(struct auth_account *a)
{
	if (!a)
		return;
	for (unsigned i = 0; i < 2; i++) {
		mac_key_fini(a->key_state[i]);
		free(a->key_state[i]);
		a->key_state[i] = NULL;
	}
}
