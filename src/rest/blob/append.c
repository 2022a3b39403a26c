/* SPDX-License-Identifier: Apache-2.0
 * Append Block and Append Blob Seal. */
#include "svc/blob/content/append.h"

#include "rest/blob/encryption.h"
#include "rest/common/conditional.h"

struct append_call {
	struct blob_append_call append; /* first: the apply gets this */
	struct body_checks checks;
};

static enum err parse_u64(struct request *r, const char *header, bool *ret_has, uint64_t *ret)
{
	struct slice v;
	TRY(conditional_header(r, header, &v));
	*ret_has = slice_is_set(v);
	if (*ret_has && !slice_to_u64(v, ret))
		return fault_header(r, ERR_INVALID_HEADER_VALUE, header, v);
	return ERR_OK;
}

enum err rest_blob_append_conditions_parse(struct request *r, struct blob_append_call *c)
{
	TRY(parse_u64(r, "x-ms-blob-condition-appendpos", &c->has_position, &c->position));
	return parse_u64(r, "x-ms-blob-condition-maxsize", &c->has_max_size, &c->max_size);
}

uint64_t rest_blob_append_limit(uint32_t version)
{
	return version >= VERSION(2022, 11, 2) ? 100 * MIB : 4 * MIB;
}

static enum err parse_append(struct request *r)
{
	struct slice partition;
	struct append_call *c = ARENA_NEW(r->arena, struct append_call);
	if (!c)
		return ERR_NO_MEMORY;
	r->call = c;
	TRY(rest_blob_target_write(r, &c->append.target));
	TRY(rest_blob_encryption_parse(r, ENCRYPTION_CHANGE, &c->append.target));
	TRY(rest_blob_append_conditions_parse(r, &c->append));
	TRY(body_checks_parse(r, &c->checks));
	if (!r->head->chunked && r->head->has_content_length && r->head->content_length == 0)
		return fault_header(r, ERR_INVALID_HEADER_VALUE, "Content-Length", SLICE("0"));
	TRY(rest_blob_encryption_find(r, ENCRYPTION_CHANGE, &c->append.target, &partition));
	r->body_limit_bytes = rest_blob_append_limit(r->version);
	r->want_md5 = c->checks.has_md5;
	r->want_crc64 = true;
	r->precheck = true;
	r->payload_in_extents = true;
	request_step_write(r, partition, blob_apply_append);
	return ERR_OK;
}

static enum err check_append(struct request *r)
{
	struct append_call *c = r->call;
	if (r->payload.length_bytes == 0)
		return fault_header(r, ERR_INVALID_HEADER_VALUE, "Content-Length", SLICE("0"));
	TRY(body_checks_compare(r, &c->checks));
	c->append.payload = &r->payload;
	return ERR_OK;
}

static enum err format_append(struct request *r)
{
	struct append_call *c = r->call;
	r->response.status = 201;
	rest_blob_put_etag(r, c->append.blob.etag, c->append.blob.modified_ticks);
	body_checks_put_headers(r, c->checks.has_md5, !c->checks.has_md5);
	response_header_u64(r, "x-ms-blob-append-offset", c->append.offset);
	response_header_u64(r, "x-ms-blob-committed-block-count", c->append.blob.block_count);
	rest_blob_put_encrypted(r, &c->append.blob.encryption);
	return ERR_OK;
}

static enum err parse_seal(struct request *r)
{
	struct slice partition;
	struct append_call *c = ARENA_NEW(r->arena, struct append_call);
	if (!c)
		return ERR_NO_MEMORY;
	r->call = c;
	TRY(rest_blob_target_write(r, &c->append.target));
	TRY(parse_u64(r, "x-ms-blob-condition-appendpos", &c->append.has_position, &c->append.position));
	TRY(rest_blob_find(r, &partition));
	request_step_write(r, partition, blob_apply_seal);
	return ERR_OK;
}

static enum err format_seal(struct request *r)
{
	struct append_call *c = r->call;
	r->response.status = 200;
	rest_blob_put_etag(r, c->append.blob.etag, c->append.blob.modified_ticks);
	response_header(r, "x-ms-blob-sealed", SLICE("true"));
	return ERR_OK;
}

const struct handler handler_blob_append = { .parse = parse_append,
					     .parse_body = check_append,
					     .format = format_append };
const struct handler handler_blob_seal = { .parse = parse_seal, .format = format_seal };
