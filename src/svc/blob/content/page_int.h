/* SPDX-License-Identifier: Apache-2.0
 * Chunks of page blobs, inside the room. */
#ifndef SVC_BLOB_PAGE_INT_H
#define SVC_BLOB_PAGE_INT_H

#include "svc/blob/content/page.h"

enum {
	PAGE_CLEAR_ROWS_AT_ONCE = 1024,		/* chunk rows a clear goes through itself; more are left to the sweep */
	PAGE_CLEAR_BYTES_AT_ONCE = 1024 * 1024, /* and their bytes: names that go are written down again */
	PAGE_CLEAR_CHUNKS_ANYWAY = 32,		/* so few are not counted first */
	PAGE_CLEARS_MAX = 128,			/* of one content that wait for the sweep */
	PAGE_CLEARED_REF = 0xffff		/* in a row: not a segment, but pages that were cleared */
};

struct page_span {
	uint16_t first, count; /* pages of the chunk */
	struct extent_ref extent;
	uint32_t offset; /* bytes into the extent */
};

/* Pages that were written and then cleared, and in which epoch: a difference to an older snapshot tells of them. */
struct cleared {
	uint16_t first, count;
	uint32_t epoch;
};

struct page_chunk {
	struct page_span *span; /* in page order, not overlapping */
	size_t count;
	struct cleared *cleared; /* likewise; no page is in both */
	size_t cleared_count;
	uint64_t epoch;	       /* of its row; 0 = there is none */
	uint64_t stamp;	       /* when it was written, if a clear was waiting for the sweep then; else 0 */
	uint64_t hidden_epoch; /* not 0: a clear of that epoch hides it, and it reads as zeros */
};

/* The same page by page: the epoch in which it was cleared, 0 = it was not (page_marks.c). */
struct page_marks {
	uint32_t epoch[PAGE_CHUNK_PAGES];
};
/* What a chunk says, all of its pages counted that a clear hides. */
void blob_page_marks_of(const struct page_chunk *, struct page_marks *ret);
/* Back into runs, in the arena. */
enum err blob_page_marks_keep(struct arena *, const struct page_marks *, struct page_chunk *) MUST_CHECK;
void blob_page_marks_encode(struct buf *, const struct page_chunk *);

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
/* The epoch of the first clear that hides a row; 0 = none does. */
uint64_t blob_page_clears_hide(const struct clears *, uint64_t chunk, uint64_t epoch, uint64_t stamp);
/* Chunks [first, end) by one row, if there are too many rows to go through them now (at_once: so many; 0 = as a rule).
 */
enum err blob_page_clear_at_once(struct txn *, struct content *, uint64_t first, uint64_t end, size_t at_once,
				 bool *ret_done) MUST_CHECK;
/* One bounded piece of the sweep of one clear, from a key on; *ret_next is where to go on, absent at its end. */
enum err blob_page_clear_sweep(struct txn *, uint64_t content, uint64_t ticks, struct slice from_key,
			       struct slice *ret_next) MUST_CHECK;
/* Of its row nothing is left but that a clear, of that epoch and time, took what was there. */
enum err blob_page_chunk_put_empty(struct txn *, uint64_t content, uint64_t chunk, const struct clear *,
				   const struct page_chunk *was) MUST_CHECK;

void blob_page_chunk_key(struct key *, uint64_t content, uint64_t chunk, uint64_t epoch);
bool blob_page_chunk_key_decode(struct slice key, uint64_t *ret_chunk, uint64_t *ret_epoch);
enum err blob_page_chunk_decode(struct slice value, struct arena *, struct page_chunk *ret) MUST_CHECK;

/* All chunks of [first, last] that have a row the content's epoch sees, in order, whatever holes lie between. */
struct chunk_at {
	uint64_t index;
	struct page_chunk chunk;
};
struct chunk_walk {
	struct txn *txn;
	struct content content;
	struct clears clears;
	struct key from, until;
	struct rows rows;
	size_t at;
	bool begun, exhausted;
	bool with_hidden; /* chunks that a clear hides come, too */
	bool has_last;
	uint64_t last_index; /* chunk already returned: its older rows are passed over */
};
enum err blob_page_chunk_walk_begin(struct chunk_walk *, struct txn *, const struct content *, uint64_t first,
				    uint64_t last) MUST_CHECK;
enum err blob_page_chunk_walk_next(struct chunk_walk *, struct chunk_at *ret) MUST_CHECK; /* ERR_NOT_FOUND at the end */

#endif
