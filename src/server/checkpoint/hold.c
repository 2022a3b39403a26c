/* SPDX-License-Identifier: Apache-2.0
 * The server's side of a checkpoint: makes the moment, and a thread that holds it until the program that copies closes
 * its end of the pipe, ends, or never comes. */
#include "server/checkpoint/checkpoint.h"

#include "base/limits.h"
#include "base/sys/log.h"
#include "engine/rocks/rocks.h"
#include "server/house.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FIRST_WORD_MS = 5000 }; /* between the answer and the first byte in the pipe */

struct moment_holder {
	struct rocks_moment moment;
	struct engine *engine;
	pthread_t thread;
	int pipe_fd;	/* read end: hangs up when the copying program is gone */
	int stop_fd[2]; /* closing [1] ends the hold */
	bool over;	/* under house.checkpoint_lock: the thread is about to end */
	pthread_mutex_t *lock;
	char path[PATH_MAX]; /* of the folder */
};

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(path);
}

static void folder_remove(const char *path)
{
	nftw(path, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

static bool folder_path(const char *data_dir, char ret[PATH_MAX])
{
	return snprintf(ret, PATH_MAX, "%s/" CHECKPOINT_STAGING, data_dir) < PATH_MAX - 16;
}

void checkpoint_clean(const char *data_dir)
{
	char path[PATH_MAX];
	if (folder_path(data_dir, path))
		folder_remove(path);
}

/* False: the other end hung up, or never came. */
static bool held_on(struct moment_holder *h, bool *seen)
{
	struct pollfd p[2] = { { .fd = h->pipe_fd, .events = POLLIN }, { .fd = h->stop_fd[0], .events = POLLIN } };
	char bytes[64];
	int n = poll(p, 2, *seen ? -1 : FIRST_WORD_MS);
	if (n < 0)
		return errno == EINTR;
	if (n == 0 || p[1].revents)
		return false;
	ssize_t got = read(h->pipe_fd, bytes, sizeof bytes);
	*seen = *seen || got > 0;
	return got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR));
}

static void *hold_main(void *arg)
{
	struct moment_holder *h = arg;
	bool seen = false;
	pthread_setname_np(pthread_self(), "checkpoint");
	while (held_on(h, &seen))
		;
	engine_rocks_moment_end(h->engine, &h->moment);
	folder_remove(h->path);
	log_info("the checkpoint of commit %llu %s", (unsigned long long)h->moment.commit,
		 seen ? "is no longer held" : "was given up: nobody copied it");
	pthread_mutex_lock(h->lock);
	h->over = true;
	pthread_mutex_unlock(h->lock);
	return NULL;
}

static void holder_free(struct moment_holder *h)
{
	if (h->pipe_fd >= 0)
		close(h->pipe_fd);
	for (int i = 0; i < 2; i++)
		if (h->stop_fd[i] >= 0)
			close(h->stop_fd[i]);
	free(h);
}

/* One whose thread is about to end is out of the way. Under the lock. */
static bool holder_settle(struct house *house)
{
	struct moment_holder *h = house->moment;
	if (h && !h->over)
		return false;
	if (h) {
		pthread_join(h->thread, NULL);
		holder_free(h);
		house->moment = NULL;
	}
	return true;
}

static bool holder_open(struct moment_holder *h, struct buf *out)
{
	char name[PATH_MAX + 16];
	snprintf(name, sizeof name, "%s/" CHECKPOINT_PIPE, h->path);
	folder_remove(h->path);
	if (mkdir(h->path, 0700) != 0 || mkfifo(name, 0600) != 0 ||
	    (h->pipe_fd = open(name, O_RDONLY | O_NONBLOCK | O_CLOEXEC)) < 0 || pipe2(h->stop_fd, O_CLOEXEC) != 0) {
		buf_printf(out, "cannot make %s: %s\n", h->path, strerror(errno));
		return false;
	}
	snprintf(name, sizeof name, "%s/db", h->path);
	if (engine_rocks_moment_begin(h->engine, name, &h->moment, out) != ERR_OK) {
		BUF_PUT(out, "\n");
		return false;
	}
	if (pthread_create(&h->thread, NULL, hold_main, h) != 0) {
		engine_rocks_moment_end(h->engine, &h->moment);
		BUF_PUT(out, "no thread\n");
		return false;
	}
	return true;
}

static int begin_locked(struct house *house, struct buf *out)
{
	if (house->no_moments || !holder_settle(house)) {
		BUF_PUT(out,
			"another checkpoint is being made, or the server is ending: try again when that is over\n");
		return 409;
	}
	struct moment_holder *h = calloc(1, sizeof *h);
	if (!h) {
		BUF_PUT(out, "no memory\n");
		return 500;
	}
	h->pipe_fd = h->stop_fd[0] = h->stop_fd[1] = -1;
	h->engine = store_engine(house->store);
	h->lock = &house->checkpoint_lock;
	if (!folder_path(house->data.path, h->path) || !holder_open(h, out)) {
		folder_remove(h->path);
		holder_free(h);
		return 500;
	}
	house->moment = h;
	log_info("a checkpoint begins at commit %llu", (unsigned long long)h->moment.commit);
	buf_printf(out, "%s\n%llu\n", house->data.path, (unsigned long long)h->moment.commit);
	return 200;
}

int checkpoint_begin(struct house *house, const struct query *q, struct buf *out)
{
	pthread_mutex_lock(&house->checkpoint_lock);
	int status = begin_locked(house, out);
	pthread_mutex_unlock(&house->checkpoint_lock);
	return status;
}

void checkpoint_end(struct house *house)
{
	pthread_mutex_lock(&house->checkpoint_lock);
	struct moment_holder *h = house->moment;
	house->no_moments = true;
	house->moment = NULL;
	pthread_mutex_unlock(&house->checkpoint_lock);
	if (!h)
		return;
	close(h->stop_fd[1]);
	h->stop_fd[1] = -1;
	pthread_join(h->thread, NULL);
	holder_free(h);
}
