/* SPDX-License-Identifier: Apache-2.0
 * Directories and files as objects: create, properties, metadata, lease, delete. What both kinds have in common is
 * written once; a directory has no size, content headers or lease. */
#include "rest/common/conditional.h"
#include "rest/common/metadata.h"
#include "rest/core/body_checks.h"
#include "rest/core/server.h"
#include "rest/file/properties.h"

enum { CREATE_BODY_MAX_BYTES = 4 * 1024 * 1024 };
#define CREATE_WITH_DATA VERSION(2026, 2, 6)

/* ---- create ---- */

struct create_call {
	struct file_create_call create; /* first: the apply gets this */
	struct body_checks checks;
	bool has_body;
};

static enum err begin_create(struct request *r, bool directory, struct create_call **ret)
{
	struct create_call *c = ARENA_NEW(r->arena, struct create_call);
	if (!c)
		return ERR_NO_MEMORY;
	r->call = c;
	TRY(rest_file_target_write(r, directory ? FILE_KIND_DIRECTORY : FILE_KIND_FILE, &c->create.target));
	TRY(rest_file_settings_parse(r, SETTINGS_CREATE, directory, &c->create.settings));
	TRY(metadata_parse(r, &c->create.metadata));
	c->create.never_replace = !auth_allows(&r->identity, 'w');
	*ret = c;
	return ERR_OK;
}

static enum err end_create(struct request *r, struct create_call *c)
{
	struct slice partition;
	TRY(rest_file_find(r, &partition));
	TRY(rest_file_settings_check_key(r, partition, &c->create.settings));
	rest_file_step_write_in(r, partition, file_apply_create, &c->create.events);
	return ERR_OK;
}

static enum err parse_create_directory(struct request *r)
{
	struct create_call *c;
	TRY(rest_file_refuse_body(r));
	TRY(begin_create(r, true, &c));
	if (c->create.target.place.path.count == 0) {
		struct slice partition;
		TRY(rest_file_find(r, &partition));
		return ERR_RESOURCE_ALREADY_EXISTS; /* the root is there */
	}
	return end_create(r, c);
}

/* Initial data, from the version on that has it. */
static enum err parse_create_data(struct request *r, struct create_call *c)
{
	c->has_body = r->head->chunked || (r->head->has_content_length && r->head->content_length);
	if (!c->has_body)
		return ERR_OK;
	if (r->version < CREATE_WITH_DATA)
		return fault_header(r, ERR_INVALID_HEADER_VALUE, "Content-Length", request_header(r, "Content-Length"));
	TRY(body_checks_parse(r, &c->checks));
	r->body_limit_bytes = CREATE_BODY_MAX_BYTES;
	r->want_md5 = true;
	r->want_crc64 = c->checks.has_crc64;
	r->precheck = true;
	return ERR_OK;
}

static enum err parse_create_file(struct request *r)
{
	struct create_call *c;
	struct slice type = request_header(r, "x-ms-type");
	bool has_size;
	if (!slice_is_set(type))
		return fault_header(r, ERR_MISSING_REQUIRED_HEADER, "x-ms-type", SLICE_NONE);
	if (!slice_eq_nocase(type, SLICE("file")))
		return fault_header(r, ERR_INVALID_HEADER_VALUE, "x-ms-type", type);
	TRY(begin_create(r, false, &c));
	if (c->create.target.place.path.count == 0)
		return ERR_INVALID_RESOURCE_NAME;
	TRY(rest_file_size_parse(r, &has_size, &c->create.size_bytes));
	if (!has_size)
		return fault_header(r, ERR_MISSING_REQUIRED_HEADER, "x-ms-content-length", SLICE_NONE);
	TRY(rest_file_http_parse(r, true, &c->create.http));
	if (!slice_is_set(c->create.http.content_type))
		c->create.http.content_type = SLICE("application/octet-stream");
	TRY(parse_create_data(r, c));
	return end_create(r, c);
}

static enum err check_create_body(struct request *r)
{
	struct create_call *c = r->call;
	if (!c->has_body)
		return ERR_OK;
	if (r->payload.length_bytes > c->create.size_bytes)
		return ERR_INVALID_RANGE;
	TRY(body_checks_compare(r, &c->checks));
	c->create.payload = &r->payload;
	return ERR_OK;
}

static enum err format_create(struct request *r)
{
	struct create_call *c = r->call;
	r->response.status = 201;
	rest_file_put_properties(r, &c->create.inode, true);
	if (c->has_body)
		body_checks_put_headers(r, true, false);
	return ERR_OK;
}

/* ---- get ---- */

static enum err begin_get(struct request *r, enum file_kind kind)
{
	struct file_get_call *c = ARENA_NEW(r->arena, struct file_get_call);
	if (!c)
		return ERR_NO_MEMORY;
	r->call = c;
	TRY(rest_file_target_read(r, kind, &c->target));
	struct slice partition;
	TRY(rest_file_find(r, &partition));
	request_step_read_points(r, partition, file_apply_get);
	return ERR_OK;
}

static enum err parse_get_directory(struct request *r)
{
	return begin_get(r, FILE_KIND_DIRECTORY);
}

static enum err parse_get_file(struct request *r)
{
	return begin_get(r, FILE_KIND_FILE);
}

static enum err format_get_directory(struct request *r)
{
	struct file_get_call *c = r->call;
	r->response.status = 200;
	rest_file_put_properties(r, &c->inode, false);
	metadata_put_headers(r, &c->inode.metadata);
	return ERR_OK;
}

static enum err format_get_file(struct request *r)
{
	struct file_get_call *c = r->call;
	r->response.status = 200;
	r->response.content_length = c->inode.size_bytes;
	r->response.set_length = true;
	rest_file_put_properties(r, &c->inode, false);
	rest_file_put_content_properties(r, &c->inode, c->now_ticks, true, !c->target.has_snapshot);
	return ERR_OK;
}

static enum err format_get_metadata(struct request *r)
{
	struct file_get_call *c = r->call;
	r->response.status = 200;
	rest_file_put_etag(r, c->inode.etag);
	metadata_put_headers(r, &c->inode.metadata);
	return ERR_OK;
}

/* ---- set properties, metadata ---- */

static enum err begin_modify(struct request *r, enum file_kind kind, struct file_modify_call **ret)
{
	struct file_modify_call *c = ARENA_NEW(r->arena, struct file_modify_call);
	if (!c)
		return ERR_NO_MEMORY;
	r->call = c;
	TRY(rest_file_target_write(r, kind, &c->target));
	*ret = c;
	return ERR_OK;
}

static enum err end_set_properties(struct request *r, struct file_modify_call *c)
{
	struct slice partition;
	TRY(rest_file_find(r, &partition));
	TRY(rest_file_settings_check_key(r, partition, &c->settings));
	rest_file_step_write_in(r, partition, file_apply_set_properties, &c->events);
	return ERR_OK;
}

static enum err parse_set_directory(struct request *r)
{
	struct file_modify_call *c;
	TRY(begin_modify(r, FILE_KIND_DIRECTORY, &c));
	TRY(rest_file_settings_parse(r, SETTINGS_SET, true, &c->settings));
	return end_set_properties(r, c);
}

static enum err parse_set_file(struct request *r)
{
	static const char *const six[] = { "x-ms-content-type",	       "x-ms-content-encoding", "x-ms-content-language",
					   "x-ms-content-disposition", "x-ms-cache-control",	"x-ms-content-md5" };
	struct file_modify_call *c;
	TRY(begin_modify(r, FILE_KIND_FILE, &c));
	TRY(rest_file_settings_parse(r, SETTINGS_SET, false, &c->settings));
	TRY(rest_file_size_parse(r, &c->resize, &c->size_bytes));
	TRY(rest_file_http_parse(r, false, &c->http));
	/* A resize alone keeps the six; else what is not given is cleared. */
	c->set_http = !c->resize;
	for (size_t i = 0; i < sizeof six / sizeof *six; i++)
		c->set_http = c->set_http || slice_is_set(request_header(r, six[i]));
	return end_set_properties(r, c);
}

static enum err format_set_properties(struct request *r)
{
	struct file_modify_call *c = r->call;
	r->response.status = 200;
	rest_file_put_properties(r, &c->inode, true);
	return ERR_OK;
}

static enum err parse_set_metadata(struct request *r, enum file_kind kind)
{
	struct file_modify_call *c;
	TRY(begin_modify(r, kind, &c));
	TRY(metadata_parse(r, &c->metadata));
	return rest_file_step_write(r, file_apply_set_metadata, &c->events);
}

static enum err parse_set_directory_metadata(struct request *r)
{
	return parse_set_metadata(r, FILE_KIND_DIRECTORY);
}

static enum err parse_set_file_metadata(struct request *r)
{
	return parse_set_metadata(r, FILE_KIND_FILE);
}

static enum err format_set_metadata(struct request *r)
{
	struct file_modify_call *c = r->call;
	r->response.status = 200;
	rest_file_put_etag(r, c->inode.etag);
	response_header(r, "x-ms-request-server-encrypted", SLICE("true"));
	return ERR_OK;
}

/* ---- lease ---- */

/* A file's lease is infinite, so it is never renewed, and a break ends it at once. */
static enum err check_file_lease(struct request *r, struct lease_request *l)
{
	if (l->action == LEASE_ACTION_RENEW)
		return fault_header(r, ERR_INVALID_HEADER_VALUE, "x-ms-lease-action",
				    request_header(r, "x-ms-lease-action"));
	if (l->action == LEASE_ACTION_ACQUIRE && l->duration_s != LEASE_INFINITE)
		return fault_header(r, ERR_INVALID_HEADER_VALUE, "x-ms-lease-duration",
				    request_header(r, "x-ms-lease-duration"));
	if (l->action == LEASE_ACTION_BREAK)
		l->break_period_s = 0;
	return ERR_OK;
}

static enum err parse_lease(struct request *r)
{
	struct file_modify_call *c;
	if (r->version < FILE_V_SMB_PROPERTIES)
		return fault_query(r, ERR_INVALID_QUERY_PARAMETER_VALUE, "comp", request_param(r, "comp"), "");
	TRY(begin_modify(r, FILE_KIND_FILE, &c));
	c->target.has_lease_id = false; /* it belongs to the action here */
	TRY(rest_lease_request_parse(r, &c->lease));
	TRY(check_file_lease(r, &c->lease));
	return rest_file_step_write(r, file_apply_lease, &c->events);
}

static enum err format_lease(struct request *r)
{
	struct file_modify_call *c = r->call;
	rest_lease_request_format(r, &c->lease);
	rest_file_put_etag(r, c->inode.etag);
	return ERR_OK;
}

/* ---- delete ---- */

static enum err parse_delete(struct request *r, enum file_kind kind)
{
	struct file_delete_call *c = ARENA_NEW(r->arena, struct file_delete_call);
	if (!c)
		return ERR_NO_MEMORY;
	r->call = c;
	TRY(rest_file_target_write(r, kind, &c->target));
	if (c->target.place.path.count == 0)
		return fault_query(r, ERR_INVALID_QUERY_PARAMETER_VALUE, "restype", request_param(r, "restype"),
				   "The root directory cannot be deleted.");
	return rest_file_step_write(r, file_apply_delete, &c->events);
}

static enum err parse_delete_directory(struct request *r)
{
	return parse_delete(r, FILE_KIND_DIRECTORY);
}

static enum err parse_delete_file(struct request *r)
{
	return parse_delete(r, FILE_KIND_FILE);
}

static enum err format_delete(struct request *r)
{
	r->response.status = 202;
	return ERR_OK;
}

#define HANDLER(name_, ...) const struct handler handler_##name_ = { .refused = rest_file_refused, __VA_ARGS__ }
HANDLER(directory_create, .parse = parse_create_directory, .format = format_create);
HANDLER(directory_get, .parse = parse_get_directory, .format = format_get_directory);
HANDLER(directory_get_metadata, .parse = parse_get_directory, .format = format_get_metadata);
HANDLER(directory_set_properties, .parse = parse_set_directory, .format = format_set_properties);
HANDLER(directory_set_metadata, .parse = parse_set_directory_metadata, .format = format_set_metadata);
HANDLER(directory_delete, .parse = parse_delete_directory, .format = format_delete);
HANDLER(file_create, .parse = parse_create_file, .parse_body = check_create_body, .format = format_create);
HANDLER(file_get_properties, .parse = parse_get_file, .format = format_get_file);
HANDLER(file_get_metadata, .parse = parse_get_file, .format = format_get_metadata);
HANDLER(file_set_properties, .parse = parse_set_file, .format = format_set_properties);
HANDLER(file_set_metadata, .parse = parse_set_file_metadata, .format = format_set_metadata);
HANDLER(file_lease, .parse = parse_lease, .format = format_lease);
HANDLER(file_delete, .parse = parse_delete_file, .format = format_delete);
