/* SPDX-License-Identifier: Apache-2.0
 * Fuzz target for base64: whatever decodes must encode back to the same text. */
#include "wire/base64.h"

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slice s = slice_make(data, size), raw, again;
	struct buf b;
	struct arena arena;
	buf_init(&b, 8 << 20);
	arena_init(&arena, 8 << 20);

	if (base64_decode(s, &arena, &raw) == ERR_OK) {
		base64_encode(&b, raw);
		CHECK(b.len == s.len && base64_decode(buf_slice(&b), &arena, &again) == ERR_OK && slice_eq(raw, again));
	}
	if (base64url_decode(s, &arena, &raw) == ERR_OK)
		CHECK(raw.len == s.len * 3 / 4);

	buf_clear(&b);
	base64_encode(&b, s);
	CHECK(buf_ok(&b) && base64_decode(buf_slice(&b), &arena, &raw) == ERR_OK && slice_eq(raw, s));
	char *exact = malloc(size + 1);
	CHECK(exact && base64_decode_exact(buf_slice(&b), exact, size) && slice_eq(slice_make(exact, size), s));
	CHECK(!base64_decode_exact(buf_slice(&b), exact, size + 1));
	free(exact);
	arena_fini(&arena);
	buf_fini(&b);
	return 0;
}
