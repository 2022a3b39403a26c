/* SPDX-License-Identifier: Apache-2.0
 * Committer and writer relieve each other at every group, while groups overlap, do not happen, or end everything: no
 * job is lost or done twice, and the end comes whoever is at work then (store/relay.h). Some of those who write commit
 * in their own threads where they may (store_write_alone). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "base/limits.h"
#include "engine/rocks/rocks_int.h"
#include "folder.h"
#include "store/store_int.h"

#include <errno.h>
#include <sched.h>
#include <time.h>

#define P                                                                                                              \
	SLICE("account\x01"                                                                                            \
	      "a")
enum { THREADS = 6, KEYS = 3, WRITES = 250, ROUNDS = 12, QUEUED = 400, PATIENCE_S = 120 };

/* ---- a store whose pace changes all the time, on an engine that does not always do as it is told ---- */

static struct engine_ops ops;
static struct store *store;
static struct clock wall;
static atomic_uint turns, commits, commits_here;
static _Thread_local bool in_call;	   /* this thread asks for a commit, and is not the store's */
static unsigned undone_every, failed_from; /* commits; 0: none */
static atomic_bool held;		   /* commits of those who commit themselves */
static sem_t held_began, held_ends;
static atomic_uint applied;

static void change_pace(void)
{
	unsigned n = atomic_fetch_add(&turns, 1);
	if (store && n % 5 != 4) /* sometimes twice in a row as it is */
		atomic_store(&store->pace, n % 2 ? RELAY_NICED : RELAY_NORMAL);
}

static enum outcome commit(struct engine_group *g)
{
	unsigned n = atomic_fetch_add(&commits, 1) + 1;
	atomic_fetch_add(&commits_here, in_call);
	if (in_call && atomic_load(&held)) {
		sem_post(&held_began);
		while (sem_wait(&held_ends) != 0)
			;
	}
	change_pace();
	enum outcome o = failed_from && n >= failed_from	 ? OUTCOME_FAILED
			 : undone_every && n % undone_every == 0 ? OUTCOME_NO_SPACE
								 : OUTCOME_DONE;
	if (o == OUTCOME_DONE)
		return rocks_ops.group_commit(g);
	rocks_ops.group_abort(g);
	return o;
}

static void open_it(void)
{
	struct engine *e = folder_open();
	ops = *e->ops;
	ops.group_commit = commit;
	e->ops = &ops;
	atomic_store(&commits, 0);
	atomic_store(&commits_here, 0);
	assert_int_equal(store_open(e, &(struct store_options){ .clock = &wall }, &store), ERR_OK);
}

static void close_it(void)
{
	struct store *s = store;
	store_close(s);
	store = NULL;
}

static int setup(void **state)
{
	clock_init_wall(&wall, NULL);
	undone_every = failed_from = 0;
	return folder_make("turns");
}

static int teardown(void **state)
{
	return folder_remove();
}

/* ---- jobs that count ---- */

struct counting {
	struct store_job job;
	struct arena arena;
	char key[8];
	sem_t *done;
	enum err result;
	unsigned answers;
};

/* Reads and writes again: one that is lost or done twice is seen in the sum. */
static enum err count_up(struct txn *t, void *call)
{
	struct counting *c = call;
	struct slice value;
	char bytes[8];
	enum err err = txn_get(t, slice_str(c->key), &value);
	if (err != ERR_OK && err != ERR_NOT_FOUND)
		return err;
	bytes_store(bytes, err == ERR_OK ? bytes_load(value.ptr, 8) + 1 : 1, 8);
	change_pace();
	atomic_fetch_add(&applied, 1);
	return txn_put(t, slice_str(c->key), slice_make(bytes, sizeof bytes));
}

static void counted(struct store_job *job, enum err result)
{
	struct counting *c = job->owner;
	c->result = result;
	c->answers++;
	change_pace();
	sem_post(c->done);
}

enum way { QUEUED_ONLY, ALONE, HERE, TOGETHER, WAYS, HELD };

static void push(struct counting *c, unsigned key, enum way way, sem_t *done)
{
	*c = (struct counting){ .done = done };
	snprintf(c->key, sizeof c->key, "k%u", key);
	arena_init(&c->arena, MIB);
	c->job = (struct store_job){
		.partition = P, .apply = count_up, .call = c, .arena = &c->arena, .done = counted, .owner = c
	};
	enum err result;
	in_call = way != QUEUED_ONLY;
	c->job.may_wait = way == HERE;
	if (way == QUEUED_ONLY)
		store_write(store, &c->job);
	else if (way == ALONE)
		store_write_alone(store, &c->job);
	else if (way == TOGETHER || way == HELD)
		store_write_held(store, &c->job);
	else if (store_write_here(store, &c->job, &result))
		counted(&c->job, result);
	if (way == TOGETHER)
		store_write_together(store);
	in_call = false;
}

/* False: it was forgotten. */
static bool wait_for(sem_t *done)
{
	struct timespec until;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += PATIENCE_S;
	while (sem_timedwait(done, &until) != 0)
		if (errno != EINTR)
			return false;
	return true;
}

static uint64_t sum_of_all(void)
{
	struct arena arena;
	uint64_t sum = 0;
	arena_init(&arena, MIB);
	for (unsigned i = 0; i < KEYS; i++) {
		struct slice value;
		char key[8];
		snprintf(key, sizeof key, "k%u", i);
		enum err err = store_get(store, P, slice_str(key), &arena, &value);
		if (err == ERR_OK)
			sum += bytes_load(value.ptr, 8);
		else
			assert_int_equal(err, ERR_NOT_FOUND);
	}
	arena_fini(&arena);
	return sum;
}

struct writer {
	unsigned number;
	enum way way;
	uint64_t kept;
	const char *wrong;
};

/* Each waits for its answer: the queue is empty again and again, and all sleep. */
static void *write_one_by_one(void *arg)
{
	struct writer *w = arg;
	sem_t done;
	sem_init(&done, 0, 0);
	for (unsigned i = 0; i < WRITES && !w->wrong; i++) {
		struct counting c;
		push(&c, (w->number + i) % KEYS, w->way, &done);
		if (!wait_for(&done)) {
			w->wrong = "a job was never answered";
			return NULL; /* it may be yet, into what is here */
		}
		w->kept += c.result == ERR_OK;
		if (c.result != ERR_OK && c.result != ERR_NO_SPACE && c.result != ERR_STOPPED)
			w->wrong = "an answer that nobody could give";
		arena_fini(&c.arena);
	}
	sem_destroy(&done);
	return NULL;
}

static uint64_t race(void)
{
	pthread_t thread[THREADS];
	static struct writer writer[THREADS];
	uint64_t kept = 0;
	for (unsigned i = 0; i < THREADS; i++) {
		writer[i] = (struct writer){ .number = i, .way = i % WAYS };
		assert_int_equal(pthread_create(&thread[i], NULL, write_one_by_one, &writer[i]), 0);
	}
	for (unsigned i = 0; i < THREADS; i++) {
		pthread_join(thread[i], NULL);
		if (writer[i].wrong)
			fail_msg("%s", writer[i].wrong);
		kept += writer[i].kept;
	}
	return kept;
}

static void test_no_job_is_lost_between_two(void **state)
{
	open_it();
	assert_int_equal(race(), THREADS * WRITES);
	assert_int_equal(sum_of_all(), THREADS * WRITES);
	close_it();
}

/* Nobody else writes: nothing changes threads, but where the committer is at its queue at that very moment. */
static void test_who_is_alone_commits_itself(void **state)
{
	struct writer writer = { .way = ALONE };
	open_it();
	write_one_by_one(&writer);
	assert_null(writer.wrong);
	assert_int_equal(writer.kept, WRITES);
	assert_int_equal(sum_of_all(), WRITES);
	assert_true(atomic_load(&commits_here) > WRITES / 2);
	close_it();
}

/* As many as are held are one commit, by who held them. */
static void test_what_is_held_is_committed_together(void **state)
{
	struct counting c[KEYS];
	sem_t done;
	sem_init(&done, 0, 0);
	open_it();
	while (!atomic_load(&store->idle)) /* the committer sleeps, and has let go of the lock */
		sched_yield();
	pthread_mutex_lock(&store->build_lock);
	pthread_mutex_unlock(&store->build_lock);
	for (unsigned i = 0; i < KEYS; i++)
		push(&c[i], i, HELD, &done);
	assert_int_equal(atomic_load(&commits), 0);
	in_call = true;
	store_write_together(store);
	in_call = false;
	for (unsigned i = 0; i < KEYS; i++)
		assert_true(wait_for(&done));
	assert_int_equal(atomic_load(&commits), 1);
	assert_int_equal(atomic_load(&commits_here), 1);
	assert_int_equal(sum_of_all(), KEYS);
	close_it();
	for (unsigned i = 0; i < KEYS; i++)
		arena_fini(&c[i].arena);
}

static void *write_alone(void *arg)
{
	struct counting *c = arg;
	push(c, 0, ALONE, c->done);
	return NULL;
}

/* What came from others while somebody committed for himself is built by then, and nobody else will ask for it. */
static void test_what_came_meanwhile_is_not_forgotten(void **state)
{
	struct counting own, other;
	pthread_t thread;
	sem_t own_done, other_done;
	sem_init(&held_began, 0, 0);
	sem_init(&held_ends, 0, 0);
	sem_init(&own_done, 0, 0);
	sem_init(&other_done, 0, 0);
	own.done = &own_done;
	open_it();
	while (!atomic_load(&store->idle)) /* the committer sleeps, and has let go of the lock */
		sched_yield();
	pthread_mutex_lock(&store->build_lock);
	pthread_mutex_unlock(&store->build_lock);
	atomic_store(&held, true);
	atomic_store(&applied, 0);
	assert_int_equal(pthread_create(&thread, NULL, write_alone, &own), 0);
	assert_true(wait_for(&held_began));
	push(&other, 1, QUEUED_ONLY, &other_done);
	while (atomic_load(&applied) < 2)
		sched_yield();
	assert_int_equal(other.answers, 0);
	atomic_store(&held, false);
	sem_post(&held_ends);
	pthread_join(thread, NULL);
	assert_true(wait_for(&own_done));
	if (!wait_for(&other_done))
		fail_msg("a job was never answered");
	assert_int_equal(sum_of_all(), 2);
	close_it();
	arena_fini(&own.arena);
	arena_fini(&other.arena);
}

static void test_what_did_not_happen_runs_again(void **state)
{
	undone_every = 3;
	open_it();
	uint64_t kept = race();
	assert_true(kept > 0 && kept < THREADS * WRITES);
	assert_int_equal(sum_of_all(), kept);
	close_it();
	undone_every = 0;
	open_it();
	assert_int_equal(sum_of_all(), kept);
	close_it();
}

static void test_everybody_is_told_of_the_end(void **state)
{
	failed_from = 40;
	open_it();
	uint64_t kept = race();
	close_it();
	failed_from = 0;
	open_it();
	assert_int_equal(sum_of_all(), kept);
	close_it();
}

/* Whatever is queued is answered before the store is closed, whoever has the duties then. */
static void close_with_queue(unsigned round, uint64_t *kept)
{
	static struct counting queued[QUEUED];
	unsigned count = round % 3 ? QUEUED / (round % 3) : round; /* none at all, too */
	sem_t done;
	sem_init(&done, 0, 0);
	open_it();
	for (unsigned i = 0; i < count; i++)
		push(&queued[i], i % KEYS, QUEUED_ONLY, &done);
	close_it();
	for (unsigned i = 0; i < count; i++) {
		assert_int_equal(queued[i].answers, 1);
		*kept += queued[i].result == ERR_OK;
		arena_fini(&queued[i].arena);
	}
	sem_destroy(&done);
}

static void test_the_end_in_the_middle_of_a_change(void **state)
{
	uint64_t kept = 0;
	for (unsigned round = 0; round < ROUNDS; round++) {
		undone_every = round % 2 ? 4 : 0;
		close_with_queue(round, &kept);
	}
	undone_every = 0;
	open_it();
	assert_int_equal(sum_of_all(), kept);
	close_it();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_who_is_alone_commits_itself, setup, teardown),
		cmocka_unit_test_setup_teardown(test_what_is_held_is_committed_together, setup, teardown),
		cmocka_unit_test_setup_teardown(test_what_came_meanwhile_is_not_forgotten, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_job_is_lost_between_two, setup, teardown),
		cmocka_unit_test_setup_teardown(test_what_did_not_happen_runs_again, setup, teardown),
		cmocka_unit_test_setup_teardown(test_everybody_is_told_of_the_end, setup, teardown),
		cmocka_unit_test_setup_teardown(test_the_end_in_the_middle_of_a_change, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
