/* SPDX-License-Identifier: Apache-2.0
 * Put Range From URL: the source runs as a part, its bytes are fetched on a worker, and then it is a plain Put Range.
 * The source always proves itself, never by the key that signed this request. */
#include "rest/core/body_checks.h"
#include "rest/core/conn/driver.h"
#include "rest/file/copy/source.h"
#include "rest/file/range.h"
#include "wire/hash.h"
#include "wire/http/range.h"

struct from_url_call {
	struct file_write_call write; /* first: the apply gets this */
	struct file_source source;
	bool has_crc64, has_match, has_none_match;
	uint64_t crc64, match, none_match;
};

static enum err start(struct request *r)
{
	return rest_file_source_start(r, &((struct from_url_call *)r->call)->source);
}

static enum err crc_not_met(struct request *r, uint64_t specified)
{
	char text[2][HASH_CRC64_TEXT_BYTES];
	hash_crc64_format(specified, text[0]);
	hash_crc64_format(r->body_crc64, text[1]);
	fault_add(r, "UserSpecifiedCrc", arena_dup(r->arena, slice_make(text[0], sizeof text[0])));
	fault_add(r, "ServerCalculatedCrc", arena_dup(r->arena, slice_make(text[1], sizeof text[1])));
	return ERR_CRC64_CONDITION_NOT_MET;
}

static enum err fetch(struct request *r)
{
	struct from_url_call *c = r->call;
	TRY(rest_file_source_result(r, &c->source));
	if (request_child_length(c->source.part) != c->write.length)
		return fault_header(r, ERR_INVALID_HEADER_VALUE, "x-ms-source-range",
				    request_header(r, "x-ms-source-range"));
	TRY(rest_file_source_fetch(r, &c->source));
	if (c->has_crc64 && c->crc64 != r->body_crc64)
		return ERR_CRC64_MISMATCH;
	if (c->has_match && c->match != r->body_crc64)
		return crc_not_met(r, c->match);
	if (c->has_none_match && c->none_match == r->body_crc64)
		return crc_not_met(r, c->none_match);
	c->write.payload = &r->payload;
	return ERR_OK;
}

static enum err parse_crc(struct request *r, const char *header, bool *ret_has, uint64_t *ret)
{
	struct slice v = request_header(r, header);
	*ret_has = slice_is_set(v) && v.len;
	return !*ret_has || hash_crc64_parse(v, ret) ? ERR_OK : fault_header(r, ERR_INVALID_HEADER_VALUE, header, v);
}

static enum err parse_source_range(struct request *r, struct from_url_call *c)
{
	struct slice text = request_header(r, "x-ms-source-range");
	if (!slice_is_set(text))
		return fault_header(r, ERR_MISSING_REQUIRED_HEADER, "x-ms-source-range", SLICE_NONE);
	struct range range = range_parse(text);
	if (range.kind != RANGE_CLOSED || range.last - range.first + 1 != c->write.length)
		return fault_header(r, ERR_INVALID_HEADER_VALUE, "x-ms-source-range", text);
	c->source.range = text;
	return ERR_OK;
}

static enum err parse(struct request *r)
{
	struct slice kind = request_header(r, "x-ms-write"), partition;
	struct from_url_call *c = ARENA_NEW(r->arena, struct from_url_call);
	if (!c)
		return ERR_NO_MEMORY;
	r->call = c;
	TRY(rest_file_refuse_body(r));
	if (!slice_is_set(kind))
		return fault_header(r, ERR_MISSING_REQUIRED_HEADER, "x-ms-write", SLICE_NONE);
	if (!slice_eq_nocase(kind, SLICE("update")))
		return fault_header(r, ERR_INVALID_HEADER_VALUE, "x-ms-write", kind);
	TRY(rest_file_write_range_parse(r, &c->write));
	TRY(rest_file_write_time_parse(r, &c->write));
	TRY(rest_file_target_write(r, FILE_KIND_FILE, &c->write.target));
	TRY(rest_file_source_parse(r, &c->source));
	TRY(parse_source_range(r, c));
	TRY(parse_crc(r, "x-ms-source-content-crc64", &c->has_crc64, &c->crc64));
	TRY(parse_crc(r, "x-ms-source-if-match-crc64", &c->has_match, &c->match));
	TRY(parse_crc(r, "x-ms-source-if-none-match-crc64", &c->has_none_match, &c->none_match));
	TRY(rest_file_find(r, &partition));
	request_step_call(r, start);
	request_step_work(r, fetch);
	rest_file_step_write_in(r, partition, file_apply_write, &c->write.events);
	return ERR_OK;
}

static enum err format(struct request *r)
{
	struct from_url_call *c = r->call;
	rest_file_put_written(r, &c->write.inode);
	body_checks_put_headers(r, false, true);
	response_header(r, "x-ms-request-server-encrypted", SLICE("true"));
	return ERR_OK;
}

const struct handler handler_file_put_range_from_url = { .parse = parse,
							 .format = format,
							 .refused = rest_file_refused };
