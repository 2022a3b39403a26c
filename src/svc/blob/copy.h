/* SPDX-License-Identifier: Apache-2.0
 * Copies: the destination's side. A copy within one container shares the source's content when that cannot change
 * (block blobs); else the bytes were read by the caller from extents it pinned, so they are of one version.
 *
 * A block list comes along, with its ids and sizes, as the service does it. Into another container each block has its
 * own extents: more than one commit may publish, so such a content is built first (build.h) and then taken.
 *
 * A large copy first makes its destination, empty and pending, and then a job (src/jobs/copy_run.c) brings the bytes:
 * it says now and then how far it is, and ends with success or failure. Every such write asks first whether its copy is
 * still the pending one: an abort, a delete or an overwrite ends it. */
#ifndef SVC_BLOB_COPY_H
#define SVC_BLOB_COPY_H

#include "svc/blob/blob.h"

/* A content that a copy built in commits of its own (build.h). content_id 0: none. */
struct copy_built {
	uint64_t content_id;
	uint64_t length_bytes;
	uint32_t block_count;
};

struct blob_copy_call {
	struct blob_put_call put; /* destination: target, properties, payload (NULL: share or pending) */
	struct blob_copy copy; /* id, source, total; status decides: SUCCESS or PENDING; NONE for Put Blob From URL */
	bool incremental;      /* copy.source names a snapshot: <url>?snapshot=<time> */
	bool infinite_lease_only;
	enum err unmet_error; /* destination conditions */
	/* share: the source in this very partition; name absent = not that way */
	struct blob_target source;
	uint64_t source_etag;	 /* as it was read */
	bool sealed;		 /* as the source is */
	struct copy_built built; /* instead of a payload */
	/* out: share only. The source is no longer what was read, and nothing was done: bring the bytes instead. */
	bool source_changed;
};
enum err blob_apply_copy(struct txn *, void *call);

/* Pages that came. */
struct copy_pages {
	uint64_t offset;
	struct payload payload;
};
enum { COPY_STEP_PAGES = 64 }; /* runs of pages in a step: each may rewrite a chunk's row */

struct blob_copy_step_call {
	struct slice name;
	struct uuid id;
	uint64_t copied_bytes;
	enum copy_status status; /* PENDING: progress; SUCCESS, FAILED: the end */
	struct slice description;
	const struct payload *payload; /* SUCCESS of block blobs without a block list */
	struct copy_built built;       /* SUCCESS of those with one, and of append blobs */
	uint64_t content_id;
	const struct copy_pages *pages; /* progress of a page blob */
	size_t page_count;
	/* out */
	bool gone; /* no longer the pending copy: stop */
};
enum err blob_apply_copy_step(struct txn *, void *call);

struct blob_abort_copy_call {
	struct blob_target target;
	struct uuid id;
	uint64_t content_id; /* random: of the empty blob that stays */
};
enum err blob_apply_abort_copy(struct txn *, void *call);

#endif
