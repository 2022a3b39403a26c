/* SPDX-License-Identifier: Apache-2.0 */
#include "io/pool.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/limits.h"

struct work_queue {
	struct io_task *first, **last;
	size_t waiting;
};

struct io_pool {
	pthread_mutex_t mutex;
	pthread_cond_t wake;
	struct work_queue queue[2]; /* by is_long */
	uint64_t tickets;	    /* handed out: the oldest goes first */
	unsigned long_running, long_most;
	unsigned idle;
	bool stopping;
	unsigned thread_count;
	pthread_t threads[];
};

static void work_done(struct io_task *t)
{
	struct io_work *w = io_container_of(t, struct io_work, task);
	w->done(w);
}

static struct io_work *queue_head(const struct work_queue *q)
{
	return q->first ? io_container_of(q->first, struct io_work, task) : NULL;
}

/* The next piece for a thread, NULL if it has to wait. Who ends a long one looks for the next itself. */
static struct io_work *pool_take(struct io_pool *p)
{
	struct io_work *w = queue_head(&p->queue[false]);
	struct io_work *is_long = p->long_running < p->long_most ? queue_head(&p->queue[true]) : NULL;
	if (is_long && (!w || is_long->ticket < w->ticket))
		w = is_long;
	if (!w)
		return NULL;
	struct work_queue *q = &p->queue[w->is_long];
	q->first = w->task.next;
	if (!q->first)
		q->last = &q->first;
	q->waiting--;
	return w;
}

static void *pool_main(void *arg)
{
	struct io_pool *p = arg;
	pthread_setname_np(pthread_self(), "worker");
	pthread_mutex_lock(&p->mutex);
	for (;;) {
		struct io_work *w = pool_take(p);
		if (!w && p->stopping)
			break; /* what long work is left belongs to those who are at some */
		if (!w) {
			p->idle++;
			pthread_cond_wait(&p->wake, &p->mutex);
			p->idle--;
			continue;
		}
		bool is_long = w->is_long;
		p->long_running += is_long;
		pthread_mutex_unlock(&p->mutex);
		w->run(w);
		w->task.run = work_done;
		io_loop_post(w->home, &w->task); /* and is its owner's again */
		pthread_mutex_lock(&p->mutex);
		p->long_running -= is_long;
	}
	pthread_mutex_unlock(&p->mutex);
	return NULL;
}

enum err io_pool_new(unsigned threads, struct io_pool **ret)
{
	struct io_pool *p = calloc(1, sizeof *p + threads * sizeof p->threads[0]);
	if (!p)
		return ERR_NO_MEMORY;
	pthread_mutex_init(&p->mutex, NULL);
	pthread_cond_init(&p->wake, NULL);
	p->long_most = threads > 1 ? threads - 1 : threads;
	for (size_t i = 0; i < 2; i++)
		p->queue[i].last = &p->queue[i].first;
	while (p->thread_count < threads) {
		if (pthread_create(&p->threads[p->thread_count], NULL, pool_main, p) != 0) {
			io_pool_free(p);
			return ERR_NO_MEMORY;
		}
		p->thread_count++;
	}
	*ret = p;
	return ERR_OK;
}

void io_pool_free(struct io_pool *p)
{
	if (!p)
		return;
	pthread_mutex_lock(&p->mutex);
	p->stopping = true;
	pthread_cond_broadcast(&p->wake);
	pthread_mutex_unlock(&p->mutex);
	for (unsigned i = 0; i < p->thread_count; i++)
		pthread_join(p->threads[i], NULL);
	pthread_cond_destroy(&p->wake);
	pthread_mutex_destroy(&p->mutex);
	free(p);
}

enum err io_pool_submit(struct io_pool *p, struct io_work *w)
{
	pthread_mutex_lock(&p->mutex);
	struct work_queue *q = &p->queue[w->is_long];
	if (q->waiting >= LIMIT_WORK_QUEUE || p->stopping) {
		pthread_mutex_unlock(&p->mutex);
		return ERR_BUSY;
	}
	w->ticket = p->tickets++;
	w->task.next = NULL;
	*q->last = &w->task;
	q->last = &w->task.next;
	q->waiting++;
	bool wake = p->idle > 0;
	pthread_mutex_unlock(&p->mutex);
	if (wake)
		pthread_cond_signal(&p->wake);
	return ERR_OK;
}
