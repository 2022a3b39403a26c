/* SPDX-License-Identifier: Apache-2.0
 * Contents that take several commits to make, before any blob names them: copies of long block lists and append blobs.
 * A row 'k' u64(content) says that a content is being made, how far it is and when something was last added; the commit
 * by which a blob takes the content over removes the row. A build that nobody went on with for BUILD_SILENCE_SECONDS
 * (its maker is gone: a crash, a refused request) is given back in the background. */
#ifndef SVC_BLOB_BUILD_H
#define SVC_BLOB_BUILD_H

#include "svc/blob/content/manifest.h"

enum { BUILD_SILENCE_SECONDS = 900, BUILD_STEP_EXTENTS = MANIFEST_PART_EXTENTS };

enum build_kind { BUILD_MANIFEST = 'M', BUILD_APPEND = 'R' };

/* Adds blocks whose extents this publishes: one part of a block list, or rows of an append blob. At most
 * BUILD_STEP_EXTENTS extents and BLOB_MANIFEST_PART_BYTES encoded, unless it is a single block. */
struct build_add_call {
	uint64_t content_id; /* random */
	enum build_kind kind;
	bool first;
	struct manifest blocks; /* all owned */
	uint64_t offset;	/* BUILD_APPEND: where the first block begins */
};
enum err blob_apply_build_add(struct txn *, void *call); /* ERR_NOT_FOUND: it was given back meanwhile */

/* A record put in this transaction names it from now on. ERR_NOT_FOUND as above. */
enum err blob_build_take(struct txn *, uint64_t content_id, struct content *ret) MUST_CHECK;

struct build_drop_call {
	uint64_t content_id;
};
/* Gives it back, if it is still a build. */
enum err blob_apply_build_drop(struct txn *, void *call);
/* The same for the row itself: *ret_key is a 'k' row of the partition. */
enum err blob_build_expired(struct slice value, uint64_t now_ticks, bool *ret) MUST_CHECK;
enum err blob_build_drop_row(struct txn *, struct slice key) MUST_CHECK;

#endif
