/* SPDX-License-Identifier: Apache-2.0
 * A relay: one thread at a time, of the kind that is wanted, and an end from either of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/sys/thread.h"
#include "store/commit/relay.h"

struct office {
	struct relay relay;
	sem_t work, done;
	atomic_uint wanted;
	atomic_uint inside; /* at once */
	bool ends;	    /* read once work was posted */
	/* plain: two threads in it at once would be a race that the sanitizer tells of */
	unsigned pieces;
	int nice;
};

static int nice_of_me(void)
{
	return getpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid));
}

/* Changes before and after it waits, as the committer does. */
static bool work(struct relay *d, void *arg)
{
	struct office *o = arg;
	assert_int_equal(atomic_fetch_add(&o->inside, 1), 0);
	bool over = false;
	while (!over && !relay_changes(d)) {
		while (sem_wait(&o->work) != 0)
			;
		over = o->ends;
		o->pieces++;
		o->nice = nice_of_me();
		sem_post(&o->done);
	}
	atomic_fetch_sub(&o->inside, 1);
	return over;
}

static void piece(struct office *o)
{
	sem_post(&o->work);
	while (sem_wait(&o->done) != 0)
		;
}

static void open_office(struct office *o)
{
	*o = (struct office){ .ends = false };
	sem_init(&o->work, 0, 0);
	sem_init(&o->done, 0, 0);
	assert_true(relay_start(&o->relay, "relay", work, o, &o->wanted));
}

static void close_office(struct office *o)
{
	o->ends = true;
	sem_post(&o->work);
	relay_join(&o->relay);
	sem_destroy(&o->work);
	sem_destroy(&o->done);
}

static void test_the_wanted_one_works(void **state)
{
	(void)state;
	struct office o;
	int ordinary = nice_of_me(), stepped_back = ordinary + THREAD_COMMITS < 19 ? ordinary + THREAD_COMMITS : 19;
	open_office(&o);
	for (unsigned round = 0; round < 2000; round++) {
		bool back = round % 2;
		atomic_store(&o.wanted, back ? RELAY_NICED : RELAY_NORMAL);
		piece(&o); /* whoever waited for it may still do this one */
		piece(&o);
		assert_int_equal(o.nice, back ? stepped_back : ordinary);
	}
	assert_int_equal(o.pieces, 4000);
	close_office(&o);
}

static void test_an_end_from_either(void **state)
{
	(void)state;
	for (unsigned round = 0; round < 200; round++) {
		struct office o;
		open_office(&o);
		atomic_store(&o.wanted, round % 2 ? RELAY_NICED : RELAY_NORMAL);
		for (unsigned i = 0; i < round % 4; i++)
			piece(&o);
		close_office(&o);
		assert_int_equal(o.pieces, round % 4 + 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_wanted_one_works),
		cmocka_unit_test(test_an_end_from_either),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
