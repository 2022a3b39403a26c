/* SPDX-License-Identifier: Apache-2.0
 * Slots of large copies: an owner that has all it may have is told to wait, another still gets one, and a slot that was
 * given up is free again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <unistd.h>

#include "engine/mem/mem.h"
#include "jobs/copy.h"
#include "store/store.h"

static enum err prepare(struct copy_jobs *jobs, unsigned owner, struct copy_job **ret)
{
	uint64_t pin = 0;
	struct copy_job_spec spec = { .owner = owner, .partition = SLICE("partition"), .name = SLICE("name") };
	return copy_job_prepare(jobs, &spec, &pin, ret);
}

static void an_owner_leaves_room_for_others(void **state)
{
	struct engine *engine;
	struct store *store;
	struct clock clock;
	struct copy_jobs *jobs;
	struct copy_job *job[COPY_JOBS_MAX], *none;
	clock_init_wall(&clock, NULL);
	struct store_options options = { .clock = &clock };
	assert_int_equal(engine_mem_open(NULL, &engine), ERR_OK);
	assert_int_equal(store_open(engine, &options, &store), ERR_OK);
	assert_int_equal(copy_jobs_new(store, &jobs), ERR_OK);
	for (size_t i = 0; i < COPY_JOBS_OWNER_MAX; i++)
		assert_int_equal(prepare(jobs, 1, &job[i]), ERR_OK);
	assert_int_equal(prepare(jobs, 1, &none), ERR_BUSY);
	for (size_t i = COPY_JOBS_OWNER_MAX; i < COPY_JOBS_MAX; i++)
		assert_int_equal(prepare(jobs, 2, &job[i]), ERR_OK);
	assert_int_equal(prepare(jobs, 3, &none), ERR_BUSY);
	copy_job_give_up(job[0]);
	enum err e = ERR_BUSY;
	for (int i = 0; i < 1000 && e == ERR_BUSY; i++) { /* its thread ends by itself */
		usleep(1000);
		e = prepare(jobs, 3, &job[0]);
	}
	assert_int_equal(e, ERR_OK);
	for (size_t i = 0; i < COPY_JOBS_MAX; i++)
		copy_job_give_up(job[i]);
	copy_jobs_free(jobs);
	store_close(store);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(an_owner_leaves_room_for_others) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
