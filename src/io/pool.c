/* SPDX-License-Identifier: Apache-2.0 */
#include "io/pool.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/limits.h"

struct io_pool {
	pthread_mutex_t mutex;
	pthread_cond_t wake;
	struct io_task *first, **last;
	size_t waiting;
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

static void *pool_main(void *arg)
{
	struct io_pool *p = arg;
	pthread_setname_np(pthread_self(), "worker");
	pthread_mutex_lock(&p->mutex);
	for (;;) {
		while (!p->first && !p->stopping) {
			p->idle++;
			pthread_cond_wait(&p->wake, &p->mutex);
			p->idle--;
		}
		struct io_task *t = p->first;
		if (!t)
			break;
		p->first = t->next;
		if (!p->first)
			p->last = &p->first;
		p->waiting--;
		pthread_mutex_unlock(&p->mutex);
		struct io_work *w = io_container_of(t, struct io_work, task);
		w->run(w);
		w->task.run = work_done;
		io_loop_post(w->home, &w->task);
		pthread_mutex_lock(&p->mutex);
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
	p->last = &p->first;
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
	if (p->waiting >= LIMIT_WORK_QUEUE || p->stopping) {
		pthread_mutex_unlock(&p->mutex);
		return ERR_BUSY;
	}
	w->task.next = NULL;
	*p->last = &w->task;
	p->last = &w->task.next;
	p->waiting++;
	bool wake = p->idle > 0;
	pthread_mutex_unlock(&p->mutex);
	if (wake)
		pthread_cond_signal(&p->wake);
	return ERR_OK;
}
