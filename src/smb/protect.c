/* SPDX-License-Identifier: Apache-2.0
 * Nonces: a counter that starts at 0 with each session's keys, beside a random salt. One key encrypts what the server
 * sends and nothing else, so the counter never gives the same nonce twice under it.
 *
 * GMAC and GCM are our own where the processor has the instructions for it (wire/aead/gcm.h), else OpenSSL's. */
#include "smb/protect.h"

#include "wire/aead/gcm.h"
#include "wire/hash.h"

#include <assert.h>
#include <openssl/evp.h>
#include <stdlib.h>

enum {
	NONCE_CCM_BYTES = 11,
	NONCE_GCM_BYTES = 12,
	TAG_BYTES = 16,
	NONCE_ROLE_SERVER = 1,
	NONCE_ROLE_CANCEL = 2,
};
#define NONCES_MAX (UINT64_C(1) << 48) /* far more than any session sends, far less than the mode allows */

struct protect {
	enum smb2_signing signing;
	enum smb2_cipher cipher;
	EVP_MAC_CTX *mac;	       /* HMAC and CMAC */
	EVP_CIPHER_CTX *gmac;	       /* GMAC */
	EVP_CIPHER_CTX *seal, *unseal; /* NULL: no cipher, or wide */
	const EVP_CIPHER *kind;
	unsigned char seal_key[32], unseal_key[32];
	uint64_t nonces;
	uint32_t nonce_salt;
	bool wide_mac, wide; /* these instead of gmac, and of seal and unseal */
	struct gcm_key wide_mac_key, wide_seal_key, wide_unseal_key;
};

void protect_hash(unsigned char hash[PROTECT_HASH_BYTES], struct slice message)
{
	EVP_MD_CTX *c = EVP_MD_CTX_new();
	unsigned len = 0;
	/* Without memory the hash is wrong, and the client's next signature will not match: a refusal, not a leak. */
	if (c && EVP_DigestInit_ex(c, EVP_sha512(), NULL) == 1 && EVP_DigestUpdate(c, hash, PROTECT_HASH_BYTES) == 1 &&
	    EVP_DigestUpdate(c, message.ptr, message.len) == 1)
		(void)!EVP_DigestFinal_ex(c, hash, &len);
	EVP_MD_CTX_free(c);
}

/* SP 800-108 in counter mode, one block of HMAC-SHA256; label and context with their final NUL. */
static void derive(const unsigned char *key, struct slice label, struct slice context, size_t bytes, unsigned char *ret)
{
	struct hash_hmac_key prepared;
	unsigned char text[128], block[HASH_SHA256_BYTES];
	size_t len = 0;
	assert(label.len + context.len + 9 <= sizeof text && bytes <= sizeof block);
	memcpy(text, "\0\0\0\1", 4);
	memcpy(text + 4, label.ptr, label.len);
	len = 4 + label.len;
	text[len++] = 0;
	memcpy(text + len, context.ptr, context.len);
	len += context.len;
	size_t bits = bytes * 8;
	memcpy(text + len, (unsigned char[]){ 0, 0, (unsigned char)(bits >> 8), (unsigned char)bits }, 4);
	len += 4;
	hash_hmac_key_init(&prepared, slice_make(key, PROTECT_KEY_BYTES));
	hash_hmac(&prepared, slice_make(text, len), block);
	memcpy(ret, block, bytes);
	hash_wipe(&prepared, sizeof prepared);
	hash_wipe(block, sizeof block);
}

#define LABEL(text) slice_make(text, sizeof(text))

static void signing_key(const struct protect_spec *s, unsigned char ret[PROTECT_KEY_BYTES])
{
	if (s->dialect < SMB2_DIALECT_300)
		memcpy(ret, s->session_key, PROTECT_KEY_BYTES);
	else if (s->dialect < SMB2_DIALECT_311)
		derive(s->session_key, LABEL("SMB2AESCMAC"), LABEL("SmbSign"), PROTECT_KEY_BYTES, ret);
	else
		derive(s->session_key, LABEL("SMBSigningKey"), slice_make(s->hash, PROTECT_HASH_BYTES),
		       PROTECT_KEY_BYTES, ret);
}

/* Returns their length. */
static size_t cipher_keys(struct protect *p, const struct protect_spec *s)
{
	size_t bytes = p->cipher >= SMB2_CIPHER_AES256_CCM ? 32 : 16;
	struct slice hash = slice_make(s->hash, PROTECT_HASH_BYTES);
	if (s->dialect < SMB2_DIALECT_311) {
		derive(s->session_key, LABEL("SMB2AESCCM"), LABEL("ServerIn "), bytes, p->unseal_key);
		derive(s->session_key, LABEL("SMB2AESCCM"), LABEL("ServerOut"), bytes, p->seal_key);
	} else {
		derive(s->session_key, LABEL("SMBC2SCipherKey"), hash, bytes, p->unseal_key);
		derive(s->session_key, LABEL("SMBS2CCipherKey"), hash, bytes, p->seal_key);
	}
	return bytes;
}

static EVP_MAC_CTX *mac_new(const char *name, const char *parameter, const char *value, const unsigned char *key)
{
	EVP_MAC *mac = EVP_MAC_fetch(NULL, name, NULL);
	EVP_MAC_CTX *c = mac ? EVP_MAC_CTX_new(mac) : NULL;
	char text[32];
	snprintf(text, sizeof text, "%s", value);
	OSSL_PARAM params[] = { OSSL_PARAM_construct_utf8_string(parameter, text, 0), OSSL_PARAM_construct_end() };
	if (c && EVP_MAC_init(c, key, PROTECT_KEY_BYTES, params) != 1) {
		EVP_MAC_CTX_free(c);
		c = NULL;
	}
	EVP_MAC_free(mac);
	return c;
}

static bool signing_init(struct protect *p, const struct protect_spec *s)
{
	unsigned char key[PROTECT_KEY_BYTES];
	signing_key(s, key);
	if (p->signing == SMB2_SIGN_HMAC_SHA256) {
		p->mac = mac_new("HMAC", "digest", "SHA256", key);
	} else if (p->signing == SMB2_SIGN_AES_CMAC) {
		p->mac = mac_new("CMAC", "cipher", "AES-128-CBC", key);
	} else if (gcm_is_here() && !s->only_openssl) {
		gcm_key_init(&p->wide_mac_key, slice_make(key, sizeof key));
		p->wide_mac = true;
	} else {
		p->gmac = EVP_CIPHER_CTX_new();
		if (p->gmac && EVP_EncryptInit_ex(p->gmac, EVP_aes_128_gcm(), NULL, key, NULL) != 1) {
			EVP_CIPHER_CTX_free(p->gmac);
			p->gmac = NULL;
		}
	}
	hash_wipe(key, sizeof key);
	return p->mac || p->gmac || p->wide_mac;
}

static bool is_ccm(const struct protect *p)
{
	return p->cipher == SMB2_CIPHER_AES128_CCM || p->cipher == SMB2_CIPHER_AES256_CCM;
}

static bool cipher_init(struct protect *p, const struct protect_spec *s)
{
	const EVP_CIPHER *const kinds[SMB2_CIPHERS] = { NULL, EVP_aes_128_ccm(), EVP_aes_128_gcm(), EVP_aes_256_ccm(),
							EVP_aes_256_gcm() };
	if (p->cipher == SMB2_CIPHER_NONE)
		return true;
	p->kind = kinds[p->cipher];
	size_t key_bytes = cipher_keys(p, s);
	p->wide = !is_ccm(p) && gcm_is_here() && !s->only_openssl;
	if (p->wide) {
		gcm_key_init(&p->wide_seal_key, slice_make(p->seal_key, key_bytes));
		gcm_key_init(&p->wide_unseal_key, slice_make(p->unseal_key, key_bytes));
		return true;
	}
	p->seal = EVP_CIPHER_CTX_new();
	p->unseal = EVP_CIPHER_CTX_new();
	if (!p->seal || !p->unseal)
		return false;
	if (is_ccm(p)) /* a CCM context takes its key with each message, after the lengths of nonce and tag */
		return true;
	return EVP_EncryptInit_ex(p->seal, p->kind, NULL, p->seal_key, NULL) == 1 &&
	       EVP_DecryptInit_ex(p->unseal, p->kind, NULL, p->unseal_key, NULL) == 1;
}

enum err protect_new(const struct protect_spec *s, struct protect **ret)
{
	struct protect *p = calloc(1, sizeof *p);
	if (!p)
		return ERR_NO_MEMORY;
	p->signing = s->signing;
	p->cipher = s->cipher;
	p->nonce_salt = s->nonce_salt;
	if (!signing_init(p, s) || !cipher_init(p, s)) {
		protect_free(p);
		return ERR_NO_MEMORY;
	}
	*ret = p;
	return ERR_OK;
}

void protect_free(struct protect *p)
{
	if (!p)
		return;
	EVP_MAC_CTX_free(p->mac);
	EVP_CIPHER_CTX_free(p->gmac);
	EVP_CIPHER_CTX_free(p->seal);
	EVP_CIPHER_CTX_free(p->unseal);
	hash_wipe(p, sizeof *p);
	free(p);
}

bool protect_can_encrypt(const struct protect *p)
{
	return p && p->cipher != SMB2_CIPHER_NONE;
}

/* ---- signing ---- */

/* Over the header with its signature zero, then the rest. */
static bool mac_sign(struct protect *p, const struct slice pieces[3], unsigned char ret[TAG_BYTES])
{
	unsigned char full[EVP_MAX_MD_SIZE];
	size_t len = 0;
	bool ok = EVP_MAC_init(p->mac, NULL, 0, NULL) == 1;
	for (unsigned i = 0; ok && i < 3; i++)
		ok = EVP_MAC_update(p->mac, (const unsigned char *)pieces[i].ptr, pieces[i].len) == 1;
	ok = ok && EVP_MAC_final(p->mac, full, &len, sizeof full) == 1 && len >= TAG_BYTES;
	if (ok)
		memcpy(ret, full, TAG_BYTES);
	return ok;
}

/* The message id, then whose it is and what it asks. */
static void gmac_nonce(struct slice header, bool by_server, unsigned char ret[NONCE_GCM_BYTES])
{
	uint32_t role = by_server ? NONCE_ROLE_SERVER : 0;
	if (smb2_u16(header, 12) == SMB2_CANCEL)
		role |= NONCE_ROLE_CANCEL;
	memcpy(ret, header.ptr + 24, 8);
	bytes_store(ret + 8, role, 4);
}

static bool gmac_sign(struct protect *p, const struct slice pieces[3], bool by_server, unsigned char ret[TAG_BYTES])
{
	unsigned char nonce[NONCE_GCM_BYTES];
	int len = 0;
	gmac_nonce(pieces[0], by_server, nonce);
	if (p->wide_mac) {
		gcm_mac(&p->wide_mac_key, nonce, pieces, 3, ret);
		return true;
	}
	bool ok = EVP_EncryptInit_ex(p->gmac, NULL, NULL, NULL, nonce) == 1;
	for (unsigned i = 0; ok && i < 3; i++)
		ok = pieces[i].len == 0 || EVP_EncryptUpdate(p->gmac, NULL, &len, (const unsigned char *)pieces[i].ptr,
							     (int)pieces[i].len) == 1;
	return ok && EVP_EncryptFinal_ex(p->gmac, ret, &len) == 1 &&
	       EVP_CIPHER_CTX_ctrl(p->gmac, EVP_CTRL_AEAD_GET_TAG, TAG_BYTES, ret) == 1;
}

static bool signature_make(struct protect *p, struct slice part, bool by_server, unsigned char ret[TAG_BYTES])
{
	static const char zeros[SMB2_SIGNATURE_BYTES];
	struct slice pieces[3] = { slice_first(part, SMB2_SIGNATURE_AT), slice_make(zeros, sizeof zeros),
				   slice_from(part, SMB2_HEADER_BYTES) };
	return !p->mac ? gmac_sign(p, pieces, by_server, ret) : mac_sign(p, pieces, ret);
}

void protect_sign(struct protect *p, char *part, size_t len)
{
	unsigned char signature[TAG_BYTES] = { 0 };
	uint32_t flags = (uint32_t)bytes_load(part + SMB2_FLAGS_AT, 4) | SMB2_FLAG_SIGNED;
	bytes_store(part + SMB2_FLAGS_AT, flags, 4);
	/* Without memory for it the signature stays zero, and the client closes. */
	(void)!signature_make(p, slice_make(part, len), true, signature);
	memcpy(part + SMB2_SIGNATURE_AT, signature, sizeof signature);
}

bool protect_verify(struct protect *p, struct slice part)
{
	unsigned char signature[TAG_BYTES];
	return signature_make(p, part, false, signature) &&
	       slice_eq_consttime(slice_make(signature, sizeof signature),
				  slice_make(part.ptr + SMB2_SIGNATURE_AT, SMB2_SIGNATURE_BYTES));
}

/* ---- encryption ---- */

static bool ccm_begin(EVP_CIPHER_CTX *c, const struct protect *p, bool encrypt, void *tag, const unsigned char *nonce,
		      int len)
{
	int out;
	return EVP_CipherInit_ex(c, p->kind, NULL, NULL, NULL, encrypt) == 1 &&
	       EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_SET_IVLEN, NONCE_CCM_BYTES, NULL) == 1 &&
	       EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_SET_TAG, TAG_BYTES, tag) == 1 &&
	       EVP_CipherInit_ex(c, NULL, NULL, encrypt ? p->seal_key : p->unseal_key, nonce, encrypt) == 1 &&
	       EVP_CipherUpdate(c, NULL, &out, NULL, len) == 1;
}

static bool openssl_encrypt(struct protect *p, struct smb2_transform *t, struct slice aad, char *message)
{
	EVP_CIPHER_CTX *c = p->seal;
	unsigned char *data = (unsigned char *)message;
	int out = 0, len = (int)t->size;
	bool ok = is_ccm(p) ? ccm_begin(c, p, true, NULL, t->nonce, len)
			    : EVP_EncryptInit_ex(c, NULL, NULL, NULL, t->nonce) == 1;
	return ok && EVP_EncryptUpdate(c, NULL, &out, (const unsigned char *)aad.ptr, (int)aad.len) == 1 &&
	       EVP_EncryptUpdate(c, data, &out, data, len) == 1 && EVP_EncryptFinal_ex(c, data + len, &out) == 1 &&
	       EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_GET_TAG, TAG_BYTES, t->tag) == 1;
}

static struct slice transform_aad(const char *head)
{
	return slice_make(head + SMB2_TRANSFORM_AAD_AT, SMB2_TRANSFORM_BYTES - SMB2_TRANSFORM_AAD_AT);
}

bool protect_encrypt(struct protect *p, uint64_t session_id, char head[SMB2_TRANSFORM_BYTES], char *message, size_t len)
{
	struct smb2_transform t = { .size = (uint32_t)len, .session_id = session_id };
	bool ok = true;
	if (p->nonces >= NONCES_MAX)
		return false;
	bytes_store(t.nonce, p->nonces++, 8);
	memcpy(t.nonce + 8, &p->nonce_salt, is_ccm(p) ? NONCE_CCM_BYTES - 8 : NONCE_GCM_BYTES - 8);
	smb2_transform_write(head, &t);
	if (p->wide)
		gcm_seal(&p->wide_seal_key, t.nonce, transform_aad(head), message, len, t.tag);
	else
		ok = openssl_encrypt(p, &t, transform_aad(head), message);
	memcpy(head + 4, t.tag, TAG_BYTES);
	return ok;
}

bool protect_decrypt(struct protect *p, const struct smb2_transform *t, char *m)
{
	unsigned char tag[TAG_BYTES];
	EVP_CIPHER_CTX *c = p->unseal;
	struct slice aad = transform_aad(m);
	unsigned char *data = (unsigned char *)m + SMB2_TRANSFORM_BYTES;
	int out = 0, len = (int)t->size;
	if (p->wide)
		return gcm_open(&p->wide_unseal_key, t->nonce, aad, data, t->size, t->tag);
	memcpy(tag, t->tag, sizeof tag);
	bool ok = is_ccm(p) ? ccm_begin(c, p, false, tag, t->nonce, len)
			    : EVP_DecryptInit_ex(c, NULL, NULL, NULL, t->nonce) == 1 &&
				      EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_SET_TAG, TAG_BYTES, tag) == 1;
	ok = ok && EVP_DecryptUpdate(c, NULL, &out, (const unsigned char *)aad.ptr, (int)aad.len) == 1 &&
	     EVP_DecryptUpdate(c, data, &out, data, len) == 1;
	/* CCM has judged the tag by then and has no final step. */
	return ok && (is_ccm(p) || EVP_DecryptFinal_ex(c, data + len, &out) == 1);
}
