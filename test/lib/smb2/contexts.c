/* SPDX-License-Identifier: Apache-2.0
 * The contexts of CREATE and NEGOTIATE. Each is a message of its own here, too: its data alone, which are put into a
 * request that has nothing else and read with it. */
#include "lib/smb2/pdu.h"

enum { CONTEXT_HEAD_BYTES = 24 };

/* ---- CREATE: what each holds ---- */

static void lease_data(struct buf *b, const struct smb2_create *c)
{
	const struct smb2_lease_context *l = &c->lease;
	buf_put(b, slice_make(l->key, sizeof l->key));
	bytes_put_u32(b, l->state);
	bytes_put_u32(b, l->flags);
	bytes_put_u64(b, 0);
	if (!l->v2)
		return;
	buf_put(b, slice_make(l->parent_key, sizeof l->parent_key));
	bytes_put_u32(b, l->epoch); /* two bytes of nothing behind it */
}

static void durable_data(struct buf *b, const struct smb2_create *c)
{
	smb2_zeros_put(b, 16);
}

static void reconnect_data(struct buf *b, const struct smb2_create *c)
{
	smb2_file_id_put(b, c->reconnect_id);
}

static void durable_v2_data(struct buf *b, const struct smb2_create *c)
{
	bytes_put_u32(b, c->durable_timeout_ms);
	bytes_put_u32(b, c->durable_flags);
	bytes_put_u64(b, 0);
	buf_put(b, slice_make(c->create_guid, sizeof c->create_guid));
}

static void reconnect_v2_data(struct buf *b, const struct smb2_create *c)
{
	smb2_file_id_put(b, c->reconnect_id);
	buf_put(b, slice_make(c->create_guid, sizeof c->create_guid));
	bytes_put_u32(b, c->durable_flags);
}

static void nothing_data(struct buf *b, const struct smb2_create *c)
{
}

static void allocation_data(struct buf *b, const struct smb2_create *c)
{
	bytes_put_u64(b, c->allocation);
}

static void snapshot_data(struct buf *b, const struct smb2_create *c)
{
	bytes_put_u64(b, c->snapshot_time);
}

static void security_data(struct buf *b, const struct smb2_create *c)
{
	buf_put(b, c->security);
}

static bool has_lease(const struct smb2_create *c)
{
	return c->lease.present;
}
static bool has_durable(const struct smb2_create *c)
{
	return c->durable;
}
static bool has_reconnect(const struct smb2_create *c)
{
	return c->reconnect;
}
static bool has_durable_v2(const struct smb2_create *c)
{
	return c->durable_v2;
}
static bool has_reconnect_v2(const struct smb2_create *c)
{
	return c->reconnect_v2;
}
static bool has_maximal(const struct smb2_create *c)
{
	return c->wants_maximal_access;
}
static bool has_file_id(const struct smb2_create *c)
{
	return c->wants_file_id;
}
static bool has_allocation(const struct smb2_create *c)
{
	return c->has_allocation;
}
static bool has_snapshot(const struct smb2_create *c)
{
	return c->has_snapshot;
}
static bool has_security(const struct smb2_create *c)
{
	return slice_is_set(c->security);
}
static bool has_eas(const struct smb2_create *c)
{
	return c->has_eas;
}

/* The order is the one in which the fields that two contexts share (ids, GUID, flags) are read back alike. */
static const struct {
	char name[5];
	bool (*present)(const struct smb2_create *);
	void (*data)(struct buf *, const struct smb2_create *);
} create_contexts[] = {
	{ "RqLs", has_lease, lease_data },
	{ "DHnQ", has_durable, durable_data },
	{ "DHnC", has_reconnect, reconnect_data },
	{ "DH2Q", has_durable_v2, durable_v2_data },
	{ "DH2C", has_reconnect_v2, reconnect_v2_data },
	{ "MxAc", has_maximal, nothing_data },
	{ "QFid", has_file_id, nothing_data },
	{ "AlSi", has_allocation, allocation_data },
	{ "TWrp", has_snapshot, snapshot_data },
	{ "SecD", has_security, security_data },
	{ "ExtA", has_eas, nothing_data },
};

static void context_head_put(struct buf *b, const char *name)
{
	bytes_put_u32(b, 0);
	bytes_put_u32(b, 16 | 4 << 16); /* where the name is, and how long */
	bytes_put_u32(b, 24 << 16);	/* where the data are */
	bytes_put_u32(b, 0);
	buf_put(b, slice_make(name, 4));
	bytes_put_u32(b, 0);
}

void pdu_create_contexts_put(struct buf *b, const struct smb2_create *c)
{
	size_t last = 0;
	for (size_t i = 0; i < PDU_COUNT(create_contexts); i++) {
		if (!create_contexts[i].present(c))
			continue;
		if (last) {
			smb2_pad(b, 0, 8);
			if (buf_ok(b))
				bytes_store(b->ptr + last, b->len - last, 4);
		}
		last = b->len;
		context_head_put(b, create_contexts[i].name);
		size_t data = b->len;
		create_contexts[i].data(b, c);
		if (buf_ok(b))
			bytes_store(b->ptr + last + 12, b->len - data, 4);
	}
}

/* A copy for as long as the value: what was read points into it. */
static enum err keep_and_parse(struct buf *b, struct pdu_value *v, bool create)
{
	struct slice kept = buf_ok(b) ? arena_dup(v->arena, buf_slice(b)) : SLICE_NONE;
	buf_fini(b);
	if (!slice_is_set(kept))
		return ERR_NO_MEMORY;
	return create ? smb2_create_parse(kept, &v->create) : smb2_negotiate_parse(kept, &v->negotiate);
}

/* A CREATE of the root with this context alone. */
static enum err create_context_parse(const char *name, struct slice data, struct pdu_value *v)
{
	struct buf b;
	buf_init(&b, 1 << 20);
	pdu_begin(&b, 57);
	smb2_zeros_put(&b, 46);
	bytes_put_u32(&b, SMB2_HEADER_BYTES + 56);
	bytes_put_u32(&b, (uint32_t)(CONTEXT_HEAD_BYTES + data.len));
	size_t head = b.len;
	context_head_put(&b, name);
	if (buf_ok(&b))
		bytes_store(b.ptr + head + 12, data.len, 4);
	buf_put(&b, data);
	return keep_and_parse(&b, v, true);
}

#define CREATE_CONTEXT(tag)                                                                                            \
	static enum err tag##_parse(struct slice data, struct pdu_value *v)                                            \
	{                                                                                                              \
		return create_context_parse(#tag, data, v);                                                            \
	}                                                                                                              \
	static void tag##_put(struct buf *b, const struct pdu_value *v)                                                \
	{                                                                                                              \
		for (size_t i = 0; i < PDU_COUNT(create_contexts); i++)                                                \
			if (memcmp(create_contexts[i].name, #tag, 4) == 0)                                             \
				create_contexts[i].data(b, &v->create);                                                \
	}
CREATE_CONTEXT(RqLs)
CREATE_CONTEXT(DHnQ)
CREATE_CONTEXT(DHnC)
CREATE_CONTEXT(DH2Q)
CREATE_CONTEXT(DH2C)
CREATE_CONTEXT(MxAc)
CREATE_CONTEXT(QFid)
CREATE_CONTEXT(AlSi)
CREATE_CONTEXT(TWrp)
CREATE_CONTEXT(SecD)
CREATE_CONTEXT(ExtA)

/* ---- NEGOTIATE ---- */

enum { PREAUTH = 1, ENCRYPTION = 2, SIGNING = 8, HASH_UNKNOWN = 0xFFFF };

static void preauth_data(struct buf *b, const struct smb2_negotiate *n)
{
	bytes_put_u16(b, 1);
	bytes_put_u16(b, 0); /* no salt */
	bytes_put_u16(b, n->has_sha512 ? SMB2_HASH_SHA512 : HASH_UNKNOWN);
}

static void algorithms_data(struct buf *b, const struct smb2_algorithms *a)
{
	bytes_put_u16(b, a->count);
	for (size_t i = 0; i < a->count; i++)
		bytes_put_u16(b, a->id[i]);
}

static void negotiate_context_put(struct buf *b, uint16_t type, struct slice data)
{
	smb2_pad(b, 0, 8);
	bytes_put_u16(b, type);
	bytes_put_u16(b, (uint16_t)data.len);
	bytes_put_u32(b, 0);
	buf_put(b, data);
}

void pdu_negotiate_contexts_put(struct buf *b, const struct smb2_negotiate *n, uint16_t *ret_count)
{
	struct buf data;
	buf_init(&data, 1 << 16);
	preauth_data(&data, n);
	negotiate_context_put(b, PREAUTH, buf_slice(&data));
	if (n->ciphers.present) {
		buf_clear(&data);
		algorithms_data(&data, &n->ciphers);
		negotiate_context_put(b, ENCRYPTION, buf_slice(&data));
	}
	if (n->signings.present) {
		buf_clear(&data);
		algorithms_data(&data, &n->signings);
		negotiate_context_put(b, SIGNING, buf_slice(&data));
	}
	buf_fini(&data);
	*ret_count = (uint16_t)(1 + n->ciphers.present + n->signings.present);
}

/* A NEGOTIATE of 3.1.1 alone with this context, behind the one that must be there. */
static enum err negotiate_context_parse(uint16_t type, struct slice data, struct pdu_value *v)
{
	static const struct smb2_negotiate least = { .has_sha512 = true };
	struct buf b;
	uint16_t count;
	if (data.len > UINT16_MAX)
		return ERR_SYNTAX;
	buf_init(&b, 1 << 20);
	pdu_begin(&b, 36);
	bytes_put_u16(&b, 1);
	smb2_zeros_put(&b, 24);
	bytes_put_u32(&b, SMB2_HEADER_BYTES + 40);
	bytes_put_u32(&b, type == PREAUTH ? 1 : 2);
	bytes_put_u32(&b, SMB2_DIALECT_311); /* and two bytes up to the contexts */
	if (type != PREAUTH)
		pdu_negotiate_contexts_put(&b, &least, &count);
	negotiate_context_put(&b, type, data);
	return keep_and_parse(&b, v, false);
}

static enum err preauth_parse(struct slice data, struct pdu_value *v)
{
	return negotiate_context_parse(PREAUTH, data, v);
}
static enum err encryption_parse(struct slice data, struct pdu_value *v)
{
	return negotiate_context_parse(ENCRYPTION, data, v);
}
static enum err signing_parse(struct slice data, struct pdu_value *v)
{
	return negotiate_context_parse(SIGNING, data, v);
}
static void preauth_put(struct buf *b, const struct pdu_value *v)
{
	preauth_data(b, &v->negotiate);
}
static void encryption_put(struct buf *b, const struct pdu_value *v)
{
	algorithms_data(b, &v->negotiate.ciphers);
}
static void signing_put(struct buf *b, const struct pdu_value *v)
{
	algorithms_data(b, &v->negotiate.signings);
}

const struct pdu pdu_contexts[] = {
	{ "context_RqLs", false, RqLs_parse, RqLs_put, NULL, 0 },
	{ "context_DHnQ", false, DHnQ_parse, DHnQ_put, NULL, 0 },
	{ "context_DHnC", false, DHnC_parse, DHnC_put, NULL, 0 },
	{ "context_DH2Q", false, DH2Q_parse, DH2Q_put, NULL, 0 },
	{ "context_DH2C", false, DH2C_parse, DH2C_put, NULL, 0 },
	{ "context_MxAc", false, MxAc_parse, MxAc_put, NULL, 0 },
	{ "context_QFid", false, QFid_parse, QFid_put, NULL, 0 },
	{ "context_AlSi", false, AlSi_parse, AlSi_put, NULL, 0 },
	{ "context_TWrp", false, TWrp_parse, TWrp_put, NULL, 0 },
	{ "context_SecD", false, SecD_parse, SecD_put, NULL, 0 },
	{ "context_ExtA", false, ExtA_parse, ExtA_put, NULL, 0 },
	{ "context_preauth", false, preauth_parse, preauth_put, NULL, 0 },
	{ "context_encryption", false, encryption_parse, encryption_put, NULL, 0 },
	{ "context_signing", false, signing_parse, signing_put, NULL, 0 },
};
const size_t pdu_context_count = PDU_COUNT(pdu_contexts);
