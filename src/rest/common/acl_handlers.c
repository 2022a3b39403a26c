/* SPDX-License-Identifier: Apache-2.0
 * Get and Set ACL of queues and tables, which differ in names and errors only. Containers have leases and conditions
 * and do it in their own file. Last writer wins. */
#include "rest/common/acl.h"
#include "rest/core/server.h"
#include "svc/account/names.h"

struct acl_call {
	struct resource_set_policies set; /* first: the apply gets this */
	const char *letters;
	struct resource resource; /* get */
};

static struct acl_call *call_new(struct request *r, char kind)
{
	struct acl_call *c = ARENA_NEW(r->arena, struct acl_call);
	if (!c)
		return NULL;
	c->set.kind = kind;
	c->set.name = r->container;
	c->letters = kind == RESOURCE_QUEUE ? ACL_LETTERS_QUEUE : ACL_LETTERS_TABLE;
	c->set.missing_error = kind == RESOURCE_QUEUE ? ERR_QUEUE_NOT_FOUND : ERR_RESOURCE_NOT_FOUND;
	r->call = c;
	return c;
}

static enum err parse_get(struct request *r, char kind)
{
	struct acl_call *c = call_new(r, kind);
	if (!c)
		return ERR_NO_MEMORY;
	enum err e = resource_find(r->server->store, r->account, kind, r->container, r->arena, &c->resource);
	return e == ERR_NOT_FOUND ? c->set.missing_error : e;
}

static enum err parse_set(struct request *r, char kind)
{
	struct acl_call *c = call_new(r, kind);
	struct slice account = resource_account_partition(r->arena, r->account);
	if (!c || !slice_is_set(account))
		return ERR_NO_MEMORY;
	request_step_write(r, account, resource_apply_set_policies);
	return ERR_OK;
}

static enum err parse_set_body(struct request *r)
{
	struct acl_call *c = r->call;
	return acl_parse(r, c->letters, c->set.policy, &c->set.count);
}

static enum err format_get(struct request *r)
{
	struct acl_call *c = r->call;
	r->response.status = 200;
	if (c->set.kind == RESOURCE_QUEUE)
		response_header(r, "Cache-Control", SLICE("no-cache"));
	acl_format(r, c->resource.policy, c->resource.policy_count);
	return ERR_OK;
}

static enum err format_set(struct request *r)
{
	r->response.status = 204;
	return ERR_OK;
}

static enum err parse_queue_get(struct request *r)
{
	TRY(name_check_container(r->container, false));
	return parse_get(r, RESOURCE_QUEUE);
}
static enum err parse_queue_set(struct request *r)
{
	TRY(name_check_container(r->container, false));
	return parse_set(r, RESOURCE_QUEUE);
}
static enum err parse_table_get(struct request *r)
{
	return parse_get(r, RESOURCE_TABLE);
}
static enum err parse_table_set(struct request *r)
{
	return parse_set(r, RESOURCE_TABLE);
}

const struct handler handler_queue_get_acl = { .parse = parse_queue_get, .format = format_get };
const struct handler handler_queue_set_acl = { .parse = parse_queue_set,
					       .parse_body = parse_set_body,
					       .format = format_set };
const struct handler handler_table_get_acl = { .parse = parse_table_get, .format = format_get };
const struct handler handler_table_set_acl = { .parse = parse_table_set,
					       .parse_body = parse_set_body,
					       .format = format_set };
