/* SPDX-License-Identifier: Apache-2.0
 * Heads: what is read, and the matrix of what must be refused because somebody in front of us might read it otherwise.
 * Every row also runs cut at every byte and byte by byte, with the same verdict. */
#include "wire/http/http1.h"

#include "wire_test.h"

static struct http_head head;
static struct arena arena;

static enum http_parse parse_whole(struct slice input)
{
	size_t scanned = 0;
	arena_reset(&arena);
	return http_parse_head(input, &scanned, &arena, &head);
}

/* The verdict must be the one of the whole input, however it is cut. */
static void check_cuts(struct slice whole, enum http_parse expected)
{
	size_t step = 1 + whole.len / 4096;
	for (size_t cut = 0; cut <= whole.len; cut += step) {
		size_t scanned = 0;
		arena_reset(&arena);
		struct slice first = exact(whole.ptr, cut);
		enum http_parse r = http_parse_head(first, &scanned, &arena, &head);
		exact_free(first);
		if (r == HTTP_PARSE_MORE) {
			struct slice all = exact(whole.ptr, whole.len);
			r = http_parse_head(all, &scanned, &arena, &head);
			exact_free(all);
		}
		if (r != expected)
			fail_msg("cut at %zu: %d, not %d: %.*s", cut, r, expected, SLICE_FMT(whole));
	}
	size_t scanned = 0;
	enum http_parse r = HTTP_PARSE_MORE;
	for (size_t len = 0; r == HTTP_PARSE_MORE; len = len + step < whole.len ? len + step : whole.len) {
		struct slice part = exact(whole.ptr, len);
		r = http_parse_head(part, &scanned, &arena, &head);
		exact_free(part);
		if (len == whole.len)
			break;
	}
	if (r != expected)
		fail_msg("byte by byte: %d, not %d: %.*s", r, expected, SLICE_FMT(whole));
}

#define ROW(verdict, literal)                                                                                          \
	{                                                                                                              \
		verdict, sizeof(literal) - 1, literal                                                                  \
	}
#define BAD(literal)  ROW(HTTP_PARSE_BAD, literal)
#define GOOD(literal) ROW(HTTP_PARSE_DONE, literal)
#define H	      "GET / HTTP/1.1\r\nHost: a\r\n"
#define P	      "PUT /c/b HTTP/1.1\r\nHost: a\r\n"

static const struct {
	enum http_parse verdict;
	size_t len;
	const char *text;
} matrix[] = {
	/* two framings */
	BAD(P "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"),
	BAD(P "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n"),
	BAD(P "Content-Length: 5\r\nContent-Length: 5\r\n\r\n"),
	BAD(P "Content-Length: 5\r\nContent-Length: 6\r\n\r\n"),
	BAD(P "Content-Length: 5\r\ncontent-length: 0\r\n\r\n"),
	BAD(P "Content-Length: 5, 5\r\n\r\n"),
	BAD(P "Content-Length: 5,6\r\n\r\n"),
	/* numbers that others might read */
	BAD(P "Content-Length: +5\r\n\r\n"),
	BAD(P "Content-Length: -5\r\n\r\n"),
	BAD(P "Content-Length: -0\r\n\r\n"),
	BAD(P "Content-Length: 0x5\r\n\r\n"),
	BAD(P "Content-Length: 5a\r\n\r\n"),
	BAD(P "Content-Length: 1 2\r\n\r\n"),
	BAD(P "Content-Length: 5.0\r\n\r\n"),
	BAD(P "Content-Length:\r\n\r\n"),
	BAD(P "Content-Length: \"5\"\r\n\r\n"),
	BAD(P "Content-Length: 9223372036854775808\r\n\r\n"),
	BAD(P "Content-Length: 18446744073709551615\r\n\r\n"),
	BAD(P "Content-Length: 18446744073709551616\r\n\r\n"),
	BAD(P "Content-Length: 99999999999999999999999999\r\n\r\n"),
	GOOD(P "Content-Length: 9223372036854775807\r\n\r\n"),
	GOOD(P "Content-Length: 0\r\n\r\n"),
	GOOD(P "Content-Length: 4294967296\r\n\r\n"),
	GOOD(P "Content-Length:5\r\n\r\nhello"),
	GOOD(P "Content-Length:\t 5 \t\r\n\r\nhello"),
	/* transfer codings */
	GOOD(P "Transfer-Encoding: chunked\r\n\r\n"),
	GOOD(P "transfer-encoding: Chunked\r\n\r\n"),
	GOOD(P "Transfer-Encoding:chunked\r\n\r\n"),
	BAD(P "Transfer-Encoding:  chunked\r\n\r\n"),
	BAD(P "Transfer-Encoding:\tchunked\r\n\r\n"),
	BAD(P "Transfer-Encoding: \tchunked\r\n\r\n"),
	BAD(P "Transfer-Encoding: chunked \r\n\r\n"),
	BAD(P "Transfer-Encoding: chunked\t\r\n\r\n"),
	BAD(P "Transfer-Encoding: chunked, chunked\r\n\r\n"),
	BAD(P "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n"),
	BAD(P "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n"),
	BAD(P "Transfer-Encoding: gzip, chunked\r\n\r\n"),
	BAD(P "Transfer-Encoding: xchunked\r\n\r\n"),
	BAD(P "Transfer-Encoding: chunkedx\r\n\r\n"),
	BAD(P "Transfer-Encoding: chunked;q=1\r\n\r\n"),
	BAD(P "Transfer-Encoding: \"chunked\"\r\n\r\n"),
	BAD(P "Transfer-Encoding: 'chunked'\r\n\r\n"),
	BAD(P "Transfer-Encoding: identity\r\n\r\n"),
	BAD(P "Transfer-Encoding: chunked,\r\n\r\n"),
	BAD(P "Transfer-Encoding: ,chunked\r\n\r\n"),
	BAD(P "Transfer-Encoding:\r\n\r\n"),
	BAD(P "Transfer-Encoding: \x0b"
	      "chunked\r\n\r\n"),
	BAD(P "Transfer-Encoding: chunked\x0c\r\n\r\n"),
	BAD(P "Transfer-Encoding: chunk\0ed\r\n\r\n"),
	BAD(P "Transfer-Encoding:\xa0"
	      "chunked\r\n\r\n"),
	BAD("PUT / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"),
	/* names */
	BAD(P "Transfer-Encoding : chunked\r\n\r\n"),
	BAD(P "Transfer-Encoding\t: chunked\r\n\r\n"),
	BAD(P " Transfer-Encoding: chunked\r\n\r\n"),
	BAD(P "\tTransfer-Encoding: chunked\r\n\r\n"),
	BAD(P "Content-Length : 5\r\n\r\n"),
	BAD(P "Content\0-Length: 5\r\n\r\n"),
	BAD(P "Content Length: 5\r\n\r\n"),
	BAD(P ": 5\r\n\r\n"),
	BAD(P "nocolon\r\n\r\n"),
	BAD(P "(comment): 5\r\n\r\n"),
	BAD(P "\xc3\xa4: 5\r\n\r\n"),
	GOOD(P "x-ms-meta-a_b!#$%&'*+-.^`|~9: 5\r\n\r\n"),
	/* lines */
	BAD("GET / HTTP/1.1\nHost: a\n\n"),
	BAD("GET / HTTP/1.1\r\nHost: a\n\r\n"),
	BAD("GET / HTTP/1.1\r\nHost: a\r\nx: 1\ny: 2\r\n\r\n"),
	BAD("GET / HTTP/1.1\r\nHost: a\r\n\n"),
	BAD(H "x: a\r\n b\r\n\r\n"),
	BAD(H "x: a\r\n\tb\r\n\r\n"),
	BAD(H "x: a\rb\r\n\r\n"),
	BAD(H "x: a\r\r\n\r\n"),
	BAD(H "\rx: a\r\n\r\n"),
	BAD(H "x: a\0b\r\n\r\n"),
	BAD(H "x: a\x01\r\n\r\n"),
	BAD(H "x: long enough to be seen eight at a time \x1f\r\n\r\n"),
	BAD(H "x: a\x7f\r\n\r\n"),
	GOOD(H "x: \xc3\xa4\t\xff\r\n\r\n"),
	GOOD(H "x:\r\ny: \t \r\n\r\n"),
	GOOD("\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n"),
	BAD("\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n"),
	BAD("\r\n\nGET / HTTP/1.1\r\nHost: a\r\n\r\n"),
	BAD("\rGET / HTTP/1.1\r\nHost: a\r\n\r\n"),
	BAD("\nGET / HTTP/1.1\r\nHost: a\r\n\r\n"),
	BAD("\r\n\r\n"),
	/* Host */
	BAD("GET / HTTP/1.1\r\n\r\n"),
	BAD("GET / HTTP/1.1\r\nHost:\r\n\r\n"),
	BAD("GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n"),
	BAD("GET / HTTP/1.1\r\nHost: a\r\nhost: b\r\n\r\n"),
	BAD("GET / HTTP/1.1\r\nHost: a b\r\n\r\n"),
	BAD("GET / HTTP/1.1\r\nHost: a/b\r\n\r\n"),
	BAD("GET / HTTP/1.1\r\nHost: u@a\r\n\r\n"),
	BAD("GET / HTTP/1.0\r\nHost: a\r\nHost: a\r\n\r\n"),
	GOOD("GET / HTTP/1.0\r\n\r\n"),
	GOOD("GET / HTTP/1.1\r\nHost: [::1]:10000\r\n\r\n"),
	/* request line */
	BAD(" GET / HTTP/1.1\r\nHost: a\r\n\r\n"),
	BAD("GET  / HTTP/1.1\r\nHost: a\r\n\r\n"),
	BAD("GET /  HTTP/1.1\r\nHost: a\r\n\r\n"),
	BAD("GET / HTTP/1.1 \r\nHost: a\r\n\r\n"),
	BAD("GET /a b HTTP/1.1\r\nHost: a\r\n\r\n"),
	BAD("GET\t/ HTTP/1.1\r\nHost: a\r\n\r\n"),
	BAD("GET / HTTP/1.2\r\nHost: a\r\n\r\n"),
	BAD("GET / HTTP/2.0\r\nHost: a\r\n\r\n"),
	BAD("GET / HTTP/1.10\r\nHost: a\r\n\r\n"),
	BAD("GET / http/1.1\r\nHost: a\r\n\r\n"),
	BAD("GET / HTTP/1,1\r\nHost: a\r\n\r\n"),
	BAD("GET /\r\nHost: a\r\n\r\n"),
	BAD("GET HTTP/1.1\r\nHost: a\r\n\r\n"),
	BAD("/ HTTP/1.1\r\nHost: a\r\n\r\n"),
	BAD("G(T / HTTP/1.1\r\nHost: a\r\n\r\n"),
	BAD("GET /a\0b HTTP/1.1\r\nHost: a\r\n\r\n"),
	BAD("GET /\xc3\xa4 HTTP/1.1\r\nHost: a\r\n\r\n"),
	BAD("GET /a#b HTTP/1.1\r\nHost: a\r\n\r\n"),
	BAD("GET a/b HTTP/1.1\r\nHost: a\r\n\r\n"),
	BAD("GET * HTTP/1.1\r\nHost: a\r\n\r\n"),
	BAD("OPTIONS ** HTTP/1.1\r\nHost: a\r\n\r\n"),
	BAD("CONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\n"),
	BAD("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
	BAD("GET ftp://a/ HTTP/1.1\r\nHost: a\r\n\r\n"),
	BAD("GET http:///x HTTP/1.1\r\nHost: a\r\n\r\n"),
	BAD("GET http://u@a/x HTTP/1.1\r\nHost: a\r\n\r\n"),
	BAD("GET http://b/x HTTP/1.1\r\nHost: a\r\n\r\n"),
	GOOD("GET http://a/x HTTP/1.1\r\nHost: a\r\n\r\n"),
	GOOD("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n"),
	GOOD("WHATEVER / HTTP/1.1\r\nHost: a\r\n\r\n"),
	/* pipelined: the head ends at the first empty line */
	GOOD(H "\r\n" H "\r\n"),
	GOOD(P "Content-Length: 2\r\n\r\n\r\n" H "\r\n"),
	GOOD(H "\r\nx\ny"),
	/* not there yet */
	ROW(HTTP_PARSE_MORE, ""),
	ROW(HTTP_PARSE_MORE, "G"),
	ROW(HTTP_PARSE_MORE, "\r"),
	ROW(HTTP_PARSE_MORE, "\r\n"),
	ROW(HTTP_PARSE_MORE, "\r\n\r"),
	ROW(HTTP_PARSE_MORE, H),
	ROW(HTTP_PARSE_MORE, H "x: y\r\n\r"),
};

static void test_matrix(void **state)
{
	for (size_t i = 0; i < sizeof matrix / sizeof matrix[0]; i++) {
		struct slice whole = exact(matrix[i].text, matrix[i].len);
		enum http_parse r = parse_whole(whole);
		if (r != matrix[i].verdict)
			fail_msg("row %zu: %d, not %d: %.*s", i, r, matrix[i].verdict, SLICE_FMT(whole));
		check_cuts(whole, matrix[i].verdict);
		exact_free(whole);
	}
}

/* Each byte value in the middle of a name, a value, a target: exactly the allowed ones pass. */
static void test_every_byte(void **state)
{
	for (int c = 0; c < 256; c++) {
		bool alnum = (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z' && c < 128);
		bool token = alnum || (c && c < 128 && strchr("!#$%&'*+-.^_`|~", c));
		bool value = c == '\t' || (c >= 0x20 && c != 0x7f);
		bool target = c > 0x20 && c < 0x7f && c != '#';
		for (size_t pad = 0; pad < 9; pad++) {
			char text[128];
			int n = snprintf(text, sizeof text, "GET / HTTP/1.1\r\nHost: a\r\nx: %.*s?z\r\n\r\n", (int)pad,
					 "aaaaaaaaa");
			*strchr(text, '?') = (char)c;
			assert_int_equal(parse_whole(slice_make(text, (size_t)n)),
					 value ? HTTP_PARSE_DONE : HTTP_PARSE_BAD);
			n = snprintf(text, sizeof text, "GET / HTTP/1.1\r\nHost: a\r\n%.*s?z: 1\r\n\r\n", (int)pad,
				     "aaaaaaaaa");
			*strchr(text, '?') = (char)c;
			/* A colon in the name ends it and is legal there, unless the name would be empty. */
			bool good = token || (c == ':' && pad > 0);
			assert_int_equal(parse_whole(slice_make(text, (size_t)n)),
					 good ? HTTP_PARSE_DONE : HTTP_PARSE_BAD);
		}
		for (size_t pad = 0; pad < 36; pad++) {
			char text[128];
			int n = snprintf(text, sizeof text, "GET /%.*s@z HTTP/1.1\r\nHost: a\r\n\r\n", (int)pad,
					 "0123456789abcdefghijklmnopqrstuvwxyz");
			*strchr(text, '@') = (char)c;
			assert_int_equal(parse_whole(slice_make(text, (size_t)n)),
					 target ? HTTP_PARSE_DONE : HTTP_PARSE_BAD);
		}
	}
}

static void test_fields(void **state)
{
	static const char text[] = "PUT /c/b%20x?comp=block&blockid=AA%3D%3D HTTP/1.1\r\n"
				   "Host: 127.0.0.1:10000\r\n"
				   "x-ms-version: 2021-12-02 \r\n"
				   "X-Ms-Meta-One:  two  words\t\r\n"
				   "x-ms-meta-one: again\r\n"
				   "expect: 100-Continue\r\n"
				   "Content-Length: 12\r\n"
				   "\r\nhello";
	assert_int_equal(parse_whole(slice_make(text, sizeof text - 1)), HTTP_PARSE_DONE);
	assert_int_equal(head.method, HTTP_PUT);
	assert_slice(head.method_text, "PUT");
	assert_slice(head.target, "/c/b%20x?comp=block&blockid=AA%3D%3D");
	assert_slice(head.path, "/c/b%20x");
	assert_slice(head.query, "comp=block&blockid=AA%3D%3D");
	assert_int_equal(head.minor_version, 1);
	assert_int_equal(head.header_count, 6);
	assert_slice(head.headers[2].name, "X-Ms-Meta-One");
	assert_slice(head.headers[2].value, "two  words");
	assert_slice(head.host, "127.0.0.1:10000");
	assert_true(head.has_content_length && head.content_length == 12 && !head.chunked);
	assert_true(head.keep_alive && head.expect_continue);
	assert_int_equal(head.head_bytes, sizeof text - 1 - 5);
	assert_slice(http_header(&head, SLICE("X-MS-VERSION")), "2021-12-02");
	assert_slice(http_header(&head, SLICE("x-ms-meta-ONE")), "two  words");
	assert_int_equal(http_header_count(&head, SLICE("x-ms-meta-one")), 2);
	assert_int_equal(http_header_count(&head, SLICE("x-ms-meta-on")), 0);
	assert_false(slice_is_set(http_header(&head, SLICE("x-ms-metadone"))));
	assert_false(slice_is_set(http_header(&head, SLICE(""))));
}

static void test_targets(void **state)
{
	static const struct {
		const char *line, *path, *query, *host;
	} rows[] = {
		{ "GET /", "/", NULL, "h" },
		{ "GET /?", "/", "", "h" },
		{ "GET /?a?b", "/", "a?b", "h" },
		{ "GET //a/../b", "//a/../b", NULL, "h" },
		{ "GET http://H", "/", NULL, "H" },
		{ "GET HTTPS://h?x=http://y/", "/", "x=http://y/", "h" },
		{ "GET http://h/p/q?x", "/p/q", "x", "h" },
		{ "OPTIONS *", "/", NULL, "h" },
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		char text[256];
		int n = snprintf(text, sizeof text, "%s HTTP/1.1\r\nHost: h\r\n\r\n", rows[i].line);
		assert_int_equal(parse_whole(slice_make(text, (size_t)n)), HTTP_PARSE_DONE);
		assert_slice(head.path, rows[i].path);
		assert_int_equal(slice_is_set(head.query), rows[i].query != NULL);
		if (rows[i].query)
			assert_slice(head.query, rows[i].query);
		assert_slice(head.host, rows[i].host);
	}
}

static void test_empty_line_first(void **state)
{
	assert_int_equal(parse_whole(SLICE("\r\n" H "\r\nnext")), HTTP_PARSE_DONE);
	assert_int_equal(head.head_bytes, sizeof("\r\n" H "\r\n") - 1);
	assert_slice(head.method_text, "GET");
	assert_slice(head.host, "a");
}

static void test_methods(void **state)
{
	static const char *const names[] = {
		"GET", "HEAD", "PUT", "POST", "DELETE", "OPTIONS", "MERGE", "PATCH", "get"
	};
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		char text[128];
		int n = snprintf(text, sizeof text, "%s / HTTP/1.1\r\nHost: h\r\n\r\n", names[i]);
		assert_int_equal(parse_whole(slice_make(text, (size_t)n)), HTTP_PARSE_DONE);
		assert_int_equal(head.method, i); /* in the order of the enum; the last is HTTP_OTHER */
	}
}

static void test_keep_alive(void **state)
{
	static const struct {
		int minor;
		const char *headers;
		bool keep;
	} rows[] = {
		{ 1, "", true },
		{ 1, "Connection: close\r\n", false },
		{ 1, "Connection: Close\r\n", false },
		{ 1, "Connection: x, close ,y\r\n", false },
		{ 1, "Connection: closed\r\n", true },
		{ 1, "Connection: keep-alive\r\nConnection: close\r\n", false },
		{ 0, "", false },
		{ 0, "Connection: keep-alive\r\n", true },
		{ 0, "Connection: Keep-Alive, close\r\n", false },
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		char text[128];
		int n = snprintf(text, sizeof text, "GET / HTTP/1.%d\r\nHost: h\r\n%s\r\n", rows[i].minor,
				 rows[i].headers);
		assert_int_equal(parse_whole(slice_make(text, (size_t)n)), HTTP_PARSE_DONE);
		assert_int_equal(head.keep_alive, rows[i].keep);
	}
}

/* Header count, head bytes and target bytes at their limit and one above. */
static void test_limits(void **state)
{
	struct buf b;
	buf_init(&b, 4 * LIMIT_HEAD_BYTES);
	for (int over = 0; over < 2; over++) {
		enum http_parse expected = over ? HTTP_PARSE_TOO_LARGE : HTTP_PARSE_DONE;
		buf_clear(&b);
		BUF_PUT(&b, H);
		for (int i = 1; i < LIMIT_HEADER_COUNT + over; i++)
			buf_printf(&b, "h%d: v\r\n", i);
		BUF_PUT(&b, "\r\n");
		assert_int_equal(parse_whole(buf_slice(&b)), expected);
		check_cuts(slice_first(buf_slice(&b), b.len), expected);

		buf_clear(&b);
		BUF_PUT(&b, H "x: ");
		while (b.len + 4 < (size_t)LIMIT_HEAD_BYTES + (size_t)over)
			BUF_PUT(&b, "a");
		BUF_PUT(&b, "\r\n\r\n");
		assert_int_equal(b.len, LIMIT_HEAD_BYTES + over);
		assert_int_equal(parse_whole(buf_slice(&b)), expected);
		BUF_PUT(&b, "more that follows");
		assert_int_equal(parse_whole(buf_slice(&b)), expected);

		buf_clear(&b);
		BUF_PUT(&b, "GET /");
		while (b.len - 4 < (size_t)LIMIT_TARGET_BYTES + (size_t)over)
			BUF_PUT(&b, "a");
		BUF_PUT(&b, " HTTP/1.1\r\nHost: a\r\n\r\n");
		assert_int_equal(parse_whole(buf_slice(&b)), expected);
	}
	/* Too many headers and a bare LF behind them: one verdict, however it is cut. */
	buf_clear(&b);
	BUF_PUT(&b, H);
	for (int i = 0; i < LIMIT_HEADER_COUNT + 1; i++)
		BUF_PUT(&b, "h: v\r\n");
	BUF_PUT(&b, "x: y\nz: 1\r\n\r\n");
	assert_int_equal(parse_whole(buf_slice(&b)), HTTP_PARSE_BAD);
	check_cuts(buf_slice(&b), HTTP_PARSE_BAD);
	/* Without any line end at all it stops at the limit, and at once. */
	buf_clear(&b);
	while (b.len < LIMIT_HEAD_BYTES)
		BUF_PUT(&b, "aaaaaaaaaaaaaaaa");
	assert_int_equal(parse_whole(slice_first(buf_slice(&b), LIMIT_HEAD_BYTES - 1)), HTTP_PARSE_MORE);
	assert_int_equal(parse_whole(buf_slice(&b)), HTTP_PARSE_TOO_LARGE);
	assert_true(buf_ok(&b));
	buf_fini(&b);
}

/* Chunked bodies. `expected` is the body; NULL: refused; the rest behind the end stays in the input. */
static const struct {
	size_t len;
	const char *text;
	const char *body;
	enum http_parse verdict;
	size_t rest;
} chunk_rows[] = {
#define CHUNKS(verdict, body, rest, literal)                                                                           \
	{                                                                                                              \
		sizeof(literal) - 1, literal, body, verdict, rest                                                      \
	}
#define CHUNKS_BAD(literal) CHUNKS(HTTP_PARSE_BAD, NULL, 0, literal)
	CHUNKS(HTTP_PARSE_DONE, "", 0, "0\r\n\r\n"),
	CHUNKS(HTTP_PARSE_DONE, "hello", 0, "5\r\nhello\r\n0\r\n\r\n"),
	CHUNKS(HTTP_PARSE_DONE, "hello world", 0, "5\r\nhello\r\n6\r\n world\r\n000\r\n\r\n"),
	CHUNKS(HTTP_PARSE_DONE, "0123456789abcdef0123456789", 0, "1A\r\n0123456789abcdef0123456789\r\n0\r\n\r\n"),
	CHUNKS(HTTP_PARSE_DONE, "\r\n\r\n0", 0, "5\r\n\r\n\r\n0\r\n0\r\n\r\n"),
	CHUNKS(HTTP_PARSE_DONE, "a", 0, "1;x=y;z=\"q\"\r\na\r\n0;last\r\n\r\n"),
	CHUNKS(HTTP_PARSE_DONE, "hello", 0, "5 ;x\r\nhello\r\n0\t ; y\r\n\r\n"),
	CHUNKS(HTTP_PARSE_DONE, "a", 0, "0000000000000000000000001\r\na\r\n0\r\n\r\n"),
	CHUNKS(HTTP_PARSE_DONE, "a", 0, "1\r\na\r\n0\r\nX-Check: 1\r\nY:\r\n\r\n"),
	CHUNKS(HTTP_PARSE_DONE, "a", 5, "1\r\na\r\n0\r\n\r\nGET /"),
	CHUNKS(HTTP_PARSE_MORE, "a", 0, "1\r\na\r\n0\r\n"),
	CHUNKS(HTTP_PARSE_MORE, "ab", 0, "5\r\nab"),
	CHUNKS_BAD("\r\n"),
	CHUNKS_BAD("g\r\n"),
	CHUNKS_BAD("0x5\r\nhello\r\n0\r\n\r\n"),
	CHUNKS_BAD("+5\r\nhello\r\n0\r\n\r\n"),
	CHUNKS_BAD("-5\r\nhello\r\n0\r\n\r\n"),
	CHUNKS_BAD(" 5\r\nhello\r\n0\r\n\r\n"),
	CHUNKS_BAD("5 \r\nhello\r\n0\r\n\r\n"),
	CHUNKS_BAD("5 5;x\r\nhello\r\n0\r\n\r\n"),
	CHUNKS_BAD("5 \r;x\r\nhello\r\n0\r\n\r\n"),
	CHUNKS_BAD(";x\r\n"),
	CHUNKS_BAD("5\nhello\r\n0\r\n\r\n"),
	CHUNKS_BAD("5\rhello\r\n0\r\n\r\n"),
	CHUNKS_BAD("5\r\nhello\n0\r\n\r\n"),
	CHUNKS_BAD("5\r\nhelloX\r\n0\r\n\r\n"),
	CHUNKS_BAD("5\r\nhello0\r\n\r\n"),
	CHUNKS_BAD("5\r\nhello\rX"),
	CHUNKS_BAD("5;a\nb\r\nhello\r\n0\r\n\r\n"),
	CHUNKS_BAD("5;a\0b\r\nhello\r\n0\r\n\r\n"),
	CHUNKS_BAD("5,5\r\nhello\r\n0\r\n\r\n"),
	CHUNKS_BAD("8000000000000000\r\n"),
	CHUNKS_BAD("ffffffffffffffff\r\n"),
	CHUNKS_BAD("10000000000000005\r\nhello\r\n0\r\n\r\n"),
	CHUNKS(HTTP_PARSE_MORE, "x", 0, "7fffffffffffffff\r\nx"),
	CHUNKS_BAD("0\r\n\n"),
	CHUNKS_BAD("0\n\r\n"),
	CHUNKS_BAD("0\r\n\rX"),
	CHUNKS_BAD("0\r\nContent-Length: 5\r\n\r\n"),
	CHUNKS_BAD("0\r\na: 1\r\ncontent-LENGTH: 5\r\n\r\n"),
	CHUNKS_BAD("0\r\nTransfer-Encoding: chunked\r\n\r\n"),
	CHUNKS_BAD("0\r\nHost: x\r\n\r\n"),
	CHUNKS_BAD("0\r\nx : 1\r\n\r\n"),
	CHUNKS_BAD("0\r\n x: 1\r\n\r\n"),
	CHUNKS_BAD("0\r\na: 1\r\n b\r\n\r\n"),
	CHUNKS_BAD("0\r\n: 1\r\n\r\n"),
	CHUNKS_BAD("0\r\na: \0\r\n\r\n"),
	CHUNKS_BAD("0\r\na: 1\n\r\n"),
	CHUNKS_BAD("0\r\nnocolon\r\n\r\n"),
};

/* Feeds `step` bytes at a time. */
static void run_chunks(size_t row, size_t step)
{
	struct http_chunked c;
	char body[64];
	size_t body_len = 0, at = 0, rest = 0;
	enum http_parse r = HTTP_PARSE_MORE;
	http_chunked_init(&c);
	while (r == HTTP_PARSE_MORE && at < chunk_rows[row].len) {
		size_t n = chunk_rows[row].len - at < step ? chunk_rows[row].len - at : step;
		struct slice owned = exact(chunk_rows[row].text + at, n), input = owned, data;
		do {
			r = http_chunked_next(&c, &input, &data);
			assert_true(body_len + data.len <= sizeof body);
			if (data.len)
				memcpy(body + body_len, data.ptr, data.len);
			body_len += data.len;
		} while (r == HTTP_PARSE_MORE && data.len);
		if (r == HTTP_PARSE_MORE)
			assert_int_equal(input.len, 0);
		at += n;
		rest = input.len + chunk_rows[row].len - at;
		exact_free(owned);
	}
	if (r != chunk_rows[row].verdict)
		fail_msg("row %zu, step %zu: %d, not %d: %s", row, step, r, chunk_rows[row].verdict,
			 chunk_rows[row].text);
	if (chunk_rows[row].body) {
		assert_int_equal(body_len, strlen(chunk_rows[row].body));
		assert_memory_equal(body, chunk_rows[row].body, body_len);
	}
	struct slice nothing = slice_make("x", 1), data;
	if (r == HTTP_PARSE_DONE) {
		assert_int_equal(rest, chunk_rows[row].rest);
		assert_int_equal(http_chunked_next(&c, &nothing, &data), HTTP_PARSE_DONE);
		assert_int_equal(nothing.len, 1);
	} else if (r == HTTP_PARSE_BAD) {
		assert_int_equal(http_chunked_next(&c, &nothing, &data), HTTP_PARSE_BAD);
	}
}

static void test_chunks(void **state)
{
	for (size_t row = 0; row < sizeof chunk_rows / sizeof chunk_rows[0]; row++)
		for (size_t step = 1; step <= chunk_rows[row].len; step++)
			run_chunks(row, step);
}

static void test_chunk_line_limit(void **state)
{
	static char line[LIMIT_CHUNK_LINE_BYTES + 64];
	for (int over = 0; over < 2; over++) {
		struct http_chunked c;
		size_t n = (size_t)LIMIT_CHUNK_LINE_BYTES - 2 + (size_t)over;
		memset(line, 'e', sizeof line);
		memcpy(line, "1;", 2);
		memcpy(line + n, "\r\na", 3);
		struct slice input = slice_make(line, n + 3), data;
		http_chunked_init(&c);
		assert_int_equal(http_chunked_next(&c, &input, &data), over ? HTTP_PARSE_TOO_LARGE : HTTP_PARSE_MORE);
		assert_int_equal(data.len, !over);
	}
	/* Many small trailers count together. */
	struct http_chunked c;
	http_chunked_init(&c);
	struct slice input = SLICE("0\r\n"), data;
	enum http_parse r = http_chunked_next(&c, &input, &data);
	for (int i = 0; i < LIMIT_CHUNK_LINE_BYTES && r == HTTP_PARSE_MORE; i++) {
		input = SLICE("a:b\r\n");
		r = http_chunked_next(&c, &input, &data);
	}
	assert_int_equal(r, HTTP_PARSE_TOO_LARGE);
}

static void test_reason(void **state)
{
	assert_string_equal(http_reason(200), "OK");
	assert_string_equal(http_reason(412), "Precondition Failed");
	assert_string_equal(http_reason(799), "Status");
}

/* Every pair of a length and a last letter. */
static size_t name_of(char *dst, size_t i, bool upper)
{
	size_t len = 1 + i % 40;
	memset(dst, upper ? 'X' : 'x', len);
	dst[len - 1] = (char)((upper ? 'A' : 'a') + i / 40);
	return len;
}

/* Whatever the marks of their names share: each header of a list is found, and none that is not in it. */
static void test_names(void **state)
{
	enum { NAMES = 40 * 26 };
	static struct http_header all[NAMES];
	static char text[NAMES][40], asked[40];
	size_t order[NAMES];
	for (size_t i = 0; i < NAMES; i++) {
		order[i] = i * 7 % NAMES;
		all[i].name = slice_make(text[i], name_of(text[i], order[i], false));
		all[i].value = slice_make(text[i], 0);
	}
	for (size_t count = 0; count <= 24; count++) {
		http_set_headers(&head, all, count);
		for (size_t i = 0; i < NAMES; i++) {
			struct slice name = slice_make(asked, name_of(asked, order[i], true));
			struct slice value = http_header(&head, name);
			assert_ptr_equal(value.ptr, i < count ? all[i].value.ptr : NULL);
		}
		assert_false(slice_is_set(http_header(&head, SLICE(""))));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_matrix),		 cmocka_unit_test(test_every_byte),
		cmocka_unit_test(test_fields),		 cmocka_unit_test(test_targets),
		cmocka_unit_test(test_empty_line_first), cmocka_unit_test(test_methods),
		cmocka_unit_test(test_keep_alive),	 cmocka_unit_test(test_limits),
		cmocka_unit_test(test_chunks),		 cmocka_unit_test(test_chunk_line_limit),
		cmocka_unit_test(test_reason),		 cmocka_unit_test(test_names),
	};
	arena_init(&arena, LIMIT_REQUEST_ARENA_BYTES);
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	arena_fini(&arena);
	return failed;
}
