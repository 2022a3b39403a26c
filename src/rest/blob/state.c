/* SPDX-License-Identifier: Apache-2.0
 * Snapshot Blob, Undelete Blob, Set Blob Tier, immutability policies, legal holds, Set Blob Expiry. */
#include "svc/blob/state.h"

#include "rest/blob/encryption.h"
#include "rest/common/conditional.h"
#include "rest/common/metadata.h"

/* ---- snapshot ---- */

static enum err parse_snapshot(struct request *r)
{
	struct slice partition;
	struct blob_snapshot_call *c = ARENA_NEW(r->arena, struct blob_snapshot_call);
	if (!c)
		return ERR_NO_MEMORY;
	r->call = c;
	TRY(rest_blob_target_write(r, &c->target));
	TRY(rest_blob_encryption_parse(r, ENCRYPTION_CHANGE, &c->target));
	TRY(metadata_parse(r, &c->metadata));
	c->has_metadata = c->metadata.count != 0;
	TRY(rest_blob_encryption_find(r, ENCRYPTION_CHANGE, &c->target, &partition));
	request_step_write(r, partition, blob_apply_snapshot);
	return ERR_OK;
}

static enum err format_snapshot(struct request *r)
{
	struct blob_snapshot_call *c = r->call;
	r->response.status = 201;
	rest_blob_put_etag(r, c->snapshot.etag, c->snapshot.modified_ticks);
	response_header(r, "x-ms-snapshot", rest_blob_time_text(r->arena, c->snapshot.history_ticks));
	if (c->base_version_ticks)
		response_header(r, "x-ms-version-id", rest_blob_time_text(r->arena, c->base_version_ticks));
	response_header(r, "x-ms-request-server-encrypted", c->has_metadata ? SLICE("true") : SLICE("false"));
	return ERR_OK;
}

/* ---- undelete ---- */

struct undelete_call {
	struct blob_undelete_call undelete; /* first: the apply gets this */
	struct slice partition;
};

static enum err undelete_again(struct request *r)
{
	struct undelete_call *c = r->call;
	if (!c->undelete.again)
		return ERR_OK;
	request_steps_restart(r);
	request_step_write(r, c->partition, blob_apply_undelete);
	request_step_call(r, undelete_again);
	return ERR_OK;
}

static enum err parse_undelete(struct request *r)
{
	struct blob_target target;
	struct undelete_call *c = ARENA_NEW(r->arena, struct undelete_call);
	if (!c)
		return ERR_NO_MEMORY;
	r->call = c;
	TRY(rest_blob_target_plain(r, &target));
	c->undelete.name = target.name;
	TRY(rest_blob_find(r, &c->partition));
	request_step_write(r, c->partition, blob_apply_undelete);
	request_step_call(r, undelete_again);
	return ERR_OK;
}

static enum err format_ok(struct request *r)
{
	r->response.status = 200;
	return ERR_OK;
}

/* ---- tier ---- */

static enum err begin_state(struct request *r, apply_fn *apply, struct blob_state_call **ret)
{
	struct blob_state_call *c = ARENA_NEW(r->arena, struct blob_state_call);
	if (!c)
		return ERR_NO_MEMORY;
	r->call = c;
	rest_blob_step_write(r, apply);
	*ret = c;
	return ERR_OK;
}

static enum err parse_tier(struct request *r)
{
	struct blob_state_call *c;
	TRY(begin_state(r, blob_apply_set_tier, &c));
	TRY(rest_blob_target_plain_any(r, &c->target));
	if (!slice_is_set(request_header(r, "x-ms-access-tier")))
		return fault_header(r, ERR_MISSING_REQUIRED_HEADER, "x-ms-access-tier", SLICE_NONE);
	TRY(rest_blob_rehydrate_priority_parse(r, &c->high_priority));
	return rest_blob_tier_parse(r, &c->tier);
}

static enum err format_tier(struct request *r)
{
	struct blob_state_call *c = r->call;
	r->response.status = c->rehydrating ? 202 : 200;
	return ERR_OK;
}

/* ---- immutability ---- */

static enum err parse_immutability(struct request *r)
{
	struct blob_state_call *c;
	TRY(begin_state(r, blob_apply_set_immutability, &c));
	TRY(rest_blob_target_write_any(r, &c->target));
	return rest_blob_immutability_parse(r, &c->mode, &c->until_ticks);
}

static enum err format_immutability(struct request *r)
{
	struct blob_state_call *c = r->call;
	r->response.status = 200;
	response_header_time(r, "x-ms-immutability-policy-until-date", c->blob.immutable_until_ticks);
	response_header(r, "x-ms-immutability-policy-mode",
			c->blob.immutability == IMMUTABLE_LOCKED ? SLICE("locked") : SLICE("unlocked"));
	return ERR_OK;
}

static enum err parse_delete_immutability(struct request *r)
{
	struct blob_state_call *c;
	TRY(begin_state(r, blob_apply_delete_immutability, &c));
	return rest_blob_target_plain_any(r, &c->target);
}

static enum err parse_legal_hold(struct request *r)
{
	struct blob_state_call *c;
	TRY(begin_state(r, blob_apply_set_legal_hold, &c));
	TRY(rest_blob_target_plain_any(r, &c->target));
	if (!slice_is_set(request_header(r, "x-ms-legal-hold")))
		return fault_header(r, ERR_MISSING_REQUIRED_HEADER, "x-ms-legal-hold", SLICE_NONE);
	return rest_blob_flag_parse(r, "x-ms-legal-hold", false, &c->legal_hold);
}

static enum err format_legal_hold(struct request *r)
{
	struct blob_state_call *c = r->call;
	r->response.status = 200;
	response_header(r, "x-ms-legal-hold", c->blob.legal_hold ? SLICE("true") : SLICE("false"));
	return ERR_OK;
}

/* ---- expiry: accounts here have no hierarchical namespace ---- */

static enum err parse_expiry(struct request *r)
{
	struct slice partition;
	TRY(rest_blob_find(r, &partition));
	return ERR_HIERARCHICAL_NAMESPACE_NOT_ENABLED;
}

const struct handler handler_blob_snapshot = { .parse = parse_snapshot, .format = format_snapshot };
const struct handler handler_blob_undelete = { .parse = parse_undelete, .format = format_ok };
const struct handler handler_blob_set_tier = { .parse = parse_tier, .format = format_tier };
const struct handler handler_blob_set_immutability = { .parse = parse_immutability, .format = format_immutability };
const struct handler handler_blob_delete_immutability = { .parse = parse_delete_immutability, .format = format_ok };
const struct handler handler_blob_set_legal_hold = { .parse = parse_legal_hold, .format = format_legal_hold };
const struct handler handler_blob_set_expiry = { .parse = parse_expiry, .format = format_ok };
