/* SPDX-License-Identifier: Apache-2.0
 * Tables of addresses, versions and routes: target in, names and operation (or error) out. Without a socket. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "rest/core/conn/exchange_int.h"
#include "rest/services/services.h"

static struct slice default_version;
static struct auth_account accounts[] = { { .name = SLICE("acct") }, { .name = SLICE("other") } };
/* In place of the stored properties. */
static enum err find_default_version(struct request *r)
{
	uint32_t version;
	if (request_version_parse(default_version, &version))
		address_set_version(r, version, default_version);
	return ERR_OK;
}

static struct rest_service blob;
static const struct rest_service *services[SERVICE_COUNT];
static struct rest_access access_set = { .accounts = accounts, .account_count = 2 };
static struct rest_server server = { .config.services = services };
static struct exchange ex;

static enum err look(enum service service, const char *method, const char *target, const char *host,
		     const char *headers)
{
	static char text[8192];
	size_t scanned = 0;
	arena_fini(&ex.arena);
	memset(&ex, 0, sizeof ex);
	arena_init(&ex.arena, 1024 * 1024);
	int n = snprintf(text, sizeof text, "%s %s HTTP/1.1\r\nHost: %s\r\n%s\r\n", method, target, host, headers);
	assert_int_equal(http_parse_head(slice_make(text, (size_t)n), &scanned, &ex.arena, &ex.head), HTTP_PARSE_DONE);
	ex.req.server = &server;
	ex.req.access = &access_set;
	ex.req.arena = &ex.arena;
	ex.req.head = &ex.head;
	ex.req.service = service;
	return address_find(&ex.req);
}

static void expect_slice(struct slice got, const char *want)
{
	if (!slice_eq(got, slice_str(want)))
		fail_msg("got \"%.*s\", want \"%s\"", SLICE_FMT(got), want);
}

static void resources_of_every_service(void **state)
{
	static const struct {
		enum service service;
		const char *host, *target, *container, *object, *raw;
		enum level level;
	} rows[] = {
		{ SERVICE_BLOB, "127.0.0.1:1", "/acct", "", "", "", LEVEL_SERVICE },
		{ SERVICE_BLOB, "127.0.0.1:1", "/acct/", "", "", "/", LEVEL_SERVICE },
		{ SERVICE_BLOB, "127.0.0.1:1", "/acct?comp=list", "", "", "", LEVEL_SERVICE },
		{ SERVICE_BLOB, "127.0.0.1:1", "/acct/c?restype=container", "c", "", "/c", LEVEL_CONTAINER },
		{ SERVICE_BLOB, "127.0.0.1:1", "/acct/c/?restype=container", "c", "", "/c/", LEVEL_CONTAINER },
		{ SERVICE_BLOB, "127.0.0.1:1", "/acct/c/b", "c", "b", "/c/b", LEVEL_OBJECT },
		{ SERVICE_BLOB, "127.0.0.1:1", "/acct/c/a/b/c", "c", "a/b/c", "/c/a/b/c", LEVEL_OBJECT },
		{ SERVICE_BLOB, "127.0.0.1:1", "/acct/c/a%2Fb%20c%5Cd", "c", "a/b c/d", "/c/a%2Fb%20c%5Cd",
		  LEVEL_OBJECT },
		{ SERVICE_BLOB, "127.0.0.1:1", "/acct/c/a+b", "c", "a+b", "/c/a+b", LEVEL_OBJECT },
		{ SERVICE_BLOB, "127.0.0.1:1", "/acct/c/b/", "c", "b/", "/c/b/", LEVEL_OBJECT },
		{ SERVICE_BLOB, "127.0.0.1:1", "/acct/name", "$root", "name", "/name", LEVEL_OBJECT },
		{ SERVICE_BLOB, "127.0.0.1:1", "/acct/$root/name", "$root", "name", "/$root/name", LEVEL_OBJECT },
		{ SERVICE_BLOB, "127.0.0.1:1", "/acct-secondary/c/b", "c", "b", "/c/b", LEVEL_OBJECT },
		{ SERVICE_BLOB, "acct.blob.localhost:1", "/c/b", "c", "b", "/c/b", LEVEL_OBJECT },
		{ SERVICE_BLOB, "acct-secondary.blob.localhost", "/c/b", "c", "b", "/c/b", LEVEL_OBJECT },
		{ SERVICE_BLOB, "Acct.Blob.localhost:1", "/c/b", "c", "b", "/c/b", LEVEL_OBJECT },
		{ SERVICE_BLOB, "ACCT-Secondary.blob.localhost", "/c/b", "c", "b", "/c/b", LEVEL_OBJECT },
		{ SERVICE_BLOB, "acct.blob.localhost:1", "/acct/b", "acct", "b", "/acct/b", LEVEL_OBJECT },
		{ SERVICE_BLOB, "nobody.localhost", "/acct/c/b", "c", "b", "/c/b", LEVEL_OBJECT },
		{ SERVICE_BLOB, "acct", "/acct/c/b", "c", "b", "/c/b", LEVEL_OBJECT },
		{ SERVICE_BLOB, "[::1]:1", "/acct/c/b", "c", "b", "/c/b", LEVEL_OBJECT },
		{ SERVICE_QUEUE, "127.0.0.1", "/acct/q", "q", "", "/q", LEVEL_CONTAINER },
		{ SERVICE_QUEUE, "127.0.0.1", "/acct/q/messages", "q", "", "/q/messages", LEVEL_MESSAGES },
		{ SERVICE_QUEUE, "127.0.0.1", "/acct/q/messages/a-b", "q", "a-b", "/q/messages/a-b", LEVEL_MESSAGE },
		{ SERVICE_TABLE, "127.0.0.1", "/acct", "", "", "", LEVEL_SERVICE },
		{ SERVICE_TABLE, "127.0.0.1", "/acct/Tables", "", "", "/Tables", LEVEL_TABLES },
		{ SERVICE_TABLE, "127.0.0.1", "/acct/Tables('t')", "t", "", "/Tables('t')", LEVEL_TABLE_NAME },
		{ SERVICE_TABLE, "127.0.0.1", "/acct/Tables(%27t%27)", "t", "", "/Tables(%27t%27)", LEVEL_TABLE_NAME },
		{ SERVICE_TABLE, "127.0.0.1", "/acct/t", "t", "", "/t", LEVEL_TABLE },
		{ SERVICE_TABLE, "127.0.0.1", "/acct/t()", "t", "", "/t()", LEVEL_TABLE },
		{ SERVICE_TABLE, "127.0.0.1", "/acct/$batch", "", "", "/$batch", LEVEL_BATCH },
		{ SERVICE_TABLE, "127.0.0.1", "/acct/t(PartitionKey='a',RowKey='b')", "t",
		  "PartitionKey='a',RowKey='b'", "/t(PartitionKey='a',RowKey='b')", LEVEL_ENTITY },
		{ SERVICE_TABLE, "127.0.0.1", "/acct/t(PartitionKey='%28)',RowKey='''')", "t",
		  "PartitionKey='()',RowKey=''''", "/t(PartitionKey='%28)',RowKey='''')", LEVEL_ENTITY },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		enum err e = look(rows[i].service, "GET", rows[i].target, rows[i].host, "");
		if (e != ERR_OK)
			fail_msg("%s: %s", rows[i].target, err_name(e));
		expect_slice(ex.req.account, "acct");
		expect_slice(ex.req.container, rows[i].container);
		expect_slice(ex.req.object, rows[i].object);
		expect_slice(ex.req.raw_resource_path, rows[i].raw);
		assert_int_equal(ex.req.level, rows[i].level);
		assert_int_equal(ex.req.path_style,
				 strncasecmp(rows[i].host, "acct", 4) != 0 || !strchr(rows[i].host, '.'));
		assert_int_equal(ex.req.secondary,
				 strcasestr(rows[i].host, "-secondary") || strstr(rows[i].target, "-secondary"));
	}
}

static void addresses_that_name_nothing(void **state)
{
	static const struct {
		enum service service;
		const char *target;
		enum err error;
	} rows[] = {
		{ SERVICE_BLOB, "/nobody/c/b", ERR_RESOURCE_NOT_FOUND },
		{ SERVICE_BLOB, "/", ERR_RESOURCE_NOT_FOUND },
		{ SERVICE_BLOB, "/ACCT/c/b", ERR_RESOURCE_NOT_FOUND },
		{ SERVICE_BLOB, "/acct/c/%zz", ERR_INVALID_URI },
		{ SERVICE_BLOB, "/acct/c/%00", ERR_INVALID_URI },
		{ SERVICE_BLOB, "/acct/c/%ff", ERR_INVALID_URI },
		{ SERVICE_BLOB, "/acct/c/b?x=%zz", ERR_INVALID_URI },
		{ SERVICE_QUEUE, "/acct/q/nonsense", ERR_INVALID_URI },
		{ SERVICE_TABLE, "/acct/t(", ERR_INVALID_URI },
		{ SERVICE_TABLE, "/acct/t/x", ERR_INVALID_URI },
		{ SERVICE_TABLE, "/acct/Tables(t)", ERR_INVALID_URI },
		{ SERVICE_TABLE, "/acct/Tables('t)", ERR_INVALID_URI },
		{ SERVICE_BLOB, "/acct/c/b?timeout=x", ERR_INVALID_QUERY_PARAMETER_VALUE },
		{ SERVICE_BLOB, "/acct/c/b?timeout=-1", ERR_INVALID_QUERY_PARAMETER_VALUE },
		{ SERVICE_BLOB, "/acct/c/b?timeout=30", ERR_OK },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		enum err e = look(rows[i].service, "GET", rows[i].target, "127.0.0.1", "");
		if (e != rows[i].error)
			fail_msg("%s: %s, want %s", rows[i].target, err_name(e), err_name(rows[i].error));
	}
}

static void versions(void **state)
{
	static const struct {
		enum service service;
		const char *query, *headers;
		enum err error;
		uint32_t version;
	} rows[] = {
		{ SERVICE_BLOB, "", "x-ms-version: 2021-06-08\r\n", ERR_OK, 20210608 },
		{ SERVICE_BLOB, "", "x-ms-version: 2012-02-12\r\n", ERR_OK, 20120212 },
		{ SERVICE_BLOB, "", "x-ms-version: 2099-12-31\r\n", ERR_OK, 20991231 },
		{ SERVICE_BLOB, "", "x-ms-version: 2011-08-18\r\n", ERR_OK, 20110818 },
		{ SERVICE_BLOB, "", "x-ms-version: 2009-09-18\r\n", ERR_INVALID_HEADER_VALUE, 0 },
		{ SERVICE_BLOB, "", "x-ms-version: 2021-6-8\r\n", ERR_INVALID_HEADER_VALUE, 0 },
		{ SERVICE_BLOB, "", "x-ms-version: 2021-13-08\r\n", ERR_INVALID_HEADER_VALUE, 0 },
		{ SERVICE_BLOB, "", "x-ms-version: 2021-06-08x\r\n", ERR_INVALID_HEADER_VALUE, 0 },
		{ SERVICE_BLOB, "", "x-ms-version: \r\n", ERR_INVALID_HEADER_VALUE, 0 },
		{ SERVICE_BLOB, "", "", ERR_OK, 20090919 },
		{ SERVICE_BLOB, "", "Authorization: SharedKey a:b\r\n", ERR_OK, 20120212 },
		{ SERVICE_QUEUE, "", "Authorization: SharedKey a:b\r\n", ERR_MISSING_REQUIRED_HEADER, 0 },
		{ SERVICE_TABLE, "", "Authorization: SharedKey a:b\r\n", ERR_MISSING_REQUIRED_HEADER, 0 },
		{ SERVICE_BLOB, "?sig=x&sv=2019-02-02", "", ERR_OK, 20190202 },
		{ SERVICE_BLOB, "?sig=x&sv=2019-02-02", "x-ms-version: 2021-06-08\r\n", ERR_OK, 20210608 },
		{ SERVICE_BLOB, "?sig=x&sv=2019-02-02&api-version=2020-02-10", "x-ms-version: 2021-06-08\r\n", ERR_OK,
		  20200210 },
		{ SERVICE_BLOB, "?sig=x&sv=2019-02-02&api-version=nonsense", "", ERR_INVALID_QUERY_PARAMETER_VALUE, 0 },
		{ SERVICE_BLOB, "?api-version=nonsense", "", ERR_OK, 20090919 },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		char target[256];
		snprintf(target, sizeof target, "/acct/c%s", rows[i].query);
		enum err e = look(rows[i].service, "GET", target, "127.0.0.1", rows[i].headers);
		if (e != rows[i].error)
			fail_msg("row %zu: %s, want %s", i, err_name(e), err_name(rows[i].error));
		if (e == ERR_OK)
			assert_int_equal(ex.req.version, rows[i].version);
	}
}

static void the_account_s_default_version_is_for_blob_requests_without_any(void **state)
{
	default_version = SLICE("2019-02-02");
	assert_int_equal(look(SERVICE_BLOB, "GET", "/acct/c/b", "h", ""), ERR_OK);
	assert_int_equal(ex.req.version, 20190202);
	assert_int_equal(look(SERVICE_BLOB, "GET", "/acct/c/b", "h", "Authorization: SharedKey a:b\r\n"), ERR_OK);
	assert_int_equal(ex.req.version, 20190202);
	assert_int_equal(look(SERVICE_BLOB, "GET", "/acct/c/b", "h", "x-ms-version: 2021-06-08\r\n"), ERR_OK);
	assert_int_equal(ex.req.version, 20210608);
	assert_int_equal(look(SERVICE_BLOB, "GET", "/acct/c/b?sig=x&sv=2020-02-10", "h", ""), ERR_OK);
	assert_int_equal(ex.req.version, 20200210);
	assert_int_equal(look(SERVICE_TABLE, "GET", "/acct/t", "h", ""), ERR_OK);
	assert_int_equal(ex.req.version, 20090919);
	default_version = SLICE_NONE;
}

static void client_request_ids_that_are_echoed(void **state)
{
	char header[1200];
	assert_int_equal(look(SERVICE_BLOB, "GET", "/acct/c/b", "h", "x-ms-client-request-id: abc-1\r\n"), ERR_OK);
	expect_slice(ex.req.client_request_id, "abc-1");
	assert_int_equal(look(SERVICE_BLOB, "GET", "/acct/c/b", "h", "x-ms-client-request-id: a b\r\n"), ERR_OK);
	assert_false(slice_is_set(ex.req.client_request_id));
	for (int length = 1024; length <= 1025; length++) {
		snprintf(header, sizeof header, "x-ms-client-request-id: %0*d\r\n", length, 1);
		assert_int_equal(look(SERVICE_BLOB, "GET", "/acct/c/b", "h", header), ERR_OK);
		assert_int_equal(slice_is_set(ex.req.client_request_id), length == 1024);
	}
}

static void routes(void **state)
{
	static const struct {
		enum service service;
		const char *method, *target, *headers, *id;
		enum err error;
	} rows[] = {
		{ SERVICE_BLOB, "GET", "/acct?comp=list", "", "BLOB_LIST_CONTAINERS", 0 },
		{ SERVICE_BLOB, "GET", "/acct/?restype=service&comp=properties", "", "BLOB_GET_SERVICE", 0 },
		{ SERVICE_BLOB, "GET", "/acct/c/b?restype=account&comp=properties", "", "BLOB_ACCOUNT_INFO", 0 },
		{ SERVICE_BLOB, "PUT", "/acct/c?restype=container", "", "CONTAINER_CREATE", 0 },
		{ SERVICE_BLOB, "HEAD", "/acct/c?restype=container", "", "CONTAINER_GET_PROPERTIES", 0 },
		{ SERVICE_BLOB, "GET", "/acct/c?restype=container&comp=list", "", "CONTAINER_LIST_BLOBS", 0 },
		{ SERVICE_BLOB, "GET", "/acct/c/b", "", "BLOB_GET", 0 },
		{ SERVICE_BLOB, "GET", "/acct/c/b?comp=", "", "BLOB_GET", 0 },
		{ SERVICE_BLOB, "HEAD", "/acct/c/b", "", "BLOB_GET_PROPERTIES", 0 },
		{ SERVICE_BLOB, "PUT", "/acct/c/b", "", "BLOB_PUT", 0 },
		{ SERVICE_BLOB, "PUT", "/acct/c/b", "x-ms-copy-source: u\r\n", "BLOB_COPY", 0 },
		{ SERVICE_BLOB, "PUT", "/acct/c/b", "x-ms-copy-source: u\r\nx-ms-requires-sync: true\r\n",
		  "BLOB_COPY_SYNC", 0 },
		{ SERVICE_BLOB, "PUT", "/acct/c/b", "x-ms-copy-source: u\r\nx-ms-blob-type: BlockBlob\r\n",
		  "BLOB_PUT_FROM_URL", 0 },
		{ SERVICE_BLOB, "PUT", "/acct/c/b?comp=block&blockid=x", "", "BLOB_PUT_BLOCK", 0 },
		{ SERVICE_BLOB, "PUT", "/acct/c/b?comp=BlockList", "", "BLOB_PUT_BLOCK_LIST", 0 },
		{ SERVICE_BLOB, "OPTIONS", "/acct/c/b", "", "BLOB_PREFLIGHT", 0 },
		{ SERVICE_BLOB, "POST", "/acct?comp=batch", "", "BLOB_BATCH", 0 },
		{ SERVICE_QUEUE, "GET", "/acct/q/messages?peekonly=true", "", "MESSAGE_PEEK", 0 },
		{ SERVICE_QUEUE, "GET", "/acct/q/messages?peekonly=false", "", "MESSAGE_GET", 0 },
		{ SERVICE_QUEUE, "PUT", "/acct/q", "", "QUEUE_CREATE", 0 },
		{ SERVICE_TABLE, "POST", "/acct/t", "", "ENTITY_INSERT", 0 },
		{ SERVICE_TABLE, "PUT", "/acct/t(PartitionKey='a',RowKey='b')", "", "ENTITY_INSERT_OR_REPLACE", 0 },
		{ SERVICE_TABLE, "PUT", "/acct/t(PartitionKey='a',RowKey='b')", "If-Match: *\r\n", "ENTITY_UPDATE", 0 },
		{ SERVICE_TABLE, "MERGE", "/acct/t(PartitionKey='a',RowKey='b')", "If-Match: *\r\n", "ENTITY_MERGE",
		  0 },
		{ SERVICE_TABLE, "GET", "/acct/t?comp=acl", "", "TABLE_GET_ACL", 0 },
		{ SERVICE_TABLE, "POST", "/acct/$batch", "", "TABLE_BATCH", 0 },
		{ SERVICE_BLOB, "GET", "/acct", "", NULL, ERR_INVALID_QUERY_PARAMETER_VALUE },
		{ SERVICE_BLOB, "GET", "/acct/c/b?comp=nonsense", "", NULL, ERR_INVALID_QUERY_PARAMETER_VALUE },
		{ SERVICE_BLOB, "GET", "/acct/c?restype=nonsense", "", NULL, ERR_INVALID_QUERY_PARAMETER_VALUE },
		{ SERVICE_BLOB, "PATCH", "/acct/c/b", "", NULL, ERR_UNSUPPORTED_HTTP_VERB },
		{ SERVICE_BLOB, "POST", "/acct/c?restype=container", "", NULL, ERR_UNSUPPORTED_HTTP_VERB },
		{ SERVICE_BLOB, "BREW", "/acct/c/b", "", NULL, ERR_INVALID_HTTP_VERB },
		{ SERVICE_QUEUE, "PATCH", "/acct/q", "", NULL, ERR_UNSUPPORTED_HTTP_VERB },
		{ SERVICE_TABLE, "DELETE", "/acct/t", "", NULL, ERR_METHOD_NOT_ALLOWED },
		{ SERVICE_TABLE, "DELETE", "/acct/t?comp=acl", "", NULL, ERR_UNSUPPORTED_HTTP_VERB },
		{ SERVICE_TABLE, "POST", "/acct?restype=service&comp=properties", "", NULL, ERR_UNSUPPORTED_HTTP_VERB },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		assert_int_equal(look(rows[i].service, rows[i].method, rows[i].target, "127.0.0.1", rows[i].headers),
				 ERR_OK);
		const struct op *op = op_find(&ex.req);
		if (!rows[i].id) {
			if (op)
				fail_msg("%s %s: %s", rows[i].method, rows[i].target, op->name);
			assert_int_equal(route_error(&ex.req), rows[i].error);
		} else if (!op || strcmp(op->name, rows[i].id) != 0) {
			fail_msg("%s %s: %s, want %s", rows[i].method, rows[i].target, op ? op->name : "none",
				 rows[i].id);
		}
	}
}

static void every_row_says_what_it_answers_when_not_built(void **state)
{
	size_t rows = 0;
	for (size_t i = 0; i < SERVICE_COUNT; i++)
		for (size_t k = 0; k < services[i]->op_count; k++, rows++)
			assert_int_not_equal(op_not_built_error(services[i], &services[i]->ops[k]), ERR_OK);
	assert_true(rows > 90);
}

/* An id names one operation of one service. */
static void ids_are_unique(void **state)
{
	for (size_t i = 0; i < SERVICE_COUNT; i++) {
		assert_true(services[i]->op_count > 0 && services[i]->op_count <= OPS_PER_SERVICE);
		for (size_t k = 0; k < services[i]->op_count; k++)
			assert_int_equal(services[i]->ops[k].id, (i + 1) * OPS_PER_SERVICE + k);
	}
}

int main(void)
{
	memcpy(services, rest_services, sizeof services);
	blob = rest_service_blob;
	blob.find_default_version = find_default_version;
	services[SERVICE_BLOB] = &blob;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(resources_of_every_service),
		cmocka_unit_test(addresses_that_name_nothing),
		cmocka_unit_test(versions),
		cmocka_unit_test(the_account_s_default_version_is_for_blob_requests_without_any),
		cmocka_unit_test(client_request_ids_that_are_echoed),
		cmocka_unit_test(routes),
		cmocka_unit_test(ids_are_unique),
		cmocka_unit_test(every_row_says_what_it_answers_when_not_built),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
