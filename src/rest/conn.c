/* SPDX-License-Identifier: Apache-2.0
 * A connection: bytes in, requests one after another, answers out in the same order.
 *
 *   IDLE -> HEAD -> (BODY) -> (BUSY) -> WRITE -> (DRAIN) -> IDLE ...          WRITE -> LINGER -> closed
 *
 * IDLE holds no exchange and no buffer. HEAD gathers the head; BODY feeds the sink; BUSY waits for the driver; WRITE
 * sends; DRAIN throws away a small rest of a body nobody wanted; LINGER lets the peer read the last answer before the
 * close. conn_pump runs the machine until it has to wait; readiness is remembered in readable and writable (edges come
 * once).
 *
 * Head slices point into ex->in, so `in` is frozen from the end of the head until the answer is out: body bytes that
 * did not come with the head are read elsewhere, never more than the body has.
 *
 * A peer that ends its side (half-close) still gets its answer. A peer that resets loses its exchange; what is pending
 * in the store or with a worker ends first, then the exchange goes (orphans). */
#include <assert.h>
#include <sys/epoll.h>

#include "base/log.h"
#include "io/stream.h"
#include "rest/conn_int.h"
#include "rest/op.h"

enum { IN_FIRST_BYTES = 16 * 1024, RAW_BYTES = 64 * 1024 };

static void conn_pump(struct conn *c);
static void conn_run_request(struct conn *c, enum driver_state state);

static uint64_t timeout_or(uint64_t configured_ms, uint64_t standard_ms)
{
	return configured_ms ? configured_ms : standard_ms;
}

static const struct rest_timeouts *timeouts(const struct conn *c)
{
	return &c->rl->server->config.timeouts;
}

static void conn_deadline(struct conn *c, uint64_t after_ms)
{
	io_timer_set(c->rl->loop, &c->timer, io_loop_now_ms(c->rl->loop) + after_ms);
}

/* ---- end of a connection ---- */

static void orphan_advanced(struct exchange *ex, enum driver_state state)
{
	if (state == DRIVER_PARKED)
		return;
	accesslog_write(ex, true);
	exchange_put(ex);
}

static void conn_task(struct io_task *t)
{
	struct conn *c = io_container_of(t, struct conn, task);
	c->task_queued = false;
	if (c->state == CONN_CLOSED)
		free(c);
	else
		conn_pump(c);
}

static void conn_defer(struct conn *c)
{
	if (c->task_queued)
		return;
	c->task_queued = true;
	c->task.run = conn_task;
	io_loop_defer(c->rl->loop, &c->task);
}

static void conn_close(struct conn *c)
{
	struct rest_loop *rl = c->rl;
	struct exchange *ex = c->ex;
	if (c->state == CONN_CLOSED)
		return;
	bool in_request = c->state == CONN_BODY || c->state == CONN_BUSY || c->state == CONN_WRITE;
	c->state = CONN_CLOSED;
	c->ex = NULL;
	io_timer_clear(rl->loop, &c->timer);
	io_stream_close(&c->stream); /* leaves the epoll set by itself */
	if (ex) {
		ex->conn = NULL;
		ex->advanced = orphan_advanced;
		if (ex->pending == 0) {
			if (in_request)
				accesslog_write(ex, true);
			exchange_put(ex);
		}
	}
	if (c->next)
		c->next->prev = c->prev;
	*c->prev = c->next;
	atomic_fetch_sub_explicit(&rl->conn_count, 1, memory_order_relaxed);
	conn_defer(c); /* events at hand may still name it */
	if (rl->draining)
		rest_loop_check_drained(rl);
}

static void conn_enter_linger(struct conn *c)
{
	if (c->ex) {
		exchange_put(c->ex);
		c->ex = NULL;
	}
	if (c->peer_ended) {
		conn_close(c);
		return;
	}
	io_stream_shutdown_write(&c->stream);
	c->state = CONN_LINGER;
	c->lingered_bytes = 0;
	conn_deadline(c, LIMIT_LINGER_MS);
}

/* ---- reading ---- */

/* As io_stream_read; remembers when the socket is empty, and closes a broken one. */
static ssize_t conn_read(struct conn *c, void *dst, size_t size)
{
	ssize_t n = io_stream_read(&c->stream, dst, size);
	if (n > 0)
		c->turn_bytes += (size_t)n;
	if (n == STREAM_AGAIN)
		c->readable = false;
	else if (n > 0 && (size_t)n < size && !c->stream.ssl && !c->peer_ended)
		c->readable = false; /* a short read emptied it; what comes later is a new edge */
	else if (n == STREAM_BROKEN)
		conn_close(c);
	else if (n == STREAM_END)
		c->peer_ended = true;
	return n;
}

static void conn_go_idle(struct conn *c)
{
	if (c->ex) {
		exchange_put(c->ex);
		c->ex = NULL;
	}
	c->state = CONN_IDLE;
	if (c->rl->draining)
		conn_close(c);
	else if (!c->idle_since_request) {
		/* Once per request: bytes that are none yet (of a handshake, of half a TLS record) buy no time. */
		c->idle_since_request = true;
		conn_deadline(c, timeout_or(timeouts(c)->idle_ms, LIMIT_IDLE_MS));
	}
}

/* False: wait (or closed). True: more bytes are in ex->in. */
static bool conn_read_head(struct conn *c)
{
	if (!c->readable) {
		if (!c->ex || c->ex->in.len == 0) {
			conn_go_idle(c);
		} else if (c->state != CONN_HEAD) {
			c->state = CONN_HEAD; /* from its first byte on, however slowly the others follow */
			conn_deadline(c, timeout_or(timeouts(c)->head_ms, LIMIT_HEAD_MS));
		}
		return false;
	}
	if (!c->ex) {
		c->ex = exchange_get(c->rl);
		if (!c->ex) {
			conn_close(c);
			return false;
		}
		c->ex->conn = c;
	}
	struct buf *in = &c->ex->in;
	char *dst = in->len < in->cap ? in->ptr + in->len : buf_reserve(in, in->cap ? in->cap : IN_FIRST_BYTES);
	if (!dst) {
		conn_close(c);
		return false;
	}
	ssize_t n = conn_read(c, dst, in->cap - in->len);
	if (n > 0) {
		in->len += (size_t)n;
		return true;
	}
	if (n == STREAM_END)
		conn_close(c); /* between requests, or in the middle of a head: nobody to answer */
	else if (n == STREAM_AGAIN)
		return conn_read_head(c);
	return false;
}

static void conn_advanced(struct exchange *ex, enum driver_state state)
{
	struct conn *c = ex->conn;
	if (state == DRIVER_PARKED)
		return;
	conn_run_request(c, state);
	conn_pump(c);
}

static void request_begin(struct conn *c)
{
	struct exchange *ex = c->ex;
	c->idle_since_request = false;
	request_init(ex);
	ex->advanced = conn_advanced;
	ex->req.server = c->rl->server;
	ex->req.head = &ex->head;
	ex->req.arena = &ex->arena;
	ex->req.service = c->service;
	ex->req.secure = c->stream.ssl != NULL;
	/* Copied: the exchange may outlive the connection. */
	memcpy(ex->address, c->address, c->address_len);
	ex->req.client_ip = slice_make(ex->address, c->address_len);
	ex->framing = (struct framing){ .in_pos = ex->head.head_bytes };
	stat_add(&c->rl->requests, 1);
}

/* What cannot be framed cannot be followed: 400 and close. */
static void conn_bad_head(struct conn *c)
{
	struct exchange *ex = c->ex;
	ex->head.method = HTTP_OTHER;
	ex->head.method_text = ex->head.path = ex->head.target = SLICE("-");
	ex->head.query = ex->head.host = SLICE_NONE;
	http_set_headers(&ex->head, NULL, 0);
	ex->head.minor_version = 1;
	ex->head.keep_alive = ex->head.chunked = ex->head.has_content_length = ex->head.expect_continue = false;
	ex->head.content_length = 0;
	ex->head.head_bytes = ex->in.len;
	request_begin(c);
	ex->framing.ended = true;
	driver_refuse(ex, ERR_INVALID_INPUT);
	conn_run_request(c, DRIVER_DONE);
}

static void conn_start_request(struct conn *c)
{
	struct exchange *ex = c->ex;
	request_begin(c);
	struct framing *f = &ex->framing;
	f->chunked = ex->head.chunked;
	f->left_bytes = ex->head.content_length;
	f->ended = !f->chunked && f->left_bytes == 0;
	if (f->chunked)
		http_chunked_init(&f->chunk);
	conn_run_request(c, driver_begin(ex));
}

/* True: a request was started (the state changed). */
static bool conn_head(struct conn *c)
{
	for (;;) {
		struct exchange *ex = c->ex;
		if (ex && ex->in.len > 0) {
			switch (http_parse_head(buf_slice(&ex->in), &ex->scanned_bytes, &ex->arena, &ex->head)) {
			case HTTP_PARSE_DONE:
				conn_start_request(c);
				return true;
			case HTTP_PARSE_BAD:
			case HTTP_PARSE_TOO_LARGE:
				conn_bad_head(c);
				return true;
			case HTTP_PARSE_MORE:
				break;
			}
		}
		if (!conn_read_head(c))
			return false;
	}
}

/* ---- body ---- */

static void conn_continue(struct conn *c)
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
	c->state = CONN_BUSY;
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
	if (f->data.len > ex->req.body_limit_bytes - ex->sink.received_bytes)
		return conn_body_fail(c, body_too_large(&ex->req));
	enum err e = body_take(ex, f->data, &taken);
	f->data = slice_from(f->data, taken);
	if (e != ERR_OK)
		return conn_body_fail(c, e);
	return f->data.len == 0;
}

/* One run of a chunked body out of buffer `b` from *pos on. */
static bool conn_body_decode(struct conn *c, const struct buf *b, size_t *pos)
{
	struct framing *f = &c->ex->framing;
	struct slice input = slice_make(b->ptr + *pos, b->len - *pos);
	enum http_parse p = http_chunked_next(&f->chunk, &input, &f->data);
	*pos = b->len - input.len;
	if (p == HTTP_PARSE_BAD || p == HTTP_PARSE_TOO_LARGE) {
		f->data.len = 0;
		c->ex->broken_framing = true;
		return conn_body_fail(c, ERR_INVALID_INPUT);
	}
	f->ended = p == HTTP_PARSE_DONE;
	return f->data.len == 0 || conn_body_give(c);
}

static bool conn_body_chunked(struct conn *c)
{
	struct exchange *ex = c->ex;
	struct framing *f = &ex->framing;
	if (f->data.len > 0)
		return conn_body_give(c);
	if (f->in_pos < ex->in.len)
		return conn_body_decode(c, &ex->in, &f->in_pos);
	if (f->raw_pos < ex->raw.len)
		return conn_body_decode(c, &ex->raw, &f->raw_pos);
	if (!c->readable)
		return false;
	buf_clear(&ex->raw);
	f->raw_pos = 0;
	char *dst = buf_reserve(&ex->raw, RAW_BYTES);
	if (!dst)
		return conn_body_fail(c, ERR_NO_MEMORY);
	ssize_t n = conn_read(c, dst, RAW_BYTES);
	if (n == STREAM_END)
		conn_close(c);
	if (n <= 0)
		return false;
	ex->raw.len = (size_t)n;
	return true;
}

/* True: the state changed. */
static bool conn_body(struct conn *c)
{
	for (;;) {
		struct exchange *ex = c->ex;
		if (ex->sink.error != ERR_OK) {
			if (ex->sink.working)
				return false; /* conn_resume follows */
			conn_body_over(c, ex->sink.error);
			return true;
		}
		if (ex->framing.ended && ex->framing.data.len == 0) {
			if (!body_finish(ex))
				return false;
			conn_body_over(c, ex->sink.error);
			return true;
		}
		bool on = ex->framing.chunked ? conn_body_chunked(c) : conn_body_plain(c);
		if (c->state != CONN_BODY)
			return true;
		if (!on && ex->sink.error == ERR_OK)
			return false;
		if (c->turn_bytes >= LIMIT_STREAM_TURN_BYTES) {
			conn_defer(c); /* it may come as fast as it is read: others have their turn */
			return false;
		}
	}
}

/* ---- answer ---- */

/* Bytes of the body that have not been received yet. */
static bool body_unread_is_small(const struct exchange *ex)
{
	const struct framing *f = &ex->framing;
	if (f->ended)
		return true;
	if (f->chunked)
		return false; /* no telling how much */
	return f->left_bytes <= LIMIT_DRAIN_BODY_BYTES + (ex->in.len - f->in_pos);
}

static bool must_close(const struct conn *c)
{
	const struct exchange *ex = c->ex;
	if (!ex->head.keep_alive || c->rl->draining || ex->broken_framing)
		return true;
	/* Without a 100 nobody knows whether the body will follow. */
	if (ex->head.expect_continue && !ex->continued && !ex->framing.ended && ex->framing.in_pos == ex->in.len)
		return true;
	return !body_unread_is_small(ex);
}

/* A length that is not the body's would make the peer take body bytes for the next answer, or the other way round. */
static bool answer_is_whole(const struct exchange *ex)
{
	const struct response *p = &ex->req.response;
	uint64_t length = 0;
	if (!buf_ok(&ex->out))
		return false;
	if (!p->runs)
		return !p->set_length || p->content_length == response_body(p).len;
	for (size_t i = 0; i < p->run_count; i++)
		length += p->runs[i].length;
	return p->set_length && p->content_length == length;
}

static void conn_answer(struct conn *c)
{
	struct exchange *ex = c->ex;
	struct response *p = &ex->req.response;
	ex->close_after = must_close(c);
	response_finish_head(ex);
	if (!ex->skip_body && !answer_is_whole(ex)) {
		log_error("%s made an answer that does not fit its length", ex->req.op ? ex->req.op->id : "a request");
		ex->error = ERR_INTERNAL_ERROR;
		error_format(ex);
		response_finish_head(ex);
	}
	ex->out_pos = 0;
	ex->run_index = 0;
	ex->run_pos = 0;
	ex->piece_pos = ex->piece_len = 0;
	ex->body_rest = ex->skip_body || p->runs ? SLICE("") : response_body(p);
	c->state = CONN_WRITE;
}

static void conn_run_request(struct conn *c, enum driver_state state)
{
	struct exchange *ex = c->ex;
	switch (state) {
	case DRIVER_DONE:
		conn_answer(c);
		return;
	case DRIVER_PARKED:
		c->state = CONN_BUSY;
		return;
	case DRIVER_BODY:
		c->state = CONN_BODY;
		enum err e = body_begin(ex);
		if (e != ERR_OK) {
			conn_run_request(c, driver_fail(ex, e));
			return;
		}
		c->window_bytes = 0;
		conn_continue(c);
		if (c->state != CONN_BODY) /* the exchange may be gone */
			return;
		bool more = ex->framing.chunked || ex->in.len - ex->framing.in_pos < ex->framing.left_bytes;
		if (more)
			conn_deadline(c, timeout_or(timeouts(c)->body_idle_ms, LIMIT_BODY_IDLE_MS));
		return;
	}
}

/* Next piece of the answer's runs into a buffer of the pool. Pieces end at multiples of their size within an extent, so
 * that every checksummed chunk is read once. False: closed. */
static bool conn_load_piece(struct conn *c)
{
	struct exchange *ex = c->ex;
	struct response *p = &ex->req.response;
	if (!ex->piece && !(ex->piece = buffer_get(c->rl))) {
		conn_close(c);
		return false;
	}
	ex->piece_pos = ex->piece_len = 0;
	while (ex->run_index < p->run_count && ex->piece_len < STREAM_PIECE_BYTES) {
		const struct body_run *run = &p->runs[ex->run_index];
		uint64_t left = run->length - ex->run_pos;
		size_t n = STREAM_PIECE_BYTES - ex->piece_len;
		if (slice_is_set(run->bytes) || run->extent.length_bytes == 0) {
			if (n > left)
				n = (size_t)left;
			if (slice_is_set(run->bytes))
				memcpy(ex->piece + ex->piece_len, run->bytes.ptr + ex->run_pos, n);
			else
				memset(ex->piece + ex->piece_len, 0, n);
		} else {
			uint64_t at = run->offset + ex->run_pos;
			uint64_t to_boundary = STREAM_PIECE_BYTES - at % STREAM_PIECE_BYTES;
			if (n > to_boundary)
				n = (size_t)to_boundary;
			if (n > left)
				n = (size_t)left;
			if (extent_read(ex->req.server->store, &run->extent, (uint32_t)at, (uint32_t)n,
					ex->piece + ex->piece_len) != ERR_OK) {
				conn_close(c); /* the status is out already: better no bytes than wrong ones */
				return false;
			}
		}
		ex->piece_len += n;
		ex->run_pos += n;
		if (ex->run_pos == run->length) {
			ex->run_index++;
			ex->run_pos = 0;
		}
	}
	return true;
}

static int conn_gather(struct exchange *ex, struct iovec iov[3], size_t *ret_total)
{
	int n = 0;
	if (ex->out_pos < ex->out.len)
		iov[n++] = (struct iovec){ ex->out.ptr + ex->out_pos, ex->out.len - ex->out_pos };
	if (ex->body_rest.len > 0)
		iov[n++] = (struct iovec){ (void *)(uintptr_t)ex->body_rest.ptr, ex->body_rest.len };
	if (ex->piece_pos < ex->piece_len)
		iov[n++] = (struct iovec){ ex->piece + ex->piece_pos, ex->piece_len - ex->piece_pos };
	*ret_total = 0;
	for (int i = 0; i < n; i++)
		*ret_total += iov[i].iov_len;
	return n;
}

static void conn_sent(struct exchange *ex, size_t n)
{
	size_t head = ex->out.len - ex->out_pos;
	if (head > n)
		head = n;
	ex->out_pos += head;
	n -= head;
	ex->bytes_out += n;
	size_t memory = ex->body_rest.len < n ? ex->body_rest.len : n;
	ex->body_rest = slice_from(ex->body_rest, memory);
	ex->piece_pos += n - memory;
}

/* Forgets what was read ahead for a peer that does not take it; it is read again when it does. */
static void conn_drop_piece(struct exchange *ex)
{
	const struct response *p = &ex->req.response;
	uint64_t back = ex->piece_len - ex->piece_pos;
	while (back > 0) {
		if (ex->run_pos == 0)
			ex->run_pos = p->runs[--ex->run_index].length;
		uint64_t n = back < ex->run_pos ? back : ex->run_pos;
		ex->run_pos -= n;
		back -= n;
	}
	buffer_put(ex->rl, ex->piece);
	ex->piece = NULL;
	ex->piece_pos = ex->piece_len = 0;
}

static void conn_wait_writable(struct conn *c)
{
	if (c->ex->piece && c->rl->live_buffers > LIMIT_LOOP_BUFFERS)
		conn_drop_piece(c->ex);
	c->writable = false;
	conn_deadline(c, timeout_or(timeouts(c)->write_idle_ms, LIMIT_WRITE_IDLE_MS));
}

static void conn_answered(struct conn *c);

/* True: the state changed. */
static bool conn_write(struct conn *c)
{
	struct exchange *ex = c->ex;
	struct response *p = &ex->req.response;
	uint64_t sent = 0;
	for (;;) {
		struct iovec iov[3];
		size_t total;
		if (!c->writable)
			return false;
		if (!ex->skip_body && ex->piece_pos == ex->piece_len && ex->run_index < p->run_count && p->runs &&
		    !conn_load_piece(c))
			return true;
		int count = conn_gather(ex, iov, &total);
		if (count == 0) {
			conn_answered(c);
			return true;
		}
		ssize_t n = io_stream_writev(&c->stream, iov, count);
		if (n == STREAM_AGAIN) {
			conn_wait_writable(c);
			return false;
		}
		if (n <= 0) {
			conn_close(c);
			return true;
		}
		conn_sent(ex, (size_t)n);
		sent += (uint64_t)n;
		if ((size_t)n < total && !c->stream.ssl) {
			conn_wait_writable(c);
			return false;
		}
		if (sent >= LIMIT_STREAM_TURN_BYTES) {
			conn_defer(c);
			return false;
		}
	}
}

/* What came behind the request moves to the front of `in`. */
static void conn_keep_rest(struct exchange *ex)
{
	struct framing *f = &ex->framing;
	buf_consume(&ex->in, f->in_pos);
	if (f->chunked && f->raw_pos < ex->raw.len)
		buf_put(&ex->in, slice_make(ex->raw.ptr + f->raw_pos, ex->raw.len - f->raw_pos));
	buf_clear(&ex->raw);
}

static void conn_answered(struct conn *c)
{
	struct exchange *ex = c->ex;
	accesslog_write(ex, false);
	c->turn_requests++;
	if (ex->close_after) {
		conn_enter_linger(c);
		return;
	}
	struct framing f = ex->framing;
	exchange_reset(ex);
	if (!f.ended) {
		c->state = CONN_DRAIN;
		conn_deadline(c, timeout_or(timeouts(c)->body_idle_ms, LIMIT_BODY_IDLE_MS));
		return;
	}
	conn_keep_rest(ex);
	c->state = CONN_IDLE;
}

/* The small rest of a body that was not wanted. True: the state changed. */
static bool conn_drain(struct conn *c)
{
	struct exchange *ex = c->ex;
	struct framing *f = &ex->framing;
	char waste[4096];
	size_t here = ex->in.len - f->in_pos;
	if (here > f->left_bytes)
		here = (size_t)f->left_bytes;
	f->in_pos += here;
	f->left_bytes -= here;
	while (f->left_bytes > 0) {
		if (!c->readable)
			return false;
		ssize_t n = conn_read(c, waste, f->left_bytes < sizeof waste ? (size_t)f->left_bytes : sizeof waste);
		if (n == STREAM_END)
			conn_close(c);
		if (n <= 0)
			return c->state != CONN_DRAIN;
		f->left_bytes -= (size_t)n;
	}
	conn_keep_rest(ex);
	c->state = CONN_IDLE;
	return true;
}

static void conn_linger(struct conn *c)
{
	char waste[16 * 1024];
	while (c->readable && c->state == CONN_LINGER) {
		ssize_t n = conn_read(c, waste, sizeof waste);
		if (n > 0)
			c->lingered_bytes += (size_t)n;
		if (n == STREAM_END || c->lingered_bytes > LIMIT_LINGER_BYTES)
			conn_close(c);
	}
}

/* ---- the machine ---- */

static void conn_pump(struct conn *c)
{
	c->turn_requests = 0;
	c->turn_bytes = 0;
	for (;;) {
		bool on = false;
		switch (c->state) {
		case CONN_IDLE:
		case CONN_HEAD:
			if (c->turn_requests >= LIMIT_REQUESTS_PER_TURN) {
				conn_defer(c);
				return;
			}
			on = conn_head(c);
			break;
		case CONN_BODY:
			on = conn_body(c);
			break;
		case CONN_WRITE:
			on = conn_write(c);
			break;
		case CONN_DRAIN:
			on = conn_drain(c);
			break;
		case CONN_LINGER:
			conn_linger(c);
			return;
		case CONN_BUSY:
		case CONN_CLOSED:
			return;
		}
		if (!on)
			return;
	}
}

void conn_resume(struct exchange *ex)
{
	if (ex->conn)
		conn_pump(ex->conn);
	else if (ex->pending == 0)
		orphan_advanced(ex, DRIVER_DONE);
}

static void conn_ready(struct io_source *s, uint32_t events)
{
	struct conn *c = io_container_of(s, struct conn, source);
	if (c->state == CONN_CLOSED)
		return;
	if (events & (EPOLLERR | EPOLLHUP)) {
		conn_close(c);
		return;
	}
	if (events & EPOLLRDHUP)
		c->peer_ended = true;
	if (events & (EPOLLIN | EPOLLRDHUP))
		c->readable = true;
	if (events & EPOLLOUT)
		c->writable = true;
	if (c->stream.ssl)
		c->readable = c->writable = true; /* either way may have waited for the other */
	conn_pump(c);
}

/* A body that comes at less than the least rate over a whole window is not worth its memory. */
static void conn_body_window(struct conn *c)
{
	struct exchange *ex = c->ex;
	uint64_t window_ms = timeout_or(timeouts(c)->body_idle_ms, LIMIT_BODY_IDLE_MS);
	uint64_t got = ex->sink.received_bytes - c->window_bytes;
	bool ours = ex->sink.working || ex->framing.ended; /* it waits for us */
	if (!ours && got < LIMIT_BODY_MIN_BYTES_PER_S * window_ms / 1000) {
		conn_close(c);
		return;
	}
	c->window_bytes = ex->sink.received_bytes;
	conn_deadline(c, window_ms);
}

static void conn_timer(struct io_timer *t)
{
	struct conn *c = io_container_of(t, struct conn, timer);
	switch (c->state) {
	case CONN_BODY:
		conn_body_window(c);
		break;
	case CONN_BUSY:
	case CONN_CLOSED:
		break; /* whoever has it is bounded elsewhere; the next state sets its own */
	case CONN_WRITE:
		if (!c->writable)
			conn_close(c);
		break;
	default:
		conn_close(c);
	}
}

void conn_adopt(struct rest_loop *rl, struct conn *c)
{
	c->rl = rl;
	c->source.ready = conn_ready;
	io_timer_init(&c->timer, conn_timer);
	c->state = CONN_IDLE;
	c->writable = true;
	c->next = rl->conns;
	c->prev = &rl->conns;
	if (rl->conns)
		rl->conns->prev = &c->next;
	rl->conns = c;
	/* A handshake must not take longer than a head; who speaks TLS sends its first request with it. */
	c->idle_since_request = true;
	if (c->stream.ssl)
		conn_deadline(c, timeout_or(timeouts(c)->head_ms, LIMIT_HEAD_MS));
	else
		conn_deadline(c, timeout_or(timeouts(c)->idle_ms, LIMIT_IDLE_MS));
	if (io_loop_add(rl->loop, c->stream.fd, &c->source) != ERR_OK || rl->draining)
		conn_close(c);
}

void conn_drain_all(struct rest_loop *rl, bool by_force)
{
	struct conn *next;
	for (struct conn *c = rl->conns; c; c = next) {
		next = c->next;
		if (!by_force && c->state == CONN_IDLE) {
			/* Its next request may have come already and only not been read: look once more. Nothing there
			 * closes it. */
			c->readable = true;
			conn_pump(c);
		}
		if (by_force || c->state == CONN_IDLE)
			conn_close(c);
	}
}
