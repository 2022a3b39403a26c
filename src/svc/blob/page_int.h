/* SPDX-License-Identifier: Apache-2.0
 * Chunks of page blobs, inside the room. */
#ifndef SVC_BLOB_PAGE_INT_H
#define SVC_BLOB_PAGE_INT_H

#include "svc/blob/page.h"

/* Chunk rows one commit may touch by a clear: each may drop many extents. */
enum { PAGE_CLEAR_CHUNKS_MAX = 2048 };

struct segment {
	uint16_t first, count; /* pages of the chunk */
	struct extent_ref extent;
	uint32_t offset; /* bytes into the extent */
};

struct chunk {
	struct segment *segment; /* in page order, not overlapping */
	size_t count;
	uint64_t epoch; /* of its row; 0 = there is none */
};

void chunk_key(struct key *, uint64_t content, uint64_t chunk, uint64_t epoch);
bool chunk_key_decode(struct slice key, uint64_t *ret_chunk, uint64_t *ret_epoch);
enum err chunk_decode(struct slice value, struct arena *, struct chunk *ret) MUST_CHECK;

/* All chunks of [first, last] that have a row the content's epoch sees, in order, whatever holes lie between. */
struct chunk_at {
	uint64_t index;
	struct chunk chunk;
};
struct chunk_walk {
	struct txn *txn;
	struct content content;
	struct key from, until;
	struct rows rows;
	size_t at;
	bool begun, exhausted;
	bool has_last;
	uint64_t last_index; /* chunk already returned: its older rows are passed over */
};
enum err chunk_walk_begin(struct chunk_walk *, struct txn *, const struct content *, uint64_t first,
			  uint64_t last) MUST_CHECK;
enum err chunk_walk_next(struct chunk_walk *, struct chunk_at *ret) MUST_CHECK; /* ERR_NOT_FOUND at the end */

#endif
