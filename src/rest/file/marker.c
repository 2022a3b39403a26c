/* SPDX-License-Identifier: Apache-2.0
 * Markers of lists, both ways. */
#include "rest/file/marker.h"

#include "wire/base64.h"

enum err rest_file_marker_parse(struct slice marker, struct arena *arena, struct slice *ret)
{
	struct slice rest = marker;
	struct slice version = slice_cut(&rest, '!'), length = slice_is_set(rest) ? slice_cut(&rest, '!') : SLICE_NONE;
	uint64_t n;
	if (!slice_eq(version, SLICE("1")) || !slice_is_set(rest) || !slice_to_u64(length, &n) || n != rest.len)
		return ERR_SYNTAX;
	char *text = arena_alloc(arena, rest.len + 1);
	if (!text)
		return ERR_NO_MEMORY;
	for (size_t i = 0; i < rest.len; i++)
		text[i] = (char)(rest.ptr[i] == '-' ? '=' : rest.ptr[i]);
	return base64_decode(slice_make(text, rest.len), arena, ret);
}

void rest_file_marker_put(struct buf *b, struct slice name)
{
	buf_printf(b, "1!%zu!", (size_t)BASE64_BYTES(name.len));
	size_t start = b->len;
	base64_encode(b, name);
	for (size_t i = start; buf_ok(b) && i < b->len; i++)
		if (b->ptr[i] == '=')
			b->ptr[i] = '-';
}
