/* SPDX-License-Identifier: Apache-2.0
 * Reading properties and bytes, changing properties, metadata, lease and bytes of one object. */
#include "svc/file/content/run.h"
#include "svc/file/target.h"

/* ---- reads ---- */

static enum err range_of(struct file_get_call *c)
{
	c->offset = 0;
	c->length = c->inode.size_bytes;
	if (!c->has_range)
		return ERR_OK;
	if (c->range_first >= c->inode.size_bytes)
		return ERR_INVALID_RANGE;
	uint64_t last = c->range_last < c->inode.size_bytes ? c->range_last : c->inode.size_bytes - 1;
	c->offset = c->range_first;
	c->length = last - c->range_first + 1;
	return ERR_OK;
}

/* All bytes of the range out of the last run of the file, found by its end. What was read is one state if the inode
 * is still the same afterwards: every change of the bytes changes its ETag. A run that the inode itself names is the
 * same state anyway, for its bytes never change. */
static enum err pieces_by_points(struct txn *txn, const struct file_view *view, struct file_get_call *c)
{
	struct inode now;
	if (c->inode.covers)
		return ERR_CONFLICT;
	TRY(inode_last_run(txn, &c->inode, c->offset, c->length, &c->pieces));
	if (c->inode.sole)
		return ERR_OK;
	enum err e = inode_find_child(txn, view, c->inode.parent_id, c->inode.name, &now);
	if (e == ERR_RESOURCE_NOT_FOUND || (e == ERR_OK && (now.id != c->inode.id || now.etag != c->inode.etag)))
		return ERR_CONFLICT;
	return e;
}

enum err file_apply_get(struct txn *txn, void *call)
{
	struct file_get_call *c = call;
	struct file_view view;
	c->pieces = (struct file_pieces){ NULL, 0, 0 };
	c->now_ticks = txn_now(txn);
	TRY(target_read(txn, &c->target, &view, &c->inode));
	TRY(target_check_read(txn, &c->target, &c->inode, c->want_bytes ? FILE_REST_GET : FILE_REST_GET_PROPERTIES));
	if (c->expect_etag && c->inode.etag != c->expect_etag)
		return ERR_CONDITION_NOT_MET;
	TRY(range_of(c));
	if (!c->want_bytes || c->inode.kind != FILE_KIND_FILE)
		return ERR_OK;
	if (!c->target.through_open && !c->target.has_snapshot)
		TRY(file_opens_rest_read(txn, c->inode.id, c->offset, c->length));
	if (!c->length)
		return ERR_OK;
	if (c->by_points)
		return pieces_by_points(txn, &view, c);
	return inode_pieces(txn, &view, &c->inode, c->offset, c->length,
			    c->piece_limit ? c->piece_limit : FILE_PIECES_MAX, &c->pieces);
}

/* ---- properties ---- */

static uint32_t changed_bits(const struct inode *before, const struct inode *after)
{
	uint32_t bits = 0;
	bits |= before->attributes != after->attributes ? FILE_CHANGED_ATTRIBUTES : 0;
	bits |= before->size_bytes != after->size_bytes ? FILE_CHANGED_SIZE : 0;
	bits |= before->written_ticks != after->written_ticks ? FILE_CHANGED_LAST_WRITE : 0;
	bits |= before->accessed_ticks != after->accessed_ticks ? FILE_CHANGED_LAST_ACCESS : 0;
	bits |= before->created_ticks != after->created_ticks ? FILE_CHANGED_CREATION : 0;
	bits |= before->permission != after->permission ? FILE_CHANGED_SECURITY : 0;
	return bits;
}

static enum err resize(struct txn *txn, const struct file_modify_call *c, struct inode *n)
{
	if (n->kind != FILE_KIND_FILE)
		return ERR_RESOURCE_TYPE_MISMATCH;
	if (!c->target.through_open)
		TRY(file_opens_rest_write(txn, n->id));
	TRY(inode_resize(txn, n, c->size_bytes));
	if (c->target.through_open)
		n->attributes |= FILE_ATTR_ARCHIVE;
	/* A resize is a write: the time moves unless it is given. */
	if (c->settings.written.how != FILE_TIME_SET && !c->target.through_open)
		n->written_ticks = n->accessed_ticks = txn_now(txn);
	return ERR_OK;
}

enum err file_apply_set_properties(struct txn *txn, void *call)
{
	static const struct file_view live = { 0 };
	struct file_modify_call *c = call;
	struct inode n, before, parent;
	c->events.count = 0;
	c->now_ticks = txn_now(txn);
	TRY(target_change(txn, &c->target, &n));
	before = n;
	/* Read-only does not refuse it: it is how the attribute is cleared. */
	TRY(target_check_change(txn, &c->target, &n, FILE_REST_SET_PROPERTIES, READONLY_IGNORED));
	TRY(target_check_copy(&n));
	TRY(inode_get(txn, &live, n.parent_id, &parent));
	TRY(settings_apply(txn, &c->settings, &parent, NULL, false, &n));
	if (c->set_http)
		n.http = c->http;
	if (c->resize)
		TRY(resize(txn, c, &n));
	if (!c->keep_copy)
		n.copy = (struct file_copy){ .status = FILE_COPY_NONE };
	inode_touch(txn, &n);
	TRY(inode_put(txn, &n));
	uint32_t changed = changed_bits(&before, &n);
	if (changed)
		event_add(&c->events, FILE_EVENT_MODIFIED, changed, &n);
	c->inode = n;
	return ERR_OK;
}

enum err file_apply_set_metadata(struct txn *txn, void *call)
{
	struct file_modify_call *c = call;
	struct inode n;
	c->events.count = 0;
	c->now_ticks = txn_now(txn);
	TRY(target_change(txn, &c->target, &n));
	TRY(target_check_change(txn, &c->target, &n, FILE_REST_SET_METADATA, READONLY_REFUSES));
	TRY(target_check_copy(&n));
	n.metadata = c->metadata;
	n.changed_ticks = txn_now(txn);
	inode_touch(txn, &n);
	TRY(inode_put(txn, &n));
	c->inode = n;
	return ERR_OK;
}

enum err file_apply_lease(struct txn *txn, void *call)
{
	struct file_modify_call *c = call;
	struct inode n;
	c->events.count = 0;
	c->now_ticks = txn_now(txn);
	TRY(target_change(txn, &c->target, &n));
	if (n.kind != FILE_KIND_FILE)
		return ERR_RESOURCE_TYPE_MISMATCH;
	TRY(target_check_pending(txn, &c->target, n.id));
	/* Only taking a lease is an open; the others end or rename one that is held. */
	if (c->lease.action == LEASE_ACTION_ACQUIRE && !c->target.through_open)
		TRY(file_opens_rest_access(txn, n.id, FILE_REST_LEASE, c->target.breaks));
	TRY(target_check_copy(&n));
	TRY(lease_request_run(&n.lease, &lease_errors_file, txn_now(txn), &c->lease));
	TRY(inode_put(txn, &n)); /* ETag and times stay */
	c->inode = n;
	return ERR_OK;
}

/* ---- bytes ---- */

static enum err write_range(struct txn *txn, struct file_write_call *c, struct inode *n)
{
	uint64_t end;
	if (c->at_end)
		c->offset = n->size_bytes;
	if (c->offset > FILE_SIZE_MAX_BYTES || c->length > FILE_SIZE_MAX_BYTES - c->offset)
		return c->may_extend ? ERR_OUT_OF_RANGE_INPUT : ERR_INVALID_RANGE;
	end = c->offset + c->length;
	if (end > n->size_bytes) {
		if (!c->may_extend)
			return ERR_INVALID_RANGE;
		TRY(inode_resize(txn, n, end));
	}
	if (c->clear)
		return inode_clear(txn, n, c->offset, c->length);
	return c->payload ? inode_write(txn, n, c->offset, c->payload) : ERR_OK;
}

enum err file_apply_write(struct txn *txn, void *call)
{
	struct file_write_call *c = call;
	struct inode n;
	c->events.count = 0;
	TRY(target_change(txn, &c->target, &n));
	if (n.kind != FILE_KIND_FILE)
		return ERR_RESOURCE_TYPE_MISMATCH;
	TRY(target_check_change(txn, &c->target, &n, FILE_REST_PUT_RANGE, READONLY_REFUSES));
	if (!c->target.through_open)
		TRY(file_opens_rest_write(txn, n.id));
	TRY(target_check_copy(&n));
	uint64_t size = n.size_bytes;
	TRY(write_range(txn, c, &n));
	if (!c->keep_written)
		n.written_ticks = n.accessed_ticks = txn_now(txn);
	if (!c->keep_changed)
		n.changed_ticks = txn_now(txn);
	if (c->target.through_open)
		n.attributes |= FILE_ATTR_ARCHIVE;
	inode_touch(txn, &n);
	TRY(inode_put(txn, &n));
	event_add(&c->events, FILE_EVENT_MODIFIED,
		  (c->keep_written ? 0 : FILE_CHANGED_LAST_WRITE) | (size != n.size_bytes ? FILE_CHANGED_SIZE : 0), &n);
	c->inode = n;
	return ERR_OK;
}
