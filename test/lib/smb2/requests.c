/* SPDX-License-Identifier: Apache-2.0
 * Requests as clients write them, and their headers. The server reads them. */
#include "lib/smb2/pdu.h"

#include <stddef.h>

#define FIELD(name, member, bytes)                                                                                     \
	{                                                                                                              \
		name, offsetof(struct pdu_value, member), bytes                                                        \
	}
#define FIELDS(array) (array), PDU_COUNT(array)
#define PARSE(name, member)                                                                                            \
	static enum err name##_parse(struct slice p, struct pdu_value *v)                                              \
	{                                                                                                              \
		return smb2_##name##_parse(p, &v->member);                                                             \
	}
PARSE(header, header)
PARSE(transform, transform)
PARSE(negotiate, negotiate)
PARSE(session_setup, session_setup)
PARSE(tree_connect, bytes)
PARSE(create, create)
PARSE(close, close)
PARSE(flush, id)
PARSE(read, read)
PARSE(write, write)
PARSE(lock, lock)
PARSE(ioctl, ioctl)
PARSE(query_directory, query_directory)
PARSE(change_notify, change_notify)
PARSE(query_info, query_info)
PARSE(set_info, set_info)
PARSE(set_basic, set_basic)
PARSE(set_rename, set_rename)
PARSE(break, brk)

static enum err empty_parse(struct slice p, struct pdu_value *v)
{
	v->number = 0;
	return smb2_empty_parse(p);
}

/* Whether it offers SMB2 is all that is read of it. */
static enum err smb1_parse(struct slice p, struct pdu_value *v)
{
	v->number = smb2_smb1_offers_smb2(p);
	return v->number ? ERR_OK : ERR_SYNTAX;
}

static void smb1_put(struct buf *b, const struct pdu_value *v)
{
	static const char names[] = "\x02NT LM 0.12\0\x02SMB 2.002\0\x02SMB 2.???";
	BUF_PUT(b, "\xFFSMBr");
	smb2_zeros_put(b, 28);
	bytes_put_u16(b, sizeof names);
	buf_put(b, slice_make(names, sizeof names));
}

static const struct pdu_field header_fields[] = {
	FIELD("smb2.credit.charge", header.credit_charge, 2),
	FIELD("smb2.cmd", header.command, 2),
	FIELD("smb2.credits.requested", header.credits, 2),
	FIELD("smb2.flags", header.flags, 4),
	FIELD("smb2.chain_offset", header.next, 4),
	FIELD("smb2.msg_id", header.message_id, 8),
	FIELD("smb2.tid", header.tree_id, 4),
	FIELD("smb2.sesid", header.session_id, 8),
	FIELD("smb2.pid", header.reserved, 4),
};

static void header_put(struct buf *b, const struct pdu_value *v)
{
	smb2_header_put(b, &v->header);
	bytes_put_u16(b, 4); /* the least that a body has */
}

static void transform_put(struct buf *b, const struct pdu_value *v)
{
	char head[SMB2_TRANSFORM_BYTES];
	smb2_transform_write(head, &v->transform);
	buf_put(b, slice_make(head, sizeof head));
	smb2_zeros_put(b, v->transform.size);
}

static const struct pdu_field negotiate_fields[] = {
	FIELD("smb2.dialect_count", negotiate.dialect_count, 2),
	FIELD("smb2.sec_mode", negotiate.security_mode, 2),
	FIELD("smb2.capabilities", negotiate.capabilities, 4),
	FIELD("smb2.client_guid", negotiate.client_guid, 16),
	FIELD("smb2.dialect", negotiate.dialect, 2), /* the first of them, as of every list */
	FIELD("smb2.negotiate_context.cipher_id", negotiate.ciphers.id, 2),
	FIELD("smb2.negotiate_context.signing_id", negotiate.signings.id, 2),
};

static void negotiate_put(struct buf *b, const struct pdu_value *v)
{
	const struct smb2_negotiate *n = &v->negotiate;
	bool newest = false;
	uint16_t count = 0;
	pdu_begin(b, 36);
	bytes_put_u16(b, n->dialect_count);
	bytes_put_u16(b, n->security_mode);
	bytes_put_u16(b, 0);
	bytes_put_u32(b, n->capabilities);
	buf_put(b, slice_make(n->client_guid, sizeof n->client_guid));
	size_t contexts_at = b->len;
	bytes_put_u64(b, 0);
	for (size_t i = 0; i < n->dialect_count; i++) {
		bytes_put_u16(b, n->dialect[i]);
		newest |= n->dialect[i] == SMB2_DIALECT_311;
	}
	if (!newest)
		return;
	smb2_pad(b, 0, 8);
	pdu_offset_set(b, contexts_at, 4);
	pdu_negotiate_contexts_put(b, n, &count);
	if (buf_ok(b))
		bytes_store(b->ptr + contexts_at + 4, count, 2);
}

static const struct pdu_field session_setup_fields[] = {
	FIELD("smb2.ses_req_flags", session_setup.flags, 1),
	FIELD("smb2.sec_mode", session_setup.security_mode, 1),
	FIELD("smb2.previous_sesid", session_setup.previous_session_id, 8),
};

static void session_setup_put(struct buf *b, const struct pdu_value *v)
{
	const struct smb2_session_setup *s = &v->session_setup;
	pdu_begin(b, 25);
	bytes_put_u8(b, s->flags);
	bytes_put_u8(b, s->security_mode);
	bytes_put_u64(b, 0); /* capabilities, channel */
	bytes_put_u16(b, SMB2_HEADER_BYTES + 24);
	bytes_put_u16(b, (uint16_t)s->token.len);
	bytes_put_u64(b, s->previous_session_id);
	buf_put(b, s->token);
}

static const struct pdu_field tree_connect_fields[] = { FIELD("smb2.tree", bytes, 0) };

static void tree_connect_put(struct buf *b, const struct pdu_value *v)
{
	pdu_begin(b, 9);
	bytes_put_u16(b, 0);
	bytes_put_u16(b, SMB2_HEADER_BYTES + 8);
	bytes_put_u16(b, (uint16_t)v->bytes.len);
	buf_put(b, v->bytes);
}

static void empty_put(struct buf *b, const struct pdu_value *v)
{
	pdu_begin(b, 4);
	bytes_put_u16(b, 0);
}

static const struct pdu_field create_fields[] = {
	FIELD("smb2.create.oplock", create.oplock, 1),
	FIELD("smb2.impersonation.level", create.impersonation, 4),
	FIELD("smb.access_mask", create.access, 4),
	FIELD("smb2.file_attribute", create.attributes, 4),
	FIELD("smb.share_access", create.share, 4),
	FIELD("smb2.create.disposition", create.disposition, 4),
	FIELD("smb.create_options", create.options, 4),
	FIELD("smb2.filename", create.name, 0),
	FIELD("smb2.lease.lease_key", create.lease.key, 16),
	FIELD("smb2.lease.lease_state", create.lease.state, 4),
	FIELD("smb2.lease.lease_flags", create.lease.flags, 4),
	FIELD("smb2.lease.parent_lease_key", create.lease.parent_key, 16),
	FIELD("smb2.lease.lease_oplock", create.lease.epoch, 2),
	FIELD("smb2.dh2x.timeout", create.durable_timeout_ms, 4),
	FIELD("smb2.dh2x.flags", create.durable_flags, 4),
	FIELD("smb2.dh2x.create_guid", create.create_guid, 16),
};

static void create_put(struct buf *b, const struct pdu_value *v)
{
	const struct smb2_create *c = &v->create;
	pdu_begin(b, 57);
	bytes_put_u8(b, 0);
	bytes_put_u8(b, c->oplock);
	bytes_put_u32(b, c->impersonation);
	smb2_zeros_put(b, 16);
	bytes_put_u32(b, c->access);
	bytes_put_u32(b, c->attributes);
	bytes_put_u32(b, c->share);
	bytes_put_u32(b, c->disposition);
	bytes_put_u32(b, c->options);
	bytes_put_u16(b, SMB2_HEADER_BYTES + 56);
	bytes_put_u16(b, (uint16_t)c->name.len);
	size_t contexts_at = b->len;
	bytes_put_u64(b, 0);
	buf_put(b, c->name);
	smb2_pad(b, 0, 8);
	size_t begin = b->len;
	pdu_create_contexts_put(b, c);
	if (!buf_ok(b) || b->len == begin)
		return;
	bytes_store(b->ptr + contexts_at, begin, 4);
	bytes_store(b->ptr + contexts_at + 4, b->len - begin, 4);
}

static const struct pdu_field close_fields[] = { FIELD("smb2.close.flags", close.flags, 2),
						 FIELD("smb2.fid", close.id, 16) };

static void close_put(struct buf *b, const struct pdu_value *v)
{
	pdu_begin(b, 24);
	bytes_put_u16(b, v->close.flags);
	bytes_put_u32(b, 0);
	smb2_file_id_put(b, v->close.id);
}

static const struct pdu_field flush_fields[] = { FIELD("smb2.fid", id, 16) };

static void flush_put(struct buf *b, const struct pdu_value *v)
{
	pdu_begin(b, 24);
	smb2_zeros_put(b, 6);
	smb2_file_id_put(b, v->id);
}

static const struct pdu_field read_fields[] = {
	FIELD("smb2.read_length", read.length, 4),
	FIELD("smb2.file_offset", read.offset, 8),
	FIELD("smb2.fid", read.id, 16),
	FIELD("smb2.min_count", read.minimum, 4),
	FIELD("smb2.channel", read.channel, 4),
};

static void read_put(struct buf *b, const struct pdu_value *v)
{
	const struct smb2_read *r = &v->read;
	pdu_begin(b, 49);
	bytes_put_u16(b, SMB2_HEADER_BYTES + 16); /* where the answer's data may begin; flags */
	bytes_put_u32(b, r->length);
	bytes_put_u64(b, r->offset);
	smb2_file_id_put(b, r->id);
	bytes_put_u32(b, r->minimum);
	bytes_put_u32(b, r->channel);
	bytes_put_u64(b, 0); /* remaining, channel info */
	bytes_put_u8(b, 0);
}

static const struct pdu_field write_fields[] = {
	FIELD("smb2.file_offset", write.offset, 8),    FIELD("smb2.fid", write.id, 16),
	FIELD("smb2.channel", write.channel, 4),       FIELD("smb2.write.flags", write.flags, 4),
	FIELD("smb2.write_length", write.data.len, 4),
};

static void write_put(struct buf *b, const struct pdu_value *v)
{
	const struct smb2_write *w = &v->write;
	pdu_begin(b, 49);
	bytes_put_u16(b, SMB2_WRITE_DATA_AT);
	bytes_put_u32(b, (uint32_t)w->data.len);
	bytes_put_u64(b, w->offset);
	smb2_file_id_put(b, w->id);
	bytes_put_u32(b, w->channel);
	bytes_put_u64(b, 0); /* remaining, channel info */
	bytes_put_u32(b, w->flags);
	buf_put(b, w->data);
}

static const struct pdu_field lock_fields[] = { FIELD("smb2.lock_count", lock.count, 2),
						FIELD("smb2.fid", lock.id, 16) };

static void lock_put(struct buf *b, const struct pdu_value *v)
{
	const struct smb2_lock *l = &v->lock;
	pdu_begin(b, 48);
	bytes_put_u16(b, l->count);
	bytes_put_u32(b, l->sequence_index << 4 | l->sequence_number);
	smb2_file_id_put(b, l->id);
	for (size_t i = 0; i < l->count; i++) {
		struct smb2_lock_element e = smb2_lock_element(l, i);
		bytes_put_u64(b, e.offset);
		bytes_put_u64(b, e.length);
		bytes_put_u32(b, e.flags);
		bytes_put_u32(b, 0);
	}
	if (l->count == 0) /* the structure counts one element */
		smb2_zeros_put(b, SMB2_LOCK_ELEMENT_BYTES);
}

static const struct pdu_field ioctl_fields[] = {
	FIELD("smb2.ioctl.function", ioctl.code, 4),
	FIELD("smb2.fid", ioctl.id, 16),
	FIELD("smb2.max_ioctl_out_size", ioctl.max_output, 4),
	FIELD("smb2.ioctl.flags", ioctl.flags, 4),
};

static void ioctl_put(struct buf *b, const struct pdu_value *v)
{
	const struct smb2_ioctl *i = &v->ioctl;
	pdu_begin(b, 57);
	bytes_put_u16(b, 0);
	bytes_put_u32(b, i->code);
	smb2_file_id_put(b, i->id);
	bytes_put_u32(b, i->input.len ? SMB2_HEADER_BYTES + 56 : 0);
	bytes_put_u32(b, (uint32_t)i->input.len);
	smb2_zeros_put(b, 12); /* input in the answer; output in the request */
	bytes_put_u32(b, i->max_output);
	bytes_put_u32(b, i->flags);
	bytes_put_u32(b, 0);
	buf_put(b, i->input);
	if (i->input.len == 0)
		bytes_put_u8(b, 0); /* the structure counts one byte of it */
}

static const struct pdu_field query_directory_fields[] = {
	FIELD("smb2.find.infolevel", query_directory.info_class, 1),
	FIELD("smb2.find.flags", query_directory.flags, 1),
	FIELD("smb2.fid", query_directory.id, 16),
	FIELD("smb2.find.pattern", query_directory.pattern, 0),
	FIELD("smb2.output_buffer_len", query_directory.output_length, 4),
};

static void query_directory_put(struct buf *b, const struct pdu_value *v)
{
	const struct smb2_query_directory *q = &v->query_directory;
	pdu_begin(b, 33);
	bytes_put_u8(b, q->info_class);
	bytes_put_u8(b, q->flags);
	bytes_put_u32(b, 0);
	smb2_file_id_put(b, q->id);
	bytes_put_u16(b, SMB2_HEADER_BYTES + 32);
	bytes_put_u16(b, (uint16_t)q->pattern.len);
	bytes_put_u32(b, q->output_length);
	buf_put(b, q->pattern);
}

static const struct pdu_field change_notify_fields[] = {
	FIELD("smb2.notify.watch_tree", change_notify.tree, 1),
	FIELD("smb2.output_buffer_len", change_notify.output_length, 4),
	FIELD("smb2.fid", change_notify.id, 16),
	FIELD("smb.nt.notify.completion_filter", change_notify.filter, 4),
};

static void change_notify_put(struct buf *b, const struct pdu_value *v)
{
	const struct smb2_change_notify *n = &v->change_notify;
	pdu_begin(b, 32);
	bytes_put_u16(b, n->tree);
	bytes_put_u32(b, n->output_length);
	smb2_file_id_put(b, n->id);
	bytes_put_u32(b, n->filter);
	bytes_put_u32(b, 0);
}

static const struct pdu_field query_info_fields[] = {
	FIELD("smb2.class", query_info.type, 1),
	FIELD("smb2.file_info.infolevel", query_info.info_class, 1),
	FIELD("smb2.fs_info.infolevel", query_info.info_class, 1),
	FIELD("smb2.max_response_size", query_info.output_length, 4),
	FIELD("smb2.getsetinfo_additional", query_info.additional, 4),
	FIELD("smb2.fid", query_info.id, 16),
};

static void query_info_put(struct buf *b, const struct pdu_value *v)
{
	const struct smb2_query_info *q = &v->query_info;
	pdu_begin(b, 41);
	bytes_put_u8(b, q->type);
	bytes_put_u8(b, q->info_class);
	bytes_put_u32(b, q->output_length);
	bytes_put_u32(b, q->input.len ? SMB2_HEADER_BYTES + 40 : 0); /* an offset of two bytes, nothing of two */
	bytes_put_u32(b, (uint32_t)q->input.len);
	bytes_put_u32(b, q->additional);
	bytes_put_u32(b, 0);
	smb2_file_id_put(b, q->id);
	buf_put(b, q->input);
	if (q->input.len == 0)
		bytes_put_u8(b, 0);
}

static const struct pdu_field set_info_fields[] = {
	FIELD("smb2.class", set_info.type, 1),
	FIELD("smb2.file_info.infolevel", set_info.info_class, 1),
	FIELD("smb2.setinfo_size", set_info.input.len, 4),
	FIELD("smb2.getsetinfo_additional", set_info.additional, 4),
	FIELD("smb2.fid", set_info.id, 16),
};

static void set_info_put(struct buf *b, const struct pdu_value *v)
{
	const struct smb2_set_info *s = &v->set_info;
	pdu_begin(b, 33);
	bytes_put_u8(b, s->type);
	bytes_put_u8(b, s->info_class);
	bytes_put_u32(b, (uint32_t)s->input.len);
	bytes_put_u32(b, SMB2_HEADER_BYTES + 32);
	bytes_put_u32(b, s->additional);
	smb2_file_id_put(b, s->id);
	buf_put(b, s->input);
}

static void set_basic_put(struct buf *b, const struct pdu_value *v)
{
	const struct smb2_set_basic *s = &v->set_basic;
	bytes_put_u64(b, s->times.creation);
	bytes_put_u64(b, s->times.access);
	bytes_put_u64(b, s->times.write);
	bytes_put_u64(b, s->times.change);
	bytes_put_u64(b, s->attributes); /* and four bytes of nothing */
}

static void set_rename_put(struct buf *b, const struct pdu_value *v)
{
	const struct smb2_set_rename *s = &v->set_rename;
	bytes_put_u64(b, s->replace);
	bytes_put_u64(b, s->root);
	bytes_put_u32(b, (uint32_t)s->name.len);
	buf_put(b, s->name);
}

static const struct pdu_field oplock_break_fields[] = { FIELD("smb2.create.oplock", brk.level, 1),
							FIELD("smb2.fid", brk.id, 16),
							FIELD("smb2.lease.lease_key", brk.key, 16),
							FIELD("smb2.lease.lease_state", brk.state, 4) };

/* Acknowledgement and answer have one form. */
static void oplock_break_put(struct buf *b, const struct pdu_value *v)
{
	pdu_begin(b, 0);
	b->len -= 2; /* the structure's size is one of two */
	smb2_break_put(b, &v->brk);
}

const struct pdu pdu_requests[] = {
	{ "header", true, header_parse, header_put, FIELDS(header_fields) },
	{ "transform", false, transform_parse, transform_put, NULL, 0 },
	{ "smb1_negotiate", false, smb1_parse, smb1_put, NULL, 0 },
	{ "negotiate", true, negotiate_parse, negotiate_put, FIELDS(negotiate_fields) },
	{ "session_setup", true, session_setup_parse, session_setup_put, FIELDS(session_setup_fields) },
	{ "tree_connect", true, tree_connect_parse, tree_connect_put, FIELDS(tree_connect_fields) },
	{ "empty", true, empty_parse, empty_put, NULL, 0 },
	{ "create", true, create_parse, create_put, FIELDS(create_fields) },
	{ "close", true, close_parse, close_put, FIELDS(close_fields) },
	{ "flush", true, flush_parse, flush_put, FIELDS(flush_fields) },
	{ "read", true, read_parse, read_put, FIELDS(read_fields) },
	{ "write", true, write_parse, write_put, FIELDS(write_fields) },
	{ "lock", true, lock_parse, lock_put, FIELDS(lock_fields) },
	{ "ioctl", true, ioctl_parse, ioctl_put, FIELDS(ioctl_fields) },
	{ "query_directory", true, query_directory_parse, query_directory_put, FIELDS(query_directory_fields) },
	{ "change_notify", true, change_notify_parse, change_notify_put, FIELDS(change_notify_fields) },
	{ "query_info", true, query_info_parse, query_info_put, FIELDS(query_info_fields) },
	{ "set_info", true, set_info_parse, set_info_put, FIELDS(set_info_fields) },
	{ "set_basic", false, set_basic_parse, set_basic_put, NULL, 0 },
	{ "set_rename", false, set_rename_parse, set_rename_put, NULL, 0 },
	{ "oplock_break", true, break_parse, oplock_break_put, FIELDS(oplock_break_fields) },
};
const size_t pdu_request_count = PDU_COUNT(pdu_requests);
