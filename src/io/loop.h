/* SPDX-License-Identifier: Apache-2.0
 * An event loop: one thread, one epoll set, a timer wheel, and a mailbox that other threads post into.
 *
 * Everything here is called on the loop's own thread, except io_loop_post and io_loop_stop (any thread) and new/free
 * (while it does not run). Sources are edge-triggered and registered once: readiness is remembered by the owner of the
 * source, so a request costs no epoll_ctl.
 *
 * Timers are lazy: moving a deadline later only stores a number; the wheel notices when the old slot comes up. A
 * keep-alive connection therefore pays nothing for its timeout per request. Precision is WHEEL_TICK_MS, never early.
 *
 * The mailbox is a lock-free stack taken whole; only the post that finds the loop asleep writes the eventfd, so a
 * commit group of hundreds wakes the loop once. */
#ifndef IO_LOOP_H
#define IO_LOOP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define io_container_of(ptr, type, member) ((type *)((char *)(ptr)-offsetof(type, member)))

struct io_loop;

/* Embedded in whatever owns the descriptor. `events` is the EPOLL mask. */
struct io_source {
	void (*ready)(struct io_source *, uint32_t events);
};

/* Embedded in whatever wants to run on the loop. Not posted again before it ran. */
struct io_task {
	struct io_task *next;
	void (*run)(struct io_task *);
};

struct io_timer {
	struct io_timer *next, *prev; /* in a slot; NULL when not armed */
	uint64_t deadline_ms;
	uint64_t slot_tick; /* where it is linked */
	void (*fired)(struct io_timer *);
};

enum err io_loop_new(struct io_loop **ret) MUST_CHECK;
void io_loop_free(struct io_loop *); /* accepts NULL */

/* Runs until stopped. `before_wait` (may be NULL) is called each time before the loop may sleep. */
void io_loop_run(struct io_loop *, void (*before_wait)(void *), void *arg);
void io_loop_stop(struct io_loop *);
/* On the loop's thread: before it sleeps next it looks for events this long (0: not at all), for a peer that asks again
 * as soon as it was answered: to wake a thread takes longer than its next request. Where nothing comes in that time it
 * is left out for a while. */
void io_loop_linger(struct io_loop *, uint32_t ns);
bool io_loop_is_current(const struct io_loop *);

/* Edge-triggered, for reading and writing and the peer's half-close. */
enum err io_loop_add(struct io_loop *, int fd, struct io_source *) MUST_CHECK;
/* Level-triggered, reading only: listeners. */
enum err io_loop_add_listener(struct io_loop *, int fd, struct io_source *) MUST_CHECK;
void io_loop_remove(struct io_loop *, int fd);

/* From any thread: the task runs on the loop, in the order of posting per thread. */
void io_loop_post(struct io_loop *, struct io_task *);
/* From a thread that is about to post many tasks: between the two, loops that sleep are not woken; then each is, once.
 */
void io_posts_hold(void);
void io_posts_release(void);
/* From the loop's own thread: the task runs before the loop sleeps, after the events at hand. */
void io_loop_defer(struct io_loop *, struct io_task *);

/* Milliseconds of the monotonic clock, read once per turn. */
uint64_t io_loop_now_ms(const struct io_loop *);
void io_timer_init(struct io_timer *, void (*fired)(struct io_timer *));
void io_timer_set(struct io_loop *, struct io_timer *, uint64_t deadline_ms);
void io_timer_clear(struct io_loop *, struct io_timer *); /* unlinks; fine if not armed */

#endif
