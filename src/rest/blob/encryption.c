/* SPDX-License-Identifier: Apache-2.0
 * From the headers of a request to a cipher or a scope (encryption.h). */
#include "rest/blob/encryption.h"

#include "svc/account/names.h"
#include "svc/blob/scope.h"
#include "wire/aead/xaes.h"
#include "wire/base64.h"
#include "wire/hash.h"

#include <assert.h>

struct customer_key {
	struct extent_cipher cipher; /* first: what the store knows of it */
	unsigned char key[XAES_KEY_BYTES];
	unsigned char sha256[HASH_SHA256_BYTES];
};

struct key_headers {
	const char *key, *sha256, *algorithm;
};
static const struct key_headers own_headers = { "x-ms-encryption-key", "x-ms-encryption-key-sha256",
						"x-ms-encryption-algorithm" };
static const struct key_headers source_headers = { "x-ms-source-encryption-key", "x-ms-source-encryption-key-sha256",
						   "x-ms-source-encryption-algorithm" };

static enum err seal_frame(const struct extent_cipher *c, const unsigned char nonce[EXTENT_NONCE_BYTES],
			   struct slice bound, struct slice in, unsigned char *out)
{
	return xaes_seal(((const struct customer_key *)c)->key, nonce, bound, in, out);
}

static enum err open_frame(const struct extent_cipher *c, const unsigned char nonce[EXTENT_NONCE_BYTES],
			   struct slice bound, struct slice in, unsigned char *out)
{
	return xaes_open(((const struct customer_key *)c)->key, nonce, bound, in, out);
}

/* ---- the key ---- */

static bool any_given(const struct request *r, const struct key_headers *h)
{
	return slice_is_set(request_header(r, h->key)) || slice_is_set(request_header(r, h->sha256)) ||
	       slice_is_set(request_header(r, h->algorithm));
}

/* Who listens on the way has the key. From this very machine there is no way: a proxy that ends TLS, a test. */
static bool is_private(const struct request *r)
{
	return r->secure || slice_has_prefix(r->client_ip, SLICE("127.")) || slice_eq(r->client_ip, SLICE("::1")) ||
	       slice_has_prefix(r->client_ip, SLICE("::ffff:127."));
}

static enum err check_key_headers(struct request *r, const struct key_headers *h, bool writes)
{
	struct slice algorithm = request_header(r, h->algorithm);
	if (r->version < VERSION(2019, 2, 2))
		return ERR_FEATURE_VERSION_MISMATCH;
	if (!is_private(r)) {
		r->fault.message = SLICE("A key is only taken over HTTPS.");
		return fault_header(r, ERR_INVALID_HEADER_VALUE, h->key, SLICE_NONE);
	}
	if (!slice_is_set(request_header(r, h->key)))
		return fault_header(r, ERR_MISSING_REQUIRED_HEADER, h->key, SLICE_NONE);
	if (!slice_is_set(request_header(r, h->sha256)))
		return fault_header(r, ERR_MISSING_REQUIRED_HEADER, h->sha256, SLICE_NONE);
	if (!slice_is_set(algorithm) && writes)
		return fault_header(r, ERR_MISSING_REQUIRED_HEADER, h->algorithm, SLICE_NONE);
	if (slice_is_set(algorithm) && !slice_eq(algorithm, SLICE("AES256")))
		return fault_header(r, ERR_INVALID_HEADER_VALUE, h->algorithm, algorithm);
	return ERR_OK;
}

/* Errors name the header and never show what it held. */
static enum err parse_key(struct request *r, const struct key_headers *h, bool writes, struct customer_key **ret)
{
	unsigned char sha256[HASH_SHA256_BYTES];
	r->has_secret = true;
	TRY(check_key_headers(r, h, writes));
	struct customer_key *k = ARENA_NEW(r->arena, struct customer_key);
	if (!k)
		return ERR_NO_MEMORY;
	if (!base64_decode_exact(request_header(r, h->key), k->key, sizeof k->key))
		return fault_header(r, ERR_INVALID_HEADER_VALUE, h->key, SLICE_NONE);
	hash_sha256(slice_make(k->key, sizeof k->key), k->sha256);
	if (!base64_decode_exact(request_header(r, h->sha256), sha256, sizeof sha256) ||
	    memcmp(sha256, k->sha256, sizeof sha256) != 0)
		return fault_header(r, ERR_INVALID_HEADER_VALUE, h->sha256, SLICE_NONE);
	k->cipher.seal = seal_frame;
	k->cipher.open = open_frame;
	*ret = k;
	return ERR_OK;
}

static void take_key(struct request *r, const struct customer_key *k, struct blob_target *t)
{
	_Static_assert((int)HASH_SHA256_BYTES == (int)BLOB_KEY_SHA256_BYTES, "kept as it is");
	r->cipher = &k->cipher;
	t->encryption.has_key = true;
	memcpy(t->encryption.key_sha256, k->sha256, sizeof k->sha256);
}

enum err rest_blob_encryption_parse_source(struct request *part, struct blob_target *t)
{
	struct customer_key *k = NULL;
	if (!any_given(part->parent, &source_headers))
		return ERR_OK;
	TRY(parse_key(part->parent, &source_headers, false, &k));
	assert(k);
	take_key(part, k, t);
	return ERR_OK;
}

/* ---- scopes ---- */

/* The scope that was named, by the header or by the SAS; absent if none was. */
static enum err parse_scope(struct request *r, struct slice *ret)
{
	struct slice v = request_header(r, "x-ms-encryption-scope"), ses = r->identity.encryption_scope;
	if (slice_is_set(v) && !slice_eq(v, SLICE(REST_BLOB_ACCOUNT_SCOPE)) && !blob_scope_name_is_valid(v))
		return fault_header(r, ERR_INVALID_HEADER_VALUE, "x-ms-encryption-scope", v);
	if (slice_is_set(v) && slice_is_set(ses) && !slice_eq(v, ses))
		return fault_header(r, ERR_INVALID_HEADER_VALUE, "x-ms-encryption-scope", v);
	*ret = slice_is_set(v) ? v : ses;
	return ERR_OK;
}

static enum err refuse(struct request *r, const char *header)
{
	return slice_is_set(request_header(r, header)) ? fault_header(r, ERR_UNSUPPORTED_HEADER, header, SLICE_NONE)
						       : ERR_OK;
}

enum err rest_blob_encryption_parse(struct request *r, enum encryption_use use, struct blob_target *t)
{
	bool takes_key = use != ENCRYPTION_SCOPE && use != ENCRYPTION_REFUSED;
	bool takes_scope = use != ENCRYPTION_READ && use != ENCRYPTION_REFUSED;
	struct customer_key *k = NULL;
	struct slice scope = SLICE_NONE;
	t->asks_encryption = use == ENCRYPTION_READ || use == ENCRYPTION_CHANGE;
	if (!takes_key)
		TRY(refuse(r, own_headers.key));
	else if (any_given(r, &own_headers))
		TRY(parse_key(r, &own_headers, use != ENCRYPTION_READ, &k));
	if (!takes_scope)
		TRY(refuse(r, "x-ms-encryption-scope"));
	if (use != ENCRYPTION_READ) /* a token's scope says how to write; it reads whatever else it may */
		TRY(parse_scope(r, &scope));
	if (k && slice_is_set(scope))
		return fault_header(r, ERR_INVALID_HEADER_VALUE, "x-ms-encryption-scope", scope);
	if (k) {
		take_key(r, k, t);
		r->payload_in_extents = true;
	}
	t->encryption.scope = scope;
	return ERR_OK;
}

/* What the container wants of the encryption of what is written into it. */
static enum err ask_container(const struct resource *container, enum encryption_use use, struct blob_target *t)
{
	struct container_scope policy;
	struct slice own = SLICE(REST_BLOB_ACCOUNT_SCOPE), named = t->encryption.scope;
	TRY(blob_scope_decode(container->extra, &policy));
	bool is_default = slice_eq(named, slice_is_set(policy.name) ? policy.name : own);
	if (policy.deny_override && (t->encryption.has_key || (slice_is_set(named) && !is_default)))
		return ERR_REQUEST_FORBIDDEN_BY_CONTAINER_ENCRYPTION_POLICY;
	bool creates = use == ENCRYPTION_CREATE || use == ENCRYPTION_SCOPE;
	if (creates && !slice_is_set(named) && !t->encryption.has_key)
		t->encryption.scope = policy.name;
	if (slice_eq(t->encryption.scope, own))
		t->encryption.scope = SLICE_NONE;
	return ERR_OK;
}

static void bind_cipher(struct request *r, struct slice partition)
{
	struct customer_key *k = (struct customer_key *)(uintptr_t)r->cipher;
	struct hash_sha256 h;
	hash_sha256_init(&h);
	hash_sha256_update(&h, partition);
	hash_sha256_update(&h, slice_make("", 1));
	hash_sha256_update(&h, r->object);
	hash_sha256_final(&h, k->cipher.identity);
}

enum err rest_blob_encryption_find(struct request *r, enum encryption_use use, struct blob_target *t,
				   struct slice *ret_partition)
{
	struct resource container;
	struct slice partition;
	TRY(name_check_blob(r->container, r->object));
	TRY(rest_blob_find_container(r, &container, &partition));
	if (use != ENCRYPTION_READ)
		TRY(ask_container(&container, use, t));
	if (r->cipher)
		bind_cipher(r, partition);
	*ret_partition = partition;
	return ERR_OK;
}

const struct extent_cipher *rest_blob_encryption_cipher(const struct request *r, const struct blob *b)
{
	return b->encryption.has_key ? r->cipher : NULL;
}

/* ---- answers ---- */

void rest_blob_put_encryption(struct request *r, const struct blob_encryption *e)
{
	if (e->has_key) {
		char text[BASE64_BYTES(BLOB_KEY_SHA256_BYTES)];
		base64_encode_to(text, slice_make(e->key_sha256, sizeof e->key_sha256));
		response_header(r, "x-ms-encryption-key-sha256", slice_make(text, sizeof text));
	}
	if (slice_is_set(e->scope) && r->version >= VERSION(2019, 2, 2))
		response_header(r, "x-ms-encryption-scope", e->scope);
}

void rest_blob_put_encrypted(struct request *r, const struct blob_encryption *e)
{
	if (r->version >= VERSION(2015, 12, 11))
		response_header(r, "x-ms-request-server-encrypted", SLICE("true"));
	rest_blob_put_encryption(r, e);
}
