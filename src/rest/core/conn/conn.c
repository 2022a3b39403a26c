/* SPDX-License-Identifier: Apache-2.0
 * A connection: bytes in, requests one after another, answers out in the same order. This file has its life and its
 * heads; bodies are read in conn_body.c, answers sent in conn_answer.c.
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
#include <sys/epoll.h>

#include "rest/core/conn/conn_int.h"

enum { IN_FIRST_BYTES = 16 * 1024, EVICT_MOST = 64, EVICT_PART = 16, EVICT_ANSWERED_MS = 1000 };
/* Answers that are given up when memory is short: so large, and not read for so long. */
enum {
	AUDIT_WAIT_MS = 30 * 1000, /* for its line in the audit log to be written; then the connection ends */
	DELAYED_MOST = 256,	   /* of a loop: answers to failed logins that wait at once */
};
enum { SHED_LEAST_BYTES = 256 * 1024, SHED_STALLED_MS = 500 };

static void conn_pump(struct conn *c);

void conn_enter(struct conn *c, enum conn_state to)
{
	enum {
		ENDS = STATE_BIT(CONN_CLOSED),
		REQUEST = STATE_BIT(CONN_BODY) | STATE_BIT(CONN_BUSY) | STATE_BIT(CONN_WRITE)
	};
	static const unsigned allowed[] = {
		[CONN_IDLE] = STATE_BIT(CONN_HEAD) | REQUEST | ENDS,
		[CONN_HEAD] = REQUEST | ENDS,
		[CONN_BODY] = STATE_BIT(CONN_BUSY) | STATE_BIT(CONN_WRITE) | ENDS,
		[CONN_BUSY] = STATE_BIT(CONN_WRITE) | ENDS,
		[CONN_WRITE] = STATE_BIT(CONN_IDLE) | STATE_BIT(CONN_DRAIN) | STATE_BIT(CONN_LINGER) | ENDS,
		[CONN_DRAIN] = STATE_BIT(CONN_IDLE) | ENDS,
		[CONN_LINGER] = ENDS,
		[CONN_CLOSED] = 0,
	};
	STATE_CHECK(allowed, c->state, to);
	c->state = to;
}

void conn_deadline(struct conn *c, uint64_t after_ms)
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
	MAGIC_CHECK(c, CONN_MAGIC);
	c->task_queued = false;
	if (c->state == CONN_CLOSED) {
		c->magic = 0;
		free(c);
	} else {
		conn_pump(c);
	}
}

void conn_defer(struct conn *c)
{
	if (c->task_queued)
		return;
	c->task_queued = true;
	c->task.run = conn_task;
	io_loop_defer(c->rl->loop, &c->task);
}

static void conn_end_delay(struct conn *c)
{
	c->rl->delayed_count -= c->delayed;
	c->delayed = false;
}

void conn_close(struct conn *c)
{
	struct rest_loop *rl = c->rl;
	struct exchange *ex = c->ex;
	if (c->state == CONN_CLOSED)
		return;
	bool in_request = c->state == CONN_BODY || c->state == CONN_BUSY || c->state == CONN_WRITE;
	conn_enter(c, CONN_CLOSED);
	conn_end_delay(c);
	c->ex = NULL;
	io_timer_clear(rl->loop, &c->timer);
	io_stream_close(&c->stream); /* leaves the epoll set by itself */
	if (ex) {
		ex->conn = NULL;
		ex->advanced = orphan_advanced;
		atomic_store_explicit(&ex->abandoned, true, memory_order_relaxed);
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
	io_addresses_give(&rl->server->addresses, c->address_slot);
	conn_defer(c); /* events at hand may still name it */
	if (rl->draining)
		rest_loop_check_drained(rl);
}

void conn_enter_linger(struct conn *c)
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
	conn_enter(c, CONN_LINGER);
	c->lingered_bytes = 0;
	conn_deadline(c, LIMIT_LINGER_MS);
}

/* ---- reading ---- */

ssize_t conn_read(struct conn *c, void *dst, size_t size)
{
	ssize_t n = c->proxy_pending ? forwarded_read(c) : 1;
	if (n > 0)
		n = io_stream_read(&c->stream, dst, size);
	c->turn_reads++;
	if (n > 0)
		c->turn_bytes += (size_t)n;
	if (n == STREAM_YIELD)
		conn_defer(c); /* still readable: no edge will tell */
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
	conn_enter(c, CONN_IDLE);
	if (c->rl->draining)
		conn_close(c);
	else if (!c->idle_since_request) {
		/* Once per request: bytes that are none yet (of a handshake, of half a TLS record) buy no time. */
		c->idle_since_request = true;
		conn_deadline(c, timeout_or(conn_timeouts(c)->idle_ms, LIMIT_IDLE_MS));
	}
}

/* False: wait (or closed). True: more bytes are in ex->in. */
static bool conn_read_head(struct conn *c)
{
	bool begun = c->ex && c->ex->in.len > 0;
	if (c->readable && c->turn_reads >= LIMIT_READS_PER_TURN)
		conn_defer(c);
	if (!c->readable || c->task_queued) {
		if (begun && c->state != CONN_HEAD) {
			conn_enter(c, CONN_HEAD); /* from its first byte on, however slowly the others follow */
			conn_deadline(c, timeout_or(conn_timeouts(c)->head_ms, LIMIT_HEAD_MS));
		} else if (!begun && !c->readable) {
			conn_go_idle(c);
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
	else if (n == STREAM_AGAIN || n == STREAM_YIELD)
		return conn_read_head(c);
	return false;
}

/* ---- a request ---- */

static void conn_wait_busy(struct conn *c, uint64_t most_ms)
{
	if (c->state != CONN_BUSY)
		conn_enter(c, CONN_BUSY);
	conn_deadline(c, most_ms);
}

/* Answers that wait hold memory: of failed logins only so many do, and the others end their connection. */
static bool conn_may_delay(struct conn *c)
{
	if (!c->ex->req.login_failed)
		return true;
	if (c->rl->delayed_count >= DELAYED_MOST) {
		c->ex->head.keep_alive = false;
		return false;
	}
	c->delayed = true;
	c->rl->delayed_count++;
	return true;
}

void conn_run_request(struct conn *c, enum driver_state state)
{
	struct exchange *ex = c->ex;
	switch (state) {
	case DRIVER_DONE:
		if (audit_hold(ex)) {
			conn_wait_busy(c, AUDIT_WAIT_MS);
			return;
		}
		if (ex->answer_delay_ms && !c->rl->draining && conn_may_delay(c)) {
			conn_wait_busy(c, ex->answer_delay_ms);
			return;
		}
		conn_answer(c);
		return;
	case DRIVER_PARKED:
		conn_enter(c, CONN_BUSY);
		return;
	case DRIVER_BODY:
		conn_enter(c, CONN_BODY);
		enum err e = body_begin(ex);
		if (e == ERR_OK && ex->req.structured) {
			ex->framing.structured = ARENA_NEW(ex->req.arena, struct structured_decoder);
			if (ex->framing.structured)
				structured_decoder_init(ex->framing.structured);
			else
				e = ERR_NO_MEMORY;
		}
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
			conn_deadline(c, timeout_or(conn_timeouts(c)->body_idle_ms, LIMIT_BODY_IDLE_MS));
		return;
	}
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
	ex->peer_ended = c->peer_ended;
	ex->req.server = c->rl->server;
	ex->req.head = &ex->head;
	ex->req.arena = &ex->arena;
	ex->req.service = c->service;
	ex->req.secure = c->stream.ssl != NULL || c->secure_before;
	/* Copied: the exchange may outlive the connection. */
	memcpy(ex->address, c->address, c->address_len);
	ex->req.client_ip = slice_make(ex->address, c->address_len);
	ex->req.local = c->local;
	if (c->rl->server->config.audit)
		ex->tls_version = c->stream.ssl ? io_stream_tls_version(&c->stream) : c->secure_before ? "proxy" : NULL;
	if (c->trusted)
		forwarded_apply(ex);
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

void conn_keep_rest(struct exchange *ex)
{
	struct framing *f = &ex->framing;
	buf_consume(&ex->in, f->in_pos);
	if (f->chunked && f->raw_pos < ex->raw.len)
		buf_put(&ex->in, slice_make(ex->raw.ptr + f->raw_pos, ex->raw.len - f->raw_pos));
	buf_clear(&ex->raw);
}

static void conn_linger(struct conn *c)
{
	char waste[16 * 1024];
	while (c->readable && c->state == CONN_LINGER) {
		if (c->turn_reads >= LIMIT_READS_PER_TURN)
			conn_defer(c);
		if (c->task_queued)
			return;
		ssize_t n = conn_read(c, waste, sizeof waste);
		if (n > 0)
			c->lingered_bytes += (size_t)n;
		if (n == STREAM_END || c->lingered_bytes > LIMIT_LINGER_BYTES)
			conn_close(c);
	}
}

/* ---- the machine ---- */

/* Pipelined requests: so many, or so long, before others get their turn. */
static bool conn_turn_is_over(const struct conn *c)
{
	if (c->turn_requests >= LIMIT_REQUESTS_PER_TURN)
		return true;
	return c->turn_requests > 0 && c->ex && c->ex->in.len > 0 &&
	       base_monotonic_ns() - c->turn_began_ns > LIMIT_TURN_NS;
}

static void conn_pump(struct conn *c)
{
	c->turn_requests = 0;
	c->turn_bytes = 0;
	c->turn_reads = 0;
	for (;;) {
		bool on = false;
		switch (c->state) {
		case CONN_IDLE:
		case CONN_HEAD:
			if (conn_turn_is_over(c)) {
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
	MAGIC_CHECK(c, CONN_MAGIC);
	if (c->state == CONN_CLOSED)
		return;
	if (events & (EPOLLERR | EPOLLHUP)) {
		conn_close(c);
		return;
	}
	if (events & EPOLLRDHUP)
		c->peer_ended = true;
	/* Who ends its side while a worker is at it will not wait for the answer. */
	if (c->peer_ended && c->state == CONN_BUSY && exchange_waits_in_vain(c->ex)) {
		conn_close(c);
		return;
	}
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
	uint64_t window_ms = timeout_or(conn_timeouts(c)->body_idle_ms, LIMIT_BODY_IDLE_MS);
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
	MAGIC_CHECK(c, CONN_MAGIC);
	switch (c->state) {
	case CONN_BODY:
		conn_body_window(c);
		break;
	case CONN_BUSY:
		if (c->ex->state != REQUEST_DONE)
			break;	      /* whoever has it is bounded elsewhere; the next state sets its own */
		if (c->ex->pending) { /* the audit log took too long: the line is kept, who waited is not told */
			conn_close(c);
			break;
		}
		conn_end_delay(c);
		conn_answer(c);
		conn_pump(c);
		break;
	case CONN_CLOSED:
		break;
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
	MAGIC_CHECK(rl, REST_LOOP_MAGIC);
	assert(!c->ex && io_loop_is_current(rl->loop));
	c->magic = CONN_MAGIC;
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
	/* Who connects has something to say: the first head (behind a handshake) must not take longer than any other.
	 * Only who was answered once may be silent for longer. */
	c->idle_since_request = true;
	conn_deadline(c, timeout_or(conn_timeouts(c)->head_ms, LIMIT_HEAD_MS));
	if (io_loop_add(rl->loop, c->stream.fd, &c->source) != ERR_OK || rl->draining)
		conn_close(c);
}

/* Who was answered lately may have its next request under way, unread: only silence for a while is idleness. */
static bool conn_may_evict(const struct conn *c, uint64_t now_ms)
{
	uint64_t idle_ms = timeout_or(conn_timeouts(c)->idle_ms, LIMIT_IDLE_MS);
	return c->state == CONN_IDLE && (!c->answered || now_ms + idle_ms >= c->timer.deadline_ms + EVICT_ANSWERED_MS);
}

/* The deadline of an idle connection tells since when it is idle, and who never asked anything has the earliest. Those
 * in the first part of all deadlines go, so that a flood of new connections does not look for each one by itself. */
void conn_evict_task(struct io_task *t)
{
	struct rest_loop *rl = io_container_of(t, struct rest_loop, evict_task);
	uint64_t first = UINT64_MAX, last = 0, now_ms = io_loop_now_ms(rl->loop);
	size_t left = EVICT_MOST;
	struct conn *next;
	atomic_store(&rl->evicting, false);
	for (const struct conn *c = rl->conns; c; c = c->next) {
		if (!conn_may_evict(c, now_ms))
			continue;
		first = c->timer.deadline_ms < first ? c->timer.deadline_ms : first;
		last = c->timer.deadline_ms > last ? c->timer.deadline_ms : last;
	}
	for (struct conn *c = rl->conns; c && left; c = next) {
		next = c->next;
		if (!conn_may_evict(c, now_ms) || c->timer.deadline_ms > first + (last - first) / EVICT_PART)
			continue;
		conn_close(c);
		left--;
	}
}

void conn_shed_task(struct io_task *t)
{
	struct rest_loop *rl = io_container_of(t, struct rest_loop, shed_task);
	uint64_t now_ms = io_loop_now_ms(rl->loop);
	struct conn *next;
	atomic_store(&rl->shedding, false);
	for (struct conn *c = rl->conns; c; c = next) {
		next = c->next;
		bool stalled = c->state == CONN_WRITE && !c->writable && c->stalled_ms + SHED_STALLED_MS <= now_ms;
		if (stalled && c->ex->held_bytes >= SHED_LEAST_BYTES)
			conn_close(c);
	}
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
