/* SPDX-License-Identifier: Apache-2.0
 * The newest requests, for the Live view. They are of all accounts, so a session of one account does not see them. */
#include "rest/admin/explorer/api.h"
#include "rest/core/server.h"

struct requests_call {
	struct api_call api;
	uint64_t since;
};

enum err explorer_requests_parse(struct request *r, struct slice scope)
{
	struct requests_call *c = ARENA_NEW(r->arena, struct requests_call);
	struct slice since = request_param(r, "since");
	if (!c)
		return ERR_NO_MEMORY;
	r->call = c;
	if (!slice_eq(scope, SLICE("*"))) {
		r->fault.message = SLICE("Requests of all accounts are shown to who signed in with the admin token.");
		return ERR_AUTHORIZATION_FAILURE;
	}
	if (slice_is_set(since) && !slice_to_u64(since, &c->since))
		return fault_query(r, ERR_INVALID_QUERY_PARAMETER_VALUE, "since", since, "");
	return ERR_OK;
}

enum err explorer_requests_format(struct request *r)
{
	const struct requests_call *c = r->call;
	live_read(&r->server->live, c->since, &r->response.body);
	return ERR_OK;
}
