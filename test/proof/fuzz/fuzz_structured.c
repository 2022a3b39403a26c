/* SPDX-License-Identifier: Apache-2.0
 * Structured messages: whatever comes, in whatever pieces, no more data comes out than went in, and what was accepted
 * as a whole is what a decoder that gets it at once accepts. */
#include "wire/http/structured.h"

#include "fuzz.h"

static enum structured_result run(struct slice input, size_t piece, uint64_t *ret_bytes)
{
	struct structured_decoder d;
	enum structured_result r = STRUCTURED_MORE;
	structured_decoder_init(&d);
	while (input.len && r == STRUCTURED_MORE) {
		struct slice now = slice_first(input, piece), data;
		size_t had = now.len;
		while ((r = structured_decode(&d, &now, &data)) == STRUCTURED_DATA)
			CHECK(data.len > 0);
		input = slice_from(input, had - now.len);
	}
	*ret_bytes = d.data_bytes;
	return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint64_t whole, parts;
	if (size == 0)
		return 0;
	struct slice input = fuzz_copy(slice_make(data + 1, size - 1));
	enum structured_result a = run(input, SIZE_MAX, &whole), b = run(input, data[0] % 16 + 1, &parts);
	CHECK(a == b && whole <= size && (a != STRUCTURED_DONE || whole == parts));
	fuzz_free(input);
	return 0;
}
