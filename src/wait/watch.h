/* SPDX-License-Identifier: Apache-2.0
 * Change notify: watchers of directories and trees, and the events that commits bring them.
 *
 * Publish from the `done` of the transaction: dones come in the order of commits, and after they are durable. A watcher
 * collects from its first request on, also between requests; one that falls behind its buffer gets no events but
 * "enumerate again".
 *
 * Threads: watch_publish from any; the others on the watcher's own loop. `ready` is called on that loop, once for each
 * watch_arm. */
#ifndef WAIT_WATCH_H
#define WAIT_WATCH_H

#include "base/buf.h"
#include "base/err.h"
#include "io/loop.h"

struct watch_list;
struct watcher;

enum watch_action { WATCH_ADDED = 1, WATCH_REMOVED, WATCH_MODIFIED, WATCH_OLD_NAME, WATCH_NEW_NAME };

/* Filter bits of the SMB wire. */
enum {
	WATCH_FILE_NAME = 0x1,
	WATCH_DIR_NAME = 0x2,
	WATCH_ATTRIBUTES = 0x4,
	WATCH_SIZE = 0x8,
	WATCH_LAST_WRITE = 0x10,
	WATCH_LAST_ACCESS = 0x20,
	WATCH_CREATION = 0x40,
	WATCH_SECURITY = 0x100,
};

struct watch_event {
	uint64_t share; /* hash of the partition's id */
	enum watch_action action;
	uint32_t filter;     /* what changed: a watcher gets it if its filter has one of these */
	uint32_t unless;     /* ... and none of these */
	const uint64_t *dir; /* ids of the directories above the entry: its parent first, the root last */
	size_t depth;
	struct slice path; /* from the root, parts divided by '/'; a watcher gets the part below itself */
};

enum { LIMIT_WATCHERS = 16384, LIMIT_WATCH_BYTES = 64 * 1024 /* events kept for one watcher */ };

enum err watch_list_new(struct watch_list **ret) MUST_CHECK;
void watch_list_free(struct watch_list *); /* accepts NULL */

typedef void watch_ready_fn(void *owner);
/* account: fair_owner of the one that watches. ERR_BUSY: too many watch. */
enum err watch_add(struct watch_list *, unsigned account, uint64_t share, uint64_t dir, bool tree, struct io_loop *,
		   watch_ready_fn *, void *owner, struct watcher **ret) MUST_CHECK;
void watch_remove(struct watcher *); /* accepts NULL; `ready` does not come any more */
/* A request waits: what it filters, and the bytes its answer may have. True: there is something to take at once, and
 * `ready` does not come; else it comes as soon as there is. */
bool watch_arm(struct watcher *, uint32_t filter, size_t limit_bytes) MUST_CHECK;
/* No request waits any more; events are still collected. */
void watch_disarm(struct watcher *);

struct watch_change {
	enum watch_action action;
	struct slice name; /* below the watched directory, divided by '/' */
};
/* Calls `each` for every change collected, in order, and forgets them. *ret_lost: too many came, none is given. */
void watch_take(struct watcher *, void (*each)(void *arg, const struct watch_change *), void *arg, bool *ret_lost);
/* The directory is deleted, or marked to be: its watchers become ready, and watch_is_gone says so. A mark can be taken
 * back. */
void watch_gone(struct watch_list *, uint64_t share, uint64_t dir);
void watch_back(struct watch_list *, uint64_t share, uint64_t dir);
bool watch_is_gone(const struct watcher *);

/* Whether there is a watcher at all: without one, changes need not be described. */
bool watch_any(struct watch_list *);
void watch_publish(struct watch_list *, const struct watch_event *);

#endif
