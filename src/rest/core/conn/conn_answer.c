/* SPDX-License-Identifier: Apache-2.0
 * The answer of a request, onto its connection: the head and a body in memory, or spans of extents piece by piece. */
#include "base/sys/log.h"
#include "rest/core/conn/conn_int.h"
#include "rest/core/op.h"

#include <assert.h>

enum { SPANS_PER_LOOK = 16 }; /* read between two looks at the time */

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
	if (!p->spans)
		return !p->set_length || p->content_length == response_body(p).len;
	for (size_t i = 0; i < p->span_count; i++)
		length += p->spans[i].length;
	return p->set_length && p->content_length == length + p->more_bytes;
}

/* The test kit: the answer ends in its middle, in its head if it has no body, and the connection with it. */
static void answer_truncate(struct exchange *ex)
{
	struct response *p = &ex->req.response;
	uint64_t length = 0, left;
	for (size_t i = 0; i < p->span_count && p->spans; i++)
		length += p->spans[i].length;
	ex->close_after = true;
	if (ex->skip_body || (!length && !ex->body_rest.len)) {
		ex->out.len /= 2;
		return;
	}
	ex->body_rest = slice_first(ex->body_rest, ex->body_rest.len / 2);
	ex->encoder = NULL;
	p->more_bytes = 0;
	left = length / 2;
	for (size_t i = 0; i < p->span_count && p->spans; i++) {
		if (p->spans[i].length >= left) {
			p->spans[i].length = left;
			p->span_count = left ? i + 1 : i;
			break;
		}
		left -= p->spans[i].length;
	}
}

void conn_answer(struct conn *c)
{
	struct exchange *ex = c->ex;
	struct response *p = &ex->req.response;
	if (ex->inject_reset) {
		io_stream_reset(&c->stream);
		conn_close(c);
		return;
	}
	ex->close_after = must_close(c);
	response_finish_head(ex);
	if (!ex->skip_body && !answer_is_whole(ex)) {
		log_error("%s made an answer that does not fit its length",
			  ex->req.op ? ex->req.op->name : "a request");
		ex->error = ERR_INTERNAL_ERROR;
		error_format(ex);
		response_finish_head(ex);
	}
	memory_trim(ex);
	memory_count(ex);
	ex->out_pos = 0;
	ex->span_index = 0;
	ex->span_pos = 0;
	ex->piece_pos = ex->piece_len = 0;
	ex->body_rest = ex->skip_body || p->spans ? SLICE("") : response_body(p);
	if (ex->inject_truncate)
		answer_truncate(ex);
	conn_enter(c, CONN_WRITE);
}

static enum err read_extent(struct exchange *ex, const struct body_span *span, uint32_t at, uint32_t n)
{
	struct store *store = ex->req.server->store;
	char *dst = ex->piece + ex->piece_len;
	return span->cipher ? extent_read_encrypted(store, span->cipher, &span->extent, at, n, dst)
			    : extent_read(store, &span->extent, at, n, dst);
}

/* All spans at hand are out: the next ones. A piece never lies in spans of before and after, so it can be dropped. */
static bool conn_more_spans(struct conn *c)
{
	struct exchange *ex = c->ex;
	struct response *p = &ex->req.response;
	if (p->more(&ex->req) != ERR_OK) {
		conn_close(c);
		return false;
	}
	assert(p->span_count > 0);
	ex->span_index = 0;
	ex->span_pos = 0;
	return true;
}

/* Next piece of the answer's spans into a buffer of the pool. The loop reads it itself: a piece is at most
 * STREAM_PIECE_BYTES, 20 to 40 us from the page cache, where a worker's wake-ups would cost as much; on a cache miss it
 * waits for one read of the disk, the bound of what others of the loop wait for. LIMIT_STREAM_TURN_BYTES and the time
 * until which the turn lasts bound the pieces of a turn: a blob of very short blocks has thousands of spans in one
 * piece. Pieces end at multiples of their size within an extent, so that every checksummed chunk is read once. False:
 * closed. */
static bool conn_load_piece(struct conn *c, uint64_t until_ns)
{
	struct exchange *ex = c->ex;
	struct response *p = &ex->req.response;
	if (!ex->piece && !(ex->piece = buffer_get(c->rl))) {
		conn_close(c);
		return false;
	}
	ex->piece_pos = ex->piece_len = 0;
	if (ex->span_index == p->span_count && !conn_more_spans(c))
		return false;
	size_t most = STREAM_PIECE_BYTES, data_at = 0;
	if (ex->encoder) {
		uint64_t segment;
		data_at = ex->piece_len = structured_before(ex->encoder, (unsigned char *)ex->piece, &segment);
		most = data_at + (segment < STREAM_PIECE_BYTES ? (size_t)segment : STREAM_PIECE_BYTES);
	}
	for (unsigned reads = 1; ex->span_index < p->span_count && ex->piece_len < most; reads++) {
		const struct body_span *span = &p->spans[ex->span_index];
		uint64_t left = span->length - ex->span_pos;
		size_t n = most - ex->piece_len;
		if (slice_is_set(span->bytes) || span->extent.length_bytes == 0) {
			if (n > left)
				n = (size_t)left;
			if (slice_is_set(span->bytes))
				memcpy(ex->piece + ex->piece_len, span->bytes.ptr + ex->span_pos, n);
			else
				memset(ex->piece + ex->piece_len, 0, n);
		} else {
			uint64_t at = span->offset + ex->span_pos;
			uint64_t to_boundary = STREAM_PIECE_BYTES - at % STREAM_PIECE_BYTES;
			if (n > to_boundary)
				n = (size_t)to_boundary;
			if (n > left)
				n = (size_t)left;
			if (read_extent(ex, span, (uint32_t)at, (uint32_t)n) != ERR_OK) {
				conn_close(c); /* the status is out already: better no bytes than wrong ones */
				return false;
			}
		}
		ex->piece_len += n;
		ex->span_pos += n;
		if (ex->span_pos == span->length) {
			ex->span_index++;
			ex->span_pos = 0;
		}
		if (reads % SPANS_PER_LOOK == 0 && base_monotonic_ns() > until_ns)
			break;
	}
	if (ex->encoder)
		ex->piece_len += structured_after(ex->encoder, slice_make(ex->piece + data_at, ex->piece_len - data_at),
						  (unsigned char *)ex->piece + ex->piece_len);
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
	assert(ex->piece_pos <= ex->piece_len); /* no more was sent than there was */
}

/* Forgets what was read ahead for a peer that does not take it; it is read again when it does. */
static void conn_drop_piece(struct exchange *ex)
{
	const struct response *p = &ex->req.response;
	assert(!ex->encoder && ex->piece_pos <= ex->piece_len);
	uint64_t back = ex->piece_len - ex->piece_pos;
	while (back > 0) {
		if (ex->span_pos == 0)
			ex->span_pos = p->spans[--ex->span_index].length;
		uint64_t n = back < ex->span_pos ? back : ex->span_pos;
		ex->span_pos -= n;
		back -= n;
	}
	buffer_put(ex->rl, ex->piece);
	ex->piece = NULL;
	ex->piece_pos = ex->piece_len = 0;
}

static void conn_wait_writable(struct conn *c)
{
	/* What was framed cannot be read again: the checksums went on. */
	if (c->ex->piece && !c->ex->encoder && c->rl->live_buffers > LIMIT_LOOP_BUFFERS)
		conn_drop_piece(c->ex);
	c->writable = false;
	c->stalled_ms = io_loop_now_ms(c->rl->loop);
	conn_deadline(c, timeout_or(conn_timeouts(c)->write_idle_ms, LIMIT_WRITE_IDLE_MS));
}

static void conn_answered(struct conn *c)
{
	struct exchange *ex = c->ex;
	accesslog_write(ex, false);
	c->answered = true;
	if (c->turn_requests++ == 0)
		c->turn_began_ns = ex->req.arrival_ns;
	if (ex->close_after) {
		conn_enter_linger(c);
		return;
	}
	struct framing f = ex->framing;
	exchange_reset(ex);
	if (!f.ended) {
		conn_enter(c, CONN_DRAIN);
		conn_deadline(c, timeout_or(conn_timeouts(c)->body_idle_ms, LIMIT_BODY_IDLE_MS));
		return;
	}
	conn_keep_rest(ex);
	conn_enter(c, CONN_IDLE);
}

bool conn_write(struct conn *c)
{
	struct exchange *ex = c->ex;
	struct response *p = &ex->req.response;
	uint64_t sent = 0, until_ns = p->spans ? base_monotonic_ns() + LIMIT_TURN_NS : UINT64_MAX;
	for (;;) {
		struct iovec iov[3];
		size_t total;
		if (!c->writable)
			return false;
		bool spans_left = p->spans && (ex->span_index < p->span_count || p->more_bytes);
		if (!ex->skip_body && ex->piece_pos == ex->piece_len && spans_left && !conn_load_piece(c, until_ns))
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
		if (sent >= LIMIT_STREAM_TURN_BYTES || (p->spans && base_monotonic_ns() > until_ns)) {
			conn_defer(c);
			return false;
		}
	}
}
