/* SPDX-License-Identifier: Apache-2.0
 * Set Blob Properties, Set Blob Metadata, Lease Blob, Delete Blob. */
#include "rest/blob/encryption.h"
#include "rest/blob/rules.h"
#include "rest/common/conditional.h"
#include "rest/common/metadata.h"

static enum err begin_change(struct request *r, struct blob_modify_call **ret)
{
	struct blob_modify_call *c = ARENA_NEW(r->arena, struct blob_modify_call);
	if (!c)
		return ERR_NO_MEMORY;
	r->call = c;
	TRY(rest_blob_target_write(r, &c->target));
	*ret = c;
	return ERR_OK;
}

/* When all of the head is read: the container says whether what was asked for may be. */
static enum err end_change(struct request *r, apply_fn *apply, struct blob_modify_call *c)
{
	struct slice partition;
	TRY(rest_blob_encryption_find(r, ENCRYPTION_CHANGE, &c->target, &partition));
	request_step_write(r, partition, apply);
	return ERR_OK;
}

/* ---- Set Blob Properties ---- */

static enum err parse_sequence(struct request *r, struct blob_modify_call *c)
{
	struct slice action = request_header(r, "x-ms-sequence-number-action");
	struct slice number = request_header(r, "x-ms-blob-sequence-number");
	if (!slice_is_set(action))
		return slice_is_set(number)
			       ? fault_header(r, ERR_MISSING_REQUIRED_HEADER, "x-ms-sequence-number-action", SLICE_NONE)
			       : ERR_OK;
	if (slice_eq_nocase(action, SLICE("increment"))) {
		c->sequence_action = SEQUENCE_INCREMENT;
		return slice_is_set(number)
			       ? fault_header(r, ERR_INVALID_HEADER_VALUE, "x-ms-blob-sequence-number", number)
			       : ERR_OK;
	}
	if (slice_eq_nocase(action, SLICE("max")))
		c->sequence_action = SEQUENCE_MAX;
	else if (slice_eq_nocase(action, SLICE("update")))
		c->sequence_action = SEQUENCE_UPDATE;
	else
		return fault_header(r, ERR_INVALID_HEADER_VALUE, "x-ms-sequence-number-action", action);
	if (!slice_is_set(number))
		return fault_header(r, ERR_MISSING_REQUIRED_HEADER, "x-ms-blob-sequence-number", SLICE_NONE);
	if (!slice_to_u64(number, &c->sequence_number) || c->sequence_number > INT64_MAX)
		return fault_header(r, ERR_INVALID_HEADER_VALUE, "x-ms-blob-sequence-number", number);
	return ERR_OK;
}

static enum err parse_properties(struct request *r)
{
	static const char *const six[] = { "x-ms-blob-content-type",	 "x-ms-blob-content-encoding",
					   "x-ms-blob-content-language", "x-ms-blob-content-disposition",
					   "x-ms-blob-cache-control",	 "x-ms-blob-content-md5" };
	struct blob_modify_call *c;
	TRY(begin_change(r, &c));
	TRY(rest_blob_encryption_parse(r, ENCRYPTION_CHANGE, &c->target));
	/* A key or scope that is given must be the blob's; these properties can be set without. */
	c->target.asks_encryption = c->target.encryption.has_key || slice_is_set(c->target.encryption.scope);
	/* One given replaces all six. */
	for (size_t i = 0; i < sizeof six / sizeof *six; i++)
		c->set_http = c->set_http || slice_is_set(request_header(r, six[i]));
	TRY(rest_blob_http_parse_any_md5(r, &c->http));
	if (!slice_is_set(c->http.content_type))
		c->http.content_type = SLICE(""); /* none, not even the default */
	TRY(parse_sequence(r, c));
	struct slice length = request_header(r, "x-ms-blob-content-length");
	if (slice_is_set(length)) {
		c->resize = true;
		if (!slice_to_u64(length, &c->length_bytes) || c->length_bytes % PAGE_BYTES ||
		    c->length_bytes > 8 * 1024 * GIB)
			return fault_header(r, ERR_INVALID_HEADER_VALUE, "x-ms-blob-content-length", length);
	}
	if (!c->resize && c->sequence_action == SEQUENCE_NONE)
		c->set_http = true; /* none of them given clears them */
	return end_change(r, blob_apply_set_properties, c);
}

static enum err format_properties(struct request *r)
{
	struct blob_modify_call *c = r->call;
	r->response.status = 200;
	rest_blob_put_etag(r, c->blob.etag, c->blob.modified_ticks);
	if (c->blob.type == BLOB_PAGE)
		response_header_u64(r, "x-ms-blob-sequence-number", c->blob.sequence_number);
	return ERR_OK;
}

/* ---- Set Blob Metadata ---- */

static enum err parse_metadata(struct request *r)
{
	struct blob_modify_call *c;
	TRY(begin_change(r, &c));
	TRY(rest_blob_encryption_parse(r, ENCRYPTION_CHANGE, &c->target));
	TRY(metadata_parse(r, &c->metadata));
	return end_change(r, blob_apply_set_metadata, c);
}

static enum err format_metadata(struct request *r)
{
	struct blob_modify_call *c = r->call;
	r->response.status = 200;
	rest_blob_put_etag(r, c->blob.etag, c->blob.modified_ticks);
	rest_blob_put_version(r, &c->blob);
	rest_blob_put_encrypted(r, &c->blob.encryption);
	return ERR_OK;
}

/* ---- Lease Blob ---- */

static enum err parse_lease(struct request *r)
{
	struct blob_modify_call *c;
	TRY(begin_change(r, &c));
	rest_blob_step_write(r, blob_apply_lease);
	TRY(rest_lease_request_parse(r, &c->lease));
	/* Acquiring and the like needs w; breaking also goes with d. */
	if (c->lease.action != LEASE_ACTION_BREAK && !auth_allows(&r->identity, 'w'))
		return ERR_AUTHORIZATION_PERMISSION_MISMATCH;
	return ERR_OK;
}

static enum err format_lease(struct request *r)
{
	struct blob_modify_call *c = r->call;
	rest_lease_request_format(r, &c->lease);
	rest_blob_put_etag(r, c->blob.etag, c->blob.modified_ticks);
	return ERR_OK;
}

/* ---- Delete Blob ---- */

static enum err parse_delete_snapshots(struct request *r, struct blob_delete_call *c)
{
	struct slice v = request_header(r, "x-ms-delete-snapshots");
	if (!slice_is_set(v))
		return ERR_OK;
	bool include = slice_eq_nocase(v, SLICE("include")), only = slice_eq_nocase(v, SLICE("only"));
	if (c->target.snapshot_ticks || (!include && !only))
		return fault_header(r, ERR_INVALID_HEADER_VALUE, "x-ms-delete-snapshots", v);
	/* A version has none: the header says nothing of it, and the version alone goes. */
	if (!c->target.version_ticks)
		c->snapshots = include ? DELETE_SNAPSHOTS_INCLUDE : DELETE_SNAPSHOTS_ONLY;
	return ERR_OK;
}

/* d for the base and snapshots, x for versions, y for what is kept after a soft delete. */
static enum err check_delete_permission(const struct request *r, const struct blob_delete_call *c)
{
	char letter = c->permanent ? 'y' : c->target.version_ticks ? 'x' : 'd';
	return auth_allows(&r->identity, letter) ? ERR_OK : ERR_AUTHORIZATION_PERMISSION_MISMATCH;
}

struct delete_call {
	struct blob_delete_call del; /* first: the apply gets this */
	struct slice partition;
};

static enum err delete_again(struct request *r)
{
	struct delete_call *c = r->call;
	if (!c->del.again)
		return ERR_OK;
	request_steps_restart(r);
	request_step_write(r, c->partition, blob_apply_delete);
	request_step_call(r, delete_again);
	return ERR_OK;
}

static enum err parse_delete(struct request *r)
{
	struct slice type = request_param(r, "deletetype");
	struct delete_call *d = ARENA_NEW(r->arena, struct delete_call);
	if (!d)
		return ERR_NO_MEMORY;
	struct blob_delete_call *c = &d->del;
	r->call = d;
	TRY(rest_blob_target_write_any(r, &c->target));
	TRY(conditional_parse_tier(r, &c->tier_conditions));
	TRY(parse_delete_snapshots(r, c));
	if (slice_is_set(type)) {
		if (!slice_eq_nocase(type, SLICE("permanent")) ||
		    (!c->target.snapshot_ticks && !c->target.version_ticks))
			return fault_query(r, ERR_INVALID_QUERY_PARAMETER_VALUE, "deletetype", type,
					   "Only snapshots and versions can be deleted permanently.");
		c->permanent = true;
		TRY(rest_blob_permanent_delete_allowed(r, &c->permanent_allowed));
	}
	TRY(check_delete_permission(r, c));
	TRY(rest_blob_find(r, &d->partition));
	request_step_write(r, d->partition, blob_apply_delete);
	request_step_call(r, delete_again);
	return ERR_OK;
}

static enum err format_delete(struct request *r)
{
	struct delete_call *c = r->call;
	r->response.status = 202;
	response_header(r, "x-ms-delete-type-permanent", c->del.deleted_permanently ? SLICE("true") : SLICE("false"));
	return ERR_OK;
}

const struct handler handler_blob_set_properties = { .parse = parse_properties, .format = format_properties };
const struct handler handler_blob_set_metadata = { .parse = parse_metadata, .format = format_metadata };
const struct handler handler_blob_lease = { .parse = parse_lease, .format = format_lease };
const struct handler handler_blob_delete = { .parse = parse_delete, .format = format_delete };
