/* SPDX-License-Identifier: Apache-2.0
 * Connections over real sockets: framing, pipelining, bodies of every size and way of arriving, refusals, timeouts,
 * drain. */
#include "harness.h"

#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/ioctl.h>

static struct answer A;

/* Get Blob Tags stops its loop until it is told to go on. */
static sem_t loop_stopped, loop_go;
static enum err test_stop_parse(struct request *r)
{
	sem_post(&loop_stopped);
	sem_wait(&loop_go);
	return ERR_OK;
}
static enum err test_stop_format(struct request *r)
{
	r->response.status = 204;
	return ERR_OK;
}
static const struct handler test_handler_stop = { .parse = test_stop_parse, .format = test_stop_format };
static void set_stop_handler(void)
{
	test_op_set(OP_BLOB_GET_TAGS, &test_handler_stop);
}

static unsigned char *pattern(size_t len, unsigned seed)
{
	unsigned char *p = malloc(len + 1);
	uint32_t x = seed * 2654435761u + 1;
	for (size_t i = 0; i < len; i++) {
		x = x * 1664525u + 1013904223u;
		p[i] = (unsigned char)(x >> 24);
	}
	return p;
}

static void expect_error(int status, const char *code)
{
	assert_int_equal(A.status, status);
	assert_string_equal(answer_header(&A, "x-ms-error-code"), code);
	char element[128];
	snprintf(element, sizeof element, "<Code>%s</Code>", code);
	assert_non_null(strstr(A.body, element));
	assert_memory_equal(A.body, "\xef\xbb\xbf<?xml", 8);
}

static void expect_md5(const unsigned char *bytes, size_t len)
{
	unsigned char md5[16];
	char hex[33];
	hash_md5(slice_make(bytes, len), md5);
	for (size_t i = 0; i < 16; i++)
		snprintf(hex + 2 * i, 3, "%02x", md5[i]);
	assert_string_equal(answer_header(&A, "x-test-md5"), hex);
}

static void get_and_compare(int fd, const char *name, const unsigned char *bytes, size_t len)
{
	client_sendf(fd, "GET /acct/c/%s?%s HTTP/1.1\r\nHost: x\r\nx-ms-version: 2021-06-08\r\n\r\n", name, H.sas);
	client_receive(fd, false, &A);
	assert_int_equal(A.status, 200);
	assert_int_equal(A.body_len, len);
	assert_memory_equal(A.body, bytes, len);
}

static void health_answers_on_every_port_without_an_account(void **state)
{
	for (size_t i = 0; i < 3; i++) {
		int fd = client_connect_to(H.port[i]);
		client_sendf(fd, "GET /health HTTP/1.1\r\nHost: x\r\n\r\n");
		client_receive(fd, false, &A);
		assert_int_equal(A.status, 200);
		assert_string_equal(A.body, "{\"status\":\"ok\"}\n");
		client_sendf(fd, "HEAD /health HTTP/1.1\r\nHost: x\r\n\r\n");
		client_receive(fd, true, &A);
		assert_int_equal(A.status, 200);
		assert_string_equal(answer_header(&A, "Content-Length"), "16");
		close(fd);
	}
}

static void bodies_of_every_size_come_back_whole(void **state)
{
	static const size_t sizes[] = { 0,     1,      4096,	15000,	 16384,	  20000,   32767,   32768,   32769,
					65536, 262144, 1048575, 1048576, 1048577, 3000000, 4194304, 4194305, 9000000 };
	int fd = client_connect();
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		unsigned char *bytes = pattern(sizes[i], (unsigned)i);
		char name[32];
		snprintf(name, sizeof name, "size-%zu", sizes[i]);
		client_sendf(fd, "PUT /acct/c/%s?%s HTTP/1.1\r\nHost: x\r\nContent-Length: %zu\r\n\r\n", name, H.sas,
			     sizes[i]);
		client_send(fd, bytes, sizes[i]);
		client_receive(fd, false, &A);
		assert_int_equal(A.status, 201);
		expect_md5(bytes, sizes[i]);
		get_and_compare(fd, name, bytes, sizes[i]);
		free(bytes);
	}
	close(fd);
}

static void chunked_bodies_come_back_whole(void **state)
{
	static const size_t sizes[] = { 0, 1, 5000, 40000, 70000, 1500000, 5000000 };
	int fd = client_connect();
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		unsigned char *bytes = pattern(sizes[i], (unsigned)i + 50);
		char name[32];
		snprintf(name, sizeof name, "chunked-%zu", sizes[i]);
		client_sendf(fd, "PUT /acct/c/%s?%s HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n", name,
			     H.sas);
		for (size_t at = 0, n = 1; at < sizes[i]; at += n) {
			n = n * 7 % 90001 + 1;
			if (n > sizes[i] - at)
				n = sizes[i] - at;
			client_sendf(fd, "%zx;ext=1\r\n", n);
			client_send(fd, bytes + at, n);
			client_sendf(fd, "\r\n");
		}
		/* The next request comes in the same breath as the end of the body. */
		client_sendf(fd, "0\r\nTrailer: x\r\n\r\nGET /health HTTP/1.1\r\nHost: x\r\n\r\n");
		client_receive(fd, false, &A);
		assert_int_equal(A.status, 201);
		expect_md5(bytes, sizes[i]);
		client_receive(fd, false, &A);
		assert_int_equal(A.status, 200);
		get_and_compare(fd, name, bytes, sizes[i]);
		free(bytes);
	}
	close(fd);
}

/* Bodies that end in the same turn of a loop, and windows of bodies under way at once, share the lanes of one hash:
 * each must get its own, also when neighbours leave in the middle. */
static void bodies_side_by_side_keep_their_hashes(void **state)
{
	enum { SMALL = 48, LARGE = 6, LARGE_BYTES = 2600000, PART_BYTES = 130000 };
	unsigned char *bytes[SMALL + LARGE];
	size_t length[SMALL + LARGE];
	int fd[SMALL + LARGE], gone[SMALL];
	for (size_t i = 0; i < SMALL + LARGE; i++) {
		length[i] = i < SMALL ? i * i * 14 : LARGE_BYTES + i * 777;
		bytes[i] = pattern(length[i], (unsigned)i + 900);
		fd[i] = client_connect();
	}
	for (size_t i = 0; i < SMALL; i++)
		gone[i] = client_connect();
	for (size_t i = 0; i < SMALL + LARGE; i++)
		client_sendf(fd[i], "PUT /acct/c/beside-%zu?%s HTTP/1.1\r\nHost: x\r\nContent-Length: %zu\r\n\r\n", i,
			     H.sas, length[i]);
	for (size_t at = 0; at < LARGE_BYTES / 2; at += PART_BYTES)
		for (size_t i = SMALL; i < SMALL + LARGE; i++)
			client_send(fd[i], bytes[i] + at, PART_BYTES);
	for (size_t i = 0; i < SMALL; i++) {
		client_send(fd[i], bytes[i], length[i]);
		client_sendf(gone[i],
			     "PUT /acct/c/gone-%zu?%s HTTP/1.1\r\nHost: x\r\nContent-Length: 5000\r\n\r\n%5000d", i,
			     H.sas, 1);
		close(gone[i]);
	}
	size_t sent = (LARGE_BYTES / 2 + PART_BYTES - 1) / PART_BYTES * PART_BYTES;
	for (size_t i = SMALL; i < SMALL + LARGE; i++)
		client_send(fd[i], bytes[i] + sent, length[i] - sent);
	for (size_t i = 0; i < SMALL + LARGE; i++) {
		char name[32];
		snprintf(name, sizeof name, "beside-%zu", i);
		client_receive(fd[i], false, &A);
		assert_int_equal(A.status, 201);
		expect_md5(bytes[i], length[i]);
		get_and_compare(fd[i], name, bytes[i], length[i]);
		close(fd[i]);
		free(bytes[i]);
	}
}

static void a_body_split_at_every_byte_of_a_small_request(void **state)
{
	char request[1024];
	int n = snprintf(request, sizeof request,
			 "PUT /acct/c/blob?comp=tags&%s HTTP/1.1\r\nHost: x\r\nContent-Length: 11\r\n\r\nhello world",
			 H.sas);
	int fd = client_connect();
	for (int split = 1; split < n; split += 3) {
		client_send(fd, request, (size_t)split);
		/* Lets the server see the first part alone. */
		struct pollfd p = { fd, POLLIN, 0 };
		poll(&p, 1, 1);
		client_send(fd, request + split, (size_t)(n - split));
		client_receive(fd, false, &A);
		assert_int_equal(A.status, 200);
		assert_string_equal(A.body, "hello world");
	}
	close(fd);
}

static void pipelined_requests_are_answered_in_order(void **state)
{
	enum { COUNT = 200 };
	static char all[COUNT * 700];
	size_t len = 0;
	int fd = client_connect();
	for (int i = 0; i < COUNT; i++) {
		switch (i % 3) { /* at once, by a worker, by the committer */
		case 0:
			len += (size_t)snprintf(
				all + len, sizeof all - len,
				"PUT /acct/c/b?comp=tags&%s HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\n%03d",
				H.sas, i);
			break;
		case 1:
			len += (size_t)snprintf(all + len, sizeof all - len,
						"DELETE /acct/c/b?%s HTTP/1.1\r\nHost: x\r\n\r\n", H.sas);
			break;
		case 2:
			len += (size_t)snprintf(
				all + len, sizeof all - len,
				"PUT /acct/c/pipe-%d?%s HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc", i, H.sas);
		}
	}
	client_send(fd, all, len);
	for (int i = 0; i < COUNT; i++) {
		char number[16];
		snprintf(number, sizeof number, "%03d", i % 1000);
		client_receive(fd, false, &A);
		assert_int_equal(A.status, i % 3 == 0 ? 200 : i % 3 == 1 ? 202 : 201);
		if (i % 3 == 0)
			assert_string_equal(A.body, number);
	}
	close(fd);
}

/* A body that is used where it was received: alone, with requests behind it, and when only a part of it is there. */
static void bodies_that_come_with_their_head_come_back_whole(void **state)
{
	enum { EACH = 3 };
	static const size_t sizes[] = { 1, 255, 256, 257, 4096, 7000, 15000, 16384, 32768 };
	static char all[EACH * 34000];
	int fd = client_connect();
	/* All at once; the first alone; the first without its end. */
	for (size_t i = 0; i < 3 * (sizeof sizes / sizeof *sizes); i++) {
		size_t size = sizes[i / 3], len = 0, first = 0;
		unsigned char *bytes[EACH];
		char name[EACH][32];
		for (unsigned k = 0; k < EACH; k++) {
			bytes[k] = pattern(size, (unsigned)i * EACH + k);
			snprintf(name[k], sizeof name[k], "with-%zu-%u", i, k);
			len += (size_t)snprintf(all + len, sizeof all - len,
						"PUT /acct/c/%s?%s HTTP/1.1\r\nHost: x\r\nContent-Length: %zu\r\n\r\n",
						name[k], H.sas, size);
			memcpy(all + len, bytes[k], size);
			len += size;
			first = k ? first : len;
		}
		size_t part = i % 3 == 0 ? len : i % 3 == 1 ? first : first - (size + 1) / 2;
		client_send(fd, all, part);
		/* Lets the server see the first part alone. */
		struct pollfd p = { fd, POLLIN, 0 };
		poll(&p, 1, 1);
		client_send(fd, all + part, len - part);
		for (unsigned k = 0; k < EACH; k++) {
			client_receive(fd, false, &A);
			assert_int_equal(A.status, 201);
			expect_md5(bytes[k], size);
		}
		for (unsigned k = 0; k < EACH; k++) {
			get_and_compare(fd, name[k], bytes[k], size);
			free(bytes[k]);
		}
	}
	close(fd);
}

static void continue_only_when_the_request_has_a_chance(void **state)
{
	int fd = client_connect();
	client_sendf(
		fd,
		"PUT /acct/c/expect?%s HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\nExpect: 100-continue\r\n\r\n",
		H.sas);
	client_receive(fd, false, &A);
	assert_int_equal(A.status, 100);
	unsigned char *bytes = pattern(100000, 3);
	client_send(fd, bytes, 100000);
	client_receive(fd, false, &A);
	assert_int_equal(A.status, 201);
	expect_md5(bytes, 100000);
	free(bytes);
	/* The blob is there now: the dry run refuses before the body. */
	client_sendf(
		fd,
		"PUT /acct/c/expect?%s HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\nExpect: 100-continue\r\n\r\n",
		H.sas);
	client_receive(fd, false, &A);
	expect_error(409, "BlobAlreadyExists");
	assert_true(A.close);
	assert_true(client_sees_close(fd));
	close(fd);
	/* Not allowed to write: refused before the body, too. */
	fd = client_connect();
	harness_sas("r");
	client_sendf(fd, "PUT /acct/c/e2?%s HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n",
		     H.sas);
	client_receive(fd, false, &A);
	expect_error(403, "AuthorizationPermissionMismatch");
	harness_sas("rwdlact");
	close(fd);
}

static void refused_body_is_drained_if_small_and_closes_if_large(void **state)
{
	int fd = client_connect();
	char small[5000] = { 0 };
	client_sendf(fd, "PUT /acct/c/b?comp=tags&%s HTTP/1.1\r\nHost: x\r\nContent-Length: 5000\r\n\r\n", H.sas);
	client_receive(fd, false, &A);
	expect_error(413, "RequestBodyTooLarge");
	assert_non_null(strstr(A.body, "<MaxLimit>1000</MaxLimit>"));
	assert_false(A.close);
	client_send(fd, small, sizeof small);
	client_sendf(fd, "GET /health HTTP/1.1\r\nHost: x\r\n\r\n");
	client_receive(fd, false, &A);
	assert_int_equal(A.status, 200);
	client_sendf(fd, "PUT /acct/c/b?comp=tags&%s HTTP/1.1\r\nHost: x\r\nContent-Length: 5000000000\r\n\r\n", H.sas);
	client_receive(fd, false, &A);
	expect_error(413, "RequestBodyTooLarge");
	assert_true(A.close);
	assert_true(client_sees_close(fd));
	close(fd);
	/* A chunked body that grows past the limit. */
	fd = client_connect();
	client_sendf(fd, "PUT /acct/c/b?comp=tags&%s HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n", H.sas);
	client_sendf(fd, "400\r\n%01024d\r\n", 1);
	client_receive(fd, false, &A);
	expect_error(413, "RequestBodyTooLarge");
	assert_true(A.close);
	close(fd);
}

static void operation_without_a_body_ignores_a_small_one(void **state)
{
	int fd = client_connect();
	client_sendf(fd,
		     "DELETE /acct/c/b?%s HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhelloGET /health "
		     "HTTP/1.1\r\nHost: x\r\n\r\n",
		     H.sas);
	client_receive(fd, false, &A);
	assert_int_equal(A.status, 202);
	client_receive(fd, false, &A);
	assert_int_equal(A.status, 200);
	close(fd);
}

static void what_cannot_be_framed_is_400_and_close(void **state)
{
	static const char *const heads[] = {
		"GET /health HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
		"GET /health HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\n",
		"GET /health HTTP/1.1\r\nHost: x\r\nContent-Length: +5\r\n\r\n",
		"GET /health HTTP/1.1\r\nHost: x\r\nContent-Length: 5, 5\r\n\r\n",
		"GET /health HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
		"GET /health HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: xchunked\r\n\r\n",
		"GET /health HTTP/1.1\r\nHost: x\r\nX: a\r\n b\r\n\r\n",
		"GET /health HTTP/1.1\nHost: x\n\n",
		"GET /health HTTP/1.1\r\nHost : x\r\n\r\n",
		"GET /health HTTP/1.1\r\n\r\n",
		"GET /health HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n",
		"GET health HTTP/1.1\r\nHost: x\r\n\r\n",
		"GET /health HTTP/2.0\r\nHost: x\r\n\r\n",
		"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
	};
	for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
		int fd = client_connect();
		client_sendf(fd, "%s", heads[i]);
		client_sendf(fd, "GET /health HTTP/1.1\r\nHost: x\r\n\r\n");
		client_receive(fd, false, &A);
		assert_int_equal(A.status, 400);
		assert_true(A.close);
		assert_true(client_sees_close(fd));
		close(fd);
	}
}

static void bad_chunk_is_400_and_close(void **state)
{
	static const char *const chunks[] = { "zz\r\n", "-1\r\n", "5\r\nhelloX", "fffffffffffffffff\r\n",
					      "5\nhello\n" };
	for (size_t i = 0; i < sizeof chunks / sizeof *chunks; i++) {
		int fd = client_connect();
		client_sendf(fd,
			     "PUT /acct/c/b?comp=tags&%s HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n%s",
			     H.sas, chunks[i]);
		client_receive(fd, false, &A);
		assert_int_equal(A.status, 400);
		assert_true(A.close);
		assert_true(client_sees_close(fd));
		close(fd);
	}
}

/* The answer waits until nobody works on what came before. */
static void bad_chunk_behind_a_large_body_is_400_and_close(void **state)
{
	static char chunk[1 << 20];
	for (int round = 0; round < 20; round++) {
		int fd = client_connect();
		client_sendf(fd, "PUT /acct/c/bad-%d?%s HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n",
			     round, H.sas);
		for (int i = 0; i <= round % 5; i++) {
			client_sendf(fd, "%zx\r\n", sizeof chunk);
			client_send(fd, chunk, sizeof chunk);
			client_sendf(fd, "\r\n");
		}
		client_sendf(fd, "zz\r\n");
		client_receive(fd, false, &A);
		assert_int_equal(A.status, 400);
		assert_true(client_sees_close(fd));
		close(fd);
	}
}

static void an_oversized_head_is_400_and_close(void **state)
{
	static char value[70000];
	memset(value, 'a', sizeof value - 1);
	int fd = client_connect();
	client_sendf(fd, "GET /health HTTP/1.1\r\nHost: x\r\nX: %s\r\n\r\n", value);
	client_receive(fd, false, &A);
	assert_int_equal(A.status, 400);
	assert_true(client_sees_close(fd));
	close(fd);
}

static void a_peer_that_ended_its_side_still_gets_the_answer(void **state)
{
	int fd = client_connect();
	client_sendf(fd, "PUT /acct/c/half-close?%s HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nhi", H.sas);
	shutdown(fd, SHUT_WR);
	client_receive(fd, false, &A);
	assert_int_equal(A.status, 201);
	assert_true(client_sees_close(fd));
	close(fd);
}

static void peers_that_vanish_leave_nothing_behind(void **state)
{
	struct rest_stats stats;
	struct mem_counts before;
	unsigned char *bytes = pattern(3000000, 9);
	engine_mem_counts(H.engine, &before);
	for (int i = 0; i < 40; i++) {
		int fd = client_connect();
		struct linger l = { 1, 0 };
		client_sendf(fd, "PUT /acct/c/gone-%d?%s HTTP/1.1\r\nHost: x\r\nContent-Length: 3000000\r\n\r\n", i,
			     H.sas);
		client_send(fd, bytes, (size_t)i * 75000); /* also nothing, also nearly all */
		if (i % 2)
			setsockopt(fd, SOL_SOCKET, SO_LINGER, &l, sizeof l); /* a reset, not an end */
		close(fd);
	}
	for (int i = 0; i < 40; i++) { /* and while the commit is under way */
		int fd = client_connect();
		struct linger l = { 1, 0 };
		/* An extent, or a body that is used where it was received. */
		size_t len = i % 2 ? 40000 : 4000;
		client_sendf(fd, "PUT /acct/c/late-%d?%s HTTP/1.1\r\nHost: x\r\nContent-Length: %zu\r\n\r\n", i, H.sas,
			     len);
		client_send(fd, bytes, len);
		setsockopt(fd, SOL_SOCKET, SO_LINGER, &l, sizeof l);
		close(fd);
	}
	free(bytes);
	for (int i = 0; i < 1000; i++) {
		rest_server_stats(H.server, &stats);
		if (stats.connections == 0)
			break;
		usleep(5000);
	}
	assert_int_equal(stats.connections, 0);
	/* Extents that no record names are given back; a commit that was under way may have happened. */
	struct mem_counts counts;
	for (int i = 0; i < 1000; i++) {
		engine_mem_counts(H.engine, &counts);
		if (counts.extents <= before.extents + 40)
			break;
		usleep(5000);
	}
	assert_true(counts.extents <= before.extents + 40);
	assert_int_equal(counts.pins, 0);
	int fd = client_connect();
	client_sendf(fd, "GET /health HTTP/1.1\r\nHost: x\r\n\r\n");
	client_receive(fd, false, &A);
	assert_int_equal(A.status, 200);
	close(fd);
}

static uint64_t extents_now(void)
{
	struct mem_counts counts;
	engine_mem_counts(H.engine, &counts);
	return counts.extents;
}

static void a_refused_payload_is_given_back(void **state)
{
	unsigned char *bytes = pattern(100000, 20);
	int fd = client_connect();
	client_sendf(fd, "PUT /acct/c/twice?%s HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n", H.sas);
	client_send(fd, bytes, 100000);
	client_receive(fd, false, &A);
	assert_int_equal(A.status, 201);
	uint64_t before = extents_now();
	/* Two at once pass the dry run of a new name; one commit is refused and its extents go. */
	struct rest_stats stats;
	rest_server_stats(H.server, &stats);
	uint64_t requests = stats.requests;
	int other = client_connect();
	client_sendf(fd, "PUT /acct/c/race?%s HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n", H.sas);
	client_sendf(other, "PUT /acct/c/race?%s HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n", H.sas);
	client_send(fd, bytes, 50000);
	client_send(other, bytes, 50000);
	do
		rest_server_stats(H.server, &stats);
	while (stats.requests < requests + 2);
	client_send(fd, bytes + 50000, 50000);
	client_receive(fd, false, &A);
	assert_int_equal(A.status, 201);
	client_send(other, bytes + 50000, 50000);
	client_receive(other, false, &A);
	assert_int_equal(A.status, 409);
	for (int i = 0; i < 1000 && extents_now() > before + 1; i++)
		usleep(5000);
	assert_int_equal(extents_now(), before + 1);
	close(fd);
	close(other);
	free(bytes);
}

static void a_full_disk_is_an_answer_and_leaves_nothing(void **state)
{
	static const size_t sizes[] = { 10, 20000, 100000, 3000000 };
	unsigned char *bytes = pattern(3000000, 22);
	uint64_t before = extents_now();
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		struct mem_options full = { .no_space_permille = 1000 }, none = { 0 };
		int fd = client_connect();
		engine_mem_set_faults(H.engine, &full);
		client_sendf(fd, "PUT /acct/c/full-%zu?%s HTTP/1.1\r\nHost: x\r\nContent-Length: %zu\r\n\r\n", i, H.sas,
			     sizes[i]);
		client_send(fd, bytes, sizes[i]);
		client_receive(fd, false, &A);
		engine_mem_set_faults(H.engine, &none);
		expect_error(507, "InsufficientStorage");
		close(fd);
		fd = client_connect();
		client_sendf(fd, "GET /acct/c/full-%zu?%s HTTP/1.1\r\nHost: x\r\n\r\n", i, H.sas);
		client_receive(fd, false, &A);
		expect_error(404, "BlobNotFound");
		close(fd);
	}
	for (int i = 0; i < 1000 && extents_now() > before; i++)
		usleep(5000);
	assert_int_equal(extents_now(), before);
	free(bytes);
}

static void commits_that_lose_or_stay_unknown_are_answered_once(void **state)
{
	struct mem_options trouble = {
		.seed = 5, .conflict_permille = 300, .unknown_happened_permille = 200, .unknown_lost_permille = 200
	};
	struct mem_options none = { 0 };
	engine_mem_set_faults(H.engine, &trouble);
	int fd = client_connect(), created[200];
	for (int i = 0; i < 200; i++) {
		client_sendf(fd, "PUT /acct/c/trouble-%d?%s HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\n%03d", i,
			     H.sas, i);
		client_receive(fd, false, &A);
		created[i] = A.status;
		assert_true(A.status == 201 || A.status >= 500);
	}
	engine_mem_set_faults(H.engine, &none);
	for (int i = 0; i < 200; i++) {
		client_sendf(fd, "GET /acct/c/trouble-%d?%s HTTP/1.1\r\nHost: x\r\n\r\n", i, H.sas);
		client_receive(fd, false, &A);
		if (created[i] == 201) {
			assert_int_equal(A.status, 200);
			assert_int_equal(strtol(A.body, NULL, 10), i);
		}
	}
	close(fd);
}

static void a_damaged_answer_is_cut_off_not_sent(void **state)
{
	size_t len = 9000000;
	unsigned char *bytes = pattern(len, 21);
	int fd = client_connect();
	client_sendf(fd, "PUT /acct/c/damaged?%s HTTP/1.1\r\nHost: x\r\nContent-Length: %zu\r\n\r\n", H.sas, len);
	client_send(fd, bytes, len);
	client_receive(fd, false, &A);
	assert_int_equal(A.status, 201);
	assert_true(engine_mem_corrupt_extent(H.engine, &test_last_extents[1], 100000));
	client_sendf(fd, "GET /acct/c/damaged?%s HTTP/1.1\r\nHost: x\r\n\r\n", H.sas);
	client_receive(fd, false, &A);
	assert_int_equal(A.status, -2);
	assert_true(A.body_len < len);
	assert_memory_equal(A.body, bytes, A.body_len);
	close(fd);
	free(bytes);
}

static void parts_of_a_batch_run_side_by_side(void **state)
{
	static char body[60000];
	size_t len = 0;
	int fd = client_connect();
	atomic_store(&test_worked, 0);
	for (int i = 0; i < 100; i++)
		len += (size_t)snprintf(body + len, sizeof body - len, "DELETE /acct/c/part%d?%s\n", i, H.sas);
	len += (size_t)snprintf(body + len, sizeof body - len,
				"DELETE /acct/c/unsigned\nGET /acct/c/b?%s\nDELETE /nobody/c/b\n", H.sas);
	client_sendf(fd,
		     "POST /acct?comp=batch&%s HTTP/1.1\r\nHost: x\r\nx-ms-version: 2021-06-08\r\nContent-Length: "
		     "%zu\r\n\r\n%s",
		     H.sas, len, body);
	client_receive(fd, false, &A);
	assert_int_equal(A.status, 202);
	int counts[600] = { 0 };
	for (const char *p = A.body; (p = strstr(p, "HTTP/1.1 ")) != NULL; p++)
		counts[strtol(p + 9, NULL, 10)]++;
	assert_int_equal(counts[202], 100);
	assert_int_equal(counts[401], 1);
	assert_int_equal(counts[400], 1); /* only deletes are allowed in there */
	assert_int_equal(counts[404], 1);
	assert_int_equal(atomic_load(&test_worked), 100);
	/* The peer goes while its parts are at work. */
	for (int i = 0; i < 20; i++) {
		int gone = client_connect();
		struct linger l = { 1, 0 };
		client_sendf(gone,
			     "POST /acct?comp=batch&%s HTTP/1.1\r\nHost: x\r\nx-ms-version: "
			     "2021-06-08\r\nContent-Length: %zu\r\n\r\n%s",
			     H.sas, len, body);
		setsockopt(gone, SOL_SOCKET, SO_LINGER, &l, sizeof l);
		close(gone);
	}
	client_sendf(fd, "GET /health HTTP/1.1\r\nHost: x\r\n\r\n");
	client_receive(fd, false, &A);
	assert_int_equal(A.status, 200);
	close(fd);
}

static void table_errors_are_json_and_xml_by_operation(void **state)
{
	int fd = client_connect_to(H.port[2]);
	client_sendf(fd, "DELETE /acct/t?%s HTTP/1.1\r\nHost: x\r\nx-ms-version: 2021-06-08\r\n\r\n", H.sas);
	client_receive(fd, false, &A);
	assert_int_equal(A.status, 405);
	assert_null(answer_header(&A, "x-ms-error-code"));
	assert_string_equal(answer_header(&A, "Content-Type"),
			    "application/json;odata=minimalmetadata;streaming=true;charset=utf-8");
	assert_memory_equal(
		A.body, "{\"odata.error\":{\"code\":\"MethodNotAllowed\",\"message\":{\"lang\":\"en-US\",\"value\":\"",
		75);
	assert_non_null(strstr(A.body, "\\nRequestId:"));
	client_sendf(fd, "GET /acct/t HTTP/1.1\r\nHost: x\r\nx-ms-version: 2021-06-08\r\n\r\n");
	client_receive(fd, false, &A);
	assert_int_equal(A.status, 401);
	assert_string_equal(answer_header(&A, "x-ms-error-code"), "NoAuthenticationInformation");
	assert_string_equal(answer_header(&A, "Content-Type"), "application/json");
	assert_memory_equal(answer_header(&A, "WWW-Authenticate"), "Bearer authorization_uri=https://", 33);
	client_sendf(fd, "DELETE /acct/t?comp=acl&%s HTTP/1.1\r\nHost: x\r\nx-ms-version: 2021-06-08\r\n\r\n", H.sas);
	client_receive(fd, false, &A);
	assert_int_equal(A.status, 405);
	assert_null(answer_header(&A, "x-ms-error-code"));
	assert_non_null(strstr(A.body, "<m:code>UnsupportedHttpVerb</m:code>"));
	close(fd);
}

static void a_slow_reader_gets_every_byte(void **state)
{
	size_t len = 20000000;
	unsigned char *bytes = pattern(len, 11);
	int fd = client_connect();
	client_sendf(fd, "PUT /acct/c/slow-reader?%s HTTP/1.1\r\nHost: x\r\nContent-Length: %zu\r\n\r\n", H.sas, len);
	client_send(fd, bytes, len);
	client_receive(fd, false, &A);
	assert_int_equal(A.status, 201);
	close(fd);
	fd = client_connect();
	client_sendf(fd, "GET /acct/c/slow-reader?%s HTTP/1.1\r\nHost: x\r\n\r\n", H.sas);
	/* More than the sockets hold: the server has to wait for us, several times. */
	for (size_t at = 0; at < 3; at++) {
		char first[4096];
		usleep(30000);
		assert_int_equal(recv(fd, first, sizeof first, MSG_PEEK | MSG_WAITALL), sizeof first);
	}
	client_receive(fd, false, &A);
	assert_int_equal(A.status, 200);
	assert_int_equal(A.body_len, len);
	assert_memory_equal(A.body, bytes, len);
	close(fd);
	free(bytes);
}

static void connection_close_and_http_1_0(void **state)
{
	int fd = client_connect();
	client_sendf(fd, "GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
	client_receive(fd, false, &A);
	assert_int_equal(A.status, 200);
	assert_true(A.close);
	assert_true(client_sees_close(fd));
	close(fd);
	fd = client_connect();
	client_sendf(fd, "GET /health HTTP/1.0\r\n\r\n");
	client_receive(fd, false, &A);
	assert_int_equal(A.status, 200);
	assert_true(client_sees_close(fd));
	close(fd);
}

static int start_plain(void **state)
{
	harness_start(NULL, "/dev/null", 2);
	return 0;
}
static int stop_plain(void **state)
{
	harness_stop();
	return 0;
}

static int start_impatient(void **state)
{
	struct rest_timeouts t = {
		.head_ms = 200, .body_idle_ms = 300, .idle_ms = 400, .write_idle_ms = 300, .drain_ms = 1000
	};
	harness_start(&t, NULL, 1);
	return 0;
}

static void slow_heads_bodies_readers_and_idlers_are_closed(void **state)
{
	/* Whole milliseconds, as loops count them: a difference of rounded times is never short by one. */
	uint64_t start_ms = base_monotonic_ns() / 1000000;
	int idle = client_connect(), head = client_connect(), body = client_connect(), chunked = client_connect();
	int silent = client_connect();
	client_sendf(idle, "GET /health HTTP/1.1\r\nHost: x\r\n\r\n");
	client_receive(idle, false, &A);
	client_sendf(head, "GET /health HTTP/1.1\r\nHo");
	client_sendf(body, "PUT /acct/c/never?%s HTTP/1.1\r\nHost: x\r\nContent-Length: 50000\r\n\r\nabc", H.sas);
	client_sendf(chunked, "PUT /acct/c/never?%s HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab",
		     H.sas);
	/* Dribbling does not help a head. */
	for (int i = 0; i < 3; i++) {
		usleep(50000);
		client_sendf(head, "s");
	}
	/* Who never asked anything has as long as for a head. */
	assert_true(client_sees_close(silent));
	uint64_t silent_ms = base_monotonic_ns() / 1000000 - start_ms;
	assert_true(silent_ms >= 200);
	close(silent);
	assert_true(client_sees_close(head));
	assert_true(client_sees_close(body));
	assert_true(client_sees_close(chunked));
	assert_true(client_sees_close(idle));
	uint64_t ms = base_monotonic_ns() / 1000000 - start_ms;
	if (ms < 400 || ms >= 5000)
		fail_msg("closed after %" PRIu64 " ms", ms);
	close(head);
	close(body);
	close(chunked);
	close(idle);
}

static void a_peer_that_never_reads_is_closed(void **state)
{
	size_t len = 30000000;
	unsigned char *bytes = pattern(len, 12);
	int fd = client_connect(), small = 4096;
	client_sendf(fd, "PUT /acct/c/unread?%s HTTP/1.1\r\nHost: x\r\nContent-Length: %zu\r\n\r\n", H.sas, len);
	client_send(fd, bytes, len);
	client_receive(fd, false, &A);
	assert_int_equal(A.status, 201);
	close(fd);
	fd = client_connect();
	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
	client_sendf(fd, "GET /acct/c/unread?%s HTTP/1.1\r\nHost: x\r\n\r\n", H.sas);
	struct rest_stats stats;
	for (int i = 0; i < 1000; i++) {
		rest_server_stats(H.server, &stats);
		if (stats.connections == 0)
			break;
		usleep(5000);
	}
	assert_int_equal(stats.connections, 0);
	close(fd);
	free(bytes);
}

struct stopper {
	pthread_t thread;
};
/* The server's end of a connection of ours. */
static int other_end(int fd)
{
	struct sockaddr_in mine, peer;
	socklen_t len = sizeof mine;
	assert_int_equal(getsockname(fd, (struct sockaddr *)&mine, &len), 0);
	for (int other = 3; other < 1024; other++) {
		len = sizeof peer;
		if (other != fd && getpeername(other, (struct sockaddr *)&peer, &len) == 0 &&
		    peer.sin_port == mine.sin_port)
			return other;
	}
	fail_msg("no other end");
	return -1;
}

static size_t unread_bytes(int fd)
{
	int n = 0;
	assert_int_equal(ioctl(fd, FIONREAD, &n), 0);
	return (size_t)n;
}

/* A body that is there before the loop looks is not read in one go: the next connection comes in between. */
static void a_body_lets_others_have_their_turn(void **state)
{
	static const char chunk[] = "1\r\nx\r\n";
	enum { CHUNKS = 3 * LIMIT_STREAM_TURN_BYTES / (sizeof chunk - 1) };
	int room = 16 * LIMIT_STREAM_TURN_BYTES;
	harness_start(NULL, NULL, 1);
	sem_init(&loop_stopped, 0, 0);
	sem_init(&loop_go, 0, 0);
	int body = client_connect(), first = client_connect(), second = client_connect();
	client_sendf(body, "PUT /acct/c/turns?%s HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n", H.sas);
	struct rest_stats stats;
	do
		rest_server_stats(H.server, &stats);
	while (stats.requests < 1);
	int server_end = other_end(body);
	if (setsockopt(server_end, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof room) != 0)
		print_message("the system may not hold a whole body: this shows little\n");
	setsockopt(body, SOL_SOCKET, SO_SNDBUF, &room, sizeof room);

	client_sendf(first, "GET /acct/c/stop?comp=tags&%s HTTP/1.1\r\nHost: x\r\n\r\n", H.sas);
	sem_wait(&loop_stopped);
	char *bytes = malloc(CHUNKS * (sizeof chunk - 1));
	for (size_t i = 0; i < CHUNKS; i++)
		memcpy(bytes + i * (sizeof chunk - 1), chunk, sizeof chunk - 1);
	ssize_t sent = send(body, bytes, CHUNKS * (sizeof chunk - 1), MSG_DONTWAIT);
	assert_true(sent > 0);
	client_sendf(second, "GET /acct/c/stop?comp=tags&%s HTTP/1.1\r\nHost: x\r\n\r\n", H.sas);
	size_t before = unread_bytes(server_end);
	sem_post(&loop_go);
	sem_wait(&loop_stopped);
	size_t behind = unread_bytes(server_end);
	sem_post(&loop_go);
	if (before > 2 * LIMIT_STREAM_TURN_BYTES)
		assert_true(behind > before - 2 * LIMIT_STREAM_TURN_BYTES);

	client_send(body, bytes + sent, CHUNKS * (sizeof chunk - 1) - (size_t)sent);
	client_sendf(body, "0\r\n\r\n");
	client_receive(body, false, &A);
	assert_int_equal(A.status, 201);
	memset(bytes, 'x', CHUNKS);
	expect_md5((unsigned char *)bytes, CHUNKS);
	free(bytes);
	close(body);
	close(first);
	close(second);
	harness_stop();
}

static void *stop_main(void *arg)
{
	rest_server_stop(H.server);
	return NULL;
}

static void drain_answers_what_is_under_way_and_closes(void **state)
{
	harness_start(NULL, NULL, 2);
	int idle = client_connect(), busy = client_connect();
	client_sendf(idle, "GET /health HTTP/1.1\r\nHost: x\r\n\r\n");
	client_receive(idle, false, &A);
	unsigned char *bytes = pattern(2000000, 13);
	client_sendf(busy, "PUT /acct/c/drained?%s HTTP/1.1\r\nHost: x\r\nContent-Length: 2000000\r\n\r\n", H.sas);
	client_send(busy, bytes, 1000000);
	struct rest_stats stats;
	do
		rest_server_stats(H.server, &stats);
	while (stats.requests < 2);
	pthread_t thread;
	pthread_create(&thread, NULL, stop_main, NULL);
	assert_true(client_sees_close(idle)); /* so the drain has begun */
	client_send(busy, bytes + 1000000, 1000000);
	client_receive(busy, false, &A);
	assert_int_equal(A.status, 201);
	assert_true(A.close);
	expect_md5(bytes, 2000000);
	assert_true(client_sees_close(busy));
	close(busy);
	close(idle);
	pthread_join(thread, NULL);
	store_close(H.store);
	free(bytes);
}

static void drain_gives_up_on_who_does_not_end(void **state)
{
	struct rest_timeouts t = { .drain_ms = 300 };
	harness_start(&t, NULL, 2);
	int fd = client_connect();
	client_sendf(fd, "PUT /acct/c/undrained?%s HTTP/1.1\r\nHost: x\r\nContent-Length: 2000000\r\n\r\nabc", H.sas);
	struct rest_stats stats;
	do
		rest_server_stats(H.server, &stats);
	while (stats.requests < 1);
	uint64_t start = base_monotonic_ns();
	rest_server_stop(H.server);
	assert_true((base_monotonic_ns() - start) / 1000000 < 3000);
	assert_true(client_sees_close(fd));
	close(fd);
	store_close(H.store);
}

static void access_log_has_one_line_per_request_and_no_signature(void **state)
{
	char path[] = "/tmp/zaffre-test-log-XXXXXX";
	int log = mkstemp(path);
	assert_true(log >= 0);
	harness_start(NULL, path, 1);
	int fd = client_connect();
	client_sendf(fd,
		     "PUT /acct/c/logged?%s HTTP/1.1\r\nHost: x\r\nx-ms-client-request-id: id-1\r\nContent-Length: "
		     "2\r\n\r\nhi",
		     H.sas);
	client_receive(fd, false, &A);
	client_sendf(fd, "GET /acct/c/\"?s%%69g=SECRET HTTP/1.1\r\nHost: x\r\n\r\n");
	client_receive(fd, false, &A);
	close(fd);
	harness_stop();
	static char text[8192];
	ssize_t n = read(log, text, sizeof text - 1);
	assert_true(n > 0);
	text[n] = 0;
	char *second = strchr(text, '\n');
	assert_non_null(second);
	*second++ = 0;
	assert_non_null(strstr(text, "\"op\":\"BLOB_PUT\""));
	assert_non_null(strstr(text, "\"status\":201,\"in\":2,"));
	assert_non_null(strstr(text, "\"client_id\":\"id-1\""));
	assert_non_null(strstr(text, "\"auth\":\"account-sas\""));
	assert_non_null(strstr(text, "&sig=REDACTED"));
	assert_non_null(strchr(second, '\n'));
	assert_null(strstr(second, "SECRET"));
	assert_null(strchr(strchr(second, '\n') + 1, '\n'));
	close(log);
	unlink(path);
}

int main(void)
{
	test_services_changed = set_stop_handler;
	const struct CMUnitTest plain[] = {
		cmocka_unit_test(health_answers_on_every_port_without_an_account),
		cmocka_unit_test(bodies_of_every_size_come_back_whole),
		cmocka_unit_test(chunked_bodies_come_back_whole),
		cmocka_unit_test(bodies_side_by_side_keep_their_hashes),
		cmocka_unit_test(a_body_split_at_every_byte_of_a_small_request),
		cmocka_unit_test(pipelined_requests_are_answered_in_order),
		cmocka_unit_test(bodies_that_come_with_their_head_come_back_whole),
		cmocka_unit_test(continue_only_when_the_request_has_a_chance),
		cmocka_unit_test(refused_body_is_drained_if_small_and_closes_if_large),
		cmocka_unit_test(operation_without_a_body_ignores_a_small_one),
		cmocka_unit_test(what_cannot_be_framed_is_400_and_close),
		cmocka_unit_test(bad_chunk_is_400_and_close),
		cmocka_unit_test(bad_chunk_behind_a_large_body_is_400_and_close),
		cmocka_unit_test(an_oversized_head_is_400_and_close),
		cmocka_unit_test(a_peer_that_ended_its_side_still_gets_the_answer),
		cmocka_unit_test(peers_that_vanish_leave_nothing_behind),
		cmocka_unit_test(a_refused_payload_is_given_back),
		cmocka_unit_test(a_full_disk_is_an_answer_and_leaves_nothing),
		cmocka_unit_test(commits_that_lose_or_stay_unknown_are_answered_once),
		cmocka_unit_test(a_damaged_answer_is_cut_off_not_sent),
		cmocka_unit_test(parts_of_a_batch_run_side_by_side),
		cmocka_unit_test(table_errors_are_json_and_xml_by_operation),
		cmocka_unit_test(a_slow_reader_gets_every_byte),
		cmocka_unit_test(connection_close_and_http_1_0),
	};
	const struct CMUnitTest impatient[] = {
		cmocka_unit_test(slow_heads_bodies_readers_and_idlers_are_closed),
		cmocka_unit_test(a_peer_that_never_reads_is_closed),
	};
	const struct CMUnitTest own[] = {
		cmocka_unit_test(a_body_lets_others_have_their_turn),
		cmocka_unit_test(drain_answers_what_is_under_way_and_closes),
		cmocka_unit_test(drain_gives_up_on_who_does_not_end),
		cmocka_unit_test(access_log_has_one_line_per_request_and_no_signature),
	};
	int failed = cmocka_run_group_tests(plain, start_plain, stop_plain);
	failed += cmocka_run_group_tests(impatient, start_impatient, stop_plain);
	return failed + cmocka_run_group_tests(own, NULL, NULL);
}
