/* SPDX-License-Identifier: Apache-2.0
 * Bearer tokens (JSON web tokens of an OAuth issuer).
 *
 * BEARER_BASIC is for development: the signature is not checked, only that the token is well formed, in its time, and
 * made for this audience by a known kind of issuer. BEARER_FULL proves the signature (RS256 or ES256 with a key of the
 * set) and wants the configured issuer and audience. A token with alg "none" is refused in both. Tokens pass over TLS
 * alone. */
#ifndef AUTH_BEARER_H
#define AUTH_BEARER_H

#include "auth/auth.h"
#include "auth/roles.h"
#include "base/buf.h"

enum bearer_mode { BEARER_OFF, BEARER_BASIC, BEARER_FULL };

/* Made by bearer_config_new and read-only from then on: any thread may use it. */
struct auth_bearer_config;

struct bearer_options {
	enum bearer_mode mode;
	struct slice issuer;	  /* FULL: exactly this; BASIC: absent = the public clouds' prefixes */
	struct slice audience;	  /* absent: https://<account>.<service>.<suffix> */
	bool storage_audience;	  /* the storage audience too, which is every account's; BASIC: always */
	struct slice jwks;	  /* FULL: the issuer's key set (JSON text), or */
	struct slice public_key;  /* FULL: one public key (PEM), for tokens of any key id */
	struct auth_roles *roles; /* taken over, also on failure; NULL: every token may do everything */
};

/* Copies what it needs. On failure *ret_message says which option is wrong. */
enum err bearer_config_new(const struct bearer_options *, struct auth_bearer_config **ret,
			   struct buf *ret_message) MUST_CHECK;
void bearer_config_free(struct auth_bearer_config *); /* accepts NULL */

/* `token` is what follows "Bearer " in the header. ERR_INVALID_BEARER_TOKEN (401) for what is wrong with the token;
 * the caller answers with the challenge. */
enum err bearer_verify(const struct auth_request *, struct slice token, struct arena *, struct auth_identity *ret,
		       struct auth_failure *ret_failure) MUST_CHECK;

/* The grants of a user delegation SAS, by the oid of who asked for its key. Nothing without a file of roles. */
enum err bearer_find_delegated(const struct auth_request *, struct slice object_id, struct arena *,
			       struct auth_identity *ret) MUST_CHECK;

#endif
