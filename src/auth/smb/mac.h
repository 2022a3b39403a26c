/* SPDX-License-Identifier: Apache-2.0
 * Signatures as clients send them: Base64 of an HMAC-SHA256. Keys are prepared once (wire/hash.h) and shared by
 * threads. */
#ifndef AUTH_MAC_H
#define AUTH_MAC_H

#include "auth/auth.h"
#include "wire/hash.h"

enum { MAC_BYTES = HASH_SHA256_BYTES, MAC_TEXT_BYTES = 44 };

/* True if `signature` is exactly the Base64 of the text's MAC. Constant time in the signature's bytes. */
bool mac_matches(const struct hash_hmac_key *, struct slice text, struct slice signature);
void mac_encode(const unsigned char mac[MAC_BYTES], char ret[MAC_TEXT_BYTES]);

/* The same with either key of the account: which one, 1 or 2; 0 if neither. */
unsigned auth_account_mac_matches(const struct auth_account *, struct slice text, struct slice signature);
/* Signs with key `index`; false if that key is not set. */
bool auth_account_mac_sign(const struct auth_account *, unsigned index, struct slice text,
			   unsigned char ret[MAC_BYTES]);

#endif
