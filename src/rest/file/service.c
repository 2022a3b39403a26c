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

/* /share[/path...] */
static enum err split_path(struct request *r, struct slice path)
{
	struct slice rest = path;
	TRY(address_decode(r, slice_cut(&rest, '/'), &r->container));
	r->level = rest.len ? LEVEL_OBJECT : LEVEL_CONTAINER;
	return rest.len ? address_decode(r, rest, &r->object) : ERR_OK;
}

const struct rest_service rest_service_file = {
	.ops = ops,
	.op_count = sizeof ops / sizeof *ops,
	.split_path = split_path,
	.find_policy = policy_find,
	.decorate = cors_decorate,
};
