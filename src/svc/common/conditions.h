/* SPDX-License-Identifier: Apache-2.0
 * If-Match, If-None-Match, If-Modified-Since, If-Unmodified-Since, judged inside apply against the state found there.
 * ETags are numbers here (ticks); a value that is no ETag of ours can never match and is kept as ETAG_FOREIGN.
 * Parsing, and refusing combinations a write may not have, is the front end's (it knows the version). */
#ifndef SVC_COMMON_CONDITIONS_H
#define SVC_COMMON_CONDITIONS_H

#include "base/err.h"
#include "base/limits.h"
#include "base/slice.h"

enum { CONDITION_ETAGS_MAX = LIMIT_ETAGS };
#define ETAG_FOREIGN UINT64_C(0)

struct etag_set {
	bool present;
	bool any; /* "*" */
	size_t count;
	uint64_t etag[CONDITION_ETAGS_MAX];
};

struct conditions {
	struct etag_set match;
	struct etag_set none_match;
	bool has_modified_since, has_unmodified_since;
	uint64_t modified_since, unmodified_since; /* ticks, whole seconds */
};

struct condition_target {
	bool exists;
	uint64_t etag;
	uint64_t modified_ticks;
};

/* Reads: 412 wins over 304 (ERR_CONDITION_NOT_MET, ERR_NOT_MODIFIED). The target exists. */
enum err conditions_check_read(const struct conditions *, const struct condition_target *) MUST_CHECK;

/* Writes. exists_error: what If-None-Match: * on an existing target answers (BlobAlreadyExists for creating writes).
 * unmet_error: every other failure (ConditionNotMet, TargetConditionNotMet).
 * A missing target fails If-Match and satisfies everything else. */
enum err conditions_check_write(const struct conditions *, const struct condition_target *, enum err exists_error,
				enum err unmet_error) MUST_CHECK;

/* The next ETag of a resource: now, but later than any it had. */
static inline uint64_t etag_next(uint64_t now_ticks, uint64_t last)
{
	return now_ticks > last ? now_ticks : last + 1;
}

#endif
