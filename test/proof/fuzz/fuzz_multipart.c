/* SPDX-License-Identifier: Apache-2.0
 * Batches: the first line is the Content-Type, the rest the body. The requests that were read are written as a batch of
 * their own and read again. */
#include "wire/http/multipart.h"

#include "fuzz.h"

/* A boundary that occurs nowhere in the document. */
static struct slice fresh_boundary(struct slice document, char dst[32])
{
	for (unsigned i = 0;; i++) {
		int n = snprintf(dst, 32, "fresh%u", i);
		if (document.len == 0 || !memmem(document.ptr, document.len, dst, (size_t)n))
			return slice_make(dst, (size_t)n);
	}
}

static void check_round_trip(const struct multipart *m, struct slice document, struct arena *arena)
{
	char text[32];
	struct slice boundary = fresh_boundary(document, text);
	struct buf b;
	buf_init(&b, 64 << 20);
	for (size_t i = 0; i < m->count; i++) {
		const struct multipart_request *r = &m->requests[i];
		multipart_put_part(&b, boundary, SLICE("Content-Type: application/http\r\n"));
		buf_put(&b, r->method);
		BUF_PUT(&b, " ");
		buf_put(&b, r->url);
		BUF_PUT(&b, " HTTP/1.1\r\n");
		for (size_t k = 0; k < r->header_count; k++) {
			buf_put(&b, r->headers[k].name);
			BUF_PUT(&b, ": ");
			buf_put(&b, r->headers[k].value);
			BUF_PUT(&b, "\r\n");
		}
		BUF_PUT(&b, "\r\n");
		buf_put(&b, r->body);
		multipart_put_part_end(&b);
	}
	multipart_put_close(&b, boundary);
	CHECK(buf_ok(&b));
	struct multipart again;
	if (b.len > LIMIT_BATCH_BYTES) {
		buf_fini(&b);
		return;
	}
	CHECK(multipart_parse(buf_slice(&b), boundary, arena, &again) == ERR_OK && again.count == m->count);
	for (size_t i = 0; i < m->count; i++) {
		const struct multipart_request *x = &m->requests[i], *y = &again.requests[i];
		CHECK(slice_eq(x->method, y->method) && slice_eq(x->url, y->url) && slice_eq(x->body, y->body));
		CHECK(x->header_count == y->header_count);
		for (size_t k = 0; k < x->header_count; k++)
			CHECK(slice_eq(x->headers[k].name, y->headers[k].name) &&
			      slice_eq(x->headers[k].value, y->headers[k].value));
	}
	buf_fini(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slice document = slice_make(data, size), type = slice_cut(&document, '\n'), boundary;
	struct arena arena;
	struct multipart m;
	arena_init(&arena, 32 << 20);
	if (slice_is_set(document) && multipart_boundary(type, &boundary) == ERR_OK &&
	    multipart_parse(document, boundary, &arena, &m) == ERR_OK) {
		static struct http_head head;
		CHECK(m.count <= LIMIT_BATCH_PARTS);
		for (size_t i = 0; i < m.count; i++)
			if (multipart_head(&m.requests[i], &head) == ERR_OK)
				CHECK(head.path.len && head.path.ptr[0] == '/' &&
				      head.content_length == m.requests[i].body.len);
		check_round_trip(&m, document, &arena);
	}
	arena_fini(&arena);
	return 0;
}
