/* SPDX-License-Identifier: Apache-2.0
 * Get and Set Table ACL: what a table has of its own; the rest is rest/common/acl_handlers.c. */
#include "rest/common/acl.h"

static const struct acl_facts facts = {
	.kind = RESOURCE_TABLE, .letters = "raud", .missing_error = ERR_RESOURCE_NOT_FOUND, .no_cache = false
};

static enum err parse_get(struct request *r)
{
	return acl_parse_get(r, &facts);
}

static enum err parse_set(struct request *r)
{
	return acl_parse_set(r, &facts);
}

const struct handler handler_table_get_acl = { .parse = parse_get, .format = acl_format_get };
const struct handler handler_table_set_acl = { .parse = parse_set,
					       .parse_body = acl_parse_set_body,
					       .format = acl_format_set };
