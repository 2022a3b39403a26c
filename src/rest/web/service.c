/* SPDX-License-Identifier: Apache-2.0
 * The static website as a service: its table of operations, and how it reads a path. */
#include "rest/core/service.h"
#include "rest/common/cors.h"
#include "rest/core/server.h"
#include "rest/web/ops.h"

#define OP OP_HANDLER
#include "rest/web/ops.def"
#undef OP

static const struct op ops[] = {
#define OP OP_ROW
#include "rest/web/ops.def"
#undef OP
};

/* A web address names a path in $web and nothing else: no version, no parameters. The account is the host's, or the
 * first. */
static enum err find_address(struct request *r)
{
	const struct auth_account *a = address_account_of_host(r);
	r->account = a ? a->name : r->access->accounts[0].name;
	r->container = SLICE("$web");
	r->level = LEVEL_OBJECT;
	r->version = VERSION(2021, 12, 2);
	r->version_text = SLICE("2021-12-02");
	return address_decode(r, slice_from(r->head->path, 1), &r->object);
}

const struct rest_service rest_service_web = {
	.ops = ops,
	.op_count = sizeof ops / sizeof *ops,
	.find_address = find_address,
	.decorate = cors_decorate,
};
