/* SPDX-License-Identifier: Apache-2.0
 * Parts of a batch: exchanges without a connection, owned by the exchange of the batch. */
#include <assert.h>

#include "rest/core/conn/driver.h"
#include "rest/core/conn/exchange_int.h"

static enum http_method method_of(struct slice text)
{
	static const struct {
		const char *text;
		enum http_method method;
	} methods[] = { { "GET", HTTP_GET },	 { "HEAD", HTTP_HEAD },	    { "PUT", HTTP_PUT },
			{ "POST", HTTP_POST },	 { "DELETE", HTTP_DELETE }, { "OPTIONS", HTTP_OPTIONS },
			{ "MERGE", HTTP_MERGE }, { "PATCH", HTTP_PATCH } };
	for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
		if (slice_eq(text, slice_str(methods[i].text)))
			return methods[i].method;
	return HTTP_OTHER;
}

/* Absolute-form targets lose their scheme and authority. */
static void split_target(struct http_head *h, struct slice target)
{
	h->target = target;
	h->path = target;
	if (target.len == 0 || target.ptr[0] != '/') {
		size_t i = 0;
		while (i + 2 < target.len && memcmp(target.ptr + i, "://", 3) != 0)
			i++;
		struct slice rest = slice_from(target, i + 3);
		struct slice authority = slice_first(rest, slice_find_byte(rest, '/'));
		h->path = slice_from(rest, authority.len);
		if (authority.len)
			h->host = slice_first(authority, slice_find_byte(authority, '?'));
	}
	struct slice query = h->path;
	h->path = slice_cut(&query, '?');
	h->query = query;
	if (h->path.len == 0)
		h->path = SLICE("/");
}

static void child_head(struct http_head *h, const struct http_head *parent, const struct child_part *part)
{
	h->method = method_of(part->method);
	h->method_text = part->method;
	h->host = parent->host;
	h->minor_version = 1;
	h->keep_alive = true;
	h->expect_continue = h->chunked = false;
	h->has_content_length = true;
	h->content_length = part->body.len;
	http_set_headers(h, part->headers, part->header_count);
	for (size_t i = 0; i < part->header_count; i++)
		if (slice_eq_nocase(part->headers[i].name, SLICE("host")))
			h->host = part->headers[i].value;
	split_target(h, part->target);
}

static void child_done(struct exchange *ex)
{
	accesslog_write(ex, false);
	stat_add(&ex->rl->requests, 1);
}

static void child_advanced(struct exchange *ex, enum driver_state state)
{
	struct exchange *parent = exchange_of(ex->req.parent);
	if (state == DRIVER_PARKED)
		return;
	child_done(ex);
	parent->pending--;
	if (--parent->req.children_pending == 0)
		parent->advanced(parent, driver_continue(parent));
}

struct request *request_run_child(struct request *parent, const struct child_part *part)
{
	struct exchange *owner = exchange_of(parent), *ex = exchange_get(owner->rl);
	if (!ex)
		return NULL;
	request_init(ex);
	ex->next_child = owner->children;
	owner->children = ex;
	ex->advanced = child_advanced;
	ex->child_allowed = part->allowed;
	ex->child_refused = part->refused;
	child_head(&ex->head, parent->head, part);
	ex->req.parent = parent;
	ex->req.trusted = part->trusted;
	ex->req.handler = part->handler;
	ex->req.account_implied = part->account_implied;
	ex->req.service = part->other_service ? part->service : parent->service;
	ex->req.secure = parent->secure;
	ex->req.client_ip = parent->client_ip;
	enum driver_state state = driver_begin(ex);
	if (state == DRIVER_BODY) {
		/* A part carries a document or nothing; data bodies are not batched by any service. */
		if (ex->req.op->body == BODY_MEMORY) {
			ex->req.body = slice_is_set(part->body) ? part->body : SLICE("");
			state = driver_body_end(ex, ERR_OK);
		} else {
			state = driver_fail(ex, ERR_INVALID_INPUT);
		}
	}
	if (state == DRIVER_PARKED) {
		owner->pending++;
		parent->children_pending++;
	} else {
		child_done(ex);
	}
	return &ex->req;
}

enum err request_child_error(const struct request *child)
{
	return ((const struct exchange *)child)->error;
}

void request_child_answer(struct request *child, struct buf *out)
{
	struct exchange *ex = exchange_of(child);
	assert(child->response.status != 0);
	response_finish_head(ex);
	buf_put(out, buf_slice(&ex->out));
	if (!ex->skip_body)
		buf_put(out, response_body(&child->response));
}

struct slice request_child_header(const struct request *child, const char *name)
{
	struct slice rest = buf_slice(&child->response.headers), wanted = slice_str(name);
	while (slice_is_set(rest) && rest.len) {
		struct slice value = slice_cut(&rest, '\n');
		if (value.len && value.ptr[value.len - 1] == '\r')
			value.len--;
		if (slice_eq_nocase(slice_cut(&value, ':'), wanted))
			return slice_is_set(value) ? slice_trim(value) : SLICE_NONE;
	}
	return SLICE_NONE;
}

struct slice request_child_bytes(const struct request *child)
{
	return response_body(&child->response);
}

uint64_t request_child_length(const struct request *child)
{
	const struct response *p = &child->response;
	return p->set_length ? p->content_length : response_body(p).len;
}

static enum err read_span(const struct request *child, const struct body_span *span, uint64_t at, char *dst, size_t n)
{
	if (slice_is_set(span->bytes))
		memcpy(dst, span->bytes.ptr + at, n);
	else if (span->cipher && span->extent.length_bytes)
		return extent_read_encrypted(child->server->store, span->cipher, &span->extent,
					     span->offset + (uint32_t)at, (uint32_t)n, dst);
	else if (span->extent.length_bytes)
		return extent_read(child->server->store, &span->extent, span->offset + (uint32_t)at, (uint32_t)n, dst);
	else
		memset(dst, 0, n);
	return ERR_OK;
}

enum err request_child_read(struct child_reader *c, char *dst, size_t room, size_t *ret_bytes)
{
	struct response *p = &c->child->response;
	struct body_span whole = { .bytes = response_body(p), .length = response_body(p).len };
	const struct body_span *spans = p->spans ? p->spans : &whole;
	size_t count = p->spans ? p->span_count : whole.length > 0, filled = 0;
	while (filled < room && (c->span < count || p->more_bytes)) {
		if (c->span == count) {
			TRY(p->more(c->child));
			spans = p->spans;
			count = p->span_count;
			c->span = 0;
		}
		const struct body_span *span = &spans[c->span];
		uint64_t left = span->length - c->at;
		size_t n = left < room - filled ? (size_t)left : room - filled;
		TRY(read_span(c->child, span, c->at, dst + filled, n));
		filled += n;
		c->at += n;
		if (c->at == span->length) {
			c->span++;
			c->at = 0;
		}
	}
	*ret_bytes = filled;
	return ERR_OK;
}
