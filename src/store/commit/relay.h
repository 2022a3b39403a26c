/* SPDX-License-Identifier: Apache-2.0
 * Two threads, one normal and one niced, take turns at one job: an unprivileged thread cannot undo nice, and the job
 * should have a lower priority at some times and not at others. All state of the job lies outside the threads'
 * stacks. */
#ifndef STORE_RELAY_H
#define STORE_RELAY_H

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>

enum relay_kind { RELAY_NORMAL, RELAY_NICED };

/* Returns false when relay_changes, true when there is nothing to do any more, ever. */
struct relay;
typedef bool relay_fn(struct relay *, void *arg);

struct relay {
	const char *name;
	relay_fn *work;
	void *arg;
	const atomic_uint *wanted; /* enum relay_kind, and whoever writes it decides */
	enum relay_kind now;	   /* who works */
	bool over, runs;
	struct relay_side {
		struct relay *relay;
		pthread_t thread;
		sem_t turn;
	} side[2];
};

/* False: no threads, and relay_join has nothing to do. */
bool relay_start(struct relay *, const char *name, relay_fn *work, void *arg, const atomic_uint *wanted);
/* To be asked by the work between two pieces of it: is it the other one's turn? */
static inline bool relay_changes(const struct relay *d)
{
	return atomic_load_explicit(d->wanted, memory_order_relaxed) != (unsigned)d->now;
}
/* After the work was told, by means of its own, to end for good. */
void relay_join(struct relay *);

#endif
