/* SPDX-License-Identifier: Apache-2.0
 * The clocks: wall time in 100 ns ticks since 1601, as the services show it, and monotonic time for durations. Tests
 * put a clock of their own in. */
#include "base/sys/clock.h"

#include <time.h>

static uint64_t wall_now(struct clock *c)
{
	struct timespec t;
	clock_gettime(CLOCK_REALTIME, &t);
	uint64_t ticks = TICKS_UNIX_EPOCH + (uint64_t)t.tv_sec * TICKS_PER_SECOND + (uint64_t)t.tv_nsec / 100;
	if (c->shift_seconds)
		ticks += (uint64_t)__atomic_load_n(c->shift_seconds, __ATOMIC_RELAXED) * TICKS_PER_SECOND;
	return ticks + (uint64_t)clock_moved(c);
}

void clock_move(struct clock *c, uint64_t ticks)
{
	__atomic_add_fetch(&c->moved_ticks, (int64_t)ticks, __ATOMIC_RELAXED);
}

int64_t clock_moved(const struct clock *c)
{
	return __atomic_load_n(&c->moved_ticks, __ATOMIC_RELAXED);
}

/* Another thread may move the clock between the two looks at it, so it is asked again until none did. */
uint64_t clock_unmoved(struct clock *c)
{
	for (;;) {
		int64_t moved = clock_moved(c);
		uint64_t now = clock_now(c);
		if (moved == clock_moved(c))
			return now - (uint64_t)moved;
	}
}

static uint64_t fake_now(struct clock *c)
{
	return __atomic_load_n(&c->fake_ticks, __ATOMIC_RELAXED);
}

void clock_init_wall(struct clock *c, const int64_t *shift_seconds)
{
	*c = (struct clock){ .now = wall_now, .shift_seconds = shift_seconds };
}

void clock_init_fake(struct clock *c, uint64_t ticks)
{
	*c = (struct clock){ .now = fake_now, .fake_ticks = ticks };
}

void clock_fake_advance(struct clock *c, uint64_t ticks)
{
	__atomic_add_fetch(&c->fake_ticks, ticks, __ATOMIC_RELAXED);
}

uint64_t base_monotonic_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

void base_sleep_ns(uint64_t ns)
{
	struct timespec t = { .tv_sec = (time_t)(ns / 1000000000), .tv_nsec = (long)(ns % 1000000000) };
	nanosleep(&t, NULL);
}
