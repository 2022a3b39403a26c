/* SPDX-License-Identifier: Apache-2.0
 * A duty: work of one thread at a time, which at some times steps back behind others and at some does not. A thread of
 * an ordinary user that has stepped back may not step forward again, so two threads share a duty, one of each kind, and
 * relieve each other. All that the work is about must lie outside of the threads' stacks. */
#ifndef STORE_DUTY_H
#define STORE_DUTY_H

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>

enum duty_kind { DUTY_ORDINARY, DUTY_STEPS_BACK };

/* Returns false when duty_changes, true when there is nothing to do any more, ever. */
struct duty;
typedef bool duty_fn(struct duty *, void *arg);

struct duty {
	const char *name;
	duty_fn *work;
	void *arg;
	const atomic_uint *wanted; /* enum duty_kind, and whoever writes it decides */
	enum duty_kind now;	   /* who works */
	bool over, runs;
	struct duty_side {
		struct duty *duty;
		pthread_t thread;
		sem_t turn;
	} side[2];
};

/* False: no threads, and duty_join has nothing to do. */
bool duty_start(struct duty *, const char *name, duty_fn *work, void *arg, const atomic_uint *wanted);
/* To be asked by the work between two pieces of it: is it the other one's turn? */
static inline bool duty_changes(const struct duty *d)
{
	return atomic_load_explicit(d->wanted, memory_order_relaxed) != (unsigned)d->now;
}
/* After the work was told, by means of its own, to end for good. */
void duty_join(struct duty *);

#endif
