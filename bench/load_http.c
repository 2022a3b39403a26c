/* SPDX-License-Identifier: Apache-2.0
 * HTTP for the load generator: templates of requests, and replies by Content-Length or chunks. */
#include "load.h"

#include "base/sys/clock.h"
#include "wire/base64.h"
#include "wire/date.h"
#include "wire/hash.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#define ACCOUNT "devstoreaccount1"
/* The published key of the development account, the same for every emulator. */
#define ACCOUNT_KEY "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="

const char *sas;
static struct hash_hmac_key key;
static char date_text[DATE_RFC1123_BYTES + 1];

static void mac_put(struct buf *out, struct slice text)
{
	unsigned char mac[HASH_SHA256_BYTES];
	hash_hmac(&key, text, mac);
	base64_encode(out, slice_make(mac, sizeof mac));
}

void sign_init(void)
{
	static struct buf query;
	struct buf text, signature;
	struct clock wall;
	unsigned char raw[64];
	char expiry[DATE_ISO_BYTES];
	buf_init(&query, 4096);
	buf_init(&text, 4096);
	buf_init(&signature, 4096);
	clock_init_wall(&wall, NULL);
	if (!base64_decode_exact(SLICE(ACCOUNT_KEY), raw, sizeof raw))
		die("account key");
	hash_hmac_key_init(&key, slice_make(raw, sizeof raw));
	uint64_t now = clock_now(&wall);
	date_format_rfc1123(now, date_text);
	date_format_iso(now + 3600 * 2 * TICKS_PER_SECOND, expiry);
	buf_printf(&text, ACCOUNT "\nrwdlacup\nbqtf\nsco\n\n%.19sZ\n\n\n2021-06-08\n\n", expiry);
	mac_put(&signature, buf_slice(&text));
	buf_printf(&query, "sv=2021-06-08&ss=bqtf&srt=sco&sp=rwdlacup&se=%.13s%%3A%.2s%%3A%.2sZ&sig=", expiry,
		   expiry + 14, expiry + 17);
	for (size_t i = 0; i < signature.len; i++) {
		char c = signature.ptr[i];
		if (c == '+' || c == '/' || c == '=')
			buf_printf(&query, "%%%02X", (unsigned char)c);
		else
			buf_put_byte(&query, (unsigned char)c);
	}
	buf_put_byte(&query, 0);
	sas = query.ptr;
	buf_fini(&text);
	buf_fini(&signature);
}

const char *sign_date(void)
{
	return date_text;
}

void sign_get(const char *path, const char *date, struct buf *ret)
{
	struct buf text;
	buf_init(&text, 8192);
	buf_printf(&text, "GET\n\n\n\n\n\n\n\n\n\n\n\nx-ms-date:%s\nx-ms-version:2021-06-08\n/" ACCOUNT "%s", date,
		   path);
	BUF_PUT(ret, "SharedKey " ACCOUNT ":");
	mac_put(ret, buf_slice(&text));
	buf_fini(&text);
}

void key_digits(char dst[KEY_DIGITS], uint64_t k)
{
	for (int i = KEY_DIGITS - 1; i >= 0; i--, k /= 10)
		dst[i] = (char)('0' + k % 10);
}

static void head_put(struct buf *out, const char *method, struct slice path, const char *query, const char *headers)
{
	bool plain = strcmp(opt.target, "nginx") == 0 || strcmp(opt.target, "limit") == 0;
	buf_printf(out, "%s %.*s", method, SLICE_FMT(path));
	if (query[0] || !plain)
		buf_printf(out, "?%s%s%s", query, query[0] && !plain ? "&" : "", plain ? "" : sas);
	/* Works that need a newer version say so in their headers. */
	bool versioned = plain || strstr(headers, "x-ms-version:");
	buf_printf(out, " HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n%s%s", opt.port,
		   versioned ? "" : "x-ms-version: 2021-06-08\r\n", headers);
}

/* The digits stand where the path has a '#'. */
void template_init(struct template *t, const char *method, const char *path, const char *query, const char *headers)
{
	if (t->text.len > 0)
		return;
	buf_init(&t->text, 1 << 20);
	head_put(&t->text, method, slice_str(path), query, headers);
	BUF_PUT(&t->text, "\r\n");
	char *at = memchr(t->text.ptr, '#', t->text.len);
	if (!at)
		die("template without a key");
	t->key_at = (size_t)(at - t->text.ptr);
	struct buf longer;
	buf_init(&longer, 1 << 20);
	buf_put(&longer, slice_make(t->text.ptr, t->key_at));
	BUF_PUT(&longer, "00000000");
	buf_put(&longer, slice_from(buf_slice(&t->text), t->key_at + 1));
	buf_fini(&t->text);
	t->text = longer;
}

void template_use(struct conn *c, struct template *t, uint64_t k)
{
	key_digits(t->text.ptr + t->key_at, k);
	buf_put(&c->head, buf_slice(&t->text));
}

void http_request(struct conn *c, const char *method, struct slice path, const char *query, const char *headers,
		  struct slice body)
{
	head_put(&c->head, method, path, query, headers);
	if (slice_is_set(body))
		buf_printf(&c->head, "Content-Length: %zu\r\n", body.len);
	BUF_PUT(&c->head, "\r\n");
	c->body = body;
}

static void http_open(struct conn *c)
{
	c->fd = socket_open(opt.port);
}

static void http_send(struct conn *c)
{
	size_t total = c->head.len + c->body.len;
	while (c->sent_bytes < total) {
		size_t head_done = c->sent_bytes < c->head.len ? c->sent_bytes : c->head.len,
		       body_done = c->sent_bytes - head_done;
		struct iovec iov[2] = { { c->head.ptr + head_done, c->head.len - head_done },
					{ (void *)(uintptr_t)(c->body.ptr + body_done), c->body.len - body_done } };
		struct iovec *first = iov[0].iov_len ? iov : iov + 1;
		ssize_t n = writev(c->fd, first, iov[0].iov_len && c->body.len ? 2 : 1);
		if (n < 0 && errno == EAGAIN)
			return;
		if (n < 0 && (errno == EPIPE || errno == ECONNRESET))
			return; /* the read that follows says so */
		if (n <= 0)
			die("%s: send: %s", opt.work, strerror(errno));
		c->sent_bytes += (size_t)n;
	}
}

static void http_submit(struct conn *c)
{
	buf_clear(&c->in);
	c->head_bytes = c->body_bytes = c->scan_bytes = 0;
	c->skip_bytes = c->skipped_bytes = 0;
	c->chunked = false;
	http_send(c);
}

struct slice http_reply_header(const struct reply *r, struct slice name)
{
	struct slice rest = r->head;
	while (slice_is_set(rest)) {
		struct slice line = slice_cut(&rest, '\n');
		if (line.len > name.len && line.ptr[name.len] == ':' && slice_has_prefix_nocase(line, name)) {
			struct slice value = slice_from(line, name.len + 1);
			if (value.len > 0 && value.ptr[value.len - 1] == '\r')
				value.len--;
			return slice_trim(value);
		}
	}
	return SLICE_NONE;
}

struct slice text_between(struct slice text, struct slice from, struct slice until)
{
	const char *a = text.len ? memmem(text.ptr, text.len, from.ptr, from.len) : NULL;
	if (!a)
		return SLICE_NONE;
	a += from.len;
	size_t left = text.len - (size_t)(a - text.ptr);
	const char *b = memmem(a, left, until.ptr, until.len);
	return b ? slice_make(a, (size_t)(b - a)) : SLICE_NONE;
}

/* The head is whole: how long is the body? */
static void head_read(struct conn *c)
{
	struct reply r = { .head = slice_first(buf_slice(&c->in), c->head_bytes) };
	uint64_t length = 0;
	int status = (int)strtol(c->in.ptr + 9, NULL, 10);
	struct slice text = http_reply_header(&r, SLICE("content-length"));
	if (slice_is_set(text)) {
		if (!slice_to_u64(text, &length))
			die("%s: bad Content-Length", opt.work);
	} else if (status != 204 && status != 304) {
		c->chunked = slice_is_set(http_reply_header(&r, SLICE("transfer-encoding")));
		if (!c->chunked)
			die("%s: a reply of unknown length", opt.work);
	}
	c->body_bytes = length;
	c->scan_bytes = c->head_bytes;
	if (work->discard && status < 300 && !c->chunked) {
		size_t here = c->in.len - c->head_bytes;
		c->skipped_bytes = here;
		c->skip_bytes = length - here;
		c->in.len = c->head_bytes;
	}
}

/* Decodes chunks in place; true when the last one is there. */
static bool chunks_read(struct conn *c)
{
	for (;;) {
		char *at = c->in.ptr + c->scan_bytes;
		size_t left = c->in.len - c->scan_bytes;
		char *eol = memmem(at, left, "\r\n", 2);
		if (!eol)
			return false;
		size_t size = strtoul(at, NULL, 16), line = (size_t)(eol - at) + 2;
		if (left < line + size + 2)
			return false;
		memmove(c->in.ptr + c->head_bytes + c->body_bytes, at + line, size);
		c->body_bytes += size;
		c->scan_bytes += line + size + 2;
		if (size == 0)
			return true;
	}
}

static bool reply_whole(struct conn *c)
{
	if (c->head_bytes == 0) {
		const char *end = c->in.len ? memmem(c->in.ptr, c->in.len, "\r\n\r\n", 4) : NULL;
		if (!end)
			return false;
		c->head_bytes = (size_t)(end - c->in.ptr) + 4;
		head_read(c);
	}
	if (c->chunked)
		return chunks_read(c);
	if (work->discard)
		return c->skip_bytes == 0;
	return c->in.len >= c->head_bytes + c->body_bytes;
}

/* Azurite closes connections as idle when it was busy for longer than its patience with idle ones. The request goes
 * again on a new connection; its time counts from the first try. */
static bool http_again(struct conn *c)
{
	if (strcmp(opt.target, "azurite") != 0 || c->in.len > 0 || c->head_bytes > 0)
		return false;
	close(c->fd);
	c->fd = socket_open(opt.port);
	conn_watch(c);
	c->sent_bytes = 0;
	http_submit(c);
	return true;
}

static bool http_ready(struct conn *c, struct reply *ret)
{
	http_send(c);
	for (;;) {
		ssize_t n;
		if (c->skip_bytes > 0) {
			/* Read as a client reads, into memory that is used again. */
			static char sink[256 * 1024];
			n = recv(c->fd, sink, c->skip_bytes < sizeof sink ? c->skip_bytes : sizeof sink, MSG_DONTWAIT);
			if (n > 0) {
				c->skip_bytes -= (uint64_t)n;
				c->skipped_bytes += (uint64_t)n;
			}
		} else {
			size_t want = c->head_bytes && !c->chunked && !work->discard
					      ? c->head_bytes + c->body_bytes - c->in.len
					      : 16384;
			char *room = buf_reserve(&c->in, want < 16384 ? 16384 : want);
			if (!room)
				die("%s: reply too large", opt.work);
			n = recv(c->fd, room, want < 16384 ? 16384 : want, MSG_DONTWAIT);
			if (n > 0)
				c->in.len += (size_t)n;
		}
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return false;
		if (n <= 0 && http_again(c))
			return false;
		if (n <= 0)
			die("%s: connection lost: %s", opt.work, n == 0 ? "closed" : strerror(errno));
		if (!reply_whole(c))
			continue;
		*ret = (struct reply){ .status = (int)strtol(c->in.ptr + 9, NULL, 10),
				       .head = slice_make(c->in.ptr, c->head_bytes),
				       .body = work->discard && !c->chunked
						       ? slice_make("", 0)
						       : slice_make(c->in.ptr + c->head_bytes, c->body_bytes),
				       .body_bytes = work->discard && !c->chunked ? c->skipped_bytes : c->body_bytes };
		return true;
	}
}

const struct protocol protocol_http = { http_open, http_submit, http_ready };
