/* SPDX-License-Identifier: Apache-2.0
 * Markers of List Directories and Files: what is read is written back the same, and every name survives the way. */
#include "rest/file/marker.h"

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slice s = slice_make(data, size), name;
	struct buf b;
	struct arena arena;
	buf_init(&b, 8 << 20);
	arena_init(&arena, 8 << 20);
	if (rest_file_marker_parse(s, &arena, &name) == ERR_OK) {
		struct slice again;
		rest_file_marker_put(&b, name);
		CHECK(buf_ok(&b) && rest_file_marker_parse(buf_slice(&b), &arena, &again) == ERR_OK &&
		      slice_eq(name, again));
	}
	buf_clear(&b);
	rest_file_marker_put(&b, s);
	CHECK(buf_ok(&b) && rest_file_marker_parse(buf_slice(&b), &arena, &name) == ERR_OK && slice_eq(name, s));
	arena_fini(&arena);
	buf_fini(&b);
	return 0;
}
