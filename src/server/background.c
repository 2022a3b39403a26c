/* SPDX-License-Identifier: Apache-2.0 */
#include "server/background.h"

#include "base/log.h"

#include <errno.h>
#include <pthread.h>
#include <time.h>

enum { IDLE_MS = 1000, BUSY_MS = 10 };

struct background {
	struct store *store;
	pthread_t thread;
	pthread_mutex_t mutex;
	pthread_cond_t wake;
	bool stop;
};

/* True if another round would find work. */
static bool round_run(struct background *b, bool *complained)
{
	struct engine *engine = store_engine(b->store);
	bool more = false;
	enum err err = engine->ops->reclaim(engine, &more);
	if (err != ERR_OK && !*complained)
		log_warn("reclaiming space failed (%s); it is tried again every second", err_name(err));
	*complained = err != ERR_OK;
	return err == ERR_OK && more;
}

static void *background_run(void *arg)
{
	struct background *b = arg;
	bool complained = false, more = false;
	pthread_mutex_lock(&b->mutex);
	while (!b->stop) {
		struct timespec until;
		clock_gettime(CLOCK_MONOTONIC, &until);
		uint64_t ns = (uint64_t)until.tv_nsec + (more ? BUSY_MS : IDLE_MS) * UINT64_C(1000000);
		until.tv_sec += (time_t)(ns / 1000000000);
		until.tv_nsec = (long)(ns % 1000000000);
		if (pthread_cond_timedwait(&b->wake, &b->mutex, &until) != ETIMEDOUT)
			continue;
		pthread_mutex_unlock(&b->mutex);
		more = round_run(b, &complained);
		pthread_mutex_lock(&b->mutex);
	}
	pthread_mutex_unlock(&b->mutex);
	return NULL;
}

struct background *background_start(struct store *store)
{
	struct background *b = calloc(1, sizeof *b);
	if (!b)
		return NULL;
	b->store = store;
	pthread_condattr_t attributes;
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_mutex_init(&b->mutex, NULL);
	pthread_cond_init(&b->wake, &attributes);
	pthread_condattr_destroy(&attributes);
	int failed = pthread_create(&b->thread, NULL, background_run, b);
	if (failed) {
		log_warn("no thread for background work (%s): space is not reclaimed", strerror(failed));
		pthread_cond_destroy(&b->wake);
		pthread_mutex_destroy(&b->mutex);
		free(b);
		return NULL;
	}
	return b;
}

void background_stop(struct background *b)
{
	if (!b)
		return;
	pthread_mutex_lock(&b->mutex);
	b->stop = true;
	pthread_cond_signal(&b->wake);
	pthread_mutex_unlock(&b->mutex);
	pthread_join(b->thread, NULL);
	pthread_cond_destroy(&b->wake);
	pthread_mutex_destroy(&b->mutex);
	free(b);
}
