/* SPDX-License-Identifier: Apache-2.0
 * Queue as a service: its table of operations, and how it reads a path. */
#include "rest/core/service.h"
#include "rest/common/cors.h"
#include "rest/common/policy.h"
#include "rest/common/service_handlers.h"
#include "rest/core/server.h"
#include "rest/queue/ops.h"
#include "svc/queue/queue.h"

#define OP OP_HANDLER
#include "rest/queue/ops.def"
#undef OP

static const struct op ops[] = {
#define OP OP_ROW
#include "rest/queue/ops.def"
#undef OP
};

/* /queue, /queue/messages, /queue/messages/id */
static enum err split_path(struct request *r, struct slice path)
{
	struct slice rest = path;
	TRY(address_decode(r, slice_cut(&rest, '/'), &r->container));
	r->level = LEVEL_CONTAINER;
	if (rest.len == 0)
		return ERR_OK;
	if (!slice_eq_nocase(slice_cut(&rest, '/'), SLICE("messages"))) {
		r->level = LEVEL_ANY;
		return ERR_INVALID_URI;
	}
	r->level = rest.len ? LEVEL_MESSAGE : LEVEL_MESSAGES;
	return rest.len ? address_decode(r, rest, &r->object) : ERR_OK;
}

SERVICE_PROPERTIES_HANDLERS(queue);
SERVICE_STATS_HANDLER(queue);

const struct rest_service rest_service_queue = {
	.ops = ops,
	.op_count = sizeof ops / sizeof *ops,
	.properties = PROPERTY_LOGGING | PROPERTY_SOME | PROPERTY_NO_CACHE,
	.weigh = queue_row_weigh,
	.split_path = split_path,
	.find_policy = policy_find,
	.decorate = cors_decorate,
};
