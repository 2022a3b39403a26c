/* SPDX-License-Identifier: Apache-2.0
 * The head is parsed only once its end is in the input, so the verdict on a head never depends on how it was cut into
 * packets. The end is the first empty line; until then every LF must follow a CR, which is the one thing judged early.
 * A request that is alone in the buffer and ends with an empty line (nearly every GET) skips the search for it.
 * One empty line before the request line is ignored (RFC 9112, 2.2): some clients end a body with one. */
#include "wire/http/http1.h"

#include "wire/chars.h"
#include "wire/http/http1_int.h"

/* Looks for the empty line from *scanned on. DONE: it is there (or a bare LF is, which the parse will refuse). */
static enum http_parse head_find_end(struct slice input, size_t *scanned)
{
	size_t len = input.len < LIMIT_HEAD_BYTES ? input.len : LIMIT_HEAD_BYTES;
	size_t at = *scanned < len ? *scanned : len;
	const char *base = input.ptr, *lf;
	while (at < len && (lf = memchr(base + at, '\n', len - at))) {
		at = (size_t)(lf - base) + 1;
		if (at < 2 || lf[-1] != '\r')
			return HTTP_PARSE_BAD;
		if (at == 2 || lf[-2] == '\n')
			return HTTP_PARSE_DONE;
	}
	*scanned = len;
	return input.len >= LIMIT_HEAD_BYTES ? HTTP_PARSE_TOO_LARGE : HTTP_PARSE_MORE;
}

static bool head_end_is_last(struct slice input)
{
	return input.len >= 4 && input.len <= LIMIT_HEAD_BYTES && memcmp(input.ptr + input.len - 4, "\r\n\r\n", 4) == 0;
}

enum http_method http_method_of(struct slice m)
{
	static const struct {
		struct slice text;
		enum http_method method;
	} known[] = {
		{ { "GET", 3 }, HTTP_GET },	{ { "PUT", 3 }, HTTP_PUT },	    { { "HEAD", 4 }, HTTP_HEAD },
		{ { "POST", 4 }, HTTP_POST },	{ { "DELETE", 6 }, HTTP_DELETE },   { { "MERGE", 5 }, HTTP_MERGE },
		{ { "PATCH", 5 }, HTTP_PATCH }, { { "OPTIONS", 7 }, HTTP_OPTIONS },
	};
	for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
		if (slice_eq(m, known[i].text))
			return known[i].method;
	return HTTP_OTHER;
}

static bool host_valid(struct slice host)
{
	for (size_t i = 0; i < host.len; i++)
		if (!char_is(host.ptr[i], CHAR_HOST))
			return false;
	return host.len != 0;
}

bool http_target_split(struct http_head *head, struct slice *ret_authority)
{
	struct slice rest = head->target;
	head->query = SLICE_NONE;
	if (rest.ptr[0] == '*') {
		head->path = SLICE("/");
		return rest.len == 1 && head->method == HTTP_OPTIONS;
	}
	if (rest.ptr[0] != '/') {
		size_t skip = slice_has_prefix_nocase(rest, SLICE("http://"))	 ? 7
			      : slice_has_prefix_nocase(rest, SLICE("https://")) ? 8
										 : 0;
		if (skip == 0)
			return false;
		rest = slice_from(rest, skip);
		size_t at = 0;
		while (at < rest.len && rest.ptr[at] != '/' && rest.ptr[at] != '?')
			at++;
		*ret_authority = slice_first(rest, at);
		if (!host_valid(*ret_authority))
			return false;
		rest = slice_from(rest, at);
	}
	size_t mark = slice_find_byte(rest, '?');
	head->path = mark ? slice_first(rest, mark) : SLICE("/");
	if (mark < rest.len)
		head->query = slice_from(rest, mark + 1);
	return true;
}

/* Returns the position behind the line's LF, NULL if the line is bad. */
static const char *parse_request_line(const char *p, const char *end, struct http_head *head,
				      struct slice *ret_authority)
{
	const char *start = p;
	while (p < end && char_is(*p, CHAR_TOKEN))
		p++;
	head->method_text = slice_make(start, (size_t)(p - start));
	if (p == start || p == end || *p != ' ' || p - start > HTTP_METHOD_BYTES_MAX)
		return NULL;
	head->method = http_method_of(head->method_text);

	start = ++p;
	p += char_target_length(slice_make(p, (size_t)(end - p)));
	head->target = slice_make(start, (size_t)(p - start));
	if (p == start || end - p < 11 || memcmp(p, " HTTP/1.", 8) != 0 || (p[8] != '0' && p[8] != '1') ||
	    p[9] != '\r' || p[10] != '\n')
		return NULL;
	head->minor_version = p[8] - '0';
	return http_target_split(head, ret_authority) ? p + 11 : NULL;
}

/* Returns the position behind the line's LF, NULL if the line is bad. */
static const char *parse_header_line(const char *p, const char *end, struct http_header *ret)
{
	const char *start = p;
	while (p < end && char_is(*p, CHAR_TOKEN))
		p++;
	if (p == start || p == end || *p != ':')
		return NULL;
	ret->name = slice_make(start, (size_t)(p - start));
	p++;
	while (p < end && (*p == ' ' || *p == '\t'))
		p++;
	start = p;
	while ((p = char_find_control(p, end)) < end && *p == '\t')
		p++;
	if (end - p < 2 || p[0] != '\r' || p[1] != '\n')
		return NULL;
	const char *last = p;
	while (last > start && (last[-1] == ' ' || last[-1] == '\t'))
		last--;
	ret->value = slice_make(start, (size_t)(last - start));
	return p + 2;
}

struct head_seen {
	bool host, transfer_encoding, close, keep_alive;
};

static void note_connection(struct slice value, struct head_seen *seen)
{
	while (slice_is_set(value)) {
		struct slice option = slice_trim(slice_cut(&value, ','));
		seen->close |= slice_eq_nocase(option, SLICE("close"));
		seen->keep_alive |= slice_eq_nocase(option, SLICE("keep-alive"));
	}
}

/* Exactly "chunked" behind the colon, at most one space between: others disagree about which blanks to skip. The value
 * lies in the head, so the byte behind it is there: CR, or a blank that was trimmed. */
static bool encoding_is_chunked(const struct http_header *h)
{
	const char *behind_colon = h->name.ptr + h->name.len + 1;
	size_t gap = (size_t)(h->value.ptr - behind_colon);
	return slice_eq_nocase(h->value, SLICE("chunked")) && (gap == 0 || (gap == 1 && *behind_colon == ' ')) &&
	       h->value.ptr[h->value.len] == '\r';
}

/* The headers that framing and the connection depend on. */
static bool note_header(const struct http_header *h, struct http_head *head, struct head_seen *seen)
{
	switch (h->name.len) {
	case 4:
		if (slice_eq_nocase(h->name, SLICE("Host"))) {
			if (seen->host)
				return false;
			seen->host = true;
			head->host = h->value;
		}
		return true;
	case 6:
		if (slice_eq_nocase(h->name, SLICE("Expect")))
			head->expect_continue |= slice_eq_nocase(h->value, SLICE("100-continue"));
		return true;
	case 10:
		if (slice_eq_nocase(h->name, SLICE("Connection")))
			note_connection(h->value, seen);
		return true;
	case 14:
		if (slice_eq_nocase(h->name, SLICE("Content-Length"))) {
			if (head->has_content_length || !slice_to_u64(h->value, &head->content_length) ||
			    head->content_length > INT64_MAX)
				return false;
			head->has_content_length = true;
		}
		return true;
	case 17:
		if (slice_eq_nocase(h->name, SLICE("Transfer-Encoding"))) {
			if (seen->transfer_encoding || !encoding_is_chunked(h))
				return false;
			seen->transfer_encoding = true;
		}
		return true;
	default:
		return true;
	}
}

static bool head_finish(struct http_head *head, const struct head_seen *seen, struct slice authority)
{
	if (seen->transfer_encoding && (head->has_content_length || head->minor_version == 0))
		return false;
	if (head->minor_version == 1 && !seen->host)
		return false;
	if (seen->host && !host_valid(head->host))
		return false;
	if (slice_is_set(authority)) {
		/* Two names for one server are two readings. */
		if (seen->host && !slice_eq_nocase(authority, head->host))
			return false;
		head->host = authority;
	}
	head->chunked = seen->transfer_encoding;
	head->keep_alive = !seen->close && (head->minor_version == 1 || seen->keep_alive);
	head->expect_continue &= head->minor_version == 1;
	return true;
}

/* Room for one more header behind the `count` of *at; false: too many. */
static bool headers_grow(struct http_header **at, size_t count, size_t *room, struct arena *arena)
{
	if (count < *room)
		return true;
	struct http_header *more = *room < LIMIT_HEADER_COUNT ? arena_alloc(arena, 2 * *room * sizeof *more) : NULL;
	if (!more)
		return false;
	memcpy(more, *at, count * sizeof *more);
	*at = more;
	*room *= 2;
	return true;
}
#define HEADERS_DOUBLINGS (LIMIT_HEADER_COUNT / HTTP_HEADERS_FEW)
_Static_assert(LIMIT_HEADER_COUNT % HTTP_HEADERS_FEW == 0 && (HEADERS_DOUBLINGS & (HEADERS_DOUBLINGS - 1)) == 0,
	       "doubling the room ends at the limit");

void http_set_headers(struct http_head *head, const struct http_header *headers, size_t count)
{
	head->headers = headers;
	head->header_count = count;
	head->name_marks = 0;
	for (size_t i = 0; i < count; i++)
		head->name_marks |= slice_name_mark(headers[i].name);
}

/* The head in [input, end), which has an empty line or a bare LF. */
static enum http_parse parse_head(const char *input, const char *end, struct arena *arena, struct http_head *ret)
{
	struct http_header *headers = ret->few;
	size_t count = 0, room = HTTP_HEADERS_FEW;
	struct slice authority = SLICE_NONE;
	struct head_seen seen = { 0 };
	ret->host = SLICE_NONE;
	ret->has_content_length = ret->chunked = ret->expect_continue = false;
	ret->content_length = 0;

	const char *p = parse_request_line(input, end, ret, &authority);
	if (!p)
		return HTTP_PARSE_BAD;
	if (ret->target.len > LIMIT_TARGET_BYTES)
		return HTTP_PARSE_TOO_LARGE;
	while (end - p < 2 || p[0] != '\r' || p[1] != '\n') {
		if (!headers_grow(&headers, count, &room, arena))
			return HTTP_PARSE_TOO_LARGE;
		struct http_header *h = &headers[count++];
		p = parse_header_line(p, end, h);
		if (!p || !note_header(h, ret, &seen))
			return HTTP_PARSE_BAD;
	}
	http_set_headers(ret, headers, count);
	if (!head_finish(ret, &seen, authority))
		return HTTP_PARSE_BAD;
	ret->head_bytes = (size_t)(p + 2 - input);
	return HTTP_PARSE_DONE;
}

enum http_parse http_parse_head(struct slice input, size_t *scanned_bytes, struct arena *arena, struct http_head *ret)
{
	size_t ignored = slice_has_prefix(input, SLICE("\r\n")) ? 2 : 0;
	input = slice_from(input, ignored);
	if (input.len == 0 || slice_eq(input, SLICE("\r")))
		return HTTP_PARSE_MORE;
	bool searched = *scanned_bytes != 0 || !head_end_is_last(input);
	if (searched) {
		enum http_parse found = head_find_end(input, scanned_bytes);
		if (found != HTTP_PARSE_DONE)
			return found;
	}
	const char *end = input.ptr + (input.len < LIMIT_HEAD_BYTES ? input.len : LIMIT_HEAD_BYTES);
	enum http_parse verdict = parse_head(input.ptr, end, arena, ret);
	/* Too many headers and then a bare LF: the search would have seen the LF first. */
	if (verdict == HTTP_PARSE_TOO_LARGE && !searched) {
		size_t from_start = 0;
		if (head_find_end(input, &from_start) == HTTP_PARSE_BAD)
			return HTTP_PARSE_BAD;
	}
	if (verdict == HTTP_PARSE_DONE)
		ret->head_bytes += ignored;
	return verdict;
}

static bool header_named(const struct http_header *h, struct slice name)
{
	return h->name.len == name.len && ((h->name.ptr[name.len - 1] ^ name.ptr[name.len - 1]) & ~0x20) == 0 &&
	       slice_has_prefix_nocase(h->name, name);
}

struct slice http_header_search(const struct http_head *head, struct slice name)
{
	for (size_t i = 0; name.len && i < head->header_count; i++)
		if (header_named(&head->headers[i], name))
			return head->headers[i].value;
	return SLICE_NONE;
}

size_t http_header_count(const struct http_head *head, struct slice name)
{
	size_t count = 0;
	for (size_t i = 0; name.len && i < head->header_count; i++)
		count += header_named(&head->headers[i], name);
	return count;
}

/* Chunked bodies: one state per kind of byte that may come next. */
enum {
	CHUNK_SIZE,
	CHUNK_SIZE_BLANK, /* between a size and its extension */
	CHUNK_EXTENSION,
	CHUNK_SIZE_LF,
	CHUNK_DATA,
	CHUNK_DATA_CR,
	CHUNK_DATA_LF,
	CHUNK_TRAILER_START, /* a trailer's name or the last CRLF */
	CHUNK_TRAILER_NAME,
	CHUNK_TRAILER_VALUE,
	CHUNK_TRAILER_LF,
	CHUNK_LAST_LF,
	CHUNK_DONE,
	CHUNK_FAILED
};

void http_chunked_init(struct http_chunked *c)
{
	*c = (struct http_chunked){ .state = CHUNK_SIZE };
}

static bool trailer_forbidden(struct slice name)
{
	static const struct slice names[] = { { "Content-Length", 14 }, { "Transfer-Encoding", 17 }, { "Host", 4 } };
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
		if (slice_eq_nocase(name, names[i]))
			return true;
	return false;
}

static bool value_byte(char b)
{
	return b == '\t' || ((unsigned char)b >= 0x20 && b != 0x7f);
}

static int chunk_blank_byte(char b)
{
	return b == ';' ? CHUNK_EXTENSION : b == ' ' || b == '\t' ? CHUNK_SIZE_BLANK : CHUNK_FAILED;
}

static int chunk_size_byte(struct http_chunked *c, char b)
{
	int digit = char_hex(b);
	if (digit >= 0) {
		if (c->left_bytes >> 59)
			return CHUNK_FAILED;
		c->left_bytes = c->left_bytes << 4 | (unsigned)digit;
		c->digits = true;
		return CHUNK_SIZE;
	}
	if (!c->digits)
		return CHUNK_FAILED;
	return b == '\r' ? CHUNK_SIZE_LF : chunk_blank_byte(b);
}

static int chunk_trailer_byte(struct http_chunked *c, char b)
{
	if (c->state == CHUNK_TRAILER_START) {
		if (b == '\r')
			return CHUNK_LAST_LF;
		c->name_bytes = 0;
	}
	if (b == ':' && c->name_bytes) {
		/* Names longer than the buffer are none of the forbidden ones. */
		bool forbidden =
			c->name_bytes <= sizeof c->name && trailer_forbidden(slice_make(c->name, c->name_bytes));
		return forbidden ? CHUNK_FAILED : CHUNK_TRAILER_VALUE;
	}
	if (!char_is(b, CHAR_TOKEN))
		return CHUNK_FAILED;
	if (c->name_bytes < sizeof c->name)
		c->name[c->name_bytes] = b;
	c->name_bytes++;
	return CHUNK_TRAILER_NAME;
}

static int chunk_line_byte(struct http_chunked *c, char b)
{
	switch (c->state) {
	case CHUNK_SIZE:
		return chunk_size_byte(c, b);
	case CHUNK_SIZE_BLANK:
		return chunk_blank_byte(b);
	case CHUNK_EXTENSION:
		return b == '\r' ? CHUNK_SIZE_LF : value_byte(b) ? CHUNK_EXTENSION : CHUNK_FAILED;
	case CHUNK_SIZE_LF:
		if (b != '\n')
			return CHUNK_FAILED;
		c->line_bytes = 0;
		return c->left_bytes ? CHUNK_DATA : CHUNK_TRAILER_START;
	case CHUNK_DATA_CR:
		return b == '\r' ? CHUNK_DATA_LF : CHUNK_FAILED;
	case CHUNK_DATA_LF:
		c->line_bytes = 0;
		c->digits = false;
		return b == '\n' ? CHUNK_SIZE : CHUNK_FAILED;
	case CHUNK_TRAILER_START:
	case CHUNK_TRAILER_NAME:
		return chunk_trailer_byte(c, b);
	case CHUNK_TRAILER_VALUE:
		return b == '\r' ? CHUNK_TRAILER_LF : value_byte(b) ? CHUNK_TRAILER_VALUE : CHUNK_FAILED;
	case CHUNK_TRAILER_LF:
		return b == '\n' ? CHUNK_TRAILER_START : CHUNK_FAILED;
	case CHUNK_LAST_LF:
		return b == '\n' ? CHUNK_DONE : CHUNK_FAILED;
	default:
		return CHUNK_FAILED;
	}
}

enum http_parse http_chunked_next(struct http_chunked *c, struct slice *input, struct slice *ret_data)
{
	*ret_data = slice_make(input->ptr, 0);
	if (c->state == CHUNK_DONE)
		return HTTP_PARSE_DONE;
	while (input->len && c->state != CHUNK_FAILED) {
		if (c->state == CHUNK_DATA) {
			size_t run = c->left_bytes < input->len ? (size_t)c->left_bytes : input->len;
			*ret_data = slice_first(*input, run);
			*input = slice_from(*input, run);
			c->left_bytes -= run;
			if (c->left_bytes == 0)
				c->state = CHUNK_DATA_CR;
			return HTTP_PARSE_MORE;
		}
		char b = input->ptr[0];
		*input = slice_from(*input, 1);
		/* Counted from a size line's first byte to its end, and over all trailers together. */
		if (++c->line_bytes > LIMIT_CHUNK_LINE_BYTES) {
			c->state = CHUNK_FAILED;
			return HTTP_PARSE_TOO_LARGE;
		}
		c->state = chunk_line_byte(c, b);
		if (c->state == CHUNK_DONE)
			return HTTP_PARSE_DONE;
	}
	return c->state == CHUNK_FAILED ? HTTP_PARSE_BAD : HTTP_PARSE_MORE;
}

const char *http_reason(int status)
{
	switch (status) {
	case 100:
		return "Continue";
	case 200:
		return "OK";
	case 201:
		return "Created";
	case 202:
		return "Accepted";
	case 204:
		return "No Content";
	case 206:
		return "Partial Content";
	case 207:
		return "Multi-Status";
	case 301:
		return "Moved Permanently";
	case 302:
		return "Found";
	case 304:
		return "Not Modified";
	case 307:
		return "Temporary Redirect";
	case 400:
		return "Bad Request";
	case 401:
		return "Unauthorized";
	case 403:
		return "Forbidden";
	case 404:
		return "Not Found";
	case 405:
		return "Method Not Allowed";
	case 406:
		return "Not Acceptable";
	case 408:
		return "Request Timeout";
	case 409:
		return "Conflict";
	case 410:
		return "Gone";
	case 411:
		return "Length Required";
	case 412:
		return "Precondition Failed";
	case 413:
		return "Payload Too Large";
	case 414:
		return "URI Too Long";
	case 415:
		return "Unsupported Media Type";
	case 416:
		return "Range Not Satisfiable";
	case 417:
		return "Expectation Failed";
	case 429:
		return "Too Many Requests";
	case 431:
		return "Request Header Fields Too Large";
	case 500:
		return "Internal Server Error";
	case 501:
		return "Not Implemented";
	case 503:
		return "Service Unavailable";
	case 504:
		return "Gateway Timeout";
	case 505:
		return "HTTP Version Not Supported";
	case 507:
		return "Insufficient Storage";
	default:
		return "Status";
	}
}
