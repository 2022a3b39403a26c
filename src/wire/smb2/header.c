/* SPDX-License-Identifier: Apache-2.0
 * The header of every SMB2 message, its transform, and the checks of lengths that all bodies share. */
#include "wire/smb2/header.h"

#include <assert.h>

enum { TRANSFORM_ENCRYPTED = 1, BODY_LEAST_BYTES = 2 };

enum smb2_message smb2_message_kind(struct slice m)
{
	if (m.len < 4 || memcmp(m.ptr + 1, "SMB", 3) != 0)
		return SMB2_MESSAGE_OTHER;
	switch ((unsigned char)m.ptr[0]) {
	case 0xFE:
		return SMB2_MESSAGE_PLAIN;
	case 0xFD:
		return SMB2_MESSAGE_TRANSFORM;
	case 0xFF:
		return SMB2_MESSAGE_SMB1;
	default:
		return SMB2_MESSAGE_OTHER;
	}
}

enum err smb2_header_parse(struct slice p, struct smb2_header *ret)
{
	if (p.len < SMB2_HEADER_BYTES + BODY_LEAST_BYTES || smb2_message_kind(p) != SMB2_MESSAGE_PLAIN ||
	    smb2_u16(p, 4) != SMB2_HEADER_BYTES)
		return ERR_SYNTAX;
	*ret = (struct smb2_header){
		.credit_charge = smb2_u16(p, 6),
		.status = smb2_u32(p, 8),
		.command = smb2_u16(p, 12),
		.credits = smb2_u16(p, SMB2_CREDITS_AT),
		.flags = smb2_u32(p, SMB2_FLAGS_AT),
		.next = smb2_u32(p, SMB2_NEXT_AT),
		.message_id = smb2_u64(p, 24),
		.reserved = smb2_u32(p, 32),
		.tree_id = smb2_u32(p, 36),
		.session_id = smb2_u64(p, 40),
	};
	memcpy(ret->signature, p.ptr + SMB2_SIGNATURE_AT, SMB2_SIGNATURE_BYTES);
	return ERR_OK;
}

void smb2_header_put(struct buf *b, const struct smb2_header *h)
{
	BUF_PUT(b, "\xFESMB");
	bytes_put_u16(b, SMB2_HEADER_BYTES);
	bytes_put_u16(b, h->credit_charge);
	bytes_put_u32(b, h->status);
	bytes_put_u16(b, h->command);
	bytes_put_u16(b, h->credits);
	bytes_put_u32(b, h->flags);
	bytes_put_u32(b, h->next);
	bytes_put_u64(b, h->message_id);
	bytes_put_u32(b, h->reserved);
	bytes_put_u32(b, h->tree_id);
	bytes_put_u64(b, h->session_id);
	buf_put(b, slice_make(h->signature, SMB2_SIGNATURE_BYTES));
}

enum err smb2_transform_parse(struct slice m, struct smb2_transform *ret)
{
	if (m.len < SMB2_TRANSFORM_BYTES || smb2_message_kind(m) != SMB2_MESSAGE_TRANSFORM)
		return ERR_SYNTAX;
	struct smb2_transform t = {
		.size = smb2_u32(m, 36),
		.flags = smb2_u16(m, 42),
		.session_id = smb2_u64(m, 44),
	};
	memcpy(t.tag, m.ptr + 4, sizeof t.tag);
	memcpy(t.nonce, m.ptr + SMB2_TRANSFORM_AAD_AT, sizeof t.nonce);
	if (t.flags != TRANSFORM_ENCRYPTED || t.size != m.len - SMB2_TRANSFORM_BYTES ||
	    t.size < SMB2_HEADER_BYTES + BODY_LEAST_BYTES)
		return ERR_SYNTAX;
	*ret = t;
	return ERR_OK;
}

void smb2_transform_write(char dst[SMB2_TRANSFORM_BYTES], const struct smb2_transform *t)
{
	static const char protocol[4] = { (char)0xFD, 'S', 'M', 'B' };
	memcpy(dst, protocol, sizeof protocol);
	memcpy(dst + 4, t->tag, sizeof t->tag);
	memcpy(dst + SMB2_TRANSFORM_AAD_AT, t->nonce, sizeof t->nonce);
	bytes_store(dst + 36, t->size, 4);
	bytes_store(dst + 40, 0, 2);
	bytes_store(dst + 42, TRANSFORM_ENCRYPTED, 2);
	bytes_store(dst + 44, t->session_id, 8);
}

enum err smb2_body(struct slice part, size_t structure_size, struct slice *ret)
{
	assert(part.len >= SMB2_HEADER_BYTES + BODY_LEAST_BYTES);
	size_t fixed = structure_size & ~(size_t)1;
	if (part.len - SMB2_HEADER_BYTES < fixed || smb2_u16(part, SMB2_HEADER_BYTES) != structure_size)
		return ERR_SYNTAX;
	*ret = slice_make(part.ptr + SMB2_HEADER_BYTES, fixed);
	return ERR_OK;
}

enum err smb2_field(struct slice part, size_t body_bytes, uint64_t offset, uint64_t length, struct slice *ret)
{
	if (length == 0) {
		*ret = slice_make(part.ptr, 0);
		return ERR_OK;
	}
	if (offset < SMB2_HEADER_BYTES + body_bytes || offset > part.len || length > part.len - offset)
		return ERR_SYNTAX;
	*ret = slice_make(part.ptr + offset, length);
	return ERR_OK;
}

struct smb2_file_id smb2_file_id_load(struct slice s, size_t at)
{
	return (struct smb2_file_id){ smb2_u64(s, at), smb2_u64(s, at + 8) };
}

void smb2_file_id_put(struct buf *b, struct smb2_file_id id)
{
	bytes_put_u64(b, id.persistent);
	bytes_put_u64(b, id.volatile_);
}

void smb2_zeros_put(struct buf *b, size_t count)
{
	char *room = buf_reserve(b, count);
	if (room && count) {
		memset(room, 0, count);
		b->len += count;
	}
}

void smb2_pad(struct buf *b, size_t from, size_t unit)
{
	size_t over = (b->len - from) % unit;
	if (over)
		smb2_zeros_put(b, unit - over);
}

void smb2_error_put(struct buf *b, struct slice data)
{
	bytes_put_u16(b, 9);
	bytes_put_u16(b, 0); /* no error contexts */
	bytes_put_u32(b, (uint32_t)data.len);
	if (data.len)
		buf_put(b, data);
	else
		bytes_put_u8(b, 0); /* the structure counts one byte of data */
}
