/* SPDX-License-Identifier: Apache-2.0
 * The service properties of a request's account and service. */
#ifndef REST_SERVICE_PROPERTIES_H
#define REST_SERVICE_PROPERTIES_H

#include "rest/core/request.h"
#include "rest/core/server.h"
#include "svc/account/service_properties.h"

/* Through the cache of hot records. Slices live in the arena. */
static inline enum err service_properties_load(struct request *r, struct service_properties *ret)
{
	return account_service_properties_find(r->server->store, r->account, service_facts(r->service)->letter,
					       r->arena, ret);
}

#endif
