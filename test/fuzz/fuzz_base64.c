/* SPDX-License-Identifier: Apache-2.0
 * Base64 and hex, both ways. */
#include "wire/base64.h"

#include "fuzz.h"
#include "wire/hex.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slice s = slice_make(data, size), raw, again;
	struct buf b;
	struct arena arena;
	size_t bytes = 0;
	buf_init(&b, 8 << 20);
	arena_init(&arena, 8 << 20);

	bool good = base64_decode(s, &arena, &raw) == ERR_OK;
	CHECK(base64_decoded_bytes(s, &bytes) == good);
	if (good) {
		CHECK(bytes == raw.len);
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

	buf_clear(&b);
	hex_encode_upper(&b, s);
	CHECK(hex_decode_exact(buf_slice(&b), exact, size) && slice_eq(slice_make(exact, size), s));
	if (size <= 512 && hex_decode_exact(s, exact, size / 2)) {
		buf_clear(&b);
		hex_encode_lower(&b, slice_make(exact, size / 2));
		CHECK(slice_eq_nocase(buf_slice(&b), s));
	}
	free(exact);
	arena_fini(&arena);
	buf_fini(&b);
	return 0;
}
