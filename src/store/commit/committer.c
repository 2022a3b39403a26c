/* SPDX-License-Identifier: Apache-2.0
 * The committer: one thread that turns queued jobs into groups. A group: each job's apply runs over the engine's group
 * (it sees what the jobs before it wrote), its write set is accepted, one commit makes all of them durable (commit.c),
 * then every done is called, in order.
 *
 * Where the engine lets groups overlap, a second thread commits: while it waits for the disk, this one applies the next
 * group over what is being written. The next group is handed over when the one before has ended, and takes new jobs
 * until then; if that one did not happen, neither did what was built on it, and all of it runs again. */
#include "store/store_int.h"

#include <assert.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
	JOBS_PER_WAKE = 8,		/* while the writer is busy, one wake for so many jobs */
	SPENT_MAX_NS = 2 * 1000 * 1000, /* of applies, in a group of several accounts: see run_next_job */
	LONG_APPLY_NS = 500 * 1000,	/* after it, who came meanwhile is looked for */
	PACE_LOOK_MS = 50,		/* how often is asked whether many read */
	READS_A_MS_ARE_MANY = 2
};
enum idle { AWAKE, IDLE, IDLE_WRITER_BUSY };

/* ---- queue ---- */

static void futex(atomic_uint *word, int op, unsigned value)
{
	syscall(SYS_futex, word, op | FUTEX_PRIVATE_FLAG, value, NULL, NULL, 0);
}

static void wake(struct store *s)
{
	if (atomic_load(&s->idle) && atomic_exchange(&s->idle, AWAKE))
		futex(&s->idle, FUTEX_WAKE, 1);
}

void store_write(struct store *s, struct store_job *job)
{
	/* A full queue is answered by the committer too: done is never called from here. */
	size_t queued = atomic_fetch_add(&s->queued_count, 1);
	job->attempts = queued >= LIMIT_WRITE_QUEUE ? JOB_REFUSED : 0;
	job->next = atomic_load_explicit(&s->pushed, memory_order_relaxed);
	while (!atomic_compare_exchange_weak(&s->pushed, &job->next, job))
		;
	bool enough = (atomic_fetch_add_explicit(&s->pushes, 1, memory_order_relaxed) + 1) % JOBS_PER_WAKE == 0;
	if (enough || atomic_load(&s->idle) != IDLE_WRITER_BUSY)
		wake(s);
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
	return !written_has(&s->run[0], hash) && !written_has(&s->run[1], hash);
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
	txn_init(&t, s, TXN_GROUP, job->partition, job->arena, commit_next_ticks(s, r, ticks));
	t.unique = commit_next_unique(s);
	t.group = r->group;
	enum err err = job->apply(&t, job->call);
	if (err == ERR_OK)
		err = t.failed;
	txn_fini(&t);
	m->result = err;
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
static uint64_t run_charge(struct store *s, struct run *r, const struct store_job *job, uint64_t began_ns)
{
	uint64_t now_ns = s->manual ? 0 : base_monotonic_ns(), cost = s->manual ? 1 : now_ns - began_ns;
	pending_charge(&s->pending, job, cost);
	if (r->spent >= SPENT_MAX_NS)
		r->others_served = r->others_served || job->line != r->spender;
	else if (r->spent + cost >= SPENT_MAX_NS)
		r->spender = job->line;
	r->spent += cost;
	if (cost >= LONG_APPLY_NS)
		take_pushed(s); /* others may have come meanwhile, and go first */
	return now_ns;
}

/* Applies and accepts pending jobs until the group is full; what does not fit stays pending. */
static void run_fill(struct store *s, struct run *r)
{
	unsigned mutant = store_mutant(s);
	uint64_t ticks = clock_now(s->clock), now_ns = s->manual ? 0 : base_monotonic_ns();
	while (run_next_job(s, r)) {
		struct member *m = &r->members[r->member_count++];
		*m = (struct member){ .job = pending_take(&s->pending) };
		if (m->job->attempts == JOB_REFUSED) {
			m->result = ERR_BUSY;
			continue;
		}
		r->bytes += apply_member(s, r, m, ticks);
		if (mutant == MUTANT_STALE_OVERLAY && r->member_count > 1)
			accept_member(s, r, m - 1);
		else if (mutant != MUTANT_OUT_OF_ORDER && mutant != MUTANT_STALE_OVERLAY)
			accept_member(s, r, m);
		now_ns = run_charge(s, r, m->job, now_ns);
		if (!pending_next(&s->pending) && !r->alone) {
			take_pushed(s);
			/* Read the clock again: a transaction's time must not precede its request, or a visibility
			 * timeout ends early. */
			ticks = clock_now(s->clock);
		}
	}
	if (mutant == MUTANT_STALE_OVERLAY)
		accept_member(s, r, &r->members[r->member_count - 1]);
	if (mutant == MUTANT_OUT_OF_ORDER)
		for (size_t i = r->member_count; i-- > 0;)
			accept_member(s, r, &r->members[i]);
}

/* Begins a group for the jobs that are pending. False: the engine could not, and one job was told. */
static bool run_begin(struct store *s, struct run *r)
{
	assert(!r->group); /* the one before was given to the engine, or aborted */
	r->alone = s->alone_count > 0;
	s->alone_count -= r->alone;
	r->partition = pending_next(&s->pending)->partition;
	r->member_count = r->bytes = 0;
	r->spent = 0;
	r->others_served = false;
	written_clear(r);
	enum err err = commit_begin(s, r);
	if (err != ERR_OK) {
		r->members[r->member_count++] = (struct member){ .job = pending_take(&s->pending), .result = err };
		commit_answer(s, r);
	}
	return err == ERR_OK;
}

/* ---- one group after the other ---- */

static void stopped_answer(struct store *s)
{
	while (pending_next(&s->pending))
		store_answer(s, pending_take(&s->pending), ERR_STOPPED);
	s->alone_count = 0;
}

size_t committer_step(struct store *s)
{
	struct run *r = &s->run[0];
	take_pushed(s);
	if (!pending_next(&s->pending))
		return 0;
	size_t before = atomic_load(&s->queued_count);
	if (atomic_load(&s->stopped)) {
		stopped_answer(s);
	} else if (run_begin(s, r)) {
		run_fill(s, r);
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

static bool step_until_closed(struct relay *relay, void *arg)
{
	struct store *s = arg;
	for (;;) {
		choose_pace(s);
		if (relay_changes(relay))
			return false;
		take_pushed(s);
		if (pending_next(&s->pending)) {
			committer_step(s);
			continue;
		}
		if (atomic_load(&s->closing))
			return true;
		atomic_store(&s->idle, IDLE);
		if (atomic_load(&s->pushed) || atomic_load(&s->closing))
			atomic_store(&s->idle, AWAKE);
		else
			futex(&s->idle, FUTEX_WAIT, IDLE);
	}
}

/* ---- groups that overlap ---- */

/* The second thread: commits what it is handed. A group that did not happen is left to the committer to judge. */
static bool write_until_closed(struct relay *relay, void *arg)
{
	struct store *s = arg;
	for (;;) {
		if (relay_changes(relay))
			return false;
		while (sem_wait(&s->writer_wake) != 0)
			;
		struct run *r = atomic_load(&s->handed);
		if (!r)
			return true;
		enum outcome o = commit_run(s, r);
		if (o == OUTCOME_DONE)
			commit_settle(s, r, o);
		else
			s->undone = o;
		atomic_store(&s->handed, NULL);
		wake(s);
	}
}

/* The group before this one did not happen, or this one cannot: its jobs are pending again. */
static void run_undo(struct store *s, struct run *r)
{
	if (r->group)
		s->engine->ops->group_abort(r->group);
	r->group = NULL;
	commit_settle_volatiles(s, r, false);
	commit_push_back(s, r);
}

static void hand_over(struct store *s, struct run *r)
{
	commit_close(s, r);
	/* One client that waits for each answer gains nothing from a second thread. */
	if (r->alone || (r->member_count == 1 && atomic_load(&s->queued_count) == 1)) {
		commit_settle(s, r, commit_run(s, r));
		return;
	}
	/* The writer has one at a time, and the one that is built next is not it. */
	assert(!atomic_load(&s->handed) && r == s->building);
	s->building = &s->run[r == &s->run[0]];
	atomic_store(&s->handed, r);
	sem_post(&s->writer_wake);
}

/* What the writer could not do. Behind it, what was built on it. */
static void judge_undone(struct store *s)
{
	struct run *r = &s->run[s->building == &s->run[0]];
	enum outcome o = s->undone;
	assert(!atomic_load(&s->handed) && o != OUTCOME_DONE);
	s->undone = OUTCOME_DONE;
	if (s->building->group)
		run_undo(s, s->building);
	commit_settle(s, r, o);
}

/* Sleeps until there is something to do. */
static void doze(struct store *s, bool writer_busy)
{
	enum idle how = writer_busy ? IDLE_WRITER_BUSY : IDLE;
	atomic_store(&s->idle, how);
	bool writer_ended = writer_busy && !atomic_load(&s->handed);
	if (atomic_load(&s->pushed) || writer_ended || (!writer_busy && atomic_load(&s->closing)))
		atomic_store(&s->idle, AWAKE);
	else
		futex(&s->idle, FUTEX_WAIT, how);
}

static bool overlap_until_closed(struct relay *relay, void *arg)
{
	struct store *s = arg;
	for (;;) {
		choose_pace(s);
		if (relay_changes(relay))
			return false;
		struct run *r = s->building;
		bool busy = atomic_load(&s->handed) != NULL;
		if (!busy && s->undone != OUTCOME_DONE) {
			judge_undone(s);
			continue;
		}
		take_pushed(s);
		if (!busy && atomic_load(&s->stopped)) {
			if (r->group)
				run_undo(s, r);
			stopped_answer(s);
		}
		bool one_by_one = s->alone_count > 0 || (r->group && r->alone);
		if (pending_next(&s->pending) && !r->group && !(busy && one_by_one) && !run_begin(s, r))
			continue;
		if (pending_next(&s->pending) && r->group)
			run_fill(s, r);
		if (r->group && !busy) {
			hand_over(s, r);
			continue;
		}
		if (!busy && !pending_next(&s->pending) && atomic_load(&s->closing))
			return true;
		doze(s, busy);
	}
}

/* ---- threads ---- */

bool committer_start(struct store *s)
{
	s->building = &s->run[0];
	/* The mutants are made for one group at a time. */
	bool overlap = s->engine->ops->groups_overlap && !store_mutant(s);
	if (overlap) {
		sem_init(&s->writer_wake, 0, 0);
		if (!relay_start(&s->writer, "writer", write_until_closed, s, &s->pace))
			return false;
	}
	return relay_start(&s->committer, "committer", overlap ? overlap_until_closed : step_until_closed, s, &s->pace);
}

void committer_close(struct store *s)
{
	atomic_store(&s->closing, true);
	if (s->committer.runs) {
		wake(s);
		relay_join(&s->committer);
	}
	if (s->writer.runs) { /* nothing is handed to it: it ends */
		sem_post(&s->writer_wake);
		relay_join(&s->writer);
		sem_destroy(&s->writer_wake);
	}
}
