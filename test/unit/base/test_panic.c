/* SPDX-License-Identifier: Apache-2.0
 * A process that dies tells what it was doing, whichever thread it is and however it dies. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/panic.h"

enum { LIGHT_OFF, LIGHT_ON, LIGHT_BROKEN };

struct lamp {
	uint32_t magic;
	unsigned number;
};

static void describe(struct panic_out *o, const void *subject)
{
	const struct lamp *l = subject;
	panic_put_text(o, "lamp ");
	panic_put_u64(o, l->number);
}

static void fail_magic(void)
{
	struct lamp l = { .magic = 1, .number = 42 };
	struct panic_subject before = panic_subject_set(describe, &l);
	MAGIC_CHECK(&l, 2);
	panic_subject_restore(before);
}

static void fail_state(void)
{
	static const unsigned allowed[] = { [LIGHT_OFF] = STATE_BIT(LIGHT_ON),
					    [LIGHT_ON] = STATE_BIT(LIGHT_OFF) | STATE_BIT(LIGHT_BROKEN),
					    [LIGHT_BROKEN] = 0 };
	STATE_CHECK(allowed, LIGHT_OFF, LIGHT_ON);
	STATE_CHECK(allowed, LIGHT_BROKEN, LIGHT_BROKEN);
	STATE_CHECK(allowed, LIGHT_BROKEN, LIGHT_ON);
}

static void *fail_thread(void *arg)
{
	struct lamp l = { .number = UINT32_MAX };
	pthread_setname_np(pthread_self(), "lamplighter");
	panic_subject_set(describe, &l);
	raise(SIGBUS);
	return NULL;
}

static void fail_in_thread(void)
{
	pthread_t t;
	pthread_create(&t, NULL, fail_thread, NULL);
	pthread_join(t, NULL);
}

static void fail_restored(void)
{
	struct lamp l = { .number = 7 };
	panic_subject_restore(panic_subject_set(describe, &l));
	assert(0 && "nothing under way");
}

/* Runs it in a process of its own; returns the signal it died by. */
static int run(void (*die)(void), char *text, size_t size)
{
	int fds[2], status;
	size_t len = 0;
	ssize_t n;
	assert_int_equal(pipe(fds), 0);
	pid_t pid = fork();
	if (pid == 0) {
		struct rlimit none = { 0, 0 };
		setrlimit(RLIMIT_CORE, &none);
		dup2(fds[1], STDERR_FILENO);
		for (int s = SIGABRT; s; s = s == SIGABRT ? SIGBUS : 0)
			signal(s, SIG_DFL); /* those of the test program */
		panic_install();
		die();
		_exit(0);
	}
	close(fds[1]);
	while ((n = read(fds[0], text + len, size - 1 - len)) > 0)
		len += (size_t)n;
	text[len] = 0;
	close(fds[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static void it_tells_what_was_under_way(void **state)
{
	char text[4096];
	assert_int_equal(run(fail_magic, text, sizeof text), SIGABRT);
	assert_non_null(strstr(text, "magic"));
	assert_non_null(strstr(text, ", at lamp 42\n"));
	assert_int_equal(run(fail_in_thread, text, sizeof text), SIGBUS);
	assert_non_null(strstr(text, "in thread lamplighter, at lamp 4294967295\n"));
}

static void what_is_done_is_not_told(void **state)
{
	char text[4096];
	assert_int_equal(run(fail_restored, text, sizeof text), SIGABRT);
	assert_non_null(strstr(text, "nothing under way"));
	assert_null(strstr(text, "lamp "));
}

static void a_forbidden_transition_ends_the_process(void **state)
{
	char text[4096];
	assert_int_equal(run(fail_state, text, sizeof text), SIGABRT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_tells_what_was_under_way),
		cmocka_unit_test(what_is_done_is_not_told),
		cmocka_unit_test(a_forbidden_transition_ends_the_process),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
