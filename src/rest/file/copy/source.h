/* SPDX-License-Identifier: Apache-2.0
 * x-ms-copy-source: reading a file or a blob of this server on behalf of a request. The source is read by a part
 * request of its own, through its service, with its own credentials; what is copied is the body and the headers of
 * its answer. */
#ifndef REST_FILE_SOURCE_H
#define REST_FILE_SOURCE_H

#include "rest/file/common.h"

struct file_source {
	struct slice url;
	enum service service;
	bool owner_reads;   /* within one account the credentials of the request itself count */
	bool trusted;	    /* they did */
	struct slice range; /* of the source; absent = all */
	struct request *part;
};

/* The URL: ERR_MISSING_REQUIRED_HEADER, ERR_INVALID_HEADER_VALUE, or that it is not on this server. */
enum err rest_file_source_parse(struct request *, struct file_source *ret) MUST_CHECK;
/* On the loop: starts the part; the next step finds it done. */
enum err rest_file_source_start(struct request *, struct file_source *) MUST_CHECK;
/* After it: ERR_OK, or the error to answer. */
enum err rest_file_source_result(struct request *, const struct file_source *) MUST_CHECK;
/* It is a file of the share that the request is for. */
bool rest_file_source_is_in_share(const struct request *, const struct file_source *);
/* On a worker: its bytes into req->payload, with their hashes in req->body_md5 and body_crc64. */
enum err rest_file_source_fetch(struct request *, const struct file_source *) MUST_CHECK;

#endif
