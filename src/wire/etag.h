/* SPDX-License-Identifier: Apache-2.0
 * ETags. Of blobs, containers, files: "0x" and the ticks as 15 upper-case hex digits, in quotes. Of table entities:
 * W/"datetime'...'" around the percent-encoded timestamp. The functions of struct etag_list read If-Match and
 * If-None-Match of the former: an entry that cannot be one of ours (another form, weak) is legal and matches nothing.
 */
#ifndef WIRE_ETAG_H
#define WIRE_ETAG_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"

enum { ETAG_BYTES = 19 }; /* with quotes; without them dst + 1, ETAG_BYTES - 2 */

/* Exactly ETAG_BYTES, no NUL. Fifteen digits hold the ticks of any date before the year 3654. */
void etag_format(uint64_t etag, char dst[ETAG_BYTES]);
void etag_put(struct buf *, uint64_t etag);
void etag_put_unquoted(struct buf *, uint64_t etag);
/* Exactly the form above, with or without the quotes. */
bool etag_parse(struct slice text, uint64_t *ret);

struct etag_list {
	bool any; /* "*" */
	const uint64_t *etags;
	size_t count;	      /* ours */
	size_t foreign_count; /* well-formed, but none of ours */
};
/* One or more, separated by commas, or "*" alone. ERR_SYNTAX: empty, an open quote, "*" among others. ERR_LIMIT: more than
 * LIMIT_ETAGS. */
enum err etag_parse_list(struct slice header, struct arena *, struct etag_list *ret) MUST_CHECK;
/* True for "*" too. */
bool etag_list_has(const struct etag_list *, uint64_t etag);

/* W/"datetime'2022-05-06T00%3A44%3A28.9094416Z'", trailing zeros of the fraction dropped */
void etag_put_table(struct buf *, uint64_t ticks);
/* The same form back to ticks; escapes optional. */
bool etag_parse_table(struct slice text, uint64_t *ret);

#endif
