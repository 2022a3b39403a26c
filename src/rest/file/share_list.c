/* SPDX-License-Identifier: Apache-2.0
 * List Shares: a page of XML. Of one name the deleted generations come first, then the snapshots by time, then the
 * share itself. */
#include <stdio.h>

#include "rest/common/conditional.h"
#include "rest/common/metadata.h"
#include "rest/common/paging.h"
#include "rest/core/server.h"
#include "rest/file/share.h"
#include "wire/date.h"
#include "wire/etag.h"
#include "wire/xml.h"

#define HALF_HOUR_TICKS (1800 * TICKS_PER_SECOND)
#define DAY_TICKS	(86400 * TICKS_PER_SECOND)

struct list_call {
	struct paging paging;
	bool metadata, snapshots, deleted;
	struct slice from_name;
	uint64_t from_deleted_ticks;  /* of from_name: deleted generations from this one on */
	uint64_t from_snapshot_ticks; /* of from_name: snapshots from this one on, and no deleted generation */
	struct resource_page page;
	struct deleted_resource *gone; /* one more than a page shows, if there are so many */
	size_t gone_count;
	uint64_t now_ticks;
	size_t shown;
	struct slice next_marker;
};

static enum err apply_list(struct txn *txn, void *call)
{
	struct list_call *c = call;
	c->now_ticks = txn_now(txn);
	struct deleted_query deleted = { .kind = RESOURCE_SHARE,
					 .prefix = c->paging.prefix,
					 .from_name = c->from_name,
					 .from_ticks = c->from_deleted_ticks,
					 .limit = c->paging.limit + 1 };
	if (c->deleted)
		TRY(resource_list_deleted(txn, &deleted, &c->gone, &c->gone_count));
	return resource_list(txn, RESOURCE_SHARE, c->paging.prefix, c->from_name, c->paging.limit, &c->page);
}

/* /account/share, behind it /version of a deleted generation or the time of a snapshot to go on with. */
static enum err parse_marker(struct request *r, struct list_call *c)
{
	struct slice rest = c->paging.marker;
	if (!slice_is_set(rest))
		return ERR_OK;
	if (rest.len && rest.ptr[0] == '/') {
		rest = slice_from(rest, 1);
		slice_cut(&rest, '/');
	}
	c->from_name = slice_is_set(rest) ? slice_cut(&rest, '/') : SLICE_NONE;
	if (!slice_is_set(rest) || paging_version_parse(rest, &c->from_deleted_ticks))
		return ERR_OK;
	if (!date_parse_iso(rest, &c->from_snapshot_ticks))
		return fault_query(r, ERR_INVALID_QUERY_PARAMETER_VALUE, "marker", c->paging.marker, "Invalid marker.");
	c->from_deleted_ticks = UINT64_MAX;
	return ERR_OK;
}

static enum err parse(struct request *r)
{
	struct slice include = request_param(r, "include"), item;
	struct list_call *c = ARENA_NEW(r->arena, struct list_call);
	if (!c)
		return ERR_NO_MEMORY;
	r->call = c;
	TRY(paging_parse(r, &c->paging));
	while (include_next(&include, &item)) {
		if (slice_eq_nocase(item, SLICE("metadata")))
			c->metadata = true;
		else if (slice_eq_nocase(item, SLICE("snapshots")))
			c->snapshots = true;
		else if (slice_eq_nocase(item, SLICE("deleted")))
			c->deleted = file_since(r, FILE_V_SHARE_TIERS);
		else if (item.len)
			return fault_query(r, ERR_INVALID_QUERY_PARAMETER_VALUE, "include", request_param(r, "include"),
					   "Invalid query parameter value.");
	}
	TRY(parse_marker(r, c));
	struct slice account = resource_account_partition(r->arena, r->account);
	if (!slice_is_set(account))
		return ERR_NO_MEMORY;
	request_step_read(r, account, apply_list);
	return ERR_OK;
}

/* ---- entries ---- */

/* What shares, snapshots and deleted generations show alike. */
struct entry {
	struct slice name;
	uint64_t etag;
	const struct lease *lease;
	uint64_t quota_gib;
	const struct share_settings *settings; /* NULL: a snapshot, which has no tier */
	const struct pairs *metadata;
	uint64_t snapshot_ticks;
	const struct deleted_resource *gone;
};

/* Rounded down, but for the first half hour: recordings of the service have 7 (of 7) for 20 minutes after the delete,
 * and 6 after 31. */
static uint64_t days_left(const struct deleted_resource *gone, uint64_t now_ticks)
{
	uint64_t end = gone->deleted_ticks + (uint64_t)gone->retention_days * DAY_TICKS;
	return end > now_ticks ? (end - now_ticks + HALF_HOUR_TICKS) / DAY_TICKS : 0;
}

static void put_properties(const struct request *r, struct buf *b, const struct list_call *c, const struct entry *e)
{
	xml_open(b, "Properties");
	xml_put_rfc1123(b, "Last-Modified", e->etag);
	BUF_PUT(b, "<Etag>");
	etag_put(b, e->etag);
	BUF_PUT(b, "</Etag>");
	if (file_since(r, FILE_V_SHARE_LEASES))
		rest_lease_put_xml(b, e->lease, c->now_ticks);
	xml_put_u64(b, "Quota", e->quota_gib);
	if (file_since(r, FILE_V_SHARE_TIERS)) {
		if (e->settings) {
			xml_put(b, "AccessTier", slice_str(rest_share_tier_word(e->settings->tier)));
			if (e->settings->tier_changed_ticks)
				xml_put_rfc1123(b, "AccessTierChangeTime", e->settings->tier_changed_ticks);
			if (e->settings->provisioned_iops)
				xml_put_u64(b, "ProvisionedIops", e->settings->provisioned_iops);
			if (e->settings->provisioned_bandwidth_mibps)
				xml_put_u64(b, "ProvisionedBandwidthMiBps", e->settings->provisioned_bandwidth_mibps);
		}
		xml_put(b, "DefaultEncryptionScope", SLICE(SHARE_SCOPE));
		xml_put_bool(b, "DenyEncryptionScopeOverride", false);
	}
	if (e->gone) {
		xml_put_rfc1123(b, "DeletedTime", e->gone->deleted_ticks);
		xml_put_u64(b, "RemainingRetentionDays", days_left(e->gone, c->now_ticks));
	}
	xml_close(b, "Properties");
}

static void put_entry(struct request *r, struct list_call *c, const struct entry *e)
{
	struct buf *b = &r->response.body;
	xml_open(b, "Share");
	xml_put(b, "Name", e->name);
	if (e->snapshot_ticks)
		xml_put_iso(b, "Snapshot", e->snapshot_ticks);
	if (e->gone) {
		xml_put_bool(b, "Deleted", true);
		buf_printf(b, "<Version>%016llX</Version>", (unsigned long long)e->gone->deleted_ticks);
	}
	put_properties(r, b, c, e);
	if (c->metadata)
		metadata_put_xml(b, e->metadata);
	xml_close(b, "Share");
	c->shown++;
}

static bool is_full(const struct list_call *c)
{
	return c->shown >= c->paging.limit;
}

static struct slice marker_of(struct request *r, struct slice name, const char *behind)
{
	return arena_printf(r->arena, "/%.*s/%.*s%s%s", SLICE_FMT(r->account), SLICE_FMT(name), *behind ? "/" : "",
			    behind);
}

/* The snapshots of one share, from its own partition; a page that ends among them is gone on with by their time. */
static enum err put_snapshots(struct request *r, struct list_call *c, const struct resource *share)
{
	struct share_snapshots_call s = { .snapshot = NULL };
	struct slice partition = resource_generation_partition(r->arena, r->account, RESOURCE_SHARE, share->generation);
	uint64_t from = slice_eq(share->name, c->from_name) ? c->from_snapshot_ticks : 0;
	if (!slice_is_set(partition))
		return ERR_NO_MEMORY;
	enum err e = store_read(r->server->store, partition, share_apply_list_snapshots, &s, r->arena);
	if (e == ERR_SHARE_NOT_FOUND || e == ERR_NOT_FOUND) /* deleted since the page was read */
		return ERR_OK;
	TRY(e);
	for (size_t i = 0; i < s.count; i++) {
		const struct share_snapshot *n = &s.snapshot[i];
		if (n->ticks < from)
			continue;
		if (is_full(c)) {
			char text[DATE_ISO_BYTES + 1];
			date_format_iso(n->ticks, text);
			text[DATE_ISO_BYTES] = 0;
			c->next_marker = marker_of(r, share->name, text);
			return ERR_OK;
		}
		put_entry(r, c,
			  &(struct entry){ .name = share->name,
					   .etag = n->etag,
					   .lease = &n->lease,
					   .quota_gib = n->quota_gib,
					   .metadata = &n->metadata,
					   .snapshot_ticks = n->ticks });
	}
	return ERR_OK;
}

static enum err put_share(struct request *r, struct list_call *c, const struct resource *v,
			  const struct deleted_resource *gone)
{
	struct share_settings settings;
	TRY(share_settings_decode(v->extra, &settings));
	put_entry(r, c,
		  &(struct entry){ .name = v->name,
				   .etag = v->etag,
				   .lease = &v->lease,
				   .quota_gib = settings.quota_gib,
				   .settings = &settings,
				   .metadata = &v->metadata,
				   .gone = gone });
	return ERR_OK;
}

static enum err put_live(struct request *r, struct list_call *c, const struct resource *v)
{
	if (c->snapshots)
		TRY(put_snapshots(r, c, v));
	if (slice_is_set(c->next_marker))
		return ERR_OK;
	if (!is_full(c))
		return put_share(r, c, v, NULL);
	/* Only the share itself is left of its name: a time behind every snapshot says so. */
	c->next_marker = marker_of(r, v->name, c->snapshots || c->deleted ? "9999-12-31T23:59:59.0000000Z" : "");
	return ERR_OK;
}

/* Both lists are in name order; together they make one page. */
static enum err put_all(struct request *r, struct list_call *c)
{
	size_t live = 0, gone = 0;
	while (!slice_is_set(c->next_marker)) {
		struct slice name = live < c->page.count ? c->page.resource[live].name : c->page.next_name;
		const struct deleted_resource *d = gone < c->gone_count ? &c->gone[gone] : NULL;
		bool gone_next = d && (!slice_is_set(name) || slice_cmp(d->resource.name, name) <= 0);
		if (gone_next && is_full(c)) {
			char text[17];
			snprintf(text, sizeof text, "%016llX", (unsigned long long)d->deleted_ticks);
			c->next_marker = marker_of(r, d->resource.name, text);
		} else if (gone_next) {
			TRY(put_share(r, c, &d->resource, d));
			gone++;
		} else if (live < c->page.count) {
			if (is_full(c) && !slice_eq(name, gone ? c->gone[gone - 1].resource.name : SLICE_NONE))
				c->next_marker = marker_of(r, name, "");
			else
				TRY(put_live(r, c, &c->page.resource[live++]));
		} else {
			if (slice_is_set(name))
				c->next_marker = marker_of(r, name, "");
			break;
		}
	}
	return ERR_OK;
}

static enum err format(struct request *r)
{
	struct list_call *c = r->call;
	struct buf *b = &r->response.body;
	r->response.status = 200;
	response_header(r, "Content-Type", SLICE("application/xml"));
	paging_open_xml(r, b, &c->paging, SLICE_NONE);
	size_t before = b->len;
	BUF_PUT(b, "<Shares>");
	TRY(put_all(r, c));
	if (c->shown) {
		BUF_PUT(b, "</Shares>");
	} else {
		b->len = before;
		BUF_PUT(b, "<Shares />");
	}
	xml_put(b, "NextMarker", c->next_marker);
	xml_close(b, "EnumerationResults");
	return ERR_OK;
}

const struct handler handler_file_list_shares = { .parse = parse, .format = format };
