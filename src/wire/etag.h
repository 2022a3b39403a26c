/* SPDX-License-Identifier: Apache-2.0
 * ETags of blobs, containers, files: "0x" and the ticks as 15 upper-case hex digits, in quotes. etag_parse_list reads
 * If-Match and If-None-Match: an entry that cannot be one of ours (another form, weak) is legal and matches nothing.
 * Table entities have ETags of another form (rest/table/entity_json.h). */
#ifndef WIRE_ETAG_H
#define WIRE_ETAG_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"

enum { ETAG_BYTES = 19 }; /* with quotes; without them dst + 1, ETAG_BYTES - 2 */

/* Exactly ETAG_BYTES, no NUL. Fifteen digits hold the ticks of any date before the year 3654. */
void etag_format(uint64_t etag, char dst[ETAG_BYTES]);
void etag_put(struct buf *, uint64_t etag);
/* Exactly the form above, with or without the quotes. */
bool etag_parse(struct slice text, uint64_t *ret);

struct etag_list {
	bool any; /* "*" */
	const uint64_t *etags;
	size_t count;	      /* ours */
	size_t foreign_count; /* well-formed, but none of ours */
};
/* One or more, separated by commas, or "*" alone. ERR_SYNTAX: empty, an open quote, "*" among others. ERR_LIMIT: more
 * than LIMIT_ETAGS. */
enum err etag_parse_list(struct slice header, struct arena *, struct etag_list *ret) MUST_CHECK;

#endif
