/* SPDX-License-Identifier: Apache-2.0
 * The leases of one account (rest/admin/leases.h), for LEASES_BUDGET_MS at most; the answer says where to go on. */
#include "rest/admin/leases.h"
#include "rest/admin/explorer/api.h"
#include "rest/core/server.h"

enum { LEASES_BUDGET_MS = 300, LEASES_MOST = 200 };

struct leases_call {
	struct api_call api;
	struct slice account;
	struct lease_start start;
};

static enum err walk(struct request *r)
{
	const struct leases_call *c = r->call;
	struct buf *out = &r->response.body;
	struct lease_walk w;
	leases_walk_init(&w, r->server, out);
	w.found_max = LEASES_MOST;
	w.deadline_ns = base_monotonic_ns() + LEASES_BUDGET_MS * UINT64_C(1000000);
	BUF_PUT(out, "{");
	explorer_put_time(out, "now", w.now);
	BUF_PUT(out, ",\"leases\":[");
	enum err e = leases_walk(&w, c->account, &c->start);
	BUF_PUT(out, "]");
	if (w.stopped) {
		BUF_PUT(out, ",\"next\":{");
		explorer_put_text(out, "shares", w.in_shares ? SLICE("1") : SLICE(""));
		explorer_put_text(out, "container", buf_slice(&w.at_container));
		explorer_put_text(out, "name", buf_slice(&w.at_name));
		BUF_PUT(out, "}");
	}
	explorer_put_number(out, "walked", w.looked);
	BUF_PUT(out, "}\n");
	leases_walk_fini(&w);
	return e;
}

static struct slice param_or_empty(struct request *r, const char *name)
{
	struct slice value = request_param(r, name);
	return slice_is_set(value) ? value : SLICE("");
}

enum err explorer_leases_parse(struct request *r, struct slice scope)
{
	struct leases_call *c = ARENA_NEW(r->arena, struct leases_call);
	const struct auth_account *a;
	if (!c)
		return ERR_NO_MEMORY;
	r->call = c;
	TRY(explorer_api_account(r, scope, &a));
	c->account = a->name;
	c->start = (struct lease_start){ .shares = slice_eq(param_or_empty(r, "shares"), SLICE("1")),
					 .container = param_or_empty(r, "container"),
					 .name = param_or_empty(r, "name") };
	request_step_work(r, walk);
	return ERR_OK;
}

enum err explorer_leases_format(struct request *r)
{
	return ERR_OK;
}
