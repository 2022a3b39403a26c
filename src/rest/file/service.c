/* SPDX-License-Identifier: Apache-2.0
 * File as a service: its table of operations, and how it reads a path. */
#include "rest/core/service.h"
#include "svc/file/share.h"

#include "rest/common/cors.h"
#include "rest/common/policy.h"
#include "rest/common/service_handlers.h"
#include "rest/core/server.h"
#include "rest/file/ops.h"

#define OP OP_HANDLER
#include "rest/file/ops.def"
#undef OP

static const struct op ops[] = {
#define OP OP_ROW
#include "rest/file/ops.def"
#undef OP
};

/* What is asked of a share alone, without restype=share, is asked of its root directory. */
static bool names_root(const struct request *r)
{
	struct slice restype = request_param(r, "restype"), comp = request_param(r, "comp");
	return slice_eq_nocase(restype, SLICE("directory")) ||
	       (!slice_is_set(restype) &&
		(slice_eq_nocase(comp, SLICE("listhandles")) || slice_eq_nocase(comp, SLICE("forceclosehandles"))));
}

/* /share[/path...]; one slash behind the path is dropped. */
static enum err split_path(struct request *r, struct slice path)
{
	struct slice rest = path;
	TRY(address_decode(r, slice_cut(&rest, '/'), &r->container));
	if (rest.len && rest.ptr[rest.len - 1] == '/')
		rest.len--;
	r->level = rest.len || names_root(r) ? LEVEL_OBJECT : LEVEL_CONTAINER;
	return rest.len ? address_decode(r, rest, &r->object) : ERR_OK;
}

/* A token without the intent to back up or restore would have to obey every file's permissions, which bind nobody
 * here. */
static enum err check_intent(struct request *r)
{
	struct slice intent = request_header(r, "x-ms-file-request-intent");
	if (r->identity.kind != AUTH_BEARER || r->level == LEVEL_SERVICE)
		return ERR_OK;
	if (!slice_is_set(intent))
		return fault_header(r, ERR_MISSING_REQUIRED_HEADER, "x-ms-file-request-intent", SLICE_NONE);
	return slice_eq_nocase(intent, SLICE("backup"))
		       ? ERR_OK
		       : fault_header(r, ERR_INVALID_HEADER_VALUE, "x-ms-file-request-intent", intent);
}

/* The JavaScript client renames at a path-style endpoint by an address without the account, and signs it so. The header
 * that names the source tells which account is meant. */
static const struct auth_account *find_account(struct request *r)
{
	struct slice url = request_header(r, "x-ms-file-rename-source"), path;
	bool unused_secondary;
	if (!slice_is_set(url) || uri_decode(url, r->arena, &path) != ERR_OK)
		return NULL;
	const char *scheme = memmem(path.ptr, path.len, "://", 3);
	if (!scheme)
		return NULL;
	path = slice_from(path, (size_t)(scheme - path.ptr) + 3);
	path = slice_from(path, slice_find_byte(path, '/') + 1);
	return address_account(r, slice_first(path, slice_find_byte(path, '/')), &unused_secondary);
}

SERVICE_PROPERTIES_HANDLERS(file);

const struct rest_service rest_service_file = {
	.ops = ops,
	.op_count = sizeof ops / sizeof *ops,
	.properties = PROPERTY_PROTOCOL_SETTINGS,
	.find_account = find_account,
	.weigh = share_row_weigh,
	.split_path = split_path,
	.find_policy = policy_find,
	.check_request = check_intent,
	.decorate = cors_decorate,
	.anonymous_error = ERR_RESOURCE_NOT_FOUND,
	.not_built_error = ERR_UNSUPPORTED_QUERY_PARAMETER,
};
