/* SPDX-License-Identifier: Apache-2.0
 * Rename File, Rename Directory: the source is a URL in the same share. */
#include "rest/common/conditional.h"
#include "rest/common/metadata.h"
#include "rest/core/server.h"
#include "rest/core/service.h"
#include "rest/file/properties.h"

#define RENAME_SINCE	    VERSION(2021, 4, 10)
#define RENAME_CONTENT_TYPE VERSION(2021, 6, 8)

/* The path of the source behind its host, and its query. Clients send the URL plain or wholly percent-encoded. */
static enum err source_path(struct request *r, struct slice *ret, struct slice *ret_query)
{
	struct slice url = request_header(r, "x-ms-file-rename-source");
	if (!slice_is_set(url) || !url.len)
		return fault_header(r, ERR_MISSING_REQUIRED_HEADER, "x-ms-file-rename-source", SLICE_NONE);
	enum err bad = fault_header(r, ERR_INVALID_HEADER_VALUE, "x-ms-file-rename-source", SLICE_NONE);
	if (!memmem(url.ptr, url.len, "://", 3) && uri_decode(url, r->arena, &url) != ERR_OK)
		return bad;
	const char *scheme = memmem(url.ptr, url.len, "://", 3);
	if (!scheme)
		return bad;
	struct slice rest = slice_from(url, (size_t)(scheme - url.ptr) + 3);
	rest = slice_from(rest, slice_find_byte(rest, '/'));
	*ret_query = slice_from(rest, slice_find_byte(rest, '?') + 1);
	rest = slice_first(rest, slice_find_byte(rest, '?'));
	if (rest.len < 2 || uri_decode(slice_from(rest, 1), r->arena, ret) != ERR_OK)
		return bad;
	r->fault.count = 0;
	return ERR_OK;
}

/* What stands behind account and share. The host is not looked at: behind a proxy it is another one than ours. */
static enum err source_in_share(struct request *r, struct slice *ret, struct slice *ret_query)
{
	struct slice path;
	bool unused_secondary;
	TRY(source_path(r, &path, ret_query));
	struct slice rest = path, first = slice_cut(&rest, '/');
	if (!slice_eq(first, r->container) || r->path_style) {
		/* The account comes first in the path, unless the host named it. */
		if (slice_is_set(rest) && address_account(r, first, &unused_secondary) &&
		    slice_eq(slice_first(rest, slice_find_byte(rest, '/')), r->container)) {
			if (!slice_eq(first, r->account))
				return fault_header(r, ERR_INVALID_HEADER_VALUE, "x-ms-file-rename-source", SLICE_NONE);
			slice_cut(&rest, '/');
		} else if (!slice_eq(first, r->container)) {
			return fault_header(r, ERR_INVALID_HEADER_VALUE, "x-ms-file-rename-source", SLICE_NONE);
		}
	}
	if (!slice_is_set(rest) || !rest.len)
		return fault_header(r, ERR_INVALID_HEADER_VALUE, "x-ms-file-rename-source", SLICE_NONE);
	*ret = rest;
	return ERR_OK;
}

static enum err parse_source(struct request *r, enum file_kind kind, struct file_rename_call *c)
{
	struct slice path = SLICE_NONE, query = SLICE_NONE;
	struct file_path_rules rules;
	TRY(source_in_share(r, &path, &query));
	TRY(request_check_source(r, path, query));
	TRY(rest_file_path_rules_parse(r, "x-ms-source-allow-trailing-dot", &rules));
	TRY(file_path_split(r->arena, path, rules, &c->source.place.path));
	c->source.kind = kind;
	c->source.breaks = c->target.breaks;
	return rest_lease_id_parse(r, "x-ms-source-lease-id", &c->source.has_lease_id, &c->source.lease_id);
}

static enum err parse(struct request *r, enum file_kind kind)
{
	bool directory = kind == FILE_KIND_DIRECTORY;
	struct slice partition;
	struct file_rename_call *c = ARENA_NEW(r->arena, struct file_rename_call);
	if (!c)
		return ERR_NO_MEMORY;
	r->call = c;
	if (r->version < RENAME_SINCE)
		return fault_query(r, ERR_INVALID_QUERY_PARAMETER_VALUE, "comp", request_param(r, "comp"), "");
	TRY(rest_file_target_write(r, FILE_KIND_ANY, &c->target));
	TRY(parse_source(r, kind, c));
	TRY(rest_lease_id_parse(r, "x-ms-destination-lease-id", &c->target.has_lease_id, &c->target.lease_id));
	TRY(rest_file_flag_parse(r, "x-ms-file-rename-replace-if-exists", &c->replace));
	TRY(rest_file_flag_parse(r, "x-ms-file-rename-ignore-readonly", &c->ignore_readonly));
	if (c->ignore_readonly && !c->replace)
		return fault_header(r, ERR_INVALID_HEADER_VALUE, "x-ms-file-rename-ignore-readonly",
				    request_header(r, "x-ms-file-rename-ignore-readonly"));
	TRY(rest_file_settings_parse(r, SETTINGS_RENAME, directory, &c->settings));
	TRY(metadata_parse(r, &c->metadata));
	c->set_metadata = c->metadata.count > 0;
	c->content_type = request_header(r, "x-ms-content-type");
	c->set_content_type = !directory && slice_is_set(c->content_type) && file_since(r, RENAME_CONTENT_TYPE);
	if (c->target.place.path.count == 0 || c->source.place.path.count == 0)
		return ERR_INVALID_RESOURCE_NAME;
	TRY(rest_file_find(r, &partition));
	TRY(rest_file_settings_check_key(r, partition, &c->settings));
	rest_file_step_write_in(r, partition, file_apply_rename, &c->events);
	return ERR_OK;
}

static enum err parse_file(struct request *r)
{
	return parse(r, FILE_KIND_FILE);
}

static enum err parse_directory(struct request *r)
{
	return parse(r, FILE_KIND_DIRECTORY);
}

static enum err format(struct request *r)
{
	struct file_rename_call *c = r->call;
	r->response.status = 200;
	rest_file_put_properties(r, &c->inode, true);
	return ERR_OK;
}

const struct handler handler_file_rename = { .parse = parse_file, .format = format, .refused = rest_file_refused };
const struct handler handler_directory_rename = { .parse = parse_directory,
						  .format = format,
						  .refused = rest_file_refused };
