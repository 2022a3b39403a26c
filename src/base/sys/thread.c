/* SPDX-License-Identifier: Apache-2.0
 * The priority of a thread, in steps of nice: Linux keeps one a thread. And its waits, as Linux counts them. */
#include "base/sys/thread.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

void thread_lower_priority(int by)
{
	/* On Linux the priority is each thread's own, and new threads begin with their maker's. */
	id_t me = (id_t)syscall(SYS_gettid);
	(void)setpriority(PRIO_PROCESS, me, getpriority(PRIO_PROCESS, me) + by);
}

static uint64_t ns_of(struct timeval t)
{
	return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_usec * 1000;
}

struct thread_usage thread_usage(void)
{
	struct rusage u;
	if (getrusage(RUSAGE_THREAD, &u) != 0)
		return (struct thread_usage){ 0 };
	return (struct thread_usage){ ns_of(u.ru_utime) + ns_of(u.ru_stime), (uint64_t)u.ru_nvcsw };
}

uint64_t thread_waits(void)
{
	return thread_usage().waits;
}
