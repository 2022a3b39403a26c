/* SPDX-License-Identifier: Apache-2.0
 * The sink of a request's body: memory for documents, the payload (hashed on the way) for data.
 *
 * A small body that came with its head needs no writer: it is the payload where it lies, in `in`, which is frozen until
 * the answer is out. Another payload that stays in memory is hashed and appended on the loop. The MD5 of either, if its
 * length was announced, waits for the end of the loop's turn, where all that ended in it are hashed side by side
 * (turn_end). A longer one goes through two buffers: the loop fills one while a worker writes the other and the hasher
 * takes its MD5; when both are full the socket is not read, so a fast sender waits in its own TCP window. The worker
 * that takes the last piece also ends the payload, because sealing may block.
 *
 * States: began -> (fill, flush)* -> ended -> finished, or error. While `working` (parts of it: one for the worker, one
 * for the hasher, one for the turn's end), the writer, the hashes and `busy` belong to those and ex->pending counts
 * them. */
#include <assert.h>

#include "rest/core/conn/exchange_int.h"
#include "rest/core/op.h"

enum {
	MD5_TURN_MIN_BYTES = 256,      /* less is not worth the lanes */
	MD5_TURN_LANES = 64,	       /* handed over at once */
	WRITE_STEP_BYTES = 128 * 1024, /* checksummed and copied while it is in the cache */
};

static struct body_sink *sink_of(struct exchange *ex)
{
	return &ex->sink;
}

static bool is_stream(const struct exchange *ex)
{
	return ex->req.op->body == BODY_STREAM;
}

bool body_length(const struct exchange *ex, uint64_t *ret)
{
	const struct request *r = &ex->req;
	*ret = r->structured ? r->structured_bytes : ex->head.content_length;
	return r->structured || ex->head.has_content_length;
}

static bool came_with_head(const struct exchange *ex)
{
	uint64_t length = ex->head.content_length; /* 0 if it is not told */
	return !ex->req.structured && length > 0 && length <= store_inline_bytes(ex->req.server->store) &&
	       length <= ex->in.len - ex->framing.in_pos && !ex->req.payload_in_extents;
}

static atomic_uint *uploads_of(const struct exchange *ex)
{
	return &ex->req.server->uploads[ex->req.account_index % REST_UPLOAD_ACCOUNTS];
}

static enum err upload_begin(struct exchange *ex)
{
	if (atomic_fetch_add_explicit(uploads_of(ex), 1, memory_order_relaxed) >= LIMIT_ACCOUNT_UPLOADS) {
		atomic_fetch_sub_explicit(uploads_of(ex), 1, memory_order_relaxed);
		return ERR_BUSY;
	}
	sink_of(ex)->counted = true;
	return ERR_OK;
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
	uint64_t length;
	bool known = body_length(ex, &length);
	k->md5_at_turn = ex->req.want_md5 && !ex->req.payload_in_extents && known && length >= MD5_TURN_MIN_BYTES &&
			 length <= store_inline_bytes(ex->req.server->store);
	if (came_with_head(ex))
		return ERR_OK;
	TRY(upload_begin(ex));
	TRY(payload_writer_new(ex->req.server->store, known ? length : 0, &k->writer));
	if (ex->req.payload_in_extents)
		payload_writer_only_extents(k->writer);
	if (ex->req.cipher)
		payload_writer_encrypt(k->writer, ex->req.cipher);
	return ERR_OK;
}

static void crc_piece(struct exchange *ex, struct slice bytes)
{
	if (ex->req.want_crc64)
		sink_of(ex)->crc64 = hash_crc64(sink_of(ex)->crc64, bytes);
}

static void hash_piece(struct exchange *ex, struct slice bytes)
{
	struct body_sink *k = sink_of(ex);
	if (ex->req.want_md5 && !k->md5_at_turn)
		hash_md5_update(&k->md5, bytes);
	crc_piece(ex, bytes);
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

/* The whole body, which came with its head. */
static enum err borrow(struct exchange *ex, struct slice bytes)
{
	assert(bytes.len == ex->head.content_length);
	hash_piece(ex, bytes);
	sink_of(ex)->received_bytes = bytes.len;
	ex->req.payload = (struct payload){ .length_bytes = bytes.len, .inline_bytes = bytes, .borrowed = true };
	return ERR_OK;
}

static enum err finish_payload(struct exchange *ex)
{
	struct body_sink *k = sink_of(ex);
	struct payload_writer *w = k->writer;
	k->writer = NULL;
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

static void work_begin(struct exchange *ex)
{
	sink_of(ex)->working++;
	ex->pending++;
}

/* True: that was the last part. */
static bool work_end(struct exchange *ex)
{
	ex->pending--;
	return --sink_of(ex)->working == 0;
}

/* On a worker. */
static void write_run(struct io_work *w)
{
	struct exchange *ex = io_container_of(w, struct exchange, sink.write);
	struct body_sink *k = sink_of(ex);
	struct slice rest = slice_make(k->busy.ptr, k->busy.len);
	k->write_error = ERR_OK;
	while (rest.len && k->write_error == ERR_OK) {
		struct slice now = slice_first(rest, WRITE_STEP_BYTES);
		crc_piece(ex, now);
		k->write_error = payload_append(k->writer, now);
		rest = slice_from(rest, now.len);
	}
	if (k->write_error == ERR_OK && k->last)
		k->write_error = finish_payload(ex);
}

static void submit(struct exchange *ex);

/* The window was written and hashed. */
static void window_done(struct exchange *ex)
{
	struct body_sink *k = sink_of(ex);
	if (k->write_error != ERR_OK) {
		k->error = k->write_error;
	} else if (k->last) {
		hash_end(ex);
		k->finished = true;
	}
	buffer_release(ex, &k->busy);
	if (ex->conn && k->error == ERR_OK && !k->finished && (k->ended || k->fill.len == k->fill.cap))
		submit(ex);
	conn_resume(ex);
}

static void write_done(struct io_work *w)
{
	struct exchange *ex = io_container_of(w, struct exchange, sink.write);
	if (work_end(ex))
		window_done(ex);
}

static void hash_done(struct io_task *t)
{
	struct exchange *ex = io_container_of(t, struct exchange, sink.hash.done);
	if (work_end(ex))
		window_done(ex);
}

/* Hands the filled buffer to a worker and to the hasher; none may be working. */
static void submit(struct exchange *ex)
{
	struct body_sink *k = sink_of(ex);
	assert(!k->working);
	if (k->fill.len == 0 && !k->ended)
		return;
	k->busy = k->fill;
	k->fill = (struct body_buffer){ 0 };
	k->last = k->ended;
	k->write = (struct io_work){
		.home = ex->rl->loop, .run = write_run, .done = write_done, .owner = ex->req.account_index
	};
	enum err e = io_pool_submit(ex->req.server->workers, &k->write);
	if (e != ERR_OK) {
		k->error = e;
		buffer_release(ex, &k->busy);
		return;
	}
	work_begin(ex);
	if (!ex->req.want_md5 || k->busy.len == 0)
		return;
	k->hash = (struct hash_job){ .home = ex->rl->loop,
				     .done.run = hash_done,
				     .state = &k->md5,
				     .bytes = slice_make(k->busy.ptr, k->busy.len) };
	work_begin(ex);
	hasher_submit(ex->req.server->hasher, &k->hash);
}

static bool stays_inline(struct exchange *ex, size_t bytes)
{
	struct body_sink *k = sink_of(ex);
	return !k->working && (!k->writer || payload_writer_stays_in_memory(k->writer, bytes));
}

/* Small bodies of known length get what they need from the arena, others a whole buffer of the pool, or a small one of
 * their own when very many are on their way. */
static bool fill_ensure(struct exchange *ex)
{
	struct body_buffer *b = &sink_of(ex)->fill;
	if (b->ptr)
		return true;
	uint64_t length;
	if (body_length(ex, &length) && length <= store_inline_bytes(ex->req.server->store) && length > 0) {
		*b = (struct body_buffer){ .ptr = arena_alloc(ex->req.arena, length),
					   .cap = length,
					   .from = BUFFER_ARENA };
	} else if (ex->rl->live_buffers < LIMIT_LOOP_BUFFERS) {
		*b = (struct body_buffer){ .ptr = buffer_get(ex->rl), .cap = BODY_BUFFER_BYTES, .from = BUFFER_POOL };
	} else {
		*b = (struct body_buffer){ .ptr = malloc(BODY_BUFFER_SMALL_BYTES),
					   .cap = BODY_BUFFER_SMALL_BYTES,
					   .from = BUFFER_HEAP };
	}
	memory_count(ex);
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

/* A document may grow while there is memory for all. */
static char *memory_grow(struct exchange *ex, size_t bytes)
{
	struct body_sink *k = sink_of(ex);
	if (k->memory.len && k->memory.len + bytes > k->memory.cap && memory_is_short(ex->req.server)) {
		k->error = ERR_BUSY;
		return NULL;
	}
	char *p = buf_reserve(&k->memory, bytes);
	memory_count(ex);
	return p;
}

char *body_room(struct exchange *ex, size_t *ret_room)
{
	struct body_sink *k = sink_of(ex);
	if (!is_stream(ex)) {
		uint64_t left = ex->framing.left_bytes;
		size_t want = left < BODY_BUFFER_BYTES / 4 ? (size_t)left : BODY_BUFFER_BYTES / 4;
		*ret_room = want;
		return memory_grow(ex, want);
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
		if (!memory_grow(ex, bytes.len))
			return k->error != ERR_OK ? k->error : ERR_NO_MEMORY;
		buf_put(&k->memory, bytes);
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
	if (!k->writer)
		return borrow(ex, bytes);
	if (k->fill.len == 0 && stays_inline(ex, bytes.len)) {
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

/* Some of those that joined, from *first on. */
static void turn_hash(struct exchange **first)
{
	struct hash_md5_piece piece[MD5_TURN_LANES];
	size_t count = 0;
	struct exchange *end = *first;
	for (; end && count < MD5_TURN_LANES; end = sink_of(end)->next_at_turn)
		piece[count++] = (struct hash_md5_piece){ &sink_of(end)->md5, end->req.payload.inline_bytes };
	hash_md5_update_many(piece, count);
	while (*first != end) {
		struct exchange *ex = *first;
		*first = sink_of(ex)->next_at_turn;
		hash_end(ex);
		work_end(ex);
		conn_resume(ex);
	}
}

/* The loop's hash_task. */
static void turn_end(struct io_task *t)
{
	struct rest_loop *rl = io_container_of(t, struct rest_loop, hash_task);
	struct exchange *first = rl->hash_first;
	rl->hash_first = NULL; /* what goes on from here may join again: that is the next turn's */
	while (first)
		turn_hash(&first);
}

/* The payload is in memory and complete, but for its MD5. */
static void turn_join(struct exchange *ex)
{
	struct rest_loop *rl = ex->rl;
	sink_of(ex)->next_at_turn = NULL;
	if (!rl->hash_first) {
		rl->hash_last = &rl->hash_first;
		rl->hash_task.run = turn_end;
		io_loop_defer(rl->loop, &rl->hash_task);
	}
	*rl->hash_last = ex;
	rl->hash_last = &sink_of(ex)->next_at_turn;
	work_begin(ex);
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
	if (k->error == ERR_OK && k->writer)
		k->error = finish_payload(ex);
	k->finished = k->error == ERR_OK;
	if (k->finished && k->md5_at_turn) {
		turn_join(ex);
		return false;
	}
	hash_end(ex);
	return true;
}

void body_drop(struct exchange *ex)
{
	struct body_sink *k = sink_of(ex);
	if (!k->began)
		return;
	assert(!k->working);
	if (k->counted)
		atomic_fetch_sub_explicit(uploads_of(ex), 1, memory_order_relaxed);
	k->counted = false;
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
