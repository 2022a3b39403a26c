/* SPDX-License-Identifier: Apache-2.0
 * A small HTTP client: connect, sign, send, read one answer. */
#include "server/import/target.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "auth/sharedkey.h"
#include "base/limits.h"
#include "base/sys/clock.h"
#include "wire/base64.h"
#include "wire/date.h"

#define VERSION_TEXT "2023-11-03"
enum { VERSION = 20231103, ANSWER_TIMEOUT_S = 300, BUSY_TRIES = 30, ZEROS_BYTES = 64 * 1024 };
#define BUSY_WAIT_NS UINT64_C(1000000000)

static const char *const endpoint_names[IMPORT_ENDPOINTS] = { "BlobEndpoint", "QueueEndpoint", "TableEndpoint" };

/* ---- the connection string ---- */

static struct slice string_part(struct slice text, const char *name)
{
	while (slice_is_set(text)) {
		struct slice value = slice_cut(&text, ';'), key = slice_cut(&value, '=');
		if (slice_eq_nocase(slice_trim(key), slice_str(name)))
			return slice_is_set(value) ? value : SLICE("");
	}
	return SLICE_NONE;
}

static bool copy_text(char *dst, size_t room, struct slice s)
{
	if (s.len >= room)
		return false;
	if (s.len)
		memcpy(dst, s.ptr, s.len);
	dst[s.len] = '\0';
	return true;
}

/* http://HOST:PORT/PATH; a host in brackets is an IPv6 address. */
static bool endpoint_take(struct import_endpoint *e, struct slice url)
{
	struct slice scheme = SLICE("http://");
	if (!slice_has_prefix_nocase(url, scheme))
		return false;
	url = slice_from(url, scheme.len);
	size_t slash = slice_find_byte(url, '/');
	struct slice where = slice_first(url, slash), path = slice_from(url, slash), host = where, port = SLICE("80");
	while (path.len && path.ptr[path.len - 1] == '/')
		path.len--;
	size_t colon = where.len;
	while (colon > 0 && where.ptr[colon - 1] != ':' && where.ptr[colon - 1] != ']')
		colon--;
	if (colon > 0 && where.ptr[colon - 1] == ':') {
		host = slice_first(where, colon - 1);
		port = slice_from(where, colon);
	}
	if (host.len > 1 && host.ptr[0] == '[')
		host = slice_make(host.ptr + 1, host.len - 2);
	return host.len && copy_text(e->host, sizeof e->host, host) && copy_text(e->port, sizeof e->port, port) &&
	       copy_text(e->path, sizeof e->path, path);
}

bool import_target_init(struct import_target *t, struct slice text, struct buf *error)
{
	*t = (struct import_target){ 0 };
	for (int i = 0; i < IMPORT_ENDPOINTS; i++)
		t->endpoint[i].fd = -1;
	buf_init(&t->head, MIB);
	buf_init(&t->answer, LIMIT_SMALL_BODY_BYTES);
	struct slice name = string_part(text, "AccountName"), key = string_part(text, "AccountKey");
	for (int i = 0; i < IMPORT_ENDPOINTS; i++) {
		struct slice url = string_part(text, endpoint_names[i]);
		if (!slice_is_set(url)) {
			buf_printf(error, "the connection string has no %s", endpoint_names[i]);
			return false;
		}
		if (!endpoint_take(&t->endpoint[i], url)) {
			buf_printf(error,
				   "%s=%.*s: only http://HOST:PORT/PATH can be imported into; for a server with "
				   "certificates start it on loopback without them for the time of the import",
				   endpoint_names[i], SLICE_FMT(url));
			return false;
		}
	}
	struct arena arena;
	struct slice raw = SLICE_NONE;
	arena_init(&arena, 64 * KIB);
	bool ok = name.len && copy_text(t->account_name, sizeof t->account_name, name) && key.len &&
		  base64_decode(key, &arena, &raw) == ERR_OK && raw.len && raw.len <= sizeof t->key;
	if (ok) {
		memcpy(t->key, raw.ptr, raw.len);
		t->account.name = slice_str(t->account_name);
		t->account.key[0] = slice_make(t->key, raw.len);
		auth_account_prepare(&t->account);
	} else {
		BUF_PUT(error, "the connection string has no AccountName, or no AccountKey in Base64");
	}
	arena_wipe(&arena);
	arena_fini(&arena);
	return ok;
}

void import_target_fini(struct import_target *t)
{
	for (int i = 0; i < IMPORT_ENDPOINTS; i++)
		if (t->endpoint[i].fd >= 0)
			close(t->endpoint[i].fd);
	auth_account_release(&t->account);
	explicit_bzero(t->key, sizeof t->key);
	buf_fini(&t->head);
	buf_fini(&t->answer);
}

/* ---- building a request ---- */

void import_request_init(struct import_request *r, enum service service, const char *method, struct arena *arena)
{
	*r = (struct import_request){ .service = service, .method = method, .chunk = { .fd = -1 }, .arena = arena };
	buf_init(&r->path, 64 * KIB);
	buf_init(&r->query, 64 * KIB);
}

void import_request_fini(struct import_request *r)
{
	buf_fini(&r->path);
	buf_fini(&r->query);
}

static bool header_can_hold(struct slice s)
{
	for (size_t i = 0; i < s.len; i++)
		if ((unsigned char)s.ptr[i] < ' ' || s.ptr[i] == 0x7f)
			return false;
	return true;
}

void import_request_header(struct import_request *r, struct slice name, struct slice value)
{
	if (r->header_count == IMPORT_HEADERS_MAX || !header_can_hold(name) || !header_can_hold(value)) {
		r->header_bad = true;
		return;
	}
	r->header[r->header_count++] = (struct http_header){ name, value };
}

void import_request_path(struct import_request *r, struct slice container, struct slice object)
{
	BUF_PUT(&r->path, "/");
	uri_encode(&r->path, container, "$");
	if (slice_is_set(object)) {
		BUF_PUT(&r->path, "/");
		uri_encode(&r->path, object, "/");
	}
}

static uint64_t body_bytes(const struct import_request *r)
{
	return slice_is_set(r->body) ? r->body.len : r->chunk.count;
}

static enum err head_sign(struct import_target *t, const struct import_request *r, struct slice *ret)
{
	struct http_head head;
	struct query query = { 0 };
	size_t scanned = 0;
	if (http_parse_head(buf_slice(&t->head), &scanned, r->arena, &head) != HTTP_PARSE_DONE)
		return ERR_SYNTAX;
	if (slice_is_set(head.query))
		TRY(uri_parse_query(head.query, r->arena, &query));
	struct auth_request a = { .head = &head,
				  .query = &query,
				  .service = r->service,
				  .account = &t->account,
				  .path_style = t->endpoint[r->service].path[0] != '\0',
				  .account_in_path = t->account.name,
				  .version = VERSION };
	return sharedkey_sign(&a, SHAREDKEY_FULL, r->arena, ret);
}

static bool head_build(struct import_target *t, const struct import_request *r)
{
	const struct import_endpoint *e = &t->endpoint[r->service];
	struct clock clock;
	struct slice authorization;
	clock_init_wall(&clock, NULL);
	buf_clear(&t->head);
	buf_printf(&t->head, "%s %s%.*s%s%.*s HTTP/1.1\r\nHost: %s:%s\r\nx-ms-date: ", r->method, e->path,
		   SLICE_FMT(buf_slice(&r->path)), r->query.len ? "?" : "", SLICE_FMT(buf_slice(&r->query)), e->host,
		   e->port);
	date_put_rfc1123(&t->head, clock_now(&clock));
	buf_printf(&t->head, "\r\nx-ms-version: " VERSION_TEXT "\r\nContent-Length: %llu\r\n",
		   (unsigned long long)body_bytes(r));
	for (size_t i = 0; i < r->header_count; i++)
		buf_printf(&t->head, "%.*s: %.*s\r\n", SLICE_FMT(r->header[i].name), SLICE_FMT(r->header[i].value));
	BUF_PUT(&t->head, "\r\n");
	if (!buf_ok(&t->head) || !buf_ok(&r->path) || !buf_ok(&r->query) || head_sign(t, r, &authorization) != ERR_OK)
		return false;
	t->head.len -= 2;
	buf_printf(&t->head, "Authorization: %.*s\r\n\r\n", SLICE_FMT(authorization));
	return buf_ok(&t->head);
}

/* ---- the connection ---- */

static bool endpoint_connect(struct import_endpoint *e)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *found = NULL;
	struct timeval limit = { .tv_sec = ANSWER_TIMEOUT_S };
	int on = 1;
	if (getaddrinfo(e->host, e->port, &hints, &found) != 0)
		return false;
	for (struct addrinfo *a = found; a && e->fd < 0; a = a->ai_next) {
		int fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC, a->ai_protocol);
		if (fd < 0)
			continue;
		(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
		(void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
		(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
		if (connect(fd, a->ai_addr, a->ai_addrlen) == 0)
			e->fd = fd;
		else
			close(fd);
	}
	freeaddrinfo(found);
	return e->fd >= 0;
}

static void endpoint_drop(struct import_endpoint *e)
{
	if (e->fd >= 0)
		close(e->fd);
	e->fd = -1;
}

static bool send_slice(int fd, struct slice s, int flags)
{
	while (s.len) {
		ssize_t n = send(fd, s.ptr, s.len, MSG_NOSIGNAL | flags);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		s = slice_from(s, (size_t)n);
	}
	return true;
}

static bool send_chunk(int fd, const struct import_chunk *c)
{
	static const char zeros[ZEROS_BYTES];
	uint64_t left = c->count;
	off_t at = (off_t)c->offset;
	while (left && c->fd < 0) {
		size_t n = left < sizeof zeros ? (size_t)left : sizeof zeros;
		if (!send_slice(fd, slice_make(zeros, n), 0))
			return false;
		left -= n;
	}
	while (left) {
		ssize_t n = sendfile(fd, c->fd, &at, left < GIB ? (size_t)left : (size_t)GIB);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		left -= (uint64_t)n;
	}
	return true;
}

/* ---- the answer ---- */

/* The value of a header line in the head of an answer. */
static struct slice answer_header(struct slice head, struct slice name)
{
	while (slice_is_set(head)) {
		struct slice line = slice_cut(&head, '\n'), value = line, key = slice_cut(&value, ':');
		if (slice_is_set(value) && slice_eq_nocase(key, name)) {
			if (value.len && value.ptr[value.len - 1] == '\r')
				value.len--;
			return slice_trim(value);
		}
	}
	return SLICE_NONE;
}

static bool receive_more(struct import_target *t, int fd)
{
	enum { PIECE_BYTES = 16 * 1024 };
	char *room = buf_reserve(&t->answer, PIECE_BYTES);
	ssize_t n;
	if (!room)
		return false;
	do
		n = recv(fd, room, PIECE_BYTES, 0);
	while (n < 0 && errno == EINTR);
	if (n <= 0)
		return false;
	t->answer.len += (size_t)n;
	return true;
}

static size_t head_end(struct slice s)
{
	for (size_t i = 0; i + 4 <= s.len; i++)
		if (memcmp(s.ptr + i, "\r\n\r\n", 4) == 0)
			return i + 4;
	return 0;
}

/* The status; 0: the connection ended before the answer did. A body that has no length is not waited for: the
 * connection is not used again, and nothing here reads one. */
static int answer_receive(struct import_target *t, struct import_endpoint *e, bool is_head)
{
	size_t head_bytes;
	uint64_t status, length = 0;
	buf_clear(&t->answer);
	while (!(head_bytes = head_end(buf_slice(&t->answer))))
		if (!receive_more(t, e->fd))
			return 0;
	struct slice head = slice_first(buf_slice(&t->answer), head_bytes);
	if (!slice_has_prefix(head, SLICE("HTTP/1.1 ")) || !slice_to_u64(slice_make(head.ptr + 9, 3), &status))
		return 0;
	struct slice length_text = answer_header(head, SLICE("Content-Length"));
	bool framed = slice_to_u64(length_text, &length) || status == 204;
	bool closes = slice_eq_nocase(answer_header(head, SLICE("Connection")), SLICE("close"));
	if (is_head)
		length = 0;
	while (t->answer.len - head_bytes < length)
		if (!receive_more(t, e->fd))
			return 0;
	head = slice_first(buf_slice(&t->answer), head_bytes); /* it may have moved */
	t->error_code = answer_header(head, SLICE("x-ms-error-code"));
	t->body = slice_first(slice_from(buf_slice(&t->answer), head_bytes), length);
	struct slice hint = answer_header(head, SLICE("x-zaffre-hint"));
	(void)snprintf(t->why, sizeof t->why, "%llu %.*s%s%.*s", (unsigned long long)status, SLICE_FMT(t->error_code),
		       hint.len ? ": " : "", SLICE_FMT(hint));
	if (closes || (!framed && !is_head))
		endpoint_drop(e);
	return (int)status;
}

static int send_once(struct import_target *t, struct import_request *r, struct import_endpoint *e)
{
	bool has_body = body_bytes(r) != 0;
	if (e->fd < 0 && !endpoint_connect(e))
		return 0;
	bool sent = send_slice(e->fd, buf_slice(&t->head), has_body ? MSG_MORE : 0);
	if (sent && has_body)
		sent = slice_is_set(r->body) ? send_slice(e->fd, r->body, 0) : send_chunk(e->fd, &r->chunk);
	/* Who refuses a request may answer before all of it was sent. */
	int status = answer_receive(t, e, strcmp(r->method, "HEAD") == 0);
	if (!sent || status == 0)
		endpoint_drop(e);
	return status;
}

int import_send(struct import_target *t, struct import_request *r)
{
	struct import_endpoint *e = &t->endpoint[r->service];
	bool repeatable = strcmp(r->method, "POST") != 0, was_open = e->fd >= 0;
	if (r->header_bad || !head_build(t, r)) {
		(void)snprintf(t->why, sizeof t->why, "it has a name or a value that no request can hold");
		t->error_code = SLICE("InvalidInput");
		return 400;
	}
	int status = send_once(t, r, e);
	/* A connection that lay idle may have been closed meanwhile. */
	if (status == 0 && was_open && repeatable)
		status = send_once(t, r, e);
	for (int i = 0; status == 503 && i < BUSY_TRIES; i++) {
		base_sleep_ns(BUSY_WAIT_NS);
		status = send_once(t, r, e);
	}
	if (status == 0)
		(void)snprintf(t->why, sizeof t->why, "the server at %s port %s does not answer: %s", e->host, e->port,
			       errno ? strerror(errno) : "the connection ended");
	return status;
}
