/* SPDX-License-Identifier: Apache-2.0
 * Opening and closing a store, reads in the caller's thread, and the thread that reclaims retired extents. */
#include "base/sys/log.h"
#include "base/sys/rng.h"
#include "store/store_int.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <time.h>

enum {
	CACHE_DEFAULT_BYTES = 40 * 1024 * 1024,
	RECLAIM_PAUSE_MS = 200, /* between rounds while pins hold retired extents back */
	RECLAIM_GATHER_MS = 20, /* from round to round at least: each is a commit of its own, a write and a sync */
	READS_AT_A_TIME = 64,	/* told to the committer */
};

/* The time of a read: not before the last commit that it may see. */
static enum err read_begin(struct txn *t)
{
	struct store *s = t->store;
	uint64_t last = atomic_load_explicit(&s->last_ticks, memory_order_relaxed);
	if (store_is_shared(s))
		TRY(txn_stamp_time(t, &last));
	t->now_ticks = clock_now(s->clock);
	if (t->now_ticks < last)
		t->now_ticks = last;
	return ERR_OK;
}

/* ---- reclaim ---- */

static struct timespec time_of(uint64_t ns)
{
	return (struct timespec){ (time_t)(ns / 1000000000), (long)(ns % 1000000000) };
}

/* Under the lock. */
static void reclaim_gather(struct store *s, uint64_t last_ns)
{
	struct timespec until = time_of(last_ns + RECLAIM_GATHER_MS * UINT64_C(1000000));
	while (!s->reclaim_hurried && !atomic_load(&s->closing))
		if (pthread_cond_timedwait(&s->reclaim_wake, &s->reclaim_lock, &until) == ETIMEDOUT)
			break;
}

/* `last_ns`: when the last round ended. */
static bool reclaim_wait(struct store *s, bool waiting, uint64_t last_ns)
{
	bool closing;
	pthread_mutex_lock(&s->reclaim_lock);
	while (!s->reclaim_wanted && !atomic_load(&s->closing)) {
		if (!waiting) {
			pthread_cond_wait(&s->reclaim_wake, &s->reclaim_lock);
			continue;
		}
		struct timespec until = time_of(base_monotonic_ns() + RECLAIM_PAUSE_MS * UINT64_C(1000000));
		if (pthread_cond_timedwait(&s->reclaim_wake, &s->reclaim_lock, &until) == ETIMEDOUT)
			break;
	}
	reclaim_gather(s, last_ns);
	s->reclaim_wanted = s->reclaim_hurried = false;
	closing = atomic_load(&s->closing);
	pthread_mutex_unlock(&s->reclaim_lock);
	return !closing;
}

/* Once, until it works again. What is deleted meanwhile keeps its space, and nobody else would say so. */
static void reclaim_tell(enum err err, bool *failing)
{
	bool fails = err != ERR_OK && err != ERR_STOPPED && err != ERR_NO_SPACE;
	if (fails && !*failing)
		log_warn("giving back the space of what was deleted failed (%s); it is tried again. Check the disk, "
			 "and with the server stopped run `zaffre scrub`.",
			 err_name(err));
	*failing = fails;
}

static void *reclaim_main(void *arg)
{
	struct store *s = arg;
	bool failing = false;
	struct engine_stats stats = { 0 };
	uint64_t last_ns = 0;
	pthread_setname_np(pthread_self(), "reclaim");
	s->engine->ops->stats(s->engine, &stats);
	while (reclaim_wait(s, stats.retired_waiting > 0, last_ns)) {
		bool more = true;
		enum err err = ERR_OK;
		while (more && err == ERR_OK && !atomic_load(&s->closing) && !atomic_load(&s->stopped))
			err = s->engine->ops->reclaim(s->engine, &more);
		/* No commit need come that would find out: large bodies are refused before theirs. */
		if (err == ERR_STOPPED)
			store_stop(s);
		reclaim_tell(err, &failing);
		s->engine->ops->stats(s->engine, &stats);
		last_ns = base_monotonic_ns();
	}
	return NULL;
}

void store_reclaim_soon(struct store *s)
{
	pthread_mutex_lock(&s->reclaim_lock);
	if (!s->reclaim_wanted) {
		s->reclaim_wanted = true;
		pthread_cond_signal(&s->reclaim_wake);
	}
	pthread_mutex_unlock(&s->reclaim_lock);
}

void store_reclaim_now(struct store *s)
{
	pthread_mutex_lock(&s->reclaim_lock);
	s->reclaim_wanted = s->reclaim_hurried = true;
	pthread_cond_signal(&s->reclaim_wake);
	pthread_mutex_unlock(&s->reclaim_lock);
}

/* ---- life ---- */

static void store_free(struct store *s)
{
	cache_free(s->cache);
	volatile_free(s->volatiles);
	meters_free(s);
	for (int i = 0; i < 2; i++)
		free(s->run[i].written);
	pthread_cond_destroy(&s->reclaim_wake);
	pthread_mutex_destroy(&s->reclaim_lock);
	pthread_cond_destroy(&s->sync_wake);
	pthread_mutex_destroy(&s->sync_lock);
	pthread_mutex_destroy(&s->build_lock);
	s->engine->ops->close(s->engine);
	free(s);
}

static enum err start_threads(struct store *s)
{
	if (s->manual)
		return ERR_OK;
	s->reclaimer_runs =
		committer_start(s) && later_start(s) && pthread_create(&s->reclaimer, NULL, reclaim_main, s) == 0;
	return s->reclaimer_runs ? ERR_OK : ERR_NO_MEMORY;
}

enum err store_open(struct engine *engine, const struct store_options *options, struct store **ret)
{
	assert(options->clock);
	assert(engine->ops->inline_bytes && engine->ops->inline_bytes <= PAYLOAD_INLINE_BYTES);
	assert(engine->ops->shards == 1); /* nobody merges several yet */
	struct store *s = calloc(1, sizeof *s);
	if (!s) {
		engine->ops->close(engine);
		return ERR_NO_MEMORY;
	}
	s->engine = engine;
	s->clock = options->clock;
	s->mutant = options->mutant;
	s->manual = options->manual;
	s->sync_later = options->sync_later && engine->ops->group_sync_later;
	struct rng rng;
	rng_init_system(&rng);
	s->hash_seed = options->manual ? 1 : rng_u64(&rng);
	s->reclaim_wanted = true; /* what the run before left half written is nobody's */
	pthread_mutex_init(&s->reclaim_lock, NULL);
	pthread_mutex_init(&s->build_lock, NULL);
	pthread_mutex_init(&s->sync_lock, NULL);
	s->building = &s->run[0];
	for (int i = 0; i < 2; i++)
		atomic_init(&s->run[i].ended, true);
	pthread_condattr_t attr;
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&s->reclaim_wake, &attr);
	pthread_cond_init(&s->sync_wake, &attr);
	pthread_condattr_destroy(&attr);

	s->volatiles = volatile_new();
	enum err err = s->volatiles ? ERR_OK : ERR_NO_MEMORY;
	/* Where others write too, a cache of ours would lag behind them. */
	if (!options->cache_off && (options->cache_bytes || !engine->ops->may_be_unknown)) {
		s->cache = cache_new(options->cache_bytes ? options->cache_bytes : CACHE_DEFAULT_BYTES);
		for (int i = 0; i < 2; i++)
			s->run[i].written = calloc(WRITTEN_SLOTS, sizeof *s->run[i].written);
		if (!s->cache || !s->run[0].written || !s->run[1].written)
			err = ERR_NO_MEMORY;
	}
	if (err == ERR_OK)
		err = committer_prepare(s);
	s->session = store_is_shared(s) ? s->instance : options->manual ? 1 : rng_u64(&rng) | 1;
	if (err == ERR_OK)
		err = start_threads(s);
	if (err != ERR_OK) {
		store_close(s);
		return err;
	}
	*ret = s;
	return ERR_OK;
}

void store_close(struct store *s)
{
	if (!s)
		return;
	committer_close(s);
	while (s->manual &&
	       (committer_step(s) || pending_next(&s->pending))) /* a group that runs again answers nobody */
		;
	if (s->reclaimer_runs) {
		pthread_mutex_lock(&s->reclaim_lock);
		pthread_cond_signal(&s->reclaim_wake);
		pthread_mutex_unlock(&s->reclaim_lock);
		if (s->engine->ops->reclaim_hurry)
			s->engine->ops->reclaim_hurry(s->engine);
		pthread_join(s->reclaimer, NULL);
	}
	later_close(s);
	store_free(s);
}

uint64_t store_session(const struct store *s)
{
	return s->session;
}

bool store_is_shared(const struct store *s)
{
	return s->engine->ops->may_be_unknown;
}

size_t store_inline_bytes(const struct store *s)
{
	return s->engine->ops->inline_bytes;
}

struct engine *store_engine(struct store *s)
{
	return s->engine;
}

struct clock *store_clock(struct store *s)
{
	return s->clock;
}

/* Whoever comes second of the one that stops and the one that wants to know. */
static void failure_tell(struct store *s)
{
	void (*failed)(void *) = atomic_load(&s->failed);
	if (failed && atomic_load(&s->stopped) && !atomic_exchange(&s->failure_told, true))
		failed(s->failed_arg);
}

void store_stop(struct store *s)
{
	atomic_store(&s->stopped, true);
	failure_tell(s);
}

void store_on_failure(struct store *s, void (*failed)(void *), void *arg)
{
	s->failed_arg = arg;
	atomic_store(&s->failed, failed);
	failure_tell(s);
}

void store_on_answers(struct store *s, void (*begin)(void), void (*end)(void))
{
	s->answers_begin = begin;
	s->answers_end = end;
}

size_t store_step(struct store *s)
{
	assert(s->manual);
	return committer_step(s);
}

/* ---- reads ---- */

/* How many read, roughly: threads that read do not share a line of memory for it at every read. */
static void count_read(struct store *s)
{
	static _Thread_local unsigned reads;
	if (++reads % READS_AT_A_TIME == 0)
		atomic_fetch_add_explicit(&s->reads, READS_AT_A_TIME, memory_order_relaxed);
}

/* deadline_ns: 0 = none (store_read_until). */
static enum err read_in(struct store *s, enum txn_mode mode, struct slice partition, apply_fn *apply, void *call,
			struct arena *arena, uint64_t deadline_ns)
{
	count_read(s);
	for (unsigned attempt = 0; attempt < LIMIT_APPLY_RETRIES; attempt++) {
		struct txn t;
		txn_init(&t, s, mode, partition, arena, 0);
		t.deadline_ns = deadline_ns;
		enum err err = read_begin(&t);
		if (err == ERR_OK)
			err = apply(&t, call);
		txn_fini(&t);
		if (!t.stale)
			return err;
	}
	return ERR_BUSY;
}

enum err store_read(struct store *s, struct slice partition, apply_fn *apply, void *call, struct arena *arena)
{
	return read_in(s, TXN_SNAPSHOT, partition, apply, call, arena, 0);
}

enum err store_read_until(struct store *s, struct slice partition, apply_fn *apply, void *call, struct arena *arena,
			  uint64_t deadline_ns)
{
	return read_in(s, TXN_SNAPSHOT, partition, apply, call, arena, deadline_ns);
}

enum err store_look(struct store *s, struct slice partition, apply_fn *apply, void *call, struct arena *arena)
{
	return read_in(s, TXN_NEWEST, partition, apply, call, arena, 0);
}

enum err store_read_points(struct store *s, struct slice partition, apply_fn *apply, void *call, struct arena *arena)
{
	return read_in(s, TXN_POINTS, partition, apply, call, arena, 0);
}

enum err store_read_points_until(struct store *s, struct slice partition, apply_fn *apply, void *call,
				 struct arena *arena, uint64_t deadline_ns)
{
	return read_in(s, TXN_POINTS, partition, apply, call, arena, deadline_ns);
}

enum err store_get(struct store *s, struct slice partition, struct slice key, struct arena *arena, struct slice *ret)
{
	struct slice record;
	if (!s->cache) {
		TRY(s->engine->ops->get(s->engine, NULL, partition, key, arena, &record));
		return record_unwrap(partition, key, record, ret);
	}
	uint64_t hash = store_hash(s, partition, key);
	enum err err;
	uint64_t ticket;
	if (cache_find(s->cache, hash, partition, key, arena, ret, &err, &ticket))
		return err;
	err = s->engine->ops->get(s->engine, NULL, partition, key, arena, &record);
	struct slice payload = SLICE_NONE;
	if (err == ERR_OK)
		err = record_unwrap(partition, key, record, &payload);
	if (err == ERR_OK || err == ERR_NOT_FOUND)
		cache_fill(s->cache, hash, partition, key, payload, ticket);
	if (err == ERR_OK)
		*ret = payload;
	return err;
}

/* ---- whole partitions ---- */

enum err store_drop_partition(struct store *s, struct slice partition)
{
	meter_dropped(s, partition);
	return s->engine->ops->drop_partition(s->engine, partition);
}

enum err store_list_partitions(struct store *s, struct slice from, size_t limit, struct arena *arena,
			       struct slice **ret, size_t *ret_count)
{
	const struct engine_ops *ops = s->engine->ops;
	return ops->list_partitions ? ops->list_partitions(s->engine, from, limit, arena, ret, ret_count)
				    : ERR_NOT_FOUND;
}

uint64_t store_txns(const struct store *s)
{
	return atomic_load_explicit(&s->txns, memory_order_relaxed);
}

void store_stats(struct store *s, struct store_stats *ret)
{
	*ret = (struct store_stats){ .groups = s->groups,
				     .txns = s->txns,
				     .applies = s->applies,
				     .conflicts = s->conflicts,
				     .unknowns = s->unknowns,
				     .queued = atomic_load(&s->queued_count) };
	size_t bytes;
	if (s->cache)
		cache_stats(s->cache, &ret->cache_hits, &ret->cache_misses, &bytes);
	s->engine->ops->stats(s->engine, &ret->engine);
}
