/* SPDX-License-Identifier: Apache-2.0
 * Last words of a process that dies by itself. Everything here may run in a signal handler. */
#include "base/panic.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { PANIC_BYTES = 1024, THREAD_NAME_BYTES = 16 };

struct panic_out {
	char text[PANIC_BYTES];
	size_t len;
};

_Thread_local struct panic_subject panic_subject;
static atomic_flag panicking = ATOMIC_FLAG_INIT;

void panic_put_text(struct panic_out *o, const char *s)
{
	while (s && *s && o->len < sizeof o->text - 1)
		o->text[o->len++] = *s++;
}

void panic_put_u64(struct panic_out *o, uint64_t v)
{
	char digits[24];
	size_t at = sizeof digits - 1;
	digits[at] = 0;
	do
		digits[--at] = (char)('0' + v % 10);
	while (v /= 10);
	panic_put_text(o, digits + at);
}

static void panic_print(int number)
{
	struct panic_out out = { .len = 0 };
	char name[THREAD_NAME_BYTES] = "";
	struct panic_subject s = panic_subject;
	panic_put_text(&out, "zaffre: ended by signal ");
	panic_put_u64(&out, (uint64_t)number);
	panic_put_text(&out, " in thread ");
	(void)prctl(PR_GET_NAME, name);
	panic_put_text(&out, name);
	/* A subject that is broken itself ends here by a second signal; what came before is printed. */
	panic_put_text(&out, s.describe ? ", at " : "\n");
	(void)!write(STDERR_FILENO, out.text, out.len);
	if (!s.describe)
		return;
	out.len = 0;
	s.describe(&out, s.subject);
	out.text[out.len++] = '\n';
	(void)!write(STDERR_FILENO, out.text, out.len);
}

static void panic_signal(int number)
{
	/* The signal's own handling is the default again (SA_RESETHAND), so raising it ends the process. */
	if (!atomic_flag_test_and_set(&panicking))
		panic_print(number);
	raise(number);
}

void panic_install(void)
{
	static const int numbers[] = { SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL };
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
		struct sigaction old,
			mine = { .sa_handler = panic_signal, .sa_flags = (int)(SA_RESETHAND | SA_NODEFER) };
		sigemptyset(&mine.sa_mask);
		if (sigaction(numbers[i], NULL, &old) == 0 && old.sa_handler == SIG_DFL)
			sigaction(numbers[i], &mine, NULL);
	}
}
