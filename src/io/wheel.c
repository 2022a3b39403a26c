/* SPDX-License-Identifier: Apache-2.0
 * Invariant: an armed timer is linked in slot slot_tick % WHEEL_SLOTS with tick <= slot_tick < tick + WHEEL_SLOTS, and
 * slot_tick is not later than its deadline needs (it may be earlier: the deadline was moved later, or is beyond the
 * ring). */
#include "io/wheel.h"

#include <assert.h>
#include <limits.h>
#include <string.h>

void wheel_init(struct wheel *w, uint64_t now_ms)
{
	memset(w, 0, sizeof *w);
	w->tick = now_ms / WHEEL_TICK_MS;
}

static void wheel_link(struct wheel *w, struct io_timer *t)
{
	/* Rounded up: never early. */
	uint64_t tick = (t->deadline_ms + WHEEL_TICK_MS - 1) / WHEEL_TICK_MS;
	if (tick < w->tick)
		tick = w->tick;
	if (tick >= w->tick + WHEEL_SLOTS)
		tick = w->tick + WHEEL_SLOTS - 1;
	size_t slot = tick % WHEEL_SLOTS;
	t->slot_tick = tick;
	struct io_timer *head = w->slots[slot];
	if (head) {
		t->next = head;
		t->prev = head->prev;
		head->prev->next = t;
		head->prev = t;
	} else {
		t->next = t->prev = t;
		w->slots[slot] = t;
		w->busy[slot / 64] |= UINT64_C(1) << (slot % 64);
	}
	w->count++;
}

static void wheel_unlink(struct wheel *w, struct io_timer *t)
{
	size_t slot = t->slot_tick % WHEEL_SLOTS;
	if (t->next == t) {
		w->slots[slot] = NULL;
		w->busy[slot / 64] &= ~(UINT64_C(1) << (slot % 64));
	} else {
		t->next->prev = t->prev;
		t->prev->next = t->next;
		if (w->slots[slot] == t)
			w->slots[slot] = t->next;
	}
	t->next = t->prev = NULL;
	w->count--;
}

void wheel_set(struct wheel *w, struct io_timer *t, uint64_t deadline_ms)
{
	t->deadline_ms = deadline_ms;
	if (t->next) {
		if (t->slot_tick * WHEEL_TICK_MS <= deadline_ms)
			return; /* its slot comes up first and will look again */
		wheel_unlink(w, t);
	}
	wheel_link(w, t);
}

void wheel_clear(struct wheel *w, struct io_timer *t)
{
	if (t->next)
		wheel_unlink(w, t);
}

void wheel_advance(struct wheel *w, uint64_t now_ms)
{
	uint64_t until = now_ms / WHEEL_TICK_MS;
	if (w->count == 0) {
		if (until > w->tick)
			w->tick = until;
		return;
	}
	while (w->tick <= until) {
		size_t slot = w->tick % WHEEL_SLOTS;
		/* A timer that fires late again must land behind this slot, or the loop would not end. */
		w->tick++;
		struct io_timer *t;
		while ((t = w->slots[slot]) != NULL && t->slot_tick < w->tick) {
			wheel_unlink(w, t);
			if (t->deadline_ms > now_ms)
				wheel_link(w, t);
			else
				t->fired(t);
		}
	}
}

int wheel_wait_ms(const struct wheel *w, uint64_t now_ms)
{
	if (w->count == 0)
		return -1;
	uint64_t start = w->tick;
	for (uint64_t i = 0; i < WHEEL_SLOTS;) {
		size_t slot = (start + i) % WHEEL_SLOTS;
		uint64_t word = w->busy[slot / 64] >> (slot % 64);
		if (word) {
			uint64_t tick = start + i + (uint64_t)__builtin_ctzll(word);
			uint64_t due_ms = tick * WHEEL_TICK_MS;
			return due_ms <= now_ms ? 0 : (int)(due_ms - now_ms);
		}
		i += 64 - slot % 64;
	}
	assert(!"armed timers but no busy slot");
	return 0;
}
