/* SPDX-License-Identifier: Apache-2.0
 * Heads of answers, and the shorthands handlers use for headers and faults. Built by copying prepared pieces: no printf
 * on the way of an ordinary answer. */
#include <assert.h>

#include "rest/exchange_int.h"
#include "wire/date.h"

void response_header(struct request *r, const char *name, struct slice value)
{
	struct buf *b = &r->response.headers;
	struct slice n = slice_make(name, strlen(name));
	char *p = buf_reserve(b, n.len + value.len + 4);
	if (!p)
		return;
	memcpy(p, n.ptr, n.len);
	p += n.len;
	*p++ = ':';
	*p++ = ' ';
	/* A stored value can never end the header: what came in by a header had no control bytes, what came in by XML
	 * or a SAS may have. */
	for (size_t i = 0; i < value.len; i++) {
		unsigned char c = (unsigned char)value.ptr[i];
		*p++ = c < 0x20 || c == 0x7f ? ' ' : (char)c;
	}
	*p++ = '\r';
	*p++ = '\n';
	b->len += n.len + value.len + 4;
}

static size_t format_u64(uint64_t v, char dst[20])
{
	char tmp[20];
	size_t n = 0;
	do
		tmp[n++] = (char)('0' + v % 10);
	while (v /= 10);
	for (size_t i = 0; i < n; i++)
		dst[i] = tmp[n - 1 - i];
	return n;
}

void response_header_u64(struct request *r, const char *name, uint64_t value)
{
	char text[20];
	response_header(r, name, slice_make(text, format_u64(value, text)));
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

void response_reset(struct response *p)
{
	struct buf headers = p->headers, body = p->body;
	uint64_t pin = p->pin;
	*p = (struct response){ .headers = headers, .body = body, .pin = pin };
	buf_clear(&p->headers);
	buf_clear(&p->body);
}

static const char *server_name(enum service s)
{
	static const char *const names[] = {
		[SERVICE_BLOB] = "Windows-Azure-Blob/1.0 Microsoft-HTTPAPI/2.0",
		[SERVICE_QUEUE] = "Windows-Azure-Queue/1.0 Microsoft-HTTPAPI/2.0",
		[SERVICE_TABLE] = "Windows-Azure-Table/1.0 Microsoft-HTTPAPI/2.0",
		[SERVICE_FILE] = "Windows-Azure-File/1.0 Microsoft-HTTPAPI/2.0",
		[SERVICE_WEB] = "Windows-Azure-Web/1.0 Microsoft-HTTPAPI/2.0",
	};
	return names[s];
}

static void put_status_line(struct buf *b, int status)
{
	switch (status) { /* the common ones without formatting */
	case 200:
		BUF_PUT(b, "HTTP/1.1 200 OK\r\n");
		return;
	case 201:
		BUF_PUT(b, "HTTP/1.1 201 Created\r\n");
		return;
	case 206:
		BUF_PUT(b, "HTTP/1.1 206 Partial Content\r\n");
		return;
	default:
		buf_printf(b, "HTTP/1.1 %d %s\r\n", status, http_reason(status));
	}
}

static void put_length(struct buf *b, const struct exchange *ex)
{
	const struct response *p = &ex->req.response;
	char digits[20];
	if (p->status == 204 || p->status == 304)
		return;
	uint64_t length = p->set_length ? p->content_length : response_body(p).len;
	if (ex->req.head->method == HTTP_HEAD && !p->set_length && ex->error != ERR_OK)
		return; /* a HEAD's error has no length to speak of */
	BUF_PUT(b, "Content-Length: ");
	buf_put(b, slice_make(digits, format_u64(length, digits)));
	BUF_PUT(b, "\r\n");
}

static void put_date(struct buf *b, struct rest_loop *rl, uint64_t ticks)
{
	uint64_t second = ticks / TICKS_PER_SECOND;
	if (second != rl->date_second) {
		date_format_rfc1123(ticks, rl->date);
		rl->date_second = second;
	}
	BUF_PUT(b, "Date: ");
	buf_put(b, slice_make(rl->date, DATE_RFC1123_BYTES));
	BUF_PUT(b, "\r\n");
}

void response_finish_head(struct exchange *ex)
{
	struct request *r = &ex->req;
	struct response *p = &r->response;
	struct buf *b = &ex->out;
	char id[UUID_TEXT_BYTES];
	assert(p->status >= 200);
	ex->skip_body = r->head->method == HTTP_HEAD || p->status == 204 || p->status == 304;
	buf_clear(b);
	buf_reserve(b, 512 + p->headers.len);
	put_status_line(b, p->status);
	put_length(b, ex);
	buf_put(b, buf_slice(&p->headers));
	BUF_PUT(b, "Server: ");
	buf_put(b, slice_str(server_name(r->service)));
	uuid_format(&r->request_id, id);
	BUF_PUT(b, "\r\nx-ms-request-id: ");
	buf_put(b, slice_make(id, sizeof id));
	if (slice_is_set(r->client_request_id)) {
		BUF_PUT(b, "\r\nx-ms-client-request-id: ");
		buf_put(b, r->client_request_id);
	}
	if (slice_is_set(r->version_text)) {
		BUF_PUT(b, "\r\nx-ms-version: ");
		buf_put(b, r->version_text);
	}
	BUF_PUT(b, "\r\n");
	put_date(b, ex->rl, r->arrival_ticks);
	if (ex->close_after)
		BUF_PUT(b, "Connection: close\r\n");
	else if (r->head->minor_version == 0)
		BUF_PUT(b, "Connection: keep-alive\r\n");
	BUF_PUT(b, "\r\n");
}
