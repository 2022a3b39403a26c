/* SPDX-License-Identifier: Apache-2.0
 * Threads that hash large bodies: windows of several bodies side by side, as many as the lanes of one hash take. */
#include "rest/core/hasher.h"

#include <pthread.h>
#include <stdlib.h>

enum {
	LANES_MAX = 16, /* more than the widest unit has would only wait for each other */
	QUEUE_LONG = 8, /* so many waiting while all lanes are full are worth another thread */
	STEP_BYTES =
		64 * 1024, /* of every body in a turn: 16 of them fit the second-level cache, and a turn is short */
};

struct hasher {
	pthread_mutex_t mutex;
	pthread_cond_t wake;
	struct hash_job *first, **last;
	size_t waiting;
	unsigned running; /* threads at work, or called to it */
	unsigned called;  /* of those the ones that have not come yet */
	bool stopping;
	unsigned thread_count;
	pthread_t threads[];
};

/* What a thread has in its lanes. */
struct lanes {
	size_t count;
	struct hash_job *job[LANES_MAX];
};

/* With the mutex held. */
static void lanes_fill(struct hasher *h, struct lanes *l)
{
	while (h->first && l->count < LANES_MAX) {
		struct hash_job *j = h->first;
		h->first = j->next;
		if (!h->first)
			h->last = &h->first;
		h->waiting--;
		l->job[l->count++] = j;
	}
}

static void lanes_step(struct lanes *l)
{
	struct hash_md5_piece piece[LANES_MAX];
	size_t kept = 0;
	for (size_t i = 0; i < l->count; i++)
		piece[i] = (struct hash_md5_piece){ l->job[i]->state, slice_first(l->job[i]->bytes, STEP_BYTES) };
	hash_md5_update_many(piece, l->count);
	for (size_t i = 0; i < l->count; i++) {
		struct hash_job *j = l->job[i];
		j->bytes = slice_from(j->bytes, STEP_BYTES);
		if (j->bytes.len)
			l->job[kept++] = j;
		else
			io_loop_post(j->home, &j->done); /* not ours any more */
	}
	l->count = kept;
}

static void *hasher_main(void *arg)
{
	struct hasher *h = arg;
	struct lanes l = { 0 };
	pthread_setname_np(pthread_self(), "hasher");
	pthread_mutex_lock(&h->mutex);
	for (;;) {
		while (!h->called && !h->stopping)
			pthread_cond_wait(&h->wake, &h->mutex);
		if (!h->called)
			break;
		h->called--;
		for (lanes_fill(h, &l); l.count; lanes_fill(h, &l)) {
			pthread_mutex_unlock(&h->mutex);
			lanes_step(&l);
			pthread_mutex_lock(&h->mutex);
		}
		h->running--;
	}
	pthread_mutex_unlock(&h->mutex);
	return NULL;
}

enum err hasher_new(unsigned threads, struct hasher **ret)
{
	struct hasher *h = calloc(1, sizeof *h + threads * sizeof h->threads[0]);
	if (!h)
		return ERR_NO_MEMORY;
	pthread_mutex_init(&h->mutex, NULL);
	pthread_cond_init(&h->wake, NULL);
	h->last = &h->first;
	while (h->thread_count < threads) {
		if (pthread_create(&h->threads[h->thread_count], NULL, hasher_main, h) != 0) {
			hasher_free(h);
			return ERR_NO_MEMORY;
		}
		h->thread_count++;
	}
	*ret = h;
	return ERR_OK;
}

void hasher_free(struct hasher *h)
{
	if (!h)
		return;
	pthread_mutex_lock(&h->mutex);
	h->stopping = true;
	pthread_cond_broadcast(&h->wake);
	pthread_mutex_unlock(&h->mutex);
	for (unsigned i = 0; i < h->thread_count; i++)
		pthread_join(h->threads[i], NULL);
	pthread_cond_destroy(&h->wake);
	pthread_mutex_destroy(&h->mutex);
	free(h);
}

void hasher_submit(struct hasher *h, struct hash_job *j)
{
	pthread_mutex_lock(&h->mutex);
	j->next = NULL;
	*h->last = j;
	h->last = &j->next;
	h->waiting++;
	/* Who is at work looks here after every step. */
	bool wake = h->running == 0 || (h->waiting > QUEUE_LONG && h->running < h->thread_count);
	if (wake) {
		h->running++;
		h->called++;
	}
	pthread_mutex_unlock(&h->mutex);
	if (wake)
		pthread_cond_signal(&h->wake);
}
