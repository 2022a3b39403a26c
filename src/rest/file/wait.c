/* SPDX-License-Identifier: Apache-2.0
 * A REST request is a momentary open. If it must wait until an SMB client has given up what it caches, its apply
 * answers ERR_BREAK_FIRST, and what follows here is the protocol of svc/file/open.h: begin to wait, mark the breaks in
 * a commit, tell the holders, wait, run the step again. It ends when the step succeeds or fails otherwise, or when
 * the request's own time is over: ERR_CLIENT_CACHE_FLUSH_DELAY.
 *
 * The waiter's callback comes on the request's loop, maybe before the commit that marks the breaks is back: `woken`
 * remembers it. */
#include "rest/file/wait.h"

#include <assert.h>
#include <stddef.h>

#include "base/fair.h"
#include "base/hash.h"
#include "rest/core/server.h"
#include "svc/file/open.h"
#include "wait/holder.h"
#include "wait/wait.h"
#include "wait/watch.h"

enum { WAIT_MAX_SECONDS = 30 };

struct file_wait {
	struct file_breaks breaks;	  /* first: what the applies fill */
	struct file_break_call *breaking; /* made when it is needed: nearly never */
	struct waiter *waiter;
	bool woken, timed_out;
	uint64_t deadline_ms;
	struct slice partition;		  /* of the step that is run again, with the request's own call */
	const struct file_events *events; /* of the call */
	void *call;
};

/* The room for breaks is left as it is: it is large, every request has it, and `count` says what is set. */
static struct file_wait *wait_new(struct arena *arena)
{
	struct file_wait *w = arena_alloc(arena, sizeof *w);
	if (!w)
		return NULL;
	char *behind = (char *)w->breaks.item + sizeof w->breaks.item;
	memset(w, 0, offsetof(struct file_wait, breaks.item));
	memset(behind, 0, (size_t)((char *)(w + 1) - behind));
	return w;
}

enum err rest_file_wait_prepare(struct request *r, struct file_breaks **ret)
{
	if (!r->wait)
		r->wait = wait_new(r->arena);
	if (!r->wait)
		return ERR_NO_MEMORY;
	*ret = &((struct file_wait *)r->wait)->breaks;
	return ERR_OK;
}

void rest_file_wait_in(struct request *r, struct slice partition)
{
	if (r->wait)
		((struct file_wait *)r->wait)->partition = partition;
}

static void wait_ended(void *owner, enum wait_end end)
{
	struct request *r = owner;
	struct file_wait *w = r->wait;
	w->waiter = NULL;
	w->woken = true;
	w->timed_out = end != WAIT_WOKEN;
	if (r->suspended)
		request_resume(r, ERR_OK);
}

static struct wait_key key_of(const struct file_wait *w)
{
	return (struct wait_key){ .share = base_hash_bytes(0, w->partition), .inode = w->breaks.inode_id };
}

static enum err begin_wait(struct request *r)
{
	struct file_wait *w = r->wait;
	struct wait_key key = key_of(w);
	w->woken = w->timed_out = false;
	*w->breaking = (struct file_break_call){ .breaks = w->breaks };
	TRY(wait_begin(r->server->config.waits, &key, fair_owner(r->account), request_loop(r), w->deadline_ms,
		       wait_ended, r, &w->waiter));
	w->call = r->call;
	r->call = w->breaking;
	return ERR_OK;
}

void rest_file_wait_tell(struct request *r, const struct file_breaks *breaks)
{
	for (size_t i = 0; i < breaks->count; i++) {
		const struct file_break *b = file_breaks_at(breaks, i);
		if (!b->has_notice)
			continue;
		struct holder_notice n = { .open_id = b->open_id,
					   .what = NOTICE_BREAK,
					   .is_lease = b->is_lease,
					   .from = b->notice.from,
					   .to = b->notice.to,
					   .epoch = b->notice.epoch,
					   .ack_required = b->notice.ack_required };
		memcpy(n.client, b->client.bytes, sizeof n.client);
		memcpy(n.lease_key, b->lease_key.bytes, sizeof n.lease_key);
		holder_post(r->server->config.holders, &n);
	}
}

static enum err after_mark(struct request *r)
{
	struct file_wait *w = r->wait;
	struct wait_key key = key_of(w);
	r->call = w->call;
	rest_file_wait_tell(r, &w->breaking->breaks);
	if (w->breaking->wake)
		wait_wake(r->server->config.waits, &key);
	if (!w->breaking->wait && w->waiter) {
		wait_drop(w->waiter);
		w->waiter = NULL;
	} else if (!w->woken) {
		request_suspend(r);
	}
	return ERR_OK;
}

static enum err after_wait(struct request *r)
{
	struct file_wait *w = r->wait;
	return w->timed_out ? ERR_CLIENT_CACHE_FLUSH_DELAY : ERR_OK;
}

/* The request's own time, at most 30 s from its arrival. */
static void set_deadline(struct request *r, struct file_wait *w)
{
	struct slice timeout = request_param(r, "timeout");
	uint64_t seconds;
	if (w->deadline_ms)
		return;
	if (!slice_is_set(timeout) || !slice_to_u64(timeout, &seconds) || seconds < 1 || seconds > WAIT_MAX_SECONDS)
		seconds = WAIT_MAX_SECONDS;
	w->deadline_ms = io_loop_now_ms(request_loop(r)) + seconds * 1000;
}

static enum err break_first(struct request *r)
{
	struct file_wait *w = r->wait;
	assert(w && r->step_next > 0);
	if (!r->server->config.waits || !r->server->config.holders)
		return ERR_SHARING_VIOLATION; /* no SMB door, yet somebody holds it: an open left by a restart */
	if (!w->breaking && !(w->breaking = ARENA_NEW(r->arena, struct file_break_call)))
		return ERR_NO_MEMORY;
	struct step again[REQUEST_STEPS_MAX];
	unsigned again_count = r->step_count - (r->step_next - 1);
	memcpy(again, &r->steps[r->step_next - 1], again_count * sizeof *again);
	set_deadline(r, w);
	request_steps_clear(r);
	request_step_call(r, begin_wait);
	request_step_write(r, w->partition, file_apply_break);
	request_step_call(r, after_mark);
	request_step_call(r, after_wait);
	for (unsigned i = 0; i < again_count; i++)
		r->steps[r->step_count++] = again[i];
	return ERR_OK;
}

void rest_file_publish(struct request *r, struct slice partition, const struct file_events *events)
{
	struct watch_list *watches = r->server->config.watches;
	if (!events->count || !watches || !watch_any(watches))
		return;
	struct file_above_call *above = ARENA_NEW(r->arena, struct file_above_call);
	for (size_t i = 0; above && i < events->count; i++) {
		const struct file_event *e = &events->event[i];
		above->parent_id = e->parent_id;
		if (store_read(r->server->config.store, partition, file_apply_above, above, r->arena) != ERR_OK)
			continue; /* the directory is gone, and with it who watched it */
		struct slice path = e->name;
		if (above->path.len)
			path = arena_printf(r->arena, "%.*s/%.*s", SLICE_FMT(above->path), SLICE_FMT(e->name));
		if (!slice_is_set(path))
			continue;
		watch_publish(watches, &(struct watch_event){
					       .share = base_hash_bytes(0, partition),
					       .action = (enum watch_action)e->action,
					       .filter = e->changed,
					       .unless = e->of_rename ? WATCH_FILE_NAME : 0,
					       .dir = above->dir,
					       .depth = above->depth,
					       .path = path,
				       });
	}
}

/* The write is durable: those whose cached state it took away without waiting are told, and those who watch. */
static enum err tell_after(struct request *r)
{
	struct file_wait *w = r->wait;
	if (w && w->events)
		rest_file_publish(r, w->partition, w->events);
	if (w && w->breaks.count && r->server->config.holders)
		rest_file_wait_tell(r, &w->breaks);
	return ERR_OK;
}

void rest_file_step_write_in(struct request *r, struct slice partition, apply_fn *apply,
			     const struct file_events *events)
{
	if (r->wait)
		((struct file_wait *)r->wait)->events = events;
	request_step_write(r, partition, apply);
	request_step_call(r, tell_after);
}

enum err rest_file_refused(struct request *r, enum err e)
{
	struct file_wait *w = r->wait;
	if (e == ERR_BREAK_FIRST)
		return break_first(r);
	if (w && w->waiter) { /* the commit that marks failed */
		wait_drop(w->waiter);
		w->waiter = NULL;
	}
	if (e == ERR_SMB_DELETE_PENDING && r->server->config.delete_pending_short)
		return ERR_DELETE_PENDING;
	return e;
}
