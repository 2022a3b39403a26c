/* SPDX-License-Identifier: Apache-2.0
 * Opens and the loops of their connections. A notice looks its holder up again when it runs: by then the open may be
 * closed, or held by another connection on another loop (a reconnect), which it then follows. */
#include "wait/holder.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

enum { BUCKETS = 4096 };

struct holder {
	struct holder *next;
	uint64_t open_id;
	struct io_loop *loop;
	holder_notice_fn *notice;
	void *owner;
};

/* A notice under way. */
struct letter {
	struct io_task task;
	struct holder_list *list;
	struct io_loop *loop;
	struct holder_notice notice;
	struct letter *next, *prev; /* all under way */
};

struct holder_list {
	pthread_mutex_t lock;
	struct letter *letters;
	struct holder *bucket[BUCKETS];
};

enum err holder_list_new(struct holder_list **ret)
{
	struct holder_list *l = calloc(1, sizeof *l);
	if (!l)
		return ERR_NO_MEMORY;
	pthread_mutex_init(&l->lock, NULL);
	*ret = l;
	return ERR_OK;
}

void holder_list_free(struct holder_list *l)
{
	if (!l)
		return;
	for (size_t i = 0; i < BUCKETS; i++)
		for (struct holder *h = l->bucket[i], *next; h; h = next) {
			next = h->next;
			free(h);
		}
	for (struct letter *m = l->letters, *next; m; m = next) {
		next = m->next;
		free(m);
	}
	pthread_mutex_destroy(&l->lock);
	free(l);
}

/* Where the pointer to the holder stands; to NULL if there is none. */
static struct holder **find(struct holder_list *l, uint64_t open_id)
{
	struct holder **at = &l->bucket[open_id % BUCKETS];
	while (*at && (*at)->open_id != open_id)
		at = &(*at)->next;
	return at;
}

enum err holder_add(struct holder_list *l, uint64_t open_id, struct io_loop *loop, holder_notice_fn *notice,
		    void *owner)
{
	assert(open_id && loop && notice);
	struct holder *h = malloc(sizeof *h);
	if (!h)
		return ERR_NO_MEMORY;
	*h = (struct holder){ .open_id = open_id, .loop = loop, .notice = notice, .owner = owner };
	pthread_mutex_lock(&l->lock);
	struct holder **at = find(l, open_id), *old = *at;
	h->next = old ? old->next : NULL;
	*at = h;
	pthread_mutex_unlock(&l->lock);
	free(old);
	return ERR_OK;
}

void holder_remove(struct holder_list *l, uint64_t open_id)
{
	pthread_mutex_lock(&l->lock);
	struct holder **at = find(l, open_id), *old = *at;
	if (old)
		*at = old->next;
	pthread_mutex_unlock(&l->lock);
	free(old);
}

static void deliver(struct io_task *task)
{
	struct letter *m = io_container_of(task, struct letter, task);
	struct holder_list *l = m->list;
	struct holder found = { 0 };
	pthread_mutex_lock(&l->lock);
	struct holder *h = *find(l, m->notice.open_id);
	bool moved = h && h->loop != m->loop;
	if (moved) {
		m->loop = h->loop;
		io_loop_post(m->loop, &m->task);
	} else {
		if (h)
			found = *h;
		*(m->prev ? &m->prev->next : &l->letters) = m->next;
		if (m->next)
			m->next->prev = m->prev;
	}
	pthread_mutex_unlock(&l->lock);
	if (moved)
		return;
	if (found.notice)
		found.notice(found.owner, &m->notice);
	free(m);
}

bool holder_post(struct holder_list *l, const struct holder_notice *notice)
{
	struct letter *m = malloc(sizeof *m);
	struct holder here = { 0 };
	bool posted = false;
	if (!m)
		return false;
	pthread_mutex_lock(&l->lock);
	struct holder *h = *find(l, notice->open_id);
	if (h && notice->what == NOTICE_BREAK && io_loop_is_current(h->loop)) {
		here = *h;
	} else if (h) {
		*m = (struct letter){ .list = l, .loop = h->loop, .notice = *notice, .next = l->letters };
		m->task.run = deliver;
		if (l->letters)
			l->letters->prev = m;
		l->letters = m;
		io_loop_post(m->loop, &m->task);
		posted = true;
	}
	pthread_mutex_unlock(&l->lock);
	if (here.notice)
		here.notice(here.owner, notice);
	if (!posted)
		free(m);
	return h != NULL;
}
