/* SPDX-License-Identifier: Apache-2.0
 * The committer: turns queued jobs into groups. A group: each job's apply runs over the engine's group (it sees what
 * the jobs before it wrote), its write set is accepted, one commit makes all of them durable (commit.c), then every
 * done is called, in order.
 *
 * One thread at a time builds: whoever holds `build_lock`. The committer does, until its group goes to the disk. Where
 * the engine lets groups overlap, others build the next group over what is being written, meanwhile: a second thread,
 * once several jobs wait, and a front end's thread with a job of its own (store_write_here). The committer takes what
 * was built when the group before has ended; if that one did not happen, neither did what was built on it, and all of
 * it runs again.
 *
 * A job of store_write_here that writes no durable row, and has seen and touched nothing of a group under way, is done
 * as soon as it was applied: it is the same before those groups and after them (is_settled).
 *
 * A front end's thread that has nothing else to do may commit its job itself, if nobody else is at it
 * (store_write_alone, or store_write_together for several): the job then changes threads neither on its way to the disk
 * nor back. Meanwhile the committer builds what comes from others, and is woken for it when that commit is over. */
#include "store/store_int.h"

#include <assert.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
	JOBS_PER_WAKE = 8,		/* while a group is written, one wake for so many jobs */
	SPENT_MAX_NS = 2 * 1000 * 1000, /* of applies, in a group of several accounts: see run_next_job */
	LONG_APPLY_NS = 500 * 1000,	/* after it, who came meanwhile is looked for */
	PACE_LOOK_MS = 50,		/* how often is asked whether many read */
	READS_A_MS_ARE_MANY = 2
};
enum idle { AWAKE, IDLE };

/* ---- queue ---- */

static void futex(atomic_uint *word, int op, unsigned value)
{
	syscall(SYS_futex, word, op | FUTEX_PRIVATE_FLAG, value, NULL, NULL, 0);
}

static void wake(atomic_uint *idle)
{
	if (atomic_load(idle) && atomic_exchange(idle, AWAKE))
		futex(idle, FUTEX_WAKE, 1);
}

/* Says that this thread sleeps. What would end the sleep is to be looked at after this, and before sleep. */
static void lie_down(atomic_uint *idle)
{
	atomic_store(idle, IDLE);
}

static void sleep_until_woken(atomic_uint *idle)
{
	futex(idle, FUTEX_WAIT, IDLE);
	atomic_store(idle, AWAKE);
}

void store_write_held(struct store *s, struct store_job *job)
{
	/* A full queue is answered by the committer too: done is never called from here. */
	size_t queued = atomic_fetch_add(&s->queued_count, 1);
	job->attempts = queued >= LIMIT_WRITE_QUEUE ? JOB_REFUSED : 0;
	job->next = atomic_load_explicit(&s->pushed, memory_order_relaxed);
	while (!atomic_compare_exchange_weak(&s->pushed, &job->next, job))
		;
}

void store_write(struct store *s, struct store_job *job)
{
	store_write_held(s, job);
	wake(&s->idle);
	/* While it waits for the disk the committer looks when that is over. The other one is woken for several. */
	bool enough = (atomic_fetch_add_explicit(&s->pushes, 1, memory_order_relaxed) + 1) % JOBS_PER_WAKE == 0;
	if (enough && atomic_load(&s->under_way))
		wake(&s->ahead_idle);
}

/* Moves what was pushed to what is pending, oldest first. */
static void take_pushed(struct store *s)
{
	if (!atomic_load_explicit(&s->pushed, memory_order_relaxed))
		return;
	struct store_job *newest = atomic_exchange(&s->pushed, NULL);
	struct store_job *first = NULL;
	while (newest) {
		struct store_job *older = newest->next;
		newest->next = first;
		first = newest;
		newest = older;
	}
	while (first) {
		struct store_job *next = first->next;
		pending_add(&s->pending, first);
		first = next;
	}
}

/* ---- building a group ---- */

static bool written_has(const struct run *r, uint64_t hash)
{
	if (r->written_count > WRITTEN_MAX)
		return true;
	if (!r->written_count)
		return false;
	for (size_t at = hash % WRITTEN_SLOTS; r->written[at]; at = (at + 1) % WRITTEN_SLOTS)
		if (r->written[at] == hash)
			return true;
	return false;
}

bool committer_may_use_cache(const struct store *s, uint64_t hash)
{
	for (int i = 0; i < 2; i++)
		if (!atomic_load(&s->run[i].ended) && written_has(&s->run[i], hash))
			return false;
	return true;
}

static void written_add(struct run *r, uint64_t hash)
{
	if (r->written_count >= WRITTEN_MAX) {
		r->written_count = WRITTEN_MAX + 1;
		return;
	}
	size_t at = hash % WRITTEN_SLOTS;
	while (r->written[at])
		at = (at + 1) % WRITTEN_SLOTS;
	r->written[at] = hash;
	r->written_at[r->written_count++] = (uint16_t)at;
}

static void written_clear(struct run *r)
{
	for (size_t i = 0; i < r->written_count && i < WRITTEN_MAX; i++)
		r->written[r->written_at[i]] = 0;
	r->written_count = 0;
}

static void note_written(struct store *s, struct run *r, struct member *m)
{
	if (!s->cache)
		return;
	for (size_t i = 0; i < m->count; i++) {
		struct write *w = &m->writes[i];
		if (!write_has_key(w))
			continue;
		w->hash = store_hash(s, m->job->partition, w->key);
		if (store_mutant(s) != MUTANT_STALE_OVERLAY)
			written_add(r, w->hash);
	}
}

static size_t apply_member(struct store *s, struct run *r, struct member *m, uint64_t ticks)
{
	struct txn t;
	struct store_job *job = m->job;
	atomic_fetch_add_explicit(&s->applies, 1, memory_order_relaxed);
	touched_clear(&s->touching);
	txn_init(&t, s, TXN_GROUP, job->partition, job->arena, commit_next_ticks(s, r, ticks));
	t.unique = commit_next_unique(s);
	t.group = r->group;
	enum err err = job->apply(&t, job->call);
	if (err == ERR_OK)
		err = t.failed;
	if (err == ERR_OK && atomic_load_explicit(&s->meters, memory_order_relaxed))
		err = meter_apply(&t);
	txn_fini(&t);
	m->result = err;
	m->saw_group = t.saw_group;
	m->writes = t.writes;
	m->count = err == ERR_OK ? t.count : 0;
	m->volatiles = t.volatiles;
	m->volatile_count = err == ERR_OK ? t.volatile_count : 0;
	return m->count ? t.write_bytes : 0;
}

static void accept_member(struct store *s, struct run *r, struct member *m)
{
	struct slice partition = m->job->partition;
	if (m->volatile_count) {
		m->result = volatile_prepare(s->volatiles, partition, m->volatiles, m->volatile_count);
		if (m->result != ERR_OK)
			m->count = m->volatile_count = 0;
	}
	if (m->count) {
		m->result = s->engine->ops->group_accept(r->group, partition, m->writes, m->count);
		if (m->result == ERR_OK)
			note_written(s, r, m);
	}
	if (m->result != ERR_OK) {
		volatile_discard(s->volatiles, partition, m->volatiles, m->volatile_count);
		m->count = m->volatile_count = 0;
	} else if (m->volatile_count) {
		volatile_accept(s->volatiles, partition, m->volatiles, m->volatile_count);
	}
}

static bool run_has_room(const struct run *r)
{
	return r->member_count < LIMIT_GROUP_TXNS && r->bytes < LIMIT_GROUP_BYTES && !(r->alone && r->member_count);
}

/* The next job for this group; NULL: none, or none that belongs into it. Once an account spent much in it and others
 * had their turn, it ends before that account's next job: the others would be answered behind that one. */
static struct store_job *run_next_job(struct store *s, const struct run *r)
{
	struct store_job *next = pending_next(&s->pending);
	if (!next || !run_has_room(r) || (store_is_shared(s) && !slice_eq(next->partition, r->partition)))
		return NULL;
	return r->others_served && next->line == r->spender ? NULL : next;
}

/* Charges the account what the job cost. A store that is stepped must do the same each time: there each costs one. */
static uint64_t run_charge(struct store *s, struct run *r, unsigned line, uint64_t began_ns)
{
	uint64_t now_ns = s->manual ? 0 : base_monotonic_ns(), cost = s->manual ? 1 : now_ns - began_ns;
	pending_charge(&s->pending, line, cost);
	if (r->spent >= SPENT_MAX_NS)
		r->others_served = r->others_served || line != r->spender;
	else if (r->spent + cost >= SPENT_MAX_NS)
		r->spender = line;
	r->spent += cost;
	if (cost >= LONG_APPLY_NS)
		take_pushed(s); /* others may have come meanwhile, and go first */
	return now_ns;
}

/* Is all of it done, though groups are under way? It must not rest on what they wrote, nor may they have looked at what
 * it changes: it would be seen without them, and they were judged before it. */
static bool is_settled(struct store *s, const struct run *r, const struct member *m)
{
	if (m->count)
		return false;
	if (store_mutant(s) == MUTANT_ANSWER_EARLY)
		return true;
	if (!m->job->soon || store_is_shared(s)) /* shared: what it saw may change until the group is checked */
		return false;
	for (int i = 0; i < 2; i++) {
		const struct run *other = &s->run[i];
		bool has_others = other == r ? r->member_count > 1 : !atomic_load(&other->ended);
		if (has_others && (m->saw_group || touched_meet(&other->touched, &s->touching)))
			return false;
	}
	return true;
}

/* The newest member leaves the group and is answered. */
static void settle_newest(struct store *s, struct run *r)
{
	struct member *m = &r->members[--r->member_count];
	if (m->volatile_count)
		volatile_settle(s->volatiles, m->job->partition, m->volatiles, m->volatile_count, true);
	atomic_fetch_add_explicit(&s->txns, 1, memory_order_relaxed);
	if (m->job != s->here) {
		store_answer(s, m->job, m->result);
		return;
	}
	s->here = NULL;
	s->here_result = m->result;
	atomic_fetch_sub(&s->queued_count, 1);
}

/* Applies and accepts the job that is next. */
static void run_take(struct store *s, struct run *r, uint64_t ticks)
{
	unsigned mutant = store_mutant(s);
	struct member *m = &r->members[r->member_count++];
	*m = (struct member){ .job = pending_take(&s->pending) };
	if (m->job->attempts == JOB_REFUSED) {
		m->result = ERR_BUSY;
		return;
	}
	r->bytes += apply_member(s, r, m, ticks);
	if (mutant == MUTANT_OUT_OF_ORDER)
		return;
	if (mutant == MUTANT_STALE_OVERLAY) {
		if (r->member_count > 1)
			accept_member(s, r, m - 1);
		return;
	}
	accept_member(s, r, m);
	if (is_settled(s, r, m))
		settle_newest(s, r);
	else
		touched_merge(&r->touched, &s->touching);
}

/* Applies and accepts pending jobs until the group is full; what does not fit stays pending. */
static void run_fill(struct store *s, struct run *r)
{
	uint64_t ticks = clock_now(s->clock), now_ns = s->manual ? 0 : base_monotonic_ns();
	for (const struct store_job *job; (job = run_next_job(s, r));) {
		unsigned line = job->line; /* the job may be over, and its memory gone, once it was taken */
		run_take(s, r, ticks);
		now_ns = run_charge(s, r, line, now_ns);
		if (!pending_next(&s->pending) && !r->alone) {
			take_pushed(s);
			/* Read the clock again: a transaction's time must not precede its request, or a visibility
			 * timeout ends early. */
			ticks = clock_now(s->clock);
		}
	}
	if (store_mutant(s) == MUTANT_STALE_OVERLAY)
		accept_member(s, r, &r->members[r->member_count - 1]);
	if (store_mutant(s) == MUTANT_OUT_OF_ORDER)
		for (size_t i = r->member_count; i-- > 0;)
			accept_member(s, r, &r->members[i]);
}

/* Begins a group for jobs like this one. */
static enum err run_begin(struct store *s, struct run *r, const struct store_job *first)
{
	assert(!r->group); /* the one before was given to the engine, or aborted */
	r->partition = first->partition;
	r->member_count = r->bytes = 0;
	r->spent = 0;
	r->others_served = false;
	written_clear(r);
	touched_clear(&r->touched);
	enum err err = commit_begin(s, r);
	if (err == ERR_OK)
		atomic_store(&r->ended, false);
	return err;
}

/* All its jobs were done before: there is nothing to commit. */
static void run_drop_if_empty(struct store *s, struct run *r)
{
	if (!r->group || r->member_count)
		return;
	s->engine->ops->group_abort(r->group);
	r->group = NULL;
	if (s->engine->ops->may_be_unknown)
		arena_fini(&r->scratch);
	atomic_store(&r->ended, true);
}

/* Adds the jobs that are pending to the group that is built. */
static void run_build(struct store *s, struct run *r)
{
	if (!pending_next(&s->pending))
		return;
	if (!r->group) {
		r->alone = s->alone_count > 0;
		s->alone_count -= r->alone;
		enum err err = run_begin(s, r, pending_next(&s->pending));
		if (err != ERR_OK) { /* the engine could not, and one job is told */
			store_answer(s, pending_take(&s->pending), err);
			return;
		}
	}
	run_fill(s, r);
	run_drop_if_empty(s, r);
}

/* ---- groups to the disk ---- */

static void stopped_answer(struct store *s)
{
	while (pending_next(&s->pending))
		store_answer(s, pending_take(&s->pending), ERR_STOPPED);
	s->alone_count = 0;
}

/* The group before this one did not happen, or this one cannot: its jobs are pending again. */
static void run_undo(struct store *s, struct run *r)
{
	if (r->group)
		s->engine->ops->group_abort(r->group);
	r->group = NULL;
	commit_settle_volatiles(s, r, false);
	commit_push_back(s, r);
	atomic_store(&r->ended, true);
}

size_t committer_step(struct store *s)
{
	struct run *r = &s->run[0];
	size_t before = atomic_load(&s->queued_count);
	take_pushed(s);
	if (atomic_load(&s->stopped)) {
		if (r->group)
			run_undo(s, r);
		stopped_answer(s);
	}
	run_build(s, r);
	if (r->group) {
		commit_close(s, r);
		commit_settle(s, r, commit_run(s, r));
	}
	size_t after = atomic_load(&s->queued_count);
	return before > after ? before - after : 0;
}

/* Where cores are scarce, reads must not slow down because writes run at full rate: commits get a lower priority.
 * Where nobody reads they do not: then they would wait behind every other program of the machine. */
static void choose_pace(struct store *s)
{
	uint64_t now_ms = base_monotonic_ns() / 1000000;
	uint64_t ms = now_ms - s->pace_looked_ms;
	if (ms < PACE_LOOK_MS)
		return;
	uint64_t reads = atomic_load_explicit(&s->reads, memory_order_relaxed);
	bool many = reads - s->pace_reads >= ms * READS_A_MS_ARE_MANY;
	s->pace_looked_ms = now_ms;
	s->pace_reads = reads;
	atomic_store_explicit(&s->pace, many ? RELAY_NICED : RELAY_NORMAL, memory_order_relaxed);
}

/* Gives the group that was built to the disk. Meanwhile others may build on it. */
static void commit_built(struct store *s, struct run *r)
{
	commit_close(s, r);
	assert(!atomic_load(&s->under_way) && r == s->building);
	s->building = &s->run[r == &s->run[0]];
	atomic_store(&s->under_way, true);
	pthread_mutex_unlock(&s->build_lock);
	enum outcome o = commit_run(s, r);
	size_t count = r->member_count;
	if (o == OUTCOME_DONE)
		commit_settle(s, r, o);
	/* Those who were answered come back with their next jobs. Where cores are scarce, larger groups save more than
	 * an early start. */
	if (count > 1)
		sched_yield();
	pthread_mutex_lock(&s->build_lock);
	atomic_store(&s->under_way, false);
	if (o == OUTCOME_DONE)
		return;
	if (s->building->group)
		run_undo(s, s->building);
	commit_settle(s, r, o);
}

/* Whether the next group may be built now. One that runs again does so by itself. */
static bool may_build_ahead(const struct store *s)
{
	return atomic_load(&s->under_way) && s->overlap && !s->alone_count && !atomic_load(&s->stopped) &&
	       !(s->building->group && s->building->alone);
}

/* Sleeps until there is something to do. */
static void doze(struct store *s)
{
	lie_down(&s->idle);
	pthread_mutex_unlock(&s->build_lock);
	if (atomic_load(&s->pushed) || atomic_load(&s->closing))
		atomic_store(&s->idle, AWAKE);
	else
		sleep_until_woken(&s->idle);
	pthread_mutex_lock(&s->build_lock);
}

/* A front end's thread commits: what others bring meanwhile is built, and it wakes this one when it is done. */
static void build_while_committed(struct store *s)
{
	if (may_build_ahead(s)) {
		take_pushed(s);
		run_build(s, s->building);
	}
	lie_down(&s->idle);
	pthread_mutex_unlock(&s->build_lock);
	sleep_until_woken(&s->idle);
	pthread_mutex_lock(&s->build_lock);
}

static bool commit_until_closed(struct relay *relay, void *arg)
{
	struct store *s = arg;
	bool over = false;
	pthread_mutex_lock(&s->build_lock);
	for (;;) {
		choose_pace(s);
		if (relay_changes(relay))
			break;
		if (atomic_load(&s->under_way)) {
			build_while_committed(s);
			continue;
		}
		take_pushed(s);
		if (atomic_load(&s->stopped)) {
			if (s->building->group)
				run_undo(s, s->building);
			stopped_answer(s);
		}
		run_build(s, s->building);
		if (s->building->group) {
			commit_built(s, s->building);
			continue;
		}
		over = atomic_load(&s->closing) && !pending_next(&s->pending) && !atomic_load(&s->pushed);
		if (over)
			break;
		if (!pending_next(&s->pending))
			doze(s);
	}
	pthread_mutex_unlock(&s->build_lock);
	return over;
}

/* ---- groups that overlap ---- */

/* The second thread: builds the next group while one is written. */
static bool build_until_closed(struct relay *relay, void *arg)
{
	struct store *s = arg;
	while (!atomic_load(&s->closing)) {
		if (relay_changes(relay))
			return false;
		pthread_mutex_lock(&s->build_lock);
		if (may_build_ahead(s)) {
			take_pushed(s);
			run_build(s, s->building);
		}
		lie_down(&s->ahead_idle);
		pthread_mutex_unlock(&s->build_lock);
		if (!atomic_load(&s->closing))
			sleep_until_woken(&s->ahead_idle);
	}
	return true;
}

/* Is it this thread's turn? Not if the committer has something to do, or it could find the lock taken for ever. */
static bool may_build_here(struct store *s)
{
	if (atomic_load(&s->pushed) || pending_next(&s->pending) || atomic_load(&s->closing))
		return false;
	if (atomic_load(&s->under_way))
		return may_build_ahead(s) && (!s->building->group || run_has_room(s->building));
	return !s->building->group && !s->alone_count && !atomic_load(&s->stopped);
}

/* Is this thread the one that builds now, with a group begun for the job? */
static bool begin_here(struct store *s, const struct store_job *job)
{
	if (store_is_shared(s) || s->manual || atomic_load(&s->pushed) || pthread_mutex_trylock(&s->build_lock) != 0)
		return false;
	if (may_build_here(s) && (s->building->group || run_begin(s, s->building, job) == ERR_OK))
		return true;
	pthread_mutex_unlock(&s->build_lock);
	return false;
}

/* Applies the job, in the group that is built. True: it is done. */
static bool apply_here(struct store *s, struct store_job *job, enum err *ret_result)
{
	struct run *r = s->building;
	uint64_t began_ns = base_monotonic_ns();
	size_t queued = atomic_fetch_add(&s->queued_count, 1);
	job->attempts = queued >= LIMIT_WRITE_QUEUE ? JOB_REFUSED : 0;
	pending_add(&s->pending, job);
	s->here = job;
	unsigned line = job->line;
	run_take(s, r, clock_now(s->clock));
	run_charge(s, r, line, began_ns);
	bool done = !s->here;
	s->here = NULL;
	if (done)
		*ret_result = s->here_result;
	run_drop_if_empty(s, r);
	return done;
}

static bool write_here(struct store *s, struct store_job *job, enum err *ret_result)
{
	bool may_wait = job->may_wait;
	if (!begin_here(s, job)) {
		store_write(s, job);
		return false;
	}
	bool done = apply_here(s, job, ret_result);
	bool waits = s->building->group && !atomic_load(&s->under_way);
	if (waits && may_wait) {
		commit_built(s, s->building);
		waits = s->building->group || pending_next(&s->pending) || atomic_load(&s->pushed) ||
			atomic_load(&s->closing);
	}
	pthread_mutex_unlock(&s->build_lock);
	if (waits)
		wake(&s->idle);
	return done;
}

bool store_write_here(struct store *s, struct store_job *job, enum err *ret_result)
{
	job->soon = true;
	return write_here(s, job, ret_result);
}

void store_write_alone(struct store *s, struct store_job *job)
{
	enum err none;
	job->soon = false;
	job->may_wait = true;
	bool done = write_here(s, job, &none);
	assert(!done); /* only those of store_write_here are, in that way */
	(void)done;
}

void store_write_together(struct store *s)
{
	bool waits = true;
	if (!store_is_shared(s) && !s->manual && pthread_mutex_trylock(&s->build_lock) == 0) {
		if (!atomic_load(&s->under_way) && !atomic_load(&s->stopped)) {
			take_pushed(s);
			run_build(s, s->building);
			if (s->building->group)
				commit_built(s, s->building);
			waits = s->building->group || pending_next(&s->pending) || atomic_load(&s->pushed) ||
				atomic_load(&s->closing);
		}
		pthread_mutex_unlock(&s->build_lock);
	}
	if (waits)
		wake(&s->idle);
}

/* ---- threads ---- */

bool committer_start(struct store *s)
{
	/* The other mutants are made for one group at a time. */
	unsigned mutant = store_mutant(s);
	s->overlap = s->engine->ops->groups_overlap && (!mutant || mutant == MUTANT_ANSWER_EARLY);
	if (s->overlap && !relay_start(&s->builder, "builder", build_until_closed, s, &s->pace))
		return false;
	return relay_start(&s->committer, "committer", commit_until_closed, s, &s->pace);
}

void committer_close(struct store *s)
{
	atomic_store(&s->closing, true);
	if (s->committer.runs) {
		wake(&s->idle);
		relay_join(&s->committer);
	}
	if (s->builder.runs) {
		wake(&s->ahead_idle);
		relay_join(&s->builder);
	}
}
