/* SPDX-License-Identifier: Apache-2.0
 * Bytes of a connection: messages in, messages out. Small messages are read together through the loop's buffer; one
 * that is not complete gets memory of its own, as long as its prefix says, and the rest is read straight into it: a
 * large one so that the bytes of a WRITE begin a page and go to the disk from there. An idle connection therefore holds
 * no buffer. A client that does not take its answers, or has too many requests under
 * way, is not read on until that is over.
 *
 * All connections together have a budget. Past it a long message ends its connection, who holds memory already is not
 * read on until that is used up, and who does not take its answers is closed. */
#include "smb/smb_int.h"

#include <assert.h>

#include "base/sys/clock.h"

enum {
	TIMER_STEP_MS = 5000,
	STRAIGHT_BYTES = 8 * 1024, /* so much of a message is read to where it belongs; less, with what follows it */
	HEAD_BYTES = 512,	   /* to find out how long a message is that is probably large */
	EVICT_MOST = 64,	   /* at once */
	EVICT_LEAST_MS = 100,	   /* who came just now may have its first message under way */
};

static void conn_ready(struct io_source *, uint32_t events);
static void conn_timer(struct io_timer *);
static void conn_read_on(struct io_task *);

static uint64_t now_ms(const struct smb_conn *c)
{
	return io_loop_now_ms(c->sl->loop);
}

void smb_conn_adopt(struct smb_conn *c)
{
	struct smb_loop *sl = c->sl;
	c->source.ready = conn_ready;
	c->out_last = &c->out_first;
	c->next_async_id = 1;
	credits_init(&c->credits);
	io_timer_init(&c->timer, conn_timer);
	c->next = sl->conns;
	if (sl->conns)
		sl->conns->prev = c;
	sl->conns = c;
	c->read_task.run = conn_read_on;
	c->connected_ms = now_ms(c);
	c->setup_ms = c->connected_ms + SMB_SETUP_MS;
	io_timer_set(sl->loop, &c->timer, now_ms(c) + TIMER_STEP_MS);
	if (sl->draining || io_loop_add(sl->loop, c->stream.fd, &c->source) != ERR_OK)
		smb_conn_close(c);
}

static void conn_free(struct io_task *t)
{
	struct smb_conn *c = io_container_of(t, struct smb_conn, task);
	struct smb_loop *sl = c->sl;
	assert(c->closed && !c->chains && !c->sessions);
	if (c->prev)
		c->prev->next = c->next;
	else
		sl->conns = c->next;
	if (c->next)
		c->next->prev = c->prev;
	atomic_fetch_sub_explicit(&sl->conn_count, 1, memory_order_relaxed);
	slabs_give(&sl->slabs, c->message, c->message_len);
	io_addresses_give(&sl->server->addresses, c->address_slot);
	free(c);
	if (!sl->conns)
		slabs_fini(&sl->slabs);
	smb_loop_check_drained(sl);
}

void smb_conn_check_reap(struct smb_conn *c)
{
	if (!c->closed || c->chains || c->reap_queued)
		return;
	c->reap_queued = true;
	c->task.run = conn_free;
	io_loop_defer(c->sl->loop, &c->task); /* not now: a caller may still hold it */
}

void smb_conn_close(struct smb_conn *c)
{
	if (c->closed)
		return;
	c->closed = true;
	if (c->stream.fd >= 0)
		io_loop_remove(c->sl->loop, c->stream.fd);
	io_stream_close(&c->stream);
	io_timer_clear(c->sl->loop, &c->timer);
	while (c->out_first) {
		struct smb_out *o = c->out_first;
		c->out_first = o->next;
		free(o->memory);
		free(o);
	}
	c->out_last = &c->out_first;
	smb_conn_count(c);
	smb_cancel_all(c, NULL, NULL, STATUS_CANCELLED);
	while (c->sessions)
		smb_session_end(c->sessions, true);
	smb_conn_check_reap(c);
}

void smb_conn_count(struct smb_conn *c)
{
	size_t held = c->closed ? 0 : c->under_way_bytes + c->out_bytes + (c->message ? c->message_len : 0);
	size_t told = c->held_told, change = held > told ? held - told : told - held;
	if (held == told || (change < SMB_TELL_BYTES && held))
		return;
	atomic_fetch_add_explicit(&c->sl->server->memory_held, held - told, memory_order_relaxed);
	c->held_told = held;
}

static bool memory_is_short(const struct smb_conn *c, size_t more)
{
	const struct smb_server *s = c->sl->server;
	return atomic_load_explicit(&s->memory_held, memory_order_relaxed) + more > s->memory_limit;
}

static bool is_logged_in(const struct smb_conn *c)
{
	for (const struct smb_session *s = c->sessions; s; s = s->next)
		if (s->valid)
			return true;
	return false;
}

static void conn_timer(struct io_timer *t)
{
	struct smb_conn *c = io_container_of(t, struct smb_conn, timer);
	uint64_t now = now_ms(c);
	if (now >= c->sl->trim_ms) {
		slabs_trim(&c->sl->slabs);
		c->sl->trim_ms = now + TIMER_STEP_MS;
	}
	if (is_logged_in(c))
		c->setup_ms = 0;
	else if (c->setup_ms == 0) /* all logged off: time for another login */
		c->setup_ms = now + SMB_SETUP_MS;
	if (c->write_ms && c->held_told && memory_is_short(c, 0)) {
		smb_conn_close(c);
		return;
	}
	bool silent = !c->negotiated && now > c->connected_ms + SMB_NEGOTIATE_MS;
	if (silent || (c->setup_ms && now > c->setup_ms) || (c->message_ms && now > c->message_ms) ||
	    (c->write_ms && now > c->write_ms)) {
		smb_conn_close(c);
		return;
	}
	io_timer_set(c->sl->loop, &c->timer, now + TIMER_STEP_MS);
	smb_conn_resume(c); /* others may have given memory back */
}

/* The newest are at the front of the list, so those behind a part of it came first; they go, oldest first as far as
 * that is known, but nobody who is logged in. */
void smb_conn_evict(struct smb_loop *sl)
{
	struct smb_conn *next, *oldest[EVICT_MOST];
	size_t count = 0, at = 0;
	uint64_t now = io_loop_now_ms(sl->loop);
	for (struct smb_conn *c = sl->conns; c; c = next) {
		next = c->next;
		if (c->closed || is_logged_in(c) || now < c->connected_ms + EVICT_LEAST_MS)
			continue;
		oldest[at++ % EVICT_MOST] = c; /* the last ones stay */
		count += count < EVICT_MOST;
	}
	for (size_t i = 0; i < count; i++)
		smb_conn_close(oldest[i]);
}

/* ---- output ---- */

static void conn_write(struct smb_conn *c)
{
	enum { PIECES = 16 };
	while (c->out_first && !c->closed) {
		struct iovec iov[PIECES];
		int count = 0;
		for (struct smb_out *o = c->out_first; o && count < PIECES; o = o->next)
			iov[count++] = (struct iovec){ o->memory + o->at, o->end - o->at };
		ssize_t n = io_stream_writev(&c->stream, iov, count);
		if (n == STREAM_AGAIN) {
			if (!c->write_ms)
				c->write_ms = now_ms(c) + SMB_WRITE_IDLE_MS;
			return;
		}
		if (n <= 0) {
			smb_conn_close(c);
			return;
		}
		c->write_ms = 0;
		c->out_bytes -= (size_t)n;
		while (n > 0) {
			struct smb_out *o = c->out_first;
			assert(o); /* no more was written than waited */
			size_t part = o->end - o->at < (size_t)n ? o->end - o->at : (size_t)n;
			o->at += part;
			n -= (ssize_t)part;
			if (o->at < o->end)
				break;
			c->out_first = o->next;
			if (!c->out_first)
				c->out_last = &c->out_first;
			free(o->memory);
			free(o);
		}
	}
}

void smb_conn_send(struct smb_conn *c, struct buf *b, size_t from, struct smb_session *encrypted)
{
	struct smb_out *o = NULL;
	assert(from >= SMB_OUT_HEAD_BYTES);
	size_t begin = from;
	bool ok = !c->closed && buf_ok(b) && b->len > from;
	if (ok && encrypted) {
		begin -= SMB2_TRANSFORM_BYTES;
		ok = protect_encrypt(encrypted->protect, encrypted->id, b->ptr + begin, b->ptr + from, b->len - from);
	}
	if (ok)
		o = malloc(sizeof *o);
	if (!o) {
		buf_fini(b);
		smb_conn_close(c); /* an answer that cannot be sent must not be missing unnoticed */
		return;
	}
	size_t length = b->len - begin;
	begin -= SMB2_TCP_PREFIX_BYTES;
	b->ptr[begin] = 0;
	b->ptr[begin + 1] = (char)(length >> 16);
	b->ptr[begin + 2] = (char)(length >> 8);
	b->ptr[begin + 3] = (char)length;
	*o = (struct smb_out){ .memory = b->ptr, .at = begin, .end = b->len };
	*b = (struct buf){ .limit_bytes = b->limit_bytes };
	bool idle = !c->out_first;
	*c->out_last = o;
	c->out_last = &o->next;
	c->out_bytes += o->end - o->at;
	if (idle)
		conn_write(c);
	smb_conn_count(c);
}

/* ---- input ---- */

static bool conn_is_full(const struct smb_conn *c)
{
	return c->chain_count >= SMB_CHAINS_MAX || c->out_bytes >= SMB_OUT_BYTES_MAX ||
	       c->under_way_bytes >= SMB_UNDER_WAY_BYTES_MAX ||
	       (c->under_way_bytes + c->out_bytes >= SMB_TELL_BYTES && memory_is_short(c, 0));
}

/* The prefix is complete: memory for the message, whose first byte may be here already. False: the connection was
 * closed. */
static bool message_begin(struct smb_conn *c, struct slice rest)
{
	size_t len = (size_t)c->prefix[1] << 16 | (size_t)c->prefix[2] << 8 | c->prefix[3];
	/* Strangers have little to say: they must not hold memory by what they announce. */
	size_t most = len > SMB_SETUP_MESSAGE_MAX && !is_logged_in(c) ? SMB_SETUP_MESSAGE_MAX : SMB_MESSAGE_MAX;
	if (c->prefix[0] != 0 || len < 4 || len > most || (len >= SMB_TELL_BYTES && memory_is_short(c, len))) {
		smb_conn_close(c);
		return false;
	}
	if (rest.len)
		c->sealed_last = (unsigned char)rest.ptr[0] == SMB2_TRANSFORM_FIRST;
	c->large_last = len >= SLABS_LEAST_BYTES;
	c->message = slabs_take(&c->sl->slabs, len, (c->sealed_last ? SMB2_TRANSFORM_BYTES : 0) + SMB2_WRITE_DATA_AT);
	c->message_len = len;
	c->message_have = 0;
	c->message_ms = now_ms(c) + SMB_MESSAGE_MS;
	if (!c->message)
		smb_conn_close(c);
	smb_conn_count(c);
	return c->message != NULL;
}

static void message_end(struct smb_conn *c)
{
	char *memory = c->message;
	c->message = NULL;
	c->prefix_len = 0;
	c->message_ms = 0;
	smb_chain_receive(c, memory, c->message_len);
}

static void conn_take(struct smb_conn *c, const char *bytes, size_t len)
{
	while (len > 0 && !c->closed) {
		if (!c->message) {
			c->prefix[c->prefix_len++] = (unsigned char)*bytes++;
			len--;
			if (c->prefix_len < SMB2_TCP_PREFIX_BYTES)
				continue;
			if (!message_begin(c, slice_make(bytes, len)))
				return;
			continue;
		}
		size_t part = c->message_len - c->message_have;
		if (part > len)
			part = len;
		memcpy(c->message + c->message_have, bytes, part);
		c->message_have += part;
		bytes += part;
		len -= part;
		if (c->message_have == c->message_len)
			message_end(c);
	}
}

/* True: something was read, and there may be more. */
static bool conn_read_once(struct smb_conn *c)
{
	ssize_t n;
	if (c->message && c->message_len - c->message_have >= STRAIGHT_BYTES) {
		n = io_stream_read(&c->stream, c->message + c->message_have, c->message_len - c->message_have);
		if (n > 0) {
			c->message_have += (size_t)n;
			if (c->message_have == c->message_len)
				message_end(c);
		}
	} else {
		bool head = c->large_last && !c->message;
		n = io_stream_read(&c->stream, c->sl->read_buffer, head ? HEAD_BYTES : SMB_READ_BYTES);
		if (n > 0)
			conn_take(c, c->sl->read_buffer, (size_t)n);
	}
	if (n == STREAM_AGAIN)
		c->readable = false;
	else if (n <= 0)
		smb_conn_close(c);
	return n > 0;
}

/* For a turn: who sends without end does not keep the loop's other connections waiting. */
static void conn_read(struct smb_conn *c)
{
	uint64_t began_ns = 0;
	if (c->in_read || c->read_queued)
		return;
	c->in_read = true;
	while (!c->closed && c->readable) {
		c->read_paused = conn_is_full(c);
		if (c->read_paused)
			break;
		uint64_t now_ns = base_monotonic_ns();
		if (!began_ns)
			began_ns = now_ns;
		if (now_ns - began_ns > LIMIT_TURN_NS) {
			c->read_queued = true;
			io_loop_defer(c->sl->loop, &c->read_task);
			break;
		}
		if (!conn_read_once(c))
			break;
	}
	c->in_read = false;
	smb_conn_count(c);
}

/* The connection is still there: tasks that were put off run in order, and a closed one is put off no more for reading,
 * so this runs before conn_free. */
static void conn_read_on(struct io_task *t)
{
	struct smb_conn *c = io_container_of(t, struct smb_conn, read_task);
	c->read_queued = false;
	conn_read(c);
}

void smb_conn_resume(struct smb_conn *c)
{
	if (c->read_paused && !c->closed && !conn_is_full(c))
		conn_read(c);
}

static void conn_ready(struct io_source *s, uint32_t events)
{
	struct smb_conn *c = io_container_of(s, struct smb_conn, source);
	if (c->closed)
		return;
	conn_write(c);
	c->readable = true;
	conn_read(c); /* and counts */
}
