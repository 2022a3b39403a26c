/* SPDX-License-Identifier: Apache-2.0
 * The pool's queues: two classes of work (short and long), in each a queue per owner, and a ring of the owners that
 * have something waiting. The owner at the front gives one piece and goes to the back. All under one mutex. */
#include "io/pool.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/limits.h"
#include "base/panic.h"

enum { POOL_MAGIC = 0x706f6f6c };

struct owner_queue {
	struct io_task *first, **last;
	size_t waiting;
	struct owner_queue *next; /* in the ring; an owner with nothing waiting is not in it */
};

struct work_class {
	struct owner_queue owner[IO_POOL_OWNERS];
	struct owner_queue *ring_first, **ring_last;
	size_t waiting;
};

struct io_pool {
	uint32_t magic;
	pthread_mutex_t mutex;
	pthread_cond_t wake;
	struct work_class class[2]; /* by is_long */
	uint64_t tickets;	    /* handed out: between the classes the oldest goes first */
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

/* The piece whose turn it is in a class; NULL if none waits. */
static struct io_work *class_head(const struct work_class *c)
{
	return c->ring_first ? io_container_of(c->ring_first->first, struct io_work, task) : NULL;
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

static void class_take(struct work_class *c)
{
	struct owner_queue *q = c->ring_first;
	assert(q && q->waiting > 0 && c->waiting >= q->waiting);
	q->first = q->first->next;
	q->waiting--;
	c->waiting--;
	c->ring_first = q->next;
	if (!c->ring_first)
		c->ring_last = &c->ring_first;
	if (q->waiting)
		ring_join(c, q);
}

/* The next piece for a thread, NULL if it has to wait. Who ends a long one looks for the next itself. */
static struct io_work *pool_take(struct io_pool *p)
{
	struct io_work *w = class_head(&p->class[false]);
	struct io_work *is_long = p->long_running < p->long_most ? class_head(&p->class[true]) : NULL;
	if (is_long && (!w || is_long->ticket < w->ticket))
		w = is_long;
	if (w)
		class_take(&p->class[w->is_long]);
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
	p->magic = POOL_MAGIC;
	for (size_t i = 0; i < 2; i++)
		p->class[i].ring_last = &p->class[i].ring_first;
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
	MAGIC_CHECK(p, POOL_MAGIC);
	assert(w->home && w->run && w->done);
	pthread_mutex_lock(&p->mutex);
	struct work_class *c = &p->class[w->is_long];
	size_t own = c->owner[w->owner % IO_POOL_OWNERS].waiting;
	if (c->waiting >= LIMIT_WORK_QUEUE || (w->is_long && own >= LIMIT_WORK_QUEUE_OWNER) || p->stopping) {
		pthread_mutex_unlock(&p->mutex);
		return ERR_BUSY;
	}
	w->ticket = p->tickets++;
	class_put(c, w);
	bool wake = p->idle > 0;
	pthread_mutex_unlock(&p->mutex);
	if (wake)
		pthread_cond_signal(&p->wake);
	return ERR_OK;
}
