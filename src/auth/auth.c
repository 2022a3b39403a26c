/* SPDX-License-Identifier: Apache-2.0
 * Which scheme is it? An Authorization header decides before a token in the query; the two stand together only in a
 * user delegation SAS that is bound to one user, whose bearer token must come with it. */
#include "auth/auth.h"

#include "auth/bearer.h"
#include "auth/limits.h"
#include "auth/sas.h"
#include "auth/sharedkey.h"

static enum err authenticate_header(const struct auth_request *r, struct slice value, struct arena *arena,
				    struct auth_identity *ret, struct auth_failure *failure)
{
	struct slice credentials = value;
	struct slice scheme = slice_cut(&credentials, ' ');
	credentials = slice_trim(credentials);
	if (credentials.len == 0)
		return ERR_INVALID_AUTHENTICATION_INFO;
	if (slice_eq_nocase(scheme, SLICE("Bearer")))
		return bearer_verify(r, credentials, arena, ret, failure);
	enum sharedkey_scheme which = SHAREDKEY_FULL;
	if (slice_eq_nocase(scheme, SLICE("SharedKeyLite")))
		which = SHAREDKEY_LITE;
	else if (!slice_eq_nocase(scheme, SLICE("SharedKey")))
		return ERR_INVALID_AUTHENTICATION_INFO;
	if (r->account->limits && r->account->limits->no_shared_key)
		return ERR_KEY_BASED_AUTHENTICATION_NOT_PERMITTED;
	unsigned key = 0;
	TRY(sharedkey_verify(r, which, credentials, arena, failure, &key));
	*ret = (struct auth_identity){ .kind = AUTH_SHARED_KEY, .key = key };
	return ERR_OK;
}

enum err auth_authenticate(const struct auth_request *r, struct arena *arena, struct auth_identity *ret,
			   struct auth_failure *ret_failure)
{
	struct sas_token token;
	struct slice header = http_header(r->head, SLICE("authorization"));
	*ret_failure = (struct auth_failure){ .detail = SLICE_NONE, .string_to_sign = SLICE_NONE };
	enum sas_kind kind = sas_token_read(r->query, &token);
	if (slice_is_set(header)) {
		struct auth_identity user;
		if (http_header_count(r->head, SLICE("authorization")) > 1)
			return ERR_INVALID_AUTHENTICATION_INFO;
		TRY(authenticate_header(r, header, arena, &user, ret_failure));
		if (user.kind == AUTH_BEARER && kind == SAS_DELEGATION && slice_is_set(token.field[SAS_SDUOID]))
			return sas_verify(r, kind, &token, &user, arena, ret, ret_failure);
		*ret = user;
		return ERR_OK;
	}
	if (kind != SAS_NONE)
		return sas_verify(r, kind, &token, NULL, arena, ret, ret_failure);
	*ret = (struct auth_identity){ .kind = AUTH_ANONYMOUS };
	return ERR_OK;
}
