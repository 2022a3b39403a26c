/* SPDX-License-Identifier: Apache-2.0
 * The record of a service's properties.
 *   version u8, logging, hour, minute, rule count u8, rules, default version str, delete retention, website;
 *   version 2 goes on with: protocol settings as one u8 of bits. Version 1 is written where there are none.
 *   logging  version str, del read write as one u8 of bits, retention      metrics  version str, bits u8, retention
 *   retention  bits u8, days u32      rule  four str, max age u32      website  bits u8, three str */
#include "svc/account/service_properties.h"

#include "base/bytes.h"
#include "store/key.h"

enum { VERSION_PLAIN = 1, VERSION_PROTOCOL = 2, RECORD_BYTES_MAX = 16 * 1024 };

static void put_retention(struct buf *b, const struct retention_policy *p)
{
	bytes_put_u8(b, (uint8_t)(p->enabled | p->allow_permanent_delete << 1));
	bytes_put_u32(b, p->days);
}

static void take_retention(struct cursor *c, struct retention_policy *ret)
{
	uint8_t bits = cursor_u8(c);
	ret->enabled = bits & 1;
	ret->allow_permanent_delete = bits >> 1 & 1;
	ret->days = cursor_u32(c);
}

static void put_metrics(struct buf *b, const struct service_metrics *m)
{
	bytes_put_str(b, m->version);
	bytes_put_u8(b, (uint8_t)(m->enabled | m->include_apis << 1));
	put_retention(b, &m->retention);
}

static void take_metrics(struct cursor *c, struct service_metrics *ret)
{
	ret->version = cursor_str(c);
	uint8_t bits = cursor_u8(c);
	ret->enabled = bits & 1;
	ret->include_apis = bits >> 1 & 1;
	take_retention(c, &ret->retention);
}

void account_service_properties_encode(struct buf *b, const struct service_properties *p)
{
	const struct service_logging *l = &p->logging;
	uint8_t protocol = (uint8_t)(p->protocol.smb_encryption | p->protocol.nfs_encryption << 1);
	bytes_put_u8(b, protocol ? VERSION_PROTOCOL : VERSION_PLAIN);
	bytes_put_str(b, l->version);
	bytes_put_u8(b, (uint8_t)(l->del | l->read << 1 | l->write << 2));
	put_retention(b, &l->retention);
	put_metrics(b, &p->hour);
	put_metrics(b, &p->minute);
	bytes_put_u8(b, (uint8_t)p->cors_count);
	for (size_t i = 0; i < p->cors_count; i++) {
		bytes_put_str(b, p->cors[i].origins);
		bytes_put_str(b, p->cors[i].methods);
		bytes_put_str(b, p->cors[i].allowed_headers);
		bytes_put_str(b, p->cors[i].exposed_headers);
		bytes_put_u32(b, p->cors[i].max_age_s);
	}
	bytes_put_str(b, p->default_version);
	put_retention(b, &p->delete_retention);
	bytes_put_u8(b, p->website.enabled);
	bytes_put_str(b, p->website.index_document);
	bytes_put_str(b, p->website.default_index_path);
	bytes_put_str(b, p->website.error_document);
	if (protocol)
		bytes_put_u8(b, protocol);
}

enum err account_service_properties_decode(struct slice record, struct service_properties *ret)
{
	struct cursor c = cursor_make(record);
	uint8_t version = cursor_u8(&c);
	if (version != VERSION_PLAIN && version != VERSION_PROTOCOL)
		return ERR_CORRUPT;
	ret->logging.version = cursor_str(&c);
	uint8_t bits = cursor_u8(&c);
	ret->logging.del = bits & 1;
	ret->logging.read = bits >> 1 & 1;
	ret->logging.write = bits >> 2 & 1;
	take_retention(&c, &ret->logging.retention);
	take_metrics(&c, &ret->hour);
	take_metrics(&c, &ret->minute);
	ret->cors_count = cursor_u8(&c);
	if (ret->cors_count > CORS_RULES_MAX)
		return ERR_CORRUPT;
	for (size_t i = 0; i < ret->cors_count; i++) {
		ret->cors[i].origins = cursor_str(&c);
		ret->cors[i].methods = cursor_str(&c);
		ret->cors[i].allowed_headers = cursor_str(&c);
		ret->cors[i].exposed_headers = cursor_str(&c);
		ret->cors[i].max_age_s = cursor_u32(&c);
	}
	ret->default_version = cursor_str(&c);
	take_retention(&c, &ret->delete_retention);
	ret->website.enabled = cursor_u8(&c);
	ret->website.index_document = cursor_str(&c);
	ret->website.default_index_path = cursor_str(&c);
	ret->website.error_document = cursor_str(&c);
	bits = version == VERSION_PROTOCOL ? cursor_u8(&c) : 0;
	ret->protocol = (struct protocol_settings){ .smb_encryption = bits & 1, .nfs_encryption = bits >> 1 & 1 };
	return cursor_done(&c) ? ERR_OK : ERR_CORRUPT;
}

struct service_properties account_service_properties_default(void)
{
	struct service_properties p = { .logging = { .version = SLICE("1.0") },
					.hour = { .version = SLICE("1.0") },
					.minute = { .version = SLICE("1.0") } };
	return p;
}

static struct slice properties_key(char bytes[static 2], char service)
{
	bytes[0] = 'p';
	bytes[1] = service;
	return slice_make(bytes, 2);
}

static enum err decode_or_default(enum err found, struct slice record, struct service_properties *ret)
{
	*ret = account_service_properties_default();
	if (found == ERR_NOT_FOUND)
		return ERR_OK;
	return found == ERR_OK ? account_service_properties_decode(record, ret) : found;
}

enum err account_service_properties_find(struct store *store, struct slice account, char service, struct arena *arena,
					 struct service_properties *ret)
{
	struct key partition;
	struct slice record = SLICE_NONE;
	char bytes[2];
	key_init(&partition);
	key_partition_account(&partition, account);
	enum err e = partition.overflow
			     ? ERR_NOT_FOUND
			     : store_get(store, key_slice(&partition), properties_key(bytes, service), arena, &record);
	return decode_or_default(e, record, ret);
}

static void merge(struct service_properties *p, const struct service_properties_set *c)
{
	if (c->logging)
		p->logging = c->wanted.logging;
	if (c->hour)
		p->hour = c->wanted.hour;
	if (c->minute)
		p->minute = c->wanted.minute;
	if (c->cors) {
		p->cors_count = c->wanted.cors_count;
		memcpy(p->cors, c->wanted.cors, sizeof p->cors);
	}
	if (c->default_version)
		p->default_version = c->wanted.default_version;
	if (c->delete_retention)
		p->delete_retention = c->wanted.delete_retention;
	if (c->website)
		p->website = c->wanted.website;
	if (c->smb_encryption)
		p->protocol.smb_encryption = c->wanted.protocol.smb_encryption;
	if (c->nfs_encryption)
		p->protocol.nfs_encryption = c->wanted.protocol.nfs_encryption;
}

enum err account_service_properties_apply_set(struct txn *txn, void *service_properties_set)
{
	const struct service_properties_set *c = service_properties_set;
	struct service_properties p;
	struct slice record = SLICE_NONE;
	char bytes[2];
	struct slice key = properties_key(bytes, c->service);
	TRY(decode_or_default(txn_get(txn, key, &record), record, &p));
	merge(&p, c);
	char *mem = arena_alloc(txn_arena(txn), RECORD_BYTES_MAX);
	if (!mem)
		return ERR_NO_MEMORY;
	struct buf b = { .ptr = mem, .cap = RECORD_BYTES_MAX, .limit_bytes = RECORD_BYTES_MAX };
	account_service_properties_encode(&b, &p);
	return buf_ok(&b) ? txn_put(txn, key, buf_slice(&b)) : ERR_LIMIT;
}
