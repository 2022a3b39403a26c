/* SPDX-License-Identifier: Apache-2.0
 * Applies on the destination of a copy: its start, its steps, its abort. */
#include "svc/blob/copy.h"

#include "svc/blob/content/append.h"
#include "svc/blob/content/build.h"
#include "svc/blob/content/page.h"
#include "svc/blob/replace.h"
#include "svc/blob/state.h"
#include "svc/common/generation.h"

/* ---- content ---- */

/* Appended blocks: a row for each extent. */
static enum err append_rows(struct txn *txn, const struct payload *p, uint64_t content_id)
{
	uint64_t at = 0;
	for (size_t i = 0; i < p->extent_count; i++) {
		TRY(txn_publish(txn, &p->extents[i]));
		TRY(blob_append_put_row(txn, content_id, at, &p->extents[i], 1, p->extents[i].length_bytes));
		at += p->extents[i].length_bytes;
	}
	return ERR_OK;
}

static enum err put_content(struct txn *txn, struct blob *b, const struct payload *p, uint64_t content_id)
{
	b->length_bytes = p->length_bytes;
	if (b->type == BLOB_BLOCK)
		return blob_content_from_payload(txn, p, content_id, &b->content);
	b->content = (struct content){ .kind = CONTENT_ROWS, .id = content_id, .epoch = 1 };
	b->block_count = (uint32_t)p->extent_count; /* reading counts on one row each */
	return append_rows(txn, p, content_id);
}

/* What was built in commits before this one. */
static enum err take_built(struct txn *txn, struct blob *b, const struct copy_built *built)
{
	enum err e = blob_build_take(txn, built->content_id, &b->content);
	if (e == ERR_NOT_FOUND)
		return ERR_OPERATION_TIMED_OUT; /* it took so long between two steps that it was given back */
	b->length_bytes = built->length_bytes;
	b->block_count = built->block_count;
	return e;
}

/* The source's content, shared. It must still be what was read: conditions were judged on that. */
static enum err share_content(struct txn *txn, struct blob_copy_call *c, struct blob *b)
{
	struct blob source;
	enum err e = blob_load(txn, &c->source, &source);
	c->source_changed = e == ERR_BLOB_NOT_FOUND || (e == ERR_OK && source.etag != c->source_etag);
	if (c->source_changed)
		return ERR_OK;
	TRY(e);
	b->length_bytes = source.length_bytes;
	b->block_count = source.block_count;
	b->content = source.content;
	return blob_content_share(txn, &source.content);
}

static enum err make_content(struct txn *txn, struct blob_copy_call *c, struct blob *b)
{
	if (slice_is_set(c->source.name))
		return share_content(txn, c, b);
	if (c->built.content_id)
		return take_built(txn, b, &c->built);
	if (c->put.payload)
		return put_content(txn, b, c->put.payload, c->put.content_id);
	if (b->type == BLOB_PAGE) {
		b->length_bytes = c->put.page_length_bytes;
		b->sequence_number = c->put.sequence_number;
	}
	bool rows = b->type != BLOB_BLOCK;
	b->content =
		(struct content){ .kind = rows ? CONTENT_ROWS : CONTENT_EMPTY, .id = c->put.content_id, .epoch = 1 };
	return ERR_OK;
}

/* ---- the copy itself ---- */

enum err blob_apply_copy(struct txn *txn, void *call)
{
	struct blob_copy_call *c = call;
	struct blob_replace r = { .put = &c->put,
				  .unmet_error = c->unmet_error,
				  .infinite_lease_only = c->infinite_lease_only,
				  /* Put Blob From URL is a Put Blob in this too. */
				  .lease_wins = c->copy.status == COPY_NONE,
				  .incremental_url = c->incremental ? c->copy.source : SLICE_NONE };
	c->source_changed = false;
	TRY(blob_replace_begin(txn, &r));
	struct blob *b = r.fresh;
	b->sealed = c->sealed;
	b->copy = c->copy;
	TRY(make_content(txn, c, b));
	if (c->source_changed)
		return ERR_OK;
	if (b->copy.status == COPY_SUCCESS)
		b->copy.completed_ticks = txn_now(txn);
	if (b->copy.status == COPY_PENDING)
		b->copy.heartbeat_ticks = txn_now(txn);
	return blob_replace_finish(txn, &r);
}

/* ---- progress and end of a pending one ---- */

/* A finished incremental copy is also kept as a snapshot of the destination. */
static enum err snapshot_of_copy(struct txn *txn, struct blob *b)
{
	b->copy.incremental_snapshot = b->etag;
	struct blob s = *b;
	s.history_ticks = b->etag;
	s.is_snapshot = true;
	s.lease = (struct lease){ .held = false };
	s.version_ticks = 0;
	TRY(blob_content_share(txn, &b->content));
	b->content.epoch++;
	return blob_put(txn, &s);
}

enum err blob_apply_copy_step(struct txn *txn, void *call)
{
	struct blob_copy_step_call *c = call;
	struct blob_target target = { .name = c->name };
	struct blob b;
	c->gone = false;
	enum err e = generation_require(txn, ERR_NOT_FOUND);
	if (e == ERR_OK)
		e = blob_load(txn, &target, &b);
	if (e == ERR_NOT_FOUND || e == ERR_BLOB_NOT_FOUND ||
	    (e == ERR_OK && (b.copy.status != COPY_PENDING || !uuid_eq(&b.copy.id, &c->id)))) {
		c->gone = true;
		return ERR_OK;
	}
	TRY(e);
	for (size_t i = 0; i < c->page_count; i++)
		TRY(blob_page_write_payload(txn, &b.content, c->pages[i].offset, &c->pages[i].payload));
	b.copy.copied_bytes = c->copied_bytes;
	b.copy.heartbeat_ticks = txn_now(txn);
	if (c->status == COPY_PENDING)
		return blob_put(txn, &b);
	b.copy.status = c->status;
	b.copy.completed_ticks = txn_now(txn);
	b.copy.description = c->description;
	if (c->status == COPY_SUCCESS && c->built.content_id)
		TRY(take_built(txn, &b, &c->built));
	else if (c->status == COPY_SUCCESS && c->payload)
		TRY(put_content(txn, &b, c->payload, c->content_id));
	blob_touch(txn, &b, b.etag);
	if (b.copy.incremental && c->status == COPY_SUCCESS)
		TRY(snapshot_of_copy(txn, &b));
	return blob_put(txn, &b);
}

enum err blob_apply_abort_copy(struct txn *txn, void *call)
{
	struct blob_abort_copy_call *c = call;
	struct blob b;
	TRY(generation_require(txn, ERR_CONTAINER_NOT_FOUND));
	TRY(blob_load(txn, &c->target, &b));
	const struct uuid *id = blob_target_lease_id(&c->target);
	bool infinite = b.lease.held && b.lease.duration_s == LEASE_INFINITE;
	TRY(infinite ? lease_check_write(&b.lease, &lease_errors_blob, txn_now(txn), id)
		     : lease_check_read(&b.lease, &lease_errors_blob, txn_now(txn), id));
	if (b.copy.status != COPY_PENDING)
		return ERR_NO_PENDING_COPY_OPERATION;
	if (!uuid_eq(&b.copy.id, &c->id))
		return ERR_COPY_ID_MISMATCH;
	b.copy.status = COPY_ABORTED;
	b.copy.completed_ticks = txn_now(txn);
	TRY(blob_content_release(txn, &b.content));
	b.content = (struct content){ .kind = CONTENT_EMPTY };
	if (b.type != BLOB_BLOCK)
		b.content = (struct content){ .kind = CONTENT_ROWS, .id = c->content_id, .epoch = 1 };
	b.length_bytes = 0;
	b.block_count = 0;
	blob_touch(txn, &b, b.etag);
	return blob_put(txn, &b);
}
