/* SPDX-License-Identifier: Apache-2.0
 * The mailbox and sleep: the loop says `asleep` and then looks into the mailbox once more before epoll_wait; a poster
 * pushes and then asks whether it is asleep. Both orders are sequentially consistent, so one of the two sees the other
 * and a post is never slept over. */
#include "io/loop.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/panic.h"
#include "base/sys/clock.h"
#include "io/wheel.h"

enum { LOOP_MAGIC = 0x696c6f70 };
enum {
	LOOP_EVENTS = 256,
	HELD_WAKES = 64,
	LINGER_MISSES = 4,
	LINGER_PAUSE = 64,
	TASKS_PER_LOOK = 8 /* at the clock */
};

/* What other threads write has cache lines of its own. */
/* NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding) */
struct io_loop {
	uint32_t magic;
	int epoll_fd;
	int wake_fd;
	uint64_t now_ms;
	pthread_t thread;
	atomic_bool running;
	atomic_bool stopping;
	struct io_task *posted_first, **posted_last; /* out of the mailbox, not run yet */
	struct io_task *deferred_first, **deferred_last;
	uint32_t linger_ns;				/* before it sleeps next; 0: at once */
	unsigned linger_misses;				/* in a row: nothing came meanwhile */
	unsigned linger_pause;				/* so many waits without, because of that */
	_Alignas(64) _Atomic(struct io_task *) mailbox; /* newest first */
	atomic_bool asleep;
	atomic_uint
		posting; /* threads inside io_loop_post: their task may have run while they still look at the loop */
	struct io_source wake_source;
	_Alignas(64) struct wheel wheel;
	struct epoll_event events[LOOP_EVENTS];
};

static void loop_woken(struct io_source *s, uint32_t events)
{
	/* Edge-triggered and never read: each write is a new edge, the counter cannot overflow in a lifetime. */
}

enum err io_loop_new(struct io_loop **ret)
{
	struct io_loop *l = aligned_alloc(64, (sizeof *l + 63) / 64 * 64);
	if (!l)
		return ERR_NO_MEMORY;
	memset(l, 0, sizeof *l);
	l->magic = LOOP_MAGIC;
	l->posted_last = &l->posted_first;
	l->deferred_last = &l->deferred_first;
	l->wake_source.ready = loop_woken;
	l->now_ms = base_monotonic_ns() / 1000000;
	wheel_init(&l->wheel, l->now_ms);
	l->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	l->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	struct epoll_event ev = { .events = EPOLLIN | EPOLLET, .data.ptr = &l->wake_source };
	if (l->epoll_fd < 0 || l->wake_fd < 0 || epoll_ctl(l->epoll_fd, EPOLL_CTL_ADD, l->wake_fd, &ev) != 0) {
		io_loop_free(l);
		return ERR_NO_MEMORY;
	}
	*ret = l;
	return ERR_OK;
}

void io_loop_free(struct io_loop *l)
{
	if (!l)
		return;
	while (atomic_load_explicit(&l->posting, memory_order_acquire))
		sched_yield();
	if (l->epoll_fd >= 0)
		close(l->epoll_fd);
	if (l->wake_fd >= 0)
		close(l->wake_fd);
	l->magic = 0;
	free(l);
}

enum err io_loop_add(struct io_loop *l, int fd, struct io_source *source)
{
	MAGIC_CHECK(l, LOOP_MAGIC);
	struct epoll_event ev = { .events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, .data.ptr = source };
	return epoll_ctl(l->epoll_fd, EPOLL_CTL_ADD, fd, &ev) == 0 ? ERR_OK : ERR_NO_MEMORY;
}

enum err io_loop_add_listener(struct io_loop *l, int fd, struct io_source *source)
{
	struct epoll_event ev = { .events = EPOLLIN, .data.ptr = source };
	return epoll_ctl(l->epoll_fd, EPOLL_CTL_ADD, fd, &ev) == 0 ? ERR_OK : ERR_NO_MEMORY;
}

void io_loop_remove(struct io_loop *l, int fd)
{
	epoll_ctl(l->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
}

static void loop_wake(struct io_loop *l)
{
	uint64_t one = 1;
	ssize_t n;
	do
		n = write(l->wake_fd, &one, sizeof one);
	while (n < 0 && errno == EINTR);
}

/* Loops this thread has posted to and not woken yet. */
static _Thread_local struct {
	bool on;
	size_t count;
	struct io_loop *loop[HELD_WAKES];
} held;

void io_posts_hold(void)
{
	held.on = true;
}

void io_posts_release(void)
{
	held.on = false;
	for (size_t i = 0; i < held.count; i++) {
		loop_wake(held.loop[i]);
		atomic_fetch_sub_explicit(&held.loop[i]->posting, 1, memory_order_release);
	}
	held.count = 0;
}

void io_loop_post(struct io_loop *l, struct io_task *task)
{
	MAGIC_CHECK(l, LOOP_MAGIC);
	atomic_fetch_add_explicit(&l->posting, 1, memory_order_relaxed);
	struct io_task *head = atomic_load_explicit(&l->mailbox, memory_order_relaxed);
	do
		task->next = head;
	while (!atomic_compare_exchange_weak(&l->mailbox, &head, task));
	if (atomic_load(&l->asleep) && atomic_exchange(&l->asleep, false)) {
		if (held.on && held.count < HELD_WAKES) {
			held.loop[held.count++] = l; /* it still counts as posting */
			return;
		}
		loop_wake(l);
	}
	atomic_fetch_sub_explicit(&l->posting, 1, memory_order_release);
}

void io_loop_defer(struct io_loop *l, struct io_task *task)
{
	task->next = NULL;
	*l->deferred_last = task;
	l->deferred_last = &task->next;
}

static void loop_take_mailbox(struct io_loop *l)
{
	if (!atomic_load_explicit(&l->mailbox, memory_order_relaxed))
		return;
	struct io_task *newest = atomic_exchange(&l->mailbox, NULL), *oldest = NULL, *last = newest;
	while (newest) {
		struct io_task *next = newest->next;
		newest->next = oldest;
		oldest = newest;
		newest = next;
	}
	*l->posted_last = oldest;
	l->posted_last = &last->next;
}

/* Thousands may be posted at once (all that wait for one lock): those that are left after a time go on, in their order,
 * when events have had their share. */
static void loop_run_posted(struct io_loop *l)
{
	loop_take_mailbox(l);
	if (!l->posted_first)
		return;
	uint64_t until_ns = base_monotonic_ns() + LIMIT_TURN_NS;
	for (unsigned n = 1; l->posted_first; n++) {
		struct io_task *t = l->posted_first;
		l->posted_first = t->next;
		if (!t->next)
			l->posted_last = &l->posted_first;
		t->run(t);
		if (n % TASKS_PER_LOOK == 0 && base_monotonic_ns() > until_ns)
			return;
	}
}

/* What the tasks defer again waits for the next turn, so events get their share. */
static void loop_run_deferred(struct io_loop *l)
{
	struct io_task *t = l->deferred_first;
	l->deferred_first = NULL;
	l->deferred_last = &l->deferred_first;
	while (t) {
		struct io_task *next = t->next;
		t->run(t);
		t = next;
	}
}

void io_loop_linger(struct io_loop *l, uint32_t ns)
{
	l->linger_ns = ns;
}

/* Looks again and again, for a short time; others who wait for this core go first. How many events came, 0 if none, and
 * *ret_sleep: it may sleep. */
static int loop_look_on(struct io_loop *l, bool *ret_sleep)
{
	uint64_t until_ns = base_monotonic_ns() + l->linger_ns;
	*ret_sleep = false;
	do {
		int n = epoll_wait(l->epoll_fd, l->events, LOOP_EVENTS, 0);
		if (n != 0 || atomic_load_explicit(&l->mailbox, memory_order_relaxed)) {
			l->linger_misses = 0;
			return n;
		}
		sched_yield();
	} while (base_monotonic_ns() < until_ns);
	*ret_sleep = true;
	if (++l->linger_misses >= LINGER_MISSES) {
		l->linger_misses = 0;
		l->linger_pause = LINGER_PAUSE;
	}
	return 0;
}

static int loop_wait(struct io_loop *l)
{
	int timeout_ms = l->deferred_first || l->posted_first ? 0 : wheel_wait_ms(&l->wheel, l->now_ms);
	if (timeout_ms != 0 && l->linger_ns) {
		bool sleep = true;
		int n = l->linger_pause ? 0 : loop_look_on(l, &sleep);
		l->linger_pause -= l->linger_pause > 0;
		l->linger_ns = 0;
		l->now_ms = base_monotonic_ns() / 1000000;
		if (!sleep)
			return n < 0 ? 0 : n;
	}
	if (timeout_ms != 0) {
		atomic_store(&l->asleep, true);
		if (atomic_load(&l->mailbox) || atomic_load(&l->stopping))
			timeout_ms = 0;
	}
	int n = epoll_wait(l->epoll_fd, l->events, LOOP_EVENTS, timeout_ms);
	atomic_store_explicit(&l->asleep, false, memory_order_relaxed);
	l->now_ms = base_monotonic_ns() / 1000000;
	return n < 0 ? 0 : n;
}

void io_loop_run(struct io_loop *l, void (*before_wait)(void *), void *arg)
{
	MAGIC_CHECK(l, LOOP_MAGIC);
	l->thread = pthread_self();
	atomic_store(&l->running, true);
	while (!atomic_load(&l->stopping)) {
		int n = loop_wait(l);
		for (int i = 0; i < n; i++) {
			struct io_source *s = l->events[i].data.ptr;
			s->ready(s, l->events[i].events);
		}
		wheel_advance(&l->wheel, l->now_ms);
		loop_run_posted(l);
		if (l->deferred_first)
			loop_run_deferred(l);
		if (before_wait)
			before_wait(arg);
	}
	while (l->posted_first || l->deferred_first) { /* what was closed last is freed there */
		loop_run_posted(l);
		loop_run_deferred(l);
	}
	atomic_store(&l->running, false);
}

void io_loop_stop(struct io_loop *l)
{
	atomic_store(&l->stopping, true);
	loop_wake(l);
}

bool io_loop_is_current(const struct io_loop *l)
{
	return atomic_load(&l->running) && pthread_equal(l->thread, pthread_self());
}

uint64_t io_loop_now_ms(const struct io_loop *l)
{
	return l->now_ms;
}

void io_timer_init(struct io_timer *t, void (*fired)(struct io_timer *))
{
	*t = (struct io_timer){ .fired = fired };
}

void io_timer_set(struct io_loop *l, struct io_timer *t, uint64_t deadline_ms)
{
	wheel_set(&l->wheel, t, deadline_ms);
}

void io_timer_clear(struct io_loop *l, struct io_timer *t)
{
	wheel_clear(&l->wheel, t);
}
