/* SPDX-License-Identifier: Apache-2.0
 * Writes whose bytes come from another blob: Put Block, Append Block and Put Page From URL. Each runs the source as a
 * part, fetches its bytes on a worker, and then is the plain operation. */
#include "rest/blob/copy_source.h"
#include "rest/blob/encryption.h"
#include "rest/common/conditional.h"
#include "svc/blob/content/append.h"
#include "svc/blob/content/block_list.h"
#include "svc/blob/content/page.h"
#include "wire/http/range.h"

/* What these three have in common; the plain call follows it in each struct. */
struct from_url {
	struct copy_source source;
	const struct blob_get_call *found;
};

static enum err refuse_body(struct request *r)
{
	if (r->head->chunked || (r->head->has_content_length && r->head->content_length))
		return fault_header(r, ERR_INVALID_HEADER_VALUE, "Content-Length", request_header(r, "Content-Length"));
	return ERR_OK;
}

static enum err find(struct request *r, struct from_url *f)
{
	TRY(rest_blob_copy_source_result(r, &f->source, &f->found));
	return f->found->length ? ERR_OK : ERR_INVALID_RANGE;
}

static enum err fetch(struct request *r, struct from_url *f, uint64_t limit)
{
	TRY(find(r, f));
	if (f->found->length > limit) {
		fault_add(r, "MaxLimit", arena_printf(r->arena, "%llu", (unsigned long long)limit));
		return ERR_REQUEST_BODY_TOO_LARGE;
	}
	return rest_blob_copy_source_fetch(r, &f->source, f->found, true);
}

static void put_hash_headers(struct request *r, const struct from_url *f, const struct blob_encryption *e)
{
	body_checks_put_headers(r, f->source.has_md5, !f->source.has_md5);
	rest_blob_put_encrypted(r, e);
}

/* ---- Put Block From URL ---- */

struct block_call {
	struct blob_put_block_call put; /* first: the apply gets this */
	struct from_url from;
};

static enum err start_block(struct request *r)
{
	return rest_blob_copy_source_start(r, &((struct block_call *)r->call)->from.source);
}

static uint64_t block_limit(uint32_t version)
{
	return version >= VERSION(2020, 4, 8) ? 4000 * MIB : 100 * MIB;
}

static enum err fetch_block(struct request *r)
{
	struct block_call *c = r->call;
	TRY(fetch(r, &c->from, block_limit(r->version)));
	c->put.payload = &r->payload;
	return ERR_OK;
}

static enum err parse_block(struct request *r)
{
	struct slice partition;
	struct block_call *c = ARENA_NEW(r->arena, struct block_call);
	if (!c)
		return ERR_NO_MEMORY;
	r->call = c;
	TRY(refuse_body(r));
	TRY(rest_blob_block_id_parse(r, &c->put.block_id));
	TRY(rest_blob_target_plain(r, &c->put.target));
	TRY(rest_blob_encryption_parse(r, ENCRYPTION_CREATE, &c->put.target));
	TRY(rest_blob_copy_source_parse(r, false, true, &c->from.source));
	TRY(rest_blob_encryption_find(r, ENCRYPTION_CREATE, &c->put.target, &partition));
	c->put.stage_id = rng_u64(r->rng);
	request_step_call(r, start_block);
	request_step_work(r, fetch_block);
	request_step_write(r, partition, blob_apply_put_block);
	return ERR_OK;
}

static enum err format_block(struct request *r)
{
	const struct block_call *c = r->call;
	r->response.status = 201;
	put_hash_headers(r, &c->from, &c->put.target.encryption);
	return ERR_OK;
}

/* ---- Append Block From URL ---- */

struct append_call {
	struct blob_append_call append; /* first: the apply gets this */
	struct from_url from;
};

static enum err start_append(struct request *r)
{
	return rest_blob_copy_source_start(r, &((struct append_call *)r->call)->from.source);
}

static enum err fetch_append(struct request *r)
{
	struct append_call *c = r->call;
	TRY(fetch(r, &c->from, rest_blob_append_limit(r->version)));
	c->append.payload = &r->payload;
	return ERR_OK;
}

static enum err parse_append(struct request *r)
{
	struct slice partition;
	struct append_call *c = ARENA_NEW(r->arena, struct append_call);
	if (!c)
		return ERR_NO_MEMORY;
	r->call = c;
	TRY(refuse_body(r));
	TRY(rest_blob_target_write(r, &c->append.target));
	TRY(rest_blob_encryption_parse(r, ENCRYPTION_CHANGE, &c->append.target));
	TRY(rest_blob_append_conditions_parse(r, &c->append));
	TRY(rest_blob_copy_source_parse(r, false, true, &c->from.source));
	c->from.source.into_content = true;
	TRY(rest_blob_encryption_find(r, ENCRYPTION_CHANGE, &c->append.target, &partition));
	request_step_call(r, start_append);
	request_step_work(r, fetch_append);
	request_step_write(r, partition, blob_apply_append);
	return ERR_OK;
}

static enum err format_append(struct request *r)
{
	struct append_call *c = r->call;
	r->response.status = 201;
	rest_blob_put_etag(r, c->append.blob.etag, c->append.blob.modified_ticks);
	response_header_u64(r, "x-ms-blob-append-offset", c->append.offset);
	response_header_u64(r, "x-ms-blob-committed-block-count", c->append.blob.block_count);
	put_hash_headers(r, &c->from, &c->append.blob.encryption);
	return ERR_OK;
}

/* ---- Put Page From URL ---- */

struct page_call {
	struct blob_put_page_call put; /* first: the apply gets this */
	struct from_url from;
};

static enum err start_page(struct request *r)
{
	return rest_blob_copy_source_start(r, &((struct page_call *)r->call)->from.source);
}

static enum err fetch_page(struct request *r)
{
	struct page_call *c = r->call;
	TRY(find(r, &c->from));
	if (c->from.found->length != c->put.length) /* and that is within the limit */
		return fault_header(r, ERR_INVALID_HEADER_VALUE, "x-ms-source-range",
				    request_header(r, "x-ms-source-range"));
	TRY(rest_blob_copy_source_fetch(r, &c->from.source, c->from.found, true));
	c->put.payload = &r->payload;
	return ERR_OK;
}

static enum err parse_page(struct request *r)
{
	struct slice partition;
	struct page_call *c = ARENA_NEW(r->arena, struct page_call);
	if (!c)
		return ERR_NO_MEMORY;
	r->call = c;
	struct slice kind = request_header(r, "x-ms-page-write");
	TRY(refuse_body(r));
	if (!slice_is_set(kind))
		return fault_header(r, ERR_MISSING_REQUIRED_HEADER, "x-ms-page-write", SLICE_NONE);
	if (!slice_eq_nocase(kind, SLICE("update")))
		return fault_header(r, ERR_INVALID_HEADER_VALUE, "x-ms-page-write", kind);
	TRY(rest_blob_page_range_parse(r, &c->put));
	if (!slice_is_set(request_header(r, "x-ms-source-range")))
		return fault_header(r, ERR_MISSING_REQUIRED_HEADER, "x-ms-source-range", SLICE_NONE);
	TRY(rest_blob_target_write(r, &c->put.target));
	TRY(rest_blob_encryption_parse(r, ENCRYPTION_CHANGE, &c->put.target));
	TRY(rest_blob_sequence_conditions_parse(r, &c->put));
	TRY(rest_blob_copy_source_parse(r, false, true, &c->from.source));
	c->from.source.into_content = true;
	c->put.target.names_target = conditional_match_is_foreign(r, "If-Match");
	TRY(rest_blob_encryption_find(r, ENCRYPTION_CHANGE, &c->put.target, &partition));
	request_step_call(r, start_page);
	request_step_work(r, fetch_page);
	request_step_write(r, partition, blob_apply_put_page);
	return ERR_OK;
}

static enum err format_page(struct request *r)
{
	struct page_call *c = r->call;
	r->response.status = 201;
	rest_blob_put_etag(r, c->put.blob.etag, c->put.blob.modified_ticks);
	response_header_u64(r, "x-ms-blob-sequence-number", c->put.blob.sequence_number);
	put_hash_headers(r, &c->from, &c->put.blob.encryption);
	return ERR_OK;
}

const struct handler handler_blob_put_block_from_url = { .parse = parse_block, .format = format_block };
const struct handler handler_blob_append_from_url = { .parse = parse_append, .format = format_append };
const struct handler handler_blob_put_page_from_url = { .parse = parse_page, .format = format_page };
