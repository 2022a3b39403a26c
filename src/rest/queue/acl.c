/* SPDX-License-Identifier: Apache-2.0
 * Get and Set Queue ACL: what a queue has of its own; the rest is rest/common/acl_handlers.c. */
#include "rest/common/acl.h"
#include "svc/account/names.h"

static const struct acl_facts facts = {
	.kind = RESOURCE_QUEUE, .letters = "raup", .missing_error = ERR_QUEUE_NOT_FOUND, .no_cache = true
};

static enum err parse_get(struct request *r)
{
	TRY(name_check_container(r->container, false));
	return acl_parse_get(r, &facts);
}

static enum err parse_set(struct request *r)
{
	TRY(name_check_container(r->container, false));
	return acl_parse_set(r, &facts);
}

const struct handler handler_queue_get_acl = { .parse = parse_get, .format = acl_format_get };
const struct handler handler_queue_set_acl = { .parse = parse_set,
					       .parse_body = acl_parse_set_body,
					       .format = acl_format_set };
