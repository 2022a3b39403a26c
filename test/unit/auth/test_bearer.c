/* SPDX-License-Identifier: Apache-2.0
 * Bearer tokens in both modes, and the token of one user beside a signature that is bound to that user. */
#include "auth/bearer.h"
#include "fixture.h"
#include "golden_jwt.h"

static struct auth_bearer_config *config(const struct bearer_options *o)
{
	struct auth_bearer_config *c = NULL;
	struct buf message;
	buf_init(&message, 1024);
	if (bearer_config_new(o, &c, &message) != ERR_OK)
		fail_msg("%.*s", SLICE_FMT(buf_slice(&message)));
	buf_fini(&message);
	return c;
}

static const struct bearer_options basic = { .mode = BEARER_BASIC };
static const struct bearer_options full = { .mode = BEARER_FULL,
					    .storage_audience = true,
					    .issuer = { GOLDEN_ISSUER, sizeof GOLDEN_ISSUER - 1 },
					    .jwks = { GOLDEN_JWKS, sizeof GOLDEN_JWKS - 1 } };

static const char *token_of(const char *name)
{
	for (size_t i = 0; i < sizeof golden_jwts / sizeof golden_jwts[0]; i++)
		if (strcmp(golden_jwts[i].name, name) == 0)
			return golden_jwts[i].token;
	fail_msg("no token %s", name);
	return NULL;
}

/* The caller ends the fixture. */
static enum err ask(struct fixture *f, const struct auth_bearer_config *c, struct slice token)
{
	fixture_init(f, GOLDEN_ACCOUNT, GOLDEN_KEY);
	f->request.bearer = c;
	assert_true(fixture_load(f, arena_printf(&f->arena,
						 "GET /c/o HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer %.*s\r\n\r\n",
						 SLICE_FMT(token))));
	return fixture_authenticate(f);
}

static void tokens(void **state)
{
	struct auth_bearer_config *c[2] = { config(&full), config(&basic) };
	for (size_t i = 0; i < sizeof golden_jwts / sizeof golden_jwts[0]; i++) {
		for (unsigned mode = 0; mode < 2; mode++) {
			const struct golden_jwt *g = &golden_jwts[i];
			bool accepted = mode == 0 ? g->full : g->basic;
			struct fixture f;
			enum err e = ask(&f, c[mode], slice_str(g->token));
			if (e != (accepted ? ERR_OK : ERR_INVALID_BEARER_TOKEN))
				fail_msg("%s, mode %u: %s (%.*s)", g->name, mode, err_name(e),
					 SLICE_FMT(f.failure.detail));
			if (accepted) {
				assert_int_equal(f.identity.kind, AUTH_BEARER);
				bool by_subject = strcmp(g->name, "no object id") == 0;
				if (by_subject)
					assert_true(slice_eq(f.identity.subject, SLICE("subject")));
				assert_true(slice_eq(f.identity.tenant, SLICE("99999999-8888-7777-6666-555555555555")));
			} else {
				assert_true(slice_is_set(f.failure.detail));
			}
			fixture_fini(&f);
		}
	}
	bearer_config_free(c[0]);
	bearer_config_free(c[1]);
}

/* Each byte of a proved token, changed. The last character of a part may carry bits that decode to nothing. */
static void changed_tokens(void **state)
{
	static const char *names[] = { "RS256", "ES256" };
	struct auth_bearer_config *c = config(&full);
	for (size_t n = 0; n < 2; n++) {
		const char *token = token_of(names[n]);
		size_t len = strlen(token);
		char copy[4096];
		assert_true(len < sizeof copy);
		for (size_t i = 0; i + 1 < len; i++) {
			struct fixture f;
			memcpy(copy, token, len);
			copy[i] = copy[i] == 'A' ? 'B' : 'A';
			if (ask(&f, c, slice_make(copy, len)) == ERR_OK)
				fail_msg("%s: byte %zu may change", names[n], i);
			fixture_fini(&f);
		}
	}
	bearer_config_free(c);
}

static void one_public_key(void **state)
{
	struct bearer_options o = full;
	struct fixture f;
	o.jwks = SLICE_NONE;
	o.public_key = SLICE(GOLDEN_PEM);
	struct auth_bearer_config *c = config(&o);
	static const struct {
		const char *name;
		enum err want;
	} rows[] = { { "RS256", ERR_OK },
		     { "unknown kid", ERR_OK },
		     { "no kid", ERR_OK },
		     { "other key", ERR_INVALID_BEARER_TOKEN },
		     { "ES256", ERR_INVALID_BEARER_TOKEN },
		     { "HS256 with the public key", ERR_INVALID_BEARER_TOKEN } };
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		assert_int_equal(ask(&f, c, slice_str(token_of(rows[i].name))), rows[i].want);
		fixture_fini(&f);
	}
	bearer_config_free(c);
	o.public_key = SLICE(GOLDEN_PEM_OTHER);
	c = config(&o);
	assert_int_equal(ask(&f, c, slice_str(token_of("RS256"))), ERR_INVALID_BEARER_TOKEN);
	fixture_fini(&f);
	bearer_config_free(c);
}

static void transport_and_version(void **state)
{
	struct auth_bearer_config *c = config(&basic);
	struct slice token = slice_str(token_of("RS256"));
	struct fixture f;
	assert_int_equal(ask(&f, c, token), ERR_OK);
	f.request.secure = false;
	assert_int_equal(fixture_authenticate(&f), ERR_AUTHENTICATION_FAILED);
	assert_true(slice_eq(f.failure.detail, SLICE("Authentication scheme Bearer is not allowed with HTTP.")));
	f.request.secure = true;
	f.request.version = 20170729;
	assert_int_equal(fixture_authenticate(&f), ERR_AUTHENTICATION_FAILED);
	f.request.version = 20260406;
	f.request.bearer = NULL;
	assert_int_equal(fixture_authenticate(&f), ERR_INVALID_BEARER_TOKEN);
	f.request.version = 20190707; /* before the challenge */
	assert_int_equal(fixture_authenticate(&f), ERR_AUTHENTICATION_FAILED);
	fixture_fini(&f);
	bearer_config_free(c);
}

/* A token whose signature is proved is not taken for the audience that every account has, unless that is asked for. */
static void audience_names_the_account(void **state)
{
	struct bearer_options o = full;
	struct fixture f;
	o.storage_audience = false;
	struct auth_bearer_config *c = config(&o);
	assert_int_equal(ask(&f, c, slice_str(token_of("audience of the account"))), ERR_OK);
	fixture_fini(&f);
	static const char *const others[] = { "RS256", "audience with slash", "audience by id",
					      "audience of another account" };
	for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
		assert_int_equal(ask(&f, c, slice_str(token_of(others[i]))), ERR_INVALID_BEARER_TOKEN);
		fixture_fini(&f);
	}
	bearer_config_free(c);
}

static void own_audience(void **state)
{
	struct bearer_options o = basic;
	struct fixture f;
	o.audience = SLICE("https://goldacct.blob.core.windows.net");
	struct auth_bearer_config *c = config(&o);
	assert_int_equal(ask(&f, c, slice_str(token_of("audience of the account with slash"))), ERR_OK);
	fixture_fini(&f);
	assert_int_equal(ask(&f, c, slice_str(token_of("RS256"))), ERR_INVALID_BEARER_TOKEN);
	fixture_fini(&f);
	bearer_config_free(c);
}

static void bad_options(void **state)
{
	static const struct bearer_options rows[] = {
		{ .mode = BEARER_FULL },
		{ .mode = BEARER_FULL, .issuer = { "i", 1 } },
		{ .mode = BEARER_FULL, .jwks = { GOLDEN_JWKS, sizeof GOLDEN_JWKS - 1 } },
		{ .mode = BEARER_FULL, .issuer = { "i", 1 }, .jwks = { "{}", 2 } },
		{ .mode = BEARER_FULL, .issuer = { "i", 1 }, .jwks = { "nonsense", 8 } },
		{ .mode = BEARER_FULL, .issuer = { "i", 1 }, .jwks = { "{\"keys\":[]}", 11 } },
		{ .mode = BEARER_FULL,
		  .issuer = { "i", 1 },
		  .jwks = { "{\"keys\":[{\"kty\":\"RSA\",\"n\":\"AA\",\"e\":\"AQAB\"}]}", 44 } },
		{ .mode = BEARER_FULL, .issuer = { "i", 1 }, .jwks = { "{\"keys\":[{\"kty\":\"RSA\"}]}", 24 } },
		{ .mode = BEARER_FULL,
		  .issuer = { "i", 1 },
		  .jwks = { GOLDEN_JWKS_WEAK, sizeof GOLDEN_JWKS_WEAK - 1 } },
		{ .mode = BEARER_FULL,
		  .issuer = { "i", 1 },
		  .public_key = { GOLDEN_PEM_WEAK, sizeof GOLDEN_PEM_WEAK - 1 } },
		{ .mode = BEARER_FULL, .issuer = { "i", 1 }, .public_key = { "-----BEGIN", 10 } },
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct auth_bearer_config *c = NULL;
		struct buf message;
		buf_init(&message, 1024);
		assert_int_equal(bearer_config_new(&rows[i], &c, &message), ERR_SYNTAX);
		assert_null(c);
		assert_true(message.len > 20);
		buf_fini(&message);
	}
	bearer_config_free(NULL);
}

/* sduoid: the signature works only together with that user's own token. */
static void user_bound_signature(void **state)
{
	static const struct {
		const char *user, *tenant, *jwt;
		enum err want;
	} rows[] = {
		{ "11111111-2222-3333-4444-555555555555", "", "RS256", ERR_OK },
		{ "11111111-2222-3333-4444-555555555555", "99999999-8888-7777-6666-555555555555", "RS256", ERR_OK },
		{ "11111111-2222-3333-4444-555555555555", "other", "RS256", ERR_AUTHENTICATION_FAILED },
		{ "someone", "", "RS256", ERR_AUTHENTICATION_FAILED },
		{ "11111111-2222-3333-4444-555555555555", "", "no object id", ERR_AUTHENTICATION_FAILED },
		{ "11111111-2222-3333-4444-555555555555", "", "just expired", ERR_INVALID_BEARER_TOKEN },
		{ "11111111-2222-3333-4444-555555555555", "", NULL, ERR_AUTHENTICATION_FAILED },
	};
	struct auth_bearer_config *c = config(&full);
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct fixture f;
		struct sas_token token;
		struct slice signature;
		struct buf encoded;
		fixture_init(&f, GOLDEN_ACCOUNT, GOLDEN_KEY);
		f.request.bearer = c;
		f.request.container = SLICE("c");
		f.request.object = SLICE("o");
		struct slice params =
			arena_printf(&f.arena,
				     "sv=2025-07-05&sr=b&sp=r&se=2026-06-01T13:00:00Z&skoid=owner&sktid=t&"
				     "skt=2026-05-31T12:00:00Z&ske=2026-06-03T12:00:00Z&sks=b&skv=2025-07-05&"
				     "sduoid=%s&skdutid=%s%c",
				     rows[i].user, rows[i].tenant, 0);
		assert_true(fixture_get(&f, params.ptr, ""));
		enum sas_kind kind = sas_token_read(&f.query, &token);
		assert_int_equal(kind, SAS_DELEGATION);
		assert_int_equal(sas_sign(&f.request, kind, &token, 0, &f.arena, &signature), ERR_OK);
		buf_init(&encoded, 256);
		uri_encode(&encoded, signature, "");
		struct slice query =
			arena_printf(&f.arena, "%s&sig=%.*s%c", params.ptr, SLICE_FMT(buf_slice(&encoded)), 0);
		buf_fini(&encoded);
		struct slice header = SLICE("\0");
		if (rows[i].jwt)
			header = arena_printf(&f.arena, "Authorization: Bearer %s\r\n%c", token_of(rows[i].jwt), 0);
		assert_true(fixture_get(&f, query.ptr, header.ptr));
		enum err e = fixture_authenticate(&f);
		if (e != rows[i].want)
			fail_msg("row %zu: %s (%.*s)", i, err_name(e), SLICE_FMT(f.failure.detail));
		if (e == ERR_OK)
			assert_int_equal(f.identity.kind, AUTH_DELEGATION_SAS);
		fixture_fini(&f);
	}
	bearer_config_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tokens),	  cmocka_unit_test(changed_tokens),
		cmocka_unit_test(one_public_key), cmocka_unit_test(transport_and_version),
		cmocka_unit_test(own_audience),	  cmocka_unit_test(audience_names_the_account),
		cmocka_unit_test(bad_options),	  cmocka_unit_test(user_bound_signature),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
