/* SPDX-License-Identifier: Apache-2.0
 * Copy File, the destination's side, and the permissions' own calls. */
#include "svc/file/content/run.h"
#include "svc/file/target.h"

/* ---- copies within a share ---- */

struct shared_runs {
	struct run *run;
	size_t count;
};

/* The runs of the source, each named once more: before anything of the destination goes, which may be the source. */
static enum err take_runs(struct txn *txn, const struct file_view *view, struct file_copy_call *c,
			  struct shared_runs *ret)
{
	struct shared_runs s = { ARENA_NEW_ARRAY(txn_arena(txn), struct run, RUNS_AT_ONCE), 0 };
	struct run_walk w;
	const struct inode *n = &c->source_inode;
	if (!s.run)
		return ERR_NO_MEMORY;
	*ret = s;
	if (!n->content)
		return ERR_OK;
	TRY(run_walk_begin(&w, txn, view, n, 0, n->size_bytes, 64));
	for (;;) {
		struct run_row row;
		enum err e = run_walk_next(&w, &row);
		if (e == ERR_NOT_FOUND)
			break;
		TRY(e);
		c->too_many = s.count == RUNS_AT_ONCE;
		if (c->too_many)
			return ERR_OK;
		s.run[s.count++] = run_part(&row.run, 0, n->size_bytes);
	}
	for (size_t i = 0; i < s.count; i++)
		TRY(run_add_names(txn, &s.run[i], 1));
	*ret = s;
	return ERR_OK;
}

static enum err put_runs(struct txn *txn, const struct shared_runs *s, struct inode *n)
{
	if (s->count && !n->content)
		n->content = txn_now(txn);
	for (size_t i = 0; i < s->count; i++) {
		s->run[i].data_stamp = txn_now(txn);
		TRY(runs_put(txn, n, &s->run[i]));
	}
	return ERR_OK;
}

static enum err load_source(struct txn *txn, struct file_copy_call *c, struct file_view *ret_view)
{
	TRY(target_read(txn, &c->source, ret_view, &c->source_inode));
	if (c->source_inode.kind != FILE_KIND_FILE)
		return ERR_RESOURCE_NOT_FOUND;
	TRY(target_check_read(txn, &c->source, &c->source_inode, FILE_REST_GET));
	const struct inode *s = &c->source_inode;
	c->create.size_bytes = s->size_bytes;
	c->copy.total_bytes = s->size_bytes;
	if (!c->source_settings)
		return ERR_OK;
	c->create.http = s->http;
	if (!c->has_metadata)
		c->create.metadata = s->metadata;
	return ERR_OK;
}

/* Attributes and permission that the call leaves to the source. */
static struct file_settings settings_of(const struct file_copy_call *c)
{
	struct file_settings s = c->create.settings;
	if (c->source_settings && !s.set_attributes) {
		s.set_attributes = true;
		s.attributes = c->source_inode.attributes;
	}
	if (c->set_archive)
		s.attributes |= FILE_ATTR_ARCHIVE;
	s.set_attributes |= c->set_archive;
	if (c->source_settings && s.permission.how == FILE_PERMISSION_KEEP && c->source_inode.permission) {
		s.permission.how = FILE_PERMISSION_KEY;
		s.permission.key = c->source_inode.permission;
	}
	return s;
}

enum err file_apply_copy(struct txn *txn, void *call)
{
	struct file_copy_call *c = call;
	struct file_view view;
	struct shared_runs runs = { NULL, 0 };
	c->too_many = false;
	c->create.events.count = 0;
	if (c->share) {
		TRY(load_source(txn, c, &view));
		TRY(take_runs(txn, &view, c, &runs));
		if (c->too_many)
			return ERR_OK;
	}
	struct file_settings given = c->create.settings;
	c->create.settings = settings_of(c);
	enum err e = file_create_here(txn, &c->create, c->ignore_readonly ? READONLY_IGNORED : READONLY_REFUSES,
				      &c->source_inode);
	c->create.settings = given;
	TRY(e);
	struct inode *n = &c->create.inode;
	TRY(put_runs(txn, &runs, n));
	bool done = c->share || c->create.payload || !n->size_bytes;
	n->copy = c->copy;
	n->copy.status = done ? FILE_COPY_SUCCESS : FILE_COPY_PENDING;
	n->copy.copied_bytes = done ? n->copy.total_bytes : 0;
	n->copy.completed_ticks = done ? txn_now(txn) : 0;
	n->copy.heartbeat_ticks = txn_now(txn);
	return inode_put(txn, n);
}

/* ---- copies that take a while ---- */

static void copy_end(struct txn *txn, struct inode *n, enum file_copy_status status, struct slice description)
{
	n->copy.status = status;
	n->copy.description = description;
	n->copy.completed_ticks = txn_now(txn);
	inode_touch(txn, n);
}

enum err file_apply_copy_step(struct txn *txn, void *call)
{
	static const struct file_view live = { 0 };
	struct file_copy_step_call *c = call;
	struct share_state state;
	struct inode n;
	TRY(share_state_get(txn, &state));
	enum err e = inode_get(txn, &live, c->inode_id, &n);
	c->gone = e == ERR_RESOURCE_NOT_FOUND ||
		  (e == ERR_OK && (n.copy.status != FILE_COPY_PENDING || !uuid_eq(&n.copy.id, &c->id)));
	if (c->gone)
		return ERR_OK;
	TRY(e);
	if (c->payload) {
		if (c->offset > n.size_bytes || c->payload->length_bytes > n.size_bytes - c->offset)
			return ERR_INVALID_RANGE;
		TRY(inode_write(txn, &n, c->offset, c->payload));
	}
	n.copy.copied_bytes = c->copied_bytes;
	n.copy.heartbeat_ticks = txn_now(txn);
	if (c->status != FILE_COPY_PENDING)
		copy_end(txn, &n, c->status, c->description);
	return inode_put(txn, &n);
}

enum err file_apply_abort_copy(struct txn *txn, void *call)
{
	struct file_abort_copy_call *c = call;
	struct inode n;
	TRY(target_change(txn, &c->target, &n));
	TRY(target_check_change(txn, &c->target, &n, FILE_REST_PUT_RANGE, READONLY_IGNORED));
	if (n.copy.status != FILE_COPY_PENDING)
		return ERR_NO_PENDING_COPY_OPERATION;
	if (!uuid_eq(&n.copy.id, &c->id))
		return ERR_COPY_ID_MISMATCH;
	TRY(inode_reset_contents(txn, &n, 0));
	copy_end(txn, &n, FILE_COPY_ABORTED, SLICE_NONE);
	TRY(inode_put(txn, &n));
	c->inode = n;
	return ERR_OK;
}

/* ---- permissions ---- */

enum err file_apply_create_permission(struct txn *txn, void *call)
{
	struct file_permission_call *c = call;
	struct share_state state;
	TRY(share_state_get(txn, &state));
	return file_permission_put(txn, c->text, &c->key);
}

enum err file_apply_get_permission(struct txn *txn, void *call)
{
	struct file_permission_call *c = call;
	struct share_state state;
	TRY(share_state_get(txn, &state));
	enum err e = file_permission_get(txn, c->key, &c->text);
	return e == ERR_NOT_FOUND ? ERR_FILE_INVALID_PERMISSION_KEY : e;
}
