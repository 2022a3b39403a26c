/* SPDX-License-Identifier: Apache-2.0
 * Page blobs: sparse arrays of 512-byte pages, in chunks of PAGE_CHUNK_BYTES.
 *
 * A chunk that was ever written has a row 'p' u64(content) u64(chunk) u64_desc(epoch): {extents, spans}, a segment
 * being a run of pages that lies in one extent. What no segment covers reads as zeros. The base writes rows of its own
 * epoch; a snapshot keeps the epoch it was taken in and the base goes on with the next one, so a snapshot sees, of each
 * chunk, the newest row that is not newer than itself. Extents named by several rows are counted ('x' rows).
 * A clear of very many chunks is one row, which hides older ones until they are swept (page_clear.c). */
#ifndef SVC_BLOB_PAGE_H
#define SVC_BLOB_PAGE_H

#include "svc/blob/blob.h"

enum { PAGE_CHUNK_BYTES = 1024 * 1024, PAGE_CHUNK_PAGES = PAGE_CHUNK_BYTES / PAGE_BYTES };

/* Gives back what lies at or behind the new length. The record is put by the caller. */
enum err blob_page_truncate(struct txn *, const struct blob_target *, struct blob *, uint64_t length_bytes) MUST_CHECK;

/* The extents of a payload become the pages from `offset` on. */
enum err blob_page_write_payload(struct txn *, struct content *, uint64_t offset, const struct payload *) MUST_CHECK;

struct blob_put_page_call {
	struct blob_target target;
	bool clear;
	uint64_t offset, length;       /* multiples of PAGE_BYTES */
	const struct payload *payload; /* update: extents; NULL in the dry run and for clear */
	bool has_le, has_lt, has_eq;
	uint64_t sequence_le, sequence_lt, sequence_eq;
	/* out */
	struct blob blob;
};
enum err blob_apply_put_page(struct txn *, void *call);

struct page_range {
	uint64_t first, last; /* inclusive, bytes */
	bool clear;	      /* diff: was there, is not any more */
};

struct blob_page_ranges_call {
	struct blob_target target;
	bool has_range;
	uint64_t range_first, range_last;
	uint64_t from; /* marker: nothing before this offset */
	size_t limit;
	bool diff;
	uint64_t previous_ticks; /* diff: the snapshot to compare with */
	/* out */
	struct blob blob;
	struct page_range *range;
	size_t count;
	bool more;
	uint64_t next;
};
enum err blob_apply_page_ranges(struct txn *, void *call);

#endif
