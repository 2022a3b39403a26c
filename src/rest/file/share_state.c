/* SPDX-License-Identifier: Apache-2.0
 * Shares that come and go: snapshot, delete, restore. */
#include "rest/common/conditional.h"
#include "rest/common/metadata.h"
#include "rest/common/paging.h"
#include "rest/core/server.h"
#include "rest/file/share.h"
#include "svc/account/names.h"
#include "wire/date.h"

/* ---- snapshot ---- */

/* sharesnapshot means nothing here and is ignored, as the service does. */
static enum err parse_snapshot(struct request *r)
{
	struct slice partition;
	struct share_snapshot_call *c = ARENA_NEW(r->arena, struct share_snapshot_call);
	if (!c)
		return ERR_NO_MEMORY;
	r->call = c;
	TRY(name_check_container(r->container, false));
	TRY(metadata_parse(r, &c->metadata));
	c->has_metadata = c->metadata.count > 0;
	TRY(rest_file_find_share(r, &c->base, &partition));
	request_step_write(r, partition, share_apply_snapshot);
	return ERR_OK;
}

static enum err format_snapshot(struct request *r)
{
	struct share_snapshot_call *c = r->call;
	char text[DATE_ISO_BYTES];
	r->response.status = 201;
	date_format_iso(c->snapshot.ticks, text);
	response_header(r, "x-ms-snapshot", slice_make(text, sizeof text));
	rest_file_put_etag(r, c->snapshot.etag);
	return ERR_OK;
}

/* ---- delete ---- */

static enum err parse_delete_snapshots(struct request *r, enum share_delete_snapshots *ret)
{
	struct slice v = request_header(r, "x-ms-delete-snapshots");
	*ret = SHARE_DELETE_SNAPSHOTS_NONE;
	if (!slice_is_set(v))
		return ERR_OK;
	if (slice_eq_nocase(v, SLICE("include")))
		*ret = SHARE_DELETE_SNAPSHOTS_INCLUDE;
	else if (slice_eq_nocase(v, SLICE("include-leased")))
		*ret = SHARE_DELETE_SNAPSHOTS_LEASED;
	else
		return fault_header(r, ERR_INVALID_HEADER_VALUE, "x-ms-delete-snapshots", v);
	return ERR_OK;
}

static enum err parse_delete_one(struct request *r, uint64_t ticks)
{
	struct share_snapshot_call *c = ARENA_NEW(r->arena, struct share_snapshot_call);
	if (!c)
		return ERR_NO_MEMORY;
	r->call = c;
	c->ticks = ticks;
	if (slice_is_set(request_header(r, "x-ms-delete-snapshots")))
		return fault_query(r, ERR_INVALID_QUERY_PARAMETER_VALUE, "sharesnapshot",
				   request_param(r, "sharesnapshot"),
				   "x-ms-delete-snapshots is not allowed on a share snapshot.");
	TRY(rest_lease_id_parse(r, "x-ms-lease-id", &c->has_lease_id, &c->lease_id));
	return rest_file_step_write(r, share_apply_delete_snapshot, NULL);
}

static enum err parse_delete(struct request *r)
{
	struct resource share;
	struct slice inside, account;
	enum share_delete_snapshots snapshots;
	bool has_lease_id, of_snapshot;
	struct uuid lease_id;
	uint64_t ticks;
	TRY(name_check_container(r->container, false));
	TRY(rest_file_snapshot_parse(r, "sharesnapshot", &of_snapshot, &ticks));
	if (of_snapshot)
		return parse_delete_one(r, ticks);
	struct share_delete *d = ARENA_NEW(r->arena, struct share_delete);
	if (!d)
		return ERR_NO_MEMORY;
	r->call = d;
	TRY(parse_delete_snapshots(r, &snapshots));
	TRY(rest_lease_id_parse(r, "x-ms-lease-id", &has_lease_id, &lease_id));
	TRY(rest_file_find_share(r, &share, &inside));
	account = resource_account_partition(r->arena, r->account);
	if (!slice_is_set(account))
		return ERR_NO_MEMORY;
	share_delete_init(d, r->container, share.generation);
	d->base.retention_days = r->server->config.share_retention_days;
	d->snapshots = snapshots;
	d->has_lease_id = has_lease_id;
	if (has_lease_id)
		d->lease_id = lease_id;
	d->found_lease = share.lease;
	request_step_write(r, inside, share_delete_begin);
	request_step_write(r, account, share_delete_remove);
	request_step_write(r, inside, share_delete_end);
	return ERR_OK;
}

static enum err format_delete(struct request *r)
{
	r->response.status = 202;
	return ERR_OK;
}

/* ---- restore ---- */

static enum err required(struct request *r, const char *header, struct slice *ret)
{
	struct slice v = request_header(r, header);
	if (!slice_is_set(v) || !v.len)
		return fault_header(r, ERR_MISSING_REQUIRED_HEADER, header, SLICE_NONE);
	*ret = v;
	return ERR_OK;
}

static enum err parse_restore(struct request *r)
{
	struct resource deleted;
	struct slice name = SLICE_NONE, version = SLICE_NONE;
	struct resource_restore *c = ARENA_NEW(r->arena, struct resource_restore);
	if (!c)
		return ERR_NO_MEMORY;
	r->call = c;
	TRY(name_check_container(r->container, false));
	TRY(required(r, "x-ms-deleted-share-name", &name));
	TRY(required(r, "x-ms-deleted-share-version", &version));
	if (!slice_eq(name, r->container))
		return fault_header(r, ERR_INVALID_HEADER_VALUE, "x-ms-deleted-share-name", name);
	c->kind = RESOURCE_SHARE;
	c->name = r->container;
	c->exists_error = ERR_SHARE_ALREADY_EXISTS;
	c->missing_error = ERR_SHARE_NOT_FOUND;
	enum err e = resource_find(r->server->store, r->account, RESOURCE_SHARE, name, r->arena, &deleted);
	if (e != ERR_NOT_FOUND)
		return e == ERR_OK ? ERR_SHARE_ALREADY_EXISTS : e;
	/* A text that is no version names no share. */
	if (!paging_version_parse(version, &c->deleted_ticks))
		return ERR_SHARE_NOT_FOUND;
	e = resource_find_deleted(r->server->store, r->account, RESOURCE_SHARE, name, c->deleted_ticks, r->arena,
				  &deleted);
	TRY(e == ERR_NOT_FOUND ? ERR_SHARE_NOT_FOUND : e);
	struct slice account = resource_account_partition(r->arena, r->account);
	struct slice inside = resource_generation_partition(r->arena, r->account, RESOURCE_SHARE, deleted.generation);
	if (!slice_is_set(account) || !slice_is_set(inside))
		return ERR_NO_MEMORY;
	request_step_write(r, inside, share_restore_open);
	request_step_write(r, account, resource_restore_publish);
	return ERR_OK;
}

static enum err format_restore(struct request *r)
{
	struct resource_restore *c = r->call;
	r->response.status = 201;
	rest_file_put_etag(r, c->resource.etag);
	return ERR_OK;
}

const struct handler handler_share_snapshot = { .parse = parse_snapshot, .format = format_snapshot };
const struct handler handler_share_delete = { .parse = parse_delete, .format = format_delete };
const struct handler handler_share_restore = { .parse = parse_restore, .format = format_restore };
