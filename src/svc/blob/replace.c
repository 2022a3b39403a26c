/* SPDX-License-Identifier: Apache-2.0
 * Creating and replacing a blob (replace.h). */
#include "svc/blob/replace.h"

#include <assert.h>

#include "svc/blob/content/block_list.h"
#include "svc/blob/retire.h"
#include "svc/blob/state.h"
#include "svc/blob/tags.h"
#include "svc/common/generation.h"

/* ---- checks ---- */

/* An incremental copy goes on with later snapshots of the same source. The times in the URLs compare as text. */
static enum err check_incremental(const struct blob_replace *r)
{
	struct slice was = r->old.copy.source, is = r->incremental_url;
	if (!r->old.copy.incremental)
		return ERR_INVALID_BLOB_TYPE;
	if (!slice_eq(slice_first(was, slice_find_byte(was, '?')), slice_first(is, slice_find_byte(is, '?'))))
		return ERR_INCREMENTAL_COPY_BLOB_MISMATCH;
	return slice_cmp(is, was) <= 0 ? ERR_INCREMENTAL_COPY_OF_EARLIER_SNAPSHOT_NOT_ALLOWED : ERR_OK;
}

/* What is there may be replaced, by this. */
static enum err check_old(struct txn *txn, const struct blob_replace *r)
{
	const struct blob *old = &r->old;
	const struct blob_put_call *put = r->put;
	if (slice_is_set(r->incremental_url) && old->copy.status != COPY_PENDING)
		TRY(check_incremental(r));
	else
		TRY(blob_check_copy(old));
	/* With versioning the old state lives on as a version, so replacing it breaks no hold. */
	if (!put->target.rules.versioning)
		TRY(blob_check_mutable(old, txn_now(txn)));
	if (!put->may_overwrite)
		return ERR_UNAUTHORIZED_BLOB_OVERWRITE;
	if (old->type != put->type)
		return ERR_INVALID_BLOB_TYPE; /* a blob keeps its type as long as it lives */
	return blob_check_online(old);
}

static enum err check(struct txn *txn, const struct blob_replace *r)
{
	const struct blob_target *t = &r->put->target;
	const struct blob *old = r->exists ? &r->old : NULL;
	static const struct lease none;
	/* What has only uncommitted blocks can be leased too; to conditions it is not there yet. */
	const struct lease *lease = old ? &old->lease : r->is_staged ? &r->stage.lease : &none;
	struct condition_target target = { .exists = r->exists,
					   .etag = old ? old->etag : 0,
					   .modified_ticks = old ? old->modified_ticks : 0 };
	/* Before 2013-08-15 a creating write looks at its lease id only if there is a blob. */
	const struct uuid *id = r->exists || lease->held || !t->lease_of_old_only ? blob_target_lease_id(t) : NULL;
	TRY(lease_check_write(lease, &lease_errors_blob, txn_now(txn), id));
	if (old && id && r->infinite_lease_only && old->lease.duration_s != LEASE_INFINITE)
		return ERR_INFINITE_LEASE_DURATION_REQUIRED;
	bool lease_wins = r->lease_wins && id && old && t->conditions.none_match.any;
	if (!lease_wins)
		TRY(conditions_check_write(&t->conditions, &target, ERR_BLOB_ALREADY_EXISTS, r->unmet_error));
	bool unmodified = !old && r->is_staged && t->conditions.has_modified_since &&
			  r->stage.last_ticks <= t->conditions.modified_since;
	if (unmodified)
		return r->unmet_error;
	TRY(blob_check_tags(t, old));
	return old ? check_old(txn, r) : ERR_OK;
}

/* ---- the two halves ---- */

/* The new state as far as the call says it: without content, times and lease. */
static void begin_fresh(struct blob_replace *r)
{
	struct blob_put_call *c = r->put;
	c->blob = (struct blob){ .name = c->target.name,
				 .type = c->type,
				 .http = c->http,
				 .metadata = c->metadata,
				 .tags = c->tags,
				 .tier = c->tier,
				 .rehydrate = c->rehydrate,
				 .rehydrate_high = c->rehydrate_high,
				 .immutability = c->immutability,
				 .immutable_until_ticks = c->immutable_until_ticks,
				 .legal_hold = c->legal_hold,
				 .tells_legal_hold = c->tells_legal_hold,
				 .encryption = c->target.encryption };
	r->fresh = &c->blob;
}

enum err blob_replace_begin(struct txn *txn, struct blob_replace *r)
{
	TRY(generation_require(txn, ERR_CONTAINER_NOT_FOUND));
	enum err e = blob_get(txn, r->put->target.name, &r->old);
	if (e != ERR_OK && e != ERR_NOT_FOUND)
		return e;
	r->exists = e == ERR_OK;
	if (r->exists)
		blob_settle(&r->old, txn_now(txn));
	e = blob_stage_get(txn, r->put->target.name, &r->stage);
	if (e != ERR_OK && e != ERR_NOT_FOUND)
		return e;
	r->is_staged = e == ERR_OK;
	TRY(check(txn, r));
	r->takes_over = r->took_staged = false;
	begin_fresh(r);
	return ERR_OK;
}

/* The old state goes. What the new content took over from it is not given back: the new list is written by now, and the
 * retirement reads it. */
static enum err leave_old(struct txn *txn, struct blob_replace *r)
{
	struct blob *b = r->fresh;
	b->lease = r->old.lease;
	lease_note_write(&b->lease, txn_now(txn));
	if (!r->takes_over)
		return blob_supersede(txn, &r->put->target, &r->old);
	assert(b->content.kind == CONTENT_MANIFEST && b->content.id != r->old.content.id);
	return blob_retire_content_keeping(txn, &r->old.content, &b->content);
}

enum err blob_replace_finish(struct txn *txn, struct blob_replace *r)
{
	static const struct content none = { .kind = CONTENT_EMPTY };
	const struct blob_put_call *c = r->put;
	struct blob *b = r->fresh;
	assert(b && !b->history_ticks);	     /* the base row is what is written */
	assert(r->exists || !r->takes_over); /* nothing is taken from nobody */
	if (r->exists) {
		TRY(leave_old(txn, r));
	} else if (r->is_staged) {
		b->lease = r->stage.lease;
		lease_note_write(&b->lease, txn_now(txn));
	}
	blob_touch(txn, b, r->exists ? r->old.etag : 0);
	TRY(blob_new_version(txn, &c->target, b, r->exists ? r->old.version_ticks : 0));
	assert(!r->exists || b->etag > r->old.etag);
	b->created_ticks = r->exists && !c->target.rules.versioning ? r->old.created_ticks : b->etag;
	b->tier_changed_ticks = b->tier != TIER_NONE ? b->etag : 0;
	TRY(blob_tags_reindex(txn, b->name, r->exists ? &r->old.tags : NULL, &b->tags));
	/* Uncommitted blocks end with every write of the whole blob, but for those that it took. */
	TRY(blob_stage_end(txn, b->name, r->took_staged ? &b->content : &none));
	return blob_put(txn, b);
}
