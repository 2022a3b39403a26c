/* SPDX-License-Identifier: Apache-2.0
 * What a container holds, row by row, where it has a quota (store/meter.h). A blob, snapshot or version weighs its
 * record and its bytes, as long as it says it is; of page and append blobs those are in rows of their own. Uncommitted
 * blocks weigh in the row of their staging, which the commit of a block list removes: to commit them costs nothing
 * more. What waits to be given back weighs nothing. */
#include "svc/blob/content/block_list.h"
#include "svc/blob/record.h"

enum err blob_row_weigh(struct slice key, struct slice value, struct arena *arena, uint64_t *ret_bytes)
{
	struct blob b;
	struct stage s;
	struct extent_ref *refs;
	uint16_t count = 0;
	struct cursor c = cursor_make(value);
	*ret_bytes = 0;
	switch (key.len ? key.ptr[0] : 0) {
	case 'b':
	case 'h':
		TRY(blob_decode(value, arena, &b));
		*ret_bytes = key.len + value.len;
		if (b.content.kind == CONTENT_ROW || b.content.kind == CONTENT_EXTENTS ||
		    b.content.kind == CONTENT_MANIFEST)
			*ret_bytes += b.length_bytes;
		return ERR_OK;
	case 'U':
		TRY(blob_stage_decode(value, &s));
		*ret_bytes = key.len + value.len + s.staged_bytes;
		return ERR_OK;
	case 'p':
		TRY(blob_row_extents_decode(&c, arena, &refs, &count));
		*ret_bytes = key.len + value.len;
		for (uint16_t i = 0; i < count; i++)
			*ret_bytes += refs[i].length_bytes;
		return ERR_OK;
	default:
		return ERR_OK;
	}
}

/* The base alone: snapshots, versions and what was deleted are bytes of it. */
static bool row_is_blob(struct slice key, struct slice value, struct arena *arena)
{
	return key.ptr[0] == 'b';
}

const struct count_rule blob_count_rule = { "bhpU", blob_row_weigh, row_is_blob };
