/* SPDX-License-Identifier: Apache-2.0
 * The inside of the store, for the files of this room only. */
#ifndef STORE_STORE_INT_H
#define STORE_STORE_INT_H

#include "base/hash.h"
#include "base/limits.h"
#include "base/sys/thread.h"
#include "store/cache.h"
#include "store/commit/pending.h"
#include "store/commit/relay.h"
#include "store/commit/touched.h"
#include "store/key.h"
#include "store/mutant.h"
#include "store/record.h"
#include "store/store.h"
#include "store/volatile.h"

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
	uint64_t unique; /* see txn_unique; 0: the time serves */
	enum txn_mode mode;
	struct engine_snapshot *snapshot;
	struct engine_group *group;
	uint64_t deadline_ns; /* monotonic; reads fail with ERR_BUDGET past it; 0 = none */
	size_t reads;	      /* since the deadline was looked at */
	/* As of the first scan: time that other threads had the core is not the read's (past_deadline). */
	bool usage_known;
	uint64_t budget_ns;
	struct thread_usage usage;
	enum err failed; /* a put that did not fit: the transaction cannot commit, whatever apply returns */
	struct write *writes;
	size_t count, cap;
	size_t extent_count; /* of count: published and retired */
	size_t write_bytes;
	uint32_t *
		index; /* open addressing over writes[], once there are more than a few; 0 = empty, else position + 1 */
	size_t index_cap;
	struct volatile_write *volatiles; /* each key once */
	size_t volatile_count, volatile_cap;
	uint64_t volatile_since; /* snapshots: publications seen before it was taken */
	bool stale;		 /* volatile rows changed after the snapshot: start over */
	bool saw_group;		 /* groups: a durable row it read is, or may be, of a group under way */
};

/* One transaction of the group being built. */
struct member {
	struct store_job *job;
	struct write *writes;
	size_t count;
	struct volatile_write *volatiles;
	size_t volatile_count;
	bool saw_group;
	enum err result;
};

static inline bool write_has_key(const struct write *w)
{
	return w->kind == WRITE_PUT || w->kind == WRITE_DEL;
}

#define STORE_CLOCK_KEY SLICE("clock")
#define STORE_OPENS_KEY SLICE("opens")
enum { JOB_REFUSED = ~0u, STORE_SCRATCH_BYTES = 64 * 1024 };

/* stamp.c: the row that says which commits a partition has seen (engines that may answer UNKNOWN). */
enum { STAMP_INSTANCES = 16 };
struct stamp {
	uint64_t now_ticks; /* of the newest commit */
	size_t count;
	struct {
		uint64_t instance, counter;
	} entry[STAMP_INSTANCES]; /* newest first */
};

/* Keys a group wrote so far, by hash: what is not in it may be read from the cache by the next apply. */
enum { WRITTEN_SLOTS = 4096, WRITTEN_MAX = 3072 };

/* A group under way: built by the committer, then committed. */
struct run {
	struct engine_group *group; /* NULL: not begun, or given to the engine */
	struct slice partition;	    /* of the first job; where outcomes can be unknown, of all */
	bool alone;		    /* holds one job: the group it was in did not happen */
	struct member members[LIMIT_GROUP_TXNS];
	size_t member_count, bytes;
	uint64_t spent;	    /* what its applies cost: time, or their number where steps must be the same each time */
	unsigned spender;   /* the line of the job with which that became much */
	bool others_served; /* a job of another line was taken since */
	uint64_t *written;  /* WRITTEN_SLOTS hashes, 0 = free */
	uint16_t written_at[WRITTEN_MAX]; /* the slots that are not */
	size_t written_count;
	struct touched touched; /* by its members */
	atomic_bool ended;	/* it is settled: what was written is there for all to see, or gone */
	char clock_record[8 + RECORD_OVERHEAD_BYTES];
	/* engines that may answer UNKNOWN */
	struct arena scratch;
	struct stamp stamp;
	uint64_t counter;
	uint64_t last_ticks; /* the newest time of the partition: the stamp's, then that of the last apply */
};

struct meters;

struct store {
	struct engine *engine;
	struct clock *clock;
	struct cache *cache; /* NULL: off */
	struct volatile_map *volatiles;
	_Atomic(struct meters *) meters; /* meter.c; NULL: nobody asked for it */
	unsigned mutant;
	bool manual;
	uint64_t hash_seed; /* who chooses names cannot choose where they fall; one and the same where steps are */

	/* queue: producers push on top, the committer takes all and turns them round */
	_Atomic(struct store_job *) pushed;
	atomic_uint idle, ahead_idle; /* futexes: not 0 while the committer, and the second thread, sleep */
	atomic_size_t queued_count;
	atomic_uint pushes; /* ever; see JOBS_PER_WAKE */
	atomic_bool closing;
	struct relay committer;
	pthread_t reclaimer;
	bool reclaimer_runs;

	/* Whoever builds: the committer, the second thread, or a front end's (committer.c). */
	pthread_mutex_t build_lock;
	bool overlap;			   /* the next group may be built while one is written */
	atomic_bool under_way;		   /* a group is written; changed under the lock */
	struct pending pending;		   /* taken, not yet in a group */
	size_t alone_count;		   /* so many of those that run again do so in groups of one */
	struct run run[2];		   /* one is built while the other is written */
	struct run *building;		   /* of the two, the one that takes jobs */
	struct touched touching;	   /* volatile rows, by the transaction that is applied */
	struct store_job *here;		   /* of store_write_here, until it is done */
	enum err here_result;		   /* then */
	uint64_t instance, commit_counter; /* together the id of a commit, on engines that may answer UNKNOWN */
	uint64_t unique_counter;	   /* with the instance: txn_unique */
	uint64_t pace_looked_ms, pace_reads;
	struct relay builder; /* the second thread */

	/* later.c: groups that are synced later than they are answered; if there may be any */
	bool sync_later;
	atomic_bool unsynced; /* there are, and its thread knows */
	pthread_mutex_t sync_lock;
	pthread_cond_t sync_wake;
	pthread_t syncer;
	bool syncer_runs;

	uint64_t session;
	atomic_uint_fast64_t last_ticks; /* the newest txn_now given to a write; where others write, of no partition in
					  * particular and not used */
	atomic_bool stopped, failure_told;
	void (*_Atomic failed)(void *);
	void *failed_arg;
	void (*answers_begin)(void), (*answers_end)(void);

	pthread_mutex_t reclaim_lock;
	pthread_cond_t reclaim_wake;
	bool reclaim_wanted, reclaim_hurried; /* there is something; and space is short */

	atomic_uint pace; /* enum relay_kind: how committer and writer go */
	atomic_uint_fast64_t reads, groups, txns, applies, conflicts, unknowns;
};

static inline unsigned store_mutant(const struct store *s)
{
#ifdef ZAFFRE_NO_MUTANTS
	return (void)s, 0u;
#else
	return s->mutant;
#endif
}

/* Of a key, for the tables in memory: the cache, what a group or a transaction wrote. Never 0. */
static inline uint64_t store_hash(const struct store *s, struct slice partition, struct slice key)
{
	uint64_t h = base_hash_bytes(base_hash_bytes(s->hash_seed, partition), key);
	return h ? h : 1;
}

/* txn.c */
void txn_init(struct txn *, struct store *, enum txn_mode, struct slice partition, struct arena *, uint64_t now_ticks);
/* Where others write: the time of the last commit to the partition, as this transaction sees it; 0: none. */
enum err txn_stamp_time(struct txn *, uint64_t *ret) MUST_CHECK;
void txn_fini(struct txn *); /* drops the snapshot; the write set lives in the arena */

/* What the key had before this transaction; of the group. */
enum err txn_before_get(struct txn *, struct slice key, struct slice *ret) MUST_CHECK;
enum err txn_before_scan(struct txn *, const struct scan_spec *, struct rows *ret) MUST_CHECK;

/* meter.c */
struct meters;
/* Behind an apply that passed: counts what it wrote, and says if that is too much. */
enum err meter_apply(struct txn *) MUST_CHECK;
void meter_dropped(struct store *, struct slice partition);
void meters_free(struct store *);

/* txn_volatile.c: keys that begin with KEY_TAG_VOLATILE. */
bool txn_is_volatile_key(struct slice key);
enum err txn_get_volatile(struct txn *, struct slice key, struct slice *ret) MUST_CHECK;
enum err txn_scan_volatile(struct txn *, const struct scan_spec *, struct rows *ret) MUST_CHECK;

/* committer.c */
bool committer_start(struct store *); /* its threads */
void committer_close(struct store *);
size_t committer_step(struct store *);
bool committer_may_use_cache(const struct store *, uint64_t hash);

/* commit.c */
uint64_t commit_next_ticks(struct store *, struct run *, uint64_t ticks);
uint64_t commit_next_unique(struct store *);
void store_answer(struct store *, struct store_job *, enum err result);
enum err commit_begin(struct store *, struct run *) MUST_CHECK;
void commit_close(struct store *, struct run *); /* nothing more is added */
/* Gives the group to the engine, in any thread. The other functions need the lock, but for commit_settle of DONE. */
enum outcome commit_run(struct store *, struct run *) MUST_CHECK;
void commit_settle_volatiles(struct store *, struct run *, bool happened); /* its volatile rows count, or never did */
void commit_settle(struct store *, struct run *, enum outcome);
void commit_answer(struct store *, struct run *);    /* with their results */
void commit_push_back(struct store *, struct run *); /* its jobs are the first that are pending */

/* later.c */
bool later_start(struct store *); /* its thread */
void later_close(struct store *); /* all is synced; the committer has ended */
/* Around the commit of a group, where groups may be synced later: says so to the engine, or asks for the sync that a
 * member wants. */
void later_begin(struct store *, const struct run *, struct engine_group *);
enum outcome later_end(struct store *, const struct run *, enum outcome) MUST_CHECK;

/* instance.c: the time of the last commit; this store's number, on engines that may answer UNKNOWN. */
enum err committer_prepare(struct store *) MUST_CHECK;

/* store.c */
void store_reclaim_soon(struct store *);
void store_reclaim_now(struct store *); /* somebody waits for the space */
void store_stop(struct store *);	/* nothing is acknowledged any more; any thread */

enum stamp_answer { STAMP_SAW, STAMP_SAW_NOT, STAMP_CANNOT_SAY };
enum err stamp_read(struct engine_group *, const struct engine_ops *, struct slice partition, struct arena *,
		    struct stamp *ret) MUST_CHECK; /* no row: an empty stamp */
enum err stamp_decode(struct slice partition, struct slice record, struct stamp *ret) MUST_CHECK;
void stamp_set(struct stamp *, uint64_t instance, uint64_t counter, uint64_t now_ticks);
enum stamp_answer stamp_ask(const struct stamp *, uint64_t instance, uint64_t counter);
/* The write that stores it; its bytes lie in the arena. */
enum err stamp_write(const struct stamp *, struct slice partition, struct arena *, struct write *ret) MUST_CHECK;

#endif
