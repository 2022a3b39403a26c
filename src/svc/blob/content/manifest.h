/* SPDX-License-Identifier: Apache-2.0
 * Block lists. A manifest is the list of committed blocks of a content, stored in 'f' rows ("parts"): entries
 * {block id, length, owned, extents}. A part holds at most BLOB_MANIFEST_PART_BYTES and MANIFEST_PART_EXTENTS extents,
 * so that giving one back is one small commit. An entry is owned if this content must give its extents back; one taken
 * from a content that snapshots still share is borrowed, and the content then holds a share of the lender
 * (content.epoch). */
#ifndef SVC_BLOB_MANIFEST_H
#define SVC_BLOB_MANIFEST_H

#include "svc/blob/record.h"

enum {
	BLOCK_ID_MAX_BYTES = 64,
	MANIFEST_PART_EXTENTS = 1000,
	BLOCKS_COMMITTED_MAX = 50000,
	BLOCKS_STAGED_MAX = 100000,
	/* A list is written by one commit, with a record and a few rows of its own: 1.1 TiB in large blocks. */
	MANIFEST_MAX_BYTES = LIMIT_COMMIT_BYTES - 512 * 1024
};

struct block {
	struct slice id; /* decoded */
	uint64_t length_bytes;
	bool owned;
	uint32_t extent_count;
	struct extent_ref *extents; /* in the arena; NULL when only lengths were asked for */
};

void blob_block_encode(struct buf *, const struct block *);
size_t blob_block_encoded_bytes(const struct block *); /* at most */
enum err blob_block_decode(struct cursor *, struct arena *, struct block *ret) MUST_CHECK;

struct manifest {
	struct block *block;
	size_t count;
};

/* How long all of it is, encoded. */
size_t blob_manifest_bytes(const struct manifest *);
/* Makes the rows of a new content's parts, to be written by this or a later transaction (txn_put_row). They publish
 * nothing: the staging did. */
enum err blob_manifest_make(struct txn *, uint64_t content_id, const struct manifest *, struct txn_row **ret,
			    uint32_t *ret_parts) MUST_CHECK;
/* One part of a content that grows part by part: the next one, of blocks that fit it. */
enum err blob_manifest_put_part(struct txn *, uint64_t content_id, uint32_t part, const struct manifest *) MUST_CHECK;
enum err blob_manifest_get(struct txn *, const struct content *, struct manifest *ret) MUST_CHECK;
/* One part. */
enum err blob_manifest_get_part(struct txn *, uint64_t content_id, uint32_t part, struct manifest *ret) MUST_CHECK;
void blob_manifest_part_key(struct key *, uint64_t content_id, uint32_t part);

#endif
