/* SPDX-License-Identifier: Apache-2.0
 * HMAC-SHA256 with keys prepared once, and signatures compared in constant time. See mac.h. */
#include "auth/smb/mac.h"

#include <assert.h>

#include "wire/base64.h"

_Static_assert(MAC_TEXT_BYTES == BASE64_BYTES(MAC_BYTES), "the text of a MAC");

void mac_encode(const unsigned char mac[MAC_BYTES], char ret[MAC_TEXT_BYTES])
{
	base64_encode_to(ret, slice_make(mac, MAC_BYTES));
}

bool mac_matches(const struct hash_hmac_key *k, struct slice text, struct slice signature)
{
	unsigned char mac[MAC_BYTES];
	char encoded[MAC_TEXT_BYTES];
	hash_hmac(k, text, mac);
	mac_encode(mac, encoded);
	bool same = slice_eq_consttime(slice_make(encoded, sizeof encoded), signature);
	hash_wipe(mac, sizeof mac);
	hash_wipe(encoded, sizeof encoded);
	return same;
}

/* The prepared key, or one made on the spot in *local. */
static const struct hash_hmac_key *key_get(const struct auth_account *a, unsigned index, struct hash_hmac_key *local)
{
	if (a->key_state[index])
		return a->key_state[index];
	hash_hmac_key_init(local, a->key[index]);
	return local;
}

unsigned auth_account_mac_matches(const struct auth_account *a, struct slice text, struct slice signature)
{
	if (signature.len != MAC_TEXT_BYTES)
		return 0;
	for (unsigned i = 0; i < 2; i++) {
		if (a->key[i].len == 0)
			continue;
		struct hash_hmac_key local;
		const struct hash_hmac_key *k = key_get(a, i, &local);
		bool same = mac_matches(k, text, signature);
		if (k == &local)
			hash_wipe(&local, sizeof local);
		if (same)
			return i + 1;
	}
	return 0;
}

bool auth_account_mac_sign(const struct auth_account *a, unsigned index, struct slice text,
			   unsigned char ret[MAC_BYTES])
{
	assert(index < 2);
	if (a->key[index].len == 0)
		return false;
	struct hash_hmac_key local;
	const struct hash_hmac_key *k = key_get(a, index, &local);
	hash_hmac(k, text, ret);
	if (k == &local)
		hash_wipe(&local, sizeof local);
	return true;
}

void auth_account_prepare(struct auth_account *a)
{
	for (unsigned i = 0; i < 2; i++) {
		if (a->key[i].len == 0 || a->key_state[i])
			continue;
		struct hash_hmac_key *k = malloc(sizeof *k);
		if (!k)
			continue; /* works without, slower */
		hash_hmac_key_init(k, a->key[i]);
		a->key_state[i] = k;
	}
}

void auth_account_release(struct auth_account *a)
{
	if (!a)
		return;
	for (unsigned i = 0; i < 2; i++) {
		if (a->key_state[i])
			hash_wipe(a->key_state[i], sizeof(struct hash_hmac_key));
		free(a->key_state[i]);
		a->key_state[i] = NULL;
	}
}
