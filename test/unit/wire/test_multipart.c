/* SPDX-License-Identifier: Apache-2.0
 * Batches as clients write them, and the ways they may be broken. */
#include "wire/http/multipart.h"

#include "base/limits.h"
#include "wire_test.h"

static struct arena arena;
static struct multipart m;

static enum err parse(struct slice s, struct slice boundary)
{
	return multipart_parse(s, boundary, &arena, &m);
}

static void test_boundary(void **state)
{
	static const struct {
		const char *type, *boundary;
	} rows[] = {
		{ "multipart/mixed; boundary=batch_1", "batch_1" },
		{ "Multipart/Mixed;BOUNDARY=\"a b;c\"", "a b;c" },
		{ "multipart/mixed; charset=utf-8; boundary= x ; z=\"q\"", "x" },
		{ "multipart/mixed; boundary=x;", "x" },
		{ "multipart/mixed", NULL },
		{ "multipart/mixed; boundary=", NULL },
		{ "multipart/mixed; boundary=\"\"", NULL },
		{ "multipart/mixed; boundary=\"x", NULL },
		{ "multipart/mixed; boundary=\"x \"", NULL },
		{ "multipart/mixed; boundary=\"x\"y", NULL },
		{ "multipart/mixed; boundary=a; boundary=b", NULL },
		{ "multipart/mixed; boundary", NULL },
		{ "multipart/form-data; boundary=x", NULL },
		{ "", NULL },
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct slice b = SLICE_NONE;
		enum err e = multipart_boundary(slice_str(rows[i].type), &b);
		if (e != (rows[i].boundary ? ERR_OK : ERR_SYNTAX))
			fail_msg("%s", rows[i].type);
		if (rows[i].boundary)
			assert_slice(b, rows[i].boundary);
	}
	char longest[256] = "multipart/mixed; boundary=";
	size_t front = strlen(longest);
	struct slice b;
	memset(longest + front, 'x', 201);
	assert_int_equal(multipart_boundary(slice_make(longest, front + 200), &b), ERR_OK);
	assert_int_equal(multipart_boundary(slice_make(longest, front + 201), &b), ERR_SYNTAX);
	assert_int_equal(multipart_boundary(SLICE_NONE, &b), ERR_SYNTAX);
}

#define BLOB_BATCH                                                                                                     \
	"--batch_1\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n"                         \
	"Content-ID: 0\r\n\r\nDELETE /c/b?snapshot=x HTTP/1.1\r\nx-ms-date: now\r\n"                                   \
	"Authorization: SharedKey a:b\r\nContent-Length: 0\r\n\r\n"                                                    \
	"--batch_1\r\nContent-Type: application/http\r\nContent-ID: 1\r\n\r\n"                                         \
	"PUT /c/b2?comp=tier HTTP/1.1\r\nx-ms-access-tier:Cool\r\n\r\n\r\n--batch_1--\r\n"

static void test_blob_batch(void **state)
{
	arena_init(&arena, 1 << 20);
	struct slice doc = exact(BLOB_BATCH, sizeof BLOB_BATCH - 1);
	assert_int_equal(parse(doc, SLICE("batch_1")), ERR_OK);
	assert_int_equal(m.count, 2);
	assert_int_equal(m.changesets, 0);
	struct multipart_request *r = &m.requests[0];
	assert_slice(r->method, "DELETE");
	assert_slice(r->url, "/c/b?snapshot=x");
	assert_int_equal(r->header_count, 3);
	assert_slice(r->headers[1].value, "SharedKey a:b");
	assert_slice(r->body, "");
	assert_slice(r->content_id, "0");
	assert_false(r->in_changeset);
	r = &m.requests[1];
	assert_slice(r->content_id, "1");
	assert_slice(r->headers[0].value, "Cool");
	assert_slice(r->body, "");

	static struct http_head head;
	assert_int_equal(multipart_head(&m.requests[0], &head), ERR_OK);
	assert_int_equal(head.method, HTTP_DELETE);
	assert_slice(head.path, "/c/b");
	assert_slice(head.query, "snapshot=x");
	assert_slice(http_header(&head, SLICE("X-MS-DATE")), "now");
	assert_false(slice_is_set(head.host));
	assert_true(head.has_content_length && head.content_length == 0 && !head.chunked);

	/* Cut short anywhere it is refused; only the last line end may be missing. */
	for (size_t len = 0; len < doc.len; len++) {
		struct slice part = exact(doc.ptr, len);
		arena_reset(&arena);
		assert_int_equal(parse(part, SLICE("batch_1")), len + 2 >= doc.len ? ERR_OK : ERR_SYNTAX);
		exact_free(part);
	}
	exact_free(doc);
	arena_fini(&arena);
}

static const char table_batch[] =
	"ignored\n--b\nContent-Type: multipart/mixed; boundary=\"cs\"\n\n"
	"--cs\nContent-Type: application/http\nContent-Transfer-Encoding: binary\n\n"
	"POST https://acct.table.core.windows.net/t HTTP/1.1\nContent-Type: application/json\nContent-Length: 7\n\n"
	"{\"a\":1}\n\n"
	"--cs\nContent-Type: application/http\n\n\n\n"
	"PATCH http://h:1/t(PartitionKey='p',RowKey='r') HTTP/1.1\nIf-Match: *\n\n{\n--csx\n}\n"
	"--cs\n\nDELETE /t(1) HTTP/1.1\n"
	"\n--cs--\n--b--";

static void test_table_batch(void **state)
{
	arena_init(&arena, 1 << 20);
	assert_int_equal(parse(slice_str(table_batch), SLICE("b")), ERR_OK);
	assert_int_equal(m.count, 3);
	assert_int_equal(m.changesets, 1);
	assert_true(m.requests[0].in_changeset);
	assert_slice(m.requests[0].body, "{\"a\":1}");
	assert_slice(m.requests[1].body, "{\n--csx\n}");
	assert_slice(m.requests[2].url, "/t(1)");
	assert_false(slice_is_set(m.requests[2].content_id));
	static struct http_head head;
	assert_int_equal(multipart_head(&m.requests[1], &head), ERR_OK);
	assert_slice(head.host, "h:1");
	assert_slice(head.path, "/t(PartitionKey='p',RowKey='r')");
	assert_int_equal(head.method, HTTP_PATCH);
	assert_int_equal(head.content_length, 9);
	arena_fini(&arena);
}

static void test_refused(void **state)
{
#define PART(text) "--b\r\n\r\n" text "\r\n--b--\r\n"
	static const char *const rows[] = {
		"",
		"--b\r\n",
		"--b\r\n--b--\r\n",
		"--c\r\n\r\nGET / HTTP/1.1\r\n--c--\r\n",
		"--b \r\n\r\nGET / HTTP/1.1\r\n--bb--\r\n",
		PART(""),
		PART("GET /"),
		PART("GET / HTTP/2.0"),
		PART("GET  / HTTP/1.1"),
		PART("GET /a b HTTP/1.1"),
		PART(" GET / HTTP/1.1"),
		PART("GET / HTTP/1.1 x"),
		PART("GET / HTTP/1.1\r\nbad"),
		PART("GET / HTTP/1.1\r\nbad header: x"),
		PART("GET / HTTP/1.1\r\n: x"),
		PART("GET / HTTP/1.1\r\nx: a\rb"),
		PART("GET / HTTP/1.1\r\nx: \x01"),
		PART("GET / HTTP/1.1\r\nContent-Length: 5\r\n\r\nabc"),
		PART("GET / HTTP/1.1\r\nContent-Length: x\r\n\r\nabc"),
		PART("GET / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\nabc"),
		PART("GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nabc"),
		"--b\r\nbad\r\n\r\nGET / HTTP/1.1\r\n--b--\r\n",
		"--b\r\nContent-Type: multipart/mixed\r\n\r\n--c\r\n\r\nGET / HTTP/1.1\r\n--c--\r\n--b--\r\n",
		"--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n--c\r\n\r\nGET / HTTP/1.1\r\n--b--\r\n",
		"--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n--c\r\nContent-Type: multipart/mixed; "
		"boundary=d\r\n\r\n"
		"--d\r\n\r\nGET / HTTP/1.1\r\n--d--\r\n--c--\r\n--b--\r\n",
	};
	arena_init(&arena, 1 << 20);
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct slice s = exact(rows[i], strlen(rows[i]));
		if (parse(s, SLICE("b")) != ERR_SYNTAX)
			fail_msg("not refused: %s", rows[i]);
		exact_free(s);
	}
	assert_int_equal(parse(SLICE(PART("GET / HTTP/1.1\r\nContent-Length: 1\r\n\r\nabc")), SLICE("b")), ERR_OK);
	assert_slice(m.requests[0].body, "a");
	assert_int_equal(parse(SLICE("--b--"), SLICE("b")), ERR_OK);
	assert_int_equal(m.count, 0);
	assert_int_equal(parse(SLICE(PART("GET foo HTTP/1.1")), SLICE("b")), ERR_OK);
	static struct http_head head;
	assert_int_equal(multipart_head(&m.requests[0], &head), ERR_SYNTAX);
	arena_fini(&arena);
}

static void test_limits(void **state)
{
	struct buf b;
	buf_init(&b, 8 << 20);
	arena_init(&arena, 4 << 20);
	for (int over = 0; over < 2; over++) {
		buf_clear(&b);
		for (int i = 0; i < LIMIT_BATCH_PARTS + over; i++) {
			multipart_put_part(&b, SLICE("x"), SLICE("Content-Type: application/http\r\n"));
			BUF_PUT(&b, "GET / HTTP/1.1\r\n");
			multipart_put_part_end(&b);
		}
		multipart_put_close(&b, SLICE("x"));
		assert_int_equal(parse(buf_slice(&b), SLICE("x")), over ? ERR_LIMIT : ERR_OK);

		buf_clear(&b);
		BUF_PUT(&b, "--x\r\n\r\nGET / HTTP/1.1\r\n");
		for (int i = 0; i < LIMIT_HEADER_COUNT + over; i++)
			BUF_PUT(&b, "a: b\r\n");
		BUF_PUT(&b, "\r\n--x--");
		assert_int_equal(parse(buf_slice(&b), SLICE("x")), over ? ERR_LIMIT : ERR_OK);

		buf_clear(&b);
		BUF_PUT(&b, "--x\r\n\r\nPUT / HTTP/1.1\r\n\r\n");
		while (b.len + 7 < (size_t)LIMIT_BATCH_BYTES + (size_t)over)
			BUF_PUT(&b, "b");
		BUF_PUT(&b, "\r\n--x--");
		assert_int_equal(parse(buf_slice(&b), SLICE("x")), over ? ERR_LIMIT : ERR_OK);

		/* Method and target are as long as a connection's. */
		for (int target = 0; target < 2; target++) {
			buf_clear(&b);
			BUF_PUT(&b, "--x\r\n\r\n");
			size_t length = target ? LIMIT_TARGET_BYTES - 1 : 32;
			if (target)
				BUF_PUT(&b, "GET /");
			for (size_t i = 0; i < length + (size_t)over; i++)
				BUF_PUT(&b, "b");
			buf_put(&b, target ? SLICE(" HTTP/1.1") : SLICE(" / HTTP/1.1"));
			BUF_PUT(&b, "\r\n\r\n--x--");
			assert_int_equal(parse(buf_slice(&b), SLICE("x")), over ? ERR_SYNTAX : ERR_OK);
		}
	}
	/* Empty changesets without end. */
	buf_clear(&b);
	for (int i = 0; i < 10000; i++)
		BUF_PUT(&b, "--x\r\nContent-Type: multipart/mixed; boundary=y\r\n\r\n--y--\r\n");
	BUF_PUT(&b, "--x--");
	assert_int_equal(parse(buf_slice(&b), SLICE("x")), ERR_LIMIT);
	arena_fini(&arena);
	arena_init(&arena, 1024);
	assert_int_equal(parse(slice_str(table_batch), SLICE("b")), ERR_NO_MEMORY);
	arena_fini(&arena);
	buf_fini(&b);
}

static void test_writer(void **state)
{
	struct buf b;
	buf_init(&b, 4096);
	multipart_put_part(&b, SLICE("r_1"), SLICE("Content-Type: application/http\r\nContent-ID: 0\r\n"));
	multipart_put_status(&b, 202);
	BUF_PUT(&b, "x-ms-version: 1\r\n\r\n");
	multipart_put_part_end(&b);
	multipart_put_close(&b, SLICE("r_1"));
	assert_slice(buf_slice(&b),
		     "--r_1\r\nContent-Type: application/http\r\nContent-ID: 0\r\n\r\nHTTP/1.1 202 Accepted\r\n"
		     "x-ms-version: 1\r\n\r\n\r\n--r_1--\r\n");
	buf_fini(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_boundary), cmocka_unit_test(test_blob_batch), cmocka_unit_test(test_table_batch),
		cmocka_unit_test(test_refused),	 cmocka_unit_test(test_limits),	    cmocka_unit_test(test_writer),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
