/* SPDX-License-Identifier: Apache-2.0
 * Copy Blob, Copy Blob From URL, Put Blob From URL, Abort Copy Blob.
 *
 * Copy Blob answers "success" at once if the bytes can be shared or are few, else "pending" and a job goes on
 * (jobs/copy.h). The other two bring all bytes before they answer. */
#include "jobs/copy.h"
#include "jobs/copy_build.h"
#include "rest/blob/copy_source.h"
#include "rest/blob/encryption.h"
#include "rest/blob/tags.h"
#include "rest/common/conditional.h"
#include "rest/common/metadata.h"
#include "rest/core/server.h"
#include "svc/blob/state.h"
#include "wire/hash.h"
#include "wire/http/uri.h"

enum { COPY_AT_ONCE_BYTES = 4 * 1024 * 1024 };
#define SYNC_COPY_MAX_BYTES (256 * MIB)

enum copy_form { FORM_ASYNC, FORM_SYNC, FORM_PUT, FORM_INCREMENTAL };

struct copy_call {
	struct blob_copy_call copy; /* first: the apply gets this */
	struct copy_source source;
	const struct blob_get_call *found;
	enum copy_form form;
	struct slice partition;
	bool own_metadata;   /* given with the request: instead of the source's */
	bool own_md5;	     /* likewise */
	bool copy_tags;	     /* x-ms-copy-source-tag-option: COPY */
	bool has_seal, seal; /* x-ms-seal-blob: instead of the source's */
	bool source_properties;
	bool with_blocks;   /* the block list comes along */
	bool high_priority; /* x-ms-rehydrate-priority */
};

/* ---- what the destination takes from the source ---- */

static enum err dup_pairs(struct arena *arena, const struct pairs *from, struct pairs *to)
{
	struct pairs p = { NULL, 0 };
	if (from->count) {
		p.pair = ARENA_NEW_ARRAY(arena, struct pair, from->count);
		if (!p.pair)
			return ERR_NO_MEMORY;
		memcpy(p.pair, from->pair, from->count * sizeof *p.pair);
		p.count = from->count;
	}
	*to = p;
	return ERR_OK;
}

static void inherit(struct slice *own, struct slice source)
{
	if (!slice_is_set(*own))
		*own = source;
}

static void inherit_http(struct blob_http *own, const struct blob_http *source, bool with_md5)
{
	inherit(&own->content_type, source->content_type);
	inherit(&own->content_encoding, source->content_encoding);
	inherit(&own->content_language, source->content_language);
	inherit(&own->content_disposition, source->content_disposition);
	inherit(&own->cache_control, source->cache_control);
	if (!own->has_md5 && with_md5 && source->has_md5) {
		own->has_md5 = true;
		memcpy(own->md5, source->md5, sizeof own->md5);
	}
}

static enum err take_from_source(struct request *r, struct copy_call *c)
{
	const struct blob *source = &c->found->blob;
	struct blob_put_call *p = &c->copy.put;
	p->type = c->form == FORM_PUT ? BLOB_BLOCK : source->type;
	if (c->source_properties)
		inherit_http(&p->http, &source->http, true);
	if (!c->own_metadata)
		TRY(dup_pairs(r->arena, &source->metadata, &p->metadata));
	if (c->copy_tags) {
		if (rest_blob_tags_permission(c->source.part) != ERR_OK)
			return ERR_COPY_SOURCE_FORBIDDEN;
		TRY(dup_pairs(r->arena, &source->tags, &p->tags));
	}
	p->page_length_bytes = source->length_bytes;
	p->sequence_number = source->sequence_number;
	if (c->seal && source->type != BLOB_APPEND)
		return ERR_INVALID_BLOB_TYPE;
	c->copy.sealed = c->has_seal ? c->seal : source->sealed && c->form == FORM_ASYNC;
	c->copy.copy.total_bytes = c->found->length;
	return ERR_OK;
}

/* ---- the ways a copy goes ---- */

static void take_md5(struct request *r, struct copy_call *c)
{
	/* Put Blob From URL is a Put Blob: what the source says of its bytes does not count, what the request says
	 * does. */
	if (c->own_md5 || (c->form != FORM_PUT && c->copy.put.http.has_md5) || c->copy.put.type == BLOB_APPEND)
		return;
	c->copy.put.http.has_md5 = true;
	memcpy(c->copy.put.http.md5, r->body_md5, sizeof r->body_md5);
}

static enum err fetch(struct request *r)
{
	struct copy_call *c = r->call;
	bool only_extents = c->copy.put.type != BLOB_BLOCK;
	TRY(rest_blob_copy_source_fetch(r, &c->source, c->found, only_extents));
	c->copy.put.payload = &r->payload;
	take_md5(r, c);
	return ERR_OK;
}

static enum err build_blocks(struct request *r, struct copy_call *c)
{
	struct copy_build build = { .store = r->server->store,
				    .partition = c->partition,
				    .kind = BUILD_MANIFEST,
				    .built = { .content_id = c->copy.put.content_id } };
	struct hash_md5 md5;
	uint64_t crc64 = 0;
	size_t next = 0;
	hash_md5_init(&md5);
	enum err e = copy_build_init(&build);
	while (e == ERR_OK && next < c->found->blocks.count) {
		struct slice bytes;
		e = copy_build_step(&build, &c->found->blocks, &next, &bytes);
		if (e == ERR_OK) {
			hash_md5_update(&md5, bytes);
			crc64 = hash_crc64(crc64, bytes);
		}
	}
	if (e == ERR_OK)
		e = copy_build_flush(&build);
	copy_build_fini(&build);
	hash_md5_final(&md5, r->body_md5);
	r->body_crc64 = crc64;
	c->copy.built = build.built;
	return e;
}

/* On a worker: the source's blocks become blocks of the destination. What the last commit then refuses is given back in
 * the background. */
static enum err fetch_blocks(struct request *r)
{
	struct copy_call *c = r->call;
	enum err e = build_blocks(r, c);
	if (e == ERR_OK)
		e = rest_blob_copy_source_check(r, &c->source);
	if (e != ERR_OK) {
		copy_build_drop(r->server->store, c->partition, c->copy.put.content_id);
		return e;
	}
	take_md5(r, c);
	return ERR_OK;
}

static void give_up_job(void *job)
{
	copy_job_give_up(job);
}

static enum err prepare_job(struct request *r, const struct copy_call *c)
{
	bool append = c->copy.put.type == BLOB_APPEND;
	struct copy_job_spec spec = { .owner = r->account_index,
				      .partition = c->partition,
				      .name = r->object,
				      .id = c->copy.copy.id,
				      .type = c->copy.put.type,
				      .content_id = rng_u64(r->rng),
				      .total_bytes = c->found->length,
				      .piece = c->found->piece,
				      .piece_count = append ? 0 : c->found->piece_count,
				      .blocks = c->with_blocks ? &c->found->blocks : NULL,
				      .source_content_id = c->found->blob.content.id };
	if (append || c->found->too_many)
		TRY(rest_blob_find(c->source.part, &spec.source_partition));
	if (c->found->too_many) {
		spec.source = (struct blob_target){ .name = c->found->target.name,
						    .snapshot_ticks = c->found->target.snapshot_ticks,
						    .version_ticks = c->found->target.version_ticks };
		spec.source_etag = c->found->blob.etag;
	}
	struct copy_job *job;
	TRY(copy_job_prepare(r->server->service_state[SERVICE_BLOB], &spec, &c->source.part->response.pin, &job));
	r->held = job;
	r->release_held = give_up_job;
	return ERR_OK;
}

static enum err start_job(struct request *r)
{
	struct copy_job *job = r->held;
	r->held = NULL;
	copy_job_go(job);
	return ERR_OK;
}

/* A block blob of the very container cannot change under its content id: the destination shares it, unless its bytes
 * are to be compared with a hash. */
static bool can_share(const struct request *r, const struct copy_call *c)
{
	const struct request *part = c->source.part;
	const struct blob *source = &c->found->blob;
	/* The two that answer with the hash of all bytes go through them. */
	bool hashed = c->form == FORM_SYNC;
	return c->form != FORM_PUT && !c->source.has_range && !hashed && source->type == BLOB_BLOCK &&
	       source->content.kind != CONTENT_EMPTY && source->content.kind != CONTENT_INLINE &&
	       slice_eq(part->account, r->account) && slice_eq(part->container, r->container);
}

/* The bytes that were read come along: at once, or by a job. */
static enum err bring_bytes(struct request *r, struct copy_call *c)
{
	uint64_t length = c->found->length;
	/* Before 2012-02-12 a copy was done when it was answered; only pages still need the job. */
	bool at_once = length <= COPY_AT_ONCE_BYTES || r->version < VERSION(2012, 2, 12);
	bool later =
		(c->form == FORM_ASYNC || c->form == FORM_INCREMENTAL) && (!at_once || c->copy.put.type == BLOB_PAGE);
	c->copy.copy.copied_bytes = later ? 0 : length;
	c->with_blocks = c->form != FORM_PUT && c->copy.put.type == BLOB_BLOCK && c->found->blocks.count;
	if (later) {
		TRY(prepare_job(r, c));
		c->copy.copy.status = COPY_PENDING;
		request_step_write(r, c->partition, blob_apply_copy);
		request_step_call(r, start_job);
		return ERR_OK;
	}
	/* Blocks are committed before the blob is: not for a destination that is going to refuse them. */
	if (c->with_blocks)
		TRY(store_read(r->server->store, c->partition, blob_apply_copy, &c->copy, r->arena));
	request_step_work(r, c->with_blocks ? fetch_blocks : fetch);
	request_step_write(r, c->partition, blob_apply_copy);
	return ERR_OK;
}

/* Somebody wrote to the source between the read and the commit: what was read is still there to copy, if not to share.
 */
static enum err after_share(struct request *r)
{
	struct copy_call *c = r->call;
	if (c->copy.source_changed) {
		c->copy.source = (struct blob_target){ .name = SLICE_NONE };
		return bring_bytes(r, c);
	}
	return ERR_OK;
}

/* The blob remembers which state of the source it was. The same one is always written the same way, so that the times
 * of incremental copies compare. */
static enum err name_source_state(struct request *r, struct copy_call *c)
{
	const struct blob_target *t = &c->found->target;
	uint64_t ticks = t->snapshot_ticks ? t->snapshot_ticks : t->version_ticks;
	if (!ticks || c->form == FORM_PUT)
		return ERR_OK;
	struct slice shown = c->copy.copy.source;
	bool has_query = slice_find_byte(shown, '?') < shown.len;
	c->copy.copy.source = arena_printf(r->arena, "%.*s%s%s=%.*s", SLICE_FMT(shown), has_query ? "&" : "?",
					   t->snapshot_ticks ? "snapshot" : "versionid",
					   SLICE_FMT(rest_blob_time_text(r->arena, ticks)));
	return slice_is_set(c->copy.copy.source) ? ERR_OK : ERR_NO_MEMORY;
}

/* A tier that the blob can have. Out of the archive a copy comes as a blob does, some time later; into it a copy of an
 * archived blob does not go. */
static enum err check_tier(struct request *r, struct copy_call *c)
{
	struct blob_put_call *p = &c->copy.put;
	if (p->type == BLOB_BLOCK && p->tier >= TIER_PREMIUM_FIRST)
		return fault_header(r, ERR_INVALID_HEADER_VALUE, "x-ms-access-tier",
				    request_header(r, "x-ms-access-tier"));
	TRY(blob_check_tier(p->type, p->tier));
	enum err e = blob_check_online(&c->found->blob);
	if (e == ERR_OK)
		return ERR_OK;
	if (e != ERR_BLOB_ARCHIVED || c->form != FORM_ASYNC || p->tier == TIER_ARCHIVE)
		return e;
	p->rehydrate = blob_rehydrate_to(p->tier);
	p->rehydrate_high = c->high_priority;
	p->tier = TIER_ARCHIVE;
	return ERR_OK;
}

static enum err decide(struct request *r)
{
	struct copy_call *c = r->call;
	TRY(rest_blob_copy_source_result(r, &c->source, &c->found));
	TRY(take_from_source(r, c));
	TRY(name_source_state(r, c));
	TRY(check_tier(r, c));
	uint64_t length = c->found->length;
	if (c->form == FORM_SYNC && c->found->blob.type != BLOB_BLOCK)
		return ERR_INVALID_BLOB_TYPE;
	if (c->form == FORM_INCREMENTAL) {
		if (c->found->blob.type != BLOB_PAGE)
			return ERR_INVALID_SOURCE_BLOB_TYPE;
		if (!c->found->target.snapshot_ticks)
			return ERR_INCREMENTAL_COPY_SOURCE_MUST_BE_SNAPSHOT;
		c->copy.copy.incremental = c->copy.incremental = true;
	}
	if (c->form == FORM_SYNC && length > SYNC_COPY_MAX_BYTES)
		return ERR_COPY_SOURCE_TOO_LARGE;
	if (c->form == FORM_PUT && length > COPY_PIECES_MAX_BYTES) {
		r->fault.message = SLICE("The copy source is longer than 5000 MiB.");
		return ERR_COPY_SOURCE_TOO_LARGE;
	}
	if (!can_share(r, c))
		return bring_bytes(r, c);
	const struct blob_get_call *g = c->found;
	c->copy.source = (struct blob_target){ .name = g->target.name,
					       .snapshot_ticks = g->target.snapshot_ticks,
					       .version_ticks = g->target.version_ticks };
	c->copy.source_etag = g->blob.etag;
	c->copy.copy.copied_bytes = length;
	request_step_write(r, c->partition, blob_apply_copy);
	request_step_call(r, after_share);
	return ERR_OK;
}

static enum err start_source(struct request *r)
{
	return rest_blob_copy_source_start(r, &((struct copy_call *)r->call)->source);
}

/* ---- heads ---- */

static enum err parse_tag_option(struct request *r, struct copy_call *c)
{
	struct slice v = request_header(r, "x-ms-copy-source-tag-option");
	if (!slice_is_set(v))
		return ERR_OK;
	c->copy_tags = slice_eq_nocase(v, SLICE("COPY"));
	if (!c->copy_tags && !slice_eq_nocase(v, SLICE("REPLACE")))
		return fault_header(r, ERR_INVALID_HEADER_VALUE, "x-ms-copy-source-tag-option", v);
	if (c->copy_tags)
		TRY(rest_blob_tags_permission(r));
	return c->copy_tags && c->copy.put.tags.count ? ERR_BOTH_USER_TAGS_AND_SOURCE_TAGS_COPY_PRESENT_EXCEPTION
						      : ERR_OK;
}

/* Of Copy Blob alone. */
static enum err parse_seal(struct request *r, struct copy_call *c)
{
	c->has_seal = slice_is_set(request_header(r, "x-ms-seal-blob")) && c->form == FORM_ASYNC;
	return c->has_seal ? rest_blob_flag_parse(r, "x-ms-seal-blob", false, &c->seal) : ERR_OK;
}

static bool is_left_out(struct slice field)
{
	struct slice name = slice_first(field, slice_find_byte(field, '='));
	return slice_eq_nocase(name, SLICE("sig")) || slice_eq_nocase(name, SLICE("snapshot")) ||
	       slice_eq_nocase(name, SLICE("versionid"));
}

/* Where a copy says it came from: the URL as it was given, escaped, with the fields of its SAS but the signature, which
 * is a secret. The state of the source follows later, in one form (name_source_state); incremental copies compare by it
 * and have nothing else behind the path. */
static enum err shown_source(struct request *r, struct slice url, bool path_only, struct slice *ret)
{
	struct buf b;
	struct slice rest = slice_from(url, slice_find_byte(url, '?') + 1);
	bool first = true;
	buf_init(&b, 16 * KIB);
	uri_escape(&b, slice_first(url, slice_find_byte(url, '?')));
	while (!path_only && rest.len) {
		struct slice field = slice_cut(&rest, '&');
		if (is_left_out(field))
			continue;
		buf_put_byte(&b, first ? '?' : '&');
		uri_escape(&b, field);
		first = false;
	}
	*ret = buf_ok(&b) ? arena_dup(r->arena, buf_slice(&b)) : SLICE_NONE;
	buf_fini(&b);
	return slice_is_set(*ret) ? ERR_OK : ERR_NO_MEMORY;
}

/* Only a copy that brings all bytes before it answers can encrypt them under a key that is never kept. */
static enum encryption_use encryption_use(enum copy_form form)
{
	return form == FORM_PUT ? ENCRYPTION_CREATE : form == FORM_SYNC ? ENCRYPTION_SCOPE : ENCRYPTION_REFUSED;
}

static enum err parse_copy(struct request *r, enum copy_form form)
{
	struct copy_call *c = ARENA_NEW(r->arena, struct copy_call);
	if (!c)
		return ERR_NO_MEMORY;
	r->call = c;
	c->form = form;
	TRY(rest_blob_copy_source_parse(r, form == FORM_ASYNC || form == FORM_INCREMENTAL, false, &c->source));
	TRY(rest_blob_put_headers_parse(r, &c->copy.put));
	TRY(rest_blob_encryption_parse(r, encryption_use(form), &c->copy.put.target));
	TRY(rest_blob_http_parse(r, false, &c->copy.put.http));
	TRY(parse_tag_option(r, c));
	TRY(parse_seal(r, c));
	TRY(rest_blob_rehydrate_priority_parse(r, &c->high_priority));
	c->source_properties = true;
	if (form == FORM_PUT)
		TRY(rest_blob_flag_parse(r, "x-ms-copy-source-blob-properties", true, &c->source_properties));
	TRY(rest_blob_encryption_find(r, ENCRYPTION_CREATE, &c->copy.put.target, &c->partition));
	c->own_metadata = c->copy.put.metadata.count != 0;
	c->own_md5 = c->copy.put.http.has_md5;
	c->copy.infinite_lease_only = form == FORM_ASYNC;
	/* Where the service names the destination's condition apart from the source's. */
	c->copy.unmet_error = form == FORM_ASYNC || conditional_match_is_foreign(r, "If-Match")
				      ? ERR_TARGET_CONDITION_NOT_MET
				      : ERR_CONDITION_NOT_MET;
	if (form != FORM_PUT) {
		c->copy.copy.status = COPY_SUCCESS;
		c->copy.copy.id = rng_uuid(r->rng);
		TRY(shown_source(r, c->source.url, form == FORM_INCREMENTAL, &c->copy.copy.source));
	}
	request_step_call(r, start_source);
	request_step_call(r, decide);
	return ERR_OK;
}

static enum err parse_async(struct request *r)
{
	return parse_copy(r, FORM_ASYNC);
}

static enum err parse_incremental(struct request *r)
{
	return parse_copy(r, FORM_INCREMENTAL);
}

static enum err parse_sync(struct request *r)
{
	struct slice v = request_header(r, "x-ms-requires-sync");
	if (!slice_eq_nocase(v, SLICE("true")))
		return fault_header(r, ERR_INVALID_HEADER_VALUE, "x-ms-requires-sync", v);
	return parse_copy(r, FORM_SYNC);
}

static enum err parse_put(struct request *r)
{
	struct slice type = request_header(r, "x-ms-blob-type");
	if (!slice_eq_nocase(type, SLICE("BlockBlob")))
		return fault_header(r, ERR_INVALID_HEADER_VALUE, "x-ms-blob-type", type);
	if (r->head->chunked || (r->head->has_content_length && r->head->content_length))
		return fault_header(r, ERR_INVALID_HEADER_VALUE, "Content-Length", request_header(r, "Content-Length"));
	return parse_copy(r, FORM_PUT);
}

static enum err format_copy(struct request *r)
{
	struct copy_call *c = r->call;
	const struct blob *b = &c->copy.put.blob;
	char id[UUID_TEXT_BYTES];
	bool old = r->version < VERSION(2012, 2, 12) && b->copy.status != COPY_PENDING;
	r->response.status = c->form == FORM_PUT || old ? 201 : 202;
	rest_blob_put_etag(r, b->etag, b->modified_ticks);
	rest_blob_put_version(r, b);
	if (c->form == FORM_PUT || c->form == FORM_SYNC)
		body_checks_put_headers(r, c->source.has_md5, true);
	if (c->form == FORM_PUT || (c->form == FORM_SYNC && r->version >= VERSION(2021, 12, 2)))
		rest_blob_put_encrypted(r, &b->encryption);
	if (c->form == FORM_PUT || r->version < VERSION(2012, 2, 12))
		return ERR_OK;
	uuid_format(&c->copy.copy.id, id);
	response_header(r, "x-ms-copy-id", slice_make(id, sizeof id));
	response_header(r, "x-ms-copy-status", b->copy.status == COPY_PENDING ? SLICE("pending") : SLICE("success"));
	return ERR_OK;
}

/* ---- Abort Copy Blob ---- */

static enum err parse_abort(struct request *r)
{
	struct slice partition, action = request_header(r, "x-ms-copy-action"), id = request_param(r, "copyid");
	struct blob_abort_copy_call *c = ARENA_NEW(r->arena, struct blob_abort_copy_call);
	if (!c)
		return ERR_NO_MEMORY;
	r->call = c;
	if (!slice_is_set(action))
		return fault_header(r, ERR_MISSING_REQUIRED_HEADER, "x-ms-copy-action", SLICE_NONE);
	if (!slice_eq_nocase(action, SLICE("abort")))
		return fault_header(r, ERR_INVALID_HEADER_VALUE, "x-ms-copy-action", action);
	if (!slice_is_set(id))
		return fault_query(r, ERR_MISSING_REQUIRED_QUERY_PARAMETER, "copyid", SLICE_NONE, NULL);
	if (!uuid_parse(id, &c->id))
		return fault_query(r, ERR_INVALID_QUERY_PARAMETER_VALUE, "copyid", id, NULL);
	TRY(rest_blob_target_plain(r, &c->target));
	TRY(rest_blob_find(r, &partition));
	c->content_id = rng_u64(r->rng);
	request_step_write(r, partition, blob_apply_abort_copy);
	return ERR_OK;
}

static enum err format_abort(struct request *r)
{
	r->response.status = 204;
	return ERR_OK;
}

const struct handler handler_blob_copy = { .parse = parse_async, .format = format_copy };
const struct handler handler_blob_incremental_copy = { .parse = parse_incremental, .format = format_copy };
const struct handler handler_blob_copy_sync = { .parse = parse_sync, .format = format_copy };
const struct handler handler_blob_put_from_url = { .parse = parse_put, .format = format_copy };
const struct handler handler_blob_abort_copy = { .parse = parse_abort, .format = format_abort };
