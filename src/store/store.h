/* SPDX-License-Identifier: Apache-2.0
 * The store: transactions over partitions. Services see this header, key.h and extent.h, and nothing below.
 *
 * An apply function is straight-line C over one partition: it may get, scan, put and delete, reads time by txn_now, and
 * nothing else; it may run several times (a dry run before the body, a re-run after a conflict), so it must not keep
 * state outside its call that a second run could trip over: reset your outputs at its start. On error nothing it put
 * remains.
 *
 * Records. txn_put wraps each value with a format version and a CRC that covers partition and key too; txn_get and
 * txn_scan verify and unwrap it (ERR_CORRUPT on damage). Services see only their payload.
 *
 * store_read runs apply here and now on one snapshot; puts are accepted and thrown away (that is the dry run).
 * store_write queues; the committer runs apply over the overlay of its group, makes the group durable with one sync and
 * then calls done from a thread of its own: never inside store_write. done must be quick and must not block.
 * store_write_here may decide in the calling thread, if no disk is needed; store_write_alone and store_write_together
 * commit in it.
 *
 * A job may say that it can be answered before it is durable (sync_later, if the store was opened so). It is one like
 * others, and seen by all that comes after it; but a power cut may take it, and then all that came behind it too, as
 * long as none of that was synced. It is durable with the next job that does not say so, with one that asks for it
 * (sync), or after LIMIT_UNSYNCED_MS.
 */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include "base/sys/clock.h"
#include "store/engine.h"

struct store;
struct txn;

enum err txn_get(struct txn *, struct slice key, struct slice *ret_value) MUST_CHECK; /* ERR_NOT_FOUND is a value */
enum err txn_scan(struct txn *, const struct scan_spec *, struct rows *ret_rows) MUST_CHECK;
enum err txn_put(struct txn *, struct slice key, struct slice value) MUST_CHECK; /* copies both */
enum err txn_del(struct txn *, struct slice key) MUST_CHECK;			 /* absent is fine */
/* A row made ahead: key and record as the engine will have it, in the arena of the transaction that made it, most often
 * a read on a worker. Any transaction of the same partition may put it as it is, without a copy: large commits are made
 * outside of the committer so. The arena must outlive that transaction's job. */
struct txn_row {
	struct slice key, record;
};
enum err txn_row_make(struct txn *, struct slice key, struct slice value, struct txn_row *ret) MUST_CHECK;
enum err txn_put_row(struct txn *, const struct txn_row *) MUST_CHECK;
/* For work between reads that takes time itself, in gets (about a microsecond each): ERR_BUDGET as they have it. */
enum err txn_spend(struct txn *, size_t cost) MUST_CHECK;
/* Volatile rows: keys begin with KEY_TAG_VOLATILE, read by txn_get and txn_scan (which begins with the tag) like
 * others, and part of the transaction like others; but they are kept in memory and gone after a restart. A
 * transaction of volatile rows alone costs no sync, and is answered when all that it saw is durable, or may be synced
 * later and is seen by all. In store_read
 * what they allow and what the snapshot shows belong to one moment. */
enum err txn_put_volatile(struct txn *, struct slice key, struct slice value) MUST_CHECK;
enum err txn_del_volatile(struct txn *, struct slice key) MUST_CHECK;
/* No partition has a single one, and on a snapshot none came and went since: saves the look. */
bool txn_volatile_is_empty(const struct txn *);
/* The extent is named by a record put in this transaction, or no longer named by any. */
enum err txn_publish(struct txn *, const struct extent_ref *) MUST_CHECK;
enum err txn_retire(struct txn *, const struct extent_ref *) MUST_CHECK;
/* The store's time for this run, in ticks: never runs backwards, not across restarts either. In store_write every run
 * gets a tick of its own (later than every committed one), so an ETag made of it is never given twice. */
uint64_t txn_now(const struct txn *);
/* A number that no other transaction has that commits to this partition, of whatever front end; the same at each call
 * of one run. It grows from commit to commit of one front end. */
uint64_t txn_unique(const struct txn *);
/* Which opening of a store runs this: see store_session. */
uint64_t txn_session(const struct txn *);
struct arena *txn_arena(const struct txn *);
/* Proofs only: which promise to break (store/mutant.h). */
unsigned txn_mutant(const struct txn *);
/* True in store_read: nothing will be committed. */
bool txn_is_dry(const struct txn *);

typedef enum err apply_fn(struct txn *, void *call);

struct store_options {
	struct clock *clock;
	bool cache_off;	    /* tests */
	size_t cache_bytes; /* hot records; 0 = default (none on engines where others write too) */
	unsigned mutant;    /* proofs only: which promise to break (store/mutant.h), 0 = none */
	bool manual;	    /* simulation: no threads; store_step commits, the caller runs the engine's reclaim */
	bool sync_later;    /* jobs may be synced later than they are answered; else none is. A manual store does that
			     * with the next job only */
};

/* Takes the engine over (store_close closes it; so does a failed open). Starts the committer (and its writer, where
 * groups overlap), and a thread that reclaims retired extents in bounded rounds. */
enum err store_open(struct engine *, const struct store_options *, struct store **ret) MUST_CHECK;
/* Finishes what is queued, then stops; done of everything queued was called. Accepts NULL. */
void store_close(struct store *);
struct engine *store_engine(struct store *);
/* A number of this opening; every other opening, before or beside it, has another. */
uint64_t store_session(const struct store *);
/* Others may write to the same data: what is remembered outside of a transaction may be old. If not, no other session
 * is alive while this store is open. */
bool store_is_shared(const struct store *);
/* Payloads of up to so many bytes lie in their record. */
size_t store_inline_bytes(const struct store *);
struct clock *store_clock(struct store *);

/* On a snapshot, in this thread. Values live in `arena`. */
enum err store_read(struct store *, struct slice partition, apply_fn *, void *call, struct arena *arena) MUST_CHECK;
/* As store_read, but ends with ERR_BUDGET when it reads on past the deadline (base_monotonic_ns; 0: there is none):
 * for threads that others wait for. Apply may have run in part. */
enum err store_read_until(struct store *, struct slice partition, apply_fn *, void *call, struct arena *arena,
			  uint64_t deadline_ns) MUST_CHECK;
/* As store_read for one who looks for work, now and then, and does it in a transaction that checks again: each get and
 * scan sees the newest state for itself. It takes no snapshot: an engine may have to keep every old version while one
 * is there, and one each second would cost more than the work. */
enum err store_look(struct store *, struct slice partition, apply_fn *, void *call, struct arena *arena) MUST_CHECK;
/* As store_read for applies that only txn_get: each get may be answered by the cache of hot records. Every get is
 * linearizable by itself, but two of them need not show the same instant. */
enum err store_read_points(struct store *, struct slice partition, apply_fn *, void *call,
			   struct arena *arena) MUST_CHECK;
/* The same with a deadline, as store_read_until. */
enum err store_read_points_until(struct store *, struct slice partition, apply_fn *, void *call, struct arena *arena,
				 uint64_t deadline_ns) MUST_CHECK;
/* A single record of any partition through the cache. */
enum err store_get(struct store *, struct slice partition, struct slice key, struct arena *,
		   struct slice *ret) MUST_CHECK;

struct store_job {
	struct slice partition; /* all of these outlive the job */
	apply_fn *apply;
	void *call;
	struct arena *arena; /* lent to the committer until done */
	void (*done)(struct store_job *, enum err result);
	void *owner;	 /* for done */
	bool may_wait;	 /* with store_write_here: that thread has nothing else to do, and may commit the job itself */
	bool sync_later; /* may be answered before it is durable, unless it publishes extents */
	bool sync;	 /* whatever was answered before it is durable when it is answered; not with store_write_here */
	/* private to the store */
	struct store_job *next;
	unsigned attempts, line;
	bool soon; /* of store_write_here */
};
void store_write(struct store *, struct store_job *);
/* As store_write, for small jobs that mostly change volatile rows alone, from threads that may read: applied here and
 * now if nobody else is at it and nothing waits. True: it was done with that, *ret_result is its result, and `done` is
 * not called. False: it is queued, and answered as ever. */
bool store_write_here(struct store *, struct store_job *, enum err *ret_result) MUST_CHECK;
/* As store_write, from a thread that has nothing else to do until the job is done: committed here and now if nobody
 * else is at it and nothing waits. `done` may be called before this returns. */
void store_write_alone(struct store *, struct store_job *);
/* As store_write, several jobs at a time, from a thread that has nothing else to do until they are done: each is queued
 * and nobody is told; then, from the same thread and soon, store_write_together commits them here and now if nobody
 * else is at it, else it leaves them to who is. `done` may be called before that returns, or any time before it. */
void store_write_held(struct store *, struct store_job *);
void store_write_together(struct store *);
/* For threads that may block: queues, and waits for the answer. */
enum err store_write_wait(struct store *, struct slice partition, apply_fn *, void *call, struct arena *) MUST_CHECK;
/* Manual stores only: commits one group of what is queued, in this thread; returns how many jobs were answered. */
size_t store_step(struct store *);

/* Removes every row of a partition that nothing leads to any more; extents that its rows name must have been retired
 * before. Blocks; may be repeated. */
enum err store_drop_partition(struct store *, struct slice partition) MUST_CHECK;
/* For scrub and tests: ids of partitions, from `from` (inclusive, may be empty), at most `limit`, in an order that
 * stays the same; go on from key_after(the last one). ERR_NOT_FOUND: this engine cannot list them. */
enum err store_list_partitions(struct store *, struct slice from, size_t limit, struct arena *, struct slice **ret,
			       size_t *ret_count) MUST_CHECK;

/* An apply that does nothing: for a job that only asks for a sync. */
enum err store_apply_nothing(struct txn *, void *call);

/* Called once when the engine failed (a sync returned an error): nothing is acknowledged any more. */
void store_on_failure(struct store *, void (*failed)(void *), void *arg);
/* Called before and after the dones of a group of several jobs, in the thread that calls them. */
void store_on_answers(struct store *, void (*begin)(void), void (*end)(void));

struct store_stats {
	uint64_t groups, txns, applies, conflicts, unknowns, cache_hits, cache_misses;
	uint64_t queued; /* transactions that wait for the committer now */
	struct engine_stats engine;
};
void store_stats(struct store *, struct store_stats *ret);
/* How many transactions were answered so far: tells the background whether others write. */
uint64_t store_txns(const struct store *);

#endif
