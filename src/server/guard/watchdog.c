/* SPDX-License-Identifier: Apache-2.0
 * Questions and answers: a question that is under way is not asked again, so a thread that hangs has one waiting and
 * not a queue of them. */
#include "server/guard/watchdog.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/panic.h"
#include "base/sys/clock.h"

enum { WATCHDOG_MAGIC = 0x77646f67, ASKS_A_PERIOD = 2, PERIOD_MIN_MS = 20 };

struct question {
	struct io_task task;
	struct watchdog *from;
	bool waiting;
};

struct watchdog {
	uint32_t magic;
	struct watchdog_options options;
	struct io_loop **loops;
	struct question *asked;
	struct store_job job;
	struct arena arena;
	pthread_t thread;
	pthread_mutex_t lock; /* of what follows, and whether questions wait; held over nothing */
	pthread_cond_t wake;
	bool job_waiting;
	bool stopping;
};

static void answered(struct watchdog *w, bool *waiting)
{
	pthread_mutex_lock(&w->lock);
	*waiting = false;
	pthread_cond_signal(&w->wake);
	pthread_mutex_unlock(&w->lock);
}

static void loop_answers(struct io_task *t)
{
	struct question *q = io_container_of(t, struct question, task);
	answered(q->from, &q->waiting);
}

/* Fails, so that nothing is committed: the answer still comes from behind whatever is being written. */
static enum err apply_nothing(struct txn *txn, void *call)
{
	return (void)txn, (void)call, ERR_NOT_FOUND;
}

static void store_answers(struct store_job *job, enum err result)
{
	struct watchdog *w = job->owner;
	(void)result;
	answered(w, &w->job_waiting);
}

/* Under the lock. */
static bool all_answered(const struct watchdog *w)
{
	bool all = !w->job_waiting;
	for (size_t i = 0; i < w->options.loop_count; i++)
		all = all && !w->asked[i].waiting;
	return all;
}

/* Everybody: nobody has a question waiting. Under the lock, which is let go while they are sent. */
static void ask(struct watchdog *w)
{
	w->job_waiting = w->options.store != NULL;
	for (size_t i = 0; i < w->options.loop_count; i++)
		w->asked[i] = (struct question){ .task.run = loop_answers, .from = w, .waiting = true };
	pthread_mutex_unlock(&w->lock);
	w->options.beat(w->options.arg);
	for (size_t i = 0; i < w->options.loop_count; i++)
		io_loop_post(w->loops[i], &w->asked[i].task);
	if (w->options.store) {
		arena_reset(&w->arena);
		w->job = (struct store_job){ .partition = SLICE("watchdog"),
					     .apply = apply_nothing,
					     .arena = &w->arena,
					     .done = store_answers,
					     .owner = w };
		store_write(w->options.store, &w->job);
	}
	pthread_mutex_lock(&w->lock);
}

/* Under the lock. */
static void rest(struct watchdog *w, uint64_t ms)
{
	uint64_t ns = base_monotonic_ns() + ms * 1000000;
	struct timespec until = { (time_t)(ns / 1000000000), (long)(ns % 1000000000) };
	while (!w->stopping && pthread_cond_timedwait(&w->wake, &w->lock, &until) == 0)
		;
}

static void *watchdog_main(void *arg)
{
	struct watchdog *w = arg;
	MAGIC_CHECK(w, WATCHDOG_MAGIC);
	pthread_setname_np(pthread_self(), "watchdog");
	pthread_mutex_lock(&w->lock);
	while (!w->stopping) {
		if (all_answered(w))
			ask(w);
		rest(w, w->options.period_ms / ASKS_A_PERIOD);
	}
	while (!all_answered(w)) /* they would answer to nobody */
		pthread_cond_wait(&w->wake, &w->lock);
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

static void watchdog_free(struct watchdog *w)
{
	pthread_cond_destroy(&w->wake);
	pthread_mutex_destroy(&w->lock);
	arena_fini(&w->arena);
	free(w->asked);
	free(w->loops);
	w->magic = 0;
	free(w);
}

struct watchdog *watchdog_start(const struct watchdog_options *o)
{
	struct watchdog *w = calloc(1, sizeof *w);
	pthread_condattr_t monotonic;
	if (!w)
		return NULL;
	w->magic = WATCHDOG_MAGIC;
	w->options = *o;
	if (w->options.period_ms < PERIOD_MIN_MS)
		w->options.period_ms = PERIOD_MIN_MS;
	w->loops = calloc(o->loop_count + 1, sizeof(struct io_loop *));
	w->asked = calloc(o->loop_count + 1, sizeof *w->asked);
	arena_init(&w->arena, 64 * 1024);
	pthread_mutex_init(&w->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&w->wake, &monotonic);
	pthread_condattr_destroy(&monotonic);
	bool ok = w->loops && w->asked;
	for (size_t i = 0; ok && i < o->loop_count; i++)
		w->loops[i] = o->loops[i];
	if (ok && pthread_create(&w->thread, NULL, watchdog_main, w) == 0)
		return w;
	watchdog_free(w);
	return NULL;
}

void watchdog_stop(struct watchdog *w)
{
	if (!w)
		return;
	MAGIC_CHECK(w, WATCHDOG_MAGIC);
	pthread_mutex_lock(&w->lock);
	w->stopping = true;
	pthread_cond_signal(&w->wake);
	pthread_mutex_unlock(&w->lock);
	pthread_join(w->thread, NULL);
	watchdog_free(w);
}

uint64_t watchdog_period_ms(const char *watchdog_usec, const char *watchdog_pid)
{
	uint64_t usec, pid;
	if (!watchdog_usec || !slice_to_u64(slice_str(watchdog_usec), &usec))
		return 0;
	/* The variables are inherited by whoever was started on the way: they are for this one alone. */
	if (watchdog_pid && (!slice_to_u64(slice_str(watchdog_pid), &pid) || pid != (uint64_t)getpid()))
		return 0;
	return usec / 1000;
}
