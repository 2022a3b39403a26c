/* SPDX-License-Identifier: Apache-2.0
 * Append blobs: one 'p' row per appended block, 'p' u64(content) u64_desc(offset), value {extents, u32 length}. Offsets
 * descend in key order, so that the block holding an offset is found by one seek. Rows never change: snapshots share
 * them and end at their own length. */
#ifndef SVC_BLOB_APPEND_H
#define SVC_BLOB_APPEND_H

#include "svc/blob/blob.h"
#include "svc/blob/content/manifest.h"

struct blob_append_call {
	struct blob_target target;
	const struct payload *payload; /* extents; NULL in the dry run */
	bool has_position, has_max_size;
	uint64_t position, max_size;
	/* out */
	struct blob blob;
	uint64_t offset;
};
enum err blob_apply_append(struct txn *, void *call);
enum err blob_apply_seal(struct txn *, void *call); /* the same call: target, position; out blob */

/* The row of one block. Publishes nothing. ERR_LIMIT: longer than a row can say. */
enum err blob_append_put_row(struct txn *, uint64_t content_id, uint64_t offset, const struct extent_ref *,
			     size_t count, uint64_t length_bytes) MUST_CHECK;

/* Some blocks of a content, from `offset` on, in order: for copies, which go through an append blob piece by piece. */
struct append_blocks_call {
	uint64_t content_id;
	uint64_t offset; /* a block begins here */
	uint64_t end;	 /* the length of the state that is copied */
	/* out; ERR_NOT_FOUND if a row is gone, and the content with it */
	struct manifest blocks;
};
enum err blob_apply_append_blocks(struct txn *, void *call);

#endif
