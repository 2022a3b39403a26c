/* SPDX-License-Identifier: Apache-2.0
 * A bounded pool of worker threads for work that may block or take long: disk writes of large bodies, scans, copies. A
 * piece of work runs on a worker and then `done` runs on the loop it came from. Submitting to a full queue fails;
 * nothing waits. Long work has threads of its own, of lower priority: what is short does not wait for its end, and
 * where cores are scarce the loops, the committer and short work go first. Owners (accounts) take turns: however much
 * one of them submits, another's next piece runs after at most one of each. Any thread. */
#ifndef IO_POOL_H
#define IO_POOL_H

#include "base/err.h"
#include "io/loop.h"

struct io_pool;

enum { IO_POOL_OWNERS = 256 };

struct io_work { /* embedded in its owner; not submitted again before done ran */
	struct io_task task;
	struct io_loop *home;
	void (*run)(struct io_work *);	/* on a worker */
	void (*done)(struct io_work *); /* on home */
	bool is_long;			/* seconds, not milliseconds */
	unsigned owner;			/* who takes turns with others, modulo IO_POOL_OWNERS */
};

/* So many threads for short work and as many for long. */
enum err io_pool_new(unsigned threads, struct io_pool **ret) MUST_CHECK;
/* Finishes what is queued and joins the threads. Accepts NULL. */
void io_pool_free(struct io_pool *);
/* How many pieces wait. */
size_t io_pool_waiting(struct io_pool *);
/* ERR_BUSY if LIMIT_WORK_QUEUE pieces wait already, of the long or of the others, or LIMIT_WORK_QUEUE_OWNER of the
 * owner's long ones. */
enum err io_pool_submit(struct io_pool *, struct io_work *) MUST_CHECK;

#endif
