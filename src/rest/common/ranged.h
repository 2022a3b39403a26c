/* SPDX-License-Identifier: Apache-2.0
 * A read of a range: Range or x-ms-range, and the hash of it that a client may ask for. Get Blob and Get File. */
#ifndef REST_RANGED_H
#define REST_RANGED_H

#include "rest/core/request.h"

enum { RANGED_HASH_MAX_BYTES = 4 * 1024 * 1024 };

struct ranged {
	bool has_range;
	uint64_t first, last; /* inclusive; last is UINT64_MAX if open */
	bool hash_md5, hash_crc64;
};

/* The range alone. One that cannot be read is none, as HTTP has it. */
void ranged_parse_range(struct request *, struct ranged *ret);
/* With x-ms-range-get-content-md5 and, where the service has it, -crc64: only with a range, one of them, and up to 4
 * MiB. */
enum err ranged_parse(struct request *, bool crc64_too, struct ranged *ret) MUST_CHECK;
static inline bool ranged_hashes(const struct ranged *g)
{
	return g->hash_md5 || g->hash_crc64;
}
/* A hash over many bytes is made by a worker: to be called when the steps that read are there. */
void ranged_step_hash(struct request *, const struct ranged *);
/* The range may be any length, but not its hash: the error if it has more bytes than are hashed. */
enum err ranged_check_hash(struct request *, const struct ranged *, uint64_t length) MUST_CHECK;
/* The bytes as the body, with their hash. */
void ranged_put_hashed(struct request *, const struct ranged *, struct slice bytes);
void ranged_put_content_range(struct request *, uint64_t offset, uint64_t length, uint64_t total);

#endif
