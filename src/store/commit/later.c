/* SPDX-License-Identifier: Apache-2.0
 * Groups that are answered before they are durable, if all that wrote in them said that they may be
 * (store_job.sync_later). The engine keeps their order: what is lost in a power cut is lost with all that came behind
 * it, and nothing of that was synced. A member of a group that asks for a sync is answered after it, be the group
 * empty or not.
 *
 * A thread sees to it that nothing waits for its sync longer than LIMIT_UNSYNCED_MS, and that all is synced at the end.
 * How much waits is the engine's to bound. */
#include "store/store_int.h"

#include <errno.h>
#include <time.h>

enum err store_apply_nothing(struct txn *t, void *call)
{
	(void)t;
	(void)call;
	return ERR_OK;
}

/* ---- a group ---- */

struct wishes {
	bool writes; /* a row */
	bool strict; /* one of those that write did not say that it may be synced later */
	bool sync;   /* one asks that all before it be durable */
};

static struct wishes wishes_of(const struct store *s, const struct run *r)
{
	struct wishes w = { 0 };
	for (size_t i = 0; i < r->member_count; i++) {
		const struct member *m = &r->members[i];
		w.writes = w.writes || m->count;
		w.strict = w.strict || (m->count && !m->job->sync_later);
		w.sync = w.sync || (m->job->sync && store_mutant(s) != MUTANT_FLUSH_WITHOUT_SYNC);
	}
	return w;
}

void later_begin(struct store *s, const struct run *r, struct engine_group *g)
{
	struct wishes w = wishes_of(s, r);
	if (w.writes && !w.strict && !w.sync)
		s->engine->ops->group_sync_later(g);
}

/* The thread need not be told each time: it looks how much there is when it syncs. */
static void note_unsynced(struct store *s)
{
	if (atomic_load(&s->unsynced) || atomic_exchange(&s->unsynced, true))
		return;
	pthread_mutex_lock(&s->sync_lock);
	pthread_cond_signal(&s->sync_wake);
	pthread_mutex_unlock(&s->sync_lock);
}

enum outcome later_end(struct store *s, const struct run *r, enum outcome o)
{
	struct wishes w = wishes_of(s, r);
	if (o != OUTCOME_DONE)
		return o;
	if (w.writes && !w.strict && !w.sync)
		note_unsynced(s);
	else if (!w.writes && w.sync && s->engine->ops->sync(s->engine) != ERR_OK)
		return OUTCOME_FAILED;
	return o;
}

/* ---- the thread ---- */

/* Under the lock, until there is something to sync. False: the end. */
static bool wait_for_unsynced(struct store *s)
{
	while (!atomic_load(&s->unsynced) && !atomic_load(&s->closing))
		pthread_cond_wait(&s->sync_wake, &s->sync_lock);
	return !atomic_load(&s->closing);
}

static void let_it_grow(struct store *s)
{
	uint64_t until_ns = base_monotonic_ns() + LIMIT_UNSYNCED_MS * UINT64_C(1000000);
	struct timespec until = { (time_t)(until_ns / 1000000000), (long)(until_ns % 1000000000) };
	while (!atomic_load(&s->closing))
		if (pthread_cond_timedwait(&s->sync_wake, &s->sync_lock, &until) == ETIMEDOUT)
			break;
}

static void *syncer_main(void *arg)
{
	struct store *s = arg;
	pthread_setname_np(pthread_self(), "syncer");
	pthread_mutex_lock(&s->sync_lock);
	while (wait_for_unsynced(s) && !atomic_load(&s->stopped)) {
		let_it_grow(s);
		atomic_store(&s->unsynced, false); /* before the sync: what comes during it may not be in it */
		pthread_mutex_unlock(&s->sync_lock);
		if (s->engine->ops->sync(s->engine) != ERR_OK)
			store_stop(s);
		pthread_mutex_lock(&s->sync_lock);
	}
	pthread_mutex_unlock(&s->sync_lock);
	return NULL;
}

bool later_start(struct store *s)
{
	if (!s->sync_later)
		return true;
	s->syncer_runs = pthread_create(&s->syncer, NULL, syncer_main, s) == 0;
	return s->syncer_runs;
}

void later_close(struct store *s)
{
	if (!s->syncer_runs)
		return;
	pthread_mutex_lock(&s->sync_lock);
	pthread_cond_signal(&s->sync_wake);
	pthread_mutex_unlock(&s->sync_lock);
	pthread_join(s->syncer, NULL);
	s->syncer_runs = false;
	if (!atomic_load(&s->stopped) && s->engine->ops->sync(s->engine) != ERR_OK)
		store_stop(s);
}
