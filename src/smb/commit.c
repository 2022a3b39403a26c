/* SPDX-License-Identifier: Apache-2.0
 * Commits that may have to wait until oplocks are broken, and what follows from a commit for others: breaks to tell,
 * waiters to wake, changes to publish.
 *
 * The wait begins before the breaks are marked, so that an acknowledgement that comes at once is not missed. A request
 * that waits ends exactly once: woken, at the holders' deadline, or cancelled (by CANCEL, a close, the connection's
 * end). After each wait apply runs again, for the world may have changed. */
#include "smb/opens.h"

struct breaking {
	apply_fn *apply;
	void *call;
	struct file_breaks *breaks;
	smb_then_fn *then;
	struct file_break_call breaking;
	struct waiter *waiter;
	bool woken;		      /* before the wait had begun for the client */
	struct arena_position before; /* what a look needs of memory is given back while it waits */
};

static struct breaking *breaking_of(struct smb_request *r)
{
	return r->breaking;
}

static void breaking_run(struct smb_request *);

void smb_wake(const struct smb_request *r, uint64_t inode_id)
{
	struct wait_key key = { r->tree->share, inode_id };
	wait_wake(r->conn->sl->server->config.waits, &key);
}

void smb_tell(const struct smb_request *r, const struct file_breaks *breaks)
{
	for (size_t i = 0; i < breaks->count; i++) {
		const struct file_break *b = file_breaks_at(breaks, i);
		if (!b->has_notice)
			continue;
		struct holder_notice n = {
			.open_id = b->open_id,
			.what = NOTICE_BREAK,
			.is_lease = b->is_lease,
			.from = b->notice.from,
			.to = b->notice.to,
			.epoch = b->notice.epoch,
			.ack_required = b->notice.ack_required,
		};
		memcpy(n.client, b->client.bytes, sizeof n.client);
		memcpy(n.lease_key, b->lease_key.bytes, sizeof n.lease_key);
		/* On this very connection the notice goes out before anything that was asked later is answered. */
		if (!smb_conn_tell(r->conn, &n))
			(void)holder_post(r->conn->sl->server->config.holders, &n);
	}
}

enum err smb_look(struct smb_request *r, apply_fn *apply, void *call)
{
	return store_read(r->conn->sl->server->config.store, r->tree->partition, apply, call, &r->arena);
}

/* ---- waiting ---- */

static void wait_over(struct smb_request *r)
{
	struct breaking *b = breaking_of(r);
	io_timer_clear(r->conn->sl->loop, &r->timer);
	wait_drop(b->waiter);
	b->waiter = NULL;
	b->woken = false;
	smb_wait_end(r);
}

static void wait_cancelled(struct smb_request *r, uint32_t status)
{
	wait_over(r);
	smb_fail(r, status == STATUS_FILE_CLOSED ? STATUS_CANCELLED : status);
}

static void wait_ended(void *owner, enum wait_end how)
{
	struct smb_request *r = owner;
	struct breaking *b = breaking_of(r);
	b->waiter = NULL; /* it is over */
	if (!r->cancel) {
		b->woken = true; /* while the breaks were being marked */
		return;
	}
	wait_over(r);
	breaking_run(r);
}

static void wait_deadline(struct io_timer *t)
{
	struct smb_request *r = io_container_of(t, struct smb_request, timer);
	wait_over(r);
	breaking_run(r);
}

/* Until the holders have answered, or at their deadline. */
static void breaking_park(struct smb_request *r, uint64_t deadline_ticks)
{
	struct breaking *b = breaking_of(r);
	struct smb_loop *sl = r->conn->sl;
	arena_rewind(&r->arena, b->before);
	if (b->woken) {
		wait_over(r);
		breaking_run(r);
		return;
	}
	if (!smb_wait_begin(r, wait_cancelled))
		return;
	uint64_t now = clock_now(sl->server->config.clock);
	uint64_t end = deadline_ticks ? deadline_ticks : now + FILE_BREAK_SECONDS * TICKS_PER_SECOND;
	uint64_t left_ms = end > now ? (end - now) / (TICKS_PER_SECOND / 1000) : 0;
	io_timer_init(&r->timer, wait_deadline);
	io_timer_set(sl->loop, &r->timer, io_loop_now_ms(sl->loop) + left_ms + 1);
}

static enum err waiter_begin(struct smb_request *r)
{
	struct breaking *b = breaking_of(r);
	struct smb_loop *sl = r->conn->sl;
	struct wait_key key = { r->tree->share, b->breaks->inode_id };
	b->woken = false;
	return wait_begin(sl->server->config.waits, &key, fair_owner(r->session->account->name), sl->loop, 0,
			  wait_ended, r, &b->waiter);
}

static void breaks_marked(struct smb_request *r, enum err e)
{
	struct breaking *b = breaking_of(r);
	if (e != ERR_OK) {
		wait_over(r);
		b->then(r, e);
		return;
	}
	if (b->breaking.wake)
		smb_wake(r, b->breaking.breaks.inode_id);
	smb_tell(r, &b->breaking.breaks);
	if (b->breaking.wait) {
		breaking_park(r, b->breaking.breaks.deadline_ticks);
		return;
	}
	wait_over(r);
	breaking_run(r);
}

/* The breaks were marked by the commit that found them: tell the holders, begin to wait, and look once more, because an
 * acknowledgement may have come before the wait began. */
static void breaking_marked(struct smb_request *r)
{
	struct breaking *b = breaking_of(r);
	smb_tell(r, b->breaks);
	if (b->waiter || b->woken) {
		breaking_park(r, b->breaks->deadline_ticks);
		return;
	}
	enum err e = waiter_begin(r);
	if (e == ERR_OK)
		breaking_run(r);
	else
		b->then(r, e);
}

static void breaking_done(struct smb_request *r, enum err e)
{
	struct breaking *b = breaking_of(r);
	if (e == ERR_OK && b->breaks->wait) {
		breaking_marked(r);
		return;
	}
	if (e != ERR_BREAK_FIRST) {
		wait_over(r);
		b->then(r, e);
		return;
	}
	if (!b->waiter) {
		e = waiter_begin(r);
		if (e != ERR_OK) {
			b->then(r, e);
			return;
		}
	}
	b->breaking = (struct file_break_call){ .breaks = *b->breaks };
	smb_decide(r, file_apply_break, &b->breaking, breaks_marked);
}

static void breaking_run(struct smb_request *r)
{
	struct breaking *b = breaking_of(r);
	b->breaks->mark_at_once = true;
	smb_decide(r, b->apply, b->call, breaking_done);
}

void smb_commit_breaking(struct smb_request *r, apply_fn *apply, void *call, struct file_breaks *breaks,
			 smb_then_fn *then)
{
	struct breaking *b = ARENA_NEW(&r->arena, struct breaking);
	if (!b) {
		smb_fail(r, STATUS_INSUFFICIENT_RESOURCES);
		return;
	}
	*b = (struct breaking){ .apply = apply, .call = call, .breaks = breaks, .then = then };
	b->before = arena_position(&r->arena);
	r->breaking = b;
	breaking_run(r);
}

/* ---- changes for those who watch ---- */

void smb_publish_events(struct smb_loop *sl, struct slice partition, uint64_t share, const struct file_events *events,
			struct arena *arena)
{
	if (atomic_load(&sl->server->watchers) == 0)
		return;
	for (size_t i = 0; i < events->count; i++) {
		const struct file_event *e = &events->event[i];
		struct file_above_call above = { .parent_id = e->parent_id };
		if (store_read(sl->server->config.store, partition, file_apply_above, &above, arena) != ERR_OK)
			continue; /* the directory is gone, and its watchers were told */
		struct slice path = e->name;
		if (above.path.len)
			path = arena_printf(arena, "%.*s/%.*s", SLICE_FMT(above.path), SLICE_FMT(e->name));
		if (!slice_is_set(path))
			continue;
		struct watch_event w = {
			.share = share,
			.action = (enum watch_action)e->action,
			.filter = e->changed,
			.unless = e->of_rename ? WATCH_FILE_NAME : 0,
			.dir = above.dir,
			.depth = above.depth,
			.path = path,
		};
		watch_publish(sl->server->config.watches, &w);
	}
}

void smb_publish(struct smb_request *r, const struct file_events *events)
{
	smb_publish_events(r->conn->sl, r->tree->partition, r->tree->share, events, &r->arena);
}
