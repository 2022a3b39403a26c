/* SPDX-License-Identifier: Apache-2.0
 * A heart that beats only while everything that others wait for still moves: each event loop runs a task, and the
 * committer and its writer take a transaction that writes nothing. Whoever has not answered by the next beat holds it
 * back. Threads: one of its own; start and stop from one thread. */
#ifndef SERVER_GUARD_WATCHDOG_H
#define SERVER_GUARD_WATCHDOG_H

#include "io/loop.h"
#include "store/store.h"

struct watchdog;

struct watchdog_options {
	struct io_loop *const *loops;
	size_t loop_count;
	struct store *store;
	uint64_t period_ms;
	void (*beat)(void *);
	void *arg;
};

/* NULL: no memory or thread. */
struct watchdog *watchdog_start(const struct watchdog_options *);
/* While loops and store still run: waits for the answers that are under way, so that nothing is left of it. A loop that
 * hangs is waited for, as its own end would be. Accepts NULL. */
void watchdog_stop(struct watchdog *);
/* How often the manager wants to hear of us, in ms; 0: it does not. */
uint64_t watchdog_period_ms(const char *watchdog_usec, const char *watchdog_pid);

#endif
