/* SPDX-License-Identifier: Apache-2.0
 * Choosing between JSON and Atom. See format.h. */
#include "rest/table/format.h"

#define VERSION_JSON	VERSION(2013, 8, 15)
#define VERSION_NO_ATOM VERSION(2015, 12, 11)

/* `token` is in lower case. Asked several times a request: the first byte decides at most places. */
static bool has_token(struct slice text, const char *token)
{
	struct slice t = slice_str(token);
	for (size_t i = 0; i + t.len <= text.len; i++)
		if (((text.ptr[i] == token[0]) | (text.ptr[i] == (token[0] & ~0x20))) &&
		    slice_eq_nocase(slice_make(text.ptr + i, t.len), t))
			return true;
	return false;
}

static bool asks_for_json(struct slice wanted)
{
	return has_token(wanted, "json");
}

static bool asks_for_atom(struct slice wanted)
{
	return has_token(wanted, "atom") || has_token(wanted, "/xml");
}

static bool asks_for_anything(struct slice wanted)
{
	return slice_trim(wanted).len == 0 || has_token(wanted, "*/*") || has_token(wanted, "application/*");
}

static enum odata_level json_level(struct slice wanted)
{
	if (has_token(wanted, "odata=nometadata"))
		return ODATA_NONE;
	return has_token(wanted, "odata=fullmetadata") ? ODATA_FULL : ODATA_MINIMAL;
}

enum err rest_table_format_of(uint32_t version, const struct query *query, const struct http_head *head,
			      enum odata_level *ret)
{
	struct slice wanted = query_get(query, SLICE("$format"));
	if (!slice_is_set(wanted))
		wanted = http_header(head, SLICE("accept"));
	bool json = asks_for_json(wanted);
	if (json && version >= VERSION_JSON) {
		*ret = json_level(wanted);
		return ERR_OK;
	}
	bool atom = asks_for_atom(wanted), any = asks_for_anything(wanted);
	*ret = ODATA_ATOM;
	if (version < VERSION_JSON) {
		if (atom || any)
			return ERR_OK;
		return json ? ERR_JSON_FORMAT_NOT_SUPPORTED : ERR_MEDIA_TYPE_NOT_SUPPORTED;
	}
	if ((atom || any) && version < VERSION_NO_ATOM)
		return ERR_OK;
	*ret = json_level(wanted);
	if (any)
		return ERR_OK;
	return atom ? ERR_ATOM_FORMAT_NOT_SUPPORTED : ERR_MEDIA_TYPE_NOT_SUPPORTED;
}

enum err rest_table_body_is_atom(uint32_t version, const struct http_head *head, struct slice body, bool *ret)
{
	struct slice type = http_header(head, SLICE("content-type"));
	bool json = asks_for_json(type), atom = !json && asks_for_atom(type);
	if (!atom && !json && version < VERSION_NO_ATOM) {
		struct slice text = slice_trim(body);
		atom = version < VERSION_JSON || (text.len && text.ptr[0] == '<');
	}
	*ret = atom;
	if (atom)
		return version < VERSION_NO_ATOM ? ERR_OK : ERR_ATOM_FORMAT_NOT_SUPPORTED;
	return version >= VERSION_JSON ? ERR_OK : ERR_JSON_FORMAT_NOT_SUPPORTED;
}

/* "3.0;NetFx": what stands before ';' counts. */
static bool data_service_version_ok(uint32_t version, struct slice value)
{
	struct slice number = slice_trim(slice_cut(&value, ';'));
	return slice_eq(number, SLICE("1.0")) || slice_eq(number, SLICE("2.0")) ||
	       (slice_eq(number, SLICE("3.0")) && version >= VERSION_JSON);
}

enum err rest_table_check_data_service_version(uint32_t version, const struct http_head *head)
{
	/* What the client takes at most may be higher than what this version speaks. */
	struct slice exact = http_header(head, SLICE("dataserviceversion"));
	struct slice most = http_header(head, SLICE("maxdataserviceversion"));
	if (slice_is_set(exact) && !data_service_version_ok(version, exact))
		return ERR_INVALID_INPUT;
	return !slice_is_set(most) || data_service_version_ok(VERSION_JSON, most) ? ERR_OK : ERR_INVALID_INPUT;
}

bool rest_table_errors_are_xml(const struct request *r)
{
	static const char *const xml_operations[] = { "properties", "stats", "acl" };
	struct slice comp = request_param(r, "comp"), accept = request_header(r, "accept");
	for (size_t i = 0; i < sizeof xml_operations / sizeof *xml_operations; i++)
		if (slice_eq_nocase(comp, slice_str(xml_operations[i])))
			return true;
	if (r->version == 0) /* refused before its version was found */
		return false;
	if (r->version < VERSION_JSON)
		return true;
	if (asks_for_json(accept))
		return false;
	return asks_for_atom(accept) || r->version < VERSION_NO_ATOM;
}

struct slice rest_table_content_type(uint32_t version, enum odata_level level, bool list)
{
	/* Without blanks: clients look for this text. */
	static const struct slice json[] = {
		[ODATA_NONE] = { "application/json;odata=nometadata;streaming=true;charset=utf-8", 62 },
		[ODATA_MINIMAL] = { "application/json;odata=minimalmetadata;streaming=true;charset=utf-8", 67 },
		[ODATA_FULL] = { "application/json;odata=fullmetadata;streaming=true;charset=utf-8", 64 },
	};
	if (level != ODATA_ATOM)
		return json[level];
	if (version < VERSION_JSON)
		return SLICE("application/atom+xml;charset=utf-8");
	return list ? SLICE("application/atom+xml;type=feed;charset=utf-8")
		    : SLICE("application/atom+xml;type=entry;charset=utf-8");
}
