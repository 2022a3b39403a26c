/* SPDX-License-Identifier: Apache-2.0
 * Answers and notices as clients read them. The server writes them. Reserved fields are passed over, what the server
 * never says (error contexts, unknown contexts) is an error. */
#include "lib/smb2/pdu.h"

static struct cursor begin(struct slice part, uint16_t structure_size)
{
	struct cursor c = cursor_make(slice_from(part, SMB2_HEADER_BYTES));
	c.failed |= cursor_u16(&c) != structure_size;
	return c;
}

static void header_only(struct buf *b)
{
	pdu_begin(b, 0);
	b->len -= 2; /* what comes writes the size of its structure */
}

static enum err ended(const struct cursor *c)
{
	return c->failed ? ERR_SYNTAX : ERR_OK;
}

/* `length` bytes at `offset` of the part; nothing may lie before `from`. */
static struct slice field(struct cursor *c, struct slice part, size_t from, size_t offset, size_t length)
{
	if (length && (offset < from || offset > part.len || length > part.len - offset))
		c->failed = true;
	return c->failed || !length ? SLICE("") : slice_make(part.ptr + offset, length);
}

static void copy(void *dst, struct cursor *c, size_t bytes)
{
	struct slice raw = cursor_raw(c, bytes);
	if (!c->failed)
		memcpy(dst, raw.ptr, bytes);
}

static struct smb2_file_id file_id(struct cursor *c)
{
	uint64_t persistent = cursor_u64(c);
	return (struct smb2_file_id){ persistent, cursor_u64(c) };
}

static struct smb2_file_times times(struct cursor *c)
{
	struct smb2_file_times t = { .creation = cursor_u64(c) };
	t.access = cursor_u64(c);
	t.write = cursor_u64(c);
	t.change = cursor_u64(c);
	return t;
}

/* ---- errors and what is empty ---- */

static enum err error_parse(struct slice p, struct pdu_value *v)
{
	struct cursor c = begin(p, 9);
	c.failed |= cursor_u8(&c) != 0; /* contexts */
	cursor_u8(&c);
	v->bytes = cursor_raw(&c, cursor_u32(&c));
	if (v->bytes.len == 0)
		cursor_u8(&c); /* the structure counts one byte of data */
	return ended(&c);
}

static void error_put(struct buf *b, const struct pdu_value *v)
{
	header_only(b);
	smb2_error_put(b, v->bytes);
}

static enum err empty_parse(struct slice p, struct pdu_value *v)
{
	struct cursor c = begin(p, 4);
	cursor_u16(&c);
	v->number = 0;
	return ended(&c);
}

static void empty_put(struct buf *b, const struct pdu_value *v)
{
	header_only(b);
	smb2_empty_put(b);
}

static enum err set_info_parse(struct slice p, struct pdu_value *v)
{
	struct cursor c = begin(p, 2);
	v->number = 0;
	return ended(&c);
}

static void set_info_put(struct buf *b, const struct pdu_value *v)
{
	header_only(b);
	smb2_set_info_put(b);
}

/* ---- before a file is touched ---- */

static void negotiate_context(struct slice part, size_t *at, struct pdu_negotiate_answer *a, struct cursor *failure)
{
	enum { PREAUTH = 1, ENCRYPTION = 2, SIGNING = 8 };
	struct cursor c = cursor_make(slice_from(part, *at));
	uint16_t type = cursor_u16(&c), length = cursor_u16(&c);
	cursor_u32(&c);
	struct slice data = cursor_raw(&c, length);
	struct cursor d = cursor_make(data);
	d.failed |= cursor_u16(&d) != 1; /* one of each is chosen */
	switch (type) {
	case PREAUTH:
		a->salt_bytes = cursor_u16(&d);
		d.failed |= cursor_u16(&d) != SMB2_HASH_SHA512 || a->salt_bytes != sizeof a->fixed.salt;
		copy(a->fixed.salt, &d, sizeof a->fixed.salt);
		break;
	case ENCRYPTION:
		a->fixed.has_cipher = true;
		a->fixed.cipher = cursor_u16(&d);
		break;
	case SIGNING:
		a->fixed.has_signing = true;
		a->fixed.signing = cursor_u16(&d);
		break;
	default:
		failure->failed = true;
	}
	failure->failed |= c.failed || d.failed;
	*at = (*at + 8 + length + 7) & ~(size_t)7;
}

static enum err negotiate_parse(struct slice p, struct pdu_value *v)
{
	struct pdu_negotiate_answer *a = &v->negotiate_answer;
	struct cursor c = begin(p, 65);
	*a = (struct pdu_negotiate_answer){ .fixed.security_mode = cursor_u16(&c) };
	a->fixed.dialect = cursor_u16(&c);
	uint16_t contexts = cursor_u16(&c);
	copy(a->fixed.server_guid, &c, sizeof a->fixed.server_guid);
	a->fixed.capabilities = cursor_u32(&c);
	a->fixed.max_transact = cursor_u32(&c);
	a->fixed.max_read = cursor_u32(&c);
	a->fixed.max_write = cursor_u32(&c);
	a->fixed.system_time = cursor_u64(&c);
	cursor_u64(&c);
	uint16_t token_at = cursor_u16(&c), token = cursor_u16(&c);
	size_t at = cursor_u32(&c);
	a->fixed.token = field(&c, p, SMB2_HEADER_BYTES + 64, token_at, token);
	if (a->fixed.dialect != SMB2_DIALECT_311)
		return ended(&c);
	c.failed |= contexts == 0 || contexts > 3 || at % 8;
	for (unsigned i = 0; i < contexts && !c.failed; i++)
		negotiate_context(p, &at, a, &c);
	c.failed |= a->salt_bytes == 0;
	return ended(&c);
}

static void negotiate_put(struct buf *b, const struct pdu_value *v)
{
	struct buf body;
	buf_init(&body, 1 << 20);
	smb2_negotiate_put(&body, &v->negotiate_answer.fixed);
	header_only(b);
	buf_put(b, buf_slice(&body));
	buf_fini(&body);
}

static enum err session_setup_parse(struct slice p, struct pdu_value *v)
{
	struct cursor c = begin(p, 9);
	v->tagged = (struct pdu_tagged){ .flags = cursor_u16(&c) };
	uint16_t at = cursor_u16(&c);
	v->tagged.bytes = field(&c, p, SMB2_HEADER_BYTES + 8, at, cursor_u16(&c));
	return ended(&c);
}

static void session_setup_put(struct buf *b, const struct pdu_value *v)
{
	header_only(b);
	smb2_session_setup_put(b, v->tagged.flags, v->tagged.bytes);
}

static enum err tree_connect_parse(struct slice p, struct pdu_value *v)
{
	struct cursor c = begin(p, 16);
	v->tree_answer = (struct smb2_tree_answer){ .share_type = cursor_u8(&c) };
	cursor_u8(&c);
	v->tree_answer.share_flags = cursor_u32(&c);
	v->tree_answer.capabilities = cursor_u32(&c);
	v->tree_answer.maximal_access = cursor_u32(&c);
	return ended(&c);
}

static void tree_connect_put(struct buf *b, const struct pdu_value *v)
{
	header_only(b);
	smb2_tree_connect_put(b, &v->tree_answer);
}

/* ---- CREATE ---- */

static void lease_read(struct cursor *d, bool v2, struct smb2_lease_context *l)
{
	*l = (struct smb2_lease_context){ .present = true, .v2 = v2 };
	copy(l->key, d, sizeof l->key);
	l->state = cursor_u32(d);
	l->flags = cursor_u32(d);
	cursor_u64(d);
	if (!v2)
		return;
	copy(l->parent_key, d, sizeof l->parent_key);
	l->epoch = cursor_u16(d);
	cursor_u16(d);
}

static void create_context(struct slice name, struct slice data, struct smb2_create_answer *a, struct cursor *failure)
{
	struct cursor d = cursor_make(data);
	if (slice_eq(name, SLICE("MxAc"))) {
		a->has_maximal_access = true;
		d.failed |= cursor_u32(&d) != 0;
		a->maximal_access = cursor_u32(&d);
	} else if (slice_eq(name, SLICE("QFid"))) {
		a->has_file_id = true;
		a->disk_id = cursor_u64(&d);
		a->volume_id = cursor_u64(&d);
		cursor_raw(&d, 16);
	} else if (slice_eq(name, SLICE("RqLs"))) {
		lease_read(&d, data.len == 52, &a->lease);
	} else if (slice_eq(name, SLICE("DHnQ"))) {
		a->durable = true;
		cursor_u64(&d);
	} else if (slice_eq(name, SLICE("DH2Q"))) {
		a->durable_v2 = true;
		a->durable_timeout_ms = cursor_u32(&d);
		a->durable_flags = cursor_u32(&d);
	} else {
		d.failed = true;
	}
	failure->failed |= !cursor_done(&d);
}

static void create_contexts(struct slice all, struct smb2_create_answer *a, struct cursor *failure)
{
	for (unsigned i = 0; i < 8 && !failure->failed; i++) {
		struct cursor c = cursor_make(all);
		uint32_t next = cursor_u32(&c);
		uint16_t name_at = cursor_u16(&c), name_bytes = cursor_u16(&c);
		cursor_u16(&c);
		uint16_t data_at = cursor_u16(&c);
		uint32_t data_bytes = cursor_u32(&c);
		failure->failed |= c.failed || next % 8 || next > all.len;
		struct slice name = field(failure, all, 16, name_at, name_bytes);
		create_context(name, field(failure, all, 16, data_at, data_bytes), a, failure);
		if (!next)
			return;
		all = slice_from(all, next);
	}
	failure->failed = true;
}

static enum err create_parse(struct slice p, struct pdu_value *v)
{
	struct smb2_create_answer *a = &v->create_answer;
	struct cursor c = begin(p, 89);
	*a = (struct smb2_create_answer){ .oplock = cursor_u8(&c) };
	cursor_u8(&c);
	a->action = cursor_u32(&c);
	a->times = times(&c);
	a->allocation = cursor_u64(&c);
	a->size = cursor_u64(&c);
	a->attributes = cursor_u32(&c);
	cursor_u32(&c);
	a->id = file_id(&c);
	uint32_t at = cursor_u32(&c), bytes = cursor_u32(&c);
	struct slice contexts = field(&c, p, SMB2_HEADER_BYTES + 88, at, bytes);
	if (contexts.len && !c.failed)
		create_contexts(contexts, a, &c);
	return ended(&c);
}

static void create_put(struct buf *b, const struct pdu_value *v)
{
	struct buf body;
	buf_init(&body, 1 << 16);
	smb2_create_put(&body, &v->create_answer);
	header_only(b);
	buf_put(b, buf_slice(&body));
	buf_fini(&body);
}

/* ---- an open file ---- */

static enum err close_parse(struct slice p, struct pdu_value *v)
{
	struct smb2_close_answer *a = &v->close_answer;
	struct cursor c = begin(p, 60);
	*a = (struct smb2_close_answer){ .flags = cursor_u16(&c) };
	cursor_u32(&c);
	a->times = times(&c);
	a->allocation = cursor_u64(&c);
	a->size = cursor_u64(&c);
	a->attributes = cursor_u32(&c);
	return ended(&c);
}

static void close_put(struct buf *b, const struct pdu_value *v)
{
	header_only(b);
	smb2_close_put(b, &v->close_answer);
}

static enum err read_parse(struct slice p, struct pdu_value *v)
{
	struct cursor c = begin(p, 17);
	uint8_t at = cursor_u8(&c);
	cursor_u8(&c);
	v->bytes = field(&c, p, SMB2_HEADER_BYTES + SMB2_READ_ANSWER_BYTES, at, cursor_u32(&c));
	cursor_u64(&c); /* remaining, nothing */
	return ended(&c);
}

static void read_put(struct buf *b, const struct pdu_value *v)
{
	header_only(b);
	smb2_read_put(b, (uint32_t)v->bytes.len);
	buf_put(b, v->bytes);
}

static enum err write_parse(struct slice p, struct pdu_value *v)
{
	struct cursor c = begin(p, 17);
	cursor_u16(&c);
	v->number = cursor_u32(&c);
	cursor_u64(&c);
	return ended(&c);
}

static void write_put(struct buf *b, const struct pdu_value *v)
{
	header_only(b);
	smb2_write_put(b, v->number);
}

static enum err ioctl_parse(struct slice p, struct pdu_value *v)
{
	struct cursor c = begin(p, 49);
	cursor_u16(&c);
	v->ioctl_answer = (struct pdu_ioctl_answer){ .code = cursor_u32(&c) };
	v->ioctl_answer.id = file_id(&c);
	cursor_u64(&c); /* input */
	uint32_t at = cursor_u32(&c);
	v->ioctl_answer.output = field(&c, p, SMB2_HEADER_BYTES + 48, at, cursor_u32(&c));
	cursor_u64(&c);
	return ended(&c);
}

static void ioctl_put(struct buf *b, const struct pdu_value *v)
{
	header_only(b);
	smb2_ioctl_put(b, v->ioctl_answer.code, v->ioctl_answer.id, v->ioctl_answer.output);
}

/* An entry of a list of network interfaces, the last one. */
static enum err interface_parse(struct slice data, struct pdu_value *v)
{
	enum { IPV4 = 2, IPV6 = 0x17, SOCKADDR_AT = 24 };
	struct cursor c = cursor_make(data);
	cursor_u32(&c);
	v->interface = (struct smb2_interface){ .index = cursor_u32(&c) };
	cursor_u64(&c); /* queues, RDMA */
	v->interface.bits_per_second = cursor_u64(&c);
	uint16_t family = cursor_u16(&c);
	cursor_raw(&c, family == IPV6 ? 6 : 2); /* port, flow */
	v->interface.address = cursor_raw(&c, family == IPV6 ? 16 : 4);
	c.failed |= (family != IPV4 && family != IPV6) || data.len < SMB2_INTERFACE_BYTES;
	return ended(&c);
}

static void interface_put(struct buf *b, const struct pdu_value *v)
{
	smb2_interface_put(b, &v->interface, true);
}

static enum err output_parse(struct slice p, struct pdu_value *v)
{
	struct cursor c = begin(p, 9);
	uint16_t at = cursor_u16(&c);
	v->bytes = field(&c, p, SMB2_HEADER_BYTES + 8, at, cursor_u32(&c));
	return ended(&c);
}

static void output_put(struct buf *b, const struct pdu_value *v)
{
	header_only(b);
	smb2_output_put(b, v->bytes);
}

static enum err oplock_notice_parse(struct slice p, struct pdu_value *v)
{
	struct cursor c = begin(p, 24);
	v->notice = (struct pdu_notice){ .level = cursor_u8(&c) };
	cursor_raw(&c, 5);
	v->notice.id = file_id(&c);
	return ended(&c);
}

static void oplock_notice_put(struct buf *b, const struct pdu_value *v)
{
	header_only(b);
	smb2_oplock_notice_put(b, v->notice.level, v->notice.id);
}

static enum err lease_notice_parse(struct slice p, struct pdu_value *v)
{
	struct smb2_lease_notice *n = &v->lease_notice;
	struct cursor c = begin(p, 44);
	*n = (struct smb2_lease_notice){ .epoch = cursor_u16(&c) };
	n->acknowledge = cursor_u32(&c) & 1;
	copy(n->key, &c, sizeof n->key);
	n->current = cursor_u32(&c);
	n->next = cursor_u32(&c);
	cursor_raw(&c, 12);
	return ended(&c);
}

static void lease_notice_put(struct buf *b, const struct pdu_value *v)
{
	header_only(b);
	smb2_lease_notice_put(b, &v->lease_notice);
}

const struct pdu pdu_answers[] = {
	{ "error_answer", true, error_parse, error_put, NULL, 0 },
	{ "empty_answer", true, empty_parse, empty_put, NULL, 0 },
	{ "negotiate_answer", true, negotiate_parse, negotiate_put, NULL, 0 },
	{ "session_setup_answer", true, session_setup_parse, session_setup_put, NULL, 0 },
	{ "tree_connect_answer", true, tree_connect_parse, tree_connect_put, NULL, 0 },
	{ "create_answer", true, create_parse, create_put, NULL, 0 },
	{ "close_answer", true, close_parse, close_put, NULL, 0 },
	{ "read_answer", true, read_parse, read_put, NULL, 0 },
	{ "write_answer", true, write_parse, write_put, NULL, 0 },
	{ "ioctl_answer", true, ioctl_parse, ioctl_put, NULL, 0 },
	{ "interface", false, interface_parse, interface_put, NULL, 0 },
	{ "output_answer", true, output_parse, output_put, NULL, 0 },
	{ "set_info_answer", true, set_info_parse, set_info_put, NULL, 0 },
	{ "oplock_notice", true, oplock_notice_parse, oplock_notice_put, NULL, 0 },
	{ "lease_notice", true, lease_notice_parse, lease_notice_put, NULL, 0 },
};
const size_t pdu_answer_count = PDU_COUNT(pdu_answers);
