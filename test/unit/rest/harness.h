/* SPDX-License-Identifier: Apache-2.0
 * A whole server on the in-memory engine, with small handlers of its own in place of the services', and a raw client.
 * The handlers: Put Blob keeps the payload (extents or inline) in one record and answers its hashes; Get Blob streams
 * it; Set Blob Tags wants a document of at most 1000 bytes and answers it; Delete Blob counts on a worker. */
#ifndef TEST_REST_HARNESS_H
#define TEST_REST_HARNESS_H

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "base/sys/clock.h"
#include "engine/mem/mem.h"
#include "rest/blob/ops.h"
#include "rest/core/conn/driver.h"
#include "rest/core/server.h"
#include "rest/services/services.h"
#include "store/key.h"
#include "wire/base64.h"
#include "wire/hash.h"

#define TEST_ACCOUNT "acct"

/* ---- handlers ---- */

struct test_blob {
	struct slice key;
	struct payload *payload; /* put */
	struct slice record;	 /* get */
	bool old;
};

static inline struct slice test_partition(struct request *r)
{
	struct key k;
	key_init(&k);
	key_partition(&k, r->account, 'c', 7);
	return arena_dup(r->arena, key_slice(&k));
}

static inline enum err test_call_new(struct request *r, struct test_blob **ret)
{
	struct test_blob *c = ARENA_NEW(r->arena, struct test_blob);
	struct key k;
	if (!c)
		return ERR_NO_MEMORY;
	key_init(&k);
	key_tag(&k, 'b');
	key_str(&k, r->object);
	c->key = arena_dup(r->arena, key_slice(&k));
	c->payload = &r->payload;
	r->call = c;
	*ret = c;
	return ERR_OK;
}

/* The extents of the last put that committed, for tests that damage them. */
static struct extent_ref test_last_extents[16];

static enum err test_put_apply(struct txn *t, void *call)
{
	struct test_blob *c = call;
	struct buf b;
	struct slice ignored;
	enum err e = txn_get(t, c->key, &ignored);
	c->old = e == ERR_OK;
	if (e == ERR_OK)
		return ERR_BLOB_ALREADY_EXISTS; /* so that a dry run has something to refuse */
	if (txn_is_dry(t))
		return ERR_OK;
	buf_init(&b, LIMIT_VALUE_BYTES);
	bytes_put_u64(&b, c->payload->length_bytes);
	bytes_put_str(&b, c->payload->inline_bytes);
	bytes_put_u32(&b, (uint32_t)c->payload->extent_count);
	e = ERR_OK;
	for (size_t i = 0; i < c->payload->extent_count && e == ERR_OK; i++) {
		if (i < 16)
			test_last_extents[i] = c->payload->extents[i];
		extent_ref_encode(&b, &c->payload->extents[i]);
		e = txn_publish(t, &c->payload->extents[i]);
	}
	if (e == ERR_OK)
		e = txn_put(t, c->key, buf_slice(&b));
	buf_fini(&b);
	return e;
}

static enum err test_put_parse(struct request *r)
{
	struct test_blob *c;
	TRY(test_call_new(r, &c));
	r->want_md5 = r->want_crc64 = true;
	r->precheck = true;
	request_step_write(r, test_partition(r), test_put_apply);
	return ERR_OK;
}

static enum err test_put_format(struct request *r)
{
	char md5[33], crc[HASH_CRC64_TEXT_BYTES];
	for (size_t i = 0; i < 16; i++)
		snprintf(md5 + 2 * i, 3, "%02x", r->body_md5[i]);
	hash_crc64_format(r->body_crc64, crc);
	r->response.status = 201;
	response_header(r, "x-test-md5", slice_make(md5, 32));
	response_header(r, "x-ms-content-crc64", slice_make(crc, sizeof crc));
	return ERR_OK;
}
static const struct handler test_handler_put = { .parse = test_put_parse, .format = test_put_format };

static enum err test_get_apply(struct txn *t, void *call)
{
	struct test_blob *c = call;
	enum err e = txn_get(t, c->key, &c->record);
	return e == ERR_NOT_FOUND ? ERR_BLOB_NOT_FOUND : e;
}

static enum err test_get_parse(struct request *r)
{
	struct test_blob *c;
	TRY(test_call_new(r, &c));
	request_pin(r);
	request_step_read(r, test_partition(r), test_get_apply);
	return ERR_OK;
}

static enum err test_get_format(struct request *r)
{
	struct test_blob *c = r->call;
	struct cursor cur = cursor_make(c->record);
	r->response.status = 200;
	r->response.content_length = cursor_u64(&cur);
	r->response.set_length = true;
	r->response.body_slice = cursor_str(&cur);
	size_t count = cursor_u32(&cur);
	if (count) {
		r->response.spans = ARENA_NEW_ARRAY(r->arena, struct body_span, count);
		r->response.span_count = count;
	}
	for (size_t i = 0; i < count; i++) {
		r->response.spans[i].extent = extent_ref_decode(&cur);
		r->response.spans[i].length = r->response.spans[i].extent.length_bytes;
	}
	return ERR_OK;
}
static const struct handler test_handler_get = { .parse = test_get_parse, .format = test_get_format };

static enum err test_tags_parse(struct request *r)
{
	r->body_limit_bytes = 1000;
	return ERR_OK;
}
static enum err test_tags_body(struct request *r)
{
	return slice_eq(r->body, SLICE("bad")) ? ERR_INVALID_XML_DOCUMENT : ERR_OK;
}
static enum err test_tags_format(struct request *r)
{
	r->response.status = 200;
	buf_put(&r->response.body, r->body);
	return ERR_OK;
}
static const struct handler test_handler_set_tags = { .parse = test_tags_parse,
						      .parse_body = test_tags_body,
						      .format = test_tags_format };

static atomic_uint test_worked;
static enum err test_work(struct request *r)
{
	atomic_fetch_add(&test_worked, 1);
	return ERR_OK;
}
static enum err test_delete_parse(struct request *r)
{
	request_step_work(r, test_work);
	return ERR_OK;
}
static enum err test_delete_format(struct request *r)
{
	r->response.status = 202;
	return ERR_OK;
}
static const struct handler test_handler_delete = { .parse = test_delete_parse, .format = test_delete_format };

/* A batch here is one "METHOD target" per line; its answer is theirs in a row. */
struct test_batch {
	struct request *part[256];
	size_t count;
};
static bool test_only_deletes(const struct op *op)
{
	return op->id == OP_BLOB_DELETE;
}
static enum err test_batch_start(struct request *r)
{
	struct test_batch *b = r->call;
	struct slice rest = r->body;
	while (slice_is_set(rest) && rest.len) {
		struct slice target = slice_cut(&rest, '\n');
		struct slice method = slice_cut(&target, ' ');
		struct child_part part = { .method = method, .target = target, .allowed = test_only_deletes };
		b->part[b->count] = request_run_child(r, &part);
		if (!b->part[b->count++])
			return ERR_NO_MEMORY;
	}
	return ERR_OK;
}
static enum err test_batch_parse(struct request *r)
{
	r->call = ARENA_NEW(r->arena, struct test_batch);
	request_step_call(r, test_batch_start);
	return r->call ? ERR_OK : ERR_NO_MEMORY;
}
static enum err test_batch_format(struct request *r)
{
	struct test_batch *b = r->call;
	for (size_t i = 0; i < b->count; i++)
		request_child_answer(b->part[i], &r->response.body);
	r->response.status = 202;
	return ERR_OK;
}
static const struct handler test_handler_batch = { .parse = test_batch_parse, .format = test_batch_format };

/* ---- the services: as they are, but for these handlers of Blob ---- */

static struct op test_ops[OPS_PER_SERVICE];
static struct rest_service test_blob;
static const struct rest_service *test_services[SERVICE_COUNT];
static void (*test_services_changed)(void); /* a test's own handlers */

static inline void test_op_set(unsigned id, const struct handler *handler)
{
	for (size_t i = 0; i < test_blob.op_count; i++)
		if (test_ops[i].id == id)
			test_ops[i].handler = handler;
}

static inline void test_services_init(void)
{
	memcpy(test_services, rest_services, sizeof test_services);
	test_blob = rest_service_blob;
	memcpy(test_ops, test_blob.ops, test_blob.op_count * sizeof *test_ops);
	test_blob.ops = test_ops;
	test_services[SERVICE_BLOB] = &test_blob;
	test_op_set(OP_BLOB_PUT, &test_handler_put);
	test_op_set(OP_BLOB_GET, &test_handler_get);
	test_op_set(OP_BLOB_GET_PROPERTIES, &test_handler_get);
	test_op_set(OP_BLOB_SET_TAGS, &test_handler_set_tags);
	test_op_set(OP_BLOB_DELETE, &test_handler_delete);
	test_op_set(OP_BLOB_BATCH, &test_handler_batch);
}

/* ---- the server ---- */

struct harness {
	struct clock clock;
	struct store *store;
	struct rest_server *server;
	struct auth_account account;
	struct engine *engine;
	uint16_t port[3]; /* blob, queue, table */
	char sas[512];
};
static struct harness H;

static inline void harness_sas(const char *permissions)
{
	char text[256], sig[64];
	unsigned char mac[HASH_SHA256_BYTES];
	struct hash_hmac_key key;
	int n = snprintf(text, sizeof text, TEST_ACCOUNT "\n%s\nbqt\nsco\n\n2099-01-01T00:00:00Z\n\n\n2021-06-08\n\n",
			 permissions);
	hash_hmac_key_init(&key, H.account.key[0]);
	hash_hmac(&key, slice_make(text, (size_t)n), mac);
	struct buf b;
	buf_init(&b, 128);
	base64_encode(&b, slice_make(mac, sizeof mac));
	size_t len = 0;
	for (size_t i = 0; i < b.len; i++) {
		char c = b.ptr[i];
		if (c == '+' || c == '/' || c == '=')
			len += (size_t)snprintf(sig + len, sizeof sig - len, "%%%02X", c);
		else
			sig[len++] = c;
	}
	sig[len] = 0;
	buf_fini(&b);
	snprintf(H.sas, sizeof H.sas, "sv=2021-06-08&ss=bqt&srt=sco&sp=%s&se=2099-01-01T00:00:00Z&sig=%s", permissions,
		 sig);
}

static inline void harness_start(const struct rest_timeouts *timeouts, const char *access_log, unsigned loops)
{
	struct store_options options = { .clock = &H.clock };
	struct buf message;
	test_services_init();
	if (test_services_changed)
		test_services_changed();
	clock_init_wall(&H.clock, NULL);
	buf_init(&message, 4096);
	assert_int_equal(engine_mem_open(NULL, &H.engine), ERR_OK);
	assert_int_equal(store_open(H.engine, &options, &H.store), ERR_OK);
	H.account = (struct auth_account){ .name = SLICE(TEST_ACCOUNT),
					   .key = { SLICE("0123456789abcdef0123456789abcdef"), SLICE_NONE } };
	struct rest_listener listeners[] = { { .service = SERVICE_BLOB },
					     { .service = SERVICE_QUEUE },
					     { .service = SERVICE_TABLE } };
	struct rest_config config = { .store = H.store,
				      .services = test_services,
				      .listeners = listeners,
				      .listener_count = 3,
				      .accounts = &H.account,
				      .account_count = 1,
				      .loops = loops,
				      .workers = 2,
				      .access_log = access_log };
	if (timeouts)
		config.timeouts = *timeouts;
	enum err e = rest_server_start(&config, &H.server, &message);
	if (e != ERR_OK)
		fail_msg("%.*s", (int)message.len, message.ptr);
	for (size_t i = 0; i < 3; i++)
		H.port[i] = rest_server_port(H.server, i);
	buf_fini(&message);
	harness_sas("rwdlact");
}

static inline void harness_stop(void)
{
	rest_server_stop(H.server);
	store_close(H.store);
}

/* ---- the client ---- */

static inline int client_connect_to(uint16_t port)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1;
	struct sockaddr_in a = { .sin_family = AF_INET,
				 .sin_port = htons(port),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct timeval limit = { .tv_sec = 20 };
	assert_true(fd >= 0);
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
	assert_int_equal(connect(fd, (struct sockaddr *)&a, sizeof a), 0);
	return fd;
}
static inline int client_connect(void)
{
	return client_connect_to(H.port[0]);
}

static inline void client_send(int fd, const void *bytes, size_t len)
{
	const char *p = bytes;
	while (len) {
		ssize_t n = send(fd, p, len, MSG_NOSIGNAL);
		if (n <= 0)
			return; /* the peer closed: the test looks at what it answered */
		p += n;
		len -= (size_t)n;
	}
}
static inline void client_sendf(int fd, const char *format, ...) __attribute__((format(printf, 2, 3)));
static inline void client_sendf(int fd, const char *format, ...)
{
	static char text[200000];
	va_list ap;
	va_start(ap, format);
	int n = vsnprintf(text, sizeof text, format, ap);
	va_end(ap);
	assert_true(n > 0 && (size_t)n < sizeof text);
	client_send(fd, text, (size_t)n);
}

struct answer {
	int status; /* 0: closed without an answer, -1: nothing within the time */
	char head[8192];
	char *body;
	size_t body_len;
	bool close;
};

static inline const char *answer_header(const struct answer *a, const char *name)
{
	static char value[512];
	const char *p = a->head;
	size_t len = strlen(name);
	while ((p = strstr(p, "\r\n")) != NULL) {
		p += 2;
		if (strncasecmp(p, name, len) == 0 && p[len] == ':') {
			p += len + 1;
			while (*p == ' ')
				p++;
			size_t n = strcspn(p, "\r");
			assert_true(n < sizeof value);
			memcpy(value, p, n);
			value[n] = 0;
			return value;
		}
	}
	return NULL;
}

/* Reads one answer, byte by byte in the head so that nothing of the next is lost. */
static inline void client_receive(int fd, bool is_head, struct answer *a)
{
	size_t n = 0;
	free(a->body);
	*a = (struct answer){ 0 };
	while (n < 4 || memcmp(a->head + n - 4, "\r\n\r\n", 4) != 0) {
		assert_true(n + 1 < sizeof a->head);
		ssize_t got = recv(fd, a->head + n, 1, 0);
		if (got <= 0) {
			a->status = got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK) ? -1 : 0;
			return;
		}
		n++;
	}
	a->head[n] = 0;
	assert_memory_equal(a->head, "HTTP/1.1 ", 9);
	a->status = (int)strtol(a->head + 9, NULL, 10);
	const char *connection = answer_header(a, "Connection");
	a->close = connection && strcmp(connection, "close") == 0;
	const char *length = answer_header(a, "Content-Length");
	if (a->status == 204 || a->status == 304)
		assert_null(length);
	if (is_head || !length || a->status == 100)
		return;
	a->body_len = strtoul(length, NULL, 10);
	a->body = malloc(a->body_len + 1);
	a->body[a->body_len] = 0;
	for (size_t at = 0; at < a->body_len;) {
		ssize_t got = recv(fd, a->body + at, a->body_len - at, 0);
		if (got <= 0) {
			a->body_len = at;
			a->status = -2; /* ended early */
			return;
		}
		at += (size_t)got;
	}
}

/* True if the peer closes (or resets) within the receive time. */
static inline bool client_sees_close(int fd)
{
	char waste[4096];
	ssize_t n;
	while ((n = recv(fd, waste, sizeof waste, 0)) > 0)
		;
	return n == 0 || errno == ECONNRESET;
}

#endif
