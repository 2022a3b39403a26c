/* SPDX-License-Identifier: Apache-2.0
 * Chunks of page blobs, inside the room. */
#ifndef SVC_BLOB_PAGE_INT_H
#define SVC_BLOB_PAGE_INT_H

#include "svc/blob/content/page.h"

enum {
	PAGE_CLEAR_ROWS_AT_ONCE = 1024,		/* chunk rows a clear goes through itself; more are left to the sweep */
	PAGE_CLEAR_BYTES_AT_ONCE = 1024 * 1024, /* and their bytes: names that go are written down again */
	PAGE_CLEAR_CHUNKS_ANYWAY = 32,		/* so few are not counted first */
	PAGE_CLEARS_MAX = 128			/* of one content that wait for the sweep */
};

struct segment {
	uint16_t first, count; /* pages of the chunk */
	struct extent_ref extent;
	uint32_t offset; /* bytes into the extent */
};

struct chunk {
	struct segment *segment; /* in page order, not overlapping */
	size_t count;
	uint64_t epoch; /* of its row; 0 = there is none */
	uint64_t stamp; /* when it was written, if a clear was waiting for the sweep then; else 0 */
	bool hidden;	/* by a clear: reads as zeros */
};

/* A range of chunks that was cleared by one row, and is swept later (page_clear.c). */
struct clear {
	uint64_t first, end; /* chunks */
	uint64_t epoch, ticks;
	bool exclusive;
};
struct clears {
	struct clear *clear;
	size_t count;
};
/* Those that a reader of the content must know. */
enum err blob_page_clears_load(struct txn *, const struct content *, struct clears *ret) MUST_CHECK;
bool blob_page_clears_hide(const struct clears *, uint64_t chunk, uint64_t epoch, uint64_t stamp);
/* Chunks [first, end) by one row, if there are too many rows to go through them now (at_once: so many; 0 = as a rule).
 */
enum err blob_page_clear_at_once(struct txn *, struct content *, uint64_t first, uint64_t end, size_t at_once,
				 bool *ret_done) MUST_CHECK;
/* One bounded piece of the sweep of one clear, from a key on; *ret_next is where to go on, absent at its end. */
enum err blob_page_clear_sweep(struct txn *, uint64_t content, uint64_t ticks, struct slice from_key,
			       struct slice *ret_next) MUST_CHECK;
enum err blob_page_chunk_put_empty(struct txn *, uint64_t content, uint64_t chunk, uint64_t epoch,
				   uint64_t stamp) MUST_CHECK;

void blob_page_chunk_key(struct key *, uint64_t content, uint64_t chunk, uint64_t epoch);
bool blob_page_chunk_key_decode(struct slice key, uint64_t *ret_chunk, uint64_t *ret_epoch);
enum err blob_page_chunk_decode(struct slice value, struct arena *, struct chunk *ret) MUST_CHECK;

/* All chunks of [first, last] that have a row the content's epoch sees, in order, whatever holes lie between. */
struct chunk_at {
	uint64_t index;
	struct chunk chunk;
};
struct chunk_walk {
	struct txn *txn;
	struct content content;
	struct clears clears;
	struct key from, until;
	struct rows rows;
	size_t at;
	bool begun, exhausted;
	bool has_last;
	uint64_t last_index; /* chunk already returned: its older rows are passed over */
};
enum err blob_page_chunk_walk_begin(struct chunk_walk *, struct txn *, const struct content *, uint64_t first,
				    uint64_t last) MUST_CHECK;
enum err blob_page_chunk_walk_next(struct chunk_walk *, struct chunk_at *ret) MUST_CHECK; /* ERR_NOT_FOUND at the end */

#endif
