/* SPDX-License-Identifier: Apache-2.0
 * LOCK: byte ranges. A lock that may not be had now either fails or waits for an unlock or close of the file and asks
 * again; the client is told that it waits. */
#include "smb/opens.h"

#include <assert.h>

enum { ELEMENTS_MAX = 4096 };

struct lock {
	struct smb2_lock in;
	struct file_lock_element *element;
	size_t count; /* of those that are well-formed */
	bool unlocks, waits;
	struct file_unlock_call call;
	struct waiter *waiter;
	bool woken;
	struct arena_position before; /* what a look needs of memory is given back while it waits */
};

/* All locks that fail at once, or a single lock that waits. */
static bool locks_parse(struct lock *l)
{
	for (size_t i = 0; i < l->in.count; i++) {
		struct smb2_lock_element e = smb2_lock_element(&l->in, i);
		uint32_t kind = e.flags & ~(uint32_t)SMB2_LOCK_FAIL_NOW;
		if (kind != SMB2_LOCK_SHARED && kind != SMB2_LOCK_EXCLUSIVE)
			return false;
		if (!(e.flags & SMB2_LOCK_FAIL_NOW)) {
			if (l->in.count > 1)
				return false;
			l->waits = true;
		}
		l->element[i] = (struct file_lock_element){ .offset = e.offset,
							    .length = e.length,
							    .exclusive = kind == SMB2_LOCK_EXCLUSIVE };
	}
	l->count = l->in.count;
	return true;
}

/* Unlocks are done in order; what is not one ends the list, and is an error once those before it are done. */
static void unlocks_parse(struct lock *l)
{
	l->unlocks = true;
	for (l->count = 0; l->count < l->in.count; l->count++) {
		struct smb2_lock_element e = smb2_lock_element(&l->in, l->count);
		if (e.flags != SMB2_LOCK_UNLOCK)
			return;
		l->element[l->count] =
			(struct file_lock_element){ .offset = e.offset, .length = e.length, .unlock = true };
	}
}

static bool elements_parse(struct smb_request *r, struct lock *l)
{
	l->element = ARENA_NEW_ARRAY(&r->arena, struct file_lock_element, l->in.count);
	if (!l->element)
		return false;
	if (smb2_lock_element(&l->in, 0).flags != SMB2_LOCK_UNLOCK)
		return locks_parse(l);
	unlocks_parse(l);
	return true;
}

static bool ranges_ok(const struct lock *l)
{
	for (size_t i = 0; i < l->in.count; i++)
		if (!byte_range_is_valid(l->element[i].offset, l->element[i].length))
			return false;
	return true;
}

static void lock_run(struct smb_request *);

static void wait_over(struct smb_request *r)
{
	struct lock *l = r->call;
	wait_drop(l->waiter);
	l->waiter = NULL;
	smb_wait_end(r);
}

static void lock_cancelled(struct smb_request *r, uint32_t status)
{
	wait_over(r);
	smb_fail(r, status == STATUS_FILE_CLOSED ? STATUS_RANGE_NOT_LOCKED : status);
}

static void lock_look_again(void *owner, enum wait_end how)
{
	struct smb_request *r = owner;
	struct lock *l = r->call;
	l->waiter = NULL;
	l->woken = true;
	if (!r->committing) /* else lock_done sees it */
		lock_run(r);
}

static void lock_done(struct smb_request *r, enum err e)
{
	struct lock *l = r->call;
	if (e == ERR_SMB_LOCK_NOT_GRANTED && l->waits) {
		arena_rewind(&r->arena, l->before);
		if (l->woken)
			lock_run(r);
		else
			(void)smb_wait_begin(r, lock_cancelled);
		return;
	}
	wait_over(r);
	if (e != ERR_OK) {
		smb_fail_err(r, e);
		return;
	}
	smb_tell(r, &l->call.lock.breaks);
	if (l->call.lock.wake)
		smb_wake(r, r->open->handle.inode_id);
	if (l->unlocks && (l->call.failed_at < l->count || l->count < l->in.count)) {
		smb_fail(r, l->call.failed_at < l->count ? STATUS_RANGE_NOT_LOCKED : STATUS_INVALID_PARAMETER);
		return;
	}
	smb2_empty_put(r->out);
	smb_reply(r, STATUS_OK);
}

/* The wait begins before the look, so that no unlock is missed. */
static void lock_run(struct smb_request *r)
{
	struct lock *l = r->call;
	struct smb_loop *sl = r->conn->sl;
	struct wait_key key = { r->tree->share, r->open->handle.inode_id };
	l->woken = false;
	smb_wait_end(r); /* a cancel that comes during the commit is remembered */
	if (l->waits && !l->waiter) {
		enum err e = wait_begin(sl->server->config.waits, &key, fair_owner(r->session->account->name), sl->loop,
					0, lock_look_again, r, &l->waiter);
		if (e != ERR_OK) {
			smb_fail_err(r, e);
			return;
		}
	}
	smb_decide(r, l->unlocks ? file_apply_unlock : file_apply_lock, &l->call, lock_done);
}

void smb_do_lock(struct smb_request *r)
{
	struct lock *l = ARENA_NEW(&r->arena, struct lock);
	if (!l || smb2_lock_parse(r->part, &l->in) != ERR_OK || l->in.count == 0 || l->in.count > ELEMENTS_MAX) {
		smb_fail(r, STATUS_INVALID_PARAMETER);
		return;
	}
	r->call = l;
	struct smb_open *o = smb_open_of(r, l->in.id, false);
	if (!o || smb_after_writes(r, smb_do_lock))
		return;
	if (!elements_parse(r, l) || o->directory || o->snapshot) {
		smb_fail(r, STATUS_INVALID_PARAMETER);
		return;
	}
	if (!l->unlocks && !ranges_ok(l)) {
		smb_fail(r, STATUS_INVALID_LOCK_RANGE);
		return;
	}
	l->call.lock = (struct file_lock_call){
		.handle = o->handle,
		.element = l->element,
		.count = l->count,
		.sequence_bucket = l->in.sequence_index <= FILE_LOCK_SEQUENCES ? l->in.sequence_index : 0,
		.sequence_number = l->in.sequence_number,
	};
	l->before = arena_position(&r->arena);
	lock_run(r);
}
