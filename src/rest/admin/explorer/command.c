/* SPDX-License-Identifier: Apache-2.0
 * Commands for the running server (src/server/admin) from the page: the same that its unix socket takes, for who sees
 * every account. In a read-only explorer those alone that only show. */
#include "rest/admin/explorer/api.h"
#include "rest/admin/explorer/explorer.h"
#include "rest/core/server.h"

struct run_call {
	struct api_call api;
	struct slice path;
	int status;
	struct buf text;
};

/* By their last word; what is new and not named here counts as a change. */
static bool only_shows(struct slice path)
{
	static const char *const words[] = { "/list", "/show", "/status", "/progress" };
	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		struct slice word = slice_str(words[i]);
		if (slice_is_set(path) && path.len >= word.len && slice_eq(slice_from(path, path.len - word.len), word))
			return true;
	}
	return false;
}

static void free_text(void *held)
{
	buf_fini(held);
}

static enum err run(struct request *r)
{
	struct run_call *c = r->call;
	const struct rest_config *config = &r->server->config;
	c->status = config->command(config->command_arg, c->path, &r->query, &c->text);
	return ERR_OK;
}

enum err explorer_command_parse(struct request *r, struct slice scope)
{
	struct run_call *c = ARENA_NEW(r->arena, struct run_call);
	if (!c)
		return ERR_NO_MEMORY;
	r->call = c;
	c->path = request_param(r, "run");
	if (!slice_eq(scope, SLICE("*")))
		return ERR_AUTHORIZATION_FAILURE;
	if (!slice_is_set(c->path) || !r->server->config.command)
		return ERR_RESOURCE_NOT_FOUND;
	if (explorer_is_read_only(r) && !only_shows(c->path)) {
		r->fault.message = SLICE("The explorer is read-only.");
		return ERR_AUTHORIZATION_FAILURE;
	}
	buf_init(&c->text, r->response.body.limit_bytes);
	r->held = &c->text;
	r->release_held = free_text;
	return ERR_OK;
}

enum err explorer_command_body(struct request *r)
{
	request_step_work(r, run);
	return ERR_OK;
}

enum err explorer_command_format(struct request *r)
{
	const struct run_call *c = r->call;
	struct buf *b = &r->response.body;
	buf_printf(b, "{\"status\":%d", c->status);
	explorer_put_text(b, "text", buf_slice(&c->text));
	BUF_PUT(b, "}\n");
	return ERR_OK;
}
