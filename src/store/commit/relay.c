/* SPDX-License-Identifier: Apache-2.0
 * Two threads, one normal and one niced, take turns at one job: an unprivileged thread cannot undo nice. */
#include "store/commit/relay.h"

#include "base/sys/thread.h"

static void *side_main(void *arg)
{
	struct relay_side *me = arg;
	struct relay *d = me->relay;
	enum relay_kind kind = (enum relay_kind)(me - d->side);
	pthread_setname_np(pthread_self(), d->name);
	if (kind == RELAY_NICED)
		thread_lower_priority(THREAD_COMMITS);
	for (;;) {
		while (sem_wait(&me->turn) != 0)
			;
		if (!d->over) {
			d->now = kind;
			d->over = d->work(d, d->arg);
		}
		bool over = d->over; /* it is the other one's as soon as that is called */
		sem_post(&d->side[!kind].turn);
		if (over)
			return NULL;
	}
}

bool relay_start(struct relay *d, const char *name, relay_fn *work, void *arg, const atomic_uint *wanted)
{
	*d = (struct relay){ .name = name, .work = work, .arg = arg, .wanted = wanted };
	for (int i = 0; i < 2; i++) {
		d->side[i].relay = d;
		sem_init(&d->side[i].turn, 0, 0);
	}
	if (pthread_create(&d->side[0].thread, NULL, side_main, &d->side[0]) != 0)
		return false;
	if (pthread_create(&d->side[1].thread, NULL, side_main, &d->side[1]) != 0) {
		d->over = true;
		sem_post(&d->side[0].turn);
		pthread_join(d->side[0].thread, NULL);
		return false;
	}
	d->runs = true;
	sem_post(&d->side[RELAY_NORMAL].turn);
	return true;
}

void relay_join(struct relay *d)
{
	if (!d->runs)
		return;
	for (int i = 0; i < 2; i++)
		pthread_join(d->side[i].thread, NULL);
	for (int i = 0; i < 2; i++)
		sem_destroy(&d->side[i].turn);
	d->runs = false;
}
