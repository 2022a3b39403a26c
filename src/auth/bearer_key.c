/* SPDX-License-Identifier: Apache-2.0
 * Public keys and their signatures. The algorithm must fit the kind of key: a token cannot choose to have an RSA key
 * used as anything else. */
#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <openssl/pem.h>

#include "auth/bearer_int.h"
#include "wire/base64.h"
#include "wire/json.h"

enum { ES256_HALF_BYTES = 32, JWKS_ARENA_BYTES = 4 * 1024 * 1024 };

static EVP_PKEY *key_from_params(const char *kind, OSSL_PARAM_BLD *builder)
{
	EVP_PKEY *key = NULL;
	OSSL_PARAM *params = OSSL_PARAM_BLD_to_param(builder);
	EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_name(NULL, kind, NULL);
	if (params && ctx && EVP_PKEY_fromdata_init(ctx) == 1 &&
	    EVP_PKEY_fromdata(ctx, &key, EVP_PKEY_PUBLIC_KEY, params) != 1)
		key = NULL;
	EVP_PKEY_CTX_free(ctx);
	OSSL_PARAM_free(params);
	return key;
}

static EVP_PKEY *key_from_rsa(struct slice n, struct slice e)
{
	EVP_PKEY *key = NULL;
	OSSL_PARAM_BLD *builder = OSSL_PARAM_BLD_new();
	BIGNUM *modulus = BN_bin2bn((const unsigned char *)n.ptr, (int)n.len, NULL);
	BIGNUM *exponent = BN_bin2bn((const unsigned char *)e.ptr, (int)e.len, NULL);
	if (builder && modulus && exponent && OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_RSA_N, modulus) == 1 &&
	    OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_RSA_E, exponent) == 1)
		key = key_from_params("RSA", builder);
	BN_free(modulus);
	BN_free(exponent);
	OSSL_PARAM_BLD_free(builder);
	return key;
}

static EVP_PKEY *key_from_ec(struct slice x, struct slice y)
{
	unsigned char point[1 + 2 * ES256_HALF_BYTES] = { 4 }; /* uncompressed */
	if (x.len != ES256_HALF_BYTES || y.len != ES256_HALF_BYTES)
		return NULL;
	memcpy(point + 1, x.ptr, x.len);
	memcpy(point + 1 + ES256_HALF_BYTES, y.ptr, y.len);
	EVP_PKEY *key = NULL;
	OSSL_PARAM_BLD *builder = OSSL_PARAM_BLD_new();
	if (builder && OSSL_PARAM_BLD_push_utf8_string(builder, OSSL_PKEY_PARAM_GROUP_NAME, "prime256v1", 0) == 1 &&
	    OSSL_PARAM_BLD_push_octet_string(builder, OSSL_PKEY_PARAM_PUB_KEY, point, sizeof point) == 1)
		key = key_from_params("EC", builder);
	OSSL_PARAM_BLD_free(builder);
	return key;
}

static bool key_is_p256(EVP_PKEY *key)
{
	char group[32];
	size_t len;
	return EVP_PKEY_get_base_id(key) == EVP_PKEY_EC &&
	       EVP_PKEY_get_group_name(key, group, sizeof group, &len) == 1 && strcmp(group, "prime256v1") == 0;
}

static bool key_is_usable(EVP_PKEY *key)
{
	if (EVP_PKEY_get_base_id(key) == EVP_PKEY_RSA)
		return EVP_PKEY_get_bits(key) >= BEARER_RSA_MIN_BITS;
	return key_is_p256(key);
}

/* Takes the key, also on failure. */
static bool keys_push(struct bearer_keys *keys, EVP_PKEY *key, struct slice id)
{
	char *copy = NULL;
	if (keys->count == BEARER_KEYS_MAX || !key_is_usable(key))
		goto refuse;
	if (slice_is_set(id)) {
		copy = strndup(id.ptr, id.len);
		if (!copy)
			goto refuse;
	}
	keys->key[keys->count++] = (struct bearer_key){ copy, key };
	return true;
refuse:
	EVP_PKEY_free(key);
	return false;
}

/* A key of a kind that is not used here is passed over; one that should be usable and is not is an error. */
static bool jwk_add(struct bearer_keys *keys, const struct json_node *jwk, struct arena *arena)
{
	struct slice kind = json_member_string(jwk, "kty"), use = json_member_string(jwk, "use");
	struct slice id = json_member_string(jwk, "kid"), first, second;
	bool rsa = slice_eq(kind, SLICE("RSA"));
	bool ec = slice_eq(kind, SLICE("EC")) && slice_eq(json_member_string(jwk, "crv"), SLICE("P-256"));
	if ((!rsa && !ec) || (slice_is_set(use) && !slice_eq(use, SLICE("sig"))))
		return true;
	if (base64url_decode(json_member_string(jwk, rsa ? "n" : "x"), arena, &first) != ERR_OK || first.len == 0 ||
	    base64url_decode(json_member_string(jwk, rsa ? "e" : "y"), arena, &second) != ERR_OK || second.len == 0)
		return false;
	EVP_PKEY *key = rsa ? key_from_rsa(first, second) : key_from_ec(first, second);
	return key && keys_push(keys, key, id);
}

bool bearer_keys_add_jwks(struct bearer_keys *keys, struct slice json, const char **ret_reason)
{
	struct arena arena;
	struct json_node *root;
	size_t before = keys->count;
	bool ok = true;
	arena_init(&arena, JWKS_ARENA_BYTES);
	if (json_parse(json, &arena, BEARER_JSON_DEPTH, &root) != ERR_OK) {
		*ret_reason = "the key set is not valid JSON";
		ok = false;
		goto out;
	}
	struct json_node *list = json_member(root, "keys");
	for (struct json_node *jwk = list && list->kind == JSON_ARRAY ? list->child : NULL; ok && jwk; jwk = jwk->next)
		ok = jwk_add(keys, jwk, &arena);
	if (!ok)
		*ret_reason = "a key of the key set is malformed, weaker than RSA 2048, or there are too many";
	else if (keys->count == before)
		*ret_reason = "the key set has no RSA or P-256 signing key";
	ok = ok && keys->count > before;
out:
	arena_fini(&arena);
	ERR_clear_error();
	return ok;
}

bool bearer_keys_add_pem(struct bearer_keys *keys, struct slice pem, const char **ret_reason)
{
	BIO *bio = BIO_new_mem_buf(pem.ptr, (int)pem.len);
	EVP_PKEY *key = bio ? PEM_read_bio_PUBKEY(bio, NULL, NULL, NULL) : NULL;
	bool ok = key && keys_push(keys, key, SLICE_NONE);
	if (!ok)
		*ret_reason = "the public key is not a PEM public key, RSA of 2048 bits or more, or P-256";
	BIO_free(bio);
	ERR_clear_error();
	return ok;
}

void bearer_keys_fini(struct bearer_keys *keys)
{
	for (size_t i = 0; i < keys->count; i++) {
		free(keys->key[i].id);
		EVP_PKEY_free(keys->key[i].key);
	}
	keys->count = 0;
}

static bool digest_verify(EVP_PKEY *key, struct slice text, const unsigned char *signature, size_t len)
{
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	bool ok = ctx && EVP_DigestVerifyInit(ctx, NULL, EVP_sha256(), NULL, key) == 1 &&
		  EVP_DigestVerify(ctx, signature, len, (const unsigned char *)text.ptr, text.len) == 1;
	EVP_MD_CTX_free(ctx);
	return ok;
}

/* A token has the two numbers side by side, OpenSSL wants them in DER. */
static bool es256_verify(EVP_PKEY *key, struct slice text, struct slice signature)
{
	if (signature.len != 2 * ES256_HALF_BYTES)
		return false;
	const unsigned char *raw = (const unsigned char *)signature.ptr;
	ECDSA_SIG *pair = ECDSA_SIG_new();
	BIGNUM *r = BN_bin2bn(raw, ES256_HALF_BYTES, NULL),
	       *s = BN_bin2bn(raw + ES256_HALF_BYTES, ES256_HALF_BYTES, NULL);
	bool ok = false;
	if (pair && r && s && ECDSA_SIG_set0(pair, r, s) == 1) {
		unsigned char *der = NULL;
		int len = i2d_ECDSA_SIG(pair, &der);
		ok = len > 0 && digest_verify(key, text, der, (size_t)len);
		OPENSSL_free(der);
	} else {
		BN_free(r);
		BN_free(s);
	}
	ECDSA_SIG_free(pair);
	return ok;
}

bool bearer_keys_verify(const struct bearer_keys *keys, struct slice alg, struct slice id, struct slice text,
			struct slice signature)
{
	bool rsa = slice_eq(alg, SLICE("RS256")), ec = slice_eq(alg, SLICE("ES256")), ok = false;
	if (!rsa && !ec)
		return false;
	for (size_t i = 0; i < keys->count && !ok; i++) {
		const struct bearer_key *k = &keys->key[i];
		if (k->id && slice_is_set(id) && !slice_eq(slice_str(k->id), id))
			continue;
		if ((EVP_PKEY_get_base_id(k->key) == EVP_PKEY_RSA) != rsa)
			continue;
		ok = rsa ? digest_verify(k->key, text, (const unsigned char *)signature.ptr, signature.len)
			 : es256_verify(k->key, text, signature);
	}
	ERR_clear_error(); /* a wrong signature leaves its traces in the thread's error queue, which TLS reads */
	return ok;
}
