/* SPDX-License-Identifier: Apache-2.0
 * Which threads go first where cores are scarce: those that answer; then, while many read, those that commit, so that
 * reads do not slow down while writes run at full rate; then those that only tidy up. Long work of requests and the
 * background rounds give way a little, and no more: nice is towards other programs, too, and where those compute a
 * thread of nice 10 has a tenth of its turns. Where a core is free it makes no difference. */
#ifndef BASE_THREAD_H
#define BASE_THREAD_H

#include <stdint.h>

enum { THREAD_WORKS_LONG = 5, THREAD_BACKGROUND = 5, THREAD_COMMITS = 9, THREAD_TIDIES = 12 };

/* Lowers the priority of the calling thread, and of those it will start, by so many steps of nice. */
void thread_lower_priority(int by);
/* How often the calling thread has given up its core to wait for something: a disk, a lock. Not for its turn. */
uint64_t thread_waits(void);

struct thread_usage {
	uint64_t cpu_ns, waits;
};
/* What the calling thread has used so far. A system call. */
struct thread_usage thread_usage(void);

#endif
