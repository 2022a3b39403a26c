/* SPDX-License-Identifier: Apache-2.0
 * A write that waits for its answer, for threads that may block. A manual store has no thread to wait for: it is
 * stepped here. */
#include "store/store_int.h"

#include <pthread.h>

struct waiting_job {
	struct store_job job;
	pthread_mutex_t lock;
	pthread_cond_t ready;
	bool done;
	enum err result;
};

static void waiting_done(struct store_job *job, enum err result)
{
	struct waiting_job *w = job->owner;
	pthread_mutex_lock(&w->lock);
	w->result = result;
	w->done = true;
	pthread_cond_signal(&w->ready);
	pthread_mutex_unlock(&w->lock);
}

enum err store_write_wait(struct store *store, struct slice partition, apply_fn *apply, void *call, struct arena *arena)
{
	struct waiting_job w = {
		.job = { .partition = partition, .apply = apply, .call = call, .arena = arena, .done = waiting_done }
	};
	w.job.owner = &w;
	pthread_mutex_init(&w.lock, NULL);
	pthread_cond_init(&w.ready, NULL);
	store_write(store, &w.job);
	while (store->manual && !w.done)
		store_step(store);
	pthread_mutex_lock(&w.lock);
	while (!w.done)
		pthread_cond_wait(&w.ready, &w.lock);
	pthread_mutex_unlock(&w.lock);
	pthread_mutex_destroy(&w.lock);
	pthread_cond_destroy(&w.ready);
	return w.result;
}
