/* SPDX-License-Identifier: Apache-2.0
 * The account's rules of versions and soft delete, as blob operations take them. */
#include "rest/blob/rules.h"

#include "rest/common/service_properties.h"
#include "rest/core/server.h"

enum err blob_rules_load(struct request *r, struct blob_rules *ret)
{
	struct service_properties p;
	*ret = (struct blob_rules){ .versioning = r->server->config.versioning };
	TRY(service_properties_load(r, &p));
	ret->soft_delete = p.delete_retention.enabled;
	ret->retention_days = p.delete_retention.days;
	return ERR_OK;
}

enum err blob_permanent_delete_allowed(struct request *r, bool *ret)
{
	struct service_properties p;
	TRY(service_properties_load(r, &p));
	*ret = p.delete_retention.allow_permanent_delete;
	return ERR_OK;
}
