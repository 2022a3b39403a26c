/* SPDX-License-Identifier: Apache-2.0
 * Put Blob: creates or replaces, whole. */
#include "svc/blob/blob.h"
#include "svc/blob/stage.h"
#include "svc/blob/state.h"
#include "svc/blob/tags.h"
#include "svc/common/generation.h"

static enum err make_content(struct txn *txn, struct blob_put_call *c)
{
	struct blob *b = &c->blob;
	switch (c->type) {
	case BLOB_BLOCK:
		if (c->payload) {
			b->length_bytes = c->payload->length_bytes;
			return content_from_payload(txn, c->payload, c->content_id, &b->content);
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

struct blob *blob_begin(struct blob_put_call *c, enum blob_type type)
{
	c->blob = (struct blob){ .name = c->target.name,
				 .type = type,
				 .http = c->http,
				 .metadata = c->metadata,
				 .tags = c->tags,
				 .tier = c->tier,
				 .immutability = c->immutability,
				 .immutable_until_ticks = c->immutable_until_ticks,
				 .legal_hold = c->legal_hold };
	return &c->blob;
}

enum err blob_apply_put(struct txn *txn, void *call)
{
	struct blob_put_call *c = call;
	struct blob old;
	TRY(generation_require(txn, ERR_CONTAINER_NOT_FOUND));
	enum err e = blob_get(txn, c->target.name, &old);
	if (e != ERR_OK && e != ERR_NOT_FOUND)
		return e;
	bool exists = e == ERR_OK;
	if (exists)
		blob_settle(&old, txn_now(txn));
	TRY(blob_check_create(txn, &c->target, exists ? &old : NULL));
	if (exists && !c->may_overwrite)
		return ERR_UNAUTHORIZED_BLOB_OVERWRITE;
	if (exists && old.type != c->type)
		return ERR_INVALID_BLOB_TYPE; /* a blob keeps its type as long as it lives */
	if (exists)
		TRY(blob_check_online(&old));

	struct blob *b = blob_begin(c, c->type);
	TRY(make_content(txn, c));
	if (exists) {
		b->lease = old.lease;
		lease_note_write(&b->lease, txn_now(txn));
		TRY(blob_supersede(txn, &c->target, &old));
	}
	blob_touch(txn, b, &c->target, exists ? old.etag : 0);
	b->created_ticks = exists && !c->target.rules.versioning ? old.created_ticks : b->etag;
	b->tier_changed_ticks = b->tier != TIER_NONE ? b->etag : 0;
	TRY(tags_reindex(txn, c->target.name, exists ? &old.tags : NULL, &b->tags));
	TRY(stage_discard(txn, c->target.name));
	return blob_put(txn, b);
}
