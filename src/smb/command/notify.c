/* SPDX-License-Identifier: Apache-2.0
 * CHANGE_NOTIFY: a request waits for changes in a directory or below it. The watcher belongs to the open: it begins to
 * collect with the first request and goes on between requests. Requests on one open are answered in their order. */
#include "smb/opens.h"

#include <assert.h>

#include "wire/smb2/info.h"

enum { LIST_AT = 8 }; /* where a list of changes begins: 0 stands for "none" in its links */

struct notify {
	struct smb2_change_notify in;
	struct smb_request *next; /* that waits on the same open */
	struct buf list;
	size_t last;
};

static void change_give(void *arg, const struct watch_change *c)
{
	struct notify *n = arg;
	smb2_change_put(&n->list, (uint32_t)c->action, c->name, &n->last);
}

static struct smb_request *queue_take(struct smb_open *o, struct smb_request *r)
{
	struct smb_request **at = &o->notify_first;
	while (*at != r)
		at = &((struct notify *)(*at)->call)->next;
	*at = ((struct notify *)r->call)->next;
	smb_wait_end(r);
	return r;
}

/* Changes are there: the request that waits longest gets them. */
static void notify_answer(struct smb_open *o, struct smb_request *r)
{
	bool lost = false;
	struct notify *n = r->call;
	queue_take(o, r);
	if (watch_is_gone(o->watcher)) {
		smb_fail(r, STATUS_DELETE_PENDING);
	} else {
		buf_init(&n->list, SMB_MESSAGE_MAX);
		smb2_zeros_put(&n->list, LIST_AT);
		watch_take(o->watcher, change_give, n, &lost);
		size_t len = n->list.len - LIST_AT;
		if (lost || !buf_ok(&n->list) || len == 0 || len > n->in.output_length) {
			buf_fini(&n->list);
			smb_fail(r, STATUS_NOTIFY_ENUM_DIR);
		} else {
			smb2_output_put(r->out, slice_from(buf_slice(&n->list), LIST_AT));
			buf_fini(&n->list);
			smb_reply(r, STATUS_OK);
		}
	}
}

/* What was collected meanwhile is answered at once: a CANCEL that comes behind the request is too late then. */
static void arm_first(struct smb_open *o)
{
	smb_open_ref(o); /* an answer may be followed by its close */
	while (o->notify_first && watch_arm(o->watcher, o->watch_filter, o->watch_limit))
		notify_answer(o, o->notify_first);
	smb_open_unref(o);
}

static void notify_ready(void *owner)
{
	struct smb_open *o = owner;
	if (!o->notify_first)
		return;
	smb_open_ref(o);
	notify_answer(o, o->notify_first);
	arm_first(o);
	smb_open_unref(o);
}

static void notify_cancelled(struct smb_request *r, uint32_t status)
{
	struct smb_open *o = r->open;
	queue_take(o, r);
	if (!o->notify_first && o->watcher)
		watch_disarm(o->watcher);
	smb_fail(r, status == STATUS_FILE_CLOSED ? STATUS_NOTIFY_CLEANUP : status);
}

void smb_notify_end(struct smb_open *o, uint32_t status)
{
	while (o->notify_first)
		smb_fail(queue_take(o, o->notify_first), status);
	if (!o->watcher)
		return;
	watch_remove(o->watcher);
	o->watcher = NULL;
	atomic_fetch_sub(&o->session->conn->sl->server->watchers, 1);
}

/* The watcher is there, so it hears of every mark from now on; one that was set before is in the rows. */
static enum err mark_look(struct smb_request *r)
{
	struct file_open_note_call note = { .handle = r->open->handle };
	TRY(smb_look(r, file_apply_open_note, &note));
	if (note.delete_pending)
		watch_gone(r->conn->sl->server->config.watches, r->tree->share, r->open->handle.inode_id);
	return ERR_OK;
}

static enum err watcher_make(struct smb_request *r, const struct notify *n)
{
	struct smb_open *o = r->open;
	struct smb_loop *sl = r->conn->sl;
	if (o->watcher)
		return ERR_OK;
	TRY(watch_add(sl->server->config.watches, fair_owner(r->session->account->name), r->tree->share,
		      o->handle.inode_id, n->in.tree, sl->loop, notify_ready, o, &o->watcher));
	o->watch_filter = n->in.filter;
	o->watch_limit = n->in.output_length;
	atomic_fetch_add(&sl->server->watchers, 1);
	return mark_look(r);
}

void smb_do_notify(struct smb_request *r)
{
	struct notify *n = ARENA_NEW(&r->arena, struct notify);
	if (!n || smb2_change_notify_parse(r->part, &n->in) != ERR_OK || n->in.output_length > SMB_TRANSFER_MAX ||
	    !smb_charge_ok(r, n->in.output_length)) {
		smb_fail(r, STATUS_INVALID_PARAMETER);
		return;
	}
	r->call = n;
	struct smb_open *o = smb_open_of(r, n->in.id, false);
	if (!o)
		return;
	if (!o->directory || o->snapshot) {
		smb_fail(r, STATUS_INVALID_PARAMETER);
		return;
	}
	if (!smb_open_may(r, o, SMB2_READ_DATA))
		return;
	if (r->h.next) { /* only the last part of a chain may wait that long, as Windows has it */
		smb_fail(r, STATUS_INTERNAL_ERROR);
		return;
	}
	enum err e = watcher_make(r, n);
	if (e != ERR_OK) {
		smb_fail_err(r, e);
		return;
	}
	struct smb_request **at = &o->notify_first;
	while (*at)
		at = &((struct notify *)(*at)->call)->next;
	*at = r;
	bool first = o->notify_first == r;
	if (smb_wait_begin(r, notify_cancelled) && first)
		arm_first(o);
}
