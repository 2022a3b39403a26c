/* SPDX-License-Identifier: Apache-2.0
 * HTTP/1.1 framing, strict: what could be read in two ways is an error (400 and close). Pure: bytes in, slices out.
 *
 * Refused: both Content-Length and Transfer-Encoding; repeated or differing Content-Length; a sign, blank or anything
 * but digits in it; any Transfer-Encoding but exactly "chunked" once (with one space before it at most); obs-fold; bare
 * LF or CR; NUL or control bytes in a header; blanks before the colon; a missing, empty-named or repeated Host
 * (HTTP/1.1); bad methods, targets or versions; chunk sizes that are not plain hex or overflow; chunk data not followed
 * by CRLF; trailers that would change the framing. */
#ifndef WIRE_HTTP1_H
#define WIRE_HTTP1_H

#include "base/arena.h"
#include "base/err.h"
#include "base/limits.h"
#include "base/slice.h"

enum http_method {
	HTTP_GET,
	HTTP_HEAD,
	HTTP_PUT,
	HTTP_POST,
	HTTP_DELETE,
	HTTP_OPTIONS,
	HTTP_MERGE,
	HTTP_PATCH,
	HTTP_OTHER
};

struct http_header {
	struct slice name;  /* as sent */
	struct slice value; /* trimmed */
};

enum { HTTP_HEADERS_FEW = 64 }; /* nearly all requests have no more; those of others lie in the arena */

struct http_head {
	enum http_method method;
	struct slice method_text;
	struct slice target; /* as sent */
	struct slice path; /* still percent-encoded, begins with '/'; of an absolute-form target its path; of "*" "/" */
	struct slice query;		   /* behind '?', absent if none */
	int minor_version;		   /* 0 or 1 */
	const struct http_header *headers; /* in `few` or the arena */
	size_t header_count;
	uint64_t name_marks; /* slice_name_mark of every header */
	struct slice host;
	bool has_content_length;
	uint64_t content_length;
	bool chunked;
	bool keep_alive;
	bool expect_continue;
	size_t head_bytes; /* consumed, including the blank line and one before the request line */
	struct http_header few[HTTP_HEADERS_FEW];
};

enum http_parse { HTTP_PARSE_MORE, HTTP_PARSE_DONE, HTTP_PARSE_BAD, HTTP_PARSE_TOO_LARGE };

/* `scanned_bytes` remembers, between calls on a growing input, how far the end of the head has been looked for; start
 * at 0. *ret points into the input and itself (it is not for copying) and holds something useful only after DONE. An
 * absolute-form target names the host; a Host header that differs from it is refused. TOO_LARGE: more than
 * LIMIT_HEAD_BYTES, _HEADER_COUNT or _TARGET_BYTES, or than the arena has. */
enum http_parse http_parse_head(struct slice input, size_t *scanned_bytes, struct arena *, struct http_head *ret);
/* Gives a head that was not parsed its headers; they are not copied. */
void http_set_headers(struct http_head *, const struct http_header *, size_t count);
/* The value of a header, name compared without case; absent if missing. */
struct slice http_header_search(const struct http_head *, struct slice name);
static inline struct slice http_header(const struct http_head *head, struct slice name)
{
	return head->name_marks & slice_name_mark(name) ? http_header_search(head, name) : SLICE_NONE;
}
/* How often it stands in the head. */
size_t http_header_count(const struct http_head *, struct slice name);

/* Chunked bodies: feed input, get data slices out of it. */
struct http_chunked {
	int state;
	uint64_t left_bytes;
	size_t line_bytes;
	bool digits;
	char name[17]; /* of the trailer being read, as far as it fits */
	size_t name_bytes;
};
void http_chunked_init(struct http_chunked *);
/* Consumes from *input; *ret_data is the next run of body bytes in it (may be empty). DONE after the last trailer line,
 * what is left in *input then is the next request. MORE with an empty run: all of *input is consumed. BAD and TOO_LARGE
 * are final. */
enum http_parse http_chunked_next(struct http_chunked *, struct slice *input, struct slice *ret_data);

const char *http_reason(int status);

#endif
