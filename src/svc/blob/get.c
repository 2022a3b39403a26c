/* SPDX-License-Identifier: Apache-2.0
 * Reads of one blob's record. The container was found by its live record just before; a generation that died meanwhile still
 * shows its last state, which is the state just before the delete. */
#include "svc/blob/blob.h"

enum err blob_apply_get(struct txn *txn, void *call)
{
	struct blob_get_call *c = call;
	c->now_ticks = txn_now(txn);
	TRY(blob_load(txn, &c->target, &c->blob));
	TRY(blob_check_read(txn, &c->target, &c->blob));
	return c->want_bytes ? content_load(txn, &c->blob.content) : ERR_OK;
}
