/* SPDX-License-Identifier: Apache-2.0
 * Conditional headers of the Blob service into struct conditions: syntax, and which combinations a version and a verb
 * allow (specs: conditional headers on blobs and containers). Judging them is the service's. */
#ifndef REST_CONDITIONAL_H
#define REST_CONDITIONAL_H

#include "lock/lease.h"
#include "rest/core/request.h"
#include "svc/common/conditions.h"

/* The value of a header that says whether something happens; absent is a value. Given twice it says two things: 400.
 * Shared Key refuses such a request before, other credentials do not look at headers. */
enum err conditional_header(struct request *, const char *name, struct slice *ret) MUST_CHECK;
enum err conditional_parse_read(struct request *, struct conditions *ret) MUST_CHECK;
enum err conditional_parse_write(struct request *, struct conditions *ret) MUST_CHECK;
/* Operations on containers know only the two time headers; an ETag header is refused, so that nobody believes in it. */
enum err conditional_parse_container(struct request *, struct conditions *ret) MUST_CHECK;
/* Get and Set Blob Tags have names of their own, x-ms-blob-if-*; the plain ones are refused there. */
enum err conditional_parse_tags(struct request *, struct conditions *ret) MUST_CHECK;
/* x-ms-access-tier-if-*: the two times again, of the last change of the tier. Both may be given. */
enum err conditional_parse_tier(struct request *, struct conditions *ret) MUST_CHECK;
/* An If-Match, or the same under another name, that is neither "*" nor an ETag of ours: copies name it differently. */
bool conditional_match_is_foreign(const struct request *, const char *header);
/* x-ms-source-if-* of copies: the same headers under another prefix. */
enum err conditional_parse_source(struct request *, struct conditions *ret) MUST_CHECK;

/* x-ms-lease-id: *ret_has says whether it is there. 400 if it is no GUID. */
enum err rest_lease_id_parse(struct request *, const char *header, bool *ret_has, struct uuid *ret) MUST_CHECK;
/* x-ms-lease-action and its parameters. */
enum err rest_lease_request_parse(struct request *, struct lease_request *ret) MUST_CHECK;
/* Status and headers of a lease answer (ETag and Last-Modified are the caller's). */
void rest_lease_request_format(struct request *, const struct lease_request *);
void rest_lease_put_headers(struct request *, const struct lease *, uint64_t now_ticks);
void rest_lease_put_xml(struct buf *, const struct lease *, uint64_t now_ticks);

#endif
