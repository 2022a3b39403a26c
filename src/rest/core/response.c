/* SPDX-License-Identifier: Apache-2.0
 * Heads of answers, and the shorthands handlers use for headers and faults. Built by copying prepared pieces: no printf
 * on the way of an ordinary answer. */
#include <assert.h>

#include "base/digits.h"
#include "base/wide.h"
#include "rest/core/conn/exchange_int.h"
#include "wire/date.h"
#include "wire/pen.h"

enum { HEAD_BYTES = 512 }; /* of an answer, without what handlers and clients say */

void response_header_put(struct request *r, struct slice name, struct slice value)
{
	struct buf *b = &r->response.headers;
	char *p = buf_reserve(b, name.len + value.len + 4);
	assert(slice_is_set(name));
	if (!p)
		return;
	memcpy(p, name.ptr, name.len);
	p += name.len;
	*p++ = ':';
	*p++ = ' ';
	if (value.len)
		memcpy(p, value.ptr, value.len);
	/* A stored value can never end the header: what came in by a header had no control bytes, what came in by XML
	 * or a SAS may have. */
	for (size_t i = 0; (i += wide_find(slice_make(p + i, value.len - i), wide_is_control)) < value.len; i++)
		p[i] = ' ';
	p += value.len;
	*p++ = '\r';
	*p = '\n';
	b->len += name.len + value.len + 4;
}

void response_header_or(struct request *r, const char *name, struct slice override, struct slice own)
{
	struct slice value = slice_is_set(override) ? override : own;
	if (slice_is_set(value))
		response_header(r, name, value);
}

void response_header_u64(struct request *r, const char *name, uint64_t value)
{
	char text[DIGITS_U64_MAX];
	response_header(r, name, slice_make(text, (size_t)(digits_put_u64(text, value) - text)));
}

void response_header_time(struct request *r, const char *name, uint64_t ticks)
{
	char text[DATE_RFC1123_BYTES];
	date_format_rfc1123(ticks, text);
	response_header(r, name, slice_make(text, sizeof text));
}

void fault_add(struct request *r, const char *element, struct slice value)
{
	struct fault *f = &r->fault;
	if (f->count < FAULT_DETAILS_MAX)
		f->detail[f->count++] = (struct fault_detail){ element, slice_is_set(value) ? value : SLICE("") };
}

void fault_add_header(struct request *r, const char *name, struct slice value)
{
	assert(r->fault.header_count < FAULT_HEADERS_MAX);
	r->fault.header[r->fault.header_count++] = (struct fault_detail){ name, value };
}

enum err fault_header(struct request *r, enum err e, const char *header_name, struct slice value)
{
	r->fault.count = 0;
	fault_add(r, "HeaderName", slice_str(header_name));
	if (slice_is_set(value))
		fault_add(r, "HeaderValue", value);
	return e;
}

enum err fault_query(struct request *r, enum err e, const char *parameter, struct slice value, const char *reason)
{
	r->fault.count = 0;
	fault_add(r, "QueryParameterName", slice_str(parameter));
	if (slice_is_set(value))
		fault_add(r, "QueryParameterValue", value);
	if (reason)
		fault_add(r, "Reason", slice_str(reason));
	return e;
}

struct slice response_body(const struct response *p)
{
	return slice_is_set(p->body_slice) ? p->body_slice : buf_slice(&p->body);
}

uint64_t response_body_bytes(const struct response *p)
{
	return p->set_length ? p->content_length : response_body(p).len;
}

/* In memory it is framed at once; spans are framed as they go out (conn_answer.c). */
enum err response_structure(struct exchange *ex)
{
	struct request *r = &ex->req;
	struct response *p = &r->response;
	struct slice body = response_body(p);
	response_header(r, "x-ms-structured-body", SLICE(STRUCTURED_HEADER_VALUE));
	response_header_u64(r, "x-ms-structured-content-length", response_body_bytes(p));
	if (p->spans) {
		ex->encoder = ARENA_NEW(r->arena, struct structured_encoder);
		if (!ex->encoder)
			return ERR_NO_MEMORY;
		structured_encoder_init(ex->encoder, p->content_length);
		return ERR_OK;
	}
	assert(slice_is_set(p->body_slice) || p->body.len == 0);
	if (!slice_is_set(p->body_slice))
		body = SLICE("");
	structured_encode(&p->body, body);
	p->body_slice = SLICE_NONE;
	p->set_length = false;
	return ERR_OK;
}

void response_reset(struct response *p)
{
	struct buf headers = p->headers, body = p->body;
	uint64_t pin = p->pin;
	*p = (struct response){ .headers = headers, .body = body, .pin = pin };
	buf_clear(&p->headers);
	buf_clear(&p->body);
}

static void put_status_line(struct pen *p, int status)
{
	PEN(p, "HTTP/1.1 ");
	pen_u64(p, (uint64_t)status);
	PEN(p, " ");
	pen_word(p, http_reason(status));
	PEN(p, "\r\n");
}

static void put_length(struct pen *p, const struct exchange *ex)
{
	const struct response *answer = &ex->req.response;
	/* A 204 has one, as the service sends it: without it older clients open a connection per request. Parts of a
	 * batch have none. */
	if (answer->status == 304 || (answer->status == 204 && ex->req.parent))
		return;
	if (ex->req.head->method == HTTP_HEAD && !answer->set_length && ex->error != ERR_OK)
		return; /* a HEAD's error has no length to speak of */
	PEN(p, "Content-Length: ");
	uint64_t length = response_body_bytes(answer);
	pen_u64(p, ex->encoder ? structured_framed_bytes(length) : length);
	PEN(p, "\r\n");
}

static void put_date(struct pen *p, struct rest_loop *rl, uint64_t ticks)
{
	uint64_t second = ticks / TICKS_PER_SECOND;
	if (second != rl->date_second) {
		date_format_rfc1123(ticks, rl->date);
		rl->date_second = second;
	}
	PEN(p, "Date: ");
	pen_bytes(p, rl->date, DATE_RFC1123_BYTES);
	PEN(p, "\r\n");
}

void response_finish_head(struct exchange *ex)
{
	struct request *r = &ex->req;
	struct response *answer = &r->response;
	struct slice headers = buf_slice(&answer->headers);
	struct pen p = pen_of(&ex->out);
	assert(answer->status >= 200);
	ex->skip_body = r->head->method == HTTP_HEAD || answer->status == 204 || answer->status == 304;
	buf_clear(&ex->out);
	if (!pen_take(&p, HEAD_BYTES + headers.len + r->client_request_id.len + r->version_text.len))
		return;
	put_status_line(&p, answer->status);
	put_length(&p, ex);
	pen_slice(&p, headers);
	PEN(&p, "Server: ");
	pen_word(&p, service_facts(r->service)->server);
	PEN(&p, "\r\nx-ms-request-id: ");
	uuid_format(&r->request_id, p.at);
	p.at += UUID_TEXT_BYTES;
	if (slice_is_set(r->client_request_id) && r->version >= VERSION(2019, 2, 2)) {
		PEN(&p, "\r\nx-ms-client-request-id: ");
		pen_slice(&p, r->client_request_id);
	}
	if (slice_is_set(r->version_text)) {
		PEN(&p, "\r\nx-ms-version: ");
		pen_slice(&p, r->version_text);
	}
	PEN(&p, "\r\n");
	put_date(&p, ex->rl, r->arrival_ticks);
	if (ex->close_after)
		PEN(&p, "Connection: close\r\n");
	else if (r->head->minor_version == 0)
		PEN(&p, "Connection: keep-alive\r\n");
	PEN(&p, "\r\n");
	pen_leave(&p);
}
