/* SPDX-License-Identifier: Apache-2.0
 * The heart beats while loops and committer move, stops while one of them does not, and beats again afterwards. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <unistd.h>

#include "base/sys/clock.h"
#include "engine/mem/mem.h"
#include "server/guard/watchdog.h"

enum { LOOPS = 2, PERIOD_MS = 40, PATIENCE_MS = 20000 };

struct bench {
	struct clock clock;
	struct engine *engine;
	struct store *store;
	struct io_loop *loop[LOOPS];
	pthread_t thread[LOOPS];
	struct io_task hang;
	struct store_job job;
	struct arena arena;
	sem_t hanging, go_on;
	atomic_uint beats;
};
static struct bench b;

static void *loop_main(void *loop)
{
	io_loop_run(loop, NULL, NULL);
	return NULL;
}

static void beat(void *arg)
{
	atomic_fetch_add(&b.beats, 1);
}

static void hang(void)
{
	sem_post(&b.hanging);
	while (sem_wait(&b.go_on) != 0)
		;
}
static void loop_hangs(struct io_task *t)
{
	hang();
}
static enum err apply_hangs(struct txn *txn, void *call)
{
	hang();
	return ERR_NOT_FOUND;
}
static void job_done(struct store_job *job, enum err e)
{
	sem_post(&b.hanging);
}

static void beats_again(void)
{
	unsigned before = atomic_load(&b.beats);
	for (int ms = 0; ms < PATIENCE_MS && atomic_load(&b.beats) < before + 3; ms++)
		usleep(1000);
	assert_true(atomic_load(&b.beats) >= before + 3);
}

/* One question may have been answered before the hang began: after that beat there is none. */
static void beats_no_more(void)
{
	usleep(2 * PERIOD_MS * 1000);
	unsigned before = atomic_load(&b.beats);
	usleep(5 * PERIOD_MS * 1000);
	assert_int_equal(atomic_load(&b.beats), before);
}

static void test_a_thread_that_hangs_stops_the_heart(void **state)
{
	struct mem_options options = { .seed = 1 };
	clock_init_wall(&b.clock, NULL);
	sem_init(&b.hanging, 0, 0);
	sem_init(&b.go_on, 0, 0);
	arena_init(&b.arena, 65536);
	assert_int_equal(engine_mem_open(&options, &b.engine), ERR_OK);
	struct store_options store = { .clock = &b.clock };
	assert_int_equal(store_open(b.engine, &store, &b.store), ERR_OK);
	for (size_t i = 0; i < LOOPS; i++) {
		assert_int_equal(io_loop_new(&b.loop[i]), ERR_OK);
		assert_int_equal(pthread_create(&b.thread[i], NULL, loop_main, b.loop[i]), 0);
	}
	struct watchdog_options o = {
		.loops = b.loop, .loop_count = LOOPS, .store = b.store, .period_ms = PERIOD_MS, .beat = beat
	};
	struct watchdog *w = watchdog_start(&o);
	assert_non_null(w);
	beats_again();
	for (size_t i = 0; i < LOOPS; i++) {
		b.hang.run = loop_hangs;
		io_loop_post(b.loop[i], &b.hang);
		sem_wait(&b.hanging);
		beats_no_more();
		sem_post(&b.go_on);
		beats_again();
	}
	b.job = (struct store_job){
		.partition = SLICE("p"), .apply = apply_hangs, .arena = &b.arena, .done = job_done
	};
	store_write(b.store, &b.job);
	sem_wait(&b.hanging);
	beats_no_more();
	sem_post(&b.go_on);
	sem_wait(&b.hanging); /* done */
	beats_again();
	watchdog_stop(w);
	for (size_t i = 0; i < LOOPS; i++) {
		io_loop_stop(b.loop[i]);
		pthread_join(b.thread[i], NULL);
		io_loop_free(b.loop[i]);
	}
	store_close(b.store);
	arena_fini(&b.arena);
}

static void test_the_manager_says_how_often(void **state)
{
	char me[32];
	snprintf(me, sizeof me, "%d", (int)getpid());
	assert_int_equal(watchdog_period_ms(NULL, NULL), 0);
	assert_int_equal(watchdog_period_ms("30000000", NULL), 30000);
	assert_int_equal(watchdog_period_ms("30000000", me), 30000);
	assert_int_equal(watchdog_period_ms("30000000", "1"), 0); /* somebody else's */
	assert_int_equal(watchdog_period_ms("soon", NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_thread_that_hangs_stops_the_heart),
		cmocka_unit_test(test_the_manager_says_how_often),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
