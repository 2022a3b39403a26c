/* SPDX-License-Identifier: Apache-2.0
 * Copies block by block: each block of the source becomes a block of a new content that is built in the destination's
 * partition, a bounded number of them per commit (svc/blob/build.h). Blocks on commits: for worker threads. */
#ifndef REST_COPY_BUILD_H
#define REST_COPY_BUILD_H

#include "svc/blob/build.h"
#include "svc/blob/copy.h"

struct copy_build {
	struct store *store;
	struct slice partition; /* of the destination */
	enum build_kind kind;
	/* Shown all bytes as they go by. False: stop, nobody wants the copy any more. */
	bool (*seen)(void *arg, struct slice bytes);
	void *arg;
	struct copy_built built; /* content_id as given, random; the rest grows */
	bool stopped;		 /* seen() said so */
	/* private */
	bool begun;
	uint64_t flushed_bytes;
	struct block *block; /* finished, not yet committed */
	struct payload *payload;
	size_t count, extents, bytes;
	char *buffer;
};

enum err copy_build_init(struct copy_build *) MUST_CHECK; /* the public fields are set */
/* The blocks of `source` that follow; their extents are pinned. Ends early, without an error, when stopped. */
enum err copy_build_add(struct copy_build *, const struct manifest *source) MUST_CHECK;
/* All were added: commits the rest. */
enum err copy_build_finish(struct copy_build *) MUST_CHECK;
void copy_build_fini(struct copy_build *);
/* Gives back what was committed, unless a blob has taken it. */
void copy_build_drop(struct store *, struct slice partition, uint64_t content_id);

#endif
