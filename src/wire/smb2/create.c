/* SPDX-License-Identifier: Apache-2.0
 * CREATE and its contexts: requests read, answers written. */
#include "wire/smb2/create.h"

enum {
	CREATE_STRUCTURE = 57,
	CREATE_FIXED = 56,
	CONTEXT_FIXED = 16,
	CONTEXTS_MAX = 64, /* ten kinds are known */
	LEASE_V1_BYTES = 32,
	LEASE_V2_BYTES = 52,
	MAXIMAL_BYTES = 8,
	FILE_ID_BYTES = 32,
	DURABLE_BYTES = 8,
};

static enum err lease_parse(struct slice d, struct smb2_create *c)
{
	struct smb2_lease_context *l = &c->lease;
	if (d.len != LEASE_V1_BYTES && d.len != LEASE_V2_BYTES)
		return ERR_SYNTAX;
	*l = (struct smb2_lease_context){ .present = true, .v2 = d.len == LEASE_V2_BYTES };
	memcpy(l->key, d.ptr, sizeof l->key);
	l->state = smb2_u32(d, 16);
	l->flags = smb2_u32(d, 20);
	if (l->v2) {
		memcpy(l->parent_key, d.ptr + 32, sizeof l->parent_key);
		l->epoch = smb2_u16(d, 48);
	}
	return ERR_OK;
}

static enum err durable_parse(struct slice d, struct smb2_create *c)
{
	if (d.len != 16)
		return ERR_SYNTAX;
	c->durable = true;
	return ERR_OK;
}

static enum err reconnect_parse(struct slice d, struct smb2_create *c)
{
	if (d.len != 16)
		return ERR_SYNTAX;
	c->reconnect = true;
	c->reconnect_id = smb2_file_id_load(d, 0);
	return ERR_OK;
}

static enum err durable_v2_parse(struct slice d, struct smb2_create *c)
{
	if (d.len != 32)
		return ERR_SYNTAX;
	c->durable_v2 = true;
	c->durable_timeout_ms = smb2_u32(d, 0);
	c->durable_flags = smb2_u32(d, 4);
	memcpy(c->create_guid, d.ptr + 16, sizeof c->create_guid);
	return ERR_OK;
}

static enum err reconnect_v2_parse(struct slice d, struct smb2_create *c)
{
	if (d.len != 36)
		return ERR_SYNTAX;
	c->reconnect_v2 = true;
	c->reconnect_id = smb2_file_id_load(d, 0);
	memcpy(c->create_guid, d.ptr + 16, sizeof c->create_guid);
	c->durable_flags = smb2_u32(d, 32);
	return ERR_OK;
}

static enum err maximal_parse(struct slice d, struct smb2_create *c)
{
	if (d.len != 0 && d.len != 8)
		return ERR_SYNTAX;
	c->wants_maximal_access = true;
	return ERR_OK;
}

static enum err file_id_parse(struct slice d, struct smb2_create *c)
{
	if (d.len != 0)
		return ERR_SYNTAX;
	c->wants_file_id = true;
	return ERR_OK;
}

static enum err allocation_parse(struct slice d, struct smb2_create *c)
{
	if (d.len != 8)
		return ERR_SYNTAX;
	c->has_allocation = true;
	c->allocation = smb2_u64(d, 0);
	return ERR_OK;
}

static enum err snapshot_parse(struct slice d, struct smb2_create *c)
{
	if (d.len != 8)
		return ERR_SYNTAX;
	c->has_snapshot = true;
	c->snapshot_time = smb2_u64(d, 0);
	return ERR_OK;
}

static enum err security_parse(struct slice d, struct smb2_create *c)
{
	c->security = d;
	return ERR_OK;
}

static enum err eas_parse(struct slice d, struct smb2_create *c)
{
	c->has_eas = true;
	return ERR_OK;
}

static enum err context_parse(struct slice name, struct slice data, struct smb2_create *c)
{
	static const struct {
		char name[5];
		enum err (*parse)(struct slice, struct smb2_create *);
	} known[] = {
		{ "RqLs", lease_parse },      { "DHnQ", durable_parse },      { "DHnC", reconnect_parse },
		{ "DH2Q", durable_v2_parse }, { "DH2C", reconnect_v2_parse }, { "MxAc", maximal_parse },
		{ "QFid", file_id_parse },    { "AlSi", allocation_parse },   { "TWrp", snapshot_parse },
		{ "SecD", security_parse },   { "ExtA", eas_parse },
	};
	for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
		if (slice_eq(name, slice_make(known[i].name, 4)))
			return known[i].parse(data, c);
	return ERR_OK;
}

/* `all` is the list; *at moves to the next context, to 0 behind the last. */
static enum err context_next(struct slice all, size_t *at, struct smb2_create *c)
{
	struct slice here = slice_from(all, *at);
	if (here.len < CONTEXT_FIXED)
		return ERR_SYNTAX;
	uint32_t next = smb2_u32(here, 0), data_len = smb2_u32(here, 12);
	uint16_t name_at = smb2_u16(here, 4), name_len = smb2_u16(here, 6), data_at = smb2_u16(here, 10);
	if (next && (next % 8 || next < CONTEXT_FIXED || next > here.len))
		return ERR_SYNTAX;
	if (next)
		here.len = next;
	if (name_at < CONTEXT_FIXED || name_at % 8 || name_len < 4 || (size_t)name_at + name_len > here.len)
		return ERR_SYNTAX;
	if (data_len && (data_at % 8 || data_at < (size_t)name_at + name_len || data_at > here.len ||
			 data_len > here.len - data_at))
		return ERR_SYNTAX;
	TRY(context_parse(slice_make(here.ptr + name_at, name_len),
			  slice_make(here.ptr + (data_len ? data_at : 0), data_len), c));
	*at = next ? *at + next : 0;
	return ERR_OK;
}

static enum err contexts_parse(struct slice all, struct smb2_create *c)
{
	size_t at = 0;
	if (all.len == 0)
		return ERR_OK;
	for (unsigned i = 0; i < CONTEXTS_MAX; i++) {
		TRY(context_next(all, &at, c));
		if (at == 0)
			return ERR_OK;
	}
	return ERR_SYNTAX;
}

enum err smb2_create_parse(struct slice part, struct smb2_create *ret)
{
	struct slice b, name, contexts;
	TRY(smb2_body(part, CREATE_STRUCTURE, &b));
	uint32_t contexts_at = smb2_u32(b, 48);
	TRY(smb2_field(part, CREATE_FIXED, smb2_u16(b, 44), smb2_u16(b, 46), &name));
	TRY(smb2_field(part, CREATE_FIXED, contexts_at, smb2_u32(b, 52), &contexts));
	if (name.len % 2 || (contexts.len && contexts_at % 8))
		return ERR_SYNTAX;
	*ret = (struct smb2_create){
		.oplock = (uint8_t)b.ptr[3],
		.impersonation = smb2_u32(b, 4),
		.access = smb2_u32(b, 24),
		.attributes = smb2_u32(b, 28),
		.share = smb2_u32(b, 32),
		.disposition = smb2_u32(b, 36),
		.options = smb2_u32(b, 40),
		.name = name,
	};
	return contexts_parse(contexts, ret);
}

/* ---- answer ---- */

/* Begins a context: its head and name, the chain from the one before. Data follows. */
static void context_begin(struct buf *b, size_t *last, const char *name, uint32_t data_bytes)
{
	if (*last) {
		smb2_pad(b, *last, 8);
		if (buf_ok(b))
			bytes_store(b->ptr + *last, b->len - *last, 4);
	}
	*last = b->len;
	bytes_put_u32(b, 0);
	bytes_put_u16(b, CONTEXT_FIXED);
	bytes_put_u16(b, 4);
	bytes_put_u16(b, 0);
	bytes_put_u16(b, CONTEXT_FIXED + 8);
	bytes_put_u32(b, data_bytes);
	buf_put(b, slice_make(name, 4));
	bytes_put_u32(b, 0);
}

static void lease_put(struct buf *b, size_t *last, const struct smb2_lease_context *l)
{
	context_begin(b, last, "RqLs", l->v2 ? LEASE_V2_BYTES : LEASE_V1_BYTES);
	buf_put(b, slice_make(l->key, sizeof l->key));
	bytes_put_u32(b, l->state);
	bytes_put_u32(b, l->flags);
	bytes_put_u64(b, 0);
	if (!l->v2)
		return;
	buf_put(b, slice_make(l->parent_key, sizeof l->parent_key));
	bytes_put_u16(b, l->epoch);
	bytes_put_u16(b, 0);
}

static void contexts_put(struct buf *b, const struct smb2_create_answer *a)
{
	size_t last = 0;
	if (a->has_maximal_access) {
		context_begin(b, &last, "MxAc", MAXIMAL_BYTES);
		bytes_put_u32(b, 0);
		bytes_put_u32(b, a->maximal_access);
	}
	if (a->has_file_id) {
		context_begin(b, &last, "QFid", FILE_ID_BYTES);
		bytes_put_u64(b, a->disk_id);
		bytes_put_u64(b, a->volume_id);
		smb2_zeros_put(b, 16);
	}
	if (a->lease.present)
		lease_put(b, &last, &a->lease);
	if (a->durable) {
		context_begin(b, &last, "DHnQ", DURABLE_BYTES);
		bytes_put_u64(b, 0);
	}
	if (a->durable_v2) {
		context_begin(b, &last, "DH2Q", DURABLE_BYTES);
		bytes_put_u32(b, a->durable_timeout_ms);
		bytes_put_u32(b, a->durable_flags);
	}
}

void smb2_create_put(struct buf *b, const struct smb2_create_answer *a)
{
	size_t from = b->len;
	bytes_put_u16(b, 89);
	bytes_put_u8(b, a->oplock);
	bytes_put_u8(b, 0);
	bytes_put_u32(b, a->action);
	bytes_put_u64(b, a->times.creation);
	bytes_put_u64(b, a->times.access);
	bytes_put_u64(b, a->times.write);
	bytes_put_u64(b, a->times.change);
	bytes_put_u64(b, a->allocation);
	bytes_put_u64(b, a->size);
	bytes_put_u32(b, a->attributes);
	bytes_put_u32(b, 0);
	smb2_file_id_put(b, a->id);
	size_t fields = b->len;
	bytes_put_u64(b, 0);
	size_t contexts = b->len;
	contexts_put(b, a);
	if (buf_ok(b) && b->len > contexts) {
		bytes_store(b->ptr + fields, SMB2_HEADER_BYTES + (contexts - from), 4);
		bytes_store(b->ptr + fields + 4, b->len - contexts, 4);
	}
}
