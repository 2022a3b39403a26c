/* SPDX-License-Identifier: Apache-2.0
 * The admin listener as a service: its table of operations, and how it reads a path. */
#include "rest/core/service.h"
#include "rest/admin/explorer/explorer.h"
#include "rest/admin/ops.h"
#include "rest/core/server.h"

#define OP OP_HANDLER
#include "rest/admin/ops.def"
#undef OP

static const struct op ops[] = {
#define OP OP_ROW
#include "rest/admin/ops.def"
#undef OP
};

/* A path names an endpoint and nothing else: no account, no version. */
static enum err find_address(struct request *r)
{
	r->account = r->access->accounts[0].name;
	r->level = explorer_has_page(r->head->path)  ? LEVEL_CONTAINER
		   : explorer_has_api(r->head->path) ? LEVEL_OBJECT
						     : LEVEL_SERVICE;
	r->version = VERSION(2021, 12, 2);
	r->version_text = SLICE("2021-12-02");
	if (slice_is_set(r->head->query) && uri_parse_query(r->head->query, r->arena, &r->query) != ERR_OK)
		return ERR_INVALID_URI;
	return address_decode(r, r->head->path, &r->object);
}

const struct rest_service rest_service_admin = {
	.ops = ops,
	.op_count = sizeof ops / sizeof *ops,
	.redirect = explorer_redirect,
	.find_address = find_address,
	.start = explorer_start,
	.stop = explorer_stop,
};
