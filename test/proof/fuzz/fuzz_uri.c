/* SPDX-License-Identifier: Apache-2.0
 * Percent-coding and queries: what was decoded, encoded and decoded again is the same. */
#include "wire/http/uri.h"

#include "base/limits.h"
#include "fuzz.h"

static void check_query(struct slice input, struct arena *arena)
{
	struct query q, again;
	if (uri_parse_query(input, arena, &q) != ERR_OK)
		return;
	CHECK(q.count <= LIMIT_QUERY_PARAMS);
	struct buf b;
	buf_init(&b, 8 << 20);
	for (size_t i = 0; i < q.count; i++) {
		if (i)
			BUF_PUT(&b, "&");
		uri_encode(&b, q.params[i].name, "");
		BUF_PUT(&b, "=");
		uri_encode(&b, q.params[i].value, "/");
		CHECK(slice_is_set(query_get(&q, q.params[i].name)) && query_count(&q, q.params[i].name) >= 1);
		CHECK(q.params[i].raw_value.ptr >= input.ptr &&
		      q.params[i].raw_value.ptr + q.params[i].raw_value.len <= input.ptr + input.len);
	}
	CHECK(buf_ok(&b) && uri_parse_query(buf_slice(&b), arena, &again) == ERR_OK && again.count == q.count);
	for (size_t i = 0; i < q.count; i++)
		CHECK(slice_eq(q.params[i].name, again.params[i].name) &&
		      slice_eq(q.params[i].value, again.params[i].value));
	buf_fini(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slice input = slice_make(data, size), text, again;
	struct arena arena;
	arena_init(&arena, 32 << 20);
	if (uri_decode(input, &arena, &text) == ERR_OK) {
		struct buf b;
		buf_init(&b, 8 << 20);
		uri_encode(&b, text, "/");
		CHECK(buf_ok(&b) && uri_decode(buf_slice(&b), &arena, &again) == ERR_OK && slice_eq(text, again));
		CHECK(text.len == 0 || !memchr(text.ptr, 0, text.len));
		buf_fini(&b);
	}
	check_query(input, &arena);
	arena_fini(&arena);
	return 0;
}
