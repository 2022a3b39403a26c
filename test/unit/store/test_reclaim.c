/* SPDX-License-Identifier: Apache-2.0
 * Space that cannot be given back is told of, once, and tried again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "engine/mem/mem.h"
#include "store/store.h"

enum { PATIENCE_S = 60, FAILURES = 4, TEXT_BYTES = 4096 };

static atomic_uint rounds;

static enum err reclaim(struct engine *e, bool *ret_more)
{
	(void)e;
	*ret_more = false;
	return atomic_fetch_add(&rounds, 1) < FAILURES ? ERR_CORRUPT : ERR_OK;
}

static void stats(struct engine *e, struct engine_stats *ret)
{
	(void)e;
	*ret = (struct engine_stats){ .retired_waiting = 1 };
}

static bool comes_to(unsigned count)
{
	time_t until = time(NULL) + PATIENCE_S;
	while (atomic_load(&rounds) < count) {
		struct timespec moment = { .tv_nsec = 10 * 1000 * 1000 };
		if (time(NULL) >= until)
			return false;
		nanosleep(&moment, NULL);
	}
	return true;
}

static void test_what_cannot_be_given_back_is_told_once(void **state)
{
	(void)state;
	struct engine *engine;
	struct store *store;
	struct clock clock;
	char text[TEXT_BYTES];
	FILE *told = tmpfile();
	int before = dup(STDERR_FILENO);
	assert_true(told && before >= 0);
	clock_init_wall(&clock, NULL);
	assert_int_equal(engine_mem_open(NULL, &engine), ERR_OK);
	struct engine_ops ops = *engine->ops;
	ops.reclaim = reclaim;
	ops.stats = stats;
	engine->ops = &ops;

	dup2(fileno(told), STDERR_FILENO);
	enum err err = store_open(engine, &(struct store_options){ .clock = &clock }, &store);
	bool came = err == ERR_OK && comes_to(FAILURES + 2);
	if (err == ERR_OK)
		store_close(store);
	dup2(before, STDERR_FILENO);
	close(before);
	assert_int_equal(err, ERR_OK);
	assert_true(came);

	ssize_t n = pread(fileno(told), text, sizeof text - 1, 0);
	text[n > 0 ? n : 0] = 0;
	fclose(told);
	const char *first = strstr(text, "giving back the space of what was deleted failed (CORRUPT)");
	assert_non_null(first);
	assert_null(strstr(first + 1, "giving back"));
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_what_cannot_be_given_back_is_told_once) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
