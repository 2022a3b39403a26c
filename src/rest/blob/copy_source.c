/* SPDX-License-Identifier: Apache-2.0
 * From the URL of a source to its pieces, and from these into a payload. */
#include "rest/blob/copy_source.h"

#include "rest/blob/encryption.h"
#include "rest/blob/ops.h"
#include "rest/blob/tags.h"
#include "rest/common/conditional.h"
#include "rest/common/copy_url.h"
#include "rest/common/metadata.h"
#include "rest/core/conn/driver.h"
#include "rest/core/server.h"
#include "wire/base64.h"
#include "wire/hash.h"
#include "wire/http/range.h"

enum { COPY_URL_MAX_BYTES = 2 * 1024, COPY_HEADERS_MAX = 12 };

/* ---- head ---- */

/* A read ignores a range that it does not know; a write must not bring the whole source instead of it. */
static bool is_plain_range(struct slice text)
{
	enum range_kind kind = range_parse(text).kind;
	return kind == RANGE_OPEN || kind == RANGE_CLOSED;
}

/* What the source will judge must be well-formed before anything is looked up. */
static enum err check_conditions(struct request *r, struct copy_source *s)
{
	struct conditions c;
	struct uuid unused_lease;
	const struct tag_filter *unused_tags;
	bool has_lease;
	TRY(conditional_parse_source(r, &c));
	TRY(rest_lease_id_parse(r, "x-ms-source-lease-id", &has_lease, &unused_lease));
	TRY(rest_blob_parse_if_tags(r, "x-ms-source-if-tags", &unused_tags));
	/* Beside it the time alone decides: one of the two has to hold. */
	s->none_at_all = c.none_match.any && !c.has_modified_since && r->version >= VERSION(2016, 5, 31);
	return ERR_OK;
}

/* Before 2012-02-12 a source could be named as /account/container/blob: it is a URL of this server then. */
static enum err old_form(struct request *r, struct slice *url)
{
	if (r->version >= VERSION(2012, 2, 12) || url->len == 0 || url->ptr[0] != '/')
		return ERR_OK;
	struct slice path = slice_from(*url, 1), account = slice_cut(&path, '/');
	if (!slice_is_set(path))
		return ERR_OK;
	if (!r->path_style && !slice_eq(account, r->account))
		return ERR_COPY_SOURCE_FORBIDDEN;
	struct slice shown = r->path_style ? slice_from(*url, 1) : path;
	*url = arena_printf(r->arena, "http://%.*s/%.*s", SLICE_FMT(r->head->host), SLICE_FMT(shown));
	return slice_is_set(*url) ? ERR_OK : ERR_NO_MEMORY;
}

enum err rest_blob_copy_source_parse(struct request *r, bool asynchronous, bool takes_range, struct copy_source *ret)
{
	struct copy_source s = { .url = request_header(r, "x-ms-copy-source"), .asynchronous = asynchronous };
	struct slice md5 = request_header(r, "x-ms-source-content-md5"),
		     crc = request_header(r, "x-ms-source-content-crc64");
	TRY(old_form(r, &s.url));
	struct slice authority = rest_source_url_authority(s.url);
	if (!slice_is_set(s.url))
		return fault_header(r, ERR_MISSING_REQUIRED_HEADER, "x-ms-copy-source", SLICE_NONE);
	if (s.url.len > COPY_URL_MAX_BYTES || !slice_is_set(authority) || authority.len == 0)
		return fault_header(r, ERR_INVALID_HEADER_VALUE, "x-ms-copy-source", SLICE_NONE);
	enum service service;
	if (!rest_source_url_service(r, s.url, &service) || (service != SERVICE_BLOB && service != SERVICE_FILE)) {
		r->fault.message = SLICE("The copy source is not on this server, and other servers are not asked.");
		return ERR_COPY_SOURCE_FORBIDDEN; /* for good: nobody need try again */
	}
	s.is_file = service == SERVICE_FILE;
	struct slice range = request_header(r, "x-ms-source-range");
	s.has_range = takes_range && slice_is_set(range);
	if (s.has_range && !is_plain_range(range))
		return fault_header(r, ERR_INVALID_HEADER_VALUE, "x-ms-source-range", range);
	s.has_md5 = slice_is_set(md5) && md5.len;
	s.has_crc64 = slice_is_set(crc) && crc.len;
	if (s.has_md5 && s.has_crc64)
		return ERR_BOTH_CRC64_AND_MD5_HEADER_PRESENT;
	if (s.has_md5 && !base64_decode_exact(md5, s.md5, sizeof s.md5))
		return ERR_INVALID_MD5;
	if (s.has_crc64 && !hash_crc64_parse(crc, &s.crc64))
		return fault_header(r, ERR_INVALID_HEADER_VALUE, "x-ms-source-content-crc64", crc);
	TRY(check_conditions(r, &s));
	*ret = s;
	return ERR_OK;
}

static bool only_get(const struct op *op)
{
	return op->id == OP_BLOB_GET;
}

/* ---- the part that reads the source: authorised as a Get Blob, answered to nobody ---- */

struct source_call {
	struct blob_get_call get; /* first: the apply gets this */
	struct slice partition;
};

static enum err source_read(struct request *part)
{
	struct source_call *c = part->call;
	return rest_blob_read(part, c->partition, &c->get);
}

static enum err source_parse(struct request *part)
{
	struct source_call *c = ARENA_NEW(part->arena, struct source_call);
	if (!c)
		return ERR_NO_MEMORY;
	part->call = c;
	TRY(rest_blob_target_read(part, &c->get.target));
	TRY(rest_blob_encryption_parse_source(part, &c->get.target));
	TRY(rest_blob_encryption_find(part, ENCRYPTION_READ, &c->get.target, &c->partition));
	c->get.want_bytes = c->get.for_copy = true;
	c->get.archived_too = slice_is_set(request_header(part->parent, "x-ms-access-tier"));
	struct range range = range_parse(request_header(part, "x-ms-range"));
	if (range.kind == RANGE_OPEN || range.kind == RANGE_CLOSED) {
		c->get.has_range = true;
		c->get.range_first = range.first;
		c->get.range_last = range.last;
	}
	request_pin(part);
	request_step_call(part, source_read);
	return ERR_OK;
}

static enum err source_format(struct request *part)
{
	part->response.status = 200;
	return ERR_OK;
}

static const struct handler source_handler = { .parse = source_parse, .format = source_format };

enum err rest_blob_copy_source_start(struct request *r, struct copy_source *s)
{
	static const struct {
		const char *from, *to;
	} names[] = { { "x-ms-source-if-match", "If-Match" },
		      { "x-ms-source-if-none-match", "If-None-Match" },
		      { "x-ms-source-if-modified-since", "If-Modified-Since" },
		      { "x-ms-source-if-unmodified-since", "If-Unmodified-Since" },
		      { "x-ms-source-if-tags", "x-ms-if-tags" },
		      { "x-ms-source-lease-id", "x-ms-lease-id" },
		      { "x-ms-copy-source-authorization", "Authorization" },
		      { "x-ms-source-range", "x-ms-range" } };
	struct http_header *h = ARENA_NEW_ARRAY(r->arena, struct http_header, COPY_HEADERS_MAX);
	size_t count = 0;
	struct slice target;
	if (!h)
		return ERR_NO_MEMORY;
	TRY(rest_source_url_target(r, s->url, &target));
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		struct slice v = request_header(r, names[i].from);
		bool left_out = (!s->has_range && strcmp(names[i].to, "x-ms-range") == 0) ||
				(slice_eq(v, SLICE("*")) && strcmp(names[i].to, "If-None-Match") == 0);
		if (slice_is_set(v) && !left_out)
			h[count++] = (struct http_header){ slice_str(names[i].to), v };
	}
	h[count++] = (struct http_header){ SLICE("x-ms-version"), r->version_text };
	bool owner = r->identity.kind == AUTH_SHARED_KEY || r->identity.kind == AUTH_BEARER;
	struct child_part part = { .method = SLICE("GET"),
				   .target = target,
				   .headers = h,
				   .header_count = count,
				   .allowed = only_get,
				   .handler = &source_handler };
	if (s->is_file) {
		part.other_service = true;
		part.service = SERVICE_FILE;
		part.allowed = rest_source_is_get;
		part.handler = NULL;
	}
	/* Copy Blob within the account goes by the right of who asks. Everything that brings the bytes before it
	 * answers needs a source that opens itself, as the service has it. */
	if (s->asynchronous && owner && !rest_source_url_has_signature(s->url))
		part.trusted = &r->identity;
	s->part = request_run_child(r, &part);
	return s->part ? ERR_OK : ERR_NO_MEMORY;
}

static bool is_condition_failure(enum err e)
{
	return e == ERR_CONDITION_NOT_MET || e == ERR_NOT_MODIFIED;
}

static void take_http(const struct request *part, struct blob_http *h)
{
	h->content_type = request_child_header(part, "Content-Type");
	h->content_encoding = request_child_header(part, "Content-Encoding");
	h->content_language = request_child_header(part, "Content-Language");
	h->content_disposition = request_child_header(part, "Content-Disposition");
	h->cache_control = request_child_header(part, "Cache-Control");
}

/* A file as a block blob that was read: its headers and where its bytes lie, both from the answer of its service. */
static enum err found_in_file(struct request *r, const struct request *part, const struct blob_get_call **ret)
{
	const struct response *answer = &part->response;
	size_t count = answer->spans ? answer->span_count : 1;
	struct blob_get_call *g = ARENA_NEW(r->arena, struct blob_get_call);
	struct blob_piece *piece = ARENA_NEW_ARRAY(r->arena, struct blob_piece, count ? count : 1);
	if (!g || !piece)
		return ERR_NO_MEMORY;
	g->blob.type = BLOB_BLOCK;
	g->blob.length_bytes = g->length = request_child_length(part);
	take_http(part, &g->blob.http);
	TRY(metadata_from_answer(r->arena, part, &g->blob.metadata));
	g->piece = piece;
	if (!answer->spans && g->length) {
		piece[0] = (struct blob_piece){ .bytes = request_child_bytes(part), .length_bytes = g->length };
		g->piece_count = 1;
	}
	for (size_t i = 0; answer->spans && i < count; i++)
		piece[g->piece_count++] = (struct blob_piece){ .bytes = answer->spans[i].bytes,
							       .extent = answer->spans[i].extent,
							       .offset = answer->spans[i].offset,
							       .length_bytes = answer->spans[i].length };
	*ret = g;
	return ERR_OK;
}

static bool is_bad_token(const struct request *r, enum err e)
{
	return slice_is_set(request_header(r, "x-ms-copy-source-authorization")) &&
	       (e == ERR_AUTHENTICATION_FAILED || e == ERR_INVALID_AUTHENTICATION_INFO ||
		e == ERR_INVALID_BEARER_TOKEN);
}

/* What the copy answers when its source answers so. */
static enum err source_error(struct request *r, const struct copy_source *s, enum err e)
{
	/* Copy Blob tells of tags and of a source that is not there as the source itself does. */
	const struct source_call *c = s->is_file ? NULL : s->part->call;
	if (s->asynchronous && e == ERR_CONDITION_NOT_MET && c && c->get.tags_unmet)
		return ERR_CONDITION_NOT_MET;
	if (s->asynchronous && is_condition_failure(e))
		return ERR_SOURCE_CONDITION_NOT_MET;
	if (s->asynchronous && (e == ERR_BLOB_NOT_FOUND || e == ERR_CONTAINER_NOT_FOUND))
		return e;
	if (is_condition_failure(e) && !s->into_content && conditional_match_is_foreign(r, "x-ms-source-if-match"))
		return ERR_SOURCE_CONDITION_NOT_MET;
	rest_source_tell_answer(r, e);
	if (is_bad_token(r, e))
		return ERR_COPY_SOURCE_INVALID;
	switch (err_info(e)->http_status) {
	case 304:
		return ERR_COPY_SOURCE_NOT_MODIFIED;
	case 412:
		return ERR_COPY_SOURCE_CONDITION_NOT_MET;
	case 401:
		return ERR_COPY_SOURCE_UNAUTHENTICATED;
	case 403:
		return ERR_COPY_SOURCE_FORBIDDEN;
	case 404:
		r->fault.message = slice_str(err_info(e)->text);
		return ERR_COPY_SOURCE_NOT_FOUND;
	case 400:
		r->fault.message = slice_str(err_info(e)->text);
		return ERR_COPY_SOURCE_INVALID;
	case 409:
		return e;
	case 416:
		return ERR_INVALID_RANGE;
	default:
		return ERR_CANNOT_VERIFY_COPY_SOURCE;
	}
}

enum err rest_blob_copy_source_result(struct request *r, const struct copy_source *s, const struct blob_get_call **ret)
{
	enum err e = request_child_error(s->part);
	if (e == ERR_OK && s->none_at_all)
		e = ERR_NOT_MODIFIED;
	if (e == ERR_OK && s->is_file)
		return found_in_file(r, s->part, ret);
	if (e == ERR_OK) {
		const struct blob_get_call *found = &((const struct source_call *)s->part->call)->get;
		/* Only a job goes through a source in pieces of its own. */
		if (found->too_many && !s->asynchronous) {
			r->fault.message = SLICE("The copy source lies in more pieces than one request brings.");
			return ERR_COPY_SOURCE_TOO_LARGE;
		}
		*ret = found;
		return ERR_OK;
	}
	return source_error(r, s, e);
}

/* ---- bytes ---- */

static enum err read_pieces(void *reader, char *dst, size_t cap, size_t *ret)
{
	return blob_piece_read(reader, dst, cap, ret);
}

enum err rest_blob_copy_source_check(struct request *r, const struct copy_source *s)
{
	if (s->has_md5 && memcmp(s->md5, r->body_md5, sizeof s->md5) != 0)
		return ERR_MD5_MISMATCH;
	return s->has_crc64 && s->crc64 != r->body_crc64 ? ERR_CRC64_MISMATCH : ERR_OK;
}

enum err rest_blob_copy_source_fetch(struct request *r, const struct copy_source *s, const struct blob_get_call *g,
				     bool only_extents)
{
	struct payload_writer *w;
	struct blob_piece_reader reader = { .store = r->server->store,
					    .cipher = rest_blob_encryption_cipher(s->part, &g->blob),
					    .piece = g->piece,
					    .count = g->piece_count };
	TRY(payload_writer_new(r->server->store, g->length, &w));
	if (only_extents)
		payload_writer_only_extents(w);
	if (r->cipher)
		payload_writer_encrypt(w, r->cipher);
	TRY(rest_source_fetch(r, w, read_pieces, &reader));
	return rest_blob_copy_source_check(r, s);
}
