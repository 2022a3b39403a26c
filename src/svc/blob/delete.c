/* SPDX-License-Identifier: Apache-2.0
 * Delete Blob: the base, one snapshot, one version, or all snapshots.
 * With versioning the base lives on as a version; with soft delete what goes is kept for its days, marked deleted.
 * Thousands of snapshots do not fit one commit: they go in several, the oldest first and the base with the last of
 * them. */
#include "svc/blob/blob.h"
#include "svc/blob/stage.h"
#include "svc/blob/tags.h"
#include "svc/common/generation.h"

/* One history row goes: at once, or marked for its retention. */
static enum err drop_history(struct txn *txn, struct blob_delete_call *c, struct blob *b)
{
	struct key k;
	bool keep = c->target.rules.soft_delete && !c->permanent && !b->deleted_ticks;
	if (keep) {
		b->deleted_ticks = txn_now(txn);
		b->retention_days = c->target.rules.retention_days;
		c->deleted_permanently = false;
		return blob_put(txn, b);
	}
	blob_history_key(&k, b->name, b->history_ticks);
	TRY(content_release(txn, &b->content));
	return txn_del(txn, key_slice(&k));
}

typedef enum err snapshot_fn(struct txn *, struct blob_delete_call *, struct blob *);

enum { DELETE_SNAPSHOTS_PER_COMMIT = 500 };

/* Calls fn for each live snapshot, or for as many as one commit holds (c->more); fn NULL: only *ret_any. */
static enum err each_snapshot(struct txn *txn, struct blob_delete_call *c, snapshot_fn *fn, bool *ret_any)
{
	struct key from, until;
	size_t count = 0;
	*ret_any = false;
	key_init(&from);
	key_tag(&from, 'h');
	key_str(&from, c->target.name);
	until = from;
	key_prefix_end(&until);
	if (c->snapshots_from)
		blob_history_key(&from, c->target.name, c->snapshots_from);
	for (;;) {
		struct rows rows;
		struct scan_spec spec = { .from = key_slice(&from), .until = key_slice(&until) };
		TRY(txn_scan(txn, &spec, &rows));
		for (size_t i = 0; i < rows.count; i++) {
			struct blob b;
			TRY(blob_decode(rows.row[i].value, txn_arena(txn), &b));
			b.name = c->target.name;
			if (!b.is_snapshot || b.deleted_ticks)
				continue;
			*ret_any = true;
			if (!fn)
				return ERR_OK;
			TRY(blob_check_mutable(&b, txn_now(txn)));
			TRY(fn(txn, c, &b));
			c->more = ++count == DELETE_SNAPSHOTS_PER_COMMIT;
			c->snapshots_next = b.history_ticks + 1;
			if (c->more)
				return ERR_OK;
		}
		if (!rows.more)
			return ERR_OK;
		key_after(&from, rows.row[rows.count - 1].key);
	}
}

static enum err delete_history(struct txn *txn, struct blob_delete_call *c)
{
	struct blob b;
	struct blob_target any = c->target;
	uint64_t ticks = any.snapshot_ticks ? any.snapshot_ticks : any.version_ticks;
	enum err e = blob_get_history(txn, any.name, ticks, &b);
	if (e == ERR_NOT_FOUND && any.version_ticks) {
		e = blob_get(txn, any.name, &b);
		return e == ERR_OK && b.version_ticks == ticks ? ERR_OPERATION_NOT_ALLOWED_ON_ROOT_BLOB
							       : ERR_BLOB_NOT_FOUND;
	}
	if (e == ERR_NOT_FOUND || (e == ERR_OK && b.is_snapshot != (any.snapshot_ticks != 0)))
		return ERR_BLOB_NOT_FOUND;
	TRY(e);
	if (b.deleted_ticks && !c->permanent)
		return ERR_BLOB_NOT_FOUND;
	TRY(blob_check_write(txn, &c->target, &b));
	return drop_history(txn, c, &b);
}

/* The base goes: a version, kept for its days, or for good. */
static enum err delete_base(struct txn *txn, struct blob_delete_call *c, struct blob *b)
{
	struct key k;
	blob_key(&k, b->name);
	TRY(tags_reindex(txn, b->name, &b->tags, NULL));
	TRY(stage_discard(txn, b->name));
	TRY(txn_del(txn, key_slice(&k)));
	if (c->target.rules.versioning) {
		c->deleted_permanently = false;
		return blob_supersede(txn, &c->target, b);
	}
	if (!c->target.rules.soft_delete)
		return content_release(txn, &b->content);
	struct blob kept = *b;
	kept.lease = (struct lease){ .held = false };
	kept.history_ticks = etag_next(txn_now(txn), b->etag);
	kept.is_snapshot = false; /* neither snapshot nor version: the base that was */
	kept.deleted_ticks = txn_now(txn);
	kept.retention_days = c->target.rules.retention_days;
	c->deleted_permanently = false;
	return blob_put(txn, &kept);
}

enum err blob_apply_delete(struct txn *txn, void *call)
{
	struct blob_delete_call *c = call;
	struct blob b;
	bool any;
	c->deleted_permanently = true;
	c->more = false;
	TRY(generation_require(txn, ERR_CONTAINER_NOT_FOUND));
	if (c->permanent && !c->permanent_allowed)
		return ERR_PERMANENT_DELETE_IS_OFF;
	if (c->target.snapshot_ticks || c->target.version_ticks)
		return delete_history(txn, c);
	TRY(blob_load(txn, &c->target, &b));
	TRY(blob_check_write(txn, &c->target, &b));
	/* Deleting the destination of a running copy ends the copy: its worker finds the blob gone. */
	TRY(each_snapshot(txn, c, c->snapshots == DELETE_SNAPSHOTS_NONE ? NULL : drop_history, &any));
	if (any && c->snapshots == DELETE_SNAPSHOTS_NONE && !c->target.rules.versioning)
		return ERR_SNAPSHOTS_PRESENT;
	return c->snapshots == DELETE_SNAPSHOTS_ONLY || c->more ? ERR_OK : delete_base(txn, c, &b);
}
