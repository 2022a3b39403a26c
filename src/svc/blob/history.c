/* SPDX-License-Identifier: Apache-2.0
 * What becomes of a state that is replaced or deleted: a version, a soft-deleted snapshot, or nothing. */
#include "svc/blob/blob.h"

enum err blob_supersede(struct txn *txn, const struct blob_target *t, const struct blob *old)
{
	struct blob kept = *old;
	kept.lease = (struct lease){ .held = false };
	if (t->rules.versioning) {
		/* A state from before versioning was switched on becomes the version of its own time. */
		kept.history_ticks = old->version_ticks ? old->version_ticks : old->etag;
		kept.version_ticks = kept.history_ticks;
		kept.is_snapshot = false;
		return blob_put(txn, &kept);
	}
	if (t->rules.soft_delete) {
		kept.history_ticks = etag_next(txn_now(txn), old->etag);
		kept.is_snapshot = true;
		kept.deleted_ticks = txn_now(txn);
		kept.retention_days = t->rules.retention_days;
		return blob_put(txn, &kept);
	}
	return content_release(txn, &old->content);
}
