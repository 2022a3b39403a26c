/* SPDX-License-Identifier: Apache-2.0
 * What the admin listener answers:
 *   /metrics    counters for Prometheus (rest/core/metrics.def)
 *   /healthz    200 while the process answers
 *   /readyz     200 while it takes requests, 503 while it ends or its disk is nearly full
 *   /stats      what goes on, as JSON (stats.c), for people and scripts
 *   /conflicts  the newest 409 and 412 answers: who lost which race
 *   /leases     who holds which lease until when (leases.c)
 *   /scrub      how far the scrub of this server is, or how the last one ended
 *   /test       development mode: the state of the test kit (kit.c, which has the commands)
 * Nothing of these changes anything, and none shows a key, a signature or the data of an account.
 *
 * Other paths are commands (src/server/admin): only through the unix socket, whose permissions say who may. Those of
 * the test kit, which is there in development mode only, come through any admin listener. */
#include "base/limits.h"
#include "rest/admin/admin.h"
#include "rest/core/metrics.h"
#include "rest/core/request.h"
#include "rest/core/server.h"

struct endpoint {
	const char *path;
	const char *content_type;
	int (*put)(const struct request *, struct buf *out);	   /* the status; NULL: put_slowly */
	enum err (*put_slowly)(struct request *, struct buf *out); /* on a worker */
};

static int put_metrics(const struct request *r, struct buf *out)
{
	metrics_put_text(r->server, r->access, out);
	return 200;
}

static int put_health(const struct request *r, struct buf *out)
{
	BUF_PUT(out, "ok\n");
	return 200;
}

static int put_ready(const struct request *r, struct buf *out)
{
	struct store_stats store;
	if (rest_server_is_ending(r->server)) {
		BUF_PUT(out, "ending\n");
		return 503;
	}
	store_stats(r->server->store, &store);
	if (store.engine.disk_is_short) {
		BUF_PUT(out, "the disk is nearly full\n");
		return 503;
	}
	BUF_PUT(out, "ready\n");
	return 200;
}

static int put_conflicts(const struct request *r, struct buf *out)
{
	metrics_put_conflicts(r->server, out);
	return 200;
}

static int put_scrub(const struct request *r, struct buf *out)
{
	static const struct query none;
	const struct rest_config *c = &r->server->config;
	return c->command ? c->command(c->command_arg, SLICE("/scrub/progress"), &none, out) : 404;
}

static int put_kit(const struct request *r, struct buf *out)
{
	return kit_put(r->server, out);
}

static const struct endpoint endpoints[] = {
	{ "/metrics", "text/plain; version=0.0.4; charset=utf-8", put_metrics, NULL },
	{ "/healthz", "text/plain", put_health, NULL },
	{ "/readyz", "text/plain", put_ready, NULL },
	{ "/stats", "application/json", stats_put, NULL },
	{ "/conflicts", "application/json", put_conflicts, NULL },
	{ "/scrub", "application/json", put_scrub, NULL },
	{ "/test", "application/json", put_kit, NULL },
	{ "/leases", "application/json", NULL, leases_put },
};

struct command_call {
	struct query query;
	int status;
};

static enum err run_command(struct request *r)
{
	struct command_call *c = r->call;
	const struct rest_config *config = &r->server->config;
	c->status = config->command(config->command_arg, r->object, &c->query, &r->response.body);
	return ERR_OK;
}

static bool admin_is_same_site(const struct request *r)
{
	struct slice origin = request_header(r, "origin");
	return !slice_is_set(origin) ||
	       (slice_has_prefix(origin, SLICE("http://")) && slice_eq(slice_from(origin, 7), r->head->host));
}

static enum err parse_command(struct request *r)
{
	if (kit_is_path(r->object))
		return admin_is_same_site(r) ? kit_parse(r) : ERR_AUTHORIZATION_FAILURE;
	struct command_call *c = ARENA_NEW(r->arena, struct command_call);
	if (!r->local)
		return ERR_AUTHORIZATION_FAILURE;
	if (!r->server->config.command)
		return ERR_RESOURCE_NOT_FOUND;
	if (!c)
		return ERR_NO_MEMORY;
	if (slice_is_set(r->head->query) && uri_parse_query(r->head->query, r->arena, &c->query) != ERR_OK)
		return ERR_INVALID_URI;
	r->call = c;
	request_step_work(r, run_command);
	return ERR_OK;
}

static enum err format_command(struct request *r)
{
	struct command_call *c = r->call;
	if (kit_is_path(r->object)) {
		r->response.status = kit_put(r->server, &r->response.body);
		response_header(r, "Content-Type", SLICE("application/json"));
		return ERR_OK;
	}
	r->response.status = c->status;
	response_header(r, "Content-Type", SLICE("text/plain; charset=utf-8"));
	response_header(r, "Cache-Control", SLICE("no-store"));
	return ERR_OK;
}

const struct handler handler_admin_command = { .parse = parse_command, .format = format_command };

static enum err read_slowly(struct request *r)
{
	const struct endpoint *e = r->call;
	return e->put_slowly(r, &r->response.body);
}

static enum err parse_get(struct request *r)
{
	for (size_t i = 0; i < sizeof endpoints / sizeof *endpoints; i++)
		if (slice_eq(r->object, slice_str(endpoints[i].path))) {
			r->call = (void *)&endpoints[i];
			if (endpoints[i].put_slowly)
				request_step_work(r, read_slowly);
			return ERR_OK;
		}
	return ERR_RESOURCE_NOT_FOUND;
}

static enum err format_get(struct request *r)
{
	const struct endpoint *e = r->call;
	struct buf *body = &r->response.body;
	r->response.status = e->put ? e->put(r, body) : 200;
	if (!buf_ok(body))
		return ERR_NO_MEMORY;
	response_header(r, "Content-Type", slice_str(e->content_type));
	response_header(r, "Cache-Control", SLICE("no-store"));
	return ERR_OK;
}

const struct handler handler_admin_get = { .parse = parse_get, .format = format_get };
