/* SPDX-License-Identifier: Apache-2.0
 * OData JSON of an entity to record bytes. Types come from name@odata.type members, which may stand before or behind
 * the value they speak of. */
#include "rest/table/entity_json.h"

#include "base/rng.h"
#include "wire/base64.h"
#include "wire/json.h"

#include <math.h>

/* ---- Types ---- */

struct members {
	struct json_member *member;
	size_t count;
	struct slice *names, *typed; /* of each member: its name; what its type is said of, if it says a type */
	struct name_index by_name, by_typed;
};

/* Two for each of 255 properties (value and type), and what OData adds of its own. */
enum { MEMBERS_MAX = 640 };

#define TYPE_SUFFIX SLICE("@odata.type")

/* "name@odata.type": the name in *ret. */
static bool is_type_member(struct slice name, struct slice *ret)
{
	if (name.len <= TYPE_SUFFIX.len || name.ptr[name.len - 1] != 'e' ||
	    !slice_eq(slice_from(name, name.len - TYPE_SUFFIX.len), TYPE_SUFFIX))
		return false;
	*ret = slice_first(name, name.len - TYPE_SUFFIX.len);
	return true;
}

/* Names of members and of what types are said of; each may stand there once. */
static enum err index_members(struct members *o, struct arena *arena)
{
	o->names = arena_alloc(arena, (o->count + 1) * sizeof *o->names);
	o->typed = arena_alloc(arena, (o->count + 1) * sizeof *o->typed);
	if (!o->names || !o->typed)
		return ERR_NO_MEMORY;
	memset(&o->by_name, 0, sizeof o->by_name);
	memset(&o->by_typed, 0, sizeof o->by_typed);
	for (size_t i = 0; i < o->count; i++) {
		o->names[i] = o->member[i].name;
		if (name_index_find(&o->by_name, o->names, o->names[i]) >= 0)
			return ERR_DUPLICATE_PROPERTIES_SPECIFIED;
		name_index_add(&o->by_name, o->names, i);
		if (is_type_member(o->names[i], &o->typed[i]))
			name_index_add(&o->by_typed, o->typed, i);
	}
	return ERR_OK;
}

static const struct json_member *find_type(const struct members *o, size_t i)
{
	int at = name_index_find(&o->by_typed, o->typed, o->names[i]);
	return at < 0 ? NULL : &o->member[at];
}

static bool parse_double(struct slice text, double *ret)
{
	if (slice_eq(text, SLICE("NaN")))
		*ret = (double)NAN;
	else if (slice_eq(text, SLICE("Infinity")) || slice_eq(text, SLICE("INF")))
		*ret = (double)INFINITY;
	else if (slice_eq(text, SLICE("-Infinity")) || slice_eq(text, SLICE("-INF")))
		*ret = -(double)INFINITY;
	else
		return text.len && (text.ptr[0] == '-' || (unsigned char)(text.ptr[0] - '0') < 10) &&
		       json_number_to_double(text, ret);
	return true;
}

static bool parse_integer(struct slice text, int64_t low, int64_t high, int64_t *ret)
{
	return slice_to_i64(text, ret) && *ret >= low && *ret <= high;
}

/* Without a type: true, false and strings are what they look like, numbers with a point or an exponent Double, others
 * Int32. */
static enum edm_type natural_type(const struct json_member *m)
{
	if (m->kind == JSON_STRING)
		return EDM_STRING;
	if (m->kind != JSON_NUMBER)
		return EDM_BOOLEAN;
	return json_number_is_integer(m->text) ? EDM_INT32 : EDM_DOUBLE;
}

static enum err value_boolean(const struct json_member *m, struct edm_value *v)
{
	bool text = m->kind == JSON_BOOL || m->kind == JSON_STRING;
	bool is_true = text && slice_eq_nocase(m->text, SLICE("true"));
	bool is_false = text && slice_eq_nocase(m->text, SLICE("false"));
	v->boolean = is_true;
	return is_true || is_false ? ERR_OK : ERR_INVALID_VALUE_TYPE;
}

/* Typed values written as text: az and some SDKs send every typed value in quotes, so quotes are no error anywhere. */
static enum err value_of(const struct json_member *m, enum edm_type type, struct arena *arena, struct edm_value *v)
{
	bool text = m->kind == JSON_STRING || (m->kind == JSON_NUMBER && type != EDM_STRING && type != EDM_BINARY);
	enum err e;
	v->type = type;
	if (type == EDM_BOOLEAN)
		return value_boolean(m, v);
	if (!text)
		return ERR_INVALID_VALUE_TYPE;
	switch (type) {
	case EDM_STRING:
		v->bytes = m->text;
		return m->text.len > ENTITY_VALUE_BYTES_MAX / 2 && edm_value_size(v) > ENTITY_VALUE_BYTES_MAX
			       ? ERR_ENTITY_TOO_LARGE
			       : ERR_OK;
	case EDM_BINARY:
		e = base64_decode(m->text, arena, &v->bytes);
		if (e)
			return e == ERR_SYNTAX ? ERR_INVALID_VALUE_TYPE : e;
		return v->bytes.len > ENTITY_VALUE_BYTES_MAX ? ERR_ENTITY_TOO_LARGE : ERR_OK;
	case EDM_INT32:
		return parse_integer(m->text, INT32_MIN, INT32_MAX, &v->integer) ? ERR_OK : ERR_INVALID_VALUE_TYPE;
	case EDM_INT64:
		return parse_integer(m->text, INT64_MIN, INT64_MAX, &v->integer) ? ERR_OK : ERR_INVALID_VALUE_TYPE;
	case EDM_DOUBLE:
		return parse_double(m->text, &v->number) ? ERR_OK : ERR_INVALID_VALUE_TYPE;
	case EDM_DATETIME:
		return edm_datetime_parse(m->text, &v->ticks) && v->ticks >= EDM_DATETIME_MIN ? ERR_OK
											      : ERR_INVALID_VALUE_TYPE;
	case EDM_GUID: {
		struct uuid *u = ARENA_NEW(arena, struct uuid);
		if (!u)
			return ERR_NO_MEMORY;
		v->bytes = slice_make(u->bytes, sizeof u->bytes);
		return uuid_parse(m->text, u) ? ERR_OK : ERR_INVALID_VALUE_TYPE;
	}
	default:
		return ERR_INVALID_INPUT;
	}
}

/* ---- The entity ---- */

/* odata.x, name@odata.x or @odata.x. */
static bool is_metadata(struct slice name)
{
	struct slice annotation = slice_from(name, slice_find_byte(name, '@'));
	return slice_has_prefix(name, SLICE("odata.")) || slice_has_prefix(annotation, SLICE("@odata."));
}

static enum err read_key(const struct members *o, size_t i, struct entity_body *b, struct slice *ret)
{
	const struct json_member *m = &o->member[i], *t = find_type(o, i);
	b->key_typed |= t && !slice_eq(t->text, edm_type_name(EDM_STRING));
	if (m->kind == JSON_NULL)
		return ERR_OK;
	if (m->kind != JSON_STRING)
		return ERR_INVALID_INPUT;
	*ret = m->text;
	return ERR_OK;
}

static enum err read_property(const struct members *o, size_t i, struct arena *arena, struct buf *run)
{
	const struct json_member *m = &o->member[i];
	TRY(entity_name_check(m->name));
	const struct json_member *t = find_type(o, i);
	enum edm_type type = natural_type(m);
	if (t) {
		type = t->kind == JSON_STRING ? edm_type_from_name(t->text) : EDM_NONE;
		if (type == EDM_NONE)
			return ERR_INVALID_INPUT;
	}
	if (m->kind == JSON_NULL)
		return ERR_OK;
	struct edm_value v;
	enum err e = value_of(m, type, arena, &v);
	/* A number said to be of a type it does not fit: here the service's reader gives up, before the service looks. */
	if (e == ERR_INVALID_VALUE_TYPE && t && (type == EDM_INT32 || type == EDM_INT64))
		return ERR_UNREADABLE_INPUT;
	TRY(e);
	property_encode(run, m->name, &v);
	return ERR_OK;
}

enum err entity_body_parse(struct slice text, struct arena *arena, struct entity_body *ret)
{
	struct members o;
	struct entity_body b = { .key_typed = false };
	enum err e = json_parse_flat(text, arena, &o.member, &o.count);
	if (e)
		return e == ERR_SYNTAX ? ERR_INVALID_INPUT : e;
	if (o.count > MEMBERS_MAX)
		return ERR_TOO_MANY_PROPERTIES;
	TRY(index_members(&o, arena));
	/* Record bytes are never longer than the text but for a few bytes a property; encoding asks for some to spare.
	 */
	size_t room = text.len + o.count * 32 + 64;
	struct buf run = { .ptr = arena_alloc(arena, room), .cap = room, .limit_bytes = room };
	if (!run.ptr)
		return ERR_NO_MEMORY;
	for (size_t i = 0; i < o.count; i++) {
		struct slice name = o.member[i].name;
		if (!name.len)
			return ERR_PROPERTY_NAME_INVALID;
		if (slice_eq(name, SLICE("PartitionKey")))
			TRY(read_key(&o, i, &b, &b.partition_key));
		else if (slice_eq(name, SLICE("RowKey")))
			TRY(read_key(&o, i, &b, &b.row_key));
		else if (!slice_eq(name, SLICE("Timestamp")) && !is_metadata(name))
			TRY(read_property(&o, i, arena, &run));
	}
	if (!buf_ok(&run))
		return ERR_NO_MEMORY;
	b.properties = buf_slice(&run);
	*ret = b;
	return ERR_OK;
}
