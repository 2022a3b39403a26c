/* SPDX-License-Identifier: Apache-2.0
 * The locator's thread: brings the set up to date when flushes pause, and sleeps when nothing changes. */
#include "engine/rocks/locator/locator_int.h"

#include "base/sys/clock.h"
#include "base/sys/thread.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#define NS_PER_SECOND	  UINT64_C(1000000000)
#define PAUSE_NS	  (NS_PER_SECOND / 2) /* without a flush, before the tables are listed */
#define PAUSE_PER_LISTING 16 /* and so many times what that takes: the list of very many tables is long */

void locator_look(struct locator *l)
{
	pthread_mutex_lock(&l->lock);
	l->look = true;
	pthread_cond_signal(&l->wake);
	pthread_mutex_unlock(&l->lock);
}

static bool nothing_runs(const struct locator *l)
{
	static const char *const what[] = { "rocksdb.num-running-compactions", "rocksdb.num-running-flushes",
					    "rocksdb.compaction-pending" };
	uint64_t n;
	for (int i = 0; i < LOCATED_FAMILIES; i++)
		for (size_t k = 0; k < sizeof what / sizeof what[0]; k++)
			if (rocksdb_property_int_cf(l->options.db, l->options.family[i], what[k], &n) != 0 || n)
				return false;
	return true;
}

/* Compactions go on for a while after a flush. */
static bool at_rest(struct locator *l)
{
	const struct table_set *s = locator_current(l);
	return s && s->version == locator_tables_version(l) && s->page == atomic_load(&l->flushed) && nothing_runs(l);
}

static void wait_ns(struct locator *l, uint64_t ns)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	ns += (uint64_t)t.tv_nsec;
	t.tv_sec += (time_t)(ns / NS_PER_SECOND);
	t.tv_nsec = (long)(ns % NS_PER_SECOND);
	while (!l->stop && pthread_cond_timedwait(&l->wake, &l->lock, &t) != ETIMEDOUT)
		;
}

static bool paused(struct locator *l)
{
	return !atomic_load(&l->stop) && base_monotonic_ns() - atomic_load(&l->flushed_ns) >= PAUSE_NS;
}

/* False: again, after a pause. */
static bool bring_up_to_date(struct locator *l)
{
	bool all = false;
	locator_free_disposed(l);
	while (!all && paused(l))
		all = locator_refresh(l);
	if (!all)
		locator_let_go(l);
	return all && at_rest(l);
}

static void *locator_main(void *arg)
{
	struct locator *l = arg;
	pthread_setname_np(pthread_self(), "locator");
	thread_lower_priority(THREAD_TIDIES);
	pthread_mutex_lock(&l->lock);
	while (!l->stop) {
		if (!l->look) {
			pthread_cond_wait(&l->wake, &l->lock);
			continue;
		}
		l->look = false;
		pthread_mutex_unlock(&l->lock);
		bool done = bring_up_to_date(l);
		pthread_mutex_lock(&l->lock);
		if (!done) {
			wait_ns(l, PAUSE_NS + PAUSE_PER_LISTING * l->listing_ns);
			l->look = true;
		}
	}
	pthread_mutex_unlock(&l->lock);
	return NULL;
}

bool locator_start(struct locator *l)
{
	const rocksdb_livefiles_t *files = rocksdb_livefiles(l->options.db);
	for (int i = 0; i < rocksdb_livefiles_count(files); i++) {
		uint64_t number = locator_table_number(rocksdb_livefiles_name(files, i));
		l->first_own = number >= l->first_own ? number + 1 : l->first_own;
	}
	rocksdb_livefiles_destroy(files);
	l->look = true;
	l->runs = !l->options.idle && pthread_create(&l->thread, NULL, locator_main, l) == 0;
	return l->runs || l->options.idle;
}

void locator_stop(struct locator *l)
{
	pthread_mutex_lock(&l->lock);
	l->stop = true;
	pthread_cond_signal(&l->wake);
	pthread_mutex_unlock(&l->lock);
	if (l->runs)
		pthread_join(l->thread, NULL);
	locator_forget_set(l);
	locator_free_disposed(l);
}
