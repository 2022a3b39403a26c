/* SPDX-License-Identifier: Apache-2.0
 * Copies block by block: each block of the source becomes a block of a new content that is built in the destination's
 * partition, a bounded number of them per commit (svc/blob/build.h). Reads the disk and waits for commits: for worker
 * threads. */
#ifndef JOBS_COPY_BUILD_H
#define JOBS_COPY_BUILD_H

#include "svc/blob/content/build.h"
#include "svc/blob/copy.h"

struct copy_build {
	struct store *store;
	struct slice partition; /* of the destination */
	enum build_kind kind;
	struct copy_built built; /* content_id as given, random; the rest grows */
	/* private */
	bool begun;
	uint64_t flushed_bytes;
	struct block *block; /* finished, not yet committed */
	struct payload *payload;
	size_t count, extents, bytes;
	/* the block under way, if there is a writer */
	struct payload_writer *writer;
	uint32_t extent; /* of the source: which one, */
	uint64_t at;	 /* and how far it was read */
	char *buffer;
};

enum err copy_build_init(struct copy_build *) MUST_CHECK; /* the public fields are set */
/* Goes on with block *next of `source`, whose extents are pinned, by at most a buffer; *next moves on when the block is
 * whole, and is source->count at the end. *ret_bytes: what came, until the next call. The ids of blocks are kept until
 * copy_build_flush: `source` lives until then. */
enum err copy_build_step(struct copy_build *, const struct manifest *source, size_t *next,
			 struct slice *ret_bytes) MUST_CHECK;
/* Commits the blocks that are whole. */
enum err copy_build_flush(struct copy_build *) MUST_CHECK;
void copy_build_fini(struct copy_build *);
/* Gives back what was committed, unless a blob has taken it. */
void copy_build_drop(struct store *, struct slice partition, uint64_t content_id);

#endif
