/* SPDX-License-Identifier: Apache-2.0
 * "Why was this refused": a request that somebody pasted is run as far as the question whether it may be made, by the
 * very code that answers requests, and no further: its handler is one that does nothing. The answer has the operation,
 * the error, and the string that the server signed. Differences to the real thing: it counts as plain HTTP from the
 * address of who asks. */
#include "rest/admin/explorer/api.h"
#include "rest/core/conn/driver.h"
#include "rest/core/op.h"
#include "rest/core/server.h"
#include "wire/json.h"

enum { WHY_HEADERS_MAX = 100, WHY_DEPTH = 4 };

struct why_call {
	struct api_call api;
	struct slice method, target;
	enum service service;
	struct http_header headers[WHY_HEADERS_MAX];
	size_t header_count;
	struct request *child;
	bool allowed;
};

/* The handler of the pasted request: that it is reached is the answer. */
static enum err probe_parse(struct request *r)
{
	((struct why_call *)r->parent->call)->allowed = true;
	return ERR_OK;
}

static enum err probe_format(struct request *r)
{
	r->response.status = 200;
	return ERR_OK;
}

static const struct handler probe = { .parse = probe_parse, .format = probe_format };

static enum err run_probe(struct request *r)
{
	struct why_call *c = r->call;
	struct child_part part = {
		.method = c->method,
		.target = c->target,
		.headers = c->headers,
		.header_count = c->header_count,
		.handler = &probe,
		.other_service = true,
		.service = c->service,
	};
	c->child = request_run_child(r, &part);
	return c->child ? ERR_OK : ERR_NO_MEMORY;
}

enum err explorer_why_parse(struct request *r, struct slice scope)
{
	struct why_call *c = ARENA_NEW(r->arena, struct why_call);
	if (!c)
		return ERR_NO_MEMORY;
	r->call = c;
	/* The string to sign is of any account: only for who sees all of them. */
	return slice_eq(scope, SLICE("*")) ? ERR_OK : ERR_AUTHORIZATION_FAILURE;
}

static bool text_is_plain(struct slice s)
{
	for (size_t i = 0; i < s.len; i++)
		if ((unsigned char)s.ptr[i] < 0x20 || s.ptr[i] == 0x7f)
			return false;
	return s.len > 0;
}

static enum err take_headers(struct request *r, const struct json_node *list)
{
	struct why_call *c = r->call;
	for (const struct json_node *n = list ? list->child : NULL; n; n = n->next) {
		if (n->kind != JSON_STRING || !text_is_plain(n->name) || (n->text.len && !text_is_plain(n->text)) ||
		    c->header_count == WHY_HEADERS_MAX)
			return ERR_INVALID_INPUT;
		c->headers[c->header_count++] = (struct http_header){ n->name, slice_trim(n->text) };
	}
	return ERR_OK;
}

/* {"method":"GET","target":"/account/container?...","service":"blob","headers":{"x-ms-date":"..."}} */
enum err explorer_why_body(struct request *r)
{
	struct why_call *c = r->call;
	struct json_node *root;
	if (json_parse(r->body, r->arena, WHY_DEPTH, &root) != ERR_OK)
		return ERR_INVALID_INPUT;
	struct slice service = json_member_string(root, "service");
	c->method = json_member_string(root, "method");
	c->target = json_member_string(root, "target");
	bool known = false;
	for (enum service s = 0; s < SERVICE_WEB && slice_is_set(service); s++)
		if (slice_eq(service, slice_from(service_facts(s)->sas_prefix, 1))) {
			c->service = s;
			known = true;
		}
	if (!known || !text_is_plain(c->method) || !text_is_plain(c->target) || c->target.ptr[0] != '/')
		return ERR_INVALID_INPUT;
	TRY(take_headers(r, json_member(root, "headers")));
	request_step_call(r, run_probe);
	return ERR_OK;
}

enum err explorer_why_format(struct request *r)
{
	const struct why_call *c = r->call;
	const struct request *child = c->child;
	struct buf *b = &r->response.body;
	buf_printf(b, "{\"allowed\":%s", c->allowed ? "true" : "false");
	explorer_put_text(b, "operation", child->op ? slice_str(child->op->title) : SLICE(""));
	explorer_put_text(b, "account", child->account);
	enum err e = request_child_error(child);
	if (!c->allowed && e != ERR_OK) {
		const struct err_info *info = err_info(e);
		explorer_put_number(b, "status", (uint64_t)info->http_status);
		explorer_put_text(b, "code", slice_str(info->code));
		explorer_put_text(b, "message",
				  slice_is_set(child->fault.message) ? child->fault.message : slice_str(info->text));
		for (size_t i = 0; i < child->fault.count; i++)
			explorer_put_text(b, child->fault.detail[i].name, child->fault.detail[i].value);
		explorer_put_text(b, "hint", request_child_header(child, "x-zaffre-hint"));
	}
	if (slice_is_set(child->string_to_sign))
		explorer_put_text(b, "stringToSign", child->string_to_sign);
	BUF_PUT(b, "}\n");
	return ERR_OK;
}
