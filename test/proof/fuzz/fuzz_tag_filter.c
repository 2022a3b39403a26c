/* SPDX-License-Identifier: Apache-2.0
 * Expressions over tags: read in both dialects and evaluated; an error names a place within the text. */
#include "svc/blob/tags.h"

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const enum tag_dialect dialects[] = { TAG_CONDITION, TAG_FIND };
	struct slice text = fuzz_copy(slice_make(data, size));
	for (int i = 0; i < 2; i++) {
		struct arena arena;
		struct tag_filter filter;
		size_t position = 0;
		const char *reason = NULL;
		struct pairs none = { .count = 0 };
		arena_init(&arena, 1 << 20);
		enum err err = blob_tag_filter_parse(text, dialects[i], &arena, &filter, &position, &reason);
		if (err == ERR_OK) {
			CHECK(filter.count >= 1 && filter.count <= TAG_OPERATORS_MAX + 1);
			for (size_t k = 0; k < filter.count; k++)
				CHECK(filter.term[k].value.len <= text.len);
			bool absent = blob_tag_filter_matches(&filter, NULL),
			     without = blob_tag_filter_matches(&filter, &none);
			CHECK(absent == without);
			blob_tag_filter_wants_container(&filter, SLICE("box"));
		} else if (err == ERR_SYNTAX) {
			CHECK(reason && position >= 1 && position <= text.len + 1);
		}
		arena_fini(&arena);
	}
	fuzz_free(text);
	return 0;
}
