/* SPDX-License-Identifier: Apache-2.0
 * Get Blob, Get Blob Properties, Get Blob Metadata.
 *
 * The record comes from the cache of hot records where it can: then record and small content are two reads, and a
 * content that was replaced between them shows as ERR_CONFLICT; the request then reads again on one snapshot. A blob
 * in very many pieces is read by a worker. */
#include "rest/blob/encryption.h"
#include "rest/common/metadata.h"
#include "rest/common/ranged.h"
#include "rest/core/server.h"

struct get_call {
	struct blob_get_call get; /* first: the apply gets this */
	struct slice partition;
	struct ranged ranged;
};

enum err rest_blob_read(struct request *r, struct slice partition, struct blob_get_call *g)
{
	struct store *store = r->server->store;
	g->on_snapshot = false;
	uint64_t deadline_ns = request_read_deadline_ns(r);
	enum err e = store_read_points_until(store, partition, blob_apply_get, g, r->arena, deadline_ns);
	if (e == ERR_CONFLICT) {
		g->on_snapshot = true;
		e = store_read_until(store, partition, blob_apply_get, g, r->arena, deadline_ns);
	}
	if (e == ERR_BLOB_NOT_FOUND && g->soft_deleted)
		fault_add_header(r, "x-ms-is-soft-deleted", SLICE("true"));
	/* Who asks for the first megabytes of an empty blob learns from it that it is empty. */
	r->fault.has_length = e == ERR_INVALID_RANGE;
	r->fault.length_bytes = g->blob.length_bytes;
	return e == ERR_CONFLICT ? ERR_CORRUPT : e;
}

static enum err read_blob(struct request *r)
{
	struct get_call *c = r->call;
	return rest_blob_read(r, c->partition, &c->get);
}

static enum err parse_common(struct request *r, struct get_call **ret)
{
	struct get_call *c = ARENA_NEW(r->arena, struct get_call);
	if (!c)
		return ERR_NO_MEMORY;
	r->call = c;
	TRY(rest_blob_target_read(r, &c->get.target));
	TRY(rest_blob_encryption_parse(r, ENCRYPTION_READ, &c->get.target));
	TRY(rest_blob_encryption_find(r, ENCRYPTION_READ, &c->get.target, &c->partition));
	request_step_call(r, read_blob);
	*ret = c;
	return ERR_OK;
}

static enum err parse_get(struct request *r)
{
	struct get_call *c;
	TRY(parse_common(r, &c));
	if (r->head->method == HTTP_HEAD)
		return ERR_OK;
	TRY(body_structured_answer_parse(r));
	c->get.want_bytes = true;
	request_pin(r);
	TRY(ranged_parse(r, true, &c->ranged));
	c->get.has_range = c->ranged.has_range;
	c->get.range_first = c->ranged.first;
	c->get.range_last = c->ranged.last;
	ranged_step_hash(r, &c->ranged);
	return ERR_OK;
}

/* ---- the answer ---- */

enum err rest_blob_put_body(struct request *r, const struct blob_get_call *g)
{
	struct response *p = &r->response;
	if (g->piece_count == 1 && slice_is_set(g->piece[0].bytes)) {
		p->body_slice = g->piece[0].bytes;
		return ERR_OK;
	}
	p->content_length = g->length;
	p->set_length = true;
	if (!g->piece_count)
		return ERR_OK;
	p->spans = ARENA_NEW_ARRAY(r->arena, struct body_span, g->piece_count);
	if (!p->spans)
		return ERR_NO_MEMORY;
	const struct extent_cipher *cipher = rest_blob_encryption_cipher(r, &g->blob);
	for (size_t i = 0; i < g->piece_count; i++)
		p->spans[p->span_count++] = (struct body_span){ .bytes = g->piece[i].bytes,
								.extent = g->piece[i].extent,
								.offset = g->piece[i].offset,
								.length = g->piece[i].length_bytes,
								.cipher = cipher };
	return ERR_OK;
}

/* The bytes of a short range, in one piece of memory, for hashing. */
static enum err gather(struct request *r, const struct blob_get_call *g, struct slice *ret)
{
	char *all = arena_alloc(r->arena, g->length ? g->length : 1);
	struct blob_piece_reader reader = { .store = r->server->store,
					    .cipher = rest_blob_encryption_cipher(r, &g->blob),
					    .piece = g->piece,
					    .count = g->piece_count };
	size_t n;
	if (!all)
		return ERR_NO_MEMORY;
	TRY(blob_piece_read(&reader, all, g->length, &n));
	*ret = slice_make(all, n);
	return ERR_OK;
}

static enum err put_range_hash(struct request *r, const struct get_call *c)
{
	struct slice bytes;
	TRY(ranged_check_hash(r, &c->ranged, c->get.length));
	TRY(gather(r, &c->get, &bytes));
	ranged_put_hashed(r, &c->ranged, bytes);
	return ERR_OK;
}

static enum err format_get(struct request *r)
{
	struct get_call *c = r->call;
	const struct blob_get_call *g = &c->get;
	if (r->head->method == HTTP_HEAD) {
		r->response.status = 200;
		r->response.content_length = g->blob.length_bytes;
		r->response.set_length = true;
		rest_blob_put_properties(r, &g->blob, g->now_ticks, true);
		return ERR_OK;
	}
	bool partial = g->has_range;
	r->response.status = partial ? 206 : 200;
	rest_blob_put_properties(r, &g->blob, g->now_ticks, !partial);
	if (partial)
		ranged_put_content_range(r, g->offset, g->length, g->blob.length_bytes);
	if (ranged_hashes(&c->ranged))
		return put_range_hash(r, c);
	return rest_blob_put_body(r, g);
}

static enum err parse_metadata(struct request *r)
{
	struct get_call *c;
	return parse_common(r, &c);
}

static enum err format_metadata(struct request *r)
{
	struct get_call *c = r->call;
	r->response.status = 200;
	rest_blob_put_etag(r, c->get.blob.etag, c->get.blob.modified_ticks);
	rest_blob_put_version(r, &c->get.blob);
	metadata_put_headers(r, &c->get.blob.metadata);
	return ERR_OK;
}

const struct handler handler_blob_get = { .parse = parse_get, .format = format_get };
const struct handler handler_blob_get_metadata = { .parse = parse_metadata, .format = format_metadata };
