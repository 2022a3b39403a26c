/* SPDX-License-Identifier: Apache-2.0
 * Reads with a deadline: what they do and what they wait for counts, what other threads do on their core does not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <time.h>

#include "base/limits.h"
#include "engine/mem/mem.h"
#include "store/store.h"

enum { BUDGET_NS = 5 * 1000 * 1000, LONG_NS = 4 * BUDGET_NS };

static sem_t rival_wake;
static atomic_bool rival_ran;

static uint64_t own_ns(void)
{
	struct timespec t;
	assert_int_equal(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t), 0);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* Of this thread's own time: on a busy machine others have most of any other. */
static void spin(uint64_t ns)
{
	for (uint64_t end = own_ns() + ns; own_ns() < end;)
		;
}

static enum err scan(struct txn *t)
{
	struct rows rows;
	return txn_scan(t, &(struct scan_spec){ .from = SLICE("a"), .until = SLICE("z"), .limit_rows = 10 }, &rows);
}

static enum err apply_nothing(struct txn *t, void *call)
{
	(void)call;
	TRY(scan(t));
	return scan(t);
}

static enum err apply_work(struct txn *t, void *call)
{
	(void)call;
	TRY(scan(t));
	spin(LONG_NS);
	return scan(t);
}

static enum err apply_sleep(struct txn *t, void *call)
{
	(void)call;
	TRY(scan(t));
	base_sleep_ns(LONG_NS);
	return scan(t);
}

/* Wakes a thread that goes first on this core, and is on its way again when that lets it. */
static enum err apply_give_way(struct txn *t, void *call)
{
	(void)call;
	TRY(scan(t));
	sem_post(&rival_wake);
	while (!atomic_load(&rival_ran))
		;
	return scan(t);
}

static void *rival_main(void *arg)
{
	(void)arg;
	while (sem_wait(&rival_wake) != 0)
		;
	spin(LONG_NS);
	atomic_store(&rival_ran, true);
	return NULL;
}

static enum err read_with(apply_fn *apply, uint64_t budget_ns)
{
	struct engine *engine;
	struct store *store;
	struct clock clock;
	struct arena arena;
	clock_init_fake(&clock, TICKS_UNIX_EPOCH + 1000 * TICKS_PER_SECOND);
	assert_int_equal(engine_mem_open(NULL, &engine), ERR_OK);
	assert_int_equal(store_open(engine, &(struct store_options){ .clock = &clock, .manual = true }, &store),
			 ERR_OK);
	arena_init(&arena, MIB);
	enum err e = store_read_until(store, SLICE("partition"), apply, NULL, &arena, base_monotonic_ns() + budget_ns);
	arena_fini(&arena);
	store_close(store);
	return e;
}

static void deadlines(void **state)
{
	(void)state;
	assert_int_equal(read_with(apply_nothing, LONG_NS * UINT64_C(1000)), ERR_OK);
	assert_int_equal(read_with(apply_nothing, 0), ERR_BUDGET);
	assert_int_equal(read_with(apply_work, BUDGET_NS), ERR_BUDGET);
	assert_int_equal(read_with(apply_sleep, BUDGET_NS), ERR_BUDGET);
}

static void others_on_the_core(void **state)
{
	(void)state;
	cpu_set_t one, before;
	pthread_t rival;
	pthread_attr_t attr;
	assert_int_equal(pthread_getaffinity_np(pthread_self(), sizeof before, &before), 0);
	CPU_ZERO(&one);
	for (int i = 0; i < CPU_SETSIZE && !CPU_COUNT(&one); i++)
		if (CPU_ISSET(i, &before))
			CPU_SET(i, &one);
	sem_init(&rival_wake, 0, 0);
	pthread_attr_init(&attr);
	pthread_attr_setinheritsched(&attr, PTHREAD_EXPLICIT_SCHED);
	pthread_attr_setschedpolicy(&attr, SCHED_FIFO);
	pthread_attr_setschedparam(&attr, &(struct sched_param){ .sched_priority = 1 });
	pthread_attr_setaffinity_np(&attr, sizeof one, &one);
	int refused = pthread_create(&rival, &attr, rival_main, NULL);
	pthread_attr_destroy(&attr);
	if (refused)
		skip(); /* who is not root has no such threads */
	assert_int_equal(pthread_setaffinity_np(pthread_self(), sizeof one, &one), 0);
	enum err e = read_with(apply_give_way, BUDGET_NS);
	pthread_join(rival, NULL);
	pthread_setaffinity_np(pthread_self(), sizeof before, &before);
	sem_destroy(&rival_wake);
	assert_int_equal(e, ERR_OK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(deadlines),
		cmocka_unit_test(others_on_the_core),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
