/* SPDX-License-Identifier: Apache-2.0
 * Time is 100 ns ticks since 0001-01-01T00:00:00Z (what ETags are made of), always through a clock that was handed in.
 * The wall clock may be shifted by a file (tests move time without waiting); the fake clock stands still until told.
 * Monotonic time, for timeouts and rates, is base_monotonic_ns and never persisted. */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>

#define TICKS_PER_SECOND UINT64_C(10000000)
#define TICKS_UNIX_EPOCH UINT64_C(621355968000000000)
#define TICKS_FOREVER	 UINT64_MAX

struct clock {
	uint64_t (*now)(struct clock *);
	const int64_t *shift_seconds; /* wall clock: added if not NULL; may point into shared memory */
	int64_t moved_ticks;	      /* wall clock: how far clock_move has moved it, read and written atomically */
	uint64_t fake_ticks;	      /* fake clock: what it says, read and written atomically */
};

void clock_init_wall(struct clock *, const int64_t *shift_seconds);
void clock_init_fake(struct clock *, uint64_t ticks);
void clock_fake_advance(struct clock *, uint64_t ticks);

/* Development mode: a wall clock that is moved forward, for all who ask it from now on. Never back: what was written
 * by the later time would stand still until that has come again. */
void clock_move(struct clock *, uint64_t ticks);
int64_t clock_moved(const struct clock *);
/* Without what clock_move added: what the clocks of clients are compared with. */
uint64_t clock_unmoved(struct clock *);

static inline uint64_t clock_now(struct clock *c)
{
	return c->now(c);
}

uint64_t base_monotonic_ns(void);
void base_sleep_ns(uint64_t ns); /* or until a signal was taken */

#endif
