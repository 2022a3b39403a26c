/* SPDX-License-Identifier: Apache-2.0
 * Inside auth: the public keys of an issuer. Set up once, then read-only for any thread. */
#ifndef AUTH_BEARER_INT_H
#define AUTH_BEARER_INT_H

#include "auth/bearer.h"

enum {
	BEARER_KEYS_MAX = 64,		    /* an issuer publishes a handful */
	BEARER_TOKEN_MAX_BYTES = 16 * 1024, /* group claims make large tokens; the head's limit is above */
	BEARER_RSA_MIN_BITS = 2048,
	BEARER_JSON_DEPTH = 8,
	BEARER_NAMES_MAX = 128, /* claims of one token */
};

struct evp_pkey_st;

struct bearer_key {
	char *id; /* kid, NUL-ended; NULL = the key of tokens of any id */
	struct evp_pkey_st *key;
};

struct bearer_keys {
	struct bearer_key key[BEARER_KEYS_MAX];
	size_t count;
};

/* Adds the usable keys of a key set, or one PEM key. False with a reason if none is usable or one that should be is
 * not. */
bool bearer_keys_add_jwks(struct bearer_keys *, struct slice json, const char **ret_reason);
bool bearer_keys_add_pem(struct bearer_keys *, struct slice pem, const char **ret_reason);
void bearer_keys_fini(struct bearer_keys *);

/* True if one of the keys with that id (absent: any) made `signature` of `text` by `alg`: RS256 or ES256, nothing else.
 */
bool bearer_keys_verify(const struct bearer_keys *, struct slice alg, struct slice id, struct slice text,
			struct slice signature);

#endif
