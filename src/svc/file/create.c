/* SPDX-License-Identifier: Apache-2.0
 * Create File and Create Directory. */
#include "svc/file/target.h"

static enum err check_replace(struct txn *txn, const struct file_create_call *c, const struct inode *old,
			      enum target_readonly readonly)
{
	TRY(target_check_pending(txn, &c->target, old->id));
	if (c->target.kind == FILE_KIND_DIRECTORY)
		return ERR_RESOURCE_ALREADY_EXISTS;
	if (old->kind == FILE_KIND_DIRECTORY)
		return ERR_RESOURCE_TYPE_MISMATCH;
	if (c->never_replace)
		return ERR_RESOURCE_ALREADY_EXISTS;
	TRY(target_check_change(txn, &c->target, old, FILE_REST_CREATE, readonly));
	if (!c->target.through_open)
		TRY(file_opens_rest_write(txn, old->id));
	return target_check_copy(old);
}

/* A lease id for a file that is not there fits no lease. */
static enum err check_fresh(struct txn *txn, const struct file_create_call *c, const struct inode *parent)
{
	TRY(target_check_pending(txn, &c->target, parent->id));
	return c->target.has_lease_id && !c->target.through_open ? ERR_FILE_LEASE_NOT_PRESENT : ERR_OK;
}

static void describe(struct file_create_call *c, struct inode *n)
{
	n->kind = c->target.kind;
	n->attributes = 0;
	n->permission = 0;
	n->http = c->http;
	n->metadata = c->metadata;
	n->copy = (struct file_copy){ .status = FILE_COPY_NONE };
}

static enum err replace(struct txn *txn, struct file_create_call *c, const struct inode *parent,
			const struct inode *source, struct inode *n)
{
	describe(c, n);
	TRY(settings_apply(txn, &c->settings, parent, source, true, n));
	n->born_ticks = txn_now(txn);
	inode_touch(txn, n);
	return inode_reset_contents(txn, n, c->size_bytes);
}

static enum err create(struct txn *txn, struct file_create_call *c, const struct inode *parent,
		       const struct inode *source, struct inode *n)
{
	*n = (struct inode){ .name = c->target.place.path.name[c->target.place.path.count - 1] };
	describe(c, n);
	n->size_bytes = c->target.kind == FILE_KIND_FILE ? c->size_bytes : 0;
	TRY(settings_apply(txn, &c->settings, parent, source, true, n));
	n->etag = txn_now(txn);
	return inode_create(txn, parent, n);
}

static enum err put_payload(struct txn *txn, struct file_create_call *c, struct inode *n)
{
	if (!c->payload || !c->payload->length_bytes)
		return ERR_OK;
	if (c->payload->length_bytes > n->size_bytes)
		return ERR_INVALID_RANGE;
	return inode_write(txn, n, 0, c->payload);
}

enum err file_create_here(struct txn *txn, struct file_create_call *c, enum target_readonly readonly,
			  const struct inode *source)
{
	static const struct file_view live = { 0 };
	struct inode parent, n;
	c->events.count = 0;
	c->replaced = false;
	if (c->target.has_snapshot)
		return ERR_INVALID_QUERY_PARAMETER_VALUE;
	if (c->target.place.by_id || !c->target.place.path.count)
		return ERR_RESOURCE_ALREADY_EXISTS; /* the root */
	struct file_view view;
	TRY(target_view(txn, &c->target, &view));
	enum err e = inode_find(txn, &live, &c->target.place, &parent, &n);
	c->replaced = e == ERR_OK;
	if (e == ERR_OK)
		TRY(check_replace(txn, c, &n, readonly));
	else if (e != ERR_RESOURCE_NOT_FOUND)
		return e;
	else
		TRY(check_fresh(txn, c, &parent));
	TRY(c->replaced ? replace(txn, c, &parent, source, &n) : create(txn, c, &parent, source, &n));
	TRY(put_payload(txn, c, &n));
	if (c->replaced || n.content)
		TRY(inode_put(txn, &n));
	c->inode = n;
	if (c->replaced)
		event_add(&c->events, FILE_EVENT_MODIFIED,
			  FILE_CHANGED_ATTRIBUTES | FILE_CHANGED_SIZE | FILE_CHANGED_LAST_WRITE | FILE_CHANGED_CREATION,
			  &n);
	else
		event_add(&c->events, FILE_EVENT_ADDED, event_name_bit(&n), &n);
	return ERR_OK;
}

enum err file_apply_create(struct txn *txn, void *call)
{
	return file_create_here(txn, call, READONLY_REFUSES, NULL);
}
