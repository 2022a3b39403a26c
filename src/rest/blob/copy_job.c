/* SPDX-License-Identifier: Apache-2.0
 * The threads of large copies: each brings a payload, a list of blocks or pages, and says how far it is. */
#include "rest/blob/copy_job.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/log.h"
#include "rest/blob/copy_build.h"
#include "rest/blob/copy_source.h"
#include "svc/blob/append.h"

enum { COPY_CHUNK_BYTES = 1024 * 1024, COPY_PAGES_BYTES = 4 * 1024 * 1024, COPY_STRETCH_BYTES = 32 * 1024 * 1024 };
#define COPY_SAY_EVERY_BYTES (32 * MIB)
#define COPY_SAY_EVERY_NS    UINT64_C(2000000000)

struct copy_job {
	struct copy_jobs *jobs;
	pthread_t thread;
	bool running;	    /* the slot is taken */
	sem_t go;	    /* it waits for this, */
	bool given_up;	    /* and then does its work or not */
	atomic_bool ended;  /* its thread can be joined */
	struct arena arena; /* names and pieces */
	struct copy_job_spec spec;
	uint64_t pin;
	uint64_t copied, said_bytes, said_ns;
	char *buffer;
};

struct copy_jobs {
	struct store *store;
	pthread_mutex_t lock;
	atomic_bool stop;
	struct copy_job job[COPY_JOBS_MAX];
};

/* ---- one job ---- */

static enum err step(struct copy_job *j, struct blob_copy_step_call *c)
{
	struct arena arena;
	c->name = j->spec.name;
	c->id = j->spec.id;
	c->copied_bytes = j->copied;
	c->content_id = j->spec.content_id;
	arena_init(&arena, 32 * MIB);
	enum err e = store_write_wait(j->jobs->store, j->spec.partition, blob_apply_copy_step, c, &arena);
	arena_fini(&arena);
	return e;
}

/* False: somebody ended the copy, or the server stops. */
static bool say_progress(struct copy_job *j)
{
	struct blob_copy_step_call c = { .status = COPY_PENDING };
	uint64_t now = base_monotonic_ns();
	if (atomic_load(&j->jobs->stop))
		return false;
	if (j->copied - j->said_bytes < COPY_SAY_EVERY_BYTES && now - j->said_ns < COPY_SAY_EVERY_NS)
		return true;
	j->said_bytes = j->copied;
	j->said_ns = now;
	return step(j, &c) == ERR_OK && !c.gone;
}

static void say_end(struct copy_job *j, enum err result, const struct payload *payload, const struct copy_built *built)
{
	struct blob_copy_step_call c = { .status = result == ERR_OK ? COPY_SUCCESS : COPY_FAILED, .payload = payload };
	if (built)
		c.built = *built;
	if (result != ERR_OK)
		c.description = arena_printf(&j->arena, "%d %s \"%s\"", err_info(result)->http_status,
					     err_info(result)->code, err_info(result)->text);
	enum err e = step(j, &c);
	if (e != ERR_OK)
		log_warn("a copy could not be finished: %s", err_name(e));
	if (payload && (e != ERR_OK || c.gone) && e != ERR_UNKNOWN)
		payload_abandon(j->jobs->store, (struct payload *)(uintptr_t)payload);
}

/* Block blobs without a block list: all bytes into a payload, published at the end. */
static enum err copy_payload(struct copy_job *j, struct piece_reader *reader, struct payload_writer *w,
			     bool *ret_stopped)
{
	size_t n;
	for (;;) {
		TRY(piece_read(reader, j->buffer, COPY_CHUNK_BYTES, &n));
		if (n == 0)
			return ERR_OK;
		TRY(payload_append(w, slice_make(j->buffer, n)));
		j->copied += n;
		*ret_stopped = !say_progress(j);
		if (*ret_stopped)
			return ERR_OK;
	}
}

static void run_payload(struct copy_job *j, struct piece_reader *reader)
{
	struct payload_writer *w;
	struct payload payload = { .length_bytes = 0 };
	bool stopped = false;
	enum err e = payload_writer_new(j->jobs->store, j->spec.total_bytes, &w);
	if (e == ERR_OK) {
		payload_writer_only_extents(w);
		e = copy_payload(j, reader, w, &stopped);
		if (e != ERR_OK || stopped)
			payload_writer_free(w);
		else
			e = payload_finish(w, &payload);
	}
	if (!stopped)
		say_end(j, e, e == ERR_OK ? &payload : NULL, NULL);
	payload_fini(&payload);
}

/* Block lists and append blobs: block by block. */
static bool block_bytes_seen(void *arg, struct slice bytes)
{
	struct copy_job *j = arg;
	j->copied += bytes.len;
	return say_progress(j);
}

static enum err add_appended(struct copy_job *j, struct copy_build *build)
{
	enum err e = ERR_OK;
	while (e == ERR_OK && !build->stopped && build->built.length_bytes < j->spec.total_bytes) {
		struct arena arena;
		struct append_blocks_call c = { .content_id = j->spec.source_content_id,
						.offset = build->built.length_bytes,
						.end = j->spec.total_bytes };
		arena_init(&arena, 32 * MIB);
		e = store_read(j->jobs->store, j->spec.source_partition, append_apply_blocks, &c, &arena);
		/* The source was deleted or replaced, and its rows were given back. */
		e = e == ERR_NOT_FOUND ? ERR_BLOB_NOT_FOUND : e;
		if (e == ERR_OK)
			e = copy_build_add(build, &c.blocks);
		/* Their ids go with the arena. */
		if (e == ERR_OK && !build->stopped)
			e = copy_build_finish(build);
		arena_fini(&arena);
	}
	return e;
}

static void run_blocks(struct copy_job *j)
{
	struct copy_build build = { .store = j->jobs->store,
				    .partition = j->spec.partition,
				    .kind = j->spec.blocks ? BUILD_MANIFEST : BUILD_APPEND,
				    .seen = block_bytes_seen,
				    .arg = j,
				    .built = { .content_id = j->spec.content_id } };
	enum err e = copy_build_init(&build);
	if (e == ERR_OK)
		e = j->spec.blocks ? copy_build_add(&build, j->spec.blocks) : add_appended(j, &build);
	if (e == ERR_OK && !build.stopped)
		e = copy_build_finish(&build);
	if (!build.stopped)
		say_end(j, e, NULL, e == ERR_OK ? &build.built : NULL);
	copy_build_fini(&build);
	/* Whatever a blob did not take. */
	copy_build_drop(j->jobs->store, j->spec.partition, j->spec.content_id);
}

/* Page blobs: written range by range, some of them in a commit; holes of the source stay holes. */
struct page_run {
	uint64_t at;
	enum err error;
	bool gone;
	struct copy_pages page[COPY_STEP_PAGES]; /* brought, not yet committed */
	size_t count;
	uint64_t bytes;
};

static void flush_pages(struct copy_job *j, struct page_run *run)
{
	struct blob_copy_step_call c = { .status = COPY_PENDING, .pages = run->page, .page_count = run->count };
	enum err e = run->error;
	bool wanted = run->count && e == ERR_OK && !run->gone;
	if (wanted) {
		e = run->error = step(j, &c);
		run->gone = c.gone;
	}
	for (size_t i = 0; i < run->count; i++) {
		if (e != ERR_UNKNOWN && (!wanted || e != ERR_OK || c.gone))
			payload_abandon(j->jobs->store, &run->page[i].payload);
		payload_fini(&run->page[i].payload);
	}
	run->count = 0;
	run->bytes = 0;
}

static enum err add_pages(struct copy_job *j, struct page_run *run, uint64_t offset, size_t bytes)
{
	struct payload_writer *w;
	struct copy_pages *p = &run->page[run->count];
	TRY(payload_writer_new(j->jobs->store, bytes, &w));
	payload_writer_only_extents(w);
	enum err e = payload_append(w, slice_make(j->buffer, bytes));
	if (e != ERR_OK) {
		payload_writer_free(w);
		return e;
	}
	TRY(payload_finish(w, &p->payload));
	p->offset = offset;
	run->count++;
	run->bytes += bytes;
	return ERR_OK;
}

static void run_piece(struct copy_job *j, const struct blob_piece *p, struct page_run *run)
{
	struct piece_reader reader = { .store = j->jobs->store, .piece = p, .count = 1 };
	bool hole = !slice_is_set(p->bytes) && p->extent.length_bytes == 0;
	for (uint64_t done = 0; done < p->length_bytes && run->error == ERR_OK && !run->gone && !hole;) {
		size_t n = 0;
		run->error = piece_read(&reader, j->buffer, COPY_PAGES_BYTES, &n);
		if (run->error == ERR_OK)
			run->error = add_pages(j, run, run->at + done, n);
		done += n;
		j->copied = run->at + done;
		if (run->count == COPY_STEP_PAGES || run->bytes >= COPY_PAGES_BYTES)
			flush_pages(j, run);
		run->gone = run->gone || atomic_load(&j->jobs->stop);
	}
	run->at += p->length_bytes;
	j->copied = run->at;
}

/* The pieces of the next stretch of the source, which must be what it was. */
static enum err find_stretch(struct copy_job *j, uint64_t at, struct arena *arena, struct blob_get_call *g)
{
	*g = (struct blob_get_call){ .target = j->spec.source,
				     .want_bytes = true,
				     .on_snapshot = true,
				     .has_range = true,
				     .range_first = at,
				     .range_last = at + COPY_STRETCH_BYTES - 1 };
	TRY(store_read(j->jobs->store, j->spec.source_partition, blob_apply_get, g, arena));
	return g->blob.etag == j->spec.source_etag ? ERR_OK : ERR_SOURCE_CONDITION_NOT_MET;
}

static void run_pages(struct copy_job *j)
{
	struct page_run run = { .at = 0 };
	for (size_t i = 0; i < j->spec.piece_count && run.error == ERR_OK && !run.gone; i++)
		run_piece(j, &j->spec.piece[i], &run);
	while (slice_is_set(j->spec.source_partition) && run.at < j->spec.total_bytes && run.error == ERR_OK &&
	       !run.gone) {
		struct arena arena;
		struct blob_get_call g;
		arena_init(&arena, 64 * MIB);
		run.error = find_stretch(j, run.at, &arena, &g);
		for (size_t i = 0; run.error == ERR_OK && i < g.piece_count && !run.gone; i++)
			run_piece(j, &g.piece[i], &run);
		arena_fini(&arena);
		/* Holes take no commits: say that somebody is at work. */
		run.gone = run.gone || (run.error == ERR_OK && !say_progress(j));
	}
	flush_pages(j, &run);
	if (!run.gone)
		say_end(j, run.error, NULL, NULL);
}

static void run(struct copy_job *j)
{
	struct piece_reader reader = { .store = j->jobs->store, .piece = j->spec.piece, .count = j->spec.piece_count };
	j->said_ns = base_monotonic_ns();
	if (j->spec.type == BLOB_PAGE)
		run_pages(j);
	else if (j->spec.blocks || slice_is_set(j->spec.source_partition))
		run_blocks(j);
	else
		run_payload(j, &reader);
}

static void *job_main(void *arg)
{
	struct copy_job *j = arg;
	while (sem_wait(&j->go) != 0)
		;
	if (!j->given_up)
		run(j);
	if (j->pin)
		extent_unpin(j->jobs->store, j->pin);
	free(j->buffer);
	arena_fini(&j->arena);
	atomic_store(&j->ended, true);
	return NULL;
}

/* ---- all of them ---- */

enum err copy_jobs_new(struct store *store, struct copy_jobs **ret)
{
	struct copy_jobs *jobs = calloc(1, sizeof *jobs);
	if (!jobs)
		return ERR_NO_MEMORY;
	jobs->store = store;
	pthread_mutex_init(&jobs->lock, NULL);
	*ret = jobs;
	return ERR_OK;
}

static void join(struct copy_job *j)
{
	pthread_join(j->thread, NULL);
	sem_destroy(&j->go);
	j->running = false;
}

void copy_jobs_free(struct copy_jobs *jobs)
{
	if (!jobs)
		return;
	atomic_store(&jobs->stop, true);
	for (size_t i = 0; i < COPY_JOBS_MAX; i++)
		if (jobs->job[i].running)
			join(&jobs->job[i]);
	pthread_mutex_destroy(&jobs->lock);
	free(jobs);
}

static struct copy_job *free_slot(struct copy_jobs *jobs)
{
	for (size_t i = 0; i < COPY_JOBS_MAX; i++) {
		struct copy_job *j = &jobs->job[i];
		if (j->running && atomic_load(&j->ended))
			join(j);
		if (!j->running)
			return j;
	}
	return NULL;
}

static enum err own_blocks(struct copy_job *j, const struct manifest *from)
{
	struct manifest *m = ARENA_NEW(&j->arena, struct manifest);
	if (!m)
		return ERR_NO_MEMORY;
	m->block = ARENA_NEW_ARRAY(&j->arena, struct block, from->count ? from->count : 1);
	for (; m->block && m->count < from->count; m->count++) {
		struct block b = from->block[m->count];
		struct extent_ref *extents = ARENA_NEW_ARRAY(&j->arena, struct extent_ref, b.extent_count);
		b.id = arena_dup(&j->arena, b.id);
		if (!extents || !slice_is_set(b.id))
			return ERR_NO_MEMORY;
		memcpy(extents, b.extents, b.extent_count * sizeof *extents);
		b.extents = extents;
		m->block[m->count] = b;
	}
	j->spec.blocks = m;
	return m->block ? ERR_OK : ERR_NO_MEMORY;
}

/* The pieces that lie in memory belong to the request: they are copied too. */
static enum err own_spec(struct copy_job *j, const struct copy_job_spec *spec)
{
	j->spec = *spec;
	j->spec.partition = arena_dup(&j->arena, spec->partition);
	j->spec.name = arena_dup(&j->arena, spec->name);
	j->spec.source_partition = arena_dup(&j->arena, spec->source_partition);
	j->spec.source.name = arena_dup(&j->arena, spec->source.name);
	struct blob_piece *piece =
		ARENA_NEW_ARRAY(&j->arena, struct blob_piece, spec->piece_count ? spec->piece_count : 1);
	if (!piece || !slice_is_set(j->spec.partition) || !slice_is_set(j->spec.name) ||
	    slice_is_set(j->spec.source_partition) != slice_is_set(spec->source_partition) ||
	    slice_is_set(j->spec.source.name) != slice_is_set(spec->source.name))
		return ERR_NO_MEMORY;
	if (spec->blocks)
		return own_blocks(j, spec->blocks);
	for (size_t i = 0; i < spec->piece_count; i++) {
		piece[i] = spec->piece[i];
		if (slice_is_set(piece[i].bytes)) {
			piece[i].bytes = arena_dup(&j->arena, piece[i].bytes);
			if (!slice_is_set(piece[i].bytes))
				return ERR_NO_MEMORY;
		}
	}
	j->spec.piece = piece;
	return ERR_OK;
}

static enum err prepare(struct copy_job *j, const struct copy_job_spec *spec, uint64_t *pin)
{
	TRY(own_spec(j, spec));
	j->buffer = malloc(COPY_PAGES_BYTES);
	if (!j->buffer)
		return ERR_NO_MEMORY;
	j->pin = *pin;
	sem_init(&j->go, 0, 0);
	j->running = pthread_create(&j->thread, NULL, job_main, j) == 0;
	if (!j->running) {
		sem_destroy(&j->go);
		return ERR_BUSY;
	}
	*pin = 0;
	return ERR_OK;
}

enum err copy_job_prepare(struct copy_jobs *jobs, const struct copy_job_spec *spec, uint64_t *pin,
			  struct copy_job **ret)
{
	pthread_mutex_lock(&jobs->lock);
	struct copy_job *j = atomic_load(&jobs->stop) ? NULL : free_slot(jobs);
	enum err e = j ? ERR_OK : ERR_BUSY;
	if (j) {
		*j = (struct copy_job){ .jobs = jobs };
		arena_init(&j->arena, 64 * MIB);
		e = prepare(j, spec, pin);
		if (e != ERR_OK) {
			free(j->buffer);
			arena_fini(&j->arena);
		}
	}
	pthread_mutex_unlock(&jobs->lock);
	if (e == ERR_OK)
		*ret = j;
	return e;
}

void copy_job_go(struct copy_job *j)
{
	sem_post(&j->go);
}

void copy_job_give_up(struct copy_job *j)
{
	j->given_up = true;
	sem_post(&j->go);
}
