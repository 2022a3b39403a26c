/* SPDX-License-Identifier: Apache-2.0
 * Commits step back while many read, and only then. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/sys/thread.h"
#include "engine/mem/mem.h"
#include "store/store.h"

#define PARTITION SLICE("p")
#define KEY	  SLICE("k")
enum { PATIENCE_S = 30 };

static int nice_of_me(void)
{
	return getpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid));
}

struct house {
	struct store *store;
	atomic_bool reading;
};

static enum err look(struct txn *t, void *call)
{
	struct slice value;
	(void)call;
	return txn_get(t, KEY, &value);
}

static void *reader_main(void *arg)
{
	struct house *h = arg;
	struct arena arena;
	arena_init(&arena, MIB);
	while (atomic_load(&h->reading)) {
		assert_int_equal(store_read_points(h->store, PARTITION, look, NULL, &arena), ERR_OK);
		arena_reset(&arena);
	}
	arena_fini(&arena);
	return NULL;
}

/* ---- a write that tells how far its committer stepped back ---- */

struct asked {
	struct store_job job;
	sem_t done;
	int nice;
};

static enum err write_and_tell(struct txn *t, void *call)
{
	struct asked *a = call;
	a->nice = nice_of_me();
	return txn_put(t, KEY, SLICE("v"));
}

static void done(struct store_job *job, enum err result)
{
	struct asked *a = job->owner;
	assert_int_equal(result, ERR_OK);
	sem_post(&a->done);
}

static int nice_of_commit(struct store *s)
{
	struct arena arena;
	struct asked a = { .nice = -100 };
	arena_init(&arena, MIB);
	sem_init(&a.done, 0, 0);
	a.job = (struct store_job){
		.partition = PARTITION, .apply = write_and_tell, .call = &a, .arena = &arena, .done = done, .owner = &a
	};
	store_write(s, &a.job);
	while (sem_wait(&a.done) != 0)
		;
	sem_destroy(&a.done);
	arena_fini(&arena);
	return a.nice;
}

/* Commits until one is made so; false: none was for PATIENCE_S. */
static bool comes_to(struct store *s, int nice)
{
	time_t until = time(NULL) + PATIENCE_S;
	while (time(NULL) < until)
		if (nice_of_commit(s) == nice)
			return true;
	return false;
}

static void test_commits_step_back_while_many_read(void **state)
{
	(void)state;
	struct house h = { .reading = false };
	struct engine *engine;
	struct clock clock;
	pthread_t reader;
	int ordinary = nice_of_me();
	clock_init_wall(&clock, NULL);
	assert_int_equal(engine_mem_open(NULL, &engine), ERR_OK);
	assert_int_equal(store_open(engine, &(struct store_options){ .clock = &clock }, &h.store), ERR_OK);
	for (int i = 0; i < 1000; i++) /* nobody reads */
		assert_int_equal(nice_of_commit(h.store), ordinary);
	for (int round = 0; round < 3; round++) {
		atomic_store(&h.reading, true);
		assert_int_equal(pthread_create(&reader, NULL, reader_main, &h), 0);
		assert_true(comes_to(h.store, ordinary + THREAD_COMMITS < 19 ? ordinary + THREAD_COMMITS : 19));
		atomic_store(&h.reading, false);
		pthread_join(reader, NULL);
		assert_true(comes_to(h.store, ordinary));
	}
	store_close(h.store);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_commits_step_back_while_many_read) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
