/* SPDX-License-Identifier: Apache-2.0
 * multipart/mixed with embedded requests: blob batches and entity group transactions.
 *
 * The reader takes lines that end with CRLF or LF, text before the first delimiter, and a changeset nested in one part.
 * It is bounded (LIMIT_BATCH_BYTES, LIMIT_BATCH_PARTS, LIMIT_HEADER_COUNT headers each) and refuses what is cut short:
 * each boundary must be closed. A body reaches to the line end before the next delimiter; a Content-Length may shorten
 * it but not ask for more. Slices point into the document, arrays are in the arena. */
#ifndef WIRE_MULTIPART_H
#define WIRE_MULTIPART_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "wire/http/http1.h"

struct multipart_request {
	struct slice method, url; /* url as sent: absolute or beginning with '/' */
	struct http_header *headers;
	size_t header_count;
	struct slice body;
	struct slice content_id; /* of the part, else among the request's own headers; absent if there is none */
	bool in_changeset;
};

struct multipart {
	struct multipart_request *requests;
	size_t count;
	size_t changesets;
};

/* The boundary out of a Content-Type; ERR_SYNTAX if that is not multipart/mixed with a boundary of 1..200 characters.
 */
enum err multipart_boundary(struct slice content_type, struct slice *ret) MUST_CHECK;
/* ERR_SYNTAX, ERR_NO_MEMORY, or ERR_LIMIT: too many bytes or parts. */
enum err multipart_parse(struct slice document, struct slice boundary, struct arena *,
			 struct multipart *ret) MUST_CHECK;
/* The request as one that came by itself: for running it. Host and framing are as if it had come on a connection. */
enum err multipart_head(const struct multipart_request *, struct http_head *ret) MUST_CHECK;

/* Writer. A part is its delimiter, lines of headers ("Name: value\r\n", may be empty), and what follows: a status or
 * request line, its headers, an empty line and the body by the caller, ended with multipart_put_part_end. */
void multipart_put_part(struct buf *, struct slice boundary, struct slice headers);
void multipart_put_status(struct buf *, int status); /* HTTP/1.1 202 Accepted */
void multipart_put_part_end(struct buf *);
void multipart_put_close(struct buf *, struct slice boundary);

#endif
