/* SPDX-License-Identifier: Apache-2.0
 * The committer: one thread that turns queued jobs into groups. A group: each job's apply runs over the engine's group
 * (it sees what the jobs before it wrote), its write set is accepted, one commit makes all of them durable, then every
 * done is called, in order. An apply that failed is answered after the commit as well: its answer may rest on writes of
 * the group.
 *
 *   DONE      answered with their own results
 *   CONFLICT  nothing happened: each job runs again, alone, at most LIMIT_APPLY_RETRIES times
 *   UNKNOWN   the stamp of the partition tells (stamp.c): happened = DONE, did not = as CONFLICT
 *   NO_SPACE  nothing happened: each job runs again, alone (a delete may fit where its neighbour did not), and keeps
 * that FAILED    nothing is acknowledged any more: every job from now on gets ERR_STOPPED
 *
 * Where outcomes can be unknown a group holds jobs of one partition only, so that one stamp answers for all of it. */
#include "base/bytes.h"
#include "store/store_int.h"

#include <assert.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CLOCK_KEY SLICE("clock")
#define OPENS_KEY SLICE("opens")
enum { JOB_REFUSED = ~0u, SCRATCH_BYTES = 64 * 1024 };

/* ---- queue ---- */

static void futex(atomic_uint *word, int op, unsigned value)
{
	syscall(SYS_futex, word, op | FUTEX_PRIVATE_FLAG, value, NULL, NULL, 0);
}

static void wake(struct store *s)
{
	if (atomic_load(&s->idle) && atomic_exchange(&s->idle, 0))
		futex(&s->idle, FUTEX_WAKE, 1);
}

void store_write(struct store *s, struct store_job *job)
{
	/* A full queue is answered by the committer too: done is never called from here. */
	bool full = atomic_fetch_add(&s->queued_count, 1) >= LIMIT_WRITE_QUEUE;
	job->attempts = full ? JOB_REFUSED : 0;
	job->next = atomic_load_explicit(&s->pushed, memory_order_relaxed);
	while (!atomic_compare_exchange_weak(&s->pushed, &job->next, job))
		;
	wake(s);
}

/* Moves what was pushed behind what is pending, oldest first. */
static void take_pushed(struct store *s)
{
	if (!atomic_load_explicit(&s->pushed, memory_order_relaxed))
		return;
	struct store_job *newest = atomic_exchange(&s->pushed, NULL);
	struct store_job *first = NULL, *last = newest;
	while (newest) {
		struct store_job *older = newest->next;
		newest->next = first;
		first = newest;
		newest = older;
	}
	if (s->pending_last)
		s->pending_last->next = first;
	else
		s->pending_first = first;
	s->pending_last = last;
}

static struct store_job *pop_pending(struct store *s)
{
	struct store_job *j = s->pending_first;
	s->pending_first = j->next;
	if (!s->pending_first)
		s->pending_last = NULL;
	j->next = NULL;
	return j;
}

static void answer(struct store *s, struct store_job *job, enum err result)
{
	atomic_fetch_sub(&s->queued_count, 1);
	job->done(job, result);
}

/* ---- the group ---- */

bool committer_may_use_cache(const struct store *s, uint64_t hash)
{
	if (s->written_count > WRITTEN_MAX)
		return false;
	for (size_t at = hash % WRITTEN_SLOTS; s->written[at]; at = (at + 1) % WRITTEN_SLOTS)
		if (s->written[at] == hash)
			return false;
	return true;
}

static void written_add(struct store *s, uint64_t hash)
{
	if (++s->written_count > WRITTEN_MAX)
		return;
	size_t at = hash % WRITTEN_SLOTS;
	while (s->written[at])
		at = (at + 1) % WRITTEN_SLOTS;
	s->written[at] = hash;
}

static bool has_key(const struct write *w)
{
	return w->kind == WRITE_PUT || w->kind == WRITE_DEL;
}

static void note_written(struct store *s, struct slice partition, const struct member *m)
{
	if (!s->cache || store_mutant(s) == MUTANT_STALE_OVERLAY)
		return;
	for (size_t i = 0; i < m->count; i++)
		if (has_key(&m->writes[i]))
			written_add(s, cache_hash(partition, m->writes[i].key));
}

static void flux_begin(struct store *s)
{
	if (!s->cache || store_mutant(s) == MUTANT_STALE_CACHE)
		return;
	for (size_t k = 0; k < s->member_count; k++) {
		struct member *m = &s->members[k];
		for (size_t i = 0; i < m->count; i++)
			if (has_key(&m->writes[i]))
				cache_flux_begin(s->cache, cache_hash(m->job->partition, m->writes[i].key),
						 m->job->partition, m->writes[i].key);
	}
}

static void flux_end(struct store *s, bool committed)
{
	if (!s->cache || store_mutant(s) == MUTANT_STALE_CACHE)
		return;
	for (size_t k = 0; k < s->member_count; k++) {
		struct member *m = &s->members[k];
		for (size_t i = 0; i < m->count; i++) {
			struct write *w = &m->writes[i];
			if (!has_key(w))
				continue;
			struct slice value = w->kind == WRITE_PUT ? record_payload(w->value) : SLICE_NONE;
			cache_flux_end(s->cache, cache_hash(m->job->partition, w->key), m->job->partition, w->key,
				       value, committed);
		}
	}
}

static uint64_t next_ticks(struct store *s, uint64_t group_ticks)
{
	uint64_t last = atomic_load_explicit(&s->last_ticks, memory_order_relaxed);
	uint64_t now = group_ticks > last ? group_ticks : last + 1;
	atomic_store_explicit(&s->last_ticks, now, memory_order_relaxed);
	return now;
}

static size_t apply_member(struct store *s, struct engine_group *g, struct member *m, uint64_t group_ticks)
{
	struct txn t;
	struct store_job *job = m->job;
	atomic_fetch_add_explicit(&s->applies, 1, memory_order_relaxed);
	txn_init(&t, s, TXN_GROUP, job->partition, job->arena, next_ticks(s, group_ticks));
	t.group = g;
	enum err err = job->apply(&t, job->call);
	if (err == ERR_OK)
		err = t.failed;
	txn_fini(&t);
	m->result = err;
	m->writes = t.writes;
	m->count = err == ERR_OK ? t.count : 0;
	return m->count ? t.write_bytes : 0;
}

static void accept_member(struct store *s, struct engine_group *g, struct member *m)
{
	if (!m->count)
		return;
	m->result = s->engine->ops->group_accept(g, m->job->partition, m->writes, m->count);
	if (m->result != ERR_OK)
		m->count = 0;
	else
		note_written(s, m->job->partition, m);
}

/* Applies and accepts pending jobs until the group is full; what does not fit stays pending. */
static void fill_group(struct store *s, struct engine_group *g, uint64_t group_ticks, bool alone)
{
	const struct engine_ops *ops = s->engine->ops;
	size_t bytes = 0;
	unsigned mutant = store_mutant(s);
	struct slice partition = s->pending_first->partition;
	while (s->pending_first && s->member_count < LIMIT_GROUP_TXNS && bytes < LIMIT_GROUP_BYTES) {
		if (s->member_count &&
		    (alone || (ops->may_be_unknown && !slice_eq(s->pending_first->partition, partition))))
			break;
		struct member *m = &s->members[s->member_count];
		*m = (struct member){ .job = pop_pending(s) };
		if (m->job->attempts == JOB_REFUSED) {
			m->result = ERR_BUSY;
			s->member_count++;
			continue;
		}
		bytes += apply_member(s, g, m, group_ticks);
		if (mutant == MUTANT_STALE_OVERLAY && s->member_count)
			accept_member(s, g, m - 1);
		else if (mutant != MUTANT_OUT_OF_ORDER && mutant != MUTANT_STALE_OVERLAY)
			accept_member(s, g, m);
		s->member_count++;
		if (!s->pending_first && !alone) {
			take_pushed(s);
			/* No transaction's time lies before it was asked for: what a get hides is hidden for all of its
			 * timeout. */
			group_ticks = clock_now(s->clock);
		}
	}
	if (mutant == MUTANT_STALE_OVERLAY)
		accept_member(s, g, &s->members[s->member_count - 1]);
	if (mutant == MUTANT_OUT_OF_ORDER)
		for (size_t i = s->member_count; i-- > 0;)
			accept_member(s, g, &s->members[i]);
}

static bool group_writes(const struct store *s)
{
	for (size_t i = 0; i < s->member_count; i++)
		if (s->members[i].count)
			return true;
	return false;
}

static bool group_retires(const struct store *s)
{
	for (size_t i = 0; i < s->member_count; i++)
		for (size_t k = 0; k < s->members[i].count; k++)
			if (s->members[i].writes[k].kind == WRITE_RETIRE)
				return true;
	return false;
}

/* The time of the last durable group, so that a clock that jumped back cannot give it out again. */
static enum err accept_clock(struct store *s, struct engine_group *g, char *record)
{
	uint64_t ticks = atomic_load_explicit(&s->last_ticks, memory_order_relaxed);
	char payload[8];
	for (int i = 0; i < 8; i++)
		payload[i] = (char)(ticks >> (8 * i));
	record_wrap(KEY_PARTITION_STORE, CLOCK_KEY, slice_make(payload, sizeof payload), record);
	struct write w = { .kind = WRITE_PUT,
			   .key = CLOCK_KEY,
			   .value = slice_make(record, sizeof payload + RECORD_OVERHEAD_BYTES) };
	return s->engine->ops->group_accept(g, KEY_PARTITION_STORE, &w, 1);
}

static void fail_members(struct store *s, enum err err)
{
	for (size_t i = 0; i < s->member_count; i++) {
		s->members[i].result = err;
		s->members[i].count = 0;
	}
}

static void answer_members(struct store *s)
{
	for (size_t i = 0; i < s->member_count; i++)
		answer(s, s->members[i].job, s->members[i].result);
	s->member_count = 0;
}

static void stop(struct store *s)
{
	atomic_store(&s->stopped, true);
	if (!s->failure_told && s->failed)
		s->failed(s->failed_arg);
	s->failure_told = true;
}

/* Did commit (instance, counter) happen? Ends with a definite answer or ERR_UNKNOWN. */
static enum err resolve(struct store *s, struct slice partition, uint64_t counter, bool *ret_happened)
{
	const struct engine_ops *ops = s->engine->ops;
	struct arena scratch;
	enum err result = ERR_UNKNOWN;
	arena_init(&scratch, SCRATCH_BYTES);
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
		stamp_set(&stamp, s->instance, counter - 1, next_ticks(s, 0));
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
			stop(s);
			break;
		}
	}
	arena_fini(&scratch);
	return result;
}

static void push_front(struct store *s, struct store_job *j)
{
	j->next = s->pending_first;
	s->pending_first = j;
	if (!s->pending_last)
		s->pending_last = j;
}

/* Nothing of the group happened: its members run again one by one, before anything newer. */
static bool run_again(struct store *s, enum outcome why)
{
	if (why == OUTCOME_NO_SPACE && s->member_count == 1) {
		fail_members(s, ERR_NO_SPACE);
		return true;
	}
	if (why == OUTCOME_CONFLICT)
		atomic_fetch_add_explicit(&s->conflicts, 1, memory_order_relaxed);
	for (size_t i = s->member_count; i-- > 0;) {
		struct store_job *j = s->members[i].job;
		if (j->attempts != JOB_REFUSED && why == OUTCOME_CONFLICT && ++j->attempts > LIMIT_APPLY_RETRIES)
			j->attempts = JOB_REFUSED;
		push_front(s, j);
	}
	s->alone_count += s->member_count;
	s->member_count = 0;
	return false;
}

/* What became of the group; members hold their results. True: they can be answered now. */
static bool settle(struct store *s, enum outcome o, struct slice partition, uint64_t counter)
{
	bool happened = false;
	if (o == OUTCOME_UNKNOWN) {
		atomic_fetch_add_explicit(&s->unknowns, 1, memory_order_relaxed);
		if (!group_writes(s)) {
			o = OUTCOME_CONFLICT;
		} else if (resolve(s, partition, counter, &happened) != ERR_OK) {
			flux_end(s, false);
			fail_members(s, atomic_load(&s->stopped) ? ERR_STOPPED : ERR_UNKNOWN);
			return true;
		} else {
			o = happened ? OUTCOME_DONE : OUTCOME_CONFLICT;
		}
	}
	flux_end(s, o == OUTCOME_DONE);
	switch (o) {
	case OUTCOME_DONE:
		if (group_retires(s))
			store_reclaim_soon(s);
		return true;
	case OUTCOME_FAILED:
		stop(s);
		fail_members(s, ERR_STOPPED);
		return true;
	case OUTCOME_NO_SPACE:
		store_reclaim_soon(s);
		return run_again(s, o);
	default:
		return run_again(s, o);
	}
}

/* Builds a group of pending jobs and commits it. */
static void run_group(struct store *s)
{
	bool alone = s->alone_count > 0;
	const struct engine_ops *ops = s->engine->ops;
	struct slice partition = s->pending_first->partition;
	struct engine_group *g;
	struct arena scratch;
	struct stamp stamp = { 0 };
	char clock_record[8 + RECORD_OVERHEAD_BYTES];
	uint64_t group_ticks = clock_now(s->clock);
	enum err err = ops->group_begin(s->engine, &g);

	arena_init(&scratch, SCRATCH_BYTES);
	s->alone_count -= alone;
	s->member_count = 0;
	if (s->written_count) {
		memset(s->written, 0, WRITTEN_SLOTS * sizeof *s->written);
		s->written_count = 0;
	}
	if (err == ERR_OK && ops->may_be_unknown) {
		err = stamp_read(g, ops, partition, &scratch, &stamp);
		if (stamp.now_ticks > atomic_load(&s->last_ticks))
			atomic_store(&s->last_ticks, stamp.now_ticks);
		if (err != ERR_OK)
			ops->group_abort(g);
	}
	if (err != ERR_OK) {
		s->members[0] = (struct member){ .job = pop_pending(s), .result = err };
		s->member_count = 1;
		answer_members(s);
		arena_fini(&scratch);
		return;
	}
	fill_group(s, g, group_ticks, alone);
	if (group_writes(s)) {
		struct write w;
		if (ops->may_be_unknown) {
			stamp_set(&stamp, s->instance, ++s->commit_counter, atomic_load(&s->last_ticks));
			err = stamp_write(&stamp, partition, &scratch, &w);
			if (err == ERR_OK)
				err = ops->group_accept(g, partition, &w, 1);
		} else {
			err = accept_clock(s, g, clock_record);
		}
	}
	if (err != ERR_OK) {
		ops->group_abort(g);
		fail_members(s, err);
	} else {
		flux_begin(s);
		if (store_mutant(s) == MUTANT_ACK_BEFORE_SYNC) {
			flux_end(s, true);
			answer_members(s);
		}
		enum outcome o = ops->group_commit(g);
		atomic_fetch_add_explicit(&s->groups, 1, memory_order_relaxed);
		if (store_mutant(s) != MUTANT_ACK_BEFORE_SYNC && !settle(s, o, partition, s->commit_counter)) {
			arena_fini(&scratch);
			return;
		}
	}
	arena_fini(&scratch);
	atomic_fetch_add_explicit(&s->txns, s->member_count, memory_order_relaxed);
	answer_members(s);
}

size_t committer_step(struct store *s)
{
	take_pushed(s);
	if (!s->pending_first)
		return 0;
	size_t before = atomic_load(&s->queued_count);
	if (atomic_load(&s->stopped)) {
		while (s->pending_first)
			answer(s, pop_pending(s), ERR_STOPPED);
		s->alone_count = 0;
	} else {
		run_group(s);
	}
	size_t after = atomic_load(&s->queued_count);
	return before > after ? before - after : 0;
}

void *committer_main(void *arg)
{
	struct store *s = arg;
	pthread_setname_np(pthread_self(), "committer");
	for (;;) {
		take_pushed(s);
		if (s->pending_first) {
			committer_step(s);
			continue;
		}
		if (atomic_load(&s->closing))
			return NULL;
		atomic_store(&s->idle, 1);
		if (atomic_load(&s->pushed) || atomic_load(&s->closing))
			atomic_store(&s->idle, 0);
		else
			futex(&s->idle, FUTEX_WAIT, 1);
	}
}

void committer_close(struct store *s)
{
	atomic_store(&s->closing, true);
	wake(s);
	pthread_join(s->committer, NULL);
}

/* ---- start ---- */

static enum err read_u64(struct store *s, struct slice key, struct arena *arena, uint64_t *ret)
{
	struct slice record, payload;
	enum err err = s->engine->ops->get(s->engine, NULL, KEY_PARTITION_STORE, key, arena, &record);
	if (err == ERR_NOT_FOUND) {
		*ret = 0;
		return ERR_OK;
	}
	TRY(err);
	TRY(record_unwrap(KEY_PARTITION_STORE, key, record, &payload));
	struct cursor c = cursor_make(payload);
	uint64_t v = cursor_u64(&c);
	if (!cursor_done(&c))
		return ERR_CORRUPT;
	*ret = v;
	return ERR_OK;
}

/* One try to take the next number for this store. */
static enum err take_instance(struct store *s, struct arena *arena, enum outcome *ret)
{
	const struct engine_ops *ops = s->engine->ops;
	struct engine_group *g;
	struct slice record, payload;
	uint64_t opens = 0;
	TRY(ops->group_begin(s->engine, &g));
	enum err err = ops->group_get(g, KEY_PARTITION_STORE, OPENS_KEY, arena, &record);
	if (err == ERR_OK) {
		err = record_unwrap(KEY_PARTITION_STORE, OPENS_KEY, record, &payload);
		if (err == ERR_OK) {
			struct cursor c = cursor_make(payload);
			opens = cursor_u64(&c);
		}
	} else if (err == ERR_NOT_FOUND) {
		err = ERR_OK;
	}
	char bytes[8 + RECORD_OVERHEAD_BYTES], number[8];
	opens++;
	for (int i = 0; i < 8; i++)
		number[i] = (char)(opens >> (8 * i));
	record_wrap(KEY_PARTITION_STORE, OPENS_KEY, slice_make(number, sizeof number), bytes);
	struct write w = { .kind = WRITE_PUT, .key = OPENS_KEY, .value = slice_make(bytes, sizeof bytes) };
	if (err == ERR_OK)
		err = ops->group_accept(g, KEY_PARTITION_STORE, &w, 1);
	if (err != ERR_OK) {
		ops->group_abort(g);
		return err;
	}
	*ret = ops->group_commit(g);
	if (*ret == OUTCOME_DONE)
		s->instance = opens;
	return ERR_OK;
}

enum err committer_prepare(struct store *s)
{
	struct arena scratch;
	enum err err = ERR_OK;
	arena_init(&scratch, SCRATCH_BYTES);
	if (!s->engine->ops->may_be_unknown) {
		uint64_t ticks = 0;
		err = read_u64(s, CLOCK_KEY, &scratch, &ticks);
		atomic_store(&s->last_ticks, ticks);
	} else {
		/* A try whose outcome is unknown burns a number; only one that is known to be ours is used. */
		enum outcome o = OUTCOME_CONFLICT;
		for (unsigned i = 0; i < LIMIT_APPLY_RETRIES && err == ERR_OK && o != OUTCOME_DONE; i++) {
			arena_reset(&scratch);
			err = take_instance(s, &scratch, &o);
		}
		if (err == ERR_OK && o != OUTCOME_DONE)
			err = o == OUTCOME_NO_SPACE ? ERR_NO_SPACE : ERR_BUSY;
	}
	arena_fini(&scratch);
	return err;
}
