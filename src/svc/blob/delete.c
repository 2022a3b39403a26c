/* SPDX-License-Identifier: Apache-2.0
 * Delete Blob: the base, one snapshot, one version, or all snapshots.
 * With versioning the base lives on as a version; with soft delete what goes is kept for its days, marked deleted.
 * Thousands of snapshots do not fit one commit: a mark deletes them all (history.h). */
#include "svc/blob/blob.h"
#include "svc/blob/content/block_list.h"
#include "svc/blob/history.h"
#include "svc/blob/tags.h"
#include "svc/common/generation.h"

#include <assert.h>

static enum err check_delete(struct txn *txn, const struct blob_delete_call *c, const struct blob *b)
{
	/* A tier that nobody ever set did not change after any time. */
	struct condition_target tier = { .exists = true, .modified_ticks = b->tier_changed_ticks };
	TRY(blob_check_delete(txn, &c->target, b));
	return conditions_check_write(&c->tier_conditions, &tier, ERR_CONDITION_NOT_MET, ERR_CONDITION_NOT_MET);
}

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
	assert(b->history_ticks); /* a base has none, and its row is another */
	blob_history_key(&k, b->name, b->history_ticks);
	TRY(blob_content_release(txn, &b->content));
	return txn_del(txn, key_slice(&k));
}

/* The live snapshots: how many, how much they are to give back, whether one may not go. */
struct tally {
	uint64_t now_ticks;
	bool any_is_enough;
	size_t rows, count, extents;
	enum err refused;
};

static enum err tally_row(const struct blob *b, void *arg, bool *go_on)
{
	struct tally *t = arg;
	t->rows++;
	if (!b->is_snapshot || b->deleted_ticks)
		return ERR_OK;
	t->count++;
	t->extents += b->content.extent_count;
	t->refused = t->any_is_enough ? ERR_OK : blob_check_mutable(b, t->now_ticks);
	*go_on = !t->any_is_enough && t->refused == ERR_OK;
	return ERR_OK;
}

static enum err drop_snapshot(struct txn *txn, struct blob *b, void *call)
{
	return b->is_snapshot && !b->deleted_ticks ? drop_history(txn, call, b) : ERR_OK;
}

/* All live snapshots: one by one if they are few, else by a mark. There is no mark now. */
static enum err delete_snapshots(struct txn *txn, struct blob_delete_call *c, const struct tally *t)
{
	const struct blob_rules *rules = &c->target.rules;
	size_t at_once = rules->rows_at_once ? rules->rows_at_once : HISTORY_ROWS_AT_ONCE;
	if (t->count <= at_once && t->rows <= HISTORY_ROWS_LOOKED_AT && t->extents <= HISTORY_EXTENTS_AT_ONCE)
		return blob_history_change_each(txn, c->target.name, drop_snapshot, c);
	struct history_mark m = { .kind = rules->soft_delete ? MARK_SOFT_DELETED : MARK_DELETED,
				  .ticks = txn_now(txn),
				  .retention_days = rules->retention_days,
				  .sweep_rows = rules->rows_at_once ? rules->rows_at_once : HISTORY_SWEEP_ROWS };
	if (rules->soft_delete)
		c->deleted_permanently = false;
	return blob_history_mark_put(txn, c->target.name, &m);
}

static enum err delete_history(struct txn *txn, struct blob_delete_call *c)
{
	struct blob b;
	struct blob_target any = c->target;
	uint64_t ticks = any.snapshot_ticks ? any.snapshot_ticks : any.version_ticks;
	enum err e = blob_history_get(txn, any.name, ticks, &b);
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
	TRY(check_delete(txn, c, &b));
	return drop_history(txn, c, &b);
}

/* The base goes: a version, kept for its days, or for good. */
static enum err delete_base(struct txn *txn, struct blob_delete_call *c, struct blob *b)
{
	struct key k;
	assert(!b->history_ticks && slice_eq(b->name, c->target.name));
	blob_key(&k, b->name);
	TRY(blob_tags_reindex(txn, b->name, &b->tags, NULL));
	TRY(blob_stage_discard(txn, b->name));
	TRY(txn_del(txn, key_slice(&k)));
	if (c->target.rules.versioning) {
		c->deleted_permanently = false;
		return blob_supersede(txn, &c->target, b);
	}
	if (!c->target.rules.soft_delete)
		return blob_content_release(txn, &b->content);
	struct blob kept = *b;
	kept.lease = (struct lease){ .held = false };
	TRY(blob_version_after(txn, b->name, etag_next(txn_now(txn), b->etag), &kept.history_ticks));
	kept.is_snapshot = false; /* neither snapshot nor version: the base that was */
	kept.deleted_ticks = txn_now(txn);
	kept.retention_days = c->target.rules.retention_days;
	c->deleted_permanently = false;
	return blob_put(txn, &kept);
}

/* Where only uncommitted blocks are, they go. */
static enum err delete_stage(struct txn *txn, struct blob_delete_call *c)
{
	struct stage s;
	enum err e = blob_stage_get(txn, c->target.name, &s);
	TRY(e == ERR_NOT_FOUND ? ERR_BLOB_NOT_FOUND : e);
	struct condition_target t = { .exists = true, .etag = s.created_ticks, .modified_ticks = s.last_ticks };
	TRY(lease_check_write(&s.lease, &lease_errors_blob, txn_now(txn), blob_target_lease_id(&c->target)));
	TRY(conditions_check_write(&c->target.conditions, &t, ERR_CONDITION_NOT_MET, ERR_CONDITION_NOT_MET));
	return blob_stage_discard(txn, c->target.name);
}

enum err blob_apply_delete(struct txn *txn, void *call)
{
	struct blob_delete_call *c = call;
	struct blob b;
	struct history_mark mark;
	c->deleted_permanently = true;
	c->again = false;
	TRY(generation_require(txn, ERR_CONTAINER_NOT_FOUND));
	if (c->permanent && !c->permanent_allowed)
		return ERR_PERMANENT_DELETE_IS_OFF;
	if (c->target.snapshot_ticks || c->target.version_ticks)
		return delete_history(txn, c);
	enum err e = blob_load(txn, &c->target, &b);
	if (e == ERR_BLOB_NOT_FOUND)
		return delete_stage(txn, c);
	TRY(e);
	TRY(check_delete(txn, c, &b));
	/* Deleting the destination of a running copy ends the copy: its worker finds the blob gone. */
	e = blob_history_mark_get(txn, c->target.name, &mark);
	if (e != ERR_OK && e != ERR_NOT_FOUND)
		return e;
	if (e == ERR_OK && c->snapshots != DELETE_SNAPSHOTS_NONE) {
		bool done;
		c->again = true;
		return blob_history_sweep(txn, c->target.name, &done);
	}
	struct tally t = { .now_ticks = txn_now(txn), .any_is_enough = c->snapshots == DELETE_SNAPSHOTS_NONE };
	/* What a mark deleted need not be looked at. */
	uint64_t from = e == ERR_OK && mark.kind != MARK_UNDELETED ? mark.ticks + 1 : 0;
	TRY(blob_history_each(txn, c->target.name, from, tally_row, &t));
	TRY(t.refused);
	if (t.count && c->snapshots == DELETE_SNAPSHOTS_NONE)
		return ERR_SNAPSHOTS_PRESENT;
	if (t.count && c->snapshots != DELETE_SNAPSHOTS_NONE)
		TRY(delete_snapshots(txn, c, &t));
	return c->snapshots == DELETE_SNAPSHOTS_ONLY ? ERR_OK : delete_base(txn, c, &b);
}
