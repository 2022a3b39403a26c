/* SPDX-License-Identifier: Apache-2.0
 * HMAC-SHA256 with the key's two halves hashed beforehand: signing copies two small structs, allocates nothing, and a
 * prepared key may be used by any number of threads. */
#ifndef AUTH_MAC_H
#define AUTH_MAC_H

/* The incremental SHA-256 structs are what makes a prepared key copyable without the heap. */
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/sha.h>

#include "auth/auth.h"

enum { MAC_BYTES = 32, MAC_TEXT_BYTES = 44 };

struct mac_key {
	SHA256_CTX inner;
	SHA256_CTX outer;
};

void mac_key_init(struct mac_key *, struct slice key);
void mac_key_fini(struct mac_key *); /* wipes it */
void mac_sign(const struct mac_key *, struct slice text, unsigned char ret[MAC_BYTES]);
/* Standard Base64 with padding, no NUL. */
void mac_encode(const unsigned char mac[MAC_BYTES], char ret[MAC_TEXT_BYTES]);
/* True if `signature` is exactly the Base64 of the text's MAC. Constant time in the signature's bytes. */
bool mac_matches(const struct mac_key *, struct slice text, struct slice signature);

/* The same with either key of the account. */
bool account_mac_matches(const struct auth_account *, struct slice text, struct slice signature);
/* Signs with key `index`; false if that key is not set. */
bool account_mac_sign(const struct auth_account *, unsigned index, struct slice text, unsigned char ret[MAC_BYTES]);

#endif
