/* SPDX-License-Identifier: Apache-2.0
 * Reading goes down: the document is cut into parts at the lines that are its delimiters, a part that is itself
 * multipart is cut once more, and what is left is a request. Each byte is looked at once per level. */
#include "wire/http/multipart.h"

#include "base/limits.h"
#include "wire/chars.h"
#include "wire/http/http1_int.h"

enum { BOUNDARY_BYTES_MAX = 200 };

struct reader {
	struct arena *arena;
	struct multipart result;
	size_t parts;
};

/* The next line without its end; *rest becomes absent behind the last. */
static struct slice cut_line(struct slice *rest)
{
	struct slice line = slice_cut(rest, '\n');
	if (line.len && line.ptr[line.len - 1] == '\r')
		line.len--;
	return line;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/* The value of a parameter, quoted or not, off the front of *rest. */
static bool cut_value(struct slice *rest, struct slice *ret)
{
	if (rest->len && rest->ptr[0] == '"') {
		*rest = slice_from(*rest, 1);
		size_t close = slice_find_byte(*rest, '"');
		if (close == rest->len)
			return false;
		*ret = slice_first(*rest, close);
		*rest = slice_from(*rest, close + 1);
		return true;
	}
	size_t end = slice_find_byte(*rest, ';');
	*ret = slice_trim(slice_first(*rest, end));
	*rest = slice_from(*rest, end);
	return true;
}

static bool boundary_valid(struct slice b)
{
	if (b.len == 0 || b.len > BOUNDARY_BYTES_MAX || is_blank(b.ptr[b.len - 1]))
		return false;
	for (size_t i = 0; i < b.len; i++)
		if ((unsigned char)b.ptr[i] < 0x20 || (unsigned char)b.ptr[i] >= 0x7f)
			return false;
	return true;
}

enum err multipart_boundary(struct slice content_type, struct slice *ret)
{
	size_t end = slice_find_byte(content_type, ';');
	struct slice rest = slice_from(content_type, end), found = SLICE_NONE;
	if (!slice_eq_nocase(slice_trim(slice_first(content_type, end)), SLICE("multipart/mixed")))
		return ERR_SYNTAX;
	while (rest.len) {
		if (rest.ptr[0] != ';')
			return ERR_SYNTAX;
		rest = slice_trim(slice_from(rest, 1));
		if (rest.len == 0)
			break;
		size_t equals = slice_find_byte(rest, '=');
		if (equals == rest.len)
			return ERR_SYNTAX;
		struct slice name = slice_trim(slice_first(rest, equals)), value;
		rest = slice_trim(slice_from(rest, equals + 1));
		if (!cut_value(&rest, &value))
			return ERR_SYNTAX;
		rest = slice_trim(rest);
		if (!slice_eq_nocase(name, SLICE("boundary")))
			continue;
		if (slice_is_set(found))
			return ERR_SYNTAX;
		found = value;
	}
	if (!boundary_valid(found))
		return ERR_SYNTAX;
	*ret = found;
	return ERR_OK;
}

enum delimiter { NO_DELIMITER, DELIMITER_NEXT, DELIMITER_CLOSE };

static enum delimiter delimiter_of(struct slice line, struct slice boundary)
{
	if (!slice_has_prefix(line, SLICE("--")) || !slice_has_prefix(slice_from(line, 2), boundary))
		return NO_DELIMITER;
	line = slice_from(line, 2 + boundary.len);
	enum delimiter kind = DELIMITER_NEXT;
	if (slice_has_prefix(line, SLICE("--"))) {
		kind = DELIMITER_CLOSE;
		line = slice_from(line, 2);
	}
	return slice_trim(line).len == 0 ? kind : NO_DELIMITER;
}

/* Cuts the content up to the next delimiter off *rest, without the line end that belongs to the delimiter. */
static enum delimiter cut_part(struct slice *rest, struct slice boundary, struct slice *ret_content)
{
	const char *start = rest->ptr;
	while (slice_is_set(*rest)) {
		const char *line_start = rest->ptr;
		enum delimiter kind = delimiter_of(cut_line(rest), boundary);
		if (kind == NO_DELIMITER)
			continue;
		size_t len = (size_t)(line_start - start);
		if (len && start[len - 1] == '\n')
			len--;
		if (len && start[len - 1] == '\r')
			len--;
		*ret_content = slice_make(start, len);
		return kind;
	}
	return NO_DELIMITER;
}

static bool parse_header(struct slice line, struct http_header *ret)
{
	size_t colon = slice_find_byte(line, ':');
	if (colon == 0 || colon == line.len)
		return false;
	for (size_t i = 0; i < colon; i++)
		if (!char_is(line.ptr[i], CHAR_TOKEN))
			return false;
	const char *p = line.ptr + colon, *end = line.ptr + line.len;
	while ((p = char_find_control(p, end)) < end && *p == '\t')
		p++;
	ret->name = slice_first(line, colon);
	ret->value = slice_trim(slice_from(line, colon + 1));
	return p == end;
}

/* Header lines up to the empty line or the end. Those of a part go nowhere but to the two that count. */
static enum err parse_part_headers(struct slice *rest, struct slice *ret_type, struct slice *ret_id)
{
	*ret_type = *ret_id = SLICE_NONE;
	for (size_t count = 0; slice_is_set(*rest); count++) {
		struct slice line = cut_line(rest);
		struct http_header h;
		if (line.len == 0)
			return ERR_OK;
		if (count == LIMIT_HEADER_COUNT || !parse_header(line, &h))
			return ERR_SYNTAX;
		if (slice_eq_nocase(h.name, SLICE("Content-Type")))
			*ret_type = h.value;
		else if (slice_eq_nocase(h.name, SLICE("Content-ID")))
			*ret_id = h.value;
	}
	return ERR_SYNTAX; /* headers and nothing behind them */
}

static bool parse_request_line(struct slice line, struct multipart_request *ret)
{
	struct slice rest = line;
	ret->method = slice_cut(&rest, ' ');
	ret->url = slice_cut(&rest, ' ');
	if (ret->method.len == 0 || ret->url.len == 0 || !slice_is_set(rest))
		return false;
	/* As on a connection: others count on it, the log for one. */
	if (ret->method.len > HTTP_METHOD_BYTES_MAX || ret->url.len > LIMIT_TARGET_BYTES)
		return false;
	for (size_t i = 0; i < ret->method.len; i++)
		if (!char_is(ret->method.ptr[i], CHAR_TOKEN))
			return false;
	if (char_target_length(ret->url) < ret->url.len)
		return false;
	rest = slice_trim(rest);
	return slice_eq(rest, SLICE("HTTP/1.1")) || slice_eq(rest, SLICE("HTTP/1.0"));
}

static size_t count_lines(struct slice s)
{
	size_t count = 0;
	while (slice_is_set(s) && cut_line(&s).len)
		count++;
	return count;
}

static enum err parse_request_headers(struct reader *r, struct slice *rest, struct multipart_request *req)
{
	size_t count = count_lines(*rest);
	if (count > LIMIT_HEADER_COUNT)
		return ERR_LIMIT;
	req->headers = ARENA_NEW_ARRAY(r->arena, struct http_header, count);
	if (!req->headers)
		return ERR_NO_MEMORY;
	for (size_t i = 0; i < count; i++)
		if (!parse_header(cut_line(rest), &req->headers[i]))
			return ERR_SYNTAX;
	req->header_count = count;
	if (slice_is_set(*rest))
		cut_line(rest);
	return ERR_OK;
}

/* What Content-Length says about the body that the delimiters gave. */
static bool frame_body(struct multipart_request *req)
{
	bool seen = false;
	for (size_t i = 0; i < req->header_count; i++) {
		uint64_t length;
		if (slice_eq_nocase(req->headers[i].name, SLICE("Transfer-Encoding")))
			return false;
		if (!slice_eq_nocase(req->headers[i].name, SLICE("Content-Length")))
			continue;
		if (seen || !slice_to_u64(req->headers[i].value, &length) || length > req->body.len)
			return false;
		req->body.len = (size_t)length;
		seen = true;
	}
	return true;
}

static enum err add_request(struct reader *r, struct slice content, struct slice content_id, bool in_changeset)
{
	struct multipart_request req = { .content_id = content_id, .in_changeset = in_changeset };
	struct slice line;
	do {
		if (!slice_is_set(content))
			return ERR_SYNTAX;
		line = cut_line(&content);
	} while (line.len == 0);
	if (!parse_request_line(line, &req))
		return ERR_SYNTAX;
	TRY(parse_request_headers(r, &content, &req));
	for (size_t i = 0; i < req.header_count && !slice_is_set(req.content_id); i++)
		if (slice_eq_nocase(req.headers[i].name, SLICE("Content-ID")))
			req.content_id = req.headers[i].value;
	req.body = slice_is_set(content) ? content : SLICE("");
	if (!frame_body(&req))
		return ERR_SYNTAX;
	if (!r->result.requests) {
		r->result.requests = ARENA_NEW_ARRAY(r->arena, struct multipart_request, LIMIT_BATCH_PARTS);
		if (!r->result.requests)
			return ERR_NO_MEMORY;
	}
	if (r->result.count == LIMIT_BATCH_PARTS)
		return ERR_LIMIT;
	r->result.requests[r->result.count++] = req;
	return ERR_OK;
}

static enum err parse_parts(struct reader *r, struct slice document, struct slice boundary, bool in_changeset);

static enum err parse_part(struct reader *r, struct slice content, bool in_changeset)
{
	struct slice type, id, inner;
	/* One for each changeset too, so that empty ones are bounded as well. */
	if (++r->parts > 2 * LIMIT_BATCH_PARTS)
		return ERR_LIMIT;
	TRY(parse_part_headers(&content, &type, &id));
	if (!slice_is_set(type) || !slice_has_prefix_nocase(type, SLICE("multipart/")))
		return add_request(r, content, id, in_changeset);
	if (in_changeset || !slice_is_set(content))
		return ERR_SYNTAX;
	TRY(multipart_boundary(type, &inner));
	r->result.changesets++;
	return parse_parts(r, content, inner, true);
}

static enum err parse_parts(struct reader *r, struct slice document, struct slice boundary, bool in_changeset)
{
	struct slice content;
	enum delimiter kind = cut_part(&document, boundary, &content); /* the preamble */
	while (kind == DELIMITER_NEXT) {
		kind = cut_part(&document, boundary, &content);
		if (kind == NO_DELIMITER)
			return ERR_SYNTAX;
		TRY(parse_part(r, content, in_changeset));
	}
	return kind == DELIMITER_CLOSE ? ERR_OK : ERR_SYNTAX;
}

enum err multipart_parse(struct slice document, struct slice boundary, struct arena *arena, struct multipart *ret)
{
	struct reader r = { .arena = arena };
	if (document.len > LIMIT_BATCH_BYTES)
		return ERR_LIMIT;
	if (!boundary_valid(boundary))
		return ERR_SYNTAX;
	TRY(parse_parts(&r, document, boundary, false));
	*ret = r.result;
	return ERR_OK;
}

enum err multipart_head(const struct multipart_request *req, struct http_head *ret)
{
	struct slice authority = SLICE_NONE;
	ret->method_text = req->method;
	ret->method = http_method_of(req->method);
	ret->target = req->url;
	if (!http_target_split(ret, &authority))
		return ERR_SYNTAX;
	ret->minor_version = 1;
	http_set_headers(ret, req->headers, req->header_count);
	ret->host = slice_is_set(authority) ? authority : http_header(ret, SLICE("Host"));
	ret->has_content_length = true;
	ret->content_length = req->body.len;
	ret->chunked = ret->expect_continue = false;
	ret->keep_alive = true;
	ret->head_bytes = 0;
	return ERR_OK;
}

void multipart_put_part(struct buf *out, struct slice boundary, struct slice headers)
{
	BUF_PUT(out, "--");
	buf_put(out, boundary);
	BUF_PUT(out, "\r\n");
	buf_put(out, headers);
	BUF_PUT(out, "\r\n");
}

void multipart_put_status(struct buf *out, int status)
{
	BUF_PUT(out, "HTTP/1.1 ");
	buf_put_u64_dec(out, (uint64_t)status);
	BUF_PUT(out, " ");
	buf_put(out, slice_str(http_reason(status)));
	BUF_PUT(out, "\r\n");
}

void multipart_put_part_end(struct buf *out)
{
	BUF_PUT(out, "\r\n");
}

void multipart_put_close(struct buf *out, struct slice boundary)
{
	BUF_PUT(out, "--");
	buf_put(out, boundary);
	BUF_PUT(out, "--\r\n");
}
