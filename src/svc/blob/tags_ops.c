/* SPDX-License-Identifier: Apache-2.0
 * Set Blob Tags. */
#include "svc/blob/tags_ops.h"

#include "svc/common/generation.h"

enum err blob_apply_set_tags(struct txn *txn, void *call)
{
	struct blob_tags_call *c = call;
	struct blob b;
	TRY(generation_require(txn, ERR_CONTAINER_NOT_FOUND));
	TRY(blob_load(txn, &c->target, &b));
	TRY(lease_check_write(&b.lease, &lease_errors_blob, txn_now(txn), blob_target_lease_id(&c->target)));
	struct condition_target t = { .exists = true, .etag = b.etag, .modified_ticks = b.modified_ticks };
	TRY(conditions_check_write(&c->target.conditions, &t, ERR_CONDITION_NOT_MET, ERR_CONDITION_NOT_MET));
	TRY(blob_check_tags(&c->target, &b));
	TRY(blob_check_not_pending(&b));
	if (!b.history_ticks)
		TRY(blob_tags_reindex(txn, b.name, &b.tags, &c->tags));
	b.tags = c->tags;
	lease_note_write(&b.lease, txn_now(txn));
	return blob_put(txn, &b);
}
