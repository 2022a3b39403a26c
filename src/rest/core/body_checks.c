/* SPDX-License-Identifier: Apache-2.0
 * Content-MD5, x-ms-content-crc64 and x-ms-structured-body of a request. */
#include "rest/core/body_checks.h"

#include "rest/core/op.h"
#include "wire/base64.h"
#include "wire/hash.h"
#include "wire/http/structured.h"

enum err body_refuse_structured(struct request *r)
{
	struct slice v = request_header(r, "x-ms-structured-body");
	return slice_is_set(v) ? fault_header(r, ERR_UNSUPPORTED_HEADER, "x-ms-structured-body", v) : ERR_OK;
}

/* The header is there and known: *ret says so. Before its version it is as unknown as any other. */
static enum err structured_parse(struct request *r, bool *ret)
{
	struct slice v = request_header(r, "x-ms-structured-body");
	*ret = false;
	if (!slice_is_set(v))
		return ERR_OK;
	if (r->version < service_facts(r->service)->structured_since)
		return body_refuse_structured(r);
	if (!structured_header_ok(v))
		return fault_header(r, ERR_INVALID_HEADER_VALUE, "x-ms-structured-body", v);
	*ret = true;
	return ERR_OK;
}

enum err body_structured_answer_parse(struct request *r)
{
	return structured_parse(r, &r->structured_answer);
}

static enum err structured_body_parse(struct request *r)
{
	struct slice length = request_header(r, "x-ms-structured-content-length");
	TRY(structured_parse(r, &r->structured));
	if (!r->structured)
		return ERR_OK;
	if (!slice_is_set(length))
		return fault_header(r, ERR_MISSING_REQUIRED_HEADER, "x-ms-structured-content-length", SLICE_NONE);
	if (!slice_to_u64(length, &r->structured_bytes))
		return fault_header(r, ERR_INVALID_HEADER_VALUE, "x-ms-structured-content-length", length);
	return ERR_OK;
}

enum err body_checks_parse(struct request *r, struct body_checks *ret)
{
	if (r->op->body == BODY_STREAM)
		TRY(structured_body_parse(r));
	else
		TRY(body_refuse_structured(r));
	struct body_checks c = { .md5_text = request_header(r, "Content-MD5"),
				 .crc64_text = request_header(r, "x-ms-content-crc64") };
	c.has_md5 = slice_is_set(c.md5_text) && c.md5_text.len;
	c.has_crc64 = slice_is_set(c.crc64_text) && c.crc64_text.len;
	if (c.has_md5 && c.has_crc64)
		return ERR_BOTH_CRC64_AND_MD5_HEADER_PRESENT;
	if (c.has_md5 && !base64_decode_exact(c.md5_text, c.md5, sizeof c.md5))
		return ERR_INVALID_MD5;
	if (c.has_crc64 && !hash_crc64_parse(c.crc64_text, &c.crc64))
		return fault_header(r, ERR_INVALID_HEADER_VALUE, "x-ms-content-crc64", c.crc64_text);
	*ret = c;
	return ERR_OK;
}

static struct slice md5_text(struct request *r)
{
	char text[BASE64_BYTES(16)];
	base64_encode_to(text, slice_make(r->body_md5, sizeof r->body_md5));
	return arena_dup(r->arena, slice_make(text, sizeof text));
}

static struct slice crc64_text(struct request *r)
{
	char text[HASH_CRC64_TEXT_BYTES];
	hash_crc64_format(r->body_crc64, text);
	return arena_dup(r->arena, slice_make(text, sizeof text));
}

enum err body_checks_compare(struct request *r, const struct body_checks *c)
{
	if (c->has_md5 && memcmp(c->md5, r->body_md5, sizeof c->md5) != 0) {
		fault_add(r, "UserSpecifiedMd5", c->md5_text);
		fault_add(r, "ServerCalculatedMd5", md5_text(r));
		return ERR_MD5_MISMATCH;
	}
	if (c->has_crc64 && c->crc64 != r->body_crc64) {
		fault_add(r, "UserSpecifiedCrc", c->crc64_text);
		fault_add(r, "ServerCalculatedCrc", crc64_text(r));
		return ERR_CRC64_MISMATCH;
	}
	return ERR_OK;
}

enum err body_checks_compare_memory(struct request *r, const struct body_checks *c)
{
	hash_md5(r->body, r->body_md5);
	r->body_crc64 = hash_crc64(0, r->body);
	return body_checks_compare(r, c);
}

enum err body_check_memory(struct request *r)
{
	struct body_checks c = { .has_md5 = true, .md5_text = request_header(r, "Content-MD5") };
	if (!c.md5_text.len)
		return ERR_OK;
	if (!base64_decode_exact(c.md5_text, c.md5, sizeof c.md5))
		return ERR_INVALID_MD5;
	hash_md5(r->body, r->body_md5);
	return body_checks_compare(r, &c);
}

void body_checks_put_headers(struct request *r, bool md5, bool crc64)
{
	if (r->structured)
		response_header(r, "x-ms-structured-body", SLICE(STRUCTURED_HEADER_VALUE));
	if (md5)
		response_header(r, "Content-MD5", md5_text(r));
	if (crc64 && r->version >= VERSION(2019, 2, 2))
		response_header(r, "x-ms-content-crc64", crc64_text(r));
}
