/* SPDX-License-Identifier: Apache-2.0
 * Rename and delete. Both are a few rows, whatever hangs below a directory and however long a file is. */
#include "svc/file/target.h"

static const struct file_view live_view = { 0 };

/* ---- rename ---- */

/* Where it shall be: the directory, the name, and what lies there (exists). */
struct destination {
	struct inode parent;
	struct slice name;
	bool exists;
	struct inode old;
};

static enum err find_source(struct txn *txn, const struct file_rename_call *c, struct inode *ret)
{
	enum err e = target_change(txn, &c->source, ret);
	if (e == ERR_PARENT_NOT_FOUND)
		return ERR_RESOURCE_NOT_FOUND;
	TRY(e);
	return ret->id == FILE_ROOT_ID ? ERR_INVALID_INPUT : ERR_OK;
}

static enum err find_destination(struct txn *txn, const struct file_rename_call *c, struct destination *d)
{
	const struct file_path *path = &c->target.place.path;
	if (c->target.has_snapshot)
		return ERR_INVALID_QUERY_PARAMETER_VALUE;
	if (!path->count)
		return ERR_RESOURCE_ALREADY_EXISTS;
	d->name = path->name[path->count - 1];
	enum err e = inode_find(txn, &live_view, &c->target.place, &d->parent, &d->old);
	d->exists = e == ERR_OK;
	return e == ERR_RESOURCE_NOT_FOUND ? ERR_OK : e;
}

static enum err check_destination(struct txn *txn, const struct file_rename_call *c, const struct inode *source,
				  const struct destination *d)
{
	TRY(target_check_pending(txn, &c->target, d->parent.id));
	if (!d->exists)
		return c->target.has_lease_id && !c->target.through_open ? ERR_FILE_LEASE_NOT_PRESENT : ERR_OK;
	if (d->old.id == source->id) /* the same name in other case */
		return ERR_OK;
	TRY(target_check_pending(txn, &c->target, d->old.id));
	if (!c->replace)
		return ERR_RESOURCE_ALREADY_EXISTS;
	if (d->old.kind == FILE_KIND_DIRECTORY)
		return source->kind == FILE_KIND_DIRECTORY ? ERR_RESOURCE_ALREADY_EXISTS : ERR_RESOURCE_TYPE_MISMATCH;
	TRY(target_check_change(txn, &c->target, &d->old, FILE_REST_REPLACE,
				c->ignore_readonly ? READONLY_IGNORED : READONLY_REFUSES));
	return target_check_copy(&d->old);
}

static enum err check_source(struct txn *txn, const struct file_rename_call *c, const struct inode *source)
{
	TRY(target_check_change(txn, &c->source, source, FILE_REST_RENAME, READONLY_IGNORED));
	if (source->kind == FILE_KIND_DIRECTORY && !c->source.through_open)
		TRY(file_opens_below(txn, source->id, c->source.breaks));
	return target_check_copy(source);
}

static void name_events(struct file_rename_call *c, const struct inode *before, const struct inode *after)
{
	bool same_directory = before->parent_id == after->parent_id;
	event_add(&c->events, same_directory ? FILE_EVENT_RENAMED_OLD : FILE_EVENT_REMOVED, event_name_bit(before),
		  before);
	event_add(&c->events, same_directory ? FILE_EVENT_RENAMED_NEW : FILE_EVENT_ADDED, event_name_bit(after), after);
	/* As Windows has it, of files but not of directories. */
	if (after->kind != FILE_KIND_FILE)
		return;
	event_add(&c->events, FILE_EVENT_MODIFIED, FILE_CHANGED_ATTRIBUTES | FILE_CHANGED_CREATION, after);
	c->events.event[c->events.count - 1].of_rename = true;
}

enum err file_apply_rename(struct txn *txn, void *call)
{
	struct file_rename_call *c = call;
	struct destination d;
	struct inode n, before;
	c->events.count = 0;
	c->replaced = false;
	TRY(find_source(txn, c, &n));
	TRY(find_destination(txn, c, &d));
	TRY(check_destination(txn, c, &n, &d));
	TRY(check_source(txn, c, &n));
	before = n;
	if (d.exists && d.old.id != n.id) {
		TRY(inode_remove(txn, &d.old));
		c->replaced = true;
		c->replaced_id = d.old.id;
		event_add(&c->events, FILE_EVENT_REMOVED, event_name_bit(&d.old), &d.old);
	}
	TRY(settings_apply(txn, &c->settings, &d.parent, NULL, false, &n));
	if (c->set_metadata)
		n.metadata = c->metadata;
	if (c->set_content_type)
		n.http.content_type = c->content_type;
	inode_touch(txn, &n);
	TRY(inode_move(txn, &n, &d.parent, d.name));
	name_events(c, &before, &n);
	c->inode = n;
	return ERR_OK;
}

/* ---- delete ---- */

enum err file_apply_delete(struct txn *txn, void *call)
{
	struct file_delete_call *c = call;
	struct inode n;
	c->events.count = 0;
	TRY(target_change(txn, &c->target, &n));
	if (n.id == FILE_ROOT_ID)
		return ERR_INVALID_QUERY_PARAMETER_VALUE;
	TRY(target_check_change(txn, &c->target, &n, FILE_REST_DELETE, READONLY_REFUSES));
	TRY(inode_remove(txn, &n));
	event_add(&c->events, FILE_EVENT_REMOVED, event_name_bit(&n), &n);
	c->inode = n;
	return ERR_OK;
}
