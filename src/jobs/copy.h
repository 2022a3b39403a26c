/* SPDX-License-Identifier: Apache-2.0
 * Large copies go on after their request was answered: each on a thread of its own, at most COPY_JOBS_MAX at a time. A
 * job owns what it needs (pieces, names, a pin on the source's extents) and talks to the destination only through the
 * store. */
#ifndef JOBS_COPY_H
#define JOBS_COPY_H

#include "svc/blob/copy.h"

/* As a whole, and of one owner: whatever one of them copies, there is room for another. */
enum { COPY_JOBS_MAX = 16, COPY_JOBS_OWNER_MAX = 8 };

struct copy_job;
struct copy_jobs;
enum err copy_jobs_new(struct store *, struct copy_jobs **ret) MUST_CHECK;
/* Stops what runs (its blobs stay pending and turn failed) and joins. Accepts NULL. */
void copy_jobs_free(struct copy_jobs *);

struct copy_job_spec {
	unsigned owner;		/* the account that asked for it */
	struct slice partition; /* of the destination */
	struct slice name;
	struct uuid id;
	enum blob_type type;
	uint64_t content_id;
	uint64_t total_bytes;
	const struct blob_piece *piece;
	size_t piece_count;
	const struct manifest *blocks; /* block blobs with a block list: instead of pieces */
	struct slice source_partition; /* append blobs, and pages in very many pieces: where their rows are, instead */
	uint64_t source_content_id;    /* append blobs */
	struct blob_target source;     /* pages: which blob, and its ETag; a source that changes ends the copy */
	uint64_t source_etag;
};
/* A job with everything it needs, waiting. Made before the destination is touched: once it is, nothing may be missing.
 * Copies the spec. Takes over the pin under which the source's record was read (*pin is 0 then): a new one would not
 * hold what was replaced in between. ERR_BUSY if too many are there, of all or of the
 * owner's. */
enum err copy_job_prepare(struct copy_jobs *, const struct copy_job_spec *, uint64_t *pin,
			  struct copy_job **ret) MUST_CHECK;
/* One of these ends the waiting; the job is not the caller's any more. */
void copy_job_go(struct copy_job *);
void copy_job_give_up(struct copy_job *);

#endif
