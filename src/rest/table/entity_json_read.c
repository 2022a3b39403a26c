/* SPDX-License-Identifier: Apache-2.0
 * OData JSON of an entity to record bytes. Types come from name@odata.type members, which may stand before or behind
 * the value they speak of. */
#include "rest/table/entity_json.h"

#include "wire/json.h"

#include <assert.h>

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
		if (entity_name_index_find(&o->by_name, o->names, o->names[i]) >= 0)
			return ERR_DUPLICATE_PROPERTIES_SPECIFIED;
		entity_name_index_add(&o->by_name, o->names, i);
		if (is_type_member(o->names[i], &o->typed[i]))
			entity_name_index_add(&o->by_typed, o->typed, i);
	}
	return ERR_OK;
}

static const struct json_member *find_type(const struct members *o, size_t i)
{
	int at = entity_name_index_find(&o->by_typed, o->typed, o->names[i]);
	return at < 0 ? NULL : &o->member[at];
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

/* Typed values written as text: az and some SDKs send every typed value in quotes, so quotes are no error anywhere. */
static bool kind_fits(enum json_kind kind, enum edm_type type)
{
	if (kind == JSON_STRING)
		return true;
	if (kind == JSON_BOOL)
		return type == EDM_BOOLEAN;
	return kind == JSON_NUMBER && type != EDM_STRING && type != EDM_BINARY && type != EDM_BOOLEAN;
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
	assert(o->member && i < o->count);
	const struct json_member *m = &o->member[i], *t = find_type(o, i);
	b->key_typed |= t && !slice_eq(t->text, edm_type_name(EDM_STRING));
	if (m->kind == JSON_NULL)
		return ERR_OK;
	if (m->kind != JSON_STRING)
		return ERR_INVALID_INPUT;
	*ret = m->text;
	return ERR_OK;
}

static enum err read_property(const struct members *o, size_t i, struct arena *arena, struct buf *encoded)
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
	if (!kind_fits(m->kind, type))
		return t && (type == EDM_INT32 || type == EDM_INT64) ? ERR_UNREADABLE_INPUT : ERR_INVALID_VALUE_TYPE;
	TRY(t ? rest_entity_value_parse_typed(m->text, type, arena, &v)
	      : rest_entity_value_parse(m->text, type, arena, &v));
	property_encode(encoded, m->name, &v);
	return ERR_OK;
}

enum err rest_entity_body_parse(struct slice text, struct arena *arena, struct entity_body *ret)
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
	struct buf encoded = { .ptr = arena_alloc(arena, room), .cap = room, .limit_bytes = room };
	if (!encoded.ptr)
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
			TRY(read_property(&o, i, arena, &encoded));
	}
	if (!buf_ok(&encoded))
		return ERR_NO_MEMORY;
	b.properties = buf_slice(&encoded);
	*ret = b;
	return ERR_OK;
}
