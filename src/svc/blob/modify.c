/* SPDX-License-Identifier: Apache-2.0
 * Changes that leave the bytes alone: properties, metadata, lease. */
#include "svc/blob/content/block_list.h"
#include "svc/blob/content/page.h"
#include "svc/common/generation.h"

static enum err load(struct txn *txn, struct blob_modify_call *c)
{
	c->now_ticks = txn_now(txn);
	TRY(generation_require(txn, ERR_CONTAINER_NOT_FOUND));
	return blob_load(txn, &c->target, &c->blob);
}

static enum err apply_sequence(struct blob *b, const struct blob_modify_call *c)
{
	switch (c->sequence_action) {
	case SEQUENCE_NONE:
		return ERR_OK;
	case SEQUENCE_MAX:
		if (c->sequence_number > b->sequence_number)
			b->sequence_number = c->sequence_number;
		return ERR_OK;
	case SEQUENCE_UPDATE:
		b->sequence_number = c->sequence_number;
		return ERR_OK;
	case SEQUENCE_INCREMENT:
		if (b->sequence_number >= INT64_MAX)
			return ERR_SEQUENCE_NUMBER_INCREMENT_TOO_LARGE;
		b->sequence_number++;
		return ERR_OK;
	}
	return ERR_OK;
}

enum err blob_apply_set_properties(struct txn *txn, void *call)
{
	struct blob_modify_call *c = call;
	TRY(load(txn, c));
	TRY(blob_check_write(txn, &c->target, &c->blob));
	struct blob *b = &c->blob;
	uint64_t last = b->etag;
	if ((c->resize || c->sequence_action != SEQUENCE_NONE) && b->type != BLOB_PAGE)
		return ERR_INVALID_BLOB_TYPE;
	TRY(apply_sequence(b, c));
	b->copy = (struct blob_copy){ .status = COPY_NONE }; /* what it tells of is not what the blob is now */
	if (c->resize && c->length_bytes < b->length_bytes)
		TRY(blob_page_truncate(txn, &c->target, b, c->length_bytes));
	if (c->resize)
		b->length_bytes = c->length_bytes;
	if (c->set_http)
		b->http = c->http;
	lease_note_write(&b->lease, c->now_ticks);
	blob_touch(txn, b, last);
	return blob_put(txn, b);
}

enum err blob_apply_set_metadata(struct txn *txn, void *call)
{
	struct blob_modify_call *c = call;
	TRY(load(txn, c));
	TRY(blob_check_write(txn, &c->target, &c->blob));
	struct blob *b = &c->blob;
	uint64_t last = b->etag;
	if (blob_is_kept(&c->target, b)) {
		TRY(blob_content_share(txn, &b->content));
		TRY(blob_supersede(txn, &c->target, b));
		if (b->type == BLOB_PAGE) /* pages written from now on are not the version's */
			b->content.epoch++;
	}
	b->metadata = c->metadata;
	lease_note_write(&b->lease, c->now_ticks);
	blob_touch(txn, b, last);
	TRY(blob_new_version(txn, &c->target, b, b->version_ticks));
	return blob_put(txn, b);
}

/* Where only uncommitted blocks are, their staging is leased. */
static enum err lease_stage(struct txn *txn, struct blob_modify_call *c)
{
	struct stage s;
	enum err e = blob_stage_get(txn, c->target.name, &s);
	TRY(e == ERR_NOT_FOUND ? ERR_BLOB_NOT_FOUND : e);
	struct condition_target t = { .exists = true, .etag = s.created_ticks, .modified_ticks = s.last_ticks };
	TRY(conditions_check_write(&c->target.conditions, &t, ERR_CONDITION_NOT_MET, ERR_CONDITION_NOT_MET));
	TRY(lease_request_run(&s.lease, &lease_errors_blob, c->now_ticks, &c->lease));
	c->blob = (struct blob){ .name = c->target.name, .etag = s.created_ticks, .modified_ticks = s.last_ticks };
	return blob_stage_put(txn, c->target.name, &s);
}

enum err blob_apply_lease(struct txn *txn, void *call)
{
	struct blob_modify_call *c = call;
	enum err e = load(txn, c);
	if (e == ERR_BLOB_NOT_FOUND)
		return lease_stage(txn, c);
	TRY(e);
	struct blob *b = &c->blob;
	struct condition_target t = { .exists = true, .etag = b->etag, .modified_ticks = b->modified_ticks };
	TRY(conditions_check_write(&c->target.conditions, &t, ERR_CONDITION_NOT_MET, ERR_CONDITION_NOT_MET));
	TRY(blob_check_tags(&c->target, b));
	TRY(blob_check_not_pending(b));
	TRY(lease_request_run(&b->lease, &lease_errors_blob, c->now_ticks, &c->lease));
	return blob_put(txn, b);
}
