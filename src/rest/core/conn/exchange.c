/* SPDX-License-Identifier: Apache-2.0
 * Exchanges and buffers are recycled per loop, newest first, so that a busy loop works in the same warm memory for
 * every connection. What grew large is given back. */
#include "rest/core/conn/exchange_int.h"
#include "rest/core/op.h"

#include <assert.h>

enum {
	FREE_EXCHANGES_MAX = 64,
	FREE_BUFFERS_MAX = 16,
	KEEP_BUF_BYTES = 64 * 1024, /* a buffer that grew beyond is not kept for the next request */
};

void exchange_enter(struct exchange *ex, enum request_state to)
{
	static const unsigned allowed[] = {
		[REQUEST_NONE] = STATE_BIT(REQUEST_PREPARE),
		[REQUEST_PREPARE] = STATE_BIT(REQUEST_BODY) | STATE_BIT(REQUEST_STEPS) | STATE_BIT(REQUEST_DONE),
		/* A connection that ends in the middle of a body takes the request with it. */
		[REQUEST_BODY] = STATE_BIT(REQUEST_STEPS) | STATE_BIT(REQUEST_PARKED) | STATE_BIT(REQUEST_DONE) |
				 STATE_BIT(REQUEST_NONE),
		[REQUEST_STEPS] = STATE_BIT(REQUEST_PARKED) | STATE_BIT(REQUEST_DONE),
		[REQUEST_PARKED] = STATE_BIT(REQUEST_STEPS) | STATE_BIT(REQUEST_DONE),
		[REQUEST_DONE] = STATE_BIT(REQUEST_NONE),
	};
	MAGIC_CHECK(ex, EXCHANGE_MAGIC);
	STATE_CHECK(allowed, ex->state, to);
	ex->state = to;
}

void exchange_describe(struct panic_out *o, const void *exchange)
{
	static const char *const states[] = { "none", "prepare", "body", "steps", "parked", "done" };
	const struct exchange *ex = exchange;
	char id[UUID_TEXT_BYTES + 1] = "";
	uuid_format(&ex->req.request_id, id);
	panic_put_text(o, "request ");
	panic_put_text(o, id);
	panic_put_text(o, " of ");
	panic_put_text(o, ex->req.service < SERVICE_COUNT ? service_facts(ex->req.service)->title : "?");
	panic_put_text(o, ", operation ");
	panic_put_text(o, ex->req.op ? ex->req.op->name : "-");
	panic_put_text(o, ", state ");
	panic_put_text(o, ex->state <= REQUEST_DONE ? states[ex->state] : "?");
	panic_put_text(o, ", step ");
	panic_put_u64(o, ex->req.step_next);
	panic_put_text(o, " of ");
	panic_put_u64(o, ex->req.step_count);
	panic_put_text(o, ex->conn ? "" : ", its connection is gone");
}

struct exchange *exchange_get(struct rest_loop *rl)
{
	struct exchange *ex = rl->free_exchanges;
	if (ex) {
		rl->free_exchanges = ex->next_free;
		rl->free_exchange_count--;
	} else {
		ex = calloc(1, sizeof *ex);
		if (!ex)
			return NULL;
		arena_init(&ex->arena, LIMIT_REQUEST_ARENA_BYTES);
		buf_init(&ex->in, 2 * LIMIT_HEAD_BYTES);
		buf_init(&ex->out, LIMIT_HEAD_BYTES * 2);
		buf_init(&ex->raw, LIMIT_HEAD_BYTES);
		buf_init(&ex->req.response.headers, LIMIT_HEAD_BYTES);
		buf_init(&ex->req.response.body, LIMIT_REQUEST_ARENA_BYTES);
		buf_init(&ex->sink.memory, LIMIT_SMALL_BODY_BYTES);
		ex->rl = rl;
		ex->magic = EXCHANGE_MAGIC;
	}
	assert(ex->state == REQUEST_NONE && ex->pending == 0);
	rl->live_exchanges++;
	return ex;
}

static void buf_recycle(struct buf *b)
{
	if (b->cap > KEEP_BUF_BYTES) {
		size_t limit = b->limit_bytes;
		buf_fini(b);
		buf_init(b, limit);
	} else {
		buf_clear(b);
	}
}

/* Was the payload made part of something? If a commit might have, it must stay. */
static void payload_end(struct exchange *ex)
{
	struct request *r = &ex->req;
	if (!ex->sink.finished)
		return;
	if (!ex->write_done && !ex->write_uncertain)
		payload_abandon(r->server->store, &r->payload);
	payload_fini(&r->payload);
	ex->sink.finished = false;
}

void request_own_payload(struct request *r)
{
	struct exchange *ex = exchange_of(r);
	ex->sink.finished = true;
	/* What was written before did not name it. */
	ex->write_done = ex->write_uncertain = false;
}

/* Keys that came with the request, wherever they went: the lines of the head, and what was made of them. */
static void wipe_secrets(struct exchange *ex)
{
	const struct http_head *head = ex->req.head;
	for (size_t i = 0; head && i < head->header_count; i++) {
		const struct http_header *h = &head->headers[i];
		if (slice_eq_nocase(h->name, SLICE("x-ms-encryption-key")) ||
		    slice_eq_nocase(h->name, SLICE("x-ms-source-encryption-key")))
			explicit_bzero((char *)(uintptr_t)h->value.ptr, h->value.len);
	}
	arena_wipe(&ex->arena);
}

static void exchange_end(struct exchange *ex)
{
	struct request *r = &ex->req;
	assert(ex->pending == 0);
	exchange_enter(ex, REQUEST_NONE);
	while (ex->children) {
		struct exchange *child = ex->children;
		ex->children = child->next_child;
		exchange_put(child);
	}
	payload_end(ex);
	body_drop(ex);
	if (r->held)
		r->release_held(r->held);
	r->held = NULL;
	if (r->response.pin)
		extent_unpin(r->server->store, r->response.pin);
	if (ex->piece)
		buffer_put(ex->rl, ex->piece);
	ex->piece = NULL;
	ex->encoder = NULL;
	r->response.pin = 0;
	if (r->has_secret)
		wipe_secrets(ex);
	r->has_secret = false;
	response_reset(&r->response);
	buf_recycle(&r->response.headers);
	buf_recycle(&r->response.body);
	buf_recycle(&ex->out);
	arena_reset(&ex->arena);
	access_drop(ex);
	memory_release(ex);
}

void exchange_reset(struct exchange *ex)
{
	exchange_end(ex);
	ex->next_child = NULL;
	ex->error = ERR_OK;
	ex->write_done = ex->write_uncertain = false;
	ex->formatted = ex->long_work = ex->peer_ended = false;
	atomic_store_explicit(&ex->abandoned, false, memory_order_relaxed);
	ex->close_after = ex->skip_body = ex->continued = ex->broken_framing = false;
	ex->answer_delay_ms = 0;
	ex->audited = false;
	ex->tls_version = NULL;
	ex->inject_reset = ex->inject_truncate = false;
	ex->scanned_bytes = 0;
	ex->bytes_in = ex->bytes_out = 0;
}

void request_init(struct exchange *ex)
{
	struct request *r = &ex->req;
	struct buf headers = r->response.headers, body = r->response.body;
	memset(r, 0, sizeof *r);
	r->response.headers = headers;
	r->response.body = body;
	ex->child_allowed = NULL;
	ex->child_refused = ERR_OK;
}

static void exchange_free(struct exchange *ex)
{
	arena_fini(&ex->arena);
	buf_fini(&ex->in);
	buf_fini(&ex->out);
	buf_fini(&ex->raw);
	buf_fini(&ex->req.response.headers);
	buf_fini(&ex->req.response.body);
	body_free(ex);
	ex->magic = 0;
	free(ex);
}

void exchange_put(struct exchange *ex)
{
	struct rest_loop *rl = ex->rl;
	exchange_reset(ex);
	buf_recycle(&ex->in);
	buf_recycle(&ex->raw);
	ex->conn = NULL;
	rl->live_exchanges--;
	if (rl->free_exchange_count < FREE_EXCHANGES_MAX) {
		ex->next_free = rl->free_exchanges;
		rl->free_exchanges = ex;
		rl->free_exchange_count++;
	} else {
		exchange_free(ex);
	}
	if (rl->draining)
		rest_loop_check_drained(rl);
}

char *buffer_get(struct rest_loop *rl)
{
	char *b = (char *)rl->free_buffers;
	if (b) {
		rl->free_buffers = rl->free_buffers->next;
		rl->free_buffer_count--;
	} else {
		b = malloc(BODY_BUFFER_BYTES);
	}
	if (b)
		rl->live_buffers++;
	return b;
}

void buffer_put(struct rest_loop *rl, char *b)
{
	rl->live_buffers--;
	if (rl->free_buffer_count >= FREE_BUFFERS_MAX) {
		free(b);
		return;
	}
	struct free_buffer *f = (struct free_buffer *)(void *)b;
	f->next = rl->free_buffers;
	rl->free_buffers = f;
	rl->free_buffer_count++;
}

void exchange_pool_fini(struct rest_loop *rl)
{
	while (rl->free_exchanges) {
		struct exchange *ex = rl->free_exchanges;
		rl->free_exchanges = ex->next_free;
		exchange_free(ex);
	}
	while (rl->free_buffers) {
		struct free_buffer *f = rl->free_buffers;
		rl->free_buffers = f->next;
		free(f);
	}
}
