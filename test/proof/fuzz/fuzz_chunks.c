/* SPDX-License-Identifier: Apache-2.0
 * Chunked bodies: the first byte says how the rest is cut; body, verdict and what is left are the same as uncut. */
#include "wire/http/http1.h"

#include "fuzz.h"

static enum http_parse decode(struct slice input, size_t step, struct buf *body, size_t *ret_left)
{
	struct http_chunked c;
	enum http_parse r = HTTP_PARSE_MORE;
	http_chunked_init(&c);
	while (r == HTTP_PARSE_MORE && input.len) {
		struct slice part = fuzz_copy(slice_first(input, step)), rest = part, data;
		do {
			r = http_chunked_next(&c, &rest, &data);
			CHECK(data.len == 0 || (data.ptr >= part.ptr && data.ptr + data.len <= part.ptr + part.len));
			buf_put(body, data);
		} while (r == HTTP_PARSE_MORE && data.len);
		CHECK(r != HTTP_PARSE_MORE || rest.len == 0);
		input = slice_from(input, part.len - rest.len);
		fuzz_free(part);
	}
	*ret_left = input.len;
	return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	struct slice input = slice_make(data + 1, size - 1);
	struct buf one, two;
	size_t left_one, left_two;
	buf_init(&one, 64 << 20);
	buf_init(&two, 64 << 20);
	enum http_parse r1 = decode(input, input.len ? input.len : 1, &one, &left_one);
	enum http_parse r2 = decode(input, 1 + data[0] % 32, &two, &left_two);
	CHECK(r1 == r2 && slice_eq(buf_slice(&one), buf_slice(&two)));
	CHECK(r1 != HTTP_PARSE_DONE || left_one == left_two);

	/* The body, chunked again. */
	struct slice body = buf_slice(&one);
	buf_clear(&two);
	for (struct slice rest = body; rest.len; rest = slice_from(rest, 1 + data[0])) {
		struct slice run = slice_first(rest, 1 + (size_t)data[0]);
		buf_printf(&two, "%zx;x=y\r\n", run.len);
		buf_put(&two, run);
		BUF_PUT(&two, "\r\n");
	}
	BUF_PUT(&two, "0\r\nA: b\r\n\r\n");
	struct buf three;
	buf_init(&three, 64 << 20);
	CHECK(buf_ok(&two));
	CHECK(decode(buf_slice(&two), 7, &three, &left_one) == HTTP_PARSE_DONE && left_one == 0);
	CHECK(slice_eq(body, buf_slice(&three)));
	buf_fini(&one);
	buf_fini(&two);
	buf_fini(&three);
	return 0;
}
