/* SPDX-License-Identifier: Apache-2.0
 * A copy is a state machine. Its destination is already there, empty and pending; every write asks first whether this
 * is still the pending copy (an abort, a delete or an overwrite ends it), and says that somebody is at work.
 *
 *   state     what is done                                       then
 *   BEGIN     memory, a writer                                   BRING, or FAIL
 *   BRING     one bounded piece of the source; now and then      BRING, COMMIT when all came, FAIL after an error,
 *             the progress is written                            LEAVE when nobody wants the copy or the server stops
 *   COMMIT    one commit: the content, and "success"             END, or FAIL if the content could not be finished
 *   FAIL      one commit: "failed", and why                      END
 *   LEAVE     nothing: the blob stays as it is                   END
 *   END       what no commit published is given back
 *
 * What a copy brings depends on the destination: one payload, blocks, or pages. Each way has the same four functions.
 * */
#include "jobs/copy_run.h"

#include <assert.h>
#include <stdlib.h>

#include "base/sys/log.h"
#include "jobs/copy_build.h"
#include "svc/blob/content/append.h"

enum {
	COPY_CHUNK_BYTES = 1024 * 1024,	       /* of a payload, between two looks at the clock */
	COPY_PAGES_BYTES = 4 * 1024 * 1024,    /* of pages in one commit */
	COPY_STRETCH_BYTES = 32 * 1024 * 1024, /* of a page blob whose pieces are looked up at a time */
	COPY_ARENA_BYTES = 64 * 1024 * 1024    /* for one commit, or the rows of one stretch */
};
/* So often the destination hears of its copy, whichever comes first; BLOB_COPY_SILENCE_SECONDS without a word mean that
 * nobody is at work any more. */
#define COPY_TELL_EVERY_BYTES (32 * MIB)
#define COPY_TELL_EVERY_NS    UINT64_C(2000000000)

enum copy_state { COPY_BEGIN, COPY_BRING, COPY_COMMIT, COPY_FAIL, COPY_LEAVE, COPY_END, COPY_STATES };

static const bool allowed[COPY_STATES][COPY_STATES] = {
	[COPY_BEGIN] = { [COPY_BRING] = true, [COPY_FAIL] = true },
	[COPY_BRING] = { [COPY_BRING] = true, [COPY_COMMIT] = true, [COPY_FAIL] = true, [COPY_LEAVE] = true },
	[COPY_COMMIT] = { [COPY_END] = true, [COPY_FAIL] = true },
	[COPY_FAIL] = { [COPY_END] = true },
	[COPY_LEAVE] = { [COPY_END] = true },
};

struct pages {
	const struct blob_piece *piece; /* of the source, those under way */
	size_t piece_count, piece_next;
	uint64_t done;				    /* bytes of the piece that were brought */
	uint64_t at;				    /* where the piece begins in the blob */
	struct arena stretch;			    /* holds looked-up pieces */
	struct copy_pages brought[COPY_STEP_PAGES]; /* not yet committed */
	size_t count;
	uint64_t bytes;
};

struct run {
	const struct copy_run_options *o;
	const struct copy_job_spec *spec;
	const struct copy_way *way;
	enum err error; /* why it failed */
	bool gone;	/* the destination is no longer this copy's */
	uint64_t copied_bytes;
	uint64_t told_bytes, told_ns; /* when the destination last heard of it */
	char *buffer;
	/* of a payload */
	struct blob_piece_reader reader;
	struct payload_writer *writer;
	struct payload payload;
	/* of blocks */
	struct copy_build build;
	struct manifest list; /* those under way */
	size_t next_block;
	struct arena list_arena;
	/* of pages */
	struct pages pages;
};

struct copy_way {
	enum err (*begin)(struct run *);
	/* At most a few megabytes. *ret_done: all of it came. */
	enum err (*bring)(struct run *, bool *ret_done);
	/* What the last commit takes, into the call. */
	enum err (*finish)(struct run *, struct blob_copy_step_call *);
	/* Gives back what was not published. `committed`: the last commit happened, or may have. */
	void (*end)(struct run *, bool committed);
};

/* ---- writes to the destination ---- */

static enum err tell(struct run *r, struct blob_copy_step_call *c)
{
	struct arena arena;
	c->name = r->spec->name;
	c->id = r->spec->id;
	c->copied_bytes = r->copied_bytes;
	c->content_id = r->spec->content_id;
	r->told_bytes = r->copied_bytes;
	r->told_ns = base_monotonic_ns();
	arena_init(&arena, COPY_ARENA_BYTES);
	enum err e = store_write_wait(r->o->store, r->spec->partition, blob_apply_copy_step, c, &arena);
	arena_fini(&arena);
	r->gone = r->gone || (e == ERR_OK && c->gone);
	return e;
}

static bool must_tell(const struct run *r)
{
	return r->copied_bytes - r->told_bytes >= COPY_TELL_EVERY_BYTES ||
	       base_monotonic_ns() - r->told_ns >= COPY_TELL_EVERY_NS;
}

/* ---- block blobs without a block list: all bytes into one payload ---- */

static enum err payload_begin(struct run *r)
{
	r->reader = (struct blob_piece_reader){ .store = r->o->store,
						.piece = r->spec->piece,
						.count = r->spec->piece_count };
	TRY(payload_writer_new(r->o->store, r->spec->total_bytes, &r->writer));
	payload_writer_only_extents(r->writer);
	return ERR_OK;
}

static enum err payload_bring(struct run *r, bool *ret_done)
{
	size_t n;
	TRY(blob_piece_read(&r->reader, r->buffer, COPY_CHUNK_BYTES, &n));
	TRY(payload_append(r->writer, slice_make(r->buffer, n)));
	r->copied_bytes += n;
	*ret_done = n == 0;
	return ERR_OK;
}

static enum err payload_done(struct run *r, struct blob_copy_step_call *c)
{
	struct payload_writer *w = r->writer;
	r->writer = NULL; /* finishing ends it in any case */
	TRY(payload_finish(w, &r->payload));
	c->payload = &r->payload;
	return ERR_OK;
}

static void payload_end(struct run *r, bool committed)
{
	payload_writer_free(r->writer);
	if (!committed)
		payload_abandon(r->o->store, &r->payload);
	payload_fini(&r->payload);
}

static const struct copy_way way_payload = { payload_begin, payload_bring, payload_done, payload_end };

/* ---- block lists and append blobs: block by block, into a content of its own (copy_build.h) ---- */

static enum err blocks_begin(struct run *r)
{
	r->build = (struct copy_build){ .store = r->o->store,
					.partition = r->spec->partition,
					.kind = r->spec->blocks ? BUILD_MANIFEST : BUILD_APPEND,
					.built = { .content_id = r->spec->content_id } };
	if (r->spec->blocks)
		r->list = *r->spec->blocks;
	return copy_build_init(&r->build);
}

/* The next blocks of an append blob are looked up when their turn comes. What was built of the last ones is committed
 * first: their ids go with the arena. */
static enum err next_appended(struct run *r)
{
	struct append_blocks_call c = { .content_id = r->spec->source_content_id,
					.offset = r->build.built.length_bytes,
					.end = r->spec->total_bytes };
	TRY(copy_build_flush(&r->build));
	arena_fini(&r->list_arena);
	arena_init(&r->list_arena, COPY_ARENA_BYTES);
	enum err e = store_read(r->o->store, r->spec->source_partition, blob_apply_append_blocks, &c, &r->list_arena);
	TRY(e == ERR_NOT_FOUND ? ERR_BLOB_NOT_FOUND : e); /* it was deleted or replaced, and its rows are gone */
	r->list = c.blocks;
	r->next_block = 0;
	return ERR_OK;
}

static enum err blocks_bring(struct run *r, bool *ret_done)
{
	struct slice bytes;
	if (r->next_block == r->list.count && !r->spec->blocks && r->build.built.length_bytes < r->spec->total_bytes)
		return next_appended(r);
	*ret_done = r->next_block == r->list.count;
	if (*ret_done)
		return ERR_OK;
	TRY(copy_build_step(&r->build, &r->list, &r->next_block, &bytes));
	r->copied_bytes += bytes.len;
	return ERR_OK;
}

static enum err blocks_finish(struct run *r, struct blob_copy_step_call *c)
{
	TRY(copy_build_flush(&r->build));
	c->built = r->build.built;
	return ERR_OK;
}

static void blocks_end(struct run *r, bool committed)
{
	copy_build_fini(&r->build);
	copy_build_drop(r->o->store, r->spec->partition, r->spec->content_id); /* unless the blob took it */
}

static const struct copy_way way_blocks = { blocks_begin, blocks_bring, blocks_finish, blocks_end };

/* ---- page blobs: range by range, some of them in a commit; holes of the source stay holes ---- */

static enum err pages_begin(struct run *r)
{
	r->pages.piece = r->spec->piece;
	r->pages.piece_count = r->spec->piece_count;
	return ERR_OK;
}

static void pages_forget(struct run *r, bool abandon)
{
	struct pages *p = &r->pages;
	for (size_t i = 0; i < p->count; i++) {
		if (abandon)
			payload_abandon(r->o->store, &p->brought[i].payload);
		payload_fini(&p->brought[i].payload);
	}
	p->count = 0;
	p->bytes = 0;
}

static enum err pages_commit(struct run *r)
{
	struct blob_copy_step_call c = { .status = COPY_PENDING,
					 .pages = r->pages.brought,
					 .page_count = r->pages.count };
	if (!r->pages.count)
		return ERR_OK;
	enum err e = tell(r, &c);
	pages_forget(r, e != ERR_UNKNOWN && (e != ERR_OK || c.gone));
	return e;
}

static enum err pages_add(struct run *r, uint64_t offset, size_t bytes)
{
	struct payload_writer *w;
	struct pages *p = &r->pages;
	assert(p->count < COPY_STEP_PAGES);
	TRY(payload_writer_new(r->o->store, bytes, &w));
	payload_writer_only_extents(w);
	enum err e = payload_append(w, slice_make(r->buffer, bytes));
	if (e != ERR_OK) {
		payload_writer_free(w);
		return e;
	}
	TRY(payload_finish(w, &p->brought[p->count].payload));
	p->brought[p->count++].offset = offset;
	p->bytes += bytes;
	return ERR_OK;
}

/* The pieces of the next stretch of a source that has too many of them, and must be what it was. */
static enum err pages_look_up(struct run *r)
{
	struct pages *p = &r->pages;
	struct blob_get_call g = { .target = r->spec->source,
				   .want_bytes = true,
				   .on_snapshot = true,
				   .has_range = true,
				   .range_first = p->at,
				   .range_last = p->at + COPY_STRETCH_BYTES - 1 };
	arena_fini(&p->stretch);
	arena_init(&p->stretch, COPY_ARENA_BYTES);
	TRY(store_read(r->o->store, r->spec->source_partition, blob_apply_get, &g, &p->stretch));
	if (g.blob.etag != r->spec->source_etag)
		return ERR_SOURCE_CONDITION_NOT_MET;
	p->piece = g.piece;
	p->piece_count = g.piece_count;
	p->piece_next = 0;
	return ERR_OK;
}

static void pages_next_piece(struct pages *p)
{
	p->at += p->piece[p->piece_next++].length_bytes;
	p->done = 0;
}

static enum err pages_bring(struct run *r, bool *ret_done)
{
	struct pages *p = &r->pages;
	if (p->piece_next == p->piece_count) {
		if (slice_is_set(r->spec->source_partition) && p->at < r->spec->total_bytes)
			return pages_look_up(r);
		*ret_done = true;
		return pages_commit(r);
	}
	const struct blob_piece *piece = &p->piece[p->piece_next];
	if (slice_is_set(piece->bytes) || piece->extent.length_bytes) {
		struct blob_piece_reader reader = { .store = r->o->store, .piece = piece, .count = 1, .at = p->done };
		size_t n;
		TRY(blob_piece_read(&reader, r->buffer, COPY_PAGES_BYTES, &n));
		TRY(pages_add(r, p->at + p->done, n));
		p->done += n;
	} else {
		p->done = piece->length_bytes; /* a hole */
	}
	r->copied_bytes = p->at + p->done;
	if (p->done == piece->length_bytes)
		pages_next_piece(p);
	return p->count == COPY_STEP_PAGES || p->bytes >= COPY_PAGES_BYTES ? pages_commit(r) : ERR_OK;
}

static enum err pages_finish(struct run *r, struct blob_copy_step_call *c)
{
	return ERR_OK;
}

static void pages_end(struct run *r, bool committed)
{
	pages_forget(r, true);
}

static const struct copy_way way_pages = { pages_begin, pages_bring, pages_finish, pages_end };

/* ---- the machine ---- */

static enum copy_state failed(struct run *r, enum err e)
{
	r->error = e;
	return COPY_FAIL;
}

static enum copy_state do_begin(struct run *r)
{
	r->buffer = malloc(COPY_PAGES_BYTES);
	r->told_ns = base_monotonic_ns();
	enum err e = r->buffer ? r->way->begin(r) : ERR_NO_MEMORY;
	return e == ERR_OK ? COPY_BRING : failed(r, e);
}

static enum copy_state do_bring(struct run *r)
{
	bool done = false;
	struct blob_copy_step_call c = { .status = COPY_PENDING };
	enum err e = r->way->bring(r, &done);
	if (r->gone || atomic_load(r->o->stop))
		return COPY_LEAVE;
	if (e != ERR_OK)
		return failed(r, e);
	if (done)
		return COPY_COMMIT;
	if (!must_tell(r))
		return COPY_BRING;
	return tell(r, &c) == ERR_OK && !r->gone ? COPY_BRING : COPY_LEAVE;
}

static enum copy_state do_commit(struct run *r, bool *ret_committed)
{
	struct blob_copy_step_call c = { .status = COPY_SUCCESS };
	enum err e = r->way->finish(r, &c);
	if (e != ERR_OK)
		return failed(r, e);
	e = tell(r, &c);
	if (e != ERR_OK)
		log_warn("a copy could not be finished: %s", err_name(e));
	*ret_committed = e == ERR_UNKNOWN || (e == ERR_OK && !c.gone);
	return COPY_END;
}

static enum copy_state do_fail(struct run *r)
{
	char text[256];
	struct buf b = { .ptr = text, .cap = sizeof text, .limit_bytes = sizeof text };
	const struct err_info *info = err_info(r->error);
	buf_printf(&b, "%d %s \"%s\"", info->http_status, info->code, info->text);
	struct blob_copy_step_call c = { .status = COPY_FAILED,
					 .description = buf_ok(&b) ? buf_slice(&b) : slice_str(info->code) };
	enum err e = tell(r, &c);
	if (e != ERR_OK)
		log_warn("a copy could not say that it failed: %s", err_name(e));
	return COPY_END;
}

static enum copy_state step(struct run *r, enum copy_state state, bool *ret_committed)
{
	switch (state) {
	case COPY_BEGIN:
		return do_begin(r);
	case COPY_BRING:
		return do_bring(r);
	case COPY_COMMIT:
		return do_commit(r, ret_committed);
	case COPY_FAIL:
		return do_fail(r);
	case COPY_LEAVE:
	case COPY_END:
	case COPY_STATES:
		break;
	}
	return COPY_END;
}

void copy_run(const struct copy_run_options *o)
{
	const struct copy_job_spec *spec = o->spec;
	bool by_block = spec->blocks || slice_is_set(spec->source_partition), committed = false;
	struct run r = { .o = o, .spec = spec };
	r.way = spec->type == BLOB_PAGE ? &way_pages : by_block ? &way_blocks : &way_payload;
	arena_init(&r.list_arena, COPY_ARENA_BYTES);
	arena_init(&r.pages.stretch, COPY_ARENA_BYTES);
	for (enum copy_state state = COPY_BEGIN; state != COPY_END;) {
		enum copy_state next = step(&r, state, &committed);
		assert(allowed[state][next]);
		state = next;
	}
	r.way->end(&r, committed);
	arena_fini(&r.list_arena);
	arena_fini(&r.pages.stretch);
	free(r.buffer);
}
