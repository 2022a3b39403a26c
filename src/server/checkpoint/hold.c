/* SPDX-License-Identifier: Apache-2.0
 * The server's side of a checkpoint: makes the moment, and a thread that holds it until the program that copies gives
 * up its lock, ends, or never comes. */
#include "server/checkpoint/checkpoint.h"

#include "base/limits.h"
#include "base/sys/log.h"
#include "engine/rocks/rocks.h"
#include "server/checkpoint/clone.h"
#include "server/house.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LOOK_EVERY_MS = 50, FIRST_LOOKS = 100 }; /* before the copying program has its lock */

struct moment_holder {
	struct rocks_moment moment;
	struct engine *engine;
	pthread_t thread;
	int hold_fd;		  /* the file that the copying program has locked */
	int stop_fd[2];		  /* closing [1] ends the hold */
	atomic_bool over;	  /* the thread has nothing left to do, and needs no lock for it */
	char path[PATH_MAX];	  /* of the folder, */
	char hold[PATH_MAX + 16]; /* of the file in it */
};

static bool folder_path(const char *data_dir, char ret[PATH_MAX])
{
	return snprintf(ret, PATH_MAX, "%s/" CHECKPOINT_STAGING, data_dir) < PATH_MAX - 16;
}

void checkpoint_clean(const char *data_dir)
{
	char path[PATH_MAX];
	if (folder_path(data_dir, path))
		clone_remove_tree(path);
}

/* False: the copying program is gone, or never came. Whoever gets the lock for itself is alone. */
static bool held_on(struct moment_holder *h, bool *seen, unsigned *looks)
{
	struct pollfd p = { .fd = h->stop_fd[0], .events = POLLIN };
	if (poll(&p, 1, LOOK_EVERY_MS) > 0)
		return false;
	if (flock(h->hold_fd, LOCK_EX | LOCK_NB) != 0) {
		*seen = true;
		return true;
	}
	flock(h->hold_fd, LOCK_UN);
	return !*seen && ++*looks < FIRST_LOOKS;
}

static void *hold_main(void *arg)
{
	struct moment_holder *h = arg;
	bool seen = false;
	unsigned looks = 0;
	pthread_setname_np(pthread_self(), "checkpoint");
	while (held_on(h, &seen, &looks))
		;
	unlink(h->hold); /* before anything of the moment goes: who copies looks for it at its end */
	engine_rocks_moment_end(h->engine, &h->moment);
	clone_remove_tree(h->path);
	log_info("the checkpoint of commit %llu %s", (unsigned long long)h->moment.commit,
		 seen ? "is no longer held" : "was given up: nobody copied it");
	atomic_store(&h->over, true);
	return NULL;
}

static void holder_free(struct moment_holder *h)
{
	if (h->hold_fd >= 0)
		close(h->hold_fd);
	for (int i = 0; i < 2; i++)
		if (h->stop_fd[i] >= 0)
			close(h->stop_fd[i]);
	free(h);
}

/* One whose thread is about to end is out of the way. Under the lock. */
static bool holder_settle(struct house *house)
{
	struct moment_holder *h = house->moment;
	if (h && !atomic_load(&h->over))
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
	snprintf(h->hold, sizeof h->hold, "%s/" CHECKPOINT_HOLD, h->path);
	clone_remove_tree(h->path);
	if (mkdir(h->path, 0700) != 0 ||
	    (h->hold_fd = open(h->hold, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600)) < 0 ||
	    pipe2(h->stop_fd, O_CLOEXEC) != 0) {
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
	if (house->config->inMemoryPersistence) {
		BUF_PUT(out, "this server keeps its data in memory: there is nothing to copy\n");
		return 409;
	}
	struct moment_holder *h = calloc(1, sizeof *h);
	if (!h) {
		BUF_PUT(out, "no memory\n");
		return 500;
	}
	h->hold_fd = h->stop_fd[0] = h->stop_fd[1] = -1;
	h->engine = store_engine(house->store);
	if (!folder_path(house->data.path, h->path) || !holder_open(h, out)) {
		clone_remove_tree(h->path);
		holder_free(h);
		return 500;
	}
	house->moment = h;
	log_info("a checkpoint begins at commit %llu, made in %.1f ms; commits waited %.2f ms",
		 (unsigned long long)h->moment.commit, (double)h->moment.took_ns / 1e6,
		 (double)h->moment.waited_ns / 1e6);
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

/* Under the lock until the thread has ended: the folder has the same name for every moment, and must be gone before it
 * is made again. */
static void holder_stop(struct house *house)
{
	struct moment_holder *h = house->moment;
	close(h->stop_fd[1]);
	h->stop_fd[1] = -1;
	pthread_join(h->thread, NULL);
	holder_free(h);
	house->moment = NULL;
}

/* The program that copied is done, and what it held goes at once. One that another still copies stays. */
int checkpoint_finish(struct house *house, const struct query *q, struct buf *out)
{
	pthread_mutex_lock(&house->checkpoint_lock);
	const struct moment_holder *h = house->moment;
	if (h && (atomic_load(&h->over) || flock(h->hold_fd, LOCK_EX | LOCK_NB) == 0))
		holder_stop(house);
	pthread_mutex_unlock(&house->checkpoint_lock);
	return 200;
}

void checkpoint_end(struct house *house)
{
	pthread_mutex_lock(&house->checkpoint_lock);
	house->no_moments = true;
	if (house->moment)
		holder_stop(house);
	pthread_mutex_unlock(&house->checkpoint_lock);
}
