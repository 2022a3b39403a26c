/* SPDX-License-Identifier: Apache-2.0
 * The slots and threads of large copies. A job waits on its semaphore until its request has committed the destination
 * (or has not), then runs to its end (copy_run.c). Slots are joined and used again when the next job needs one. */
#include "jobs/copy.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "jobs/copy_run.h"

enum { COPY_SPEC_ARENA_BYTES = 64 * 1024 * 1024 }; /* COPY_PIECES_MAX pieces and more */

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
};

struct copy_jobs {
	struct store *store;
	pthread_mutex_t lock;
	atomic_bool stop;
	struct copy_job job[COPY_JOBS_MAX];
};

/* ---- one job ---- */

static void *job_main(void *arg)
{
	struct copy_job *j = arg;
	while (sem_wait(&j->go) != 0)
		;
	if (!j->given_up)
		copy_run(&(struct copy_run_options){
			.store = j->jobs->store, .spec = &j->spec, .stop = &j->jobs->stop });
	if (j->pin)
		extent_unpin(j->jobs->store, j->pin);
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

/* NULL: none is free, or the owner has as many as it may. */
static struct copy_job *free_slot(struct copy_jobs *jobs, unsigned owner)
{
	struct copy_job *found = NULL;
	size_t owned = 0;
	for (size_t i = 0; i < COPY_JOBS_MAX; i++) {
		struct copy_job *j = &jobs->job[i];
		if (j->running && atomic_load(&j->ended))
			join(j);
		if (!j->running)
			found = j;
		else
			owned += j->spec.owner == owner;
	}
	return owned < COPY_JOBS_OWNER_MAX ? found : NULL;
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
	struct copy_job *j = atomic_load(&jobs->stop) ? NULL : free_slot(jobs, spec->owner);
	enum err e = j ? ERR_OK : ERR_BUSY;
	if (j) {
		*j = (struct copy_job){ .jobs = jobs };
		arena_init(&j->arena, COPY_SPEC_ARENA_BYTES);
		e = prepare(j, spec, pin);
		if (e != ERR_OK) {
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
