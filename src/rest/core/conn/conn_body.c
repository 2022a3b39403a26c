/* SPDX-License-Identifier: Apache-2.0
 * The body of a request, out of the connection and into its sink (body.c): with a length or in chunks, no faster than
 * the sink takes it; and the small rest of one that nobody wanted. */
#include "rest/core/conn/conn_int.h"

#include <assert.h>

enum { RAW_BYTES = 64 * 1024 };

void conn_continue(struct conn *c)
{
	static const char text[] = "HTTP/1.1 100 Continue\r\n\r\n";
	struct exchange *ex = c->ex;
	if (!ex->head.expect_continue || ex->framing.ended || ex->framing.in_pos < ex->in.len ||
	    ex->head.minor_version == 0)
		return;
	struct iovec iov = { (void *)(uintptr_t)text, sizeof text - 1 };
	/* Everything before is sent, so these few bytes always fit; if not, the peer does not read and is not worth
	 * waiting for. */
	if (io_stream_writev(&c->stream, &iov, 1) != (ssize_t)sizeof text - 1)
		conn_close(c);
	else
		ex->continued = true;
}

static void conn_body_over(struct conn *c, enum err e)
{
	conn_enter(c, CONN_BUSY);
	c->ex->bytes_in = c->ex->sink.received_bytes;
	conn_run_request(c, driver_body_end(c->ex, e));
}

/* Something is wrong with the body: conn_body ends it as soon as nobody works on what came before. Always false. */
static bool conn_body_fail(struct conn *c, enum err e)
{
	if (c->ex->sink.error == ERR_OK)
		c->ex->sink.error = e;
	return false;
}

/* Content-Length. True: go on; false: wait, or the state changed, or sink.error tells. */
static bool conn_body_plain(struct conn *c)
{
	struct exchange *ex = c->ex;
	struct framing *f = &ex->framing;
	size_t here = ex->in.len - f->in_pos, taken;
	enum err e;
	if (here > 0) {
		if (here > f->left_bytes)
			here = (size_t)f->left_bytes;
		e = body_take(ex, slice_make(ex->in.ptr + f->in_pos, here), &taken);
		assert(taken <= here);
		f->in_pos += taken;
		f->left_bytes -= taken;
		f->ended = f->left_bytes == 0;
		if (e != ERR_OK)
			return conn_body_fail(c, e);
		return taken == here;
	}
	size_t room;
	char *dst = body_room(ex, &room);
	if (!dst)
		return conn_body_fail(c, ERR_NO_MEMORY);
	if (room == 0 || !c->readable)
		return false;
	ssize_t n = conn_read(c, dst, room < f->left_bytes ? room : (size_t)f->left_bytes);
	if (n == STREAM_END)
		conn_close(c); /* half a body is no request */
	if (n <= 0)
		return false;
	assert((size_t)n <= f->left_bytes && (size_t)n <= room); /* what follows is the next request's */
	f->left_bytes -= (size_t)n;
	f->ended = f->left_bytes == 0;
	e = body_filled(ex, (size_t)n);
	return e == ERR_OK || conn_body_fail(c, e);
}

/* Gives decoded bytes to the sink. True: all taken. */
static bool conn_body_give(struct conn *c)
{
	struct exchange *ex = c->ex;
	struct framing *f = &ex->framing;
	size_t taken;
	assert(ex->sink.received_bytes <= ex->req.body_limit_bytes);
	if (f->data.len > ex->req.body_limit_bytes - ex->sink.received_bytes)
		return conn_body_fail(c, body_too_large(&ex->req));
	enum err e = body_take(ex, f->data, &taken);
	f->data = slice_from(f->data, taken);
	if (e != ERR_OK)
		return conn_body_fail(c, e);
	return f->data.len == 0;
}

/* Where the next request begins is not known any more. Always false. */
static bool conn_body_broken(struct conn *c, enum err e)
{
	c->ex->framing.data.len = c->ex->framing.framed.len = 0;
	c->ex->broken_framing = true;
	return conn_body_fail(c, e);
}

/* One run out of buffer `b` from *pos on, as the transport has it: of a chunk, or of what is left. */
static bool conn_body_unwrap(struct conn *c, const struct buf *b, size_t *pos)
{
	struct framing *f = &c->ex->framing;
	struct slice input = slice_make(b->ptr + *pos, b->len - *pos), run;
	if (f->chunked) {
		enum http_parse p = http_chunked_next(&f->chunk, &input, &run);
		*pos = b->len - input.len;
		if (p == HTTP_PARSE_BAD || p == HTTP_PARSE_TOO_LARGE)
			return conn_body_broken(c, ERR_INVALID_INPUT);
		f->ended = p == HTTP_PARSE_DONE;
	} else {
		run = slice_first(input, f->left_bytes < input.len ? (size_t)f->left_bytes : input.len);
		*pos += run.len;
		f->left_bytes -= run.len;
		f->ended = f->left_bytes == 0;
	}
	if (f->structured) {
		f->framed = run;
		return true;
	}
	f->data = run;
	return f->data.len == 0 || conn_body_give(c);
}

/* One run of data out of a structured message. */
static bool conn_body_destructure(struct conn *c)
{
	struct framing *f = &c->ex->framing;
	switch (structured_decode(f->structured, &f->framed, &f->data)) {
	case STRUCTURED_DATA:
		return conn_body_give(c);
	case STRUCTURED_MORE:
		return true;
	case STRUCTURED_DONE: /* it is over, and so must the body be */
		return (f->ended && f->framed.len == 0) || conn_body_broken(c, ERR_INVALID_INPUT);
	case STRUCTURED_CRC:
		return conn_body_broken(c, ERR_CRC64_MISMATCH);
	case STRUCTURED_BAD:
		break;
	}
	return conn_body_broken(c, ERR_INVALID_INPUT);
}

/* Bodies that must be decoded: in chunks, structured, or both. */
static bool conn_body_coded(struct conn *c)
{
	struct exchange *ex = c->ex;
	struct framing *f = &ex->framing;
	if (f->data.len > 0)
		return conn_body_give(c);
	if (f->framed.len > 0)
		return conn_body_destructure(c);
	if (f->in_pos < ex->in.len)
		return conn_body_unwrap(c, &ex->in, &f->in_pos);
	if (f->raw_pos < ex->raw.len)
		return conn_body_unwrap(c, &ex->raw, &f->raw_pos);
	if (!c->readable)
		return false;
	buf_clear(&ex->raw);
	f->raw_pos = 0;
	char *dst = buf_reserve(&ex->raw, RAW_BYTES);
	if (!dst)
		return conn_body_fail(c, ERR_NO_MEMORY);
	size_t room = f->chunked || f->left_bytes > RAW_BYTES ? RAW_BYTES : (size_t)f->left_bytes;
	ssize_t n = conn_read(c, dst, room);
	if (n == STREAM_END)
		conn_close(c);
	if (n <= 0)
		return false;
	ex->raw.len = (size_t)n;
	return true;
}

/* All bytes came. A structured message must be whole, and as long as was said. */
static enum err conn_body_check_end(const struct exchange *ex)
{
	struct slice none = SLICE(""), data;
	struct structured_decoder *d = ex->framing.structured;
	if (!d)
		return ERR_OK;
	bool whole = structured_decode(d, &none, &data) == STRUCTURED_DONE;
	return whole && d->data_bytes == ex->req.structured_bytes ? ERR_OK : ERR_INVALID_INPUT;
}

bool conn_body(struct conn *c)
{
	for (;;) {
		struct exchange *ex = c->ex;
		if (ex->sink.error != ERR_OK) {
			if (ex->sink.working)
				return false; /* conn_resume follows */
			conn_body_over(c, ex->sink.error);
			return true;
		}
		if (ex->framing.ended && ex->framing.data.len == 0 && ex->framing.framed.len == 0) {
			enum err e = ex->sink.ended ? ERR_OK : conn_body_check_end(ex);
			if (e != ERR_OK) {
				conn_body_fail(c, e);
				continue;
			}
			if (!body_finish(ex))
				return false;
			conn_body_over(c, ex->sink.error);
			return true;
		}
		bool coded = ex->framing.chunked || ex->framing.structured;
		bool on = coded ? conn_body_coded(c) : conn_body_plain(c);
		if (c->state != CONN_BODY)
			return true;
		if (!on && ex->sink.error == ERR_OK)
			return false;
		if (c->turn_bytes >= LIMIT_STREAM_TURN_BYTES || c->turn_reads >= LIMIT_READS_PER_TURN) {
			conn_defer(c); /* it may come as fast as it is read: others have their turn */
			return false;
		}
	}
}

bool conn_drain(struct conn *c)
{
	struct exchange *ex = c->ex;
	struct framing *f = &ex->framing;
	char waste[4096];
	assert(!f->chunked); /* its end is not known: such a connection is closed */
	size_t here = ex->in.len - f->in_pos;
	if (here > f->left_bytes)
		here = (size_t)f->left_bytes;
	f->in_pos += here;
	f->left_bytes -= here;
	while (f->left_bytes > 0) {
		if (c->turn_reads >= LIMIT_READS_PER_TURN)
			conn_defer(c);
		if (!c->readable || c->task_queued)
			return false;
		ssize_t n = conn_read(c, waste, f->left_bytes < sizeof waste ? (size_t)f->left_bytes : sizeof waste);
		if (n == STREAM_END)
			conn_close(c);
		if (n <= 0)
			return c->state != CONN_DRAIN;
		f->left_bytes -= (size_t)n;
	}
	conn_keep_rest(ex);
	conn_enter(c, CONN_IDLE);
	return true;
}
