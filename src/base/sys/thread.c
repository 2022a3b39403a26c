/* SPDX-License-Identifier: Apache-2.0
 * The priority of a thread, in steps of nice: Linux keeps one a thread. */
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
