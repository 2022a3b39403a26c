/* SPDX-License-Identifier: Apache-2.0
 * Headers of reads of a range. */
#include "rest/common/ranged.h"

#include "wire/base64.h"
#include "wire/hash.h"
#include "wire/http/range.h"

enum { HASH_LOOP_BYTES = 64 * 1024 };

void ranged_parse_range(struct request *r, struct ranged *ret)
{
	struct range range = range_parse_either(request_header(r, "x-ms-range"), request_header(r, "Range"));
	*ret = (struct ranged){ .has_range = range.kind == RANGE_OPEN || range.kind == RANGE_CLOSED };
	if (!ret->has_range)
		return;
	ret->first = range.first;
	ret->last = range.last;
}

static enum err parse_flag(struct request *r, const char *header, bool *ret)
{
	struct slice v = request_header(r, header);
	bool is_true = slice_eq_nocase(v, SLICE("true"));
	if (slice_is_set(v) && !is_true && !slice_eq_nocase(v, SLICE("false")))
		return fault_header(r, ERR_INVALID_HEADER_VALUE, header, v);
	*ret = is_true;
	return ERR_OK;
}

enum err ranged_check_hash(struct request *r, const struct ranged *g, uint64_t length)
{
	const char *header = g->hash_md5 ? "x-ms-range-get-content-md5" : "x-ms-range-get-content-crc64";
	if (length <= RANGED_HASH_MAX_BYTES)
		return ERR_OK;
	return fault_header(r, ERR_INVALID_HEADER_VALUE, header, request_header(r, header));
}

enum err ranged_parse(struct request *r, bool crc64_too, struct ranged *ret)
{
	struct ranged g;
	ranged_parse_range(r, &g);
	TRY(parse_flag(r, "x-ms-range-get-content-md5", &g.hash_md5));
	if (crc64_too)
		TRY(parse_flag(r, "x-ms-range-get-content-crc64", &g.hash_crc64));
	if (g.hash_md5 && g.hash_crc64)
		return ERR_BOTH_CRC64_AND_MD5_RANGE_HEADER_PRESENT;
	if (ranged_hashes(&g) && !g.has_range)
		return fault_header(r, ERR_MISSING_REQUIRED_HEADER, "Range", SLICE_NONE);
	/* How long an open one is, is known once the object is. */
	if (ranged_hashes(&g) && g.last != UINT64_MAX)
		TRY(ranged_check_hash(r, &g, g.last - g.first + 1));
	*ret = g;
	return ERR_OK;
}

/* The answer reads and hashes up to 4 MiB. */
void ranged_step_hash(struct request *r, const struct ranged *g)
{
	if (ranged_hashes(g) && g->last - g->first >= HASH_LOOP_BYTES)
		request_step_format(r);
}

void ranged_put_hashed(struct request *r, const struct ranged *g, struct slice bytes)
{
	if (g->hash_md5) {
		unsigned char md5[16];
		char text[BASE64_BYTES(16)];
		hash_md5(bytes, md5);
		base64_encode_to(text, slice_make(md5, sizeof md5));
		response_header(r, "Content-MD5", slice_make(text, sizeof text));
	} else {
		char text[HASH_CRC64_TEXT_BYTES];
		hash_crc64_format(hash_crc64(0, bytes), text);
		response_header(r, "x-ms-content-crc64", slice_make(text, sizeof text));
	}
	r->response.body_slice = bytes;
}

void ranged_put_content_range(struct request *r, uint64_t offset, uint64_t length, uint64_t total)
{
	buf_printf(&r->response.headers, "Content-Range: bytes %llu-%llu/%llu\r\n", (unsigned long long)offset,
		   (unsigned long long)(offset + length - 1), (unsigned long long)total);
}
