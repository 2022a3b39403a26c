/* SPDX-License-Identifier: Apache-2.0
 * Heads of answers, byte for byte. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "rest/core/conn/exchange_int.h"

#define TICKS UINT64_C(638000000000000000) /* 2022-09-28T22:13:20Z */

static struct rest_loop rl;
static struct exchange ex;

static void set_up(enum service service, enum http_method method, int status)
{
	memset(&rl, 0, sizeof rl);
	memset(&ex, 0, sizeof ex);
	ex.rl = &rl;
	ex.head.method = method;
	ex.head.minor_version = 1;
	ex.req.head = &ex.head;
	ex.req.service = service;
	ex.req.arrival_ticks = TICKS;
	ex.req.response.status = status;
	buf_init(&ex.out, 1 << 20);
	buf_init(&ex.req.response.headers, 1 << 20);
	buf_init(&ex.req.response.body, 1 << 20);
}

static void tear_down(void)
{
	buf_fini(&ex.out);
	buf_fini(&ex.req.response.headers);
	buf_fini(&ex.req.response.body);
}

static void check_head(const char *want)
{
	response_finish_head(&ex);
	assert_true(buf_ok(&ex.out));
	if (!slice_eq(buf_slice(&ex.out), slice_str(want)))
		fail_msg("%.*s\nand not\n%s", SLICE_FMT(buf_slice(&ex.out)), want);
}

#define ID   "x-ms-request-id: 00000000-0000-0000-0000-000000000000\r\n"
#define DATE "Date: Wed, 28 Sep 2022 22:13:20 GMT\r\n"
#define BLOB "Server: Windows-Azure-Blob/1.0 Microsoft-HTTPAPI/2.0\r\n"

static void heads(void **state)
{
	set_up(SERVICE_BLOB, HTTP_GET, 200);
	BUF_PUT(&ex.req.response.body, "hello");
	response_header(&ex.req, "A", SLICE("b"));
	response_header_u64(&ex.req, "N", UINT64_MAX);
	check_head("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nA: b\r\nN: 18446744073709551615\r\n" BLOB ID DATE "\r\n");
	ex.req.version_text = SLICE("2021-06-08");
	ex.req.version = VERSION(2021, 6, 8);
	ex.req.client_request_id = SLICE("me");
	ex.close_after = true;
	buf_clear(&ex.req.response.headers);
	check_head("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n" BLOB
		   "x-ms-request-id: 00000000-0000-0000-0000-000000000000\r\n"
		   "x-ms-client-request-id: me\r\nx-ms-version: 2021-06-08\r\n" DATE "Connection: close\r\n\r\n");
	tear_down();

	set_up(SERVICE_BLOB, HTTP_HEAD, 404); /* the error of a HEAD has no length */
	ex.error = ERR_BLOB_NOT_FOUND;
	ex.head.minor_version = 0;
	check_head("HTTP/1.1 404 Not Found\r\n" BLOB ID DATE "Connection: keep-alive\r\n\r\n");
	assert_true(ex.skip_body);
	ex.req.response.status = 204;
	ex.error = ERR_OK;
	check_head("HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n" BLOB ID DATE "Connection: keep-alive\r\n\r\n");
	tear_down();

	set_up(SERVICE_BLOB, HTTP_GET, 206);
	ex.req.response.set_length = true;
	ex.req.response.content_length = UINT64_MAX;
	check_head("HTTP/1.1 206 Partial Content\r\nContent-Length: 18446744073709551615\r\n" BLOB ID DATE "\r\n");
	tear_down();
}

/* With all that an answer can have at its longest, of every service and status. */
static void longest(void **state)
{
	static char text[8192];
	memset(text, 'x', sizeof text);
	for (int service = SERVICE_BLOB; service <= SERVICE_WEB; service++)
		for (int status = 200; status < 600; status++) {
			char first[64];
			set_up((enum service)service, HTTP_GET, status);
			ex.req.response.set_length = true;
			ex.req.response.content_length = UINT64_MAX;
			ex.req.client_request_id = slice_make(text, 1024);
			ex.req.version_text = SLICE("2021-06-08");
			ex.head.minor_version = 0;
			response_header(&ex.req, "H", slice_make(text, sizeof text));
			response_finish_head(&ex);
			assert_true(buf_ok(&ex.out));
			assert_true(ex.out.len <= ex.out.cap);
			int n = snprintf(first, sizeof first, "HTTP/1.1 %d %s\r\n", status, http_reason(status));
			assert_true(slice_has_prefix(buf_slice(&ex.out), slice_make(first, (size_t)n)));
			assert_memory_equal(ex.out.ptr + ex.out.len - 4, "\r\n\r\n", 4);
			tear_down();
		}
}

static void a_head_that_does_not_fit_says_so(void **state)
{
	for (size_t limit = 0; limit < 1200; limit += 13) {
		set_up(SERVICE_QUEUE, HTTP_GET, 200);
		buf_fini(&ex.out);
		buf_init(&ex.out, limit);
		response_finish_head(&ex);
		assert_true(ex.out.len <= limit);
		assert_true(buf_ok(&ex.out) == (ex.out.len > 0));
		tear_down();
	}
}

/* Each control byte at each place of values as long as some vectors. */
static void values_cannot_end_a_header(void **state)
{
	for (size_t len = 0; len < 36; len++)
		for (size_t at = 0; at < (len ? len : 1); at++)
			for (unsigned c = 0; c < 256; c++) {
				char value[36], want[48] = "N: ";
				memset(value, 'v', sizeof value);
				value[at] = (char)c;
				value[len / 2] = (char)c;
				for (size_t i = 0; i < len; i++) {
					unsigned char u = (unsigned char)value[i];
					want[3 + i] = u < 0x20 || u == 0x7f ? ' ' : value[i];
				}
				memcpy(want + 3 + len, "\r\n", 2);
				set_up(SERVICE_BLOB, HTTP_GET, 200);
				response_header(&ex.req, "N", len ? slice_make(value, len) : SLICE_NONE);
				struct slice got = buf_slice(&ex.req.response.headers);
				assert_true(slice_eq(got, slice_make(want, 5 + len)));
				tear_down();
			}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(heads),
		cmocka_unit_test(longest),
		cmocka_unit_test(a_head_that_does_not_fit_says_so),
		cmocka_unit_test(values_cannot_end_a_header),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
