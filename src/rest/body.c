/* SPDX-License-Identifier: Apache-2.0
 * The sink of a request's body: memory for documents, the payload (hashed on the way) for data.
 *
 * A payload that stays in memory is hashed and appended on the loop. A longer one goes through two buffers: the loop
 * fills one while a worker hashes and writes the other; when both are full the socket is not read, so a fast sender
 * waits in its own TCP window. The worker that takes the last piece also ends the payload, because sealing may block.
 *
 * States: began -> (fill, flush)* -> ended -> finished, or error. While `working`, the writer, the hashes and `busy`
 * belong to the worker and ex->pending counts it. */
#include <assert.h>

#include "rest/exchange_int.h"
#include "rest/op.h"

static struct body_sink *sink_of(struct exchange *ex)
{
	return &ex->sink;
}

static bool is_stream(const struct exchange *ex)
{
	return ex->req.op->body == BODY_STREAM;
}

enum err body_begin(struct exchange *ex)
{
	struct body_sink *k = sink_of(ex);
	struct buf memory = k->memory;
	*k = (struct body_sink){ .began = true, .memory = memory };
	buf_clear(&k->memory);
	hash_md5_init(&k->md5);
	if (!is_stream(ex))
		return ERR_OK;
	TRY(payload_writer_new(ex->req.server->store, ex->head.has_content_length ? ex->head.content_length : 0,
			       &k->writer));
	if (ex->req.payload_in_extents)
		payload_writer_only_extents(k->writer);
	return ERR_OK;
}

static void hash_piece(struct exchange *ex, struct slice bytes)
{
	struct body_sink *k = sink_of(ex);
	if (ex->req.want_md5)
		hash_md5_update(&k->md5, bytes);
	if (ex->req.want_crc64)
		k->crc64 = hash_crc64(k->crc64, bytes);
}

static void hash_end(struct exchange *ex)
{
	struct body_sink *k = sink_of(ex);
	if (ex->req.want_md5)
		hash_md5_final(&k->md5, ex->req.body_md5);
	ex->req.body_crc64 = k->crc64;
}

static enum err append(struct exchange *ex, struct slice bytes)
{
	hash_piece(ex, bytes);
	return payload_append(sink_of(ex)->writer, bytes);
}

static enum err finish_payload(struct exchange *ex)
{
	struct body_sink *k = sink_of(ex);
	struct payload_writer *w = k->writer;
	k->writer = NULL;
	hash_end(ex);
	return payload_finish(w, &ex->req.payload);
}

static void buffer_release(struct exchange *ex, struct body_buffer *b)
{
	if (b->ptr && b->from == BUFFER_POOL)
		buffer_put(ex->rl, b->ptr);
	if (b->ptr && b->from == BUFFER_HEAP)
		free(b->ptr);
	*b = (struct body_buffer){ 0 };
}

static void work_run(struct io_work *w)
{
	struct exchange *ex = io_container_of(w, struct exchange, sink.work);
	struct body_sink *k = sink_of(ex);
	k->work_error = k->busy.len ? append(ex, slice_make(k->busy.ptr, k->busy.len)) : ERR_OK;
	if (k->work_error == ERR_OK && k->last)
		k->work_error = finish_payload(ex);
}

static void submit(struct exchange *ex);

static void work_done(struct io_work *w)
{
	struct exchange *ex = io_container_of(w, struct exchange, sink.work);
	struct body_sink *k = sink_of(ex);
	k->working = false;
	ex->pending--;
	if (k->work_error != ERR_OK)
		k->error = k->work_error;
	else if (k->last)
		k->finished = true;
	buffer_release(ex, &k->busy);
	if (ex->conn && k->error == ERR_OK && !k->finished && (k->ended || k->fill.len == k->fill.cap))
		submit(ex);
	conn_resume(ex);
}

/* Hands the filled buffer to a worker; none may be working. */
static void submit(struct exchange *ex)
{
	struct body_sink *k = sink_of(ex);
	assert(!k->working);
	if (k->fill.len == 0 && !k->ended)
		return;
	k->busy = k->fill;
	k->fill = (struct body_buffer){ 0 };
	k->last = k->ended;
	k->work = (struct io_work){ .home = ex->rl->loop, .run = work_run, .done = work_done };
	enum err e = io_pool_submit(ex->req.server->workers, &k->work);
	if (e != ERR_OK) {
		k->error = e;
		buffer_release(ex, &k->busy);
		return;
	}
	k->working = true;
	ex->pending++;
}

static bool stays_inline(struct exchange *ex, size_t bytes)
{
	struct body_sink *k = sink_of(ex);
	return !k->working && payload_writer_stays_in_memory(k->writer, bytes);
}

/* Small bodies of known length get what they need from the arena, others a whole buffer of the pool, or a small one of
 * their own when very many are on their way. */
static bool fill_ensure(struct exchange *ex)
{
	struct body_buffer *b = &sink_of(ex)->fill;
	if (b->ptr)
		return true;
	uint64_t length = ex->head.content_length;
	if (ex->head.has_content_length && length <= PAYLOAD_INLINE_BYTES && length > 0) {
		*b = (struct body_buffer){ .ptr = arena_alloc(ex->req.arena, length), .cap = length };
	} else if (ex->rl->live_buffers < LIMIT_LOOP_BUFFERS) {
		*b = (struct body_buffer){ .ptr = buffer_get(ex->rl), .cap = BODY_BUFFER_BYTES, .from = BUFFER_POOL };
	} else {
		*b = (struct body_buffer){ .ptr = malloc(BODY_BUFFER_SMALL_BYTES),
					   .cap = BODY_BUFFER_SMALL_BYTES,
					   .from = BUFFER_HEAP };
	}
	return b->ptr != NULL;
}

/* The fill buffer is full or the last: on the loop if it cannot block, else by a worker if none is at work. */
static enum err flush(struct exchange *ex)
{
	struct body_sink *k = sink_of(ex);
	if (stays_inline(ex, k->fill.len)) {
		enum err e = k->fill.len ? append(ex, slice_make(k->fill.ptr, k->fill.len)) : ERR_OK;
		k->fill.len = 0;
		return e;
	}
	if (!k->working)
		submit(ex);
	return k->error;
}

char *body_room(struct exchange *ex, size_t *ret_room)
{
	struct body_sink *k = sink_of(ex);
	if (!is_stream(ex)) {
		uint64_t left = ex->framing.left_bytes;
		size_t want = left < BODY_BUFFER_BYTES / 4 ? (size_t)left : BODY_BUFFER_BYTES / 4;
		*ret_room = want;
		return buf_reserve(&k->memory, want);
	}
	if (k->working && k->fill.ptr && k->fill.len == k->fill.cap) {
		*ret_room = 0;
		return k->fill.ptr;
	}
	if (!fill_ensure(ex))
		return NULL;
	*ret_room = k->fill.cap - k->fill.len;
	return k->fill.ptr + k->fill.len;
}

enum err body_filled(struct exchange *ex, size_t bytes)
{
	struct body_sink *k = sink_of(ex);
	k->received_bytes += bytes;
	if (!is_stream(ex)) {
		k->memory.len += bytes;
		return ERR_OK;
	}
	k->fill.len += bytes;
	return k->fill.len == k->fill.cap ? flush(ex) : ERR_OK;
}

static enum err take_memory(struct exchange *ex, struct slice bytes)
{
	struct body_sink *k = sink_of(ex);
	if (k->received_bytes == 0 && ex->head.has_content_length && bytes.len == ex->head.content_length) {
		ex->req.body = bytes; /* all of it at once: used where it lies */
	} else {
		buf_put(&k->memory, bytes);
		if (!buf_ok(&k->memory))
			return ERR_NO_MEMORY;
	}
	k->received_bytes += bytes.len;
	return ERR_OK;
}

enum err body_take(struct exchange *ex, struct slice bytes, size_t *ret_taken)
{
	struct body_sink *k = sink_of(ex);
	*ret_taken = bytes.len;
	if (!is_stream(ex))
		return take_memory(ex, bytes);
	if (k->fill.len == 0 && bytes.len <= PAYLOAD_INLINE_BYTES && stays_inline(ex, bytes.len)) {
		k->received_bytes += bytes.len;
		return append(ex, bytes);
	}
	size_t taken = 0;
	while (taken < bytes.len) {
		size_t room;
		char *dst = body_room(ex, &room);
		if (!dst)
			return ERR_NO_MEMORY;
		if (room == 0)
			break;
		size_t n = bytes.len - taken < room ? bytes.len - taken : room;
		memcpy(dst, bytes.ptr + taken, n);
		taken += n;
		TRY(body_filled(ex, n));
	}
	*ret_taken = taken;
	return ERR_OK;
}

static bool finish_memory(struct exchange *ex)
{
	struct body_sink *k = sink_of(ex);
	if (!buf_ok(&k->memory))
		k->error = ERR_NO_MEMORY;
	if (!slice_is_set(ex->req.body))
		ex->req.body = buf_slice(&k->memory);
	hash_piece(ex, ex->req.body);
	hash_end(ex);
	return true;
}

bool body_finish(struct exchange *ex)
{
	struct body_sink *k = sink_of(ex);
	if (!is_stream(ex))
		return finish_memory(ex);
	k->ended = true;
	if (k->working)
		return false;
	if (k->error != ERR_OK || k->finished)
		return true;
	if (!stays_inline(ex, k->fill.len)) {
		submit(ex);
		return k->error != ERR_OK;
	}
	k->error = flush(ex);
	if (k->error == ERR_OK)
		k->error = finish_payload(ex);
	k->finished = k->error == ERR_OK;
	return true;
}

void body_drop(struct exchange *ex)
{
	struct body_sink *k = sink_of(ex);
	if (!k->began)
		return;
	assert(!k->working);
	payload_writer_free(k->writer);
	k->writer = NULL;
	buffer_release(ex, &k->fill);
	buffer_release(ex, &k->busy);
	if (k->memory.cap > BODY_BUFFER_BYTES / 4)
		body_free(ex);
	buf_clear(&k->memory);
	k->began = k->finished = false;
}

void body_free(struct exchange *ex)
{
	buf_fini(&sink_of(ex)->memory);
	buf_init(&sink_of(ex)->memory, LIMIT_SMALL_BODY_BYTES);
}
