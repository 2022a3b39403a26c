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

uint64_t thread_waits(void)
{
	struct rusage u;
	return getrusage(RUSAGE_THREAD, &u) == 0 ? (uint64_t)u.ru_nvcsw : 0;
}
