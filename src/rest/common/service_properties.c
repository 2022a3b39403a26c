/* SPDX-License-Identifier: Apache-2.0
 * The record of a service's properties.
 *   version u8, logging, hour, minute, rule count u8, rules, default version str, delete retention, website
 *   logging  version str, del read write as one u8 of bits, retention      metrics  version str, bits u8, retention
 *   retention  bits u8, days u32      rule  four str, max age u32      website  bits u8, three str */
#include "rest/common/service_properties.h"

#include "base/bytes.h"
#include "rest/core/server.h"
#include "svc/account/resource.h"

enum { PROPERTIES_VERSION = 1 };

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

void service_properties_encode(struct buf *b, const struct service_properties *p)
{
	const struct service_logging *l = &p->logging;
	bytes_put_u8(b, PROPERTIES_VERSION);
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
}

enum err service_properties_decode(struct slice record, struct service_properties *ret)
{
	struct cursor c = cursor_make(record);
	if (cursor_u8(&c) != PROPERTIES_VERSION)
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
	return cursor_done(&c) ? ERR_OK : ERR_CORRUPT;
}

struct service_properties service_properties_default(void)
{
	struct service_properties p = { .logging = { .version = SLICE("1.0") },
					.hour = { .version = SLICE("1.0") },
					.minute = { .version = SLICE("1.0") } };
	return p;
}

enum err service_properties_load(struct request *r, struct service_properties *ret)
{
	struct slice record;
	enum err e = service_properties_find(r->server->store, r->account, service_facts(r->service)->letter, r->arena,
					     &record);
	*ret = service_properties_default();
	if (e == ERR_NOT_FOUND)
		return ERR_OK;
	return e == ERR_OK ? service_properties_decode(record, ret) : e;
}
