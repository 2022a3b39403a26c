/* SPDX-License-Identifier: Apache-2.0
 * Put Blob: creates or replaces, whole (replace.h). */
#include "svc/blob/replace.h"

static enum err make_content(struct txn *txn, struct blob_put_call *c)
{
	struct blob *b = &c->blob;
	switch (c->type) {
	case BLOB_BLOCK:
		if (c->payload) {
			b->length_bytes = c->payload->length_bytes;
			return blob_content_from_payload(txn, c->payload, c->content_id, &b->content);
		}
		b->content = (struct content){ .kind = CONTENT_EMPTY };
		return ERR_OK;
	case BLOB_PAGE:
		b->length_bytes = c->page_length_bytes;
		b->sequence_number = c->sequence_number;
		break;
	case BLOB_APPEND:
		b->length_bytes = 0;
		break;
	}
	b->content = (struct content){ .kind = CONTENT_ROWS, .id = c->content_id, .epoch = 1 };
	return ERR_OK;
}

enum err blob_apply_put(struct txn *txn, void *call)
{
	struct blob_put_call *c = call;
	struct blob_replace r = { .put = c, .unmet_error = ERR_CONDITION_NOT_MET, .lease_wins = true };
	TRY(blob_replace_begin(txn, &r));
	TRY(make_content(txn, c));
	return blob_replace_finish(txn, &r);
}
