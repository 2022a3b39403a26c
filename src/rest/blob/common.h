/* SPDX-License-Identifier: Apache-2.0
 * What the handlers of the Blob service share: finding the container, reading the headers that many operations take,
 * writing the headers that many answers carry. */
#ifndef REST_BLOB_COMMON_H
#define REST_BLOB_COMMON_H

#include "rest/core/body_checks.h"
#include "rest/core/op.h"
#include "svc/account/resource.h"
#include "svc/blob/blob.h"

/* The container of the URL: checks its name, finds its record (ERR_CONTAINER_NOT_FOUND) and its partition. */
enum err rest_blob_find_container(struct request *, struct resource *ret, struct slice *ret_partition) MUST_CHECK;
/* As above for an object: checks the blob's name too. */
enum err rest_blob_find(struct request *, struct slice *ret_partition) MUST_CHECK;
/* Finds it when all of the head is read, and then writes to it: what is malformed is told before what is missing. For
 * operations without a body. */
void rest_blob_step_write(struct request *, apply_fn *);

/* snapshot, versionid, x-ms-lease-id, x-ms-if-tags, account rules; conditions are parsed as for a read or a write. What
 * was never changes: a write that names a snapshot or version is refused, unless it is one of those that may (_any). */
enum err rest_blob_target_read(struct request *, struct blob_target *ret) MUST_CHECK;
enum err rest_blob_target_write(struct request *, struct blob_target *ret) MUST_CHECK;
enum err rest_blob_target_write_any(struct request *, struct blob_target *ret) MUST_CHECK;
/* Without conditional headers (Put Block, tiers, tags ...): those given are refused. */
enum err rest_blob_target_plain(struct request *, struct blob_target *ret) MUST_CHECK;
enum err rest_blob_target_plain_any(struct request *, struct blob_target *ret) MUST_CHECK;

/* The x-ms-blob-content-* headers; with standard_too Content-Type counts where x-ms-blob-content-type is missing. */
enum err rest_blob_http_parse(struct request *, bool standard_too, struct blob_http *ret) MUST_CHECK;
/* Of Set Blob Properties, which keeps whatever Base64 it is given as the MD5. */
enum err rest_blob_http_parse_any_md5(struct request *, struct blob_http *ret) MUST_CHECK;

/* Does the answer say the MD5 of what came? If the request did; before 2019-02-02 always, when there was no CRC64. */
static inline bool blob_answers_md5(const struct request *r, const struct body_checks *c)
{
	return c->has_md5 || r->version < VERSION(2019, 2, 2);
}

struct blob_put_page_call;
struct blob_append_call;
/* The longest block that Append Block takes, by version. */
uint64_t rest_blob_append_limit(uint32_t version);
/* x-ms-blob-condition-appendpos, -maxsize. */
enum err rest_blob_append_conditions_parse(struct request *, struct blob_append_call *) MUST_CHECK;
/* Range or x-ms-range of whole pages, at most 4 MiB unless the call clears. */
enum err rest_blob_page_range_parse(struct request *, struct blob_put_page_call *) MUST_CHECK;
/* x-ms-if-sequence-number-*. */
enum err rest_blob_sequence_conditions_parse(struct request *, struct blob_put_page_call *) MUST_CHECK;
/* The blockid parameter, decoded. */
enum err rest_blob_block_id_parse(struct request *, struct slice *ret) MUST_CHECK;
/* A header that is true or false; `absent` if it is not there. ERR_INVALID_HEADER_VALUE. */
enum err rest_blob_flag_parse(struct request *, const char *header, bool absent, bool *ret) MUST_CHECK;
/* x-ms-access-tier; TIER_NONE if absent. ERR_INVALID_HEADER_VALUE. */
enum err rest_blob_tier_parse(struct request *, enum blob_tier *ret) MUST_CHECK;
const char *rest_blob_tier_word(enum blob_tier);
/* x-ms-rehydrate-priority; Standard if absent. ERR_INVALID_HEADER_VALUE. */
enum err rest_blob_rehydrate_priority_parse(struct request *, bool *ret_high) MUST_CHECK;
const char *rest_blob_rehydrate_priority_word(const struct blob *);
/* x-ms-immutability-policy-until-date, which must be there, and -mode. */
enum err rest_blob_immutability_parse(struct request *, enum immutability_mode *ret_mode,
				      uint64_t *ret_until_ticks) MUST_CHECK;
/* The headers every creating write takes, into a put call; but for those of encryption (encryption.h). */
enum err rest_blob_put_headers_parse(struct request *, struct blob_put_call *) MUST_CHECK;

/* ETag and Last-Modified. */
void rest_blob_put_etag(struct request *, uint64_t etag, uint64_t modified_ticks);
/* All properties of a blob as headers; whole says that Content-MD5 fits the body sent. */
void rest_blob_put_properties(struct request *, const struct blob *, uint64_t now_ticks, bool whole);
void rest_blob_put_version(struct request *, const struct blob *);
/* Runs blob_apply_get through the cache of hot records, and on one snapshot where that does not do. From a STEP_CALL,
 * which returns its ERR_BUDGET. */
enum err rest_blob_read(struct request *, struct slice partition, struct blob_get_call *) MUST_CHECK;
/* Content-Range of the part that was found. */
/* The pieces found become the body of the answer. */
enum err rest_blob_put_body(struct request *, const struct blob_get_call *) MUST_CHECK;
/* A time as snapshot, version ids show it: 28 characters in the arena. */
struct slice rest_blob_time_text(struct arena *, uint64_t ticks);
bool rest_blob_time_text_parse(struct slice text, uint64_t *ret_ticks);

#endif
