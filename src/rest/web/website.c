/* SPDX-License-Identifier: Apache-2.0
 * The static website of an account: GET and HEAD of paths, answered from the container $web without credentials.
 * A path that ends with '/' means its index document. What is missing is the error document with 404, or the default
 * index with 200, as the Blob service's properties say. Who has the page already says so by the headers of a
 * conditional read; an error document is never what they have. */
#include "rest/blob/common.h"
#include "rest/common/conditional.h"
#include "rest/common/metadata.h"
#include "rest/common/ranged.h"
#include "rest/common/service_properties.h"
#include "rest/core/server.h"
#include "wire/http/range.h"

struct web_call {
	struct blob_get_call get; /* first: the apply gets this */
	struct slice partition;
	struct static_website site;
	struct conditions conditions;
	struct range range; /* of the page itself, never of an error document */
	int status;
};

static enum err read_name(struct request *r, struct web_call *c, struct slice name)
{
	c->get.target = (struct blob_target){ .name = name };
	if (c->status == 200)
		c->get.target.conditions = c->conditions;
	c->get.has_range = c->status == 200 && (c->range.kind == RANGE_OPEN || c->range.kind == RANGE_CLOSED);
	c->get.range_first = c->range.first;
	c->get.range_last = c->range.last;
	c->get.want_bytes = true;
	enum err e = rest_blob_read(r, c->partition, &c->get);
	if (e == ERR_NOT_MODIFIED)
		rest_blob_put_etag(r, c->get.blob.etag, c->get.blob.modified_ticks);
	return e;
}

static struct slice index_of(struct request *r, const struct static_website *site, struct slice path)
{
	if (path.len && path.ptr[path.len - 1] != '/')
		return path;
	if (!slice_is_set(site->index_document))
		return SLICE_NONE;
	return arena_printf(r->arena, "%.*s%.*s", SLICE_FMT(path), SLICE_FMT(site->index_document));
}

static enum err read_page(struct request *r)
{
	struct web_call *c = r->call;
	struct slice name = index_of(r, &c->site, r->object);
	c->status = 200;
	enum err e = slice_is_set(name) ? read_name(r, c, name) : ERR_BLOB_NOT_FOUND;
	if (e != ERR_BLOB_NOT_FOUND)
		return e;
	if (slice_is_set(c->site.default_index_path))
		return read_name(r, c, c->site.default_index_path);
	if (!slice_is_set(c->site.error_document))
		return ERR_RESOURCE_NOT_FOUND;
	c->status = 404;
	e = read_name(r, c, c->site.error_document);
	return e == ERR_BLOB_NOT_FOUND ? ERR_RESOURCE_NOT_FOUND : e;
}

static enum err parse(struct request *r)
{
	struct service_properties p;
	struct resource container;
	struct web_call *c = ARENA_NEW(r->arena, struct web_call);
	if (!c)
		return ERR_NO_MEMORY;
	r->call = c;
	TRY(conditional_parse_read(r, &c->conditions));
	/* A part for who has the rest of this very state; we do not compare, so they get all of it. */
	bool parts = r->head->method == HTTP_GET && !slice_is_set(request_header(r, "If-Range"));
	c->range = range_parse(parts ? request_header(r, "Range") : SLICE_NONE);
	TRY(service_properties_load(r, &p));
	c->site = p.website;
	enum err e =
		p.website.enabled ? rest_blob_find_container(r, &container, &c->partition) : ERR_CONTAINER_NOT_FOUND;
	if (e == ERR_CONTAINER_NOT_FOUND) {
		r->fault.message = p.website.enabled ? SLICE("The static website's container, $web, does not exist.")
						     : SLICE("The account has no static website.");
		return ERR_RESOURCE_NOT_FOUND;
	}
	TRY(e);
	request_pin(r);
	request_step_call(r, read_page);
	return ERR_OK;
}

static void put_if_set(struct request *r, const char *name, struct slice value)
{
	if (slice_is_set(value))
		response_header(r, name, value);
}

static enum err format(struct request *r)
{
	struct web_call *c = r->call;
	const struct blob *b = &c->get.blob;
	r->response.status = c->get.has_range ? 206 : c->status;
	rest_blob_put_etag(r, b->etag, b->modified_ticks);
	response_header(r, "Content-Type",
			slice_is_set(b->http.content_type) ? b->http.content_type : SLICE("application/octet-stream"));
	put_if_set(r, "Content-Encoding", b->http.content_encoding);
	put_if_set(r, "Content-Language", b->http.content_language);
	put_if_set(r, "Content-Disposition", b->http.content_disposition);
	put_if_set(r, "Cache-Control", b->http.cache_control);
	response_header(r, "Accept-Ranges", SLICE("bytes"));
	if (c->get.has_range)
		ranged_put_content_range(r, c->get.offset, c->get.length, b->length_bytes);
	return rest_blob_put_body(r, &c->get);
}

const struct handler handler_website = { .parse = parse, .format = format };
