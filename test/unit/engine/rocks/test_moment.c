/* SPDX-License-Identifier: Apache-2.0
 * Moments of a store while one thread commits and another flushes: each is a state between two
 * commits, in all families of RocksDB, and holds what was committed before it was asked for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "engine/rocks/rocks_int.h"
#include "folder.h"
#include "store/key.h"

#include <sys/stat.h>
#include <time.h>

enum { MOMENTS = 20, VALUE_BYTES = 32 * 1024 };

/* One row of each family. */
static const struct place {
	struct slice partition, key;
	enum family family;
} places[] = {
	{ { "p", 1 }, { "row", 3 }, FAMILY_ROWS },
	{ { "p", 1 }, { "data", 4 }, FAMILY_CONTENTS },
	{ { "\1store", 6 }, { "own", 3 }, FAMILY_METADATA },
};
enum { PLACES = sizeof places / sizeof places[0] };
_Static_assert((int)PLACES == (int)FAMILIES, "every family is looked at");

static struct engine *engine;
static atomic_uint_fast64_t committed;
static atomic_bool stop;
static pthread_t threads[2];
static unsigned thread_count;

static int setup(void **state)
{
	if (folder_make("moment") != 0)
		return -1;
	engine = folder_open();
	atomic_store(&committed, 0);
	atomic_store(&stop, false);
	return 0;
}

/* False: one of them failed. */
static bool end_threads(void)
{
	bool ok = true;
	void *failed;
	atomic_store(&stop, true);
	for (; thread_count; thread_count--) {
		pthread_join(threads[thread_count - 1], &failed);
		ok = ok && !failed;
	}
	return ok;
}

static int teardown(void **state)
{
	end_threads();
	engine->ops->close(engine);
	return folder_remove();
}

/* Returns something else than NULL if a commit failed: cmocka's asserts are for its own thread. */
static void *commit_main(void *arg)
{
	static char value[VALUE_BYTES];
	memset(value, 'v', sizeof value);
	for (uint64_t n = 1; !atomic_load(&stop); n++) {
		struct engine_group *g;
		if (engine->ops->group_begin(engine, &g) != ERR_OK)
			return &stop;
		bytes_store(value, n, 8);
		for (size_t i = 0; i < PLACES; i++) {
			struct write w = { .kind = WRITE_PUT,
					   .key = places[i].key,
					   .value = slice_make(value, sizeof value) };
			if (engine->ops->group_accept(g, places[i].partition, &w, 1) != ERR_OK)
				return &stop;
		}
		if (engine->ops->group_commit(g) != OUTCOME_DONE)
			return &stop;
		atomic_store(&committed, n);
	}
	return NULL;
}

static void *flush_main(void *arg)
{
	const struct timespec pause = { .tv_nsec = 2000000 }; /* or nobody else would get the lock */
	while (!atomic_load(&stop)) {
		if (rocks_flush(rocks_of(engine)) != ERR_OK)
			return &stop;
		nanosleep(&pause, NULL);
	}
	return NULL;
}

static uint64_t number_at(struct engine *e, const struct place *p)
{
	struct arena arena;
	struct slice value;
	arena_init(&arena, MIB);
	assert_int_equal(e->ops->get(e, NULL, p->partition, p->key, &arena, &value), ERR_OK);
	assert_int_equal(value.len, VALUE_BYTES);
	uint64_t n = bytes_load(value.ptr, 8);
	arena_fini(&arena);
	return n;
}

static void take_and_look(unsigned i)
{
	char folder[128], db[136];
	struct rocks_moment moment;
	struct engine *then;
	struct buf message;
	buf_init(&message, 4096);
	snprintf(folder, sizeof folder, "%s/moment%u", dir, i);
	snprintf(db, sizeof db, "%s/db", folder);
	assert_int_equal(mkdir(folder, 0700), 0);
	uint64_t before = atomic_load(&committed);
	assert_int_equal(engine_rocks_moment_begin(engine, db, &moment, &message), ERR_OK);
	uint64_t behind = atomic_load(&committed);
	assert_int_equal(engine_rocks_moment_open(engine, folder, &then, &message), ERR_OK);
	uint64_t n = number_at(then, &places[0]);
	for (size_t k = 1; k < PLACES; k++)
		assert_int_equal(number_at(then, &places[k]), n);
	assert_in_range(n, before, behind + 1);
	then->ops->close(then);
	engine_rocks_moment_end(engine, &moment);
	buf_fini(&message);
}

static void begin_thread(void *(*run)(void *))
{
	assert_int_equal(pthread_create(&threads[thread_count], NULL, run, NULL), 0);
	thread_count++;
}

static void test_one_moment_of_all_families(void **state)
{
	for (size_t i = 0; i < PLACES; i++)
		assert_int_equal(layout_family(places[i].partition, places[i].key), places[i].family);
	begin_thread(commit_main);
	while (atomic_load(&committed) == 0)
		sched_yield();
	begin_thread(flush_main);
	for (unsigned i = 0; i < MOMENTS; i++)
		take_and_look(i);
	assert_true(end_threads());
	/* The store itself goes on from its last commit. */
	engine->ops->close(engine);
	engine = folder_open();
	for (size_t i = 0; i < PLACES; i++)
		assert_int_equal(number_at(engine, &places[i]), atomic_load(&committed));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_one_moment_of_all_families, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
