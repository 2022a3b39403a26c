/* SPDX-License-Identifier: Apache-2.0
 * What becomes of a group. An apply that failed is answered after the commit as well: its answer may rest on writes of
 * the group.
 *
 *   DONE      answered with their own results
 *   CONFLICT  nothing happened: the jobs run again, as a group, from the third time on each alone; at most
 *             LIMIT_APPLY_RETRIES times
 *   UNKNOWN   the stamp of the partition tells (stamp.c): happened = DONE, did not = as CONFLICT
 *   NO_SPACE  nothing happened: each job runs again, alone (a delete may fit where its neighbour did not), and keeps
 *             that
 *   FAILED    nothing is acknowledged any more: every job from now on gets ERR_STOPPED
 *
 * Where outcomes can be unknown a group holds jobs of one partition only, so that one stamp answers for all of it. */
#include "base/bytes.h"
#include "store/store_int.h"

#include <assert.h>

enum { TOGETHER_ATTEMPTS = 2, UNIQUE_SHIFT = 40 };

static uint64_t next_ticks(uint64_t last, uint64_t ticks)
{
	return ticks > last ? ticks : last + 1;
}

/* Alone, one time for all partitions. Where others write, each partition has its own: a front end whose clock is ahead
 * moves the partitions it writes to, and not, through whoever writes to them as well, all others. */
uint64_t commit_next_ticks(struct store *s, struct run *r, uint64_t ticks)
{
	uint64_t now;
	if (store_is_shared(s) && store_mutant(s) != MUTANT_SHARED_TIME) {
		now = r->last_ticks = next_ticks(r->last_ticks, ticks);
		return now;
	}
	assert(!store_is_shared(s) || store_mutant(s));
	now = next_ticks(atomic_load_explicit(&s->last_ticks, memory_order_relaxed), ticks);
	atomic_store_explicit(&s->last_ticks, now, memory_order_relaxed);
	return now;
}

/* See txn_unique. */
uint64_t commit_next_unique(struct store *s)
{
	return store_is_shared(s) ? s->instance << UNIQUE_SHIFT | ++s->unique_counter : 0;
}

void store_answer(struct store *s, struct store_job *job, enum err result)
{
	size_t queued = atomic_fetch_sub(&s->queued_count, 1);
	assert(queued > 0); /* a job is answered once */
	job->done(job, result);
}

void commit_answer(struct store *s, struct run *r)
{
	bool around = r->member_count > 1 && s->answers_begin;
	if (around)
		s->answers_begin();
	for (size_t i = 0; i < r->member_count; i++)
		store_answer(s, r->members[i].job, r->members[i].result);
	r->member_count = 0;
	if (around)
		s->answers_end();
}

/* ---- the cache while the group is written ---- */

static void flux_begin(struct store *s, const struct run *r)
{
	if (!s->cache || store_mutant(s) == MUTANT_STALE_CACHE)
		return;
	for (size_t k = 0; k < r->member_count; k++) {
		const struct member *m = &r->members[k];
		for (size_t i = 0; i < m->count; i++)
			if (write_has_key(&m->writes[i]))
				cache_flux_begin(s->cache, m->writes[i].hash, m->job->partition, m->writes[i].key);
	}
}

void commit_settle_volatiles(struct store *s, struct run *r, bool happened)
{
	for (size_t i = 0; i < r->member_count; i++) {
		struct member *m = &r->members[i];
		if (m->volatile_count)
			volatile_settle(s->volatiles, m->job->partition, m->volatiles, m->volatile_count, happened);
		m->volatile_count = 0;
	}
}

static void flux_end(struct store *s, struct run *r, bool committed)
{
	commit_settle_volatiles(s, r, committed);
	if (!s->cache || store_mutant(s) == MUTANT_STALE_CACHE)
		return;
	for (size_t k = 0; k < r->member_count; k++) {
		const struct member *m = &r->members[k];
		for (size_t i = 0; i < m->count; i++) {
			const struct write *w = &m->writes[i];
			if (!write_has_key(w))
				continue;
			struct slice value = w->kind == WRITE_PUT ? record_payload(w->value) : SLICE_NONE;
			cache_flux_end(s->cache, w->hash, m->job->partition, w->key, value, committed);
		}
	}
}

/* ---- the commit ---- */

static bool group_writes(const struct run *r)
{
	for (size_t i = 0; i < r->member_count; i++)
		if (r->members[i].count)
			return true;
	return false;
}

static bool group_retires(const struct run *r)
{
	for (size_t i = 0; i < r->member_count; i++)
		for (size_t k = 0; k < r->members[i].count; k++)
			if (r->members[i].writes[k].kind == WRITE_RETIRE)
				return true;
	return false;
}

/* Before the durable writes of the group can be seen: what it puts in the way of others. */
static void show_added_volatiles(struct store *s, const struct run *r)
{
	if (!group_writes(r))
		return;
	for (size_t i = 0; i < r->member_count; i++) {
		const struct member *m = &r->members[i];
		if (m->volatile_count)
			volatile_publish_added(s->volatiles, m->job->partition, m->volatiles, m->volatile_count);
	}
}

/* The time of the last durable group, so that a clock that jumped back cannot give it out again. */
static enum err accept_clock(struct store *s, struct run *r)
{
	uint64_t ticks = atomic_load_explicit(&s->last_ticks, memory_order_relaxed);
	char payload[8];
	bytes_store(payload, ticks, 8);
	record_wrap(KEY_PARTITION_STORE, STORE_CLOCK_KEY, slice_make(payload, sizeof payload), r->clock_record);
	struct write w = { .kind = WRITE_PUT,
			   .key = STORE_CLOCK_KEY,
			   .value = slice_make(r->clock_record, sizeof r->clock_record) };
	return s->engine->ops->group_accept(r->group, KEY_PARTITION_STORE, &w, 1);
}

enum err commit_begin(struct store *s, struct run *r)
{
	const struct engine_ops *ops = s->engine->ops;
	enum err err = ops->group_begin(s->engine, &r->group);
	if (err == ERR_OK && ops->may_be_unknown) {
		arena_init(&r->scratch, STORE_SCRATCH_BYTES);
		err = stamp_read(r->group, ops, r->partition, &r->scratch, &r->stamp);
		r->last_ticks = r->stamp.now_ticks;
		if (store_mutant(s) == MUTANT_SHARED_TIME && r->stamp.now_ticks > atomic_load(&s->last_ticks))
			atomic_store(&s->last_ticks, r->stamp.now_ticks);
		if (err != ERR_OK) {
			ops->group_abort(r->group);
			arena_fini(&r->scratch);
		}
	}
	if (err != ERR_OK)
		r->group = NULL;
	return err;
}

/* What the store itself writes with the group. */
static enum err accept_own(struct store *s, struct run *r)
{
	const struct engine_ops *ops = s->engine->ops;
	struct write w;
	if (!group_writes(r))
		return ERR_OK;
	if (!ops->may_be_unknown)
		return accept_clock(s, r);
	r->counter = ++s->commit_counter;
	stamp_set(&r->stamp, s->instance, r->counter,
		  store_mutant(s) == MUTANT_SHARED_TIME ? atomic_load(&s->last_ticks) : r->last_ticks);
	TRY(stamp_write(&r->stamp, r->partition, &r->scratch, &w));
	return ops->group_accept(r->group, r->partition, &w, 1);
}

static void fail_members(struct run *r, enum err err)
{
	for (size_t i = 0; i < r->member_count; i++) {
		r->members[i].result = err;
		r->members[i].count = 0;
	}
}

void commit_close(struct store *s, struct run *r)
{
	enum err err = accept_own(s, r);
	if (err == ERR_OK)
		return;
	s->engine->ops->group_abort(r->group);
	r->group = NULL;
	commit_settle_volatiles(s, r, false);
	fail_members(r, err);
}

enum outcome commit_run(struct store *s, struct run *r)
{
	enum outcome o = OUTCOME_DONE;
	struct engine_group *g = r->group;
	assert(r->member_count > 0 && r->member_count <= LIMIT_GROUP_TXNS);
	r->group = NULL;
	if (g) {
		show_added_volatiles(s, r);
		flux_begin(s, r);
		if (store_mutant(s) == MUTANT_ACK_BEFORE_SYNC) {
			flux_end(s, r, true);
			commit_answer(s, r);
		}
		if (s->sync_later)
			later_begin(s, r, g);
		o = s->engine->ops->group_commit(g);
		if (s->sync_later)
			o = later_end(s, r, o);
		atomic_fetch_add_explicit(&s->groups, 1, memory_order_relaxed);
	}
	if (s->engine->ops->may_be_unknown)
		arena_fini(&r->scratch);
	return o;
}

/* ---- what became of it ---- */

/* Did commit (instance, counter) happen? Ends with a definite answer or ERR_UNKNOWN. */
static enum err resolve(struct store *s, struct slice partition, uint64_t counter, bool *ret_happened)
{
	const struct engine_ops *ops = s->engine->ops;
	struct arena scratch;
	enum err result = ERR_UNKNOWN;
	arena_init(&scratch, STORE_SCRATCH_BYTES);
	for (unsigned attempt = 0; attempt < LIMIT_APPLY_RETRIES && result == ERR_UNKNOWN; attempt++) {
		struct engine_group *g;
		struct stamp stamp;
		struct write w;
		arena_reset(&scratch);
		if (ops->group_begin(s->engine, &g) != ERR_OK)
			continue;
		if (stamp_read(g, ops, partition, &scratch, &stamp) != ERR_OK) {
			ops->group_abort(g);
			continue;
		}
		enum stamp_answer saw = stamp_ask(&stamp, s->instance, counter);
		if (saw != STAMP_SAW_NOT) {
			ops->group_abort(g);
			*ret_happened = true;
			if (saw == STAMP_CANNOT_SAY)
				break;
			result = ERR_OK;
			continue;
		}
		/* Not there: bump the stamp, so that the lost commit meets a changed guard should it still be on its
		 * way. The bump carries the previous number: it must not look like the commit that is asked about. */
		stamp_set(&stamp, s->instance, counter - 1, stamp.now_ticks + 1);
		if (stamp_write(&stamp, partition, &scratch, &w) != ERR_OK ||
		    ops->group_accept(g, partition, &w, 1) != ERR_OK) {
			ops->group_abort(g);
			continue;
		}
		enum outcome o = ops->group_commit(g);
		if (o == OUTCOME_DONE) {
			*ret_happened = false;
			result = ERR_OK;
		} else if (o == OUTCOME_FAILED) {
			store_stop(s);
			break;
		}
	}
	arena_fini(&scratch);
	return result;
}

void commit_push_back(struct store *s, struct run *r)
{
	for (size_t i = r->member_count; i-- > 0;)
		pending_add_again(&s->pending, r->members[i].job);
	r->member_count = 0;
}

/* Nothing of the group happened: its members run again before anything newer. After a conflict as a group: one by one
 * they would need a commit each and meet the other writer as often. One that keeps failing must not hold the others for
 * ever, nor a full disk those that give space back: then one by one. */
static bool run_again(struct store *s, struct run *r, enum outcome why)
{
	if (why == OUTCOME_NO_SPACE && r->member_count == 1) {
		fail_members(r, ERR_NO_SPACE);
		return true;
	}
	if (why == OUTCOME_CONFLICT)
		atomic_fetch_add_explicit(&s->conflicts, 1, memory_order_relaxed);
	bool together = why == OUTCOME_CONFLICT && store_mutant(s) != MUTANT_RETRY_ALONE;
	for (size_t i = r->member_count; i-- > 0;) {
		struct store_job *j = r->members[i].job;
		if (j->attempts != JOB_REFUSED && why == OUTCOME_CONFLICT && ++j->attempts > LIMIT_APPLY_RETRIES)
			j->attempts = JOB_REFUSED;
		together = together && j->attempts <= TOGETHER_ATTEMPTS;
	}
	if (!together)
		s->alone_count += r->member_count;
	commit_push_back(s, r);
	return false;
}

/* Members hold their results. True: they can be answered now. */
static bool settle(struct store *s, struct run *r, enum outcome o)
{
	bool happened = false;
	if (o == OUTCOME_UNKNOWN) {
		atomic_fetch_add_explicit(&s->unknowns, 1, memory_order_relaxed);
		if (!group_writes(r)) {
			o = OUTCOME_CONFLICT;
		} else if (resolve(s, r->partition, r->counter, &happened) != ERR_OK) {
			flux_end(s, r, false);
			fail_members(r, atomic_load(&s->stopped) ? ERR_STOPPED : ERR_UNKNOWN);
			return true;
		} else {
			o = happened ? OUTCOME_DONE : OUTCOME_CONFLICT;
		}
	}
	flux_end(s, r, o == OUTCOME_DONE);
	switch (o) {
	case OUTCOME_DONE:
		if (group_retires(r))
			store_reclaim_soon(s);
		return true;
	case OUTCOME_FAILED:
		store_stop(s);
		fail_members(r, ERR_STOPPED);
		return true;
	case OUTCOME_NO_SPACE:
		store_reclaim_now(s);
		return run_again(s, r, o);
	default:
		return run_again(s, r, o);
	}
}

void commit_settle(struct store *s, struct run *r, enum outcome o)
{
	bool answers = settle(s, r, o);
	atomic_store(&r->ended, true); /* before the answers: who gets one may come back at once */
	if (!answers)
		return;
	atomic_fetch_add_explicit(&s->txns, r->member_count, memory_order_relaxed);
	commit_answer(s, r);
}
