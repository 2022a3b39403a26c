/* SPDX-License-Identifier: Apache-2.0
 * Heads: the verdict does not depend on where the input is cut, and a head that was read can be written and read again.
 */
#include "wire/http/http1.h"

#include "fuzz.h"

static struct http_head whole, again;
static struct arena arena;

static void check_same(const struct http_head *a, const struct http_head *b)
{
	CHECK(a->method == b->method && slice_eq(a->method_text, b->method_text) && slice_eq(a->target, b->target));
	CHECK(slice_eq(a->path, b->path) && slice_eq(a->query, b->query) &&
	      slice_is_set(a->query) == slice_is_set(b->query));
	CHECK(a->minor_version == b->minor_version && a->header_count == b->header_count && slice_eq(a->host, b->host));
	CHECK(a->has_content_length == b->has_content_length && a->content_length == b->content_length);
	CHECK(a->chunked == b->chunked && a->keep_alive == b->keep_alive && a->expect_continue == b->expect_continue);
	for (size_t i = 0; i < a->header_count; i++)
		CHECK(slice_eq(a->headers[i].name, b->headers[i].name) &&
		      slice_eq(a->headers[i].value, b->headers[i].value));
}

static void check_head(const struct http_head *h, struct slice input)
{
	CHECK(h->head_bytes >= 4 && h->head_bytes <= input.len);
	CHECK(memcmp(input.ptr + h->head_bytes - 4, "\r\n\r\n", 4) == 0);
	CHECK(h->path.len && h->path.ptr[0] == '/' && h->header_count <= LIMIT_HEADER_COUNT);
	CHECK(!(h->chunked && h->has_content_length));
	for (size_t i = 0; i < h->header_count; i++) {
		struct slice v = h->headers[i].value;
		CHECK(h->headers[i].name.len);
		for (size_t k = 0; k < v.len; k++)
			CHECK(v.ptr[k] != '\r' && v.ptr[k] != '\n' && v.ptr[k] != '\0');
		CHECK(slice_is_set(http_header(h, h->headers[i].name)) &&
		      http_header_count(h, h->headers[i].name) >= 1);
	}
}

static void check_round_trip(const struct http_head *h)
{
	struct buf b;
	buf_init(&b, 2 * LIMIT_HEAD_BYTES);
	buf_put(&b, h->method_text);
	BUF_PUT(&b, " ");
	buf_put(&b, h->target);
	buf_printf(&b, " HTTP/1.%d\r\n", h->minor_version);
	for (size_t i = 0; i < h->header_count; i++) {
		buf_put(&b, h->headers[i].name);
		BUF_PUT(&b, ":");
		buf_put(&b, h->headers[i].value);
		BUF_PUT(&b, "\r\n");
	}
	BUF_PUT(&b, "\r\n");
	CHECK(buf_ok(&b));
	size_t scanned = 0;
	CHECK(http_parse_head(buf_slice(&b), &scanned, &arena, &again) == HTTP_PARSE_DONE);
	check_same(h, &again);
	buf_fini(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slice input = slice_make(data, size);
	size_t scanned = 0, step = 1 + size / 17;
	arena_init(&arena, 16 * LIMIT_HEAD_BYTES);
	enum http_parse verdict = http_parse_head(input, &scanned, &arena, &whole), r = HTTP_PARSE_MORE;

	scanned = 0;
	for (size_t len = 0; r == HTTP_PARSE_MORE; len = len + step < size ? len + step : size) {
		struct slice part = fuzz_copy(slice_first(input, len));
		r = http_parse_head(part, &scanned, &arena, &again);
		if (r == HTTP_PARSE_DONE && verdict == HTTP_PARSE_DONE)
			check_same(&whole, &again);
		fuzz_free(part);
		if (len == size)
			break;
	}
	CHECK(r == verdict);
	if (verdict == HTTP_PARSE_DONE) {
		check_head(&whole, input);
		check_round_trip(&whole);
	}
	arena_fini(&arena);
	return 0;
}
