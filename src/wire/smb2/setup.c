/* SPDX-License-Identifier: Apache-2.0
 * NEGOTIATE, SESSION_SETUP, TREE_CONNECT and their kin: requests read, answers written. */
#include "wire/smb2/setup.h"

enum {
	NEGOTIATE_FIXED = 36,
	CONTEXT_HEAD = 8,
	CONTEXT_PREAUTH = 1,
	CONTEXT_ENCRYPTION = 2,
	CONTEXT_SIGNING = 8,
	SALT_BYTES = 32,
	SMB1_HEADER_BYTES = 32,
	SMB1_NEGOTIATE = 0x72,
};

/* A counted list of 16-bit ids; the context may be longer than the list. */
static enum err algorithms_parse(struct slice data, struct smb2_algorithms *ret)
{
	if (ret->present || data.len < 2)
		return ERR_SYNTAX;
	uint16_t count = smb2_u16(data, 0);
	if (count == 0 || count > (data.len - 2) / 2)
		return ERR_SYNTAX;
	ret->present = true;
	for (size_t i = 0; i < count && ret->count < SMB2_ALGORITHMS_MAX; i++)
		ret->id[ret->count++] = smb2_u16(data, 2 + 2 * i);
	return ERR_OK;
}

static enum err preauth_parse(struct slice data, struct smb2_negotiate *ret)
{
	if (data.len < 4)
		return ERR_SYNTAX;
	uint16_t hashes = smb2_u16(data, 0), salt = smb2_u16(data, 2);
	if (hashes == 0 || 4 + 2 * (size_t)hashes + salt > data.len)
		return ERR_SYNTAX;
	for (size_t i = 0; i < hashes; i++)
		if (smb2_u16(data, 4 + 2 * i) == SMB2_HASH_SHA512)
			ret->has_sha512 = true;
	return ERR_OK;
}

static enum err context_parse(uint16_t type, struct slice data, struct smb2_negotiate *ret, unsigned *preauths)
{
	switch (type) {
	case CONTEXT_PREAUTH:
		return (*preauths)++ ? ERR_SYNTAX : preauth_parse(data, ret);
	case CONTEXT_ENCRYPTION:
		return algorithms_parse(data, &ret->ciphers);
	case CONTEXT_SIGNING:
		return algorithms_parse(data, &ret->signings);
	default: /* compression, names, transports: not offered here */
		return ERR_OK;
	}
}

static enum err contexts_parse(struct slice part, struct slice body, struct smb2_negotiate *ret)
{
	uint64_t at = smb2_u32(body, 28);
	uint16_t count = smb2_u16(body, 32);
	size_t dialects_end = SMB2_HEADER_BYTES + NEGOTIATE_FIXED + 2 * (size_t)ret->dialect_count;
	unsigned preauths = 0;
	if (at % 8 || at < dialects_end || count > SMB2_CONTEXTS_MAX)
		return ERR_SYNTAX;
	for (size_t i = 0; i < count; i++) {
		if (at > part.len || part.len - at < CONTEXT_HEAD)
			return ERR_SYNTAX;
		uint16_t type = smb2_u16(part, at), length = smb2_u16(part, at + 2);
		at += CONTEXT_HEAD;
		if (length > part.len - at)
			return ERR_SYNTAX;
		TRY(context_parse(type, slice_make(part.ptr + at, length), ret, &preauths));
		at = (at + length + 7) & ~UINT64_C(7);
	}
	return preauths == 1 ? ERR_OK : ERR_SYNTAX;
}

enum err smb2_negotiate_parse(struct slice part, struct smb2_negotiate *ret)
{
	struct slice body;
	TRY(smb2_body(part, NEGOTIATE_FIXED, &body));
	*ret = (struct smb2_negotiate){
		.dialect_count = smb2_u16(body, 2),
		.security_mode = smb2_u16(body, 4),
		.capabilities = smb2_u32(body, 8),
	};
	memcpy(ret->client_guid, body.ptr + 12, SMB2_GUID_BYTES);
	size_t left = part.len - SMB2_HEADER_BYTES - NEGOTIATE_FIXED;
	if (ret->dialect_count == 0 || ret->dialect_count > SMB2_DIALECTS_MAX || 2 * (size_t)ret->dialect_count > left)
		return ERR_SYNTAX;
	bool newest = false;
	for (size_t i = 0; i < ret->dialect_count; i++) {
		ret->dialect[i] = smb2_u16(part, SMB2_HEADER_BYTES + NEGOTIATE_FIXED + 2 * i);
		newest |= ret->dialect[i] == SMB2_DIALECT_311;
	}
	return newest ? contexts_parse(part, body, ret) : ERR_OK;
}

static void context_put(struct buf *b, size_t from, uint16_t type, struct slice data)
{
	smb2_pad(b, from, 8);
	bytes_put_u16(b, type);
	bytes_put_u16(b, (uint16_t)data.len);
	bytes_put_u32(b, 0);
	buf_put(b, data);
}

static void contexts_put(struct buf *b, size_t from, const struct smb2_negotiate_answer *a)
{
	char preauth[6 + SALT_BYTES], one[4];
	bytes_store(preauth, 1, 2);
	bytes_store(preauth + 2, SALT_BYTES, 2);
	bytes_store(preauth + 4, SMB2_HASH_SHA512, 2);
	memcpy(preauth + 6, a->salt, SALT_BYTES);
	context_put(b, from, CONTEXT_PREAUTH, slice_make(preauth, sizeof preauth));
	bytes_store(one, 1, 2);
	if (a->has_cipher) {
		bytes_store(one + 2, a->cipher, 2);
		context_put(b, from, CONTEXT_ENCRYPTION, slice_make(one, sizeof one));
	}
	if (a->has_signing) {
		bytes_store(one + 2, a->signing, 2);
		context_put(b, from, CONTEXT_SIGNING, slice_make(one, sizeof one));
	}
}

void smb2_negotiate_put(struct buf *b, const struct smb2_negotiate_answer *a)
{
	size_t from = b->len;
	bool contexts = a->dialect == SMB2_DIALECT_311;
	size_t token_end = SMB2_HEADER_BYTES + 64 + a->token.len;
	bytes_put_u16(b, 65);
	bytes_put_u16(b, a->security_mode);
	bytes_put_u16(b, a->dialect);
	bytes_put_u16(b, contexts ? (uint16_t)(1 + a->has_cipher + a->has_signing) : 0);
	buf_put(b, slice_make(a->server_guid, SMB2_GUID_BYTES));
	bytes_put_u32(b, a->capabilities);
	bytes_put_u32(b, a->max_transact);
	bytes_put_u32(b, a->max_read);
	bytes_put_u32(b, a->max_write);
	bytes_put_u64(b, a->system_time);
	bytes_put_u64(b, 0);
	bytes_put_u16(b, SMB2_HEADER_BYTES + 64);
	bytes_put_u16(b, (uint16_t)a->token.len);
	bytes_put_u32(b, contexts ? (uint32_t)((token_end + 7) & ~(size_t)7) : 0);
	buf_put(b, a->token);
	if (contexts)
		contexts_put(b, from, a);
}

bool smb2_smb1_offers_smb2(struct slice m)
{
	if (m.len < SMB1_HEADER_BYTES + 3 || (unsigned char)m.ptr[4] != SMB1_NEGOTIATE || m.ptr[SMB1_HEADER_BYTES] != 0)
		return false;
	struct slice names = slice_from(m, SMB1_HEADER_BYTES + 3);
	size_t bytes = smb2_u16(m, SMB1_HEADER_BYTES + 1);
	if (bytes > names.len)
		return false;
	names.len = bytes;
	while (names.len > 0) {
		if (names.ptr[0] != 2)
			return false;
		names = slice_from(names, 1);
		size_t end = slice_find_byte(names, 0);
		if (end == names.len)
			return false;
		if (slice_eq(slice_first(names, end), SLICE("SMB 2.???")))
			return true;
		names = slice_from(names, end + 1);
	}
	return false;
}

enum err smb2_session_setup_parse(struct slice part, struct smb2_session_setup *ret)
{
	struct slice body, token;
	TRY(smb2_body(part, 25, &body));
	TRY(smb2_field(part, 24, smb2_u16(body, 12), smb2_u16(body, 14), &token));
	*ret = (struct smb2_session_setup){
		.flags = (uint8_t)body.ptr[2],
		.security_mode = (uint8_t)body.ptr[3],
		.previous_session_id = smb2_u64(body, 16),
		.token = token,
	};
	return ERR_OK;
}

void smb2_session_setup_put(struct buf *b, uint16_t session_flags, struct slice token)
{
	bytes_put_u16(b, 9);
	bytes_put_u16(b, session_flags);
	bytes_put_u16(b, SMB2_HEADER_BYTES + 8);
	bytes_put_u16(b, (uint16_t)token.len);
	buf_put(b, token);
}

enum err smb2_tree_connect_parse(struct slice part, struct slice *ret_path)
{
	struct slice body;
	enum { EXTENSION_PRESENT = 4, EXTENSION_BYTES = 16 };
	TRY(smb2_body(part, 9, &body));
	uint16_t flags = smb2_u16(body, 2);
	uint64_t base = 0;
	/* With an extension the path's offset counts from the extension, which begins the buffer. */
	if (flags & EXTENSION_PRESENT) {
		if (part.len < SMB2_HEADER_BYTES + 8 + EXTENSION_BYTES)
			return ERR_SYNTAX;
		base = SMB2_HEADER_BYTES + 8;
	}
	return smb2_field(part, 8, base + smb2_u16(body, 4), smb2_u16(body, 6), ret_path);
}

void smb2_tree_connect_put(struct buf *b, const struct smb2_tree_answer *a)
{
	bytes_put_u16(b, 16);
	bytes_put_u8(b, a->share_type);
	bytes_put_u8(b, 0);
	bytes_put_u32(b, a->share_flags);
	bytes_put_u32(b, a->capabilities);
	bytes_put_u32(b, a->maximal_access);
}

enum err smb2_empty_parse(struct slice part)
{
	struct slice body;
	return smb2_body(part, 4, &body);
}

void smb2_empty_put(struct buf *b)
{
	bytes_put_u16(b, 4);
	bytes_put_u16(b, 0);
}
