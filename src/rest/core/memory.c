/* SPDX-License-Identifier: Apache-2.0
 * One budget for the memory of requests and answers: arenas, buffers, documents. An exchange is counted when it may
 * have grown (its body came, its answer is ready) and when it ends. Loops add up for themselves and tell the budget in
 * steps of TELL_BYTES, so an ordinary request touches no shared cache line.
 *
 * Past the limit new requests and growing documents are answered ServerBusy, and answers that nobody reads are given
 * up: otherwise few peers that stop reading would hold everybody's memory. When most of it was given back, the
 * allocator returns it to the system. */
#include <malloc.h>
#include <unistd.h>

#include "rest/core/conn/conn_int.h"

enum {
	TELL_BYTES = 256 * 1024,
	TRIM_LEAST_BYTES = 64 * 1024 * 1024, /* a smaller peak is not worth the walk through the heap */
	TRIM_PART = 4,			     /* of the peak: when no more than this is left */
	TRIM_ARENA_BYTES = 64 * 1024,	     /* a smaller arena stays until the answer is out */
	NOTE_BYTES = 256,
};

void memory_init(struct rest_server *s)
{
	struct memory_budget *m = &s->memory;
	uint64_t machine = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
	m->limit_bytes = (int64_t)(s->config.memory_bytes ? s->config.memory_bytes : machine / 4);
}

static void trim_run(struct io_work *w)
{
	struct memory_budget *m = io_container_of(w, struct memory_budget, trim);
	malloc_trim(0);
	atomic_store(&m->peak_bytes, atomic_load(&m->held_bytes));
}

static void trim_done(struct io_work *w)
{
	atomic_store(&io_container_of(w, struct memory_budget, trim)->trimming, false);
}

static void tell(struct rest_loop *rl)
{
	struct memory_budget *m = &rl->server->memory;
	int64_t held = atomic_fetch_add(&m->held_bytes, rl->held_untold) + rl->held_untold;
	int64_t peak = atomic_load(&m->peak_bytes);
	rl->held_untold = 0;
	if (held > peak)
		atomic_compare_exchange_strong(&m->peak_bytes, &peak, held);
	else if (peak >= TRIM_LEAST_BYTES && held < peak / TRIM_PART && !atomic_exchange(&m->trimming, true)) {
		m->trim = (struct io_work){ .home = rl->loop, .run = trim_run, .done = trim_done };
		if (rl->draining || io_pool_submit(rl->server->workers, &m->trim) != ERR_OK)
			atomic_store(&m->trimming, false);
	}
}

static void count(struct exchange *ex, size_t bytes)
{
	struct rest_loop *rl = ex->rl;
	rl->held_untold += (int64_t)bytes - (int64_t)ex->held_bytes;
	ex->held_bytes = bytes;
	if (rl->held_untold >= TELL_BYTES || rl->held_untold <= -TELL_BYTES)
		tell(rl);
}

static size_t bytes_of(const struct exchange *ex)
{
	const struct request *r = &ex->req;
	const struct body_sink *k = &ex->sink;
	return ex->arena.used_bytes + ex->in.cap + ex->raw.cap + ex->out.cap + r->response.headers.cap +
	       r->response.body.cap + k->memory.cap + k->fill.cap + k->busy.cap + (ex->piece ? BODY_BUFFER_BYTES : 0);
}

void memory_count(struct exchange *ex)
{
	count(ex, bytes_of(ex));
}

/* At once, because its loop may be busy for longer than the next work in the queue takes to grow as large. */
void memory_count_on_worker(struct exchange *ex)
{
	size_t bytes = bytes_of(ex);
	atomic_fetch_add(&ex->req.server->memory.held_bytes, (int64_t)bytes - (int64_t)ex->held_bytes);
	ex->held_bytes = bytes;
}

void memory_release(struct exchange *ex)
{
	count(ex, 0);
}

bool memory_is_short(struct rest_server *s)
{
	if (atomic_load_explicit(&s->memory.held_bytes, memory_order_relaxed) <= s->memory.limit_bytes)
		return false;
	for (size_t i = 0; i < s->loop_count; i++)
		if (!atomic_exchange(&s->loops[i]->shedding, true))
			io_loop_post(s->loops[i]->loop, &s->loops[i]->shed_task);
	return true;
}

/* What remains is what the access log needs, all of it older than the handler's part, but for its note. */
void memory_trim(struct exchange *ex)
{
	struct request *r = &ex->req;
	char note[NOTE_BYTES];
	size_t note_len = r->log_note.len < sizeof note ? r->log_note.len : sizeof note;
	if (ex->arena.used_bytes <= TRIM_ARENA_BYTES || r->response.spans || slice_is_set(r->response.body_slice) ||
	    !ex->parsed.chunk)
		return;
	while (ex->children) {
		struct exchange *child = ex->children;
		ex->children = child->next_child;
		exchange_put(child);
	}
	if (note_len)
		memcpy(note, r->log_note.ptr, note_len);
	arena_rewind(&ex->arena, ex->parsed);
	r->call = NULL;
	r->log_note = note_len ? arena_dup(&ex->arena, slice_make(note, note_len)) : SLICE_NONE;
}
