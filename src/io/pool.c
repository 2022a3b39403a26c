/* SPDX-License-Identifier: Apache-2.0
 * The pool's queues: two classes of work (short and long) with threads of their own, in each a queue per owner, and a
 * ring of the owners that have something waiting. The owner at the front gives one piece and goes to the back. All
 * under one mutex. */
#include "io/pool.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/limits.h"
#include "base/panic.h"
#include "base/sys/thread.h"

enum { POOL_MAGIC = 0x706f6f6c };

struct owner_queue {
	struct io_task *first, **last;
	size_t waiting;
	struct owner_queue *next; /* in the ring; an owner with nothing waiting is not in it */
};

struct work_class {
	struct io_pool *pool;
	bool is_long;
	struct owner_queue owner[IO_POOL_OWNERS];
	struct owner_queue *ring_first, **ring_last;
	size_t waiting;
	pthread_cond_t wake;
	unsigned idle;
};

struct io_pool {
	uint32_t magic;
	pthread_mutex_t mutex;
	struct work_class class[2]; /* by is_long */
	bool stopping;
	unsigned thread_count;
	pthread_t threads[];
};

static void work_done(struct io_task *t)
{
	struct io_work *w = io_container_of(t, struct io_work, task);
	w->done(w);
}

static void ring_join(struct work_class *c, struct owner_queue *q)
{
	q->next = NULL;
	*c->ring_last = q;
	c->ring_last = &q->next;
}

static void class_put(struct work_class *c, struct io_work *w)
{
	struct owner_queue *q = &c->owner[w->owner % IO_POOL_OWNERS];
	if (q->waiting == 0) {
		q->last = &q->first;
		ring_join(c, q);
	}
	w->task.next = NULL;
	*q->last = &w->task;
	q->last = &w->task.next;
	q->waiting++;
	c->waiting++;
}

/* The piece whose turn it is; NULL if none waits. */
static struct io_work *class_take(struct work_class *c)
{
	struct owner_queue *q = c->ring_first;
	if (!q)
		return NULL;
	assert(q->waiting > 0 && c->waiting >= q->waiting);
	struct io_work *w = io_container_of(q->first, struct io_work, task);
	q->first = q->first->next;
	q->waiting--;
	c->waiting--;
	c->ring_first = q->next;
	if (!c->ring_first)
		c->ring_last = &c->ring_first;
	if (q->waiting)
		ring_join(c, q);
	return w;
}

static void *pool_main(void *arg)
{
	struct work_class *c = arg;
	struct io_pool *p = c->pool;
	pthread_setname_np(pthread_self(), c->is_long ? "worker-long" : "worker");
	if (c->is_long)
		thread_lower_priority(THREAD_WORKS_LONG);
	pthread_mutex_lock(&p->mutex);
	for (;;) {
		struct io_work *w = class_take(c);
		if (!w && p->stopping)
			break;
		if (!w) {
			c->idle++;
			pthread_cond_wait(&c->wake, &p->mutex);
			c->idle--;
			continue;
		}
		pthread_mutex_unlock(&p->mutex);
		w->run(w);
		w->task.run = work_done;
		io_loop_post(w->home, &w->task); /* and is its owner's again */
		pthread_mutex_lock(&p->mutex);
	}
	pthread_mutex_unlock(&p->mutex);
	return NULL;
}

enum err io_pool_new(unsigned threads, struct io_pool **ret)
{
	struct io_pool *p = calloc(1, sizeof *p + 2 * threads * sizeof p->threads[0]);
	if (!p)
		return ERR_NO_MEMORY;
	pthread_mutex_init(&p->mutex, NULL);
	p->magic = POOL_MAGIC;
	for (size_t i = 0; i < 2; i++) {
		struct work_class *c = &p->class[i];
		c->pool = p;
		c->is_long = i == 1;
		c->ring_last = &c->ring_first;
		pthread_cond_init(&c->wake, NULL);
	}
	while (p->thread_count < 2 * threads) {
		struct work_class *c = &p->class[p->thread_count % 2];
		if (pthread_create(&p->threads[p->thread_count], NULL, pool_main, c) != 0) {
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
	for (size_t i = 0; i < 2; i++)
		pthread_cond_broadcast(&p->class[i].wake);
	pthread_mutex_unlock(&p->mutex);
	for (unsigned i = 0; i < p->thread_count; i++)
		pthread_join(p->threads[i], NULL);
	for (size_t i = 0; i < 2; i++)
		pthread_cond_destroy(&p->class[i].wake);
	pthread_mutex_destroy(&p->mutex);
	free(p);
}

enum err io_pool_submit(struct io_pool *p, struct io_work *w)
{
	MAGIC_CHECK(p, POOL_MAGIC);
	assert(w->home && w->run && w->done);
	pthread_mutex_lock(&p->mutex);
	struct work_class *c = &p->class[w->is_long];
	size_t own = c->owner[w->owner % IO_POOL_OWNERS].waiting;
	if (c->waiting >= LIMIT_WORK_QUEUE || (w->is_long && own >= LIMIT_WORK_QUEUE_OWNER) || p->stopping) {
		pthread_mutex_unlock(&p->mutex);
		return ERR_BUSY;
	}
	class_put(c, w);
	bool wake = c->idle > 0;
	pthread_mutex_unlock(&p->mutex);
	if (wake)
		pthread_cond_signal(&c->wake);
	return ERR_OK;
}

size_t io_pool_waiting(struct io_pool *p)
{
	pthread_mutex_lock(&p->mutex);
	size_t n = p->class[0].waiting + p->class[1].waiting;
	pthread_mutex_unlock(&p->mutex);
	return n;
}
