/* SPDX-License-Identifier: Apache-2.0
 * From the URL of a source to its bytes. */
#include "rest/file/copy/source.h"

#include "rest/common/copy_url.h"
#include "rest/core/conn/driver.h"
#include "rest/core/server.h"

enum { SOURCE_URL_MAX_BYTES = 8 * 1024, SOURCE_HEADERS_MAX = 6 };

enum err rest_file_source_parse(struct request *r, struct file_source *ret)
{
	struct file_source s = { .url = request_header(r, "x-ms-copy-source") };
	struct slice authority = rest_source_url_authority(s.url);
	if (!slice_is_set(s.url))
		return fault_header(r, ERR_MISSING_REQUIRED_HEADER, "x-ms-copy-source", SLICE_NONE);
	if (s.url.len > SOURCE_URL_MAX_BYTES || !slice_is_set(authority) || !authority.len)
		return fault_header(r, ERR_INVALID_HEADER_VALUE, "x-ms-copy-source", SLICE_NONE);
	if (!rest_source_url_service(r, s.url, &s.service) ||
	    (s.service != SERVICE_FILE && s.service != SERVICE_BLOB)) {
		r->fault.message = SLICE("The copy source is not on this server, and other servers are not asked.");
		return ERR_COPY_SOURCE_FORBIDDEN; /* for good: nobody need try again */
	}
	*ret = s;
	return ERR_OK;
}

enum err rest_file_source_start(struct request *r, struct file_source *s)
{
	struct http_header *h = ARENA_NEW_ARRAY(r->arena, struct http_header, SOURCE_HEADERS_MAX);
	struct slice authorization = request_header(r, "x-ms-copy-source-authorization"),
		     dots = request_header(r, "x-ms-source-allow-trailing-dot");
	size_t n = 0;
	if (!h)
		return ERR_NO_MEMORY;
	struct slice target;
	TRY(rest_source_url_target(r, s->url, &target));
	h[n++] = (struct http_header){ SLICE("x-ms-version"), r->version_text };
	if (slice_is_set(authorization))
		h[n++] = (struct http_header){ SLICE("Authorization"), authorization };
	if (slice_is_set(dots))
		h[n++] = (struct http_header){ SLICE("x-ms-allow-trailing-dot"), dots };
	if (slice_is_set(s->range))
		h[n++] = (struct http_header){ SLICE("x-ms-range"), s->range };
	h[n++] = (struct http_header){ SLICE("x-ms-file-request-intent"), SLICE("backup") };
	struct child_part part = { .method = SLICE("GET"),
				   .target = target,
				   .headers = h,
				   .header_count = n,
				   .allowed = rest_source_is_get,
				   .other_service = true,
				   .service = s->service };
	bool owner = r->identity.kind == AUTH_SHARED_KEY || r->identity.kind == AUTH_BEARER;
	/* Holds if the source turns out to be in the same account. */
	s->trusted = s->owner_reads && owner && !rest_source_url_has_signature(s->url) && !slice_is_set(authorization);
	if (s->trusted)
		part.trusted = &r->identity;
	s->part = request_run_child(r, &part);
	return s->part ? ERR_OK : ERR_NO_MEMORY;
}

/* Who may read the source by the request's own credentials is told what is wrong with it; others only that it cannot be
 * verified, with the status and the text of the source's refusal. */
enum err rest_file_source_result(struct request *r, const struct file_source *s)
{
	enum err e = request_child_error(s->part);
	if (e == ERR_OK)
		return ERR_OK;
	const struct err_info *info = err_info(e);
	bool inside = s->trusted && s->service == SERVICE_FILE;
	if (inside && (e == ERR_RESOURCE_NOT_FOUND || e == ERR_PARENT_NOT_FOUND || e == ERR_SHARE_NOT_FOUND))
		return e == ERR_SHARE_NOT_FOUND ? e : ERR_RESOURCE_NOT_FOUND;
	rest_source_tell_answer(r, e);
	if (e == ERR_NO_MEMORY || info->http_status >= 500)
		return ERR_CANNOT_VERIFY_COPY_SOURCE;
	switch (info->http_status) {
	case 401:
		return ERR_COPY_SOURCE_UNAUTHENTICATED;
	case 403:
		return ERR_COPY_SOURCE_FORBIDDEN;
	case 404:
		r->fault.message = SLICE("The specified resource does not exist.");
		return ERR_COPY_SOURCE_NOT_FOUND;
	case 409:
		return e;
	case 416:
		return ERR_INVALID_RANGE;
	default:
		r->fault.message = slice_str(info->text);
		return ERR_COPY_SOURCE_INVALID;
	}
}

bool rest_file_source_is_in_share(const struct request *r, const struct file_source *s)
{
	return s->service == SERVICE_FILE && slice_eq(s->part->account, r->account) &&
	       slice_eq(s->part->container, r->container);
}

static enum err read_part(void *reader, char *dst, size_t cap, size_t *ret)
{
	return request_child_read(reader, dst, cap, ret);
}

enum err rest_file_source_fetch(struct request *r, const struct file_source *s)
{
	struct payload_writer *w;
	struct child_reader reader = { .child = s->part };
	TRY(payload_writer_new(r->server->store, request_child_length(s->part), &w));
	return rest_source_fetch(r, w, read_part, &reader);
}
