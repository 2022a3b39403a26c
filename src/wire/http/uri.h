/* SPDX-License-Identifier: Apache-2.0
 * Percent-decoding and query strings. Decoded bytes live in the arena; parts of a query that need no decoding stay
 * where they are. */
#ifndef WIRE_URI_H
#define WIRE_URI_H

#include "base/arena.h"
#include "base/err.h"

struct param {
	struct slice name;	/* decoded */
	struct slice value;	/* decoded; empty if there was no '=' */
	struct slice raw_value; /* as sent; points into the query that was parsed */
};

struct query {
	struct param *params;
	size_t count;
	uint64_t name_marks; /* slice_name_mark of every parameter */
};

/* %XX only ('+' stays '+'); ERR_SYNTAX on a bad escape or when the result has a NUL or is not UTF-8. */
enum err uri_decode(struct slice encoded, struct arena *, struct slice *ret) MUST_CHECK;
/* As uri_decode for query parts, but here '+' is a blank: clients written in Go send it so and sign the blank. At most
 * LIMIT_QUERY_PARAMS, more is ERR_SYNTAX. Empty parts ("a&&b") are skipped; a name may be empty ("=v"). */
enum err uri_parse_query(struct slice query, struct arena *, struct query *ret) MUST_CHECK;
/* First parameter of that name (names compare without case); absent if missing. */
struct slice query_search(const struct query *, struct slice name);
static inline struct slice query_get(const struct query *q, struct slice name)
{
	return q->name_marks & slice_name_mark(name) ? query_search(q, name) : SLICE_NONE;
}
size_t query_count(const struct query *, struct slice name);
/* Percent-encodes everything but unreserved characters and those in `keep`. */
struct buf;
void uri_encode(struct buf *, struct slice text, const char *keep);
/* Percent-encodes only what may not stand in a URI at all: blanks, controls, bytes past ASCII. */
void uri_escape(struct buf *, struct slice text);

#endif
