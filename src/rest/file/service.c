/* SPDX-License-Identifier: Apache-2.0
 * File as a service: its table of operations, and how it reads a path. */
#include "rest/core/service.h"

#include "rest/common/cors.h"
#include "rest/common/policy.h"
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

/* A token without the intent to back up or restore would have to obey every file's permissions, which bind nobody here. */
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

const struct rest_service rest_service_file = {
	.ops = ops,
	.op_count = sizeof ops / sizeof *ops,
	.split_path = split_path,
	.find_policy = policy_find,
	.check_request = check_intent,
	.decorate = cors_decorate,
};
