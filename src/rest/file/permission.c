/* SPDX-License-Identifier: Apache-2.0
 * Create Permission, Get Permission: security descriptors of a share, by key. */
#include "rest/core/server.h"
#include "rest/file/properties.h"
#include "svc/account/names.h"
#include "wire/base64.h"
#include "wire/json.h"
#include "wire/sddl/sddl.h"

struct permission_call {
	struct file_permission_call call; /* first: the apply gets this */
	bool binary;
};

static enum err begin(struct request *r, struct permission_call **ret)
{
	struct permission_call *c = ARENA_NEW(r->arena, struct permission_call);
	if (!c)
		return ERR_NO_MEMORY;
	r->call = c;
	TRY(name_check_container(r->container, false));
	*ret = c;
	return rest_file_snapshot_refuse(r);
}

static enum err parse_create(struct request *r)
{
	struct permission_call *c;
	TRY(begin(r, &c));
	return rest_file_step_write(r, file_apply_create_permission, NULL);
}

static enum err parse_create_body(struct request *r)
{
	struct permission_call *c = r->call;
	struct json_node *root;
	enum err e = json_parse(r->body, r->arena, 2, &root);
	if (e == ERR_NO_MEMORY)
		return e;
	struct slice text = e == ERR_OK ? json_member_string(root, "permission") : SLICE_NONE;
	if (!slice_is_set(text))
		return ERR_INVALID_INPUT;
	struct slice format = json_member_string(root, "format");
	if (slice_is_set(format) && file_since(r, FILE_V_PERMISSION_FORMAT)) {
		c->binary = slice_eq_nocase(format, SLICE("binary"));
		if (!c->binary && !slice_eq_nocase(format, SLICE("sddl")))
			return ERR_INVALID_INPUT;
	}
	TRY(rest_file_permission_canonical(r, text, c->binary, &c->call.text));
	return c->call.text.len > FILE_PERMISSION_BYTES_MAX ? ERR_FILE_INVALID_PERMISSION : ERR_OK;
}

static enum err format_create(struct request *r)
{
	struct permission_call *c = r->call;
	char key[FILE_PERMISSION_KEY_BYTES];
	r->response.status = 201;
	response_header(r, "x-ms-request-server-encrypted", SLICE("true"));
	response_header(r, "x-ms-file-permission-key",
			slice_make(key, rest_file_permission_key_format(r, c->call.key, key)));
	return ERR_OK;
}

static enum err read_permission(struct request *r)
{
	struct permission_call *c = r->call;
	struct slice partition;
	TRY(rest_file_find(r, &partition));
	enum err e = store_read_points(r->server->store, partition, file_apply_get_permission, &c->call, r->arena);
	return e == ERR_FILE_INVALID_PERMISSION_KEY
		       ? fault_header(r, ERR_INVALID_HEADER_VALUE, "x-ms-file-permission-key",
				      request_header(r, "x-ms-file-permission-key"))
		       : e;
}

static enum err parse_get(struct request *r)
{
	struct permission_call *c;
	struct slice key = request_header(r, "x-ms-file-permission-key");
	TRY(begin(r, &c));
	TRY(rest_file_permission_format_parse(r, &c->binary));
	if (!slice_is_set(key))
		return fault_header(r, ERR_MISSING_REQUIRED_HEADER, "x-ms-file-permission-key", SLICE_NONE);
	if (!rest_file_permission_key_parse(r, key, &c->call.key))
		return fault_header(r, ERR_INVALID_HEADER_VALUE, "x-ms-file-permission-key", key);
	request_step_call(r, read_permission);
	return ERR_OK;
}

static enum err put_binary(struct buf *b, struct slice text)
{
	struct buf binary;
	buf_init(&binary, 4 * SDDL_BINARY_MAX_BYTES);
	enum err e = sddl_parse(text, &binary);
	if (e == ERR_OK)
		base64_encode(b, buf_slice(&binary));
	buf_fini(&binary);
	return e == ERR_SYNTAX ? ERR_CORRUPT : e;
}

/* The service says of a descriptor without SACL that it has none. */
static bool lacks_sacl(struct slice text)
{
	int depth = 0; /* within an entry of an ACL */
	for (size_t i = 0; i + 1 < text.len; i++) {
		depth += (text.ptr[i] == '(') - (text.ptr[i] == ')');
		if (depth == 0 && text.ptr[i] == 'S' && text.ptr[i + 1] == ':')
			return false;
	}
	return true;
}

static enum err format_get(struct request *r)
{
	struct permission_call *c = r->call;
	struct buf *b = &r->response.body;
	r->response.status = 200;
	BUF_PUT(b, "{\"permission\":\"");
	if (c->binary) {
		TRY(put_binary(b, c->call.text));
	} else {
		json_put_text(b, c->call.text);
		if (lacks_sacl(c->call.text))
			BUF_PUT(b, PERMISSION_NO_SACL);
	}
	BUF_PUT(b, "\"");
	if (c->binary)
		BUF_PUT(b, ",\"format\":\"binary\"");
	BUF_PUT(b, "}");
	return ERR_OK;
}

const struct handler handler_permission_create = { .parse = parse_create,
						   .parse_body = parse_create_body,
						   .format = format_create };
const struct handler handler_permission_get = { .parse = parse_get, .format = format_get };
