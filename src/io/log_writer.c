/* SPDX-License-Identifier: Apache-2.0
 * The thread that writes log lines, and the bounded buffer in front of it. */
#include "io/log_writer.h"

#include "base/buf.h"
#include "base/limits.h"
#include "base/sys/clock.h"
#include "base/sys/log.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LOG_WAITING_BYTES = 1024 * 1024, LOOK_EVERY_MS = 100, LAST_WORDS_MS = 500 };

struct log_writer {
	int fd;
	bool is_file; /* never makes anybody wait for a reader */
	bool failed;  /* and that was told */
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	struct buf waiting;
	uint64_t lost_lines;
	int next_fd; /* -1: none; the thread takes it before it writes again */
	bool stop;
	uint64_t stop_ns;
};

/* False: nobody reads, and it is time to end. A pipe that is ready takes this much without waiting. */
static bool wait_ready(struct log_writer *w)
{
	for (;;) {
		struct pollfd p = { .fd = w->fd, .events = POLLOUT };
		if (poll(&p, 1, LOOK_EVERY_MS) > 0)
			return true;
		pthread_mutex_lock(&w->lock);
		bool over = w->stop && base_monotonic_ns() - w->stop_ns > LAST_WORDS_MS * UINT64_C(1000000);
		pthread_mutex_unlock(&w->lock);
		if (over)
			return false;
	}
}

static void write_out(struct log_writer *w, struct slice bytes)
{
	while (bytes.len) {
		if (!w->is_file && !wait_ready(w))
			return;
		ssize_t n = write(w->fd, bytes.ptr, w->is_file || bytes.len < PIPE_BUF ? bytes.len : PIPE_BUF);
		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (n <= 0) {
			if (!w->failed)
				log_warn("cannot write the access log: %s; lines are being lost", strerror(errno));
			w->failed = true;
			return;
		}
		bytes = slice_from(bytes, (size_t)n);
	}
	w->failed = false;
}

static bool fd_is_file(int fd)
{
	struct stat st;
	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
}

/* Under the lock, on the thread that writes. */
static void fd_switch(struct log_writer *w)
{
	if (w->next_fd < 0)
		return;
	close(w->fd);
	w->fd = w->next_fd;
	w->next_fd = -1;
	w->is_file = fd_is_file(w->fd);
}

void io_log_writer_reopen(struct log_writer *w, int fd)
{
	pthread_mutex_lock(&w->lock);
	if (w->next_fd >= 0)
		close(w->next_fd);
	w->next_fd = fd;
	pthread_mutex_unlock(&w->lock);
}

static void *writer_main(void *arg)
{
	struct log_writer *w = arg;
	struct buf out;
	buf_init(&out, LOG_WAITING_BYTES);
	pthread_setname_np(pthread_self(), "access-log");
	pthread_mutex_lock(&w->lock);
	while (!w->stop || w->waiting.len) {
		if (!w->waiting.len) {
			pthread_cond_wait(&w->wake, &w->lock);
			continue;
		}
		struct buf full = w->waiting;
		uint64_t lost = w->lost_lines;
		fd_switch(w);
		w->waiting = out;
		w->lost_lines = 0;
		pthread_mutex_unlock(&w->lock);
		if (lost)
			log_warn("nobody reads the access log fast enough: %llu lines of it were lost",
				 (unsigned long long)lost);
		write_out(w, buf_slice(&full));
		buf_clear(&full);
		out = full;
		pthread_mutex_lock(&w->lock);
	}
	pthread_mutex_unlock(&w->lock);
	buf_fini(&out);
	return NULL;
}

enum err io_log_writer_new(int fd, struct log_writer **ret)
{
	struct log_writer *w = calloc(1, sizeof *w);
	if (!w) {
		close(fd);
		return ERR_NO_MEMORY;
	}
	w->fd = fd;
	w->next_fd = -1;
	w->is_file = fd_is_file(fd);
	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->wake, NULL);
	buf_init(&w->waiting, LOG_WAITING_BYTES);
	if (pthread_create(&w->thread, NULL, writer_main, w) != 0) {
		pthread_cond_destroy(&w->wake);
		pthread_mutex_destroy(&w->lock);
		close(fd);
		free(w);
		return ERR_NO_MEMORY;
	}
	*ret = w;
	return ERR_OK;
}

void io_log_writer_free(struct log_writer *w)
{
	if (!w)
		return;
	pthread_mutex_lock(&w->lock);
	w->stop = true;
	w->stop_ns = base_monotonic_ns();
	pthread_cond_signal(&w->wake);
	pthread_mutex_unlock(&w->lock);
	pthread_join(w->thread, NULL);
	buf_fini(&w->waiting);
	pthread_cond_destroy(&w->wake);
	pthread_mutex_destroy(&w->lock);
	close(w->fd);
	if (w->next_fd >= 0)
		close(w->next_fd);
	free(w);
}

static uint64_t count_lines(struct slice s)
{
	uint64_t n = 0;
	for (size_t i = 0; i < s.len; i++)
		n += s.ptr[i] == '\n';
	return n;
}

void io_log_writer_put(struct log_writer *w, struct slice lines)
{
	if (!lines.len)
		return;
	pthread_mutex_lock(&w->lock);
	bool fits = lines.len <= LOG_WAITING_BYTES - w->waiting.len && buf_reserve(&w->waiting, lines.len);
	w->waiting.failed = false; /* without memory now; the next ones may find some */
	if (fits)
		buf_put(&w->waiting, lines);
	else
		w->lost_lines += count_lines(lines);
	if (w->waiting.len == lines.len)
		pthread_cond_signal(&w->wake);
	pthread_mutex_unlock(&w->lock);
}
