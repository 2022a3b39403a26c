/* SPDX-License-Identifier: Apache-2.0
 * The checks every blob operation makes, in the order the service makes them. */
#include "svc/blob/blob.h"
#include "svc/blob/history.h"
#include "svc/blob/state.h"
#include "svc/blob/tags.h"

/* Reads need not be of one instant (store_read_points): a version is looked for where it is first and then where it
 * goes, so that a write that moves it meanwhile hides it from nobody. */
static enum err load_row(struct txn *txn, const struct blob_target *t, struct blob *ret)
{
	enum err e = ERR_NOT_FOUND;
	uint64_t ticks = t->snapshot_ticks ? t->snapshot_ticks : t->version_ticks;
	if (!t->snapshot_ticks)
		e = blob_get(txn, t->name, ret);
	if (e == ERR_OK && (!ticks || ret->version_ticks == ticks))
		return ERR_OK;
	if (e != ERR_OK && e != ERR_NOT_FOUND)
		return e;
	if (ticks)
		e = blob_history_get(txn, t->name, ticks, ret);
	if (e == ERR_OK && (ret->is_snapshot != (t->snapshot_ticks != 0) || ret->deleted_ticks))
		return ERR_BLOB_NOT_FOUND;
	return e == ERR_NOT_FOUND ? ERR_BLOB_NOT_FOUND : e;
}

enum err blob_load(struct txn *txn, const struct blob_target *t, struct blob *ret)
{
	TRY(load_row(txn, t, ret));
	blob_settle(ret, txn_now(txn));
	return ERR_OK;
}

static struct condition_target condition_target_of(const struct blob *b)
{
	if (!b)
		return (struct condition_target){ .exists = false };
	return (struct condition_target){ .exists = true, .etag = b->etag, .modified_ticks = b->modified_ticks };
}

enum err blob_check_tags(const struct blob_target *t, const struct blob *b)
{
	if (!t->if_tags)
		return ERR_OK;
	return blob_tag_filter_matches(t->if_tags, b ? &b->tags : NULL) ? ERR_OK : ERR_CONDITION_NOT_MET;
}

enum err blob_check_read(struct txn *txn, const struct blob_target *t, const struct blob *b)
{
	struct condition_target c = condition_target_of(b);
	TRY(lease_check_read(&b->lease, &lease_errors_blob, txn_now(txn), blob_target_lease_id(t)));
	TRY(conditions_check_read(&t->conditions, &c));
	TRY(blob_check_tags(t, b));
	return t->asks_encryption ? blob_check_encryption(t, &b->encryption) : ERR_OK;
}

enum err blob_check_encryption(const struct blob_target *t, const struct blob_encryption *b)
{
	const struct blob_encryption *given = &t->encryption;
	if (b->has_key && !given->has_key)
		return ERR_BLOB_USES_CUSTOMER_SPECIFIED_ENCRYPTION;
	if (given->has_key && !b->has_key)
		return ERR_BLOB_DOES_NOT_USE_CUSTOMER_SPECIFIED_ENCRYPTION;
	if (b->has_key && memcmp(b->key_sha256, given->key_sha256, sizeof b->key_sha256) != 0)
		return ERR_BLOB_CUSTOMER_SPECIFIED_ENCRYPTION_MISMATCH;
	if (!slice_is_set(given->scope))
		return ERR_OK;
	if (!slice_is_set(b->scope))
		return ERR_BLOB_DOES_NOT_USE_CUSTOMER_SPECIFIED_ENCRYPTION;
	return slice_eq(b->scope, given->scope) ? ERR_OK : ERR_BLOB_CUSTOMER_SPECIFIED_ENCRYPTION_MISMATCH;
}

enum err blob_check_not_pending(const struct blob *b)
{
	return b->copy.status == COPY_PENDING && !b->history_ticks ? ERR_PENDING_COPY_OPERATION : ERR_OK;
}

enum err blob_check_copy(const struct blob *b)
{
	TRY(blob_check_not_pending(b));
	return blob_is_incremental(b) ? ERR_OPERATION_NOT_ALLOWED_ON_INCREMENTAL_COPY_BLOB : ERR_OK;
}

enum err blob_check_mutable(const struct blob *b, uint64_t now)
{
	if (b->legal_hold)
		return ERR_BLOB_IMMUTABLE_DUE_TO_LEGAL_HOLD;
	if (b->immutability != IMMUTABLE_NONE && b->immutable_until_ticks > now)
		return ERR_BLOB_IMMUTABLE_DUE_TO_POLICY;
	return ERR_OK;
}

enum err blob_check_online(const struct blob *b)
{
	if (b->tier != TIER_ARCHIVE)
		return ERR_OK;
	return b->rehydrate == REHYDRATE_NONE ? ERR_BLOB_ARCHIVED : ERR_BLOB_BEING_REHYDRATED;
}

enum err blob_check_conditions(struct txn *txn, const struct blob_target *t, const struct blob *b)
{
	struct condition_target c = condition_target_of(b);
	enum err unmet = t->names_target ? ERR_TARGET_CONDITION_NOT_MET : ERR_CONDITION_NOT_MET;
	TRY(lease_check_write(&b->lease, &lease_errors_blob, txn_now(txn), blob_target_lease_id(t)));
	TRY(conditions_check_write(&t->conditions, &c, unmet, unmet));
	TRY(blob_check_tags(t, b));
	return t->asks_encryption ? blob_check_encryption(t, &b->encryption) : ERR_OK;
}

enum err blob_check_delete(struct txn *txn, const struct blob_target *t, const struct blob *b)
{
	TRY(blob_check_conditions(txn, t, b));
	return blob_check_mutable(b, txn_now(txn));
}

enum err blob_check_changeable(const struct blob *b, uint64_t now)
{
	/* Its rows are shared with the base: a write would go into both. */
	if (b->history_ticks)
		return ERR_INVALID_OPERATION;
	TRY(blob_check_mutable(b, now));
	TRY(blob_check_copy(b));
	return blob_check_online(b);
}

enum err blob_check_write(struct txn *txn, const struct blob_target *t, const struct blob *b)
{
	TRY(blob_check_conditions(txn, t, b));
	return blob_check_changeable(b, txn_now(txn));
}

void blob_touch(struct txn *txn, struct blob *b, uint64_t last_etag)
{
	b->etag = etag_next(txn_now(txn), last_etag);
	b->modified_ticks = b->etag;
}

enum err blob_new_version(struct txn *txn, const struct blob_target *t, struct blob *b, uint64_t last_version)
{
	b->version_ticks = 0;
	if (!t->rules.versioning)
		return ERR_OK;
	return blob_version_after(txn, b->name, etag_next(b->etag, last_version), &b->version_ticks);
}
