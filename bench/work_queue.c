/* SPDX-License-Identifier: Apache-2.0
 * Queue works over HTTP, and the same in Redis: RPUSH; LMOVE to a list of messages in hand, LREM when done. */
#include "load.h"

#include <ctype.h>
#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#define ACCOUNT_PATH "/devstoreaccount1/"

static struct slice message_text(struct conn *c)
{
	/* Letters of the key and a stretch of the same text; XML needs no escapes in it. */
	static char text[65536];
	if (!text[0])
		for (size_t i = 0; i < sizeof text; i++)
			text[i] = (char)('a' + (unsigned char)noise[i] % 26);
	return slice_make(text + rng_below(&c->rng, sizeof text - opt.bytes), opt.bytes);
}

static void queue_path(char *dst, size_t size)
{
	snprintf(dst, size, ACCOUNT_PATH "%s/messages", opt.container);
}

static void queue_request(struct conn *c)
{
	char path[256];
	snprintf(path, sizeof path, ACCOUNT_PATH "%s", opt.container);
	http_request(c, "PUT", slice_str(path), "", "", slice_make("", 0));
}

static enum answer queue_answer(struct conn *c, const struct reply *r)
{
	return r->status == 201 || r->status == 204 || r->status == 409 ? ANSWER_DONE : ANSWER_BAD;
}

static void qput_request(struct conn *c)
{
	char path[256];
	queue_path(path, sizeof path);
	buf_clear(&c->note);
	BUF_PUT(&c->note, "<QueueMessage><MessageText>");
	buf_put(&c->note, message_text(c));
	BUF_PUT(&c->note, "</MessageText></QueueMessage>");
	http_request(c, "POST", slice_str(path), "", "Content-Type: application/xml\r\n", buf_slice(&c->note));
}

static enum answer qput_answer(struct conn *c, const struct reply *r)
{
	return r->status == 201 ? ANSWER_DONE : ANSWER_BAD;
}

static void qtake_request(struct conn *c)
{
	char path[256];
	queue_path(path, sizeof path);
	if (c->step == 0)
		http_request(c, "GET", slice_str(path), "numofmessages=1&visibilitytimeout=60", "", SLICE_NONE);
	else
		http_request(c, "DELETE", slice_make(c->note.ptr, strlen(c->note.ptr)),
			     c->note.ptr + strlen(c->note.ptr) + 1, "", SLICE_NONE);
}

static enum answer qtake_answer(struct conn *c, const struct reply *r)
{
	if (c->step == 1)
		return r->status == 204 ? ANSWER_DONE : ANSWER_BAD;
	struct slice id = text_between(r->body, SLICE("<MessageId>"), SLICE("</MessageId>"));
	struct slice receipt = text_between(r->body, SLICE("<PopReceipt>"), SLICE("</PopReceipt>"));
	if (r->status != 200 || id.len == 0 || receipt.len == 0)
		return ANSWER_BAD;
	buf_clear(&c->note);
	buf_printf(&c->note, ACCOUNT_PATH "%s/messages/%.*s%cpopreceipt=", opt.container, SLICE_FMT(id), 0);
	for (size_t i = 0; i < receipt.len; i++)
		if (isalnum((unsigned char)receipt.ptr[i]))
			buf_put_byte(&c->note, (unsigned char)receipt.ptr[i]);
		else
			buf_printf(&c->note, "%%%02X", (unsigned char)receipt.ptr[i]);
	buf_put_byte(&c->note, 0);
	return ANSWER_MORE;
}

const struct work works_queue[] = {
	{ "queue", "make the queue (--count 1 --connections 1)", &protocol_http, 0, 0, 1, false, queue_request,
	  queue_answer },
	{ "qput", "put messages of --bytes", &protocol_http, 512, 0, 1, false, qput_request, qput_answer },
	{ "qtake", "get one message and delete it", &protocol_http, 512, 0, 1, false, qtake_request, qtake_answer },
	{ 0 },
};

static void redis_open(struct conn *c)
{
	c->fd = socket_open(opt.port);
}

static void redis_submit(struct conn *c)
{
	buf_clear(&c->in);
	/* A command is smaller than any socket buffer and the connection is idle: it goes at once. */
	if (send(c->fd, c->head.ptr, c->head.len, 0) != (ssize_t)c->head.len)
		die("%s: send: %s", opt.work, strerror(errno));
}

/* A reply is a line, or a bulk string of announced length. */
static bool redis_ready(struct conn *c, struct reply *ret)
{
	for (;;) {
		char *room = buf_reserve(&c->in, 16384);
		ssize_t n = room ? recv(c->fd, room, 16384, MSG_DONTWAIT) : 0;
		if (n < 0 && errno == EAGAIN)
			return false;
		if (n <= 0)
			die("%s: connection lost", opt.work);
		c->in.len += (size_t)n;
		const char *eol = memmem(c->in.ptr, c->in.len, "\r\n", 2);
		if (!eol)
			continue;
		size_t line = (size_t)(eol - c->in.ptr) + 2;
		*ret = (struct reply){ .status = c->in.ptr[0] == '-' ? 500 : 200, .body = slice_make(c->in.ptr, line) };
		if (c->in.ptr[0] != '$')
			return true;
		long bytes = strtol(c->in.ptr + 1, NULL, 10);
		if (bytes < 0) {
			ret->status = 404;
			return true;
		}
		if (c->in.len < line + (size_t)bytes + 2)
			continue;
		ret->body = slice_make(c->in.ptr + line, (size_t)bytes);
		return true;
	}
}

const struct protocol protocol_redis = { redis_open, redis_submit, redis_ready };

static void redis_bulk(struct buf *out, struct slice s)
{
	buf_printf(out, "$%zu\r\n", s.len);
	buf_put(out, s);
	BUF_PUT(out, "\r\n");
}

static void rpush_request(struct conn *c)
{
	BUF_PUT(&c->head, "*3\r\n$5\r\nRPUSH\r\n");
	redis_bulk(&c->head, slice_str(opt.container));
	redis_bulk(&c->head, message_text(c));
}

static enum answer rpush_answer(struct conn *c, const struct reply *r)
{
	return r->status == 200 ? ANSWER_DONE : ANSWER_BAD;
}

static void rtake_request(struct conn *c)
{
	if (c->step == 0) {
		BUF_PUT(&c->head, "*5\r\n$5\r\nLMOVE\r\n");
		redis_bulk(&c->head, slice_str(opt.container));
		BUF_PUT(&c->head, "$4\r\nhand\r\n$4\r\nLEFT\r\n$5\r\nRIGHT\r\n");
	} else {
		BUF_PUT(&c->head, "*4\r\n$4\r\nLREM\r\n$4\r\nhand\r\n$1\r\n1\r\n");
		redis_bulk(&c->head, buf_slice(&c->note));
	}
}

static enum answer rtake_answer(struct conn *c, const struct reply *r)
{
	if (r->status != 200)
		return ANSWER_BAD;
	if (c->step == 1)
		return slice_eq(r->body, SLICE(":1\r\n")) ? ANSWER_DONE : ANSWER_BAD;
	buf_clear(&c->note);
	buf_put(&c->note, r->body);
	return ANSWER_MORE;
}

const struct work works_redis[] = {
	{ "rpush", "Redis: RPUSH", &protocol_redis, 512, 0, 1, false, rpush_request, rpush_answer },
	{ "rtake", "Redis: LMOVE and LREM", &protocol_redis, 512, 0, 1, false, rtake_request, rtake_answer },
	{ 0 },
};
