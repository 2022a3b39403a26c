/* SPDX-License-Identifier: Apache-2.0
 * NEGOTIATE: which dialect, which signing, which cipher; and FSCTL_VALIDATE_NEGOTIATE_INFO, by which a client of 3.0
 * finds out over a protected channel whether somebody changed what it had asked for. */
#include "auth/smb/spnego.h"
#include "smb/smb_int.h"

static const uint16_t dialects[] = { SMB2_DIALECT_311, SMB2_DIALECT_302, SMB2_DIALECT_300, SMB2_DIALECT_210 };

/* The highest that both have; 0 if there is none. */
static uint16_t dialect_pick(const struct smb_config *config, const uint16_t *offered, size_t count)
{
	for (size_t i = 0; i < sizeof dialects / sizeof dialects[0]; i++) {
		if (dialects[i] < config->dialect_least || dialects[i] > config->dialect_most)
			continue;
		for (size_t k = 0; k < count; k++)
			if (offered[k] == dialects[i])
				return dialects[i];
	}
	return 0;
}

static bool cipher_allowed(const struct smb_config *config, uint16_t cipher)
{
	for (size_t i = 0; i < SMB2_CIPHERS && config->ciphers[i]; i++)
		if (config->ciphers[i] == cipher)
			return true;
	return false;
}

/* The client's order counts. */
static enum smb2_cipher cipher_pick(const struct smb_config *config, const struct smb2_negotiate *n)
{
	for (size_t i = 0; i < n->ciphers.count; i++)
		if (cipher_allowed(config, n->ciphers.id[i]))
			return (enum smb2_cipher)n->ciphers.id[i];
	return SMB2_CIPHER_NONE;
}

static enum smb2_signing signing_pick(const struct smb2_negotiate *n)
{
	for (size_t i = 0; i < n->signings.count; i++)
		if (n->signings.id[i] < SMB2_SIGNINGS)
			return (enum smb2_signing)n->signings.id[i];
	return SMB2_SIGN_AES_CMAC;
}

static void protection_pick(struct smb_conn *c, const struct smb2_negotiate *n)
{
	const struct smb_config *config = &c->sl->server->config;
	c->signing = c->dialect == SMB2_DIALECT_210 ? SMB2_SIGN_HMAC_SHA256 : SMB2_SIGN_AES_CMAC;
	c->cipher = SMB2_CIPHER_NONE;
	if (c->dialect == SMB2_DIALECT_311) {
		c->signing = signing_pick(n);
		c->cipher = cipher_pick(config, n);
	} else if (smb_is_3x(c) && (n->capabilities & SMB2_CAP_ENCRYPTION) &&
		   cipher_allowed(config, SMB2_CIPHER_AES128_CCM)) {
		c->cipher = SMB2_CIPHER_AES128_CCM;
	}
	c->capabilities = SMB2_CAP_LEASING | SMB2_CAP_LARGE_MTU;
	if (c->dialect != SMB2_DIALECT_311 && c->cipher != SMB2_CIPHER_NONE)
		c->capabilities |= SMB2_CAP_ENCRYPTION; /* in 3.1.1 the context speaks */
	if (smb_is_3x(c))				/* which shares have them is told with the tree */
		c->capabilities |= SMB2_CAP_PERSISTENT_HANDLES;
}

static void answer_put(struct smb_conn *c, struct buf *out, uint16_t dialect, const struct smb2_negotiate *n)
{
	struct smb_server *s = c->sl->server;
	struct buf token;
	struct smb2_negotiate_answer a = {
		.security_mode = c->server_mode,
		.dialect = dialect,
		.capabilities = c->capabilities,
		.max_transact = SMB_TRANSFER_MAX,
		.max_read = SMB_TRANSFER_MAX,
		.max_write = SMB_TRANSFER_MAX,
		.system_time = SMB_FILETIME_OF_TICKS(clock_now(s->config.clock)),
		.has_cipher = n && n->ciphers.present,
		.has_signing = n && n->signings.present,
		.cipher = (uint16_t)c->cipher,
		.signing = (uint16_t)c->signing,
	};
	memcpy(a.server_guid, s->guid, sizeof a.server_guid);
	rng_bytes(&c->sl->rng, a.salt, sizeof a.salt);
	buf_init(&token, 256);
	spnego_offer_put(&token);
	a.token = buf_slice(&token);
	smb2_negotiate_put(out, &a);
	buf_fini(&token);
}

static void server_mode_set(struct smb_conn *c)
{
	c->server_mode = SMB2_MODE_SIGNING_ENABLED;
	if (!c->sl->server->config.signing_optional)
		c->server_mode |= SMB2_MODE_SIGNING_REQUIRED;
}

void smb_do_negotiate(struct smb_request *r)
{
	struct smb_conn *c = r->conn;
	struct smb2_negotiate n;
	if (smb2_negotiate_parse(r->part, &n) != ERR_OK) {
		smb_fail(r, STATUS_INVALID_PARAMETER);
		return;
	}
	uint16_t dialect = dialect_pick(&c->sl->server->config, n.dialect, n.dialect_count);
	if (!dialect) {
		smb_fail(r, STATUS_NOT_SUPPORTED);
		return;
	}
	if (dialect == SMB2_DIALECT_311 && !n.has_sha512) {
		smb_fail(r, STATUS_NO_PREAUTH_HASH_OVERLAP);
		return;
	}
	c->negotiated = true;
	c->dialect = dialect;
	c->client_mode = n.security_mode;
	c->client_capabilities = n.capabilities;
	memcpy(c->client_guid, n.client_guid, sizeof c->client_guid);
	server_mode_set(c);
	protection_pick(c, &n);
	if (dialect == SMB2_DIALECT_311) {
		protect_hash(c->hash, r->part);
		r->hash_into = c->hash;
	}
	answer_put(c, r->out, dialect, dialect == SMB2_DIALECT_311 ? &n : NULL);
	smb_reply(r, STATUS_OK);
}

/* "SMB 2.???": the real negotiation follows, with message id 1. */
void smb_negotiate_smb1(struct smb_conn *c)
{
	struct buf b;
	struct smb2_header h = { .command = SMB2_NEGOTIATE, .flags = SMB2_FLAG_RESPONSE };
	c->smb1_seen = true;
	(void)!credits_use(&c->credits, 0, 1);
	h.credits = credits_grant(&c->credits, 1);
	server_mode_set(c);
	c->capabilities = SMB2_CAP_LEASING | SMB2_CAP_LARGE_MTU;
	buf_init(&b, 4096);
	smb2_zeros_put(&b, SMB_OUT_HEAD_BYTES);
	smb2_header_put(&b, &h);
	answer_put(c, &b, SMB2_DIALECT_WILDCARD, NULL);
	c->capabilities = 0;
	smb_conn_send(c, &b, SMB_OUT_HEAD_BYTES, NULL);
}

/* Anything but what was negotiated means that somebody is in between: close, do not answer. */
bool smb_validate_negotiate(struct smb_request *r, const struct smb2_ioctl *io)
{
	enum { FIXED = 24 };
	struct smb_conn *c = r->conn;
	struct slice in = io->input;
	uint16_t offered[SMB2_DIALECTS_MAX];
	if (in.len < FIXED)
		return false;
	size_t count = smb2_u16(in, 22);
	if (count == 0 || count > SMB2_DIALECTS_MAX || in.len - FIXED < 2 * count)
		return false;
	for (size_t i = 0; i < count; i++)
		offered[i] = smb2_u16(in, FIXED + 2 * i);
	if (smb2_u32(in, 0) != c->client_capabilities || memcmp(in.ptr + 4, c->client_guid, SMB2_GUID_BYTES) != 0 ||
	    smb2_u16(in, 20) != c->client_mode || dialect_pick(&c->sl->server->config, offered, count) != c->dialect)
		return false;
	char out[24];
	bytes_store(out, c->capabilities, 4);
	memcpy(out + 4, c->sl->server->guid, SMB2_GUID_BYTES);
	bytes_store(out + 20, c->server_mode, 2);
	bytes_store(out + 22, c->dialect, 2);
	smb2_ioctl_put(r->out, io->code, io->id, slice_make(out, sizeof out));
	smb_reply(r, STATUS_OK);
	return true;
}
