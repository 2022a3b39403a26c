/* SPDX-License-Identifier: Apache-2.0
 * x-ms-copy-source: reading another blob of this server on behalf of a request.
 *
 * The source is read by a part request of its own: it proves itself by what its URL carries (a SAS), by
 * x-ms-copy-source-authorization, by being public, or, within one account, by the key that signed the copy. Its
 * conditions are the x-ms-source-if-* headers. A URL that does not name this server is refused: a fetch never leaves
 * it. */
#ifndef REST_COPY_SOURCE_H
#define REST_COPY_SOURCE_H

#include "rest/blob/common.h"

struct copy_source {
	struct slice url;
	bool asynchronous; /* Copy Blob: its errors differ */
	bool into_content; /* pages, appended blocks: theirs differ too */
	bool has_range;	   /* x-ms-source-range */
	bool none_at_all;  /* x-ms-source-if-none-match: *, which no source meets */
	bool is_file;	   /* the source is a file of the File service */
	struct request *part;
	bool has_md5, has_crc64; /* x-ms-source-content-md5, -crc64 */
	unsigned char md5[16];
	uint64_t crc64;
};

/* Head only: the URL and the syntax of the x-ms-source-* headers. takes_range: x-ms-source-range counts. */
enum err rest_blob_copy_source_parse(struct request *, bool asynchronous, bool takes_range,
				     struct copy_source *ret) MUST_CHECK;
/* On the loop: starts the part; the next step finds it done. */
enum err rest_blob_copy_source_start(struct request *, struct copy_source *) MUST_CHECK;
/* After it: what was found, or the error to answer. The pieces stay until the request ends. */
enum err rest_blob_copy_source_result(struct request *, const struct copy_source *,
				      const struct blob_get_call **ret) MUST_CHECK;
/* On a worker: the bytes of the pieces into req->payload, hashed and checked. only_extents as for uploads. */
enum err rest_blob_copy_source_fetch(struct request *, const struct copy_source *, const struct blob_get_call *,
				     bool only_extents) MUST_CHECK;
/* Are r->body_md5 and body_crc64 what x-ms-source-content-* asked for? */
enum err rest_blob_copy_source_check(struct request *, const struct copy_source *) MUST_CHECK;

#endif
