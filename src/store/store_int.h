/* SPDX-License-Identifier: Apache-2.0
 * The inside of the store, for the files of this room only. */
#ifndef STORE_STORE_INT_H
#define STORE_STORE_INT_H

#include "base/limits.h"
#include "store/cache.h"
#include "store/key.h"
#include "store/mutant.h"
#include "store/record.h"
#include "store/store.h"

#include <pthread.h>
#include <stdatomic.h>

enum txn_mode {
	TXN_SNAPSHOT, /* reads one snapshot, taken at the first read; puts are thrown away */
	TXN_NEWEST,   /* reads the newest state, each read for itself; puts are thrown away */
	TXN_POINTS,   /* gets through the cache; puts are thrown away */
	TXN_GROUP,    /* reads the committer's group */
};

struct txn {
	struct store *store;
	struct slice partition;
	struct arena *arena;
	uint64_t now_ticks;
	enum txn_mode mode;
	struct engine_snapshot *snapshot;
	struct engine_group *group;
	enum err failed; /* a put that did not fit: the transaction cannot commit, whatever apply returns */
	struct write *writes;
	size_t count, cap;
	size_t extent_count; /* of count: published and retired */
	size_t write_bytes;
	uint32_t *
		index; /* open addressing over writes[], once there are more than a few; 0 = empty, else position + 1 */
	size_t index_cap;
};

/* One transaction of the group being built. */
struct member {
	struct store_job *job;
	struct write *writes;
	size_t count;
	enum err result;
};

/* Keys a group wrote so far, by hash: what is not in it may be read from the cache by the next apply. */
enum { WRITTEN_SLOTS = 4096, WRITTEN_MAX = 3072 };

struct store {
	struct engine *engine;
	struct clock *clock;
	struct cache *cache; /* NULL: off */
	unsigned mutant;
	bool manual;

	/* queue: producers push on top, the committer takes all and turns them round */
	_Atomic(struct store_job *) pushed;
	atomic_uint idle; /* futex: 1 while the committer sleeps */
	atomic_size_t queued_count;
	atomic_bool closing;
	pthread_t committer;
	pthread_t reclaimer;
	bool committer_runs, reclaimer_runs;

	/* the committer's own */
	struct store_job *pending_first, *pending_last; /* taken, in order, not yet in a group */
	struct member members[LIMIT_GROUP_TXNS];
	size_t member_count;
	size_t alone_count; /* so many pending jobs run in groups of one: their group did not happen */
	uint64_t *written;  /* WRITTEN_SLOTS hashes, 0 = free */
	size_t written_count;
	uint64_t instance, commit_counter; /* together the id of a commit, on engines that may answer UNKNOWN */

	atomic_uint_fast64_t last_ticks; /* the newest txn_now given to a write */
	atomic_bool stopped;
	void (*failed)(void *);
	void *failed_arg;
	bool failure_told;

	pthread_mutex_t reclaim_lock;
	pthread_cond_t reclaim_wake;
	bool reclaim_wanted;

	atomic_uint_fast64_t groups, txns, applies, conflicts, unknowns;
};

static inline unsigned store_mutant(const struct store *s)
{
#ifdef ZAFFRE_NO_MUTANTS
	return (void)s, 0u;
#else
	return s->mutant;
#endif
}

/* txn.c */
void txn_init(struct txn *, struct store *, enum txn_mode, struct slice partition, struct arena *, uint64_t now_ticks);
void txn_fini(struct txn *); /* drops the snapshot; the write set lives in the arena */

/* committer.c */
void *committer_main(void *store);
void committer_close(struct store *);
size_t committer_step(struct store *);
/* Gives this store its number, on engines that may answer UNKNOWN. */
enum err committer_prepare(struct store *) MUST_CHECK;
bool committer_may_use_cache(const struct store *, uint64_t hash);

/* store.c */
void store_reclaim_soon(struct store *);

/* stamp.c: the row that says which commits a partition has seen (engines that may answer UNKNOWN). */
enum { STAMP_INSTANCES = 16 };
struct stamp {
	uint64_t now_ticks; /* of the newest commit */
	size_t count;
	struct {
		uint64_t instance, counter;
	} entry[STAMP_INSTANCES]; /* newest first */
};
enum stamp_answer { STAMP_SAW, STAMP_SAW_NOT, STAMP_CANNOT_SAY };
enum err stamp_read(struct engine_group *, const struct engine_ops *, struct slice partition, struct arena *,
		    struct stamp *ret) MUST_CHECK; /* no row: an empty stamp */
void stamp_set(struct stamp *, uint64_t instance, uint64_t counter, uint64_t now_ticks);
enum stamp_answer stamp_ask(const struct stamp *, uint64_t instance, uint64_t counter);
/* The write that stores it; its bytes lie in the arena. */
enum err stamp_write(const struct stamp *, struct slice partition, struct arena *, struct write *ret) MUST_CHECK;

#endif
