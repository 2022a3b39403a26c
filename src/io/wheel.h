/* SPDX-License-Identifier: Apache-2.0
 * The timer wheel of a loop: slots of WHEEL_TICK_MS on a ring, each a doubly linked list. A timer further away than the
 * ring waits in the last slot and is linked again when that comes up. Set and clear are O(1). One thread. */
#ifndef IO_WHEEL_H
#define IO_WHEEL_H

#include "io/loop.h"

enum { WHEEL_SLOTS = 2048, WHEEL_TICK_MS = 64 };

struct wheel {
	uint64_t tick;			 /* slots before this one are empty */
	size_t count;			 /* armed timers */
	uint64_t busy[WHEEL_SLOTS / 64]; /* slots that hold something */
	struct io_timer *slots[WHEEL_SLOTS];
};

void wheel_init(struct wheel *, uint64_t now_ms);
void wheel_set(struct wheel *, struct io_timer *, uint64_t deadline_ms);
void wheel_clear(struct wheel *, struct io_timer *);
/* Fires what is due. Timers may set and clear any timer meanwhile. */
void wheel_advance(struct wheel *, uint64_t now_ms);
/* Milliseconds until something may be due; -1 if nothing is armed. */
int wheel_wait_ms(const struct wheel *, uint64_t now_ms);

#endif
