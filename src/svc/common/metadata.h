/* SPDX-License-Identifier: Apache-2.0
 * Name and value pairs (x-ms-meta-*, tags), in order, as one field of a record. Slices point to whatever they were made
 * from. */
#ifndef SVC_COMMON_METADATA_H
#define SVC_COMMON_METADATA_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/bytes.h"
#include "base/err.h"
#include "base/limits.h"

struct pair {
	struct slice name;
	struct slice value;
};

struct pairs {
	struct pair *pair;
	size_t count;
};

enum { PAIRS_MAX = LIMIT_HEADER_COUNT }; /* each came in a header of one request */

void pairs_encode(struct buf *, const struct pairs *);
/* Slices point into the record; the array is in the arena. Marks the cursor failed on damage or lack of memory. */
struct pairs pairs_decode(struct cursor *, struct arena *);
/* Same names (without case) and values, in any order. */
bool pairs_equal(const struct pairs *, const struct pairs *);

#endif
