/* SPDX-License-Identifier: Apache-2.0
 * List Containers and List Blobs: pages of XML. */
#include "rest/blob_common.h"
#include "rest/blob_tags.h"
#include "rest/conditional.h"
#include "rest/metadata.h"
#include "rest/paging.h"
#include "wire/base64.h"
#include "wire/date.h"
#include "wire/etag.h"
#include "wire/xml.h"

/* --- List Containers
 * --------------------------------------------------------------------------------------------------------- */

struct containers_call {
	struct paging paging;
	bool metadata;
	struct slice from_name;
	struct resource_page page;
	bool deleted;
	struct deleted_resource *gone;
	size_t gone_count;
	uint64_t now_ticks;
};

static enum err apply_list_containers(struct txn *txn, void *call)
{
	struct containers_call *c = call;
	c->now_ticks = txn_now(txn);
	if (c->deleted)
		TRY(resource_list_deleted(txn, c->paging.prefix, c->from_name, c->paging.limit, &c->gone,
					  &c->gone_count));
	return resource_list(txn, RESOURCE_CONTAINER, c->paging.prefix, c->from_name, c->paging.limit, &c->page);
}

static enum err parse_containers(struct request *r)
{
	struct slice include = request_param(r, "include"), item;
	struct containers_call *c = ARENA_NEW(r->arena, struct containers_call);
	if (!c)
		return ERR_NO_MEMORY;
	r->call = c;
	TRY(paging_parse(r, &c->paging));
	while (include_next(&include, &item)) {
		if (slice_eq(item, SLICE("metadata")))
			c->metadata = true;
		else if (slice_eq(item, SLICE("deleted")))
			c->deleted = true;
		else if (item.len && !slice_eq(item, SLICE("system")))
			return fault_query(r, ERR_INVALID_QUERY_PARAMETER_VALUE, "include", request_param(r, "include"),
					   "Invalid query parameter value.");
	}
	/* The marker is /account/container. */
	if (slice_is_set(c->paging.marker)) {
		struct slice rest = c->paging.marker;
		if (rest.len && rest.ptr[0] == '/') {
			rest = slice_from(rest, 1);
			slice_cut(&rest, '/');
		}
		c->from_name = rest;
	}
	struct slice account = resource_account_partition(r->arena, r->account);
	if (!slice_is_set(account))
		return ERR_NO_MEMORY;
	request_step_read(r, account, apply_list_containers);
	return ERR_OK;
}

static void put_container(struct buf *b, const struct resource *v, const struct deleted_resource *gone, bool metadata,
			  uint64_t now)
{
	xml_open(b, "Container");
	xml_put(b, "Name", v->name);
	if (gone) {
		xml_put_bool(b, "Deleted", true);
		buf_printf(b, "<Version>%016llX</Version>", (unsigned long long)gone->deleted_ticks);
	}
	xml_open(b, "Properties");
	xml_put_rfc1123(b, "Last-Modified", v->modified_ticks);
	BUF_PUT(b, "<Etag>");
	etag_put(b, v->etag);
	BUF_PUT(b, "</Etag>");
	lease_put_xml(b, &v->lease, now);
	if (v->public_access != PUBLIC_NONE)
		xml_put(b, "PublicAccess", v->public_access == PUBLIC_BLOB ? SLICE("blob") : SLICE("container"));
	xml_put_bool(b, "HasImmutabilityPolicy", false);
	xml_put_bool(b, "HasLegalHold", false);
	xml_put_bool(b, "ImmutableStorageWithVersioningEnabled", v->immutable_versions);
	xml_put(b, "DefaultEncryptionScope", SLICE("$account-encryption-key"));
	xml_put_bool(b, "DenyEncryptionScopeOverride", false);
	if (gone) {
		uint64_t end = gone->deleted_ticks + (uint64_t)gone->retention_days * 86400 * TICKS_PER_SECOND;
		xml_put_rfc1123(b, "DeletedTime", gone->deleted_ticks);
		xml_put_u64(b, "RemainingRetentionDays", end > now ? (end - now) / (86400 * TICKS_PER_SECOND) : 0);
	}
	xml_close(b, "Properties");
	if (metadata)
		metadata_put_xml(b, &v->metadata);
	xml_close(b, "Container");
}

static enum err format_containers(struct request *r)
{
	struct containers_call *c = r->call;
	struct buf *b = &r->response.body;
	r->response.status = 200;
	response_header(r, "Content-Type", SLICE("application/xml"));
	paging_open_xml(r, b, &c->paging, SLICE_NONE);
	if (c->page.count == 0 && c->gone_count == 0)
		BUF_PUT(b, "<Containers />");
	else
		xml_open(b, "Containers");
	/* Both lists are in name order; together they make one page. */
	size_t live = 0, gone = 0;
	while (live + gone < c->paging.limit && (live < c->page.count || gone < c->gone_count)) {
		bool take_gone = gone < c->gone_count &&
				 (live == c->page.count ||
				  slice_cmp(c->gone[gone].resource.name, c->page.resource[live].name) < 0);
		if (take_gone) {
			put_container(b, &c->gone[gone].resource, &c->gone[gone], c->metadata, c->now_ticks);
			gone++;
		} else {
			put_container(b, &c->page.resource[live++], NULL, c->metadata, c->now_ticks);
		}
	}
	if (c->page.count || c->gone_count)
		xml_close(b, "Containers");
	struct slice next = SLICE_NONE,
		     next_name = live < c->page.count ? c->page.resource[live].name : c->page.next_name;
	if (gone < c->gone_count && (!slice_is_set(next_name) || slice_cmp(c->gone[gone].resource.name, next_name) < 0))
		next_name = c->gone[gone].resource.name;
	if (slice_is_set(next_name))
		next = arena_printf(r->arena, "/%.*s/%.*s", SLICE_FMT(r->account), SLICE_FMT(next_name));
	xml_put(b, "NextMarker", next);
	xml_close(b, "EnumerationResults");
	return ERR_OK;
}

/* --- List Blobs
 * ---------------------------------------------------------------------------------------------------------------- */

struct blobs_call {
	struct blob_list_call list; /* first: the apply gets this */
	struct paging paging;
	bool metadata, tags, copy, immutability, legal_hold;
};

static enum err parse_include(struct request *r, struct blobs_call *c)
{
	struct slice rest = request_param(r, "include"), item;
	struct {
		struct slice word;
		bool *flag;
	} known[] = { { SLICE("metadata"), &c->metadata },
		      { SLICE("snapshots"), &c->list.snapshots },
		      { SLICE("versions"), &c->list.versions },
		      { SLICE("deleted"), &c->list.deleted },
		      { SLICE("deletedwithversions"), &c->list.deleted },
		      { SLICE("uncommittedblobs"), &c->list.uncommitted },
		      { SLICE("tags"), &c->tags },
		      { SLICE("copy"), &c->copy },
		      { SLICE("immutabilitypolicy"), &c->immutability },
		      { SLICE("legalhold"), &c->legal_hold },
		      { SLICE("permissions"), NULL } };
	while (include_next(&rest, &item)) {
		bool found = item.len == 0;
		for (size_t i = 0; !found && i < sizeof known / sizeof *known; i++) {
			found = slice_eq_nocase(item, known[i].word);
			if (found && known[i].flag)
				*known[i].flag = true;
		}
		if (!found)
			return fault_query(r, ERR_INVALID_QUERY_PARAMETER_VALUE, "include", request_param(r, "include"),
					   "Invalid query parameter value.");
	}
	return ERR_OK;
}

static enum err parse_blobs(struct request *r)
{
	struct resource container;
	struct slice partition;
	struct blobs_call *c = ARENA_NEW(r->arena, struct blobs_call);
	if (!c)
		return ERR_NO_MEMORY;
	r->call = c;
	struct blob_list_call *l = &c->list;
	TRY(blob_find_container(r, &container, &partition));
	TRY(paging_parse(r, &c->paging));
	TRY(parse_include(r, c));
	l->prefix = c->paging.prefix;
	l->delimiter = request_param(r, "delimiter");
	l->limit = c->paging.limit;
	l->base_too = true;
	if (l->delimiter.len && l->snapshots)
		return fault_query(r, ERR_INVALID_QUERY_PARAMETER_VALUE, "include", request_param(r, "include"),
				   "Snapshots cannot be listed with a delimiter.");
	if (slice_eq_nocase(request_param(r, "showonly"), SLICE("deleted"))) {
		l->deleted = true;
		l->base_too = l->snapshots = l->versions = false;
	}
	struct slice start = request_param(r, "startFrom");
	if (slice_is_set(start) && start.len)
		l->from = start;
	if (slice_is_set(c->paging.marker))
		TRY(marker_decode(r, c->paging.marker, &l->from, &l->from_ticks));
	request_step_read(r, partition, blob_apply_list);
	return ERR_OK;
}

static void put_lease_and_tier(struct buf *b, const struct blob *v, uint64_t now)
{
	if (v->type == BLOB_BLOCK || v->tier != TIER_NONE) {
		xml_put(b, "AccessTier", slice_str(v->tier == TIER_NONE ? "Hot" : blob_tier_word(v->tier)));
		if (v->tier == TIER_NONE)
			xml_put_bool(b, "AccessTierInferred", true);
		else if (v->tier_changed_ticks)
			xml_put_rfc1123(b, "AccessTierChangeTime", v->tier_changed_ticks);
	}
	if (v->rehydrate != REHYDRATE_NONE)
		xml_put(b, "ArchiveStatus",
			v->rehydrate == REHYDRATE_TO_HOT    ? SLICE("rehydrate-pending-to-hot")
			: v->rehydrate == REHYDRATE_TO_COOL ? SLICE("rehydrate-pending-to-cool")
							    : SLICE("rehydrate-pending-to-cold"));
	if (!v->history_ticks)
		lease_put_xml(b, &v->lease, now);
}

static void put_copy_xml(struct buf *b, const struct blob_copy *c)
{
	static const char *const words[] = { "", "pending", "success", "aborted", "failed" };
	char id[UUID_TEXT_BYTES];
	if (c->status == COPY_NONE)
		return;
	uuid_format(&c->id, id);
	xml_put(b, "CopyId", slice_make(id, sizeof id));
	xml_put(b, "CopySource", c->source);
	xml_put(b, "CopyStatus", slice_str(words[c->status]));
	buf_printf(b, "<CopyProgress>%llu/%llu</CopyProgress>", (unsigned long long)c->copied_bytes,
		   (unsigned long long)c->total_bytes);
	if (c->completed_ticks)
		xml_put_rfc1123(b, "CopyCompletionTime", c->completed_ticks);
	if (slice_is_set(c->description))
		xml_put(b, "CopyStatusDescription", c->description);
	if (c->incremental)
		xml_put_bool(b, "IncrementalCopy", true);
}

static void put_deleted(struct buf *b, const struct blob *v, uint64_t now)
{
	uint64_t end = v->deleted_ticks + (uint64_t)v->retention_days * 86400 * TICKS_PER_SECOND;
	xml_put_rfc1123(b, "DeletedTime", v->deleted_ticks);
	xml_put_u64(b, "RemainingRetentionDays", end > now ? (end - now) / (86400 * TICKS_PER_SECOND) : 0);
}

static void put_properties(struct buf *b, const struct blobs_call *c, const struct blob_list_item *item)
{
	const struct blob *v = &item->blob;
	static const char *const types[] = { "BlockBlob", "PageBlob", "AppendBlob" };
	xml_open(b, "Properties");
	xml_put_rfc1123(b, "Creation-Time", v->created_ticks);
	xml_put_rfc1123(b, "Last-Modified", v->modified_ticks);
	if (!item->is_uncommitted) {
		BUF_PUT(b, "<Etag>");
		etag_put_unquoted(b, v->etag);
		BUF_PUT(b, "</Etag>");
	}
	xml_put_u64(b, "Content-Length", v->length_bytes);
	if (item->is_uncommitted) {
		xml_put(b, "BlobType", slice_str(types[v->type]));
		xml_close(b, "Properties");
		return;
	}
	xml_put(b, "Content-Type",
		slice_is_set(v->http.content_type) ? v->http.content_type : SLICE("application/octet-stream"));
	xml_put(b, "Content-Encoding", v->http.content_encoding);
	xml_put(b, "Content-Language", v->http.content_language);
	BUF_PUT(b, "<Content-CRC64 />");
	if (v->http.has_md5) {
		char text[BASE64_BYTES(16)];
		base64_encode_to(text, slice_make(v->http.md5, sizeof v->http.md5));
		xml_put(b, "Content-MD5", slice_make(text, sizeof text));
	} else {
		BUF_PUT(b, "<Content-MD5 />");
	}
	xml_put(b, "Cache-Control", v->http.cache_control);
	xml_put(b, "Content-Disposition", v->http.content_disposition);
	if (v->type == BLOB_PAGE)
		xml_put_u64(b, "x-ms-blob-sequence-number", v->sequence_number);
	xml_put(b, "BlobType", slice_str(types[v->type]));
	put_lease_and_tier(b, v, c->list.now_ticks);
	xml_put_bool(b, "ServerEncrypted", true);
	if (c->copy)
		put_copy_xml(b, &v->copy);
	if (v->tags.count)
		xml_put_u64(b, "TagCount", v->tags.count);
	if (v->sealed)
		xml_put_bool(b, "Sealed", true);
	if (v->deleted_ticks)
		put_deleted(b, v, c->list.now_ticks);
	if (c->immutability && v->immutability != IMMUTABLE_NONE) {
		xml_put_rfc1123(b, "ImmutabilityPolicyUntilDate", v->immutable_until_ticks);
		xml_put(b, "ImmutabilityPolicyMode",
			v->immutability == IMMUTABLE_LOCKED ? SLICE("locked") : SLICE("unlocked"));
	}
	if (c->legal_hold)
		xml_put_bool(b, "LegalHold", v->legal_hold);
	xml_close(b, "Properties");
}

static void put_blob(struct buf *b, const struct blobs_call *c, const struct blob_list_item *item)
{
	const struct blob *v = &item->blob;
	xml_open(b, "Blob");
	xml_put_name(b, "Name", v->name);
	if (v->deleted_ticks)
		xml_put_bool(b, "Deleted", true);
	if (v->history_ticks && v->is_snapshot)
		xml_put_iso(b, "Snapshot", v->history_ticks);
	if (c->list.versions && v->version_ticks) {
		xml_put_iso(b, "VersionId", v->version_ticks);
		if (item->is_current)
			xml_put_bool(b, "IsCurrentVersion", true);
	}
	put_properties(b, c, item);
	if (c->metadata)
		metadata_put_xml(b, &v->metadata);
	if (c->tags && v->tags.count)
		blob_tags_put_xml(b, &v->tags);
	BUF_PUT(b, "<OrMetadata />");
	xml_close(b, "Blob");
}

static enum err format_blobs(struct request *r)
{
	struct blobs_call *c = r->call;
	struct buf *b = &r->response.body;
	const struct blob_list_call *l = &c->list;
	r->response.status = 200;
	response_header(r, "Content-Type", SLICE("application/xml"));
	paging_open_xml(r, b, &c->paging, r->container);
	if (l->delimiter.len)
		xml_put_name(b, "Delimiter", l->delimiter);
	if (l->count == 0)
		BUF_PUT(b, "<Blobs />");
	else
		xml_open(b, "Blobs");
	for (size_t i = 0; i < l->count; i++) {
		if (l->item[i].is_prefix) {
			xml_open(b, "BlobPrefix");
			xml_put_name(b, "Name", l->item[i].blob.name);
			xml_close(b, "BlobPrefix");
		} else {
			put_blob(b, c, &l->item[i]);
		}
	}
	if (l->count)
		xml_close(b, "Blobs");
	if (l->more) {
		BUF_PUT(b, "<NextMarker>");
		marker_encode(b, l->next, l->next_ticks);
		BUF_PUT(b, "</NextMarker>");
	} else {
		BUF_PUT(b, "<NextMarker />");
	}
	xml_close(b, "EnumerationResults");
	return ERR_OK;
}

const struct handler handler_blob_list_containers = { .parse = parse_containers, .format = format_containers };
const struct handler handler_container_list_blobs = { .parse = parse_blobs, .format = format_blobs };
