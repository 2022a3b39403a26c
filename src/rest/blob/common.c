/* SPDX-License-Identifier: Apache-2.0
 * Headers that many blob operations take, and those that many of their answers carry. */
#include "rest/blob/common.h"

#include "rest/blob/encryption.h"
#include "rest/blob/rules.h"
#include "rest/blob/tags.h"
#include "rest/common/conditional.h"
#include "rest/common/metadata.h"
#include "rest/core/server.h"
#include "svc/account/names.h"
#include "wire/base64.h"
#include "wire/date.h"
#include "wire/etag.h"

enum err rest_blob_find_container(struct request *r, struct resource *ret, struct slice *ret_partition)
{
	TRY(name_check_container(r->container, true));
	enum err e = resource_find(r->server->store, r->account, RESOURCE_CONTAINER, r->container, r->arena, ret);
	if (e == ERR_NOT_FOUND)
		return ERR_CONTAINER_NOT_FOUND;
	TRY(e);
	*ret_partition = resource_generation_partition(r->arena, r->account, RESOURCE_CONTAINER, ret->generation);
	return slice_is_set(*ret_partition) ? ERR_OK : ERR_NO_MEMORY;
}

enum err rest_blob_find(struct request *r, struct slice *ret_partition)
{
	struct resource container;
	TRY(name_check_blob(r->container, r->object));
	return rest_blob_find_container(r, &container, ret_partition);
}

static enum err find_to_write(struct request *r)
{
	struct slice partition;
	apply_fn *apply = r->steps[r->step_next - 1].apply;
	TRY(rest_blob_find(r, &partition));
	request_step_write(r, partition, apply);
	return ERR_OK;
}

void rest_blob_step_write(struct request *r, apply_fn *apply)
{
	request_step_call(r, find_to_write);
	r->steps[r->step_count - 1].apply = apply;
}

bool rest_blob_time_text_parse(struct slice text, uint64_t *ret_ticks)
{
	return slice_is_set(text) && date_parse_iso(text, ret_ticks) && *ret_ticks != 0;
}

/* snapshot and versionid parameters; 0 if absent. */
static enum err blob_time_parse(struct request *r, const char *parameter, uint64_t *ret)
{
	struct slice text = request_param(r, parameter);
	*ret = 0;
	if (!slice_is_set(text))
		return ERR_OK;
	/* One without a value names nothing, least of all the base. */
	if (!rest_blob_time_text_parse(text, ret))
		return fault_query(r, ERR_INVALID_QUERY_PARAMETER_VALUE, parameter, text, "Not a valid date-time.");
	return ERR_OK;
}

static enum err target_common(struct request *r, struct blob_target *t)
{
	t->name = r->object;
	TRY(blob_time_parse(r, "snapshot", &t->snapshot_ticks));
	TRY(blob_time_parse(r, "versionid", &t->version_ticks));
	if (t->snapshot_ticks && t->version_ticks)
		return ERR_MUTUALLY_EXCLUSIVE_QUERY_PARAMETERS;
	/* A SAS for a snapshot or a version reaches nothing else. */
	if ((r->identity.resource == 's' && !t->snapshot_ticks) || (r->identity.resource == 'v' && !t->version_ticks))
		return ERR_AUTHORIZATION_FAILURE;
	TRY(rest_lease_id_parse(r, "x-ms-lease-id", &t->has_lease_id, &t->lease_id));
	t->lease_of_old_only = r->version < VERSION(2013, 8, 15);
	return rest_blob_if_tags_parse(r, &t->if_tags);
}

enum err rest_blob_target_read(struct request *r, struct blob_target *ret)
{
	struct blob_target t = { .name = SLICE_NONE };
	TRY(target_common(r, &t));
	TRY(conditional_parse_read(r, &t.conditions));
	*ret = t;
	return ERR_OK;
}

enum err rest_blob_target_write_any(struct request *r, struct blob_target *ret)
{
	struct blob_target t = { .name = SLICE_NONE };
	TRY(target_common(r, &t));
	TRY(rest_blob_rules_load(r, &t.rules));
	TRY(conditional_parse_write(r, &t.conditions));
	*ret = t;
	return ERR_OK;
}

enum err rest_blob_target_plain_any(struct request *r, struct blob_target *ret)
{
	struct blob_target t = { .name = SLICE_NONE };
	struct conditions c;
	TRY(target_common(r, &t));
	TRY(rest_blob_rules_load(r, &t.rules));
	TRY(conditional_parse_write(r, &c));
	if (c.match.present || c.none_match.present || c.has_modified_since || c.has_unmodified_since)
		return ERR_CONDITION_HEADERS_NOT_SUPPORTED;
	*ret = t;
	return ERR_OK;
}

static enum err refuse_history(struct request *r, const struct blob_target *t)
{
	if (!t->snapshot_ticks && !t->version_ticks)
		return ERR_OK;
	const char *name = t->snapshot_ticks ? "snapshot" : "versionid";
	return fault_query(r, ERR_INVALID_QUERY_PARAMETER_VALUE, name, request_param(r, name),
			   "This operation is not allowed on a snapshot or version.");
}

enum err rest_blob_target_write(struct request *r, struct blob_target *ret)
{
	struct blob_target t;
	TRY(rest_blob_target_write_any(r, &t));
	TRY(refuse_history(r, &t));
	*ret = t;
	return ERR_OK;
}

enum err rest_blob_target_plain(struct request *r, struct blob_target *ret)
{
	struct blob_target t;
	TRY(rest_blob_target_plain_any(r, &t));
	TRY(refuse_history(r, &t));
	*ret = t;
	return ERR_OK;
}

enum err rest_blob_flag_parse(struct request *r, const char *header, bool absent, bool *ret)
{
	struct slice v = request_header(r, header);
	bool is_true = slice_eq_nocase(v, SLICE("true"));
	if (slice_is_set(v) && !is_true && !slice_eq_nocase(v, SLICE("false")))
		return fault_header(r, ERR_INVALID_HEADER_VALUE, header, v);
	*ret = slice_is_set(v) ? is_true : absent;
	return ERR_OK;
}

static struct slice either(struct request *r, const char *blob_header, const char *standard)
{
	struct slice v = request_header(r, blob_header);
	if (!slice_is_set(v) && standard)
		v = request_header(r, standard);
	return v.len ? v : SLICE_NONE;
}

static struct blob_http http_without_md5(struct request *r, bool standard_too)
{
	struct blob_http h = { .has_md5 = false };
	h.content_type = either(r, "x-ms-blob-content-type", standard_too ? "Content-Type" : NULL);
	h.content_encoding = either(r, "x-ms-blob-content-encoding", standard_too ? "Content-Encoding" : NULL);
	h.content_language = either(r, "x-ms-blob-content-language", standard_too ? "Content-Language" : NULL);
	h.cache_control = either(r, "x-ms-blob-cache-control", standard_too ? "Cache-Control" : NULL);
	h.content_disposition = either(r, "x-ms-blob-content-disposition", NULL);
	return h;
}

enum err rest_blob_http_parse(struct request *r, bool standard_too, struct blob_http *ret)
{
	struct blob_http h = http_without_md5(r, standard_too);
	struct slice md5 = either(r, "x-ms-blob-content-md5", NULL);
	if (slice_is_set(md5)) {
		if (!base64_decode_exact(md5, h.md5, sizeof h.md5))
			return ERR_INVALID_MD5;
		h.has_md5 = true;
	}
	*ret = h;
	return ERR_OK;
}

enum err rest_blob_http_parse_any_md5(struct request *r, struct blob_http *ret)
{
	struct blob_http h;
	struct slice text = either(r, "x-ms-blob-content-md5", NULL), odd;
	enum err e = rest_blob_http_parse(r, false, &h);
	if (e != ERR_INVALID_MD5) {
		if (e == ERR_OK)
			*ret = h;
		return e;
	}
	if (base64_decode(text, r->arena, &odd) != ERR_OK || odd.len > BLOB_ODD_MD5_MAX)
		return fault_header(r, ERR_INVALID_HEADER_VALUE, "x-ms-blob-content-md5", text);
	h = http_without_md5(r, false);
	h.odd_md5 = odd;
	*ret = h;
	return ERR_OK;
}

/* ---- tiers, holds ---- */

static const char *const tier_words[] = { [TIER_NONE] = "",
					  [TIER_HOT] = "Hot",
					  [TIER_COOL] = "Cool",
					  [TIER_COLD] = "Cold",
					  [TIER_ARCHIVE] = "Archive",
					  [TIER_PREMIUM_FIRST] = "P4",
					  "P6",
					  "P10",
					  "P15",
					  "P20",
					  "P30",
					  "P40",
					  "P50",
					  "P60",
					  "P70",
					  "P80" };

const char *rest_blob_tier_word(enum blob_tier t)
{
	return (size_t)t < sizeof tier_words / sizeof *tier_words ? tier_words[t] : "";
}

enum err rest_blob_tier_parse(struct request *r, enum blob_tier *ret)
{
	struct slice v = request_header(r, "x-ms-access-tier");
	*ret = TIER_NONE;
	if (!slice_is_set(v))
		return ERR_OK;
	for (size_t i = TIER_HOT; i < sizeof tier_words / sizeof *tier_words; i++)
		if (slice_eq_nocase(v, slice_str(tier_words[i]))) {
			*ret = (enum blob_tier)i;
			return ERR_OK;
		}
	return fault_header(r, ERR_INVALID_HEADER_VALUE, "x-ms-access-tier", v);
}

enum err rest_blob_rehydrate_priority_parse(struct request *r, bool *ret_high)
{
	struct slice v = request_header(r, "x-ms-rehydrate-priority");
	*ret_high = slice_eq_nocase(v, SLICE("High"));
	return !slice_is_set(v) || *ret_high || slice_eq_nocase(v, SLICE("Standard"))
		       ? ERR_OK
		       : fault_header(r, ERR_INVALID_HEADER_VALUE, "x-ms-rehydrate-priority", v);
}

const char *rest_blob_rehydrate_priority_word(const struct blob *b)
{
	return b->rehydrate_high ? "High" : "Standard";
}

enum err rest_blob_immutability_parse(struct request *r, enum immutability_mode *ret_mode, uint64_t *ret_until_ticks)
{
	struct slice until = request_header(r, "x-ms-immutability-policy-until-date");
	struct slice mode = request_header(r, "x-ms-immutability-policy-mode");
	bool locked = slice_eq_nocase(mode, SLICE("locked"));
	uint64_t ticks;
	if (!slice_is_set(until))
		return fault_header(r, ERR_MISSING_REQUIRED_HEADER, "x-ms-immutability-policy-until-date", SLICE_NONE);
	if (!date_parse_rfc1123(until, &ticks) || ticks <= r->arrival_ticks)
		return fault_header(r, ERR_INVALID_HEADER_VALUE, "x-ms-immutability-policy-until-date", until);
	if (slice_is_set(mode) && !locked && !slice_eq_nocase(mode, SLICE("unlocked")))
		return fault_header(r, ERR_INVALID_HEADER_VALUE, "x-ms-immutability-policy-mode", mode);
	*ret_mode = locked ? IMMUTABLE_LOCKED : IMMUTABLE_UNLOCKED;
	*ret_until_ticks = ticks;
	return ERR_OK;
}

/* x-ms-immutability-policy-until-date, -mode, x-ms-legal-hold of creating writes. They need the permission i under a
 * SAS.
 */
static enum err blob_hold_parse(struct request *r, struct blob_put_call *c)
{
	struct slice until = request_header(r, "x-ms-immutability-policy-until-date");
	struct slice mode = request_header(r, "x-ms-immutability-policy-mode");
	struct slice hold = request_header(r, "x-ms-legal-hold");
	bool any = slice_is_set(until) || slice_is_set(mode) || slice_is_set(hold);
	if (any && !auth_allows(&r->identity, 'i'))
		return ERR_AUTHORIZATION_PERMISSION_MISMATCH;
	if (slice_is_set(until) || slice_is_set(mode))
		TRY(rest_blob_immutability_parse(r, &c->immutability, &c->immutable_until_ticks));
	c->tells_legal_hold = slice_is_set(hold);
	return rest_blob_flag_parse(r, "x-ms-legal-hold", false, &c->legal_hold);
}

enum err rest_blob_put_headers_parse(struct request *r, struct blob_put_call *c)
{
	TRY(rest_blob_target_write(r, &c->target));
	TRY(metadata_parse(r, &c->metadata));
	TRY(rest_blob_tags_header_parse(r, &c->tags));
	TRY(rest_blob_tier_parse(r, &c->tier));
	TRY(blob_hold_parse(r, c));
	c->content_id = rng_u64(r->rng);
	c->may_overwrite = auth_allows(&r->identity, 'w');
	return ERR_OK;
}

/* ---- answers ---- */

struct slice rest_blob_time_text(struct arena *arena, uint64_t ticks)
{
	char text[DATE_ISO_BYTES];
	date_format_iso(ticks, text);
	return arena_dup(arena, slice_make(text, sizeof text));
}

void rest_blob_put_etag(struct request *r, uint64_t etag, uint64_t modified_ticks)
{
	struct buf *b = &r->response.headers;
	char text[ETAG_BYTES];
	etag_format(etag, text);
	BUF_PUT(b, "ETag: ");
	/* Before 2011-08-18 it has no quotes. */
	if (r->version >= VERSION(2011, 8, 18))
		buf_put(b, slice_make(text, sizeof text));
	else
		buf_put(b, slice_make(text + 1, sizeof text - 2));
	BUF_PUT(b, "\r\nLast-Modified: ");
	date_put_rfc1123(b, modified_ticks);
	BUF_PUT(b, "\r\n");
}

void rest_blob_put_version(struct request *r, const struct blob *b)
{
	if (b->version_ticks && r->version >= VERSION(2019, 12, 12) && !blob_is_incremental(b))
		response_header(r, "x-ms-version-id", rest_blob_time_text(r->arena, b->version_ticks));
}

static void put_http(struct request *r, const struct blob_http *h, bool whole)
{
	const struct auth_identity *o = &r->identity;
	struct slice type = slice_is_set(o->override_content_type) ? o->override_content_type : h->content_type;
	/* Nobody said one: the default. Somebody took it away (Set Blob Properties): none. */
	if (!slice_is_set(type))
		type = SLICE("application/octet-stream");
	if (type.len)
		response_header(r, "Content-Type", type);
	response_header_or(r, "Content-Encoding", o->override_content_encoding, h->content_encoding);
	response_header_or(r, "Content-Language", o->override_content_language, h->content_language);
	response_header_or(r, "Cache-Control", o->override_cache_control, h->cache_control);
	response_header_or(r, "Content-Disposition", o->override_content_disposition, h->content_disposition);
	struct slice md5 = h->has_md5 ? slice_make(h->md5, sizeof h->md5) : h->odd_md5;
	if (slice_is_set(md5)) {
		char text[BASE64_BYTES(BLOB_ODD_MD5_MAX)];
		base64_encode_to(text, md5);
		response_header(r, whole ? "Content-MD5" : "x-ms-blob-content-md5",
				slice_make(text, BASE64_BYTES(md5.len)));
	}
}

static const char *const type_words[] = {
	[BLOB_BLOCK] = "BlockBlob", [BLOB_PAGE] = "PageBlob", [BLOB_APPEND] = "AppendBlob"
};
static const char *const copy_words[] = { [COPY_NONE] = "",
					  [COPY_PENDING] = "pending",
					  [COPY_SUCCESS] = "success",
					  [COPY_ABORTED] = "aborted",
					  [COPY_FAILED] = "failed" };

static void put_copy(struct request *r, const struct blob_copy *c)
{
	char id[UUID_TEXT_BYTES];
	if (c->status == COPY_NONE || r->version < VERSION(2012, 2, 12))
		return;
	uuid_format(&c->id, id);
	response_header(r, "x-ms-copy-id", slice_make(id, sizeof id));
	response_header(r, "x-ms-copy-source", c->source);
	response_header(r, "x-ms-copy-status", slice_str(copy_words[c->status]));
	if (slice_is_set(c->description))
		response_header(r, "x-ms-copy-status-description", c->description);
	buf_printf(&r->response.headers, "x-ms-copy-progress: %llu/%llu\r\n", (unsigned long long)c->copied_bytes,
		   (unsigned long long)c->total_bytes);
	if (c->completed_ticks)
		response_header_time(r, "x-ms-copy-completion-time", c->completed_ticks);
	if (c->incremental) {
		response_header(r, "x-ms-incremental-copy", SLICE("true"));
		if (c->incremental_snapshot)
			response_header(r, "x-ms-copy-destination-snapshot",
					rest_blob_time_text(r->arena, c->incremental_snapshot));
	}
}

static void put_tier(struct request *r, const struct blob *b)
{
	static const char *const rehydrate[] = { [REHYDRATE_TO_HOT] = "rehydrate-pending-to-hot",
						 [REHYDRATE_TO_COOL] = "rehydrate-pending-to-cool",
						 [REHYDRATE_TO_COLD] = "rehydrate-pending-to-cold" };
	if (b->type == BLOB_APPEND || (b->type == BLOB_PAGE && b->tier == TIER_NONE) ||
	    r->version < VERSION(2017, 4, 17))
		return;
	response_header(r, "x-ms-access-tier", slice_str(b->tier == TIER_NONE ? "Hot" : rest_blob_tier_word(b->tier)));
	if (b->tier == TIER_NONE)
		response_header(r, "x-ms-access-tier-inferred", SLICE("true"));
	else if (b->tier_changed_ticks)
		response_header_time(r, "x-ms-access-tier-change-time", b->tier_changed_ticks);
	if (b->rehydrate != REHYDRATE_NONE) {
		response_header(r, "x-ms-archive-status", slice_str(rehydrate[b->rehydrate]));
		response_header(r, "x-ms-rehydrate-priority", slice_str(rest_blob_rehydrate_priority_word(b)));
	}
}

static void put_holds(struct request *r, const struct blob *b)
{
	if (b->immutability != IMMUTABLE_NONE) {
		response_header_time(r, "x-ms-immutability-policy-until-date", b->immutable_until_ticks);
		response_header(r, "x-ms-immutability-policy-mode",
				b->immutability == IMMUTABLE_LOCKED ? SLICE("locked") : SLICE("unlocked"));
	}
	if (b->legal_hold || b->tells_legal_hold)
		response_header(r, "x-ms-legal-hold", b->legal_hold ? SLICE("true") : SLICE("false"));
}

void rest_blob_put_properties(struct request *r, const struct blob *b, uint64_t now, bool whole)
{
	rest_blob_put_etag(r, b->etag, b->modified_ticks);
	put_http(r, &b->http, whole);
	if (r->version >= VERSION(2011, 8, 18))
		response_header(r, "Accept-Ranges", SLICE("bytes"));
	response_header(r, "x-ms-blob-type", slice_str(type_words[b->type]));
	if (r->version >= VERSION(2017, 11, 9))
		response_header_time(r, "x-ms-creation-time", b->created_ticks);
	if (r->version >= VERSION(2015, 12, 11))
		response_header(r, "x-ms-server-encrypted", SLICE("true"));
	rest_blob_put_encryption(r, &b->encryption);
	/* Who asks for a version gets no lease, even if it is the current one. */
	if (!b->history_ticks && !(r->query.count && slice_is_set(request_param(r, "versionid"))))
		rest_lease_put_headers(r, &b->lease, now);
	metadata_put_headers(r, &b->metadata);
	put_copy(r, &b->copy);
	if (b->type == BLOB_PAGE)
		response_header_u64(r, "x-ms-blob-sequence-number", b->sequence_number);
	if (b->type == BLOB_APPEND)
		response_header_u64(r, "x-ms-blob-committed-block-count", b->block_count);
	if (b->sealed && r->version >= VERSION(2019, 12, 12))
		response_header(r, "x-ms-blob-sealed", SLICE("true"));
	if (r->head->method == HTTP_HEAD)
		put_tier(r, b);
	if (b->tags.count && r->version >= VERSION(2019, 12, 12))
		response_header_u64(r, "x-ms-tag-count", b->tags.count);
	rest_blob_put_version(r, b);
	if (b->version_ticks && !b->history_ticks && !blob_is_incremental(b) && r->version >= VERSION(2019, 12, 12))
		response_header(r, "x-ms-is-current-version", SLICE("true"));
	put_holds(r, b);
}
