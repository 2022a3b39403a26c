/* SPDX-License-Identifier: Apache-2.0
 * For the Live view: the newest requests, which are of all accounts, so a session of one account does not see them; and
 * samples of the last quarter of an hour, which /metrics would tell anybody. */
#include "rest/admin/explorer/api.h"
#include "rest/core/server.h"

struct since_call {
	struct api_call api;
	uint64_t since;
};

static enum err since_parse(struct request *r)
{
	struct since_call *c = ARENA_NEW(r->arena, struct since_call);
	struct slice since = request_param(r, "since");
	if (!c)
		return ERR_NO_MEMORY;
	r->call = c;
	if (slice_is_set(since) && !slice_to_u64(since, &c->since))
		return fault_query(r, ERR_INVALID_QUERY_PARAMETER_VALUE, "since", since, "");
	return ERR_OK;
}

enum err explorer_history_parse(struct request *r, struct slice scope)
{
	return since_parse(r);
}

enum err explorer_history_format(struct request *r)
{
	const struct since_call *c = r->call;
	samples_read(&r->server->samples, c->since, &r->response.body);
	return ERR_OK;
}

enum err explorer_requests_parse(struct request *r, struct slice scope)
{
	if (!slice_eq(scope, SLICE("*"))) {
		r->fault.message = SLICE("Requests of all accounts are shown to who signed in with the admin token.");
		return ERR_AUTHORIZATION_FAILURE;
	}
	return since_parse(r);
}

enum err explorer_requests_format(struct request *r)
{
	const struct since_call *c = r->call;
	live_read(&r->server->live, c->since, &r->response.body);
	return ERR_OK;
}
