/* SPDX-License-Identifier: Apache-2.0
 * Get and Set ACL of resources that have neither leases nor conditions: queues and tables. Last writer wins. */
#include "rest/common/acl.h"
#include "rest/core/server.h"

struct acl_call {
	struct resource_set_policies set; /* first: the apply gets this */
	const struct acl_facts *facts;
	struct resource resource; /* get */
};

static struct acl_call *call_new(struct request *r, const struct acl_facts *facts)
{
	struct acl_call *c = ARENA_NEW(r->arena, struct acl_call);
	if (!c)
		return NULL;
	c->facts = facts;
	c->set.kind = facts->kind;
	c->set.name = r->container;
	c->set.missing_error = facts->missing_error;
	r->call = c;
	return c;
}

enum err acl_parse_get(struct request *r, const struct acl_facts *facts)
{
	struct acl_call *c = call_new(r, facts);
	if (!c)
		return ERR_NO_MEMORY;
	enum err e = resource_find(r->server->store, r->account, facts->kind, r->container, r->arena, &c->resource);
	return e == ERR_NOT_FOUND ? facts->missing_error : e;
}

enum err acl_parse_set(struct request *r, const struct acl_facts *facts)
{
	struct acl_call *c = call_new(r, facts);
	struct slice account = resource_account_partition(r->arena, r->account);
	if (!c || !slice_is_set(account))
		return ERR_NO_MEMORY;
	request_step_write(r, account, resource_apply_set_policies);
	return ERR_OK;
}

enum err acl_parse_set_body(struct request *r)
{
	struct acl_call *c = r->call;
	return acl_parse(r, c->facts->letters, c->set.policy, &c->set.count);
}

enum err acl_format_get(struct request *r)
{
	struct acl_call *c = r->call;
	r->response.status = 200;
	if (c->facts->no_cache)
		response_header(r, "Cache-Control", SLICE("no-cache"));
	acl_format(r, c->resource.policy, c->resource.policy_count);
	return ERR_OK;
}

enum err acl_format_set(struct request *r)
{
	r->response.status = 204;
	return ERR_OK;
}
