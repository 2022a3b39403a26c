/* SPDX-License-Identifier: Apache-2.0
 * Shared Key and Shared Key Lite: the string a client signs, rebuilt from the request.
 *
 * Clients do not all sign the same text. Header names are sorted by byte by some and by the service's own culture order
 * by others; runs of blanks in a value are folded by some and not by others; the path of a secondary endpoint is signed
 * with or without "-secondary". Each choice is a variant; it is tried only where it changes the text, so that a usual
 * request costs one string and one MAC. */
#ifndef AUTH_SHAREDKEY_H
#define AUTH_SHAREDKEY_H

#include "auth/auth.h"

enum sharedkey_scheme { SHAREDKEY_FULL, SHAREDKEY_LITE };

enum sharedkey_variant { /* bits */
			 SHAREDKEY_CULTURE_ORDER = 1,
			 SHAREDKEY_UNFOLDED = 2,
			 SHAREDKEY_SECONDARY_REMOVED = 4,
			 SHAREDKEY_VARIANTS = 8,
};

/* The string to sign. ERR_INVALID_HEADER_VALUE if a signed header is repeated. */
enum err sharedkey_string(const struct auth_request *, enum sharedkey_scheme, unsigned variant, struct arena *,
			  struct slice *ret) MUST_CHECK;
/* The value of an Authorization header for this request, made with the first account key: for clients and tests. */
enum err sharedkey_sign(const struct auth_request *, enum sharedkey_scheme, struct arena *,
			struct slice *ret) MUST_CHECK;

/* `credentials` is what follows the scheme's name in the header: "account:signature". */
enum err sharedkey_verify(const struct auth_request *, enum sharedkey_scheme, struct slice credentials, struct arena *,
			  struct auth_failure *ret_failure, unsigned *ret_key) MUST_CHECK;

/* The service's order of header names (lower case): '-' and ''' count only when all else is equal. <0, 0, >0. */
int sharedkey_culture_cmp(struct slice a, struct slice b);

#endif
