/* SPDX-License-Identifier: Apache-2.0
 * The waiting list. Invariant: a waiter is in a bucket exactly while nobody has decided how it ends; who takes it out,
 * under the lock, decides, and posts its task. After that only the task, on its own loop, frees it. */
#include "wait/wait.h"

#include "base/fair.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

enum { BUCKETS = 1024 };

struct waiter {
	struct io_task task;
	struct io_timer timer;
	struct wait_list *list;
	struct io_loop *loop;
	struct wait_key key;
	unsigned account; /* whose place it takes */
	wait_ended_fn *ended;
	void *owner;
	bool waiting; /* in its bucket */
	bool dropped;
	enum wait_end end;
	struct waiter *next, *prev;	    /* in the bucket, oldest first */
	struct waiter *all_next, *all_prev; /* every one that is not freed */
};

struct bucket {
	struct waiter *first, *last;
};

struct wait_list {
	pthread_mutex_t lock;
	struct fair places;
	struct waiter *all;
	struct bucket bucket[BUCKETS];
};

enum err wait_list_new(struct wait_list **ret)
{
	struct wait_list *l = calloc(1, sizeof *l);
	if (!l)
		return ERR_NO_MEMORY;
	pthread_mutex_init(&l->lock, NULL);
	fair_init(&l->places, LIMIT_WAITERS);
	*ret = l;
	return ERR_OK;
}

void wait_list_free(struct wait_list *l)
{
	if (!l)
		return;
	for (struct waiter *w = l->all, *next; w; w = next) {
		next = w->all_next;
		free(w);
	}
	pthread_mutex_destroy(&l->lock);
	free(l);
}

static struct bucket *bucket_of(struct wait_list *l, const struct wait_key *key)
{
	return &l->bucket[(key->share ^ key->inode * UINT64_C(0x9E3779B97F4A7C15)) % BUCKETS];
}

static void link_in(struct wait_list *l, struct waiter *w)
{
	struct bucket *b = bucket_of(l, &w->key);
	w->prev = b->last;
	if (b->last)
		b->last->next = w;
	else
		b->first = w;
	b->last = w;
	w->all_next = l->all;
	if (l->all)
		l->all->all_prev = w;
	l->all = w;
	w->waiting = true;
	fair_take(&l->places, w->account, 1);
}

static void take_out(struct wait_list *l, struct waiter *w)
{
	struct bucket *b = bucket_of(l, &w->key);
	assert(w->waiting);
	*(w->prev ? &w->prev->next : &b->first) = w->next;
	*(w->next ? &w->next->prev : &b->last) = w->prev;
	w->waiting = false;
}

static void forget(struct wait_list *l, struct waiter *w)
{
	*(w->all_prev ? &w->all_prev->all_next : &l->all) = w->all_next;
	if (w->all_next)
		w->all_next->all_prev = w->all_prev;
	fair_give_back(&l->places, w->account, 1);
}

/* On the loop: the end that was decided. */
static void on_ended(struct io_task *task)
{
	struct waiter *w = io_container_of(task, struct waiter, task);
	io_timer_clear(w->loop, &w->timer);
	pthread_mutex_lock(&w->list->lock);
	forget(w->list, w);
	pthread_mutex_unlock(&w->list->lock);
	if (!w->dropped)
		w->ended(w->owner, w->end);
	free(w);
}

/* Under the lock. */
static void end_with(struct waiter *w, enum wait_end end)
{
	if (!w->waiting)
		return;
	take_out(w->list, w);
	w->end = end;
	io_loop_post(w->loop, &w->task);
}

static void on_deadline(struct io_timer *timer)
{
	struct waiter *w = io_container_of(timer, struct waiter, timer);
	pthread_mutex_lock(&w->list->lock);
	end_with(w, WAIT_TIMED_OUT);
	pthread_mutex_unlock(&w->list->lock);
}

enum err wait_begin(struct wait_list *l, const struct wait_key *key, unsigned account, struct io_loop *loop,
		    uint64_t deadline_ms, wait_ended_fn *ended, void *owner, struct waiter **ret)
{
	struct waiter *w = calloc(1, sizeof *w);
	if (!w)
		return ERR_NO_MEMORY;
	*w = (struct waiter){ .list = l, .loop = loop, .key = *key, .ended = ended, .owner = owner };
	w->account = account;
	w->task.run = on_ended;
	io_timer_init(&w->timer, on_deadline);
	pthread_mutex_lock(&l->lock);
	bool full = !fair_may_take(&l->places, account, 1);
	if (!full)
		link_in(l, w);
	pthread_mutex_unlock(&l->lock);
	if (full) {
		free(w);
		return ERR_BUSY;
	}
	if (deadline_ms)
		io_timer_set(loop, &w->timer, deadline_ms);
	*ret = w;
	return ERR_OK;
}

void wait_cancel(struct waiter *w)
{
	pthread_mutex_lock(&w->list->lock);
	end_with(w, WAIT_CANCELLED);
	pthread_mutex_unlock(&w->list->lock);
}

void wait_drop(struct waiter *w)
{
	if (!w)
		return;
	struct wait_list *l = w->list;
	pthread_mutex_lock(&l->lock);
	bool now = w->waiting;
	if (now) {
		take_out(l, w);
		forget(l, w);
	} else {
		w->dropped = true; /* its task is on its way, and frees it */
	}
	pthread_mutex_unlock(&l->lock);
	if (now) {
		io_timer_clear(w->loop, &w->timer);
		free(w);
	}
}

void wait_wake(struct wait_list *l, const struct wait_key *key)
{
	pthread_mutex_lock(&l->lock);
	for (struct waiter *w = bucket_of(l, key)->first, *next; w; w = next) {
		next = w->next;
		if (w->key.share == key->share && w->key.inode == key->inode)
			end_with(w, WAIT_WOKEN);
	}
	pthread_mutex_unlock(&l->lock);
}

size_t wait_count(struct wait_list *l)
{
	pthread_mutex_lock(&l->lock);
	size_t count = l->places.used;
	pthread_mutex_unlock(&l->lock);
	return count;
}
