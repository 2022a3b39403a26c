/* SPDX-License-Identifier: Apache-2.0
 * Accounts take turns in the committer: the order in which jobs are taken, and, with threads, that a small write waits
 * for one large commit of another account and not for all that are queued. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/limits.h"
#include "engine/mem/mem.h"
#include "store/commit/pending.h"

#include <stdatomic.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define LARGE                                                                                                          \
	SLICE("large\x01"                                                                                              \
	      "c1")
#define SMALL                                                                                                          \
	SLICE("small\x01"                                                                                              \
	      "c1")
enum { LARGE_JOBS = 8, LARGE_MS = 30, SMALL_WAITS_FOR_MAX = 2 };

static struct store_job job(struct slice partition)
{
	return (struct store_job){ .partition = partition };
}

static void who_used_less_is_next(void **state)
{
	struct pending p = { .waiting = 0 };
	struct store_job a[3] = { job(LARGE), job(LARGE), job(LARGE) }, b[2] = { job(SMALL), job(SMALL) };
	assert_null(pending_next(&p));
	for (int i = 0; i < 3; i++)
		pending_add(&p, &a[i]);
	assert_ptr_equal(pending_take(&p), &a[0]);
	pending_charge(&p, a[0].line, 100);
	pending_add(&p, &b[0]);
	pending_add(&p, &b[1]);
	assert_ptr_equal(pending_take(&p), &b[0]);
	pending_charge(&p, b[0].line, 60);
	assert_ptr_equal(pending_take(&p), &b[1]);
	pending_charge(&p, b[1].line, 60);
	assert_ptr_equal(pending_take(&p), &a[1]);
	assert_ptr_equal(pending_take(&p), &a[2]);
	assert_null(pending_next(&p));
}

static void who_was_away_has_no_credit(void **state)
{
	struct pending p = { .waiting = 0 };
	struct store_job a[40], b[2] = { job(SMALL), job(SMALL) };
	for (int i = 0; i < 40; i++) {
		a[i] = job(LARGE);
		pending_add(&p, &a[i]);
	}
	for (int i = 0; i < 20; i++)
		pending_charge(&p, pending_take(&p)->line, 100);
	pending_add(&p, &b[0]);
	pending_add(&p, &b[1]);
	/* Not both of b's, though a used 2,000 before: b comes level with a, and then they take turns. */
	assert_ptr_equal(pending_take(&p), &b[0]);
	pending_charge(&p, b[0].line, 150);
	assert_ptr_equal(pending_take(&p), &a[20]);
}

static void those_that_run_again_come_first(void **state)
{
	struct pending p = { .waiting = 0 };
	struct store_job a[2] = { job(LARGE), job(LARGE) }, b = job(SMALL);
	pending_add(&p, &a[0]);
	pending_add(&p, &a[1]);
	pending_add(&p, &b);
	struct store_job *first = pending_take(&p), *second = pending_take(&p);
	pending_add_again(&p, second);
	pending_add_again(&p, first);
	assert_ptr_equal(pending_take(&p), first);
	assert_ptr_equal(pending_take(&p), second);
}

/* ---- with threads ---- */

static atomic_int large_done, large_before_small = -1;
static atomic_bool begun;

static enum err apply_large(struct txn *txn, void *call)
{
	struct timespec t = { 0, LARGE_MS * 1000000L };
	atomic_store(&begun, true);
	nanosleep(&t, NULL);
	return txn_put(txn, SLICE("k"), SLICE("v"));
}

static enum err apply_small(struct txn *txn, void *call)
{
	return txn_put(txn, SLICE("k"), SLICE("v"));
}

static void done_large(struct store_job *j, enum err err)
{
	assert_int_equal(err, ERR_OK);
	atomic_fetch_add(&large_done, 1);
}

static void done_small(struct store_job *j, enum err err)
{
	assert_int_equal(err, ERR_OK);
	atomic_store(&large_before_small, atomic_load(&large_done));
}

static void a_small_write_waits_for_one_large_one(void **state)
{
	struct engine *engine;
	struct store *store;
	struct clock clock;
	struct arena arena[LARGE_JOBS + 1];
	struct store_job jobs[LARGE_JOBS + 1];
	clock_init_wall(&clock, NULL);
	assert_int_equal(engine_mem_open(NULL, &engine), ERR_OK);
	assert_int_equal(store_open(engine, &(struct store_options){ .clock = &clock }, &store), ERR_OK);
	for (int i = 0; i <= LARGE_JOBS; i++) {
		bool small = i == LARGE_JOBS;
		arena_init(&arena[i], MIB);
		jobs[i] = (struct store_job){ .partition = small ? SMALL : LARGE,
					      .apply = small ? apply_small : apply_large,
					      .arena = &arena[i],
					      .done = small ? done_small : done_large };
		if (small)
			while (!atomic_load(&begun))
				usleep(100);
		store_write(store, &jobs[i]);
	}
	store_close(store); /* all are answered */
	assert_int_equal(atomic_load(&large_done), LARGE_JOBS);
	assert_in_range(atomic_load(&large_before_small), 0, SMALL_WAITS_FOR_MAX);
	for (int i = 0; i <= LARGE_JOBS; i++)
		arena_fini(&arena[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_used_less_is_next),
		cmocka_unit_test(who_was_away_has_no_credit),
		cmocka_unit_test(those_that_run_again_come_first),
		cmocka_unit_test(a_small_write_waits_for_one_large_one),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
