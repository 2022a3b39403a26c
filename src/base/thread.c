/* SPDX-License-Identifier: Apache-2.0 */
#include "base/thread.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

void thread_step_back(int by)
{
	/* On Linux the priority is each thread's own, and new threads begin with their maker's. */
	(void)setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), by);
}
