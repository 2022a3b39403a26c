/* SPDX-License-Identifier: Apache-2.0
 * Looks at the record of a container for who may do what. */
#include "rest/common/policy.h"

#include "rest/core/server.h"
#include "svc/account/resource.h"

static enum err find_resource(struct request *r, struct slice name, struct resource *ret)
{
	if (name.len == 0)
		return ERR_NOT_FOUND;
	return resource_find(r->server->store, r->account, service_facts(r->service)->resource_kind, name, r->arena,
			     ret);
}

enum err policy_find_in(struct request *r, struct slice container, struct slice id, struct auth_policy *ret)
{
	struct resource c;
	TRY(find_resource(r, container, &c));
	for (size_t i = 0; i < c.policy_count; i++) {
		const struct policy *p = &c.policy[i];
		if (slice_eq(p->id, id)) {
			*ret = (struct auth_policy){ p->id, p->start, p->expiry, p->permission };
			return ERR_OK;
		}
	}
	return ERR_NOT_FOUND;
}

enum err policy_find(struct request *r, struct slice id, struct auth_policy *ret)
{
	return policy_find_in(r, r->container, id, ret);
}

enum err policy_find_public_access(struct request *r, enum anon *ret)
{
	struct resource c;
	TRY(find_resource(r, r->container, &c));
	*ret = c.public_access == PUBLIC_CONTAINER ? ANON_CONTAINER
	       : c.public_access == PUBLIC_BLOB	   ? ANON_BLOB
						   : ANON_NEVER;
	return ERR_OK;
}
