/* SPDX-License-Identifier: Apache-2.0
 * prefix, marker, maxresults, include: the parameters of every XML list. Markers of lists of blobs are
 * 2!<len>!<base64>. */
#ifndef REST_PAGING_H
#define REST_PAGING_H

#include "rest/core/request.h"

enum { PAGE_MAX_RESULTS = 5000 };

struct paging {
	struct slice prefix;	 /* never absent */
	struct slice marker;	 /* as sent; absent if none */
	struct slice maxresults; /* as sent; absent if none */
	size_t limit;		 /* 1..PAGE_MAX_RESULTS */
};
enum err paging_parse(struct request *, struct paging *ret) MUST_CHECK;

/* Takes the next item of a comma-separated include list off *rest; false at the end. */
bool include_next(struct slice *rest, struct slice *ret);

/* Opaque markers around a text and a number. */
enum err marker_decode(struct request *, struct slice marker, struct slice *ret_text, uint64_t *ret_number) MUST_CHECK;
void marker_encode(struct buf *, struct slice text, uint64_t number);
/* The version of a deleted container or share, as lists show it: when it was deleted, in 16 digits of base 16. */
bool paging_version_parse(struct slice text, uint64_t *ret_ticks);
/* Before 2013-08-15 lists name things by URL: AccountName or ContainerName is one, and each entry has its own. */
bool paging_has_urls(const struct request *);
/* scheme://host/[account/] as the client wrote it; absent if there is no memory. */
struct slice paging_endpoint(struct request *);
/* The attribute  ServiceEndpoint="..", with a blank before it. */
void paging_put_endpoint(struct request *, struct buf *);
/* <EnumerationResults ServiceEndpoint=".." [ContainerName=".."]> with Prefix, Marker, MaxResults as sent. */
void paging_open_xml(struct request *, struct buf *, const struct paging *, struct slice container);
/* Called before each entry of a list is written: once a few are there, room is made for all `count`, so that
 * a page of megabytes is not copied each time its buffer doubles. */
static inline void paging_expect(struct buf *b, size_t written, size_t count)
{
	enum { SAMPLE = 64 };
	if (written == SAMPLE)
		buf_expect(b, b->len / SAMPLE * (count - written) + b->len);
}

#endif
