/* SPDX-License-Identifier: Apache-2.0
 * Atom of an entity or a table to record bytes: entry, content, properties, and one element a property with its type as
 * an attribute. Whatever else an entry has (id, title, links) is not looked at, as the service does not. */
#include "rest/table/entity_atom.h"

#include "wire/xml.h"

enum { ELEMENTS_MAX = ENTITY_PROPERTIES_MAX + 16 }; /* keys, Timestamp, and some to tell that there are too many */

static enum err find_properties(struct slice text, struct arena *arena, struct xml_node **ret)
{
	struct xml_node *root;
	struct xml_error where;
	enum err e = xml_parse(text, arena, &root, &where);
	if (e)
		return e == ERR_SYNTAX ? ERR_INVALID_INPUT : e;
	struct xml_node *content = xml_is(root, "entry") ? xml_child(root, "content") : NULL;
	*ret = xml_child(content, "properties");
	return *ret ? ERR_OK : ERR_INVALID_INPUT;
}

static bool is_null(const struct xml_node *n)
{
	return slice_eq_nocase(xml_attr(n, "null"), SLICE("true"));
}

static enum err read_key(const struct xml_node *n, struct entity_body *b, struct slice *ret)
{
	struct slice type = xml_attr(n, "type");
	b->key_typed |= type.len && !slice_eq(type, edm_type_name(EDM_STRING));
	if (!is_null(n))
		*ret = n->text;
	return n->child ? ERR_INVALID_INPUT : ERR_OK;
}

static enum err read_property(const struct xml_node *n, struct arena *arena, struct buf *encoded)
{
	struct slice type_name = xml_attr(n, "type");
	enum edm_type type = type_name.len ? edm_type_from_name(type_name) : EDM_STRING;
	struct edm_value v;
	TRY(entity_name_check(n->name));
	if (type == EDM_NONE || n->child)
		return ERR_INVALID_INPUT;
	if (is_null(n))
		return ERR_OK;
	struct slice text = type == EDM_STRING ? n->text : slice_trim(n->text);
	TRY(rest_entity_value_parse_typed(text, type, arena, &v));
	property_encode(encoded, n->name, &v);
	return ERR_OK;
}

static enum err read_element(const struct xml_node *n, struct arena *arena, struct entity_body *b, struct buf *encoded)
{
	if (slice_eq(n->name, SLICE("PartitionKey")))
		return read_key(n, b, &b->partition_key);
	if (slice_eq(n->name, SLICE("RowKey")))
		return read_key(n, b, &b->row_key);
	return slice_eq(n->name, SLICE("Timestamp")) ? ERR_OK : read_property(n, arena, encoded);
}

enum err rest_entity_atom_parse(struct slice text, struct arena *arena, struct entity_body *ret)
{
	struct entity_body b = { .key_typed = false };
	struct xml_node *properties;
	struct name_index *index = ARENA_NEW(arena, struct name_index);
	struct slice *names = ARENA_NEW_ARRAY(arena, struct slice, ELEMENTS_MAX);
	size_t count = 0;
	if (!index || !names)
		return ERR_NO_MEMORY;
	TRY(find_properties(text, arena, &properties));
	/* A record is never longer than the text but for a few bytes a property. */
	size_t room = text.len + ELEMENTS_MAX * 32;
	struct buf encoded = { .ptr = arena_alloc(arena, room), .cap = room, .limit_bytes = room };
	if (!encoded.ptr)
		return ERR_NO_MEMORY;
	for (const struct xml_node *n = properties->child; n; n = n->next) {
		if (count == ELEMENTS_MAX)
			return ERR_TOO_MANY_PROPERTIES;
		if (entity_name_index_find(index, names, n->name) >= 0)
			return ERR_DUPLICATE_PROPERTIES_SPECIFIED;
		names[count] = n->name;
		entity_name_index_add(index, names, count++);
		TRY(read_element(n, arena, &b, &encoded));
	}
	if (!buf_ok(&encoded))
		return ERR_NO_MEMORY;
	b.properties = buf_slice(&encoded);
	*ret = b;
	return ERR_OK;
}

enum err rest_table_atom_parse(struct slice text, struct arena *arena, struct slice *ret_name)
{
	struct xml_node *properties;
	TRY(find_properties(text, arena, &properties));
	const struct xml_node *name = xml_child(properties, "TableName");
	*ret_name = name && !is_null(name) ? name->text : SLICE_NONE;
	return ERR_OK;
}
