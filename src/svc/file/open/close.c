/* SPDX-License-Identifier: Apache-2.0
 * Closing an open, and what waits for the last close: the deletion of its file. Pending delete belongs to the file: an
 * open with delete on close sets it when that open is closed, and whichever open is closed last carries it out. */
#include "svc/file/open/open_int.h"
#include "svc/file/target.h"

static const struct file_view live = { 0 };

/* ---- the end of an open ---- */

static enum err delete_file(struct txn *txn, const struct inode *n, struct close_result *r)
{
	enum err err = inode_remove(txn, n);
	/* Something was put into the directory meanwhile: it stays, as Windows has it. */
	if (err == ERR_DIRECTORY_NOT_EMPTY)
		return ERR_OK;
	TRY(err);
	r->deleted = true;
	event_add(&r->events, FILE_EVENT_REMOVED, event_name_bit(n), n);
	return ERR_OK;
}

enum err open_end(struct txn *txn, struct opens *f, uint64_t open_id, struct close_result *ret)
{
	struct close_result r = { 0 };
	const struct file_open *o = opens_find(f, open_id);
	bool of_snapshot = o->has_snapshot;
	struct lock_close_effects effects = { 0 };
	if (!of_snapshot)
		effects = lock_close(&f->rules, open_id);
	enum err found = inode_get(txn, &live, f->inode_id, &r.inode);
	if (found != ERR_OK && found != ERR_RESOURCE_NOT_FOUND)
		return found;
	TRY(open_remove(txn, f, open_id));
	f->state.delete_pending = effects.sets_pending && !effects.deletes;
	if (effects.deletes && found == ERR_OK)
		TRY(delete_file(txn, &r.inode, &r));
	if (!of_snapshot)
		TRY(open_state_put(txn, f));
	TRY(opens_refresh(txn, f));
	*ret = r;
	return ERR_OK;
}

/* ---- CLOSE and broken connections ---- */

/* Does it outlive its connection? A durable open only while nobody can need it to give way unheard: with a batch oplock
 * or a handle lease. */
static bool is_kept(struct opens *f, const struct file_open *o)
{
	if (o->life == OPEN_PERSISTENT)
		return true;
	const struct open_oplock *k = opens_oplock_of(f, o);
	return o->life == OPEN_DURABLE && !f->state.delete_pending && k && (k->oplock.state & CACHE_HANDLE) &&
	       !k->oplock.breaking;
}

static enum err keep_open(struct txn *txn, struct opens *f, struct file_open *o, struct file_close_call *c)
{
	o->connected = false;
	o->end_ticks = f->now_ticks + o->timeout_ms * (TICKS_PER_SECOND / 1000);
	c->kept = true;
	c->open = *o;
	TRY(open_put(txn, o));
	return inode_get(txn, &live, f->inode_id, &c->inode);
}

enum err file_apply_close(struct txn *txn, void *call)
{
	struct file_close_call *c = call;
	struct opens f;
	struct close_result r;
	c->kept = c->deleted = c->pending = c->wake = false;
	c->events.count = 0;
	TRY(opens_load(txn, c->handle.inode_id, &f));
	struct file_open *o = opens_find(&f, c->handle.open_id);
	if (!o)
		return ERR_SMB_FILE_CLOSED;
	c->wake = true;
	if (c->how == FILE_CLOSE_DISCONNECT && is_kept(&f, o))
		return keep_open(txn, &f, o, c);
	c->open = *o;
	struct open_state state = f.state;
	TRY(open_end(txn, &f, c->handle.open_id, &r));
	c->inode = r.inode;
	c->allocation = open_allocation(&state, &r.inode);
	c->deleted = r.deleted;
	c->pending = f.state.delete_pending;
	c->events = r.events;
	return ERR_OK;
}

/* ---- DISPOSITION ---- */

static enum err check_deletable(struct txn *txn, const struct inode *n)
{
	bool empty = true;
	if (n->id == FILE_ROOT_ID)
		return ERR_SMB_CANNOT_DELETE;
	if (n->attributes & FILE_ATTR_READONLY)
		return ERR_SMB_CANNOT_DELETE;
	if (n->kind == FILE_KIND_DIRECTORY)
		TRY(inode_dir_is_empty(txn, n->id, &empty));
	return empty ? ERR_OK : ERR_DIRECTORY_NOT_EMPTY;
}

enum err file_apply_disposition(struct txn *txn, void *call)
{
	struct file_disposition_call *c = call;
	struct opens f;
	struct lock_demands d;
	uint64_t close_id = 0;
	c->breaks.count = 0;
	c->breaks.wait = false;
	TRY(opens_load(txn, c->handle.inode_id, &f));
	const struct file_open *o = opens_find(&f, c->handle.open_id);
	if (!o)
		return ERR_SMB_FILE_CLOSED;
	if (!(o->access & ACCESS_DELETE) || o->has_snapshot)
		return ERR_SMB_ACCESS_DENIED;
	TRY(inode_get(txn, &live, f.inode_id, &c->inode));
	if (c->delete_it) {
		TRY(check_deletable(txn, &c->inode));
		TRY(demands_new(txn, &f, &d));
		enum lock_answer answer = lock_may_rename(&f.rules, c->handle.open_id, &d, &close_id);
		TRY(answer_or_mark(txn, &f, answer, &d, close_id, &c->breaks));
		if (c->breaks.wait)
			return ERR_OK;
	}
	if (f.state.delete_pending == c->delete_it)
		return ERR_OK;
	f.state.delete_pending = c->delete_it;
	return open_state_put(txn, &f);
}

/* ---- RENAME ---- */

/* The new name is put into its directory as through an open of it that adds an entry and shares reading and writing:
 * whoever may delete that directory, or lets nobody write to it, is in the way. */
static enum err check_new_parent(struct txn *txn, const struct file_rename_call *r)
{
	struct file_place place = r->target.place;
	struct inode parent;
	struct opens f;
	if (place.path.count)
		place.path.count--;
	enum err err = inode_find(txn, &live, &place, NULL, &parent);
	TRY(err == ERR_RESOURCE_NOT_FOUND ? ERR_PARENT_NOT_FOUND : err);
	TRY(opens_load(txn, parent.id, &f));
	for (size_t i = 0; i < f.rules.open_count; i++) {
		const struct lock_open *o = &f.rules.open[i];
		if (lock_share_conflicts(o->access, o->share, ACCESS_WRITE_DATA, SHARE_READ | SHARE_WRITE))
			return ERR_SHARING_VIOLATION;
	}
	return ERR_OK;
}

enum err file_apply_open_rename(struct txn *txn, void *call)
{
	struct file_open_rename_call *c = call;
	struct opens f;
	struct lock_demands d;
	uint64_t close_id = 0;
	c->breaks.count = 0;
	c->breaks.wait = c->wake = false;
	TRY(opens_load(txn, c->handle.inode_id, &f));
	const struct file_open *o = opens_find(&f, c->handle.open_id);
	if (!o)
		return ERR_SMB_FILE_CLOSED;
	if (!(o->access & ACCESS_DELETE) || o->has_snapshot)
		return ERR_SMB_ACCESS_DENIED;
	TRY(demands_new(txn, &f, &d));
	enum lock_answer answer = lock_may_rename(&f.rules, c->handle.open_id, &d, &close_id);
	TRY(answer_or_mark(txn, &f, answer, &d, close_id, &c->breaks));
	if (c->breaks.wait)
		return ERR_OK;
	if (o->is_directory) {
		enum err below = file_opens_below(txn, f.inode_id, &c->breaks);
		TRY(below == ERR_SHARING_VIOLATION ? ERR_SMB_ACCESS_DENIED : below);
	}
	TRY(check_new_parent(txn, &c->rename));
	c->rename.source.place = (struct file_place){ .by_id = true, .id = f.inode_id };
	c->rename.source.through_open = true;
	c->rename.target.breaks = &c->breaks;
	enum err err = file_apply_rename(txn, &c->rename);
	/* A target that somebody has open, or that is read-only or a directory, cannot be replaced. */
	bool no_target = err == ERR_RESOURCE_TYPE_MISMATCH || (err == ERR_RESOURCE_ALREADY_EXISTS && c->rename.replace);
	if (err == ERR_SHARING_VIOLATION || err == ERR_READ_ONLY_ATTRIBUTE || no_target)
		return ERR_SMB_ACCESS_DENIED;
	return err;
}
