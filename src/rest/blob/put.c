/* SPDX-License-Identifier: Apache-2.0
 * Put Blob, of all three types. */
#include "rest/blob/encryption.h"
#include "svc/blob/state.h"

struct put_call {
	struct blob_put_call put; /* first: the apply gets this */
	struct body_checks checks;
};

/* The largest body of one Put Blob by version. */
static uint64_t put_limit(uint32_t version)
{
	if (version >= VERSION(2019, 12, 12))
		return 5000 * MIB;
	return version >= VERSION(2016, 5, 31) ? 256 * MIB : 64 * MIB;
}

static enum err parse_page(struct request *r, struct blob_put_call *p)
{
	struct slice length = request_header(r, "x-ms-blob-content-length");
	struct slice sequence = request_header(r, "x-ms-blob-sequence-number");
	if (!slice_is_set(length))
		return fault_header(r, ERR_MISSING_REQUIRED_HEADER, "x-ms-blob-content-length", SLICE_NONE);
	if (!slice_to_u64(length, &p->page_length_bytes) || p->page_length_bytes % PAGE_BYTES ||
	    p->page_length_bytes > 8 * 1024 * GIB)
		return fault_header(r, ERR_INVALID_HEADER_VALUE, "x-ms-blob-content-length", length);
	if (slice_is_set(sequence) && (!slice_to_u64(sequence, &p->sequence_number) || p->sequence_number > INT64_MAX))
		return fault_header(r, ERR_INVALID_HEADER_VALUE, "x-ms-blob-sequence-number", sequence);
	return ERR_OK;
}

static enum err parse_type(struct request *r, struct blob_put_call *p)
{
	struct slice type = request_header(r, "x-ms-blob-type");
	if (!slice_is_set(type))
		return fault_header(r, ERR_MISSING_REQUIRED_HEADER, "x-ms-blob-type", SLICE_NONE);
	if (slice_eq_nocase(type, SLICE("BlockBlob"))) {
		p->type = BLOB_BLOCK;
		return ERR_OK;
	}
	bool page = slice_eq_nocase(type, SLICE("PageBlob"));
	if (!page && !slice_eq_nocase(type, SLICE("AppendBlob")))
		return fault_header(r, ERR_INVALID_HEADER_VALUE, "x-ms-blob-type", type);
	p->type = page ? BLOB_PAGE : BLOB_APPEND;
	if (!page && r->version < VERSION(2015, 2, 21))
		return ERR_FEATURE_VERSION_MISMATCH;
	if (r->head->chunked || (r->head->has_content_length && r->head->content_length))
		return fault_header(r, ERR_INVALID_HEADER_VALUE, "Content-Length", request_header(r, "Content-Length"));
	return page ? parse_page(r, p) : ERR_OK;
}

static enum err check_body(struct request *r)
{
	struct put_call *c = r->call;
	struct blob_put_call *p = &c->put;
	if (p->type != BLOB_BLOCK)
		return ERR_OK;
	TRY(body_checks_compare(r, &c->checks));
	p->payload = &r->payload;
	if (!p->http.has_md5) {
		p->http.has_md5 = true;
		memcpy(p->http.md5, r->body_md5, sizeof p->http.md5);
	}
	return ERR_OK;
}

static enum err parse(struct request *r)
{
	struct slice partition;
	struct put_call *c = ARENA_NEW(r->arena, struct put_call);
	if (!c)
		return ERR_NO_MEMORY;
	r->call = c;
	TRY(parse_type(r, &c->put));
	if (!r->head->has_content_length && !r->head->chunked)
		return ERR_MISSING_CONTENT_LENGTH_HEADER;
	TRY(body_checks_parse(r, &c->checks));
	TRY(rest_blob_http_parse(r, true, &c->put.http));
	if (c->put.http.has_md5) { /* instead of Content-MD5, where both are given */
		c->checks.has_md5 = true;
		c->checks.md5_text = request_header(r, "x-ms-blob-content-md5");
		memcpy(c->checks.md5, c->put.http.md5, sizeof c->checks.md5);
	}
	TRY(rest_blob_put_headers_parse(r, &c->put));
	TRY(rest_blob_encryption_parse(r, ENCRYPTION_CREATE, &c->put.target));
	TRY(blob_check_tier(c->put.type, c->put.tier));
	TRY(rest_blob_encryption_find(r, ENCRYPTION_CREATE, &c->put.target, &partition));
	r->body_limit_bytes = put_limit(r->version);
	r->want_md5 = r->want_crc64 = c->put.type == BLOB_BLOCK;
	r->precheck = true;
	request_step_write(r, partition, blob_apply_put);
	return ERR_OK;
}

static enum err format(struct request *r)
{
	struct put_call *c = r->call;
	r->response.status = 201;
	rest_blob_put_etag(r, c->put.blob.etag, c->put.blob.modified_ticks);
	rest_blob_put_version(r, &c->put.blob);
	if (c->put.type == BLOB_BLOCK)
		body_checks_put_headers(r, true, true);
	rest_blob_put_encrypted(r, &c->put.blob.encryption);
	return ERR_OK;
}

const struct handler handler_blob_put = { .parse = parse, .parse_body = check_body, .format = format };
