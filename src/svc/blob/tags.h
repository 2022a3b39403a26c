/* SPDX-License-Identifier: Apache-2.0
 * Blob index tags: the expression language of x-ms-if-tags and Find Blobs by Tags, and the index rows. */
#ifndef SVC_BLOB_TAGS_H
#define SVC_BLOB_TAGS_H

#include "svc/blob/record.h"

struct tag_filter;

/* x-ms-if-tags holds for these tags (NULL: the blob is not there, it has none). */
bool tag_filter_matches(const struct tag_filter *, const struct pairs *tags);
/* The index follows the tags of the base blob; either may be NULL. */
enum err tags_reindex(struct txn *, struct slice name, const struct pairs *old, const struct pairs *fresh) MUST_CHECK;

#endif
