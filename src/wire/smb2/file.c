/* SPDX-License-Identifier: Apache-2.0
 * The commands on open files (CLOSE, FLUSH, READ, WRITE, LOCK, breaks ...): requests read, answers written. */
#include "wire/smb2/file.h"

enum err smb2_close_parse(struct slice part, struct smb2_close *ret)
{
	struct slice b;
	TRY(smb2_body(part, 24, &b));
	*ret = (struct smb2_close){ .flags = smb2_u16(b, 2), .id = smb2_file_id_load(b, 8) };
	return ERR_OK;
}

void smb2_close_put(struct buf *b, const struct smb2_close_answer *a)
{
	bytes_put_u16(b, 60);
	bytes_put_u16(b, a->flags);
	bytes_put_u32(b, 0);
	bytes_put_u64(b, a->times.creation);
	bytes_put_u64(b, a->times.access);
	bytes_put_u64(b, a->times.write);
	bytes_put_u64(b, a->times.change);
	bytes_put_u64(b, a->allocation);
	bytes_put_u64(b, a->size);
	bytes_put_u32(b, a->attributes);
}

enum err smb2_flush_parse(struct slice part, struct smb2_file_id *ret)
{
	struct slice b;
	TRY(smb2_body(part, 24, &b));
	*ret = smb2_file_id_load(b, 8);
	return ERR_OK;
}

enum err smb2_read_parse(struct slice part, struct smb2_read *ret)
{
	struct slice b;
	TRY(smb2_body(part, 49, &b));
	*ret = (struct smb2_read){
		.length = smb2_u32(b, 4),
		.offset = smb2_u64(b, 8),
		.id = smb2_file_id_load(b, 16),
		.minimum = smb2_u32(b, 32),
		.channel = smb2_u32(b, 36),
	};
	return ERR_OK;
}

void smb2_read_put(struct buf *b, uint32_t length)
{
	bytes_put_u16(b, 17);
	bytes_put_u8(b, SMB2_HEADER_BYTES + SMB2_READ_ANSWER_BYTES);
	bytes_put_u8(b, 0);
	bytes_put_u32(b, length);
	bytes_put_u64(b, 0);
}

enum err smb2_write_parse(struct slice part, struct smb2_write *ret)
{
	struct slice b, data;
	TRY(smb2_body(part, 49, &b));
	TRY(smb2_field(part, 48, smb2_u16(b, 2), smb2_u32(b, 4), &data));
	*ret = (struct smb2_write){
		.offset = smb2_u64(b, 8),
		.id = smb2_file_id_load(b, 16),
		.channel = smb2_u32(b, 32),
		.flags = smb2_u32(b, 44),
		.data = data,
	};
	return ERR_OK;
}

void smb2_write_put(struct buf *b, uint32_t count)
{
	bytes_put_u16(b, 17);
	bytes_put_u16(b, 0);
	bytes_put_u32(b, count);
	bytes_put_u64(b, 0);
}

enum err smb2_lock_parse(struct slice part, struct smb2_lock *ret)
{
	struct slice b;
	TRY(smb2_body(part, 48, &b));
	uint32_t sequence = smb2_u32(b, 4);
	struct smb2_lock l = {
		.count = smb2_u16(b, 2),
		.sequence_number = sequence & 15,
		.sequence_index = sequence >> 4,
		.id = smb2_file_id_load(b, 8),
	};
	TRY(smb2_field(part, 24, SMB2_HEADER_BYTES + 24, (uint64_t)l.count * SMB2_LOCK_ELEMENT_BYTES, &l.elements));
	*ret = l;
	return ERR_OK;
}

struct smb2_lock_element smb2_lock_element(const struct smb2_lock *l, size_t i)
{
	size_t at = i * SMB2_LOCK_ELEMENT_BYTES;
	return (struct smb2_lock_element){
		.offset = smb2_u64(l->elements, at),
		.length = smb2_u64(l->elements, at + 8),
		.flags = smb2_u32(l->elements, at + 16),
	};
}

enum err smb2_ioctl_parse(struct slice part, struct smb2_ioctl *ret)
{
	struct slice b, input;
	TRY(smb2_body(part, 57, &b));
	TRY(smb2_field(part, 56, smb2_u32(b, 24), smb2_u32(b, 28), &input));
	*ret = (struct smb2_ioctl){
		.code = smb2_u32(b, 4),
		.id = smb2_file_id_load(b, 8),
		.max_output = smb2_u32(b, 44),
		.flags = smb2_u32(b, 48),
		.input = input,
	};
	return ERR_OK;
}

void smb2_ioctl_put(struct buf *b, uint32_t code, struct smb2_file_id id, struct slice output)
{
	enum { DATA_AT = SMB2_HEADER_BYTES + 48 };
	bytes_put_u16(b, 49);
	bytes_put_u16(b, 0);
	bytes_put_u32(b, code);
	smb2_file_id_put(b, id);
	bytes_put_u32(b, DATA_AT);
	bytes_put_u32(b, 0);
	bytes_put_u32(b, DATA_AT);
	bytes_put_u32(b, (uint32_t)output.len);
	bytes_put_u64(b, 0);
	buf_put(b, output);
}

void smb2_interface_put(struct buf *b, const struct smb2_interface *n, bool last)
{
	enum { FAMILY_IPV4 = 2, FAMILY_IPV6 = 0x17, SOCKADDR_BYTES = 128 }; /* as Windows numbers them */
	bool is_ipv6 = n->address.len == 16;
	bytes_put_u32(b, last ? 0 : SMB2_INTERFACE_BYTES);
	bytes_put_u32(b, n->index);
	bytes_put_u32(b, 0); /* neither several queues nor RDMA */
	bytes_put_u32(b, 0);
	bytes_put_u64(b, n->bits_per_second);
	bytes_put_u16(b, is_ipv6 ? FAMILY_IPV6 : FAMILY_IPV4);
	size_t zeros = is_ipv6 ? 6 : 2; /* port, flow */
	smb2_zeros_put(b, zeros);
	buf_put(b, n->address);
	smb2_zeros_put(b, SOCKADDR_BYTES - 2 - zeros - n->address.len);
}

enum err smb2_query_directory_parse(struct slice part, struct smb2_query_directory *ret)
{
	struct slice b, pattern;
	TRY(smb2_body(part, 33, &b));
	TRY(smb2_field(part, 32, smb2_u16(b, 24), smb2_u16(b, 26), &pattern));
	if (pattern.len % 2)
		return ERR_SYNTAX;
	*ret = (struct smb2_query_directory){
		.info_class = (uint8_t)b.ptr[2],
		.flags = (uint8_t)b.ptr[3],
		.id = smb2_file_id_load(b, 8),
		.pattern = pattern,
		.output_length = smb2_u32(b, 28),
	};
	return ERR_OK;
}

enum err smb2_change_notify_parse(struct slice part, struct smb2_change_notify *ret)
{
	struct slice b;
	TRY(smb2_body(part, 32, &b));
	*ret = (struct smb2_change_notify){
		.tree = smb2_u16(b, 2) & 1,
		.output_length = smb2_u32(b, 4),
		.id = smb2_file_id_load(b, 8),
		.filter = smb2_u32(b, 24),
	};
	return ERR_OK;
}

enum err smb2_query_info_parse(struct slice part, struct smb2_query_info *ret)
{
	struct slice b, input;
	TRY(smb2_body(part, 41, &b));
	TRY(smb2_field(part, 40, smb2_u16(b, 8), smb2_u32(b, 12), &input));
	*ret = (struct smb2_query_info){
		.type = (uint8_t)b.ptr[2],
		.info_class = (uint8_t)b.ptr[3],
		.output_length = smb2_u32(b, 4),
		.additional = smb2_u32(b, 16),
		.id = smb2_file_id_load(b, 24),
		.input = input,
	};
	return ERR_OK;
}

void smb2_output_put(struct buf *b, struct slice data)
{
	bytes_put_u16(b, 9);
	bytes_put_u16(b, data.len ? SMB2_HEADER_BYTES + 8 : 0);
	bytes_put_u32(b, (uint32_t)data.len);
	buf_put(b, data);
}

enum err smb2_set_info_parse(struct slice part, struct smb2_set_info *ret)
{
	struct slice b, input;
	TRY(smb2_body(part, 33, &b));
	TRY(smb2_field(part, 32, smb2_u16(b, 8), smb2_u32(b, 4), &input));
	*ret = (struct smb2_set_info){
		.type = (uint8_t)b.ptr[2],
		.info_class = (uint8_t)b.ptr[3],
		.additional = smb2_u32(b, 12),
		.id = smb2_file_id_load(b, 16),
		.input = input,
	};
	return ERR_OK;
}

void smb2_set_info_put(struct buf *b)
{
	bytes_put_u16(b, 2);
}

enum err smb2_break_parse(struct slice part, struct smb2_break *ret)
{
	struct slice b;
	if (smb2_body(part, 24, &b) == ERR_OK) {
		*ret = (struct smb2_break){ .level = (uint8_t)b.ptr[2], .id = smb2_file_id_load(b, 8) };
		return ERR_OK;
	}
	TRY(smb2_body(part, 36, &b));
	*ret = (struct smb2_break){ .lease = true, .state = smb2_u32(b, 24) };
	memcpy(ret->key, b.ptr + 8, sizeof ret->key);
	return ERR_OK;
}

void smb2_break_put(struct buf *b, const struct smb2_break *a)
{
	if (!a->lease) {
		smb2_oplock_notice_put(b, a->level, a->id);
		return;
	}
	bytes_put_u16(b, 36);
	bytes_put_u16(b, 0);
	bytes_put_u32(b, 0);
	buf_put(b, slice_make(a->key, sizeof a->key));
	bytes_put_u32(b, a->state);
	bytes_put_u64(b, 0);
}

void smb2_oplock_notice_put(struct buf *b, uint8_t level, struct smb2_file_id id)
{
	bytes_put_u16(b, 24);
	bytes_put_u8(b, level);
	bytes_put_u8(b, 0);
	bytes_put_u32(b, 0);
	smb2_file_id_put(b, id);
}

void smb2_lease_notice_put(struct buf *b, const struct smb2_lease_notice *n)
{
	bytes_put_u16(b, 44);
	bytes_put_u16(b, n->epoch);
	bytes_put_u32(b, n->acknowledge);
	buf_put(b, slice_make(n->key, sizeof n->key));
	bytes_put_u32(b, n->current);
	bytes_put_u32(b, n->next);
	smb2_zeros_put(b, 12);
}
