/* SPDX-License-Identifier: Apache-2.0
 * The thread that writes the audit log. See audit.h. */
#include "io/audit.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/limits.h"
#include "base/sys/clock.h"
#include "base/sys/log.h"

enum {
	AUDIT_WAITING_BYTES = 8 * 1024 * 1024, /* then requests are refused; those under way still leave their lines */
	AUDIT_MOST_BYTES = 256 * 1024 * 1024,  /* of those */
	AUDIT_SYNC_MS = 1000,
	AUDIT_RETRY_MS = 1000,
};

struct audit_log {
	int fd; /* the thread's */
	bool sync_always;
	bool unsynced;
	uint64_t synced_ns;
	pthread_t thread;
	pthread_mutex_t lock; /* guards what follows */
	pthread_cond_t wake;
	struct buf waiting;
	struct audit_waiter *first, **last; /* whose lines are in `waiting` */
	int next_fd;			    /* -1: none */
	bool stop;
	atomic_bool failed, full, sync_failed;
	atomic_uint_least64_t lines, refused;
};

/* False: errno says why; what was written is taken off. */
static bool write_all(struct audit_log *a, struct buf *lines)
{
	while (lines->len) {
		ssize_t n = write(a->fd, lines->ptr, lines->len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		a->unsynced = true;
		buf_consume(lines, (size_t)n);
	}
	return true;
}

/* Pipes and terminals cannot be synced, and need not be. */
static bool sync_now(struct audit_log *a)
{
	bool ok = !a->unsynced || fdatasync(a->fd) == 0 || errno == EINVAL || errno == ENOTSUP;
	a->unsynced = false;
	a->synced_ns = base_monotonic_ns();
	return ok;
}

static bool sync_due(struct audit_log *a)
{
	bool due = a->sync_always || base_monotonic_ns() - a->synced_ns >= AUDIT_SYNC_MS * UINT64_C(1000000);
	return !due || sync_now(a);
}

static void waiters_tell(struct audit_waiter *w, enum err result)
{
	io_posts_hold();
	while (w) {
		struct audit_waiter *next = w->next; /* gone as soon as it is posted */
		w->result = result;
		if (w->loop)
			io_loop_post(w->loop, &w->task);
		else
			w->task.run(&w->task);
		w = next;
	}
	io_posts_release();
}

static void set_failed(struct audit_log *a, bool failed, const char *what)
{
	if (atomic_exchange(&a->failed, failed) == failed)
		return;
	if (failed)
		log_error("cannot %s the audit log: %s; requests are refused until it can be written", what,
			  strerror(errno));
	else
		log_warn("the audit log is written again; %llu requests were refused",
			 (unsigned long long)atomic_load(&a->refused));
}

static void file_switch(struct audit_log *a)
{
	if (a->next_fd < 0)
		return;
	if (!sync_now(a))
		log_error("the audit log that was moved away could not be synced: %s", strerror(errno));
	close(a->fd);
	a->fd = a->next_fd;
	a->next_fd = -1;
	atomic_store(&a->sync_failed, false);
}

/* What is in `out` is written, or stays there; who waits is told. */
static void batch_write(struct audit_log *a, struct buf *out, struct audit_waiter *waiters)
{
	bool broken = atomic_load(&a->sync_failed);
	bool ok = !broken && write_all(a, out);
	if (!ok && !broken)
		set_failed(a, true, "write");
	if (ok && !sync_due(a)) {
		set_failed(a, true, "sync");
		atomic_store(&a->sync_failed, true);
		ok = false;
	}
	if (ok)
		set_failed(a, false, "");
	waiters_tell(waiters, ok ? ERR_OK : ERR_IO);
}

/* Under the lock. */
static void doze(struct audit_log *a, unsigned ms)
{
	struct timespec until;
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += ms / 1000;
	pthread_cond_timedwait(&a->wake, &a->lock, &until);
}

/* Under the lock: until there is something to do. A put wakes it, also while writes fail: then it is tried again. */
static void wait_for_lines(struct audit_log *a, const struct buf *kept)
{
	while (!a->stop && a->next_fd < 0 && !a->waiting.len && !kept->len && !a->unsynced)
		pthread_cond_wait(&a->wake, &a->lock);
	bool idle = !a->stop && a->next_fd < 0 && !a->waiting.len;
	if (idle)
		doze(a, kept->len ? AUDIT_RETRY_MS : AUDIT_SYNC_MS);
}

/* Under the lock: what came in goes behind what could not be written before. */
static struct audit_waiter *take_lines(struct audit_log *a, struct buf *kept)
{
	struct audit_waiter *waiters = a->first;
	a->first = NULL;
	a->last = &a->first;
	if (!kept->len) {
		struct buf empty = *kept;
		*kept = a->waiting;
		a->waiting = empty;
	} else if (a->waiting.len && a->waiting.len <= AUDIT_MOST_BYTES - kept->len &&
		   buf_reserve(kept, a->waiting.len)) {
		buf_put(kept, buf_slice(&a->waiting));
		buf_clear(&a->waiting);
	}
	atomic_store(&a->full, false);
	return waiters;
}

static void *audit_main(void *arg)
{
	struct audit_log *a = arg;
	struct buf lines; /* on their way, or not written yet */
	bool stop = false;
	buf_init(&lines, AUDIT_MOST_BYTES);
	pthread_setname_np(pthread_self(), "audit-log");
	pthread_mutex_lock(&a->lock);
	while (!stop) {
		wait_for_lines(a, &lines);
		struct audit_waiter *waiters = take_lines(a, &lines);
		file_switch(a);
		stop = a->stop;
		pthread_mutex_unlock(&a->lock);
		batch_write(a, &lines, waiters);
		pthread_mutex_lock(&a->lock);
	}
	pthread_mutex_unlock(&a->lock);
	if (!sync_now(a) || lines.len)
		log_error("the audit log ends incomplete: %s", strerror(errno));
	buf_fini(&lines);
	return NULL;
}

enum err io_audit_new(int fd, bool sync_always, struct audit_log **ret)
{
	struct audit_log *a = calloc(1, sizeof *a);
	pthread_condattr_t monotonic;
	if (!a) {
		close(fd);
		return ERR_NO_MEMORY;
	}
	a->fd = fd;
	a->next_fd = -1;
	a->sync_always = sync_always;
	a->last = &a->first;
	pthread_mutex_init(&a->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&a->wake, &monotonic);
	pthread_condattr_destroy(&monotonic);
	buf_init(&a->waiting, AUDIT_MOST_BYTES);
	if (pthread_create(&a->thread, NULL, audit_main, a) != 0) {
		pthread_cond_destroy(&a->wake);
		pthread_mutex_destroy(&a->lock);
		close(fd);
		free(a);
		return ERR_NO_MEMORY;
	}
	*ret = a;
	return ERR_OK;
}

void io_audit_free(struct audit_log *a)
{
	if (!a)
		return;
	pthread_mutex_lock(&a->lock);
	a->stop = true;
	pthread_cond_signal(&a->wake);
	pthread_mutex_unlock(&a->lock);
	pthread_join(a->thread, NULL);
	assert(!a->first);
	buf_fini(&a->waiting);
	pthread_cond_destroy(&a->wake);
	pthread_mutex_destroy(&a->lock);
	close(a->fd);
	if (a->next_fd >= 0)
		close(a->next_fd);
	free(a);
}

void io_audit_reopen(struct audit_log *a, int fd)
{
	pthread_mutex_lock(&a->lock);
	if (a->next_fd >= 0)
		close(a->next_fd);
	a->next_fd = fd;
	pthread_cond_signal(&a->wake);
	pthread_mutex_unlock(&a->lock);
}

void io_audit_put(struct audit_log *a, struct slice line, struct audit_waiter *w)
{
	assert(line.len > 0 && line.ptr[line.len - 1] == '\n');
	pthread_mutex_lock(&a->lock);
	bool taken = line.len <= AUDIT_MOST_BYTES - a->waiting.len && buf_reserve(&a->waiting, line.len);
	a->waiting.failed = false; /* without memory now; the next one may find some */
	if (taken) {
		buf_put(&a->waiting, line);
		if (a->waiting.len > AUDIT_WAITING_BYTES)
			atomic_store(&a->full, true);
		if (w) {
			w->next = NULL;
			*a->last = w;
			a->last = &w->next;
		}
		atomic_fetch_add_explicit(&a->lines, 1, memory_order_relaxed);
		pthread_cond_signal(&a->wake);
	}
	pthread_mutex_unlock(&a->lock);
	if (taken)
		return;
	log_error("no memory for a line of the audit log: its request is not answered");
	if (w) {
		w->next = NULL;
		waiters_tell(w, ERR_NO_MEMORY);
	}
}

struct blocked {
	struct audit_waiter waiter;
	sem_t done;
};

static void unblock(struct io_task *t)
{
	struct audit_waiter *w = io_container_of(t, struct audit_waiter, task);
	struct blocked *b = io_container_of(w, struct blocked, waiter);
	sem_post(&b->done);
}

enum err io_audit_put_wait(struct audit_log *a, struct slice line)
{
	struct blocked b = { .waiter.task.run = unblock };
	sem_init(&b.done, 0, 0);
	io_audit_put(a, line, &b.waiter);
	while (sem_wait(&b.done) != 0 && errno == EINTR)
		;
	sem_destroy(&b.done);
	return b.waiter.result;
}

bool io_audit_works(struct audit_log *a)
{
	bool works = !atomic_load_explicit(&a->failed, memory_order_relaxed) &&
		     !atomic_load_explicit(&a->full, memory_order_relaxed);
	if (!works)
		atomic_fetch_add_explicit(&a->refused, 1, memory_order_relaxed);
	return works;
}

void io_audit_stats(struct audit_log *a, uint64_t *ret_lines, uint64_t *ret_refused)
{
	*ret_lines = atomic_load_explicit(&a->lines, memory_order_relaxed);
	*ret_refused = atomic_load_explicit(&a->refused, memory_order_relaxed);
}
