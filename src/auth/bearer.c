/* SPDX-License-Identifier: Apache-2.0
 * A token is "header.claims.signature", each part Base64 for URLs. Nothing in it is believed before its form is
 * checked; in BEARER_FULL nothing of the claims is looked at before the signature holds. */
#include "auth/bearer.h"

#include "auth/bearer_int.h"
#include "base/sys/clock.h"
#include "wire/base64.h"
#include "wire/json.h"

/* Clocks of issuers run ahead; a token that begins within this is taken. Its end counts exactly. */
#define NOT_BEFORE_SKEW_TICKS (5 * 60 * TICKS_PER_SECOND)

enum { VERSION_BEARER = 20171109, VERSION_CHALLENGE = 20191212, VERSION_CHALLENGE_TABLE = 20201206 };

struct auth_bearer_config {
	enum bearer_mode mode;
	char *issuer, *audience; /* NULL = the defaults */
	bool storage_audience;
	struct bearer_keys keys;
	struct auth_roles *roles; /* NULL: no limits */
};

static char *dup_or_null(struct slice s)
{
	return s.len ? strndup(s.ptr, s.len) : NULL;
}

static bool full_mode_setup(struct auth_bearer_config *c, const struct bearer_options *o, const char **ret_reason)
{
	if (o->issuer.len == 0) {
		*ret_reason = "an issuer must be given";
		return false;
	}
	if (o->jwks.len == 0 && o->public_key.len == 0) {
		*ret_reason = "a key set or a public key must be given";
		return false;
	}
	return (o->jwks.len == 0 || bearer_keys_add_jwks(&c->keys, o->jwks, ret_reason)) &&
	       (o->public_key.len == 0 || bearer_keys_add_pem(&c->keys, o->public_key, ret_reason));
}

enum err bearer_config_new(const struct bearer_options *o, struct auth_bearer_config **ret, struct buf *message)
{
	const char *reason = "";
	struct auth_bearer_config *c = calloc(1, sizeof *c);
	if (!c) {
		roles_free(o->roles);
		return ERR_NO_MEMORY;
	}
	c->roles = o->roles;
	c->mode = o->mode;
	c->storage_audience = o->storage_audience || o->mode == BEARER_BASIC;
	c->issuer = dup_or_null(o->issuer);
	c->audience = dup_or_null(o->audience);
	if ((o->issuer.len && !c->issuer) || (o->audience.len && !c->audience)) {
		bearer_config_free(c);
		return ERR_NO_MEMORY;
	}
	if (o->mode == BEARER_FULL && !full_mode_setup(c, o, &reason)) {
		buf_printf(message, "bearer tokens: %s", reason);
		bearer_config_free(c);
		return ERR_SYNTAX;
	}
	*ret = c;
	return ERR_OK;
}

void bearer_config_free(struct auth_bearer_config *c)
{
	if (!c)
		return;
	bearer_keys_fini(&c->keys);
	roles_free(c->roles);
	free(c->issuer);
	free(c->audience);
	free(c);
}

struct jwt {
	struct slice signed_text; /* header.claims as sent */
	struct slice signature;	  /* decoded */
	struct slice alg, key_id;
	struct json_node *claims;
};

static bool part_parse(struct slice part, struct arena *arena, struct json_node **ret)
{
	struct slice json;
	return part.len > 0 && base64url_decode(part, arena, &json) == ERR_OK &&
	       json_parse(json, arena, BEARER_JSON_DEPTH, ret) == ERR_OK && (*ret)->kind == JSON_OBJECT;
}

/* Names twice in one object: two readers may believe different ones. Too many names count as that, so that a stranger's
 * token costs little. */
static bool has_repeated_names(const struct json_node *object)
{
	size_t count = 0;
	for (const struct json_node *a = object->child; a; a = a->next) {
		if (++count > BEARER_NAMES_MAX)
			return true;
		for (const struct json_node *b = a->next; b; b = b->next)
			if (slice_eq(a->name, b->name))
				return true;
	}
	return false;
}

static bool jwt_parse(struct slice token, struct arena *arena, struct jwt *ret)
{
	struct json_node *header;
	struct slice rest = token;
	if (token.len > BEARER_TOKEN_MAX_BYTES)
		return false;
	struct slice first = slice_cut(&rest, '.');
	if (!slice_is_set(rest))
		return false;
	struct slice second = slice_cut(&rest, '.');
	if (rest.len == 0 || slice_find_byte(rest, '.') < rest.len)
		return false;
	if (!part_parse(first, arena, &header) || !part_parse(second, arena, &ret->claims) ||
	    base64url_decode(rest, arena, &ret->signature) != ERR_OK || ret->signature.len == 0)
		return false;
	if (has_repeated_names(header) || has_repeated_names(ret->claims))
		return false;
	ret->signed_text = slice_make(token.ptr, first.len + 1 + second.len);
	ret->alg = json_member_string(header, "alg");
	ret->key_id = json_member_string(header, "kid");
	/* "crit" names rules this reader does not know. */
	return ret->alg.len > 0 && !slice_eq_nocase(ret->alg, SLICE("none")) && !json_member(header, "crit");
}

/* Seconds since 1970, a fraction cut off. False if missing or not a sensible number. */
static bool claim_time(const struct json_node *claims, const char *name, uint64_t *ret_ticks)
{
	struct json_node *n = json_member(claims, name);
	uint64_t seconds;
	if (!n || n->kind != JSON_NUMBER)
		return false;
	struct slice whole = slice_first(n->text, slice_find_byte(n->text, '.'));
	if (!slice_to_u64(whole, &seconds) || seconds > UINT64_C(253402300799)) /* the year 9999 */
		return false;
	*ret_ticks = TICKS_UNIX_EPOCH + seconds * TICKS_PER_SECOND;
	return true;
}

static bool issuer_ok(const struct auth_bearer_config *c, struct slice issuer)
{
	static const char *clouds[] = { "https://sts.windows.net/", "https://sts.microsoftonline.de/",
					"https://sts.chinacloudapi.cn/", "https://sts.windows-ppe.net/" };
	if (c->issuer)
		return slice_eq(issuer, slice_str(c->issuer));
	for (size_t i = 0; i < sizeof clouds / sizeof clouds[0]; i++)
		if (slice_has_prefix(issuer, slice_str(clouds[i])))
			return true;
	return false;
}

static struct slice without_slash(struct slice s)
{
	return s.len && s.ptr[s.len - 1] == '/' ? slice_first(s, s.len - 1) : s;
}

static bool one_audience_ok(const struct auth_bearer_config *c, const struct auth_request *r, struct slice audience)
{
	audience = without_slash(audience);
	if (c->audience)
		return slice_eq(audience, without_slash(slice_str(c->audience)));
	/* The resource, or the id by which the directory knows it. */
	if (c->storage_audience && (slice_eq(audience, SLICE("https://storage.azure.com")) ||
				    slice_eq(audience, SLICE("e406a681-f3d4-42a8-90b6-c2b029497af1"))))
		return true;
	if (!slice_has_prefix(audience, SLICE("https://")))
		return false;
	struct slice host = slice_from(audience, 8);
	if (!slice_has_prefix(host, r->account->name))
		return false;
	struct slice rest = slice_from(host, r->account->name.len),
		     service = slice_str(service_facts(r->service)->host_part);
	return slice_has_prefix(rest, service) && rest.len > service.len && slice_find_byte(rest, '/') == rest.len;
}

static bool audience_ok(const struct auth_bearer_config *c, const struct auth_request *r,
			const struct json_node *claims)
{
	struct json_node *n = json_member(claims, "aud");
	if (!n)
		return false;
	if (n->kind == JSON_STRING)
		return one_audience_ok(c, r, n->text);
	for (struct json_node *a = n->kind == JSON_ARRAY ? n->child : NULL; a; a = a->next)
		if (a->kind == JSON_STRING && one_audience_ok(c, r, a->text))
			return true;
	return false;
}

static const char *claims_problem(const struct auth_bearer_config *c, const struct auth_request *r,
				  const struct json_node *claims)
{
	uint64_t not_before, expiry, issued;
	bool has_start = claim_time(claims, "nbf", &not_before), has_issued = claim_time(claims, "iat", &issued);
	if (!claim_time(claims, "exp", &expiry) || (c->mode == BEARER_BASIC && (!has_start || !has_issued)) ||
	    (!has_start && json_member(claims, "nbf")))
		return "Lifetime validation failed. The token has no valid nbf, exp or iat.";
	if (auth_client_ticks(r) >= expiry)
		return "Lifetime validation failed. The token is expired.";
	if (has_start && not_before > auth_client_ticks(r) + NOT_BEFORE_SKEW_TICKS)
		return "Lifetime validation failed. The token is not yet valid.";
	if (!issuer_ok(c, json_member_string(claims, "iss")))
		return "Issuer validation failed. Issuer did not match.";
	if (!audience_ok(c, r, claims))
		return "Audience validation failed. Audience did not match.";
	return NULL;
}

static enum err refuse(const struct auth_request *r, struct auth_failure *failure, const char *detail)
{
	failure->detail = slice_str(detail);
	return r->version >= service_facts(r->service)->challenge_since ? ERR_INVALID_BEARER_TOKEN
									: ERR_AUTHENTICATION_FAILED;
}

/* The strings of a claim that is a list; what else it holds is not looked at. */
static enum err claim_list(const struct json_node *claims, const char *name, struct arena *arena,
			   const struct slice **ret, size_t *ret_count)
{
	const struct json_node *list = json_member(claims, name);
	size_t count = 0;
	*ret_count = 0;
	if (!list || list->kind != JSON_ARRAY)
		return ERR_OK;
	for (const struct json_node *n = list->child; n; n = n->next)
		count++;
	struct slice *all = ARENA_NEW_ARRAY(arena, struct slice, count + 1);
	if (!all)
		return ERR_NO_MEMORY;
	for (const struct json_node *n = list->child; n; n = n->next)
		if (n->kind == JSON_STRING)
			all[(*ret_count)++] = n->text;
	*ret = all;
	return ERR_OK;
}

static enum err find_roles(const struct auth_bearer_config *c, const struct json_node *claims, struct arena *arena,
			   struct auth_identity *ret)
{
	struct role_claims who = { .issuer = json_member_string(claims, "iss"), .object_id = ret->subject };
	TRY(claim_list(claims, "groups", arena, &who.group, &who.group_count));
	TRY(claim_list(claims, "roles", arena, &who.app_role, &who.app_role_count));
	return roles_find(c->roles, &who, arena, ret);
}

/* Where the request points: what rules inside operations are asked about. */
static void identity_point(const struct auth_request *r, struct auth_identity *ret)
{
	ret->role_service = r->service;
	ret->role_account = r->account->name;
	ret->role_container = r->container;
}

enum err bearer_verify(const struct auth_request *r, struct slice token, struct arena *arena, struct auth_identity *ret,
		       struct auth_failure *failure)
{
	const struct auth_bearer_config *c = r->bearer;
	struct jwt jwt;
	if (!c || c->mode == BEARER_OFF)
		return refuse(r, failure, "Bearer tokens are not accepted by this server.");
	if (!r->secure) {
		failure->detail = SLICE("Authentication scheme Bearer is not allowed with HTTP.");
		return ERR_AUTHENTICATION_FAILED;
	}
	if (r->version < VERSION_BEARER) {
		failure->detail = SLICE("Authentication scheme Bearer is not supported in this version.");
		return ERR_AUTHENTICATION_FAILED;
	}
	failure->wrong_proof = true; /* until its signature holds */
	if (!jwt_parse(token, arena, &jwt))
		return refuse(r, failure, "The token is malformed or not signed.");
	if (c->mode == BEARER_FULL &&
	    !bearer_keys_verify(&c->keys, jwt.alg, jwt.key_id, jwt.signed_text, jwt.signature))
		return refuse(r, failure, "Signature validation failed. The signature did not match.");
	failure->wrong_proof = false;
	const char *problem = claims_problem(c, r, jwt.claims);
	if (problem)
		return refuse(r, failure, problem);
	struct slice subject = json_member_string(jwt.claims, "oid");
	struct slice app = json_member_string(jwt.claims, "appid");
	*ret = (struct auth_identity){
		.kind = AUTH_BEARER,
		.app = slice_is_set(app) ? app : json_member_string(jwt.claims, "azp"),
		.subject = slice_is_set(subject) ? subject : json_member_string(jwt.claims, "sub"),
		.tenant = json_member_string(jwt.claims, "tid"),
	};
	identity_point(r, ret);
	return c->roles ? find_roles(c, jwt.claims, arena, ret) : ERR_OK;
}

enum err bearer_find_delegated(const struct auth_request *r, struct slice object_id, struct arena *arena,
			       struct auth_identity *ret)
{
	const struct auth_bearer_config *c = r->bearer;
	identity_point(r, ret);
	if (!c || !c->roles)
		return ERR_OK;
	struct role_claims claims = { .issuer = slice_str(c->issuer ? c->issuer : ""), .object_id = object_id };
	return roles_find(c->roles, &claims, arena, ret);
}
