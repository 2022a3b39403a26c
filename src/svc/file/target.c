/* SPDX-License-Identifier: Apache-2.0
 * The common beginning of all applies. */
#include "svc/file/target.h"

#include <assert.h>

#include "svc/common/conditions.h"
#include "svc/common/generation.h"
#include "svc/file/share.h"

enum { WALKS_MAX = 16 }; /* along a path whose directories are being renamed; then the client is asked to try again */

enum err target_view(struct txn *txn, const struct file_target *t, struct file_view *ret)
{
	struct share_snapshot s;
	TRY(generation_require(txn, ERR_SHARE_NOT_FOUND));
	if (!t->has_snapshot) {
		*ret = (struct file_view){ .snapshot = 0 };
		return ERR_OK;
	}
	enum err e = share_snapshot_find(txn, t->snapshot_ticks, &s);
	if (e == ERR_NOT_FOUND)
		return ERR_SHARE_NOT_FOUND;
	TRY(e);
	*ret = (struct file_view){ .snapshot = s.number };
	return ERR_OK;
}

static bool kind_fits(const struct file_target *t, const struct inode *n)
{
	return t->kind == FILE_KIND_ANY || t->kind == n->kind;
}

/* A path of several names is several gets, and by store_read_points each of them sees the newest state: a directory
 * that was renamed meanwhile would make a path that never was. So the walk counts only if none was renamed or removed
 * during it; on a snapshot that is always so. */
static enum err find_steady(struct txn *txn, const struct file_target *t, const struct file_view *view,
			    struct inode *ret)
{
	struct share_state before, after;
	if (view->snapshot || t->place.by_id || t->place.path.count < 2)
		return inode_find(txn, view, &t->place, NULL, ret);
	for (int i = 0; i < WALKS_MAX; i++) {
		TRY(share_state_load(txn, &before));
		enum err e = inode_find(txn, view, &t->place, NULL, ret);
		TRY(share_state_load(txn, &after));
		if (before.tree_stamp == after.tree_stamp)
			return e;
	}
	return ERR_BUSY;
}

enum err file_path_of(struct txn *txn, const struct inode *n, struct slice *ret)
{
	static const struct file_view live = { 0 };
	struct share_state before, after;
	if (n->parent_id == FILE_ROOT_ID && n->id != FILE_ROOT_ID) { /* one row says it all */
		*ret = n->name;
		return ERR_OK;
	}
	for (int i = 0; i < WALKS_MAX; i++) {
		TRY(share_state_load(txn, &before));
		enum err e = inode_path(txn, &live, n->id, ret);
		TRY(share_state_load(txn, &after));
		if (before.tree_stamp == after.tree_stamp)
			return e;
	}
	return ERR_BUSY;
}

enum err target_read(struct txn *txn, const struct file_target *t, struct file_view *ret_view, struct inode *ret)
{
	struct inode n;
	TRY(target_view(txn, t, ret_view));
	TRY(find_steady(txn, t, ret_view, &n));
	if (!kind_fits(t, &n))
		return ERR_RESOURCE_NOT_FOUND;
	*ret = n;
	return ERR_OK;
}

enum err target_change(struct txn *txn, const struct file_target *t, struct inode *ret)
{
	struct file_view view;
	struct inode n;
	if (t->has_snapshot)
		return ERR_INVALID_QUERY_PARAMETER_VALUE;
	TRY(target_view(txn, t, &view));
	TRY(inode_find(txn, &view, &t->place, NULL, &n));
	if (!kind_fits(t, &n))
		return ERR_RESOURCE_TYPE_MISMATCH;
	*ret = n;
	return ERR_OK;
}

static const struct uuid *lease_id(const struct file_target *t)
{
	return t->has_lease_id ? &t->lease_id : NULL;
}

/* What the opens say. Judged first, for a pending delete stands before everything else; told last. */
static enum err ask_opens(struct txn *txn, const struct file_target *t, const struct inode *n, enum file_rest_op op)
{
	assert(t->breaks);
	return file_opens_rest_access(txn, n->id, op, t->breaks);
}

static bool is_pending(enum err e)
{
	return e == ERR_SMB_DELETE_PENDING || e == ERR_DELETE_PENDING;
}

enum err target_check_read(struct txn *txn, const struct file_target *t, const struct inode *n, enum file_rest_op op)
{
	/* Snapshots have no opens that could stand in the way, and no leases. */
	if (t->through_open || t->has_snapshot)
		return ERR_OK;
	enum err opens = ask_opens(txn, t, n, op);
	if (is_pending(opens))
		return opens;
	if (n->kind == FILE_KIND_FILE)
		TRY(lease_check_read(&n->lease, &lease_errors_file, txn_now(txn), lease_id(t)));
	return opens;
}

enum err target_check_change(struct txn *txn, const struct file_target *t, const struct inode *n, enum file_rest_op op,
			     enum target_readonly readonly)
{
	if (t->through_open)
		return ERR_OK;
	enum err opens = ask_opens(txn, t, n, op);
	if (is_pending(opens))
		return opens;
	if (n->kind == FILE_KIND_FILE)
		TRY(lease_check_write(&n->lease, &lease_errors_file, txn_now(txn), lease_id(t)));
	if (readonly == READONLY_REFUSES && (n->attributes & FILE_ATTR_READONLY))
		return ERR_READ_ONLY_ATTRIBUTE;
	return opens;
}

enum err target_check_pending(struct txn *txn, const struct file_target *t, uint64_t inode_id)
{
	bool pending = false;
	if (!t->through_open)
		TRY(file_opens_is_delete_pending(txn, inode_id, &pending));
	return pending ? ERR_SMB_DELETE_PENDING : ERR_OK;
}

enum err target_check_copy(const struct inode *n)
{
	return n->copy.status == FILE_COPY_PENDING ? ERR_PENDING_COPY_OPERATION : ERR_OK;
}

void inode_touch(struct txn *txn, struct inode *n)
{
	n->etag = etag_next(txn_now(txn), n->etag);
	lease_note_write(&n->lease, txn_now(txn));
}

/* ---- settings ---- */

static void time_apply(struct txn *txn, const struct file_time *t, uint64_t source, uint64_t *time)
{
	switch (t->how) {
	case FILE_TIME_KEEP:
		return;
	case FILE_TIME_NOW:
		*time = txn_now(txn);
		return;
	case FILE_TIME_SET:
		*time = t->ticks;
		return;
	case FILE_TIME_SOURCE:
		*time = source;
		return;
	}
}

static enum err permission_inherit(struct txn *txn, const struct file_permission *p, const struct inode *parent,
				   struct inode *n)
{
	struct slice text = SLICE_NONE;
	if (!p->inherit || (p->default_stays && !parent->permission)) {
		n->permission = parent->permission;
		return ERR_OK;
	}
	if (parent->permission) {
		enum err e = file_permission_get(txn, parent->permission, &text);
		TRY(e == ERR_NOT_FOUND ? ERR_CORRUPT : e);
	}
	text = p->inherit(txn_arena(txn), text, n->kind == FILE_KIND_DIRECTORY);
	return slice_is_set(text) ? file_permission_put(txn, text, &n->permission) : ERR_NO_MEMORY;
}

static enum err permission_apply(struct txn *txn, const struct file_permission *p, const struct inode *parent,
				 bool fresh, struct inode *n)
{
	struct slice text;
	switch (p->how) {
	case FILE_PERMISSION_KEEP:
		return fresh ? permission_inherit(txn, p, parent, n) : ERR_OK;
	case FILE_PERMISSION_INHERIT:
		return permission_inherit(txn, p, parent, n);
	case FILE_PERMISSION_TEXT:
		return file_permission_put(txn, p->text, &n->permission);
	case FILE_PERMISSION_KEY:
		break;
	}
	enum err e = file_permission_get(txn, p->key, &text);
	if (e == ERR_NOT_FOUND)
		return ERR_FILE_INVALID_PERMISSION_KEY;
	TRY(e);
	n->permission = p->key;
	return ERR_OK;
}

enum err settings_apply(struct txn *txn, const struct file_settings *s, const struct inode *parent,
			const struct inode *source, bool fresh, struct inode *n)
{
	uint64_t now = txn_now(txn), written = n->written_ticks;
	if (fresh)
		n->created_ticks = n->written_ticks = n->accessed_ticks = n->changed_ticks = now;
	if (s->set_attributes)
		n->attributes = s->attributes & ~(uint32_t)FILE_ATTR_DIRECTORY;
	if (n->kind == FILE_KIND_DIRECTORY)
		n->attributes |= FILE_ATTR_DIRECTORY;
	time_apply(txn, &s->created, source ? source->created_ticks : now, &n->created_ticks);
	time_apply(txn, &s->written, source ? source->written_ticks : now, &n->written_ticks);
	if (fresh || n->written_ticks != written)
		n->accessed_ticks = n->written_ticks;
	time_apply(txn, &s->accessed, source ? source->accessed_ticks : now, &n->accessed_ticks);
	time_apply(txn, &s->changed, source ? source->changed_ticks : now, &n->changed_ticks);
	return permission_apply(txn, &s->permission, parent, fresh, n);
}

void event_add(struct file_events *e, enum file_event_action action, uint32_t changed, const struct inode *n)
{
	assert(e->count < FILE_EVENTS_MAX);
	e->event[e->count++] = (struct file_event){ action, changed, n->parent_id, n->name, false };
}
