/* SPDX-License-Identifier: Apache-2.0
 * Watchers of directories. Changes are kept as bytes, in order, up to the limit of the request; past it they are
 * forgotten and the watcher is told that it lost some.
 *
 *   one change: u8 action, u32 length of the name, name */
#include "wait/watch.h"

#include "base/bytes.h"
#include "base/fair.h"

#include <pthread.h>
#include <stdlib.h>

enum { BUCKETS = 1024, CHANGE_WIRE_BYTES = 12 /* of an entry of the answer, beside the name */ };

struct watcher {
	struct io_task task;
	struct watch_list *list;
	struct io_loop *loop;
	unsigned account; /* whose place it takes */
	uint64_t share, dir;
	bool tree;
	watch_ready_fn *ready;
	void *owner;
	/* under the list's lock: */
	uint32_t filter;
	size_t limit_bytes;
	bool collects; /* a first request came */
	bool armed, posted, removed, lost, gone;
	struct buf changes;
	size_t wire_bytes; /* what an answer with them would have */
	/* Told, but not taken yet: how much of both there was then. What comes later is for the next request. */
	size_t told_len, told_wire_bytes;
	struct watcher *next, *prev;
};

struct watch_list {
	pthread_mutex_t lock;
	struct fair places;
	struct watcher *bucket[BUCKETS];
};

enum err watch_list_new(struct watch_list **ret)
{
	struct watch_list *l = calloc(1, sizeof *l);
	if (!l)
		return ERR_NO_MEMORY;
	pthread_mutex_init(&l->lock, NULL);
	fair_init(&l->places, LIMIT_WATCHERS);
	*ret = l;
	return ERR_OK;
}

static void watcher_free(struct watcher *w)
{
	buf_fini(&w->changes);
	free(w);
}

void watch_list_free(struct watch_list *l)
{
	if (!l)
		return;
	for (size_t i = 0; i < BUCKETS; i++)
		for (struct watcher *w = l->bucket[i], *next; w; w = next) {
			next = w->next;
			watcher_free(w);
		}
	pthread_mutex_destroy(&l->lock);
	free(l);
}

static struct watcher **bucket_of(struct watch_list *l, uint64_t share, uint64_t dir)
{
	return &l->bucket[(share ^ dir * UINT64_C(0x9E3779B97F4A7C15)) % BUCKETS];
}

static void unlink_watcher(struct watch_list *l, struct watcher *w)
{
	*(w->prev ? &w->prev->next : bucket_of(l, w->share, w->dir)) = w->next;
	if (w->next)
		w->next->prev = w->prev;
	fair_give_back(&l->places, w->account, 1);
}

static void on_ready(struct io_task *task)
{
	struct watcher *w = io_container_of(task, struct watcher, task);
	struct watch_list *l = w->list;
	pthread_mutex_lock(&l->lock);
	w->posted = false;
	bool removed = w->removed;
	if (removed)
		unlink_watcher(l, w);
	pthread_mutex_unlock(&l->lock);
	if (removed)
		watcher_free(w);
	else
		w->ready(w->owner);
}

enum err watch_add(struct watch_list *l, unsigned account, uint64_t share, uint64_t dir, bool tree,
		   struct io_loop *loop, watch_ready_fn *ready, void *owner, struct watcher **ret)
{
	struct watcher *w = calloc(1, sizeof *w);
	if (!w)
		return ERR_NO_MEMORY;
	*w = (struct watcher){ .list = l, .loop = loop, .share = share, .dir = dir, .tree = tree };
	w->account = account;
	w->ready = ready;
	w->owner = owner;
	w->task.run = on_ready;
	buf_init(&w->changes, LIMIT_WATCH_BYTES);
	pthread_mutex_lock(&l->lock);
	bool full = !fair_may_take(&l->places, account, 1);
	if (!full) {
		struct watcher **at = bucket_of(l, share, dir);
		w->next = *at;
		if (*at)
			(*at)->prev = w;
		*at = w;
		fair_take(&l->places, account, 1);
	}
	pthread_mutex_unlock(&l->lock);
	if (full) {
		watcher_free(w);
		return ERR_BUSY;
	}
	*ret = w;
	return ERR_OK;
}

void watch_remove(struct watcher *w)
{
	if (!w)
		return;
	struct watch_list *l = w->list;
	pthread_mutex_lock(&l->lock);
	w->removed = true;
	bool now = !w->posted;
	if (now)
		unlink_watcher(l, w);
	pthread_mutex_unlock(&l->lock);
	if (now)
		watcher_free(w);
}

/* Under the lock. */
static bool has_news(const struct watcher *w)
{
	return w->changes.len || w->lost || w->gone;
}

/* Under the lock: a request waits and there is something to say. */
static void tell(struct watcher *w)
{
	if (!w->armed || !has_news(w))
		return;
	w->armed = false;
	w->posted = true;
	w->told_len = w->changes.len;
	w->told_wire_bytes = w->wire_bytes;
	io_loop_post(w->loop, &w->task);
}

static void lose(struct watcher *w)
{
	buf_fini(&w->changes);
	buf_init(&w->changes, LIMIT_WATCH_BYTES);
	w->wire_bytes = w->told_len = 0;
	w->lost = true;
}

bool watch_arm(struct watcher *w, uint32_t filter, size_t limit_bytes)
{
	pthread_mutex_lock(&w->list->lock);
	w->filter = filter;
	w->limit_bytes = limit_bytes;
	w->collects = true;
	if (w->wire_bytes > limit_bytes)
		lose(w);
	bool now = !w->posted && has_news(w);
	if (now)
		w->told_len = 0; /* of a request that was cancelled meanwhile */
	w->armed = !w->posted && !now;
	pthread_mutex_unlock(&w->list->lock);
	return now;
}

void watch_disarm(struct watcher *w)
{
	pthread_mutex_lock(&w->list->lock);
	w->armed = false;
	pthread_mutex_unlock(&w->list->lock);
}

void watch_take(struct watcher *w, void (*each)(void *arg, const struct watch_change *), void *arg, bool *ret_lost)
{
	pthread_mutex_lock(&w->list->lock);
	struct buf taken = w->changes;
	size_t len = w->told_len ? w->told_len : taken.len;
	*ret_lost = w->lost;
	w->lost = false;
	w->wire_bytes = w->told_len ? w->wire_bytes - w->told_wire_bytes : 0;
	w->told_len = 0;
	buf_init(&w->changes, LIMIT_WATCH_BYTES);
	buf_put(&w->changes, slice_from(buf_slice(&taken), len));
	if (!buf_ok(&w->changes))
		lose(w);
	pthread_mutex_unlock(&w->list->lock);
	struct cursor c = cursor_make(slice_first(buf_slice(&taken), len));
	while (cursor_left(&c)) {
		struct watch_change change = { .action = cursor_u8(&c) };
		change.name = cursor_str(&c);
		if (c.failed)
			break;
		each(arg, &change);
	}
	buf_fini(&taken);
}

bool watch_is_gone(const struct watcher *w)
{
	pthread_mutex_lock(&w->list->lock);
	bool gone = w->gone;
	pthread_mutex_unlock(&w->list->lock);
	return gone;
}

static void set_gone(struct watch_list *l, uint64_t share, uint64_t dir, bool gone)
{
	pthread_mutex_lock(&l->lock);
	for (struct watcher *w = *bucket_of(l, share, dir); w; w = w->next)
		if (w->share == share && w->dir == dir) {
			w->gone = gone;
			tell(w);
		}
	pthread_mutex_unlock(&l->lock);
}

void watch_gone(struct watch_list *l, uint64_t share, uint64_t dir)
{
	set_gone(l, share, dir, true);
}

void watch_back(struct watch_list *l, uint64_t share, uint64_t dir)
{
	set_gone(l, share, dir, false);
}

/* Under the lock. UTF-16 is never longer than two bytes for each of UTF-8. */
static void collect(struct watcher *w, const struct watch_event *e, struct slice name)
{
	if (!w->collects || w->removed || w->lost || !(w->filter & e->filter) || (w->filter & e->unless))
		return;
	w->wire_bytes += CHANGE_WIRE_BYTES + 2 * name.len;
	bytes_put_u8(&w->changes, (uint8_t)e->action);
	bytes_put_str(&w->changes, name);
	if (w->wire_bytes > w->limit_bytes || !buf_ok(&w->changes))
		lose(w);
	/* Both names of a rename go into one answer. */
	if (e->action != WATCH_OLD_NAME || w->lost)
		tell(w);
}

/* The last `parts` parts of a path. */
static struct slice path_tail(struct slice path, size_t parts)
{
	size_t at = path.len;
	while (at > 0) {
		if (path.ptr[at - 1] == '/' && --parts == 0)
			break;
		at--;
	}
	return slice_from(path, at);
}

bool watch_any(struct watch_list *l)
{
	pthread_mutex_lock(&l->lock);
	bool any = l->places.used != 0;
	pthread_mutex_unlock(&l->lock);
	return any;
}

void watch_publish(struct watch_list *l, const struct watch_event *e)
{
	pthread_mutex_lock(&l->lock);
	for (size_t i = 0; l->places.used && i < e->depth; i++) {
		struct watcher *w = *bucket_of(l, e->share, e->dir[i]);
		for (; w; w = w->next)
			if (w->share == e->share && w->dir == e->dir[i] && (i == 0 || w->tree))
				collect(w, e, path_tail(e->path, i + 1));
	}
	pthread_mutex_unlock(&l->lock);
}
