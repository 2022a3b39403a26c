/* SPDX-License-Identifier: Apache-2.0
 * List Containers and List Blobs: pages of XML. */
#include "base/sys/log.h"
#include "rest/blob/encryption.h"
#include "rest/blob/tags.h"
#include "rest/common/conditional.h"
#include "rest/common/metadata.h"
#include "rest/common/paging.h"
#include "svc/blob/scope.h"
#include "wire/base64.h"
#include "wire/date.h"
#include "wire/etag.h"
#include "wire/http/uri.h"
#include "wire/pen.h"
#include "wire/xml.h"

/* ---- List Containers ---- */

struct containers_call {
	struct paging paging;
	bool metadata;
	struct slice from_name;
	struct resource_page page;
	bool deleted;
	uint64_t from_deleted_ticks;   /* of the deleted ones of from_name */
	struct deleted_resource *gone; /* one more than a page shows, if there are so many */
	size_t gone_count;
	uint64_t now_ticks;
};

static enum err apply_list_containers(struct txn *txn, void *call)
{
	struct containers_call *c = call;
	c->now_ticks = txn_now(txn);
	struct deleted_query deleted = { .kind = RESOURCE_CONTAINER,
					 .prefix = c->paging.prefix,
					 .from_name = c->from_name,
					 .from_ticks = c->from_deleted_ticks,
					 .limit = c->paging.limit + 1 };
	if (c->deleted)
		TRY(resource_list_deleted(txn, &deleted, &c->gone, &c->gone_count));
	return resource_list(txn, RESOURCE_CONTAINER, c->paging.prefix, c->from_name, c->paging.limit, &c->page);
}

/* /account/container; among deleted ones of the name also /version, as the list shows it. */
static enum err parse_containers_marker(struct request *r, struct containers_call *c)
{
	struct slice rest = c->paging.marker;
	if (!slice_is_set(rest))
		return ERR_OK;
	if (rest.len == 0 || rest.ptr[0] != '/')
		return ERR_OUT_OF_RANGE_INPUT;
	rest = slice_from(rest, 1);
	slice_cut(&rest, '/');
	c->from_name = slice_is_set(rest) ? slice_cut(&rest, '/') : SLICE_NONE;
	if (slice_is_set(rest) && !paging_version_parse(rest, &c->from_deleted_ticks))
		return ERR_OUT_OF_RANGE_INPUT;
	return ERR_OK;
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
		if (slice_eq_nocase(item, SLICE("metadata")))
			c->metadata = true;
		else if (slice_eq_nocase(item, SLICE("deleted")))
			c->deleted = true;
		else if (item.len && !slice_eq_nocase(item, SLICE("system")))
			return fault_query(r, ERR_INVALID_QUERY_PARAMETER_VALUE, "include", request_param(r, "include"),
					   "Invalid query parameter value.");
	}
	TRY(parse_containers_marker(r, c));
	struct slice account = resource_account_partition(r->arena, r->account);
	if (!slice_is_set(account))
		return ERR_NO_MEMORY;
	request_step_read(r, account, apply_list_containers);
	return ERR_OK;
}

/* In lists of containers it has its quotes, but before 2011-08-18. */
static void put_list_etag(struct request *r, uint64_t etag)
{
	char text[ETAG_BYTES];
	etag_format(etag, text);
	bool quoted = r->version >= VERSION(2011, 8, 18);
	buf_put(&r->response.body, quoted ? slice_make(text, sizeof text) : slice_make(text + 1, sizeof text - 2));
}

static void put_container(struct request *r, const struct containers_call *c, const struct resource *v,
			  const struct deleted_resource *gone)
{
	struct buf *b = &r->response.body;
	uint64_t now = c->now_ticks;
	xml_open(b, "Container");
	xml_put(b, "Name", v->name);
	if (paging_has_urls(r))
		xml_put(b, "Url",
			arena_printf(r->arena, "%.*s%.*s", SLICE_FMT(paging_endpoint(r)), SLICE_FMT(v->name)));
	if (gone) {
		xml_put_bool(b, "Deleted", true);
		buf_printf(b, "<Version>%016llX</Version>", (unsigned long long)gone->deleted_ticks);
	}
	xml_open(b, "Properties");
	xml_put_rfc1123(b, "Last-Modified", v->modified_ticks);
	BUF_PUT(b, "<Etag>");
	put_list_etag(r, v->etag);
	BUF_PUT(b, "</Etag>");
	if (r->version >= VERSION(2012, 2, 12))
		rest_lease_put_xml(b, &v->lease, now);
	if (v->public_access != PUBLIC_NONE)
		xml_put(b, "PublicAccess", v->public_access == PUBLIC_BLOB ? SLICE("blob") : SLICE("container"));
	if (r->version >= VERSION(2017, 11, 9)) {
		xml_put_bool(b, "HasImmutabilityPolicy", false);
		xml_put_bool(b, "HasLegalHold", false);
	}
	if (r->version >= VERSION(2020, 10, 2))
		xml_put_bool(b, "ImmutableStorageWithVersioningEnabled", v->immutable_versions);
	if (r->version >= VERSION(2019, 2, 2)) {
		struct container_scope s = { .name = SLICE_NONE };
		if (blob_scope_decode(v->extra, &s) != ERR_OK)
			log_error("a container's record has scopes that cannot be read");
		xml_put(b, "DefaultEncryptionScope", slice_is_set(s.name) ? s.name : SLICE(REST_BLOB_ACCOUNT_SCOPE));
		xml_put_bool(b, "DenyEncryptionScopeOverride", s.deny_override);
	}
	if (gone) {
		uint64_t end = gone->deleted_ticks + (uint64_t)gone->retention_days * 86400 * TICKS_PER_SECOND;
		xml_put_rfc1123(b, "DeletedTime", gone->deleted_ticks);
		xml_put_u64(b, "RemainingRetentionDays", end > now ? (end - now) / (86400 * TICKS_PER_SECOND) : 0);
	}
	xml_close(b, "Properties");
	if (c->metadata)
		metadata_put_xml(b, &v->metadata);
	xml_close(b, "Container");
}

/* Where the next page begins; `live` and `gone` of both lists were shown. Absent at the end. */
static struct slice containers_marker(struct request *r, const struct containers_call *c, size_t live, size_t gone)
{
	struct slice name = live < c->page.count ? c->page.resource[live].name : c->page.next_name;
	const struct deleted_resource *next = gone < c->gone_count ? &c->gone[gone] : NULL,
				      *last = gone ? &c->gone[gone - 1] : NULL;
	uint64_t ticks = 0;
	if (next && (!slice_is_set(name) || slice_cmp(next->resource.name, name) <= 0)) {
		name = next->resource.name;
		ticks = next->deleted_ticks;
	} else if (last && slice_eq(last->resource.name, name)) {
		ticks = last->deleted_ticks + 1;
	}
	if (!slice_is_set(name))
		return SLICE_NONE;
	if (!ticks)
		return arena_printf(r->arena, "/%.*s/%.*s", SLICE_FMT(r->account), SLICE_FMT(name));
	return arena_printf(r->arena, "/%.*s/%.*s/%016llX", SLICE_FMT(r->account), SLICE_FMT(name),
			    (unsigned long long)ticks);
}

/* Is a deleted one next? Of one name the deleted ones come first. A page of live ones may end early: what lies behind
 * its end is for the next page. */
static bool gone_is_next(const struct containers_call *c, size_t live, size_t gone)
{
	struct slice other = live < c->page.count ? c->page.resource[live].name : c->page.next_name;
	return gone < c->gone_count && (!slice_is_set(other) || slice_cmp(c->gone[gone].resource.name, other) <= 0);
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
	while (live + gone < c->paging.limit && (live < c->page.count || gone_is_next(c, live, gone))) {
		if (gone_is_next(c, live, gone)) {
			put_container(r, c, &c->gone[gone].resource, &c->gone[gone]);
			gone++;
		} else {
			put_container(r, c, &c->page.resource[live++], NULL);
		}
	}
	if (c->page.count || c->gone_count)
		xml_close(b, "Containers");
	xml_put(b, "NextMarker", containers_marker(r, c, live, gone));
	xml_close(b, "EnumerationResults");
	return ERR_OK;
}

/* ---- List Blobs ---- */

struct blobs_call {
	struct blob_list_call list; /* first: the apply gets this */
	struct paging paging;
	bool metadata, tags, copy, immutability, legal_hold;
	uint32_t version; /* what is younger is not shown */
	struct slice url; /* before 2013-08-15 each entry has one: that of the container, with a slash */
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
		      { SLICE("deletedwithversions"), &c->list.versions_only },
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
	return c->tags ? rest_blob_tags_permission(r) : ERR_OK;
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
	c->version = r->version;
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
		l->base_too = l->snapshots = l->versions = l->versions_only = l->uncommitted = false;
	}
	struct slice start = request_param(r, "startFrom");
	if (slice_is_set(start) && start.len)
		l->from = start;
	l->before = request_param(r, "endBefore");
	if (slice_is_set(c->paging.marker))
		TRY(marker_decode(r, c->paging.marker, &l->from, &l->from_ticks));
	TRY(rest_blob_find_container(r, &container, &partition));
	if (paging_has_urls(r))
		c->url = arena_printf(r->arena, "%.*s%.*s/", SLICE_FMT(paging_endpoint(r)), SLICE_FMT(r->container));
	request_step_read(r, partition, blob_apply_list);
	return ERR_OK;
}

/* All constant text of an entry, its numbers, words and dates; the values with bounds of their own come to it. */
enum { PEN_ENTRY_BYTES = 3 * 1024 };

static void pen_lease(struct pen *p, const struct lease *l, uint64_t now, uint32_t version)
{
	enum lease_state state = lease_state(l, now);
	if (version < VERSION(2012, 2, 12)) {
		PEN_WORD(p, "LeaseStatus", lease_status_word(state));
		return;
	}
	if (state == LEASE_AVAILABLE) {
		PEN(p, "<LeaseStatus>unlocked</LeaseStatus><LeaseState>available</LeaseState>");
		return;
	}
	const char *duration = lease_duration_word(l, now);
	PEN_WORD(p, "LeaseStatus", lease_status_word(state));
	PEN_WORD(p, "LeaseState", lease_state_word(state));
	if (duration)
		PEN_WORD(p, "LeaseDuration", duration);
}

static void pen_tier(struct pen *p, const struct blob *v)
{
	if (v->tier != TIER_NONE) {
		PEN_WORD(p, "AccessTier", rest_blob_tier_word(v->tier));
		if (v->tier_changed_ticks)
			PEN_DATE(p, "AccessTierChangeTime", v->tier_changed_ticks);
	} else if (v->type == BLOB_BLOCK) {
		PEN(p, "<AccessTier>Hot</AccessTier><AccessTierInferred>true</AccessTierInferred>");
	}
	if (v->rehydrate != REHYDRATE_NONE) {
		PEN_WORD(p, "ArchiveStatus",
			 v->rehydrate == REHYDRATE_TO_HOT    ? "rehydrate-pending-to-hot"
			 : v->rehydrate == REHYDRATE_TO_COOL ? "rehydrate-pending-to-cool"
							     : "rehydrate-pending-to-cold");
		PEN_WORD(p, "RehydratePriority", rest_blob_rehydrate_priority_word(v));
	}
}

static void pen_tier_and_lease(struct pen *p, const struct blobs_call *c, const struct blob *v)
{
	if (c->version >= VERSION(2017, 4, 17))
		pen_tier(p, v);
	if (!v->history_ticks)
		pen_lease(p, &v->lease, c->list.now_ticks, c->version);
	if (c->version >= VERSION(2015, 12, 11))
		PEN(p, "<ServerEncrypted>true</ServerEncrypted>");
	if (v->encryption.has_key) {
		PEN(p, "<CustomerProvidedKeySha256>");
		base64_encode_to(p->at, slice_make(v->encryption.key_sha256, sizeof v->encryption.key_sha256));
		p->at += BASE64_BYTES(sizeof v->encryption.key_sha256);
		PEN(p, "</CustomerProvidedKeySha256>");
	}
	if (slice_is_set(v->encryption.scope) && c->version >= VERSION(2019, 2, 2))
		PEN_TEXT(p, "EncryptionScope", v->encryption.scope);
}

static void put_copy_xml(struct buf *b, const struct blob_copy *c)
{
	static const char *const words[] = { "", "pending", "success", "aborted", "failed" };
	char id[UUID_TEXT_BYTES];
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
	if (c->incremental_snapshot) {
		char snapshot[DATE_ISO_BYTES];
		date_format_iso(c->incremental_snapshot, snapshot);
		xml_put(b, "DestinationSnapshot", slice_make(snapshot, sizeof snapshot));
	}
}

static void pen_deleted(struct pen *p, const struct blob *v, uint64_t now)
{
	uint64_t end = v->deleted_ticks + (uint64_t)v->retention_days * 86400 * TICKS_PER_SECOND;
	PEN_DATE(p, "DeletedTime", v->deleted_ticks);
	PEN_U64(p, "RemainingRetentionDays", end > now ? (end - now) / (86400 * TICKS_PER_SECOND) : 0);
}

static void pen_type(struct pen *p, enum blob_type type)
{
	static const char *const types[] = { "BlockBlob", "PageBlob", "AppendBlob" };
	if (type == BLOB_BLOCK)
		PEN(p, "<BlobType>BlockBlob</BlobType>");
	else
		PEN_WORD(p, "BlobType", types[type]);
}

/* What the client may have said about the content. */
static void pen_http(struct pen *p, const struct blob_http *h)
{
	if (slice_is_set(h->content_type) && !h->content_type.len)
		PEN(p, "<Content-Type />");
	else if (slice_is_set(h->content_type))
		PEN_TEXT(p, "Content-Type", h->content_type);
	else
		PEN(p, "<Content-Type>application/octet-stream</Content-Type>");
	PEN_TEXT(p, "Content-Encoding", h->content_encoding);
	PEN_TEXT(p, "Content-Language", h->content_language);
	struct slice md5 = h->has_md5 ? slice_make(h->md5, sizeof h->md5) : h->odd_md5;
	if (slice_is_set(md5)) {
		PEN(p, "<Content-CRC64 /><Content-MD5>");
		base64_encode_to(p->at, md5);
		p->at += BASE64_BYTES(md5.len);
		PEN(p, "</Content-MD5>");
	} else {
		PEN(p, "<Content-CRC64 /><Content-MD5 />");
	}
	PEN_TEXT(p, "Cache-Control", h->cache_control);
	PEN_TEXT(p, "Content-Disposition", h->content_disposition);
}

static void pen_states(struct pen *p, const struct blobs_call *c, const struct blob *v)
{
	if (v->tags.count && c->version >= VERSION(2019, 12, 12))
		PEN_U64(p, "TagCount", v->tags.count);
	if (v->sealed)
		PEN(p, "<Sealed>true</Sealed>");
	if (v->copy.incremental) /* whether copies were asked for or not: it says what may be done with the blob */
		PEN(p, "<IncrementalCopy>true</IncrementalCopy>");
	if (v->deleted_ticks)
		pen_deleted(p, v, c->list.now_ticks);
	if (c->immutability && v->immutability != IMMUTABLE_NONE) {
		PEN_DATE(p, "ImmutabilityPolicyUntilDate", v->immutable_until_ticks);
		PEN_WORD(p, "ImmutabilityPolicyMode", v->immutability == IMMUTABLE_LOCKED ? "locked" : "unlocked");
	}
	if (c->legal_hold)
		PEN_WORD(p, "LegalHold", v->legal_hold ? "true" : "false");
}

/* False: no room. */
static bool pen_properties(struct pen *p, const struct blobs_call *c, const struct blob_list_item *item)
{
	const struct blob *v = &item->blob;
	char etag[ETAG_BYTES];
	PEN(p, "<Properties>");
	if (item->is_uncommitted) { /* neither dates nor an ETag, nor anything about its content */
		PEN_U64(p, "Content-Length", v->length_bytes);
		pen_type(p, v->type);
		pen_tier_and_lease(p, c, v);
		PEN(p, "</Properties>");
		return true;
	}
	if (c->version >= VERSION(2017, 11, 9))
		PEN_DATE(p, "Creation-Time", v->created_ticks);
	PEN_DATE(p, "Last-Modified", v->modified_ticks);
	etag_format(v->etag, etag);
	PEN(p, "<Etag>");
	pen_bytes(p, etag + 1, sizeof etag - 2); /* without its quotes */
	PEN(p, "</Etag>");
	PEN_U64(p, "Content-Length", v->length_bytes);
	pen_http(p, &v->http);
	if (v->type == BLOB_PAGE)
		PEN_U64(p, "x-ms-blob-sequence-number", v->sequence_number);
	pen_type(p, v->type);
	pen_tier_and_lease(p, c, v);
	if (c->copy && v->copy.status != COPY_NONE) {
		pen_leave(p);
		put_copy_xml(p->out, &v->copy);
		if (!pen_take(p, PEN_ENTRY_BYTES))
			return false;
	}
	pen_states(p, c, v);
	PEN(p, "</Properties>");
	return true;
}

/* What precedes the properties of a name that has several states. */
static void pen_history(struct pen *p, const struct blobs_call *c, const struct blob_list_item *item)
{
	const struct blob *v = &item->blob;
	if (v->deleted_ticks)
		PEN(p, "<Deleted>true</Deleted>");
	if (v->history_ticks && v->is_snapshot) {
		PEN(p, "<Snapshot>");
		date_format_iso(v->history_ticks, p->at);
		p->at += DATE_ISO_BYTES;
		PEN(p, "</Snapshot>");
	}
	if (v->version_ticks && c->version >= VERSION(2019, 12, 12) && !blob_is_incremental(v)) {
		PEN(p, "<VersionId>");
		date_format_iso(v->version_ticks, p->at);
		p->at += DATE_ISO_BYTES;
		PEN(p, "</VersionId>");
		if (item->is_current)
			PEN(p, "<IsCurrentVersion>true</IsCurrentVersion>");
	}
	if (item->versions_only)
		PEN(p, "<HasVersionsOnly>true</HasVersionsOnly>");
}

static void put_url(struct buf *b, struct slice base, struct slice name)
{
	BUF_PUT(b, "<Url>");
	xml_put_text(b, base);
	uri_encode(b, name, "/");
	BUF_PUT(b, "</Url>");
}

static void put_blob(struct pen *p, const struct blobs_call *c, const struct blob_list_item *item)
{
	const struct blob *v = &item->blob;
	const struct blob_http *h = &v->http;
	size_t values = v->name.len + h->content_type.len + h->content_encoding.len + h->content_language.len +
			h->content_disposition.len + h->cache_control.len;
	if (!pen_take(p, PEN_ENTRY_BYTES + XML_TEXT_BYTES(values)))
		return;
	if (xml_is_legal(v->name)) {
		PEN(p, "<Blob>");
		PEN_TEXT(p, "Name", v->name);
	} else {
		PEN(p, "<Blob>");
		pen_leave(p);
		xml_put_name(p->out, "Name", v->name);
		if (!pen_take(p, PEN_ENTRY_BYTES + XML_TEXT_BYTES(values)))
			return;
	}
	if (v->deleted_ticks || v->history_ticks || v->version_ticks)
		pen_history(p, c, item);
	if (slice_is_set(c->url)) {
		pen_leave(p);
		put_url(p->out, c->url, v->name);
		if (!pen_take(p, PEN_ENTRY_BYTES + XML_TEXT_BYTES(values)))
			return;
	}
	if (!pen_properties(p, c, item))
		return;
	if (c->metadata || (c->tags && v->tags.count)) {
		pen_leave(p);
		if (c->metadata)
			metadata_put_xml(p->out, &v->metadata);
		if (c->tags && v->tags.count)
			rest_blob_tags_put_xml(p->out, &v->tags);
		if (!pen_take(p, PEN_ENTRY_BYTES))
			return;
	}
	if (c->version >= VERSION(2019, 12, 12))
		PEN(p, "<OrMetadata />");
	PEN(p, "</Blob>");
	pen_leave(p);
}

static enum err format_blobs(struct request *r)
{
	struct blobs_call *c = r->call;
	struct buf *b = &r->response.body;
	const struct blob_list_call *l = &c->list;
	struct pen pen = pen_of(b);
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
		paging_expect(b, i, l->count);
		if (l->item[i].is_prefix) {
			xml_open(b, "BlobPrefix");
			xml_put_name(b, "Name", l->item[i].blob.name);
			xml_close(b, "BlobPrefix");
		} else {
			put_blob(&pen, c, &l->item[i]);
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
