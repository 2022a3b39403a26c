/* SPDX-License-Identifier: Apache-2.0
 * Blob Batch: up to 256 deletes or tier changes in one request, each a request of its own: authorised by itself,
 * answered by itself, in no order and not atomic together. */
#include "rest/blob/common.h"
#include "rest/blob/ops.h"
#include "rest/core/conn/driver.h"
#include "rest/core/service.h"
#include "wire/http/multipart.h"

struct batch_call {
	struct slice boundary;
	struct multipart parts;
	struct request **part;
	enum err refused; /* none was run */
};

static bool is_allowed(const struct op *op)
{
	return op->id == OP_BLOB_DELETE || op->id == OP_BLOB_SET_TIER;
}

static bool is_never_allowed(const struct op *op)
{
	return false;
}

static enum err run_parts(struct request *r)
{
	struct batch_call *c = r->call;
	for (size_t i = 0; i < c->parts.count; i++) {
		const struct multipart_request *q = &c->parts.requests[i];
		struct child_part part = { .method = q->method,
					   .target = q->url,
					   .headers = q->headers,
					   .header_count = q->header_count,
					   .body = q->body,
					   .account_implied = true,
					   .allowed = c->refused ? is_never_allowed : is_allowed,
					   .refused = c->refused };
		c->part[i] = request_run_child(r, &part);
		if (!c->part[i])
			return ERR_NO_MEMORY;
	}
	return ERR_OK;
}

static enum err parse(struct request *r)
{
	struct batch_call *c = ARENA_NEW(r->arena, struct batch_call);
	if (!c)
		return ERR_NO_MEMORY;
	r->call = c;
	if (r->container.len) {
		struct resource container;
		struct slice partition;
		TRY(rest_blob_find_container(r, &container, &partition));
	}
	struct slice type = request_header(r, "Content-Type");
	if (multipart_boundary(type, &c->boundary) != ERR_OK)
		return fault_header(r, ERR_INVALID_HEADER_VALUE, "Content-Type", type);
	r->body_limit_bytes = 4 * MIB;
	return ERR_OK;
}

/* A batch of a container reaches only that container. */
static bool in_container(const struct request *r, struct slice url)
{
	struct slice path = slice_first(url, slice_find_byte(url, '?'));
	size_t scheme = 0;
	while (scheme + 3 <= path.len && memcmp(path.ptr + scheme, "://", 3) != 0)
		scheme++;
	if (scheme + 3 <= path.len) {
		path = slice_from(path, scheme + 3);
		path = slice_from(path, slice_find_byte(path, '/'));
	}
	path = slice_from(path, 1);
	struct slice behind = path, first = slice_cut(&behind, '/');
	bool unused;
	if (r->path_style && address_account(r, first, &unused))
		path = behind;
	return slice_is_set(path) && slice_eq(slice_cut(&path, '/'), r->container);
}

/* A batch that is not run as a whole is answered by one part that says why: it stands for the batch itself. */
static enum err stand_in_for_all(struct request *r, struct batch_call *c)
{
	struct multipart_request *one = ARENA_NEW(r->arena, struct multipart_request);
	if (!one)
		return ERR_NO_MEMORY;
	*one = (struct multipart_request){ .method = r->head->method_text, .url = r->head->target };
	c->parts = (struct multipart){ .requests = one, .count = 1 };
	return ERR_OK;
}

static enum err parse_body(struct request *r)
{
	struct batch_call *c = r->call;
	enum err e = multipart_parse(r->body, c->boundary, r->arena, &c->parts);
	if (e == ERR_SYNTAX || (e == ERR_OK && c->parts.count == 0))
		return ERR_INVALID_INPUT;
	if (e == ERR_LIMIT)
		c->refused = ERR_EXCEEDS_MAX_BATCH_REQUEST_COUNT;
	else
		TRY(e);
	for (size_t i = 0; r->container.len && i < c->parts.count && !c->refused; i++)
		if (!in_container(r, c->parts.requests[i].url))
			c->refused = ERR_INVALID_INPUT;
	if (c->refused)
		TRY(stand_in_for_all(r, c));
	c->part = ARENA_NEW_ARRAY(r->arena, struct request *, c->parts.count);
	if (!c->part)
		return ERR_NO_MEMORY;
	request_step_call(r, run_parts);
	return ERR_OK;
}

static enum err format(struct request *r)
{
	struct batch_call *c = r->call;
	struct buf *b = &r->response.body;
	char id[UUID_TEXT_BYTES];
	struct uuid boundary_id = rng_uuid(r->rng);
	uuid_format(&boundary_id, id);
	struct slice boundary = arena_printf(r->arena, "batchresponse_%.*s", UUID_TEXT_BYTES, id);
	struct slice type = arena_printf(r->arena, "multipart/mixed; boundary=%.*s", SLICE_FMT(boundary));
	if (!slice_is_set(boundary) || !slice_is_set(type))
		return ERR_NO_MEMORY;
	r->response.status = 202;
	response_header(r, "Content-Type", type);
	for (size_t i = 0; i < c->parts.count; i++) {
		struct slice content_id = c->parts.requests[i].content_id;
		struct slice headers =
			slice_is_set(content_id)
				? arena_printf(r->arena, "Content-Type: application/http\r\nContent-ID: %.*s\r\n",
					       SLICE_FMT(content_id))
				: SLICE("Content-Type: application/http\r\n");
		multipart_put_part(b, boundary, headers);
		request_child_answer(c->part[i], b);
		multipart_put_part_end(b);
	}
	multipart_put_close(b, boundary);
	return ERR_OK;
}

const struct handler handler_blob_batch = { .parse = parse, .parse_body = parse_body, .format = format };
