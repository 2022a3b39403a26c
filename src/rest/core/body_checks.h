/* SPDX-License-Identifier: Apache-2.0
 * What a request says its body hashes to, and whether it does. */
#ifndef REST_BODY_CHECKS_H
#define REST_BODY_CHECKS_H

#include "rest/core/request.h"

/* Content-MD5 and x-ms-content-crc64 of the request: what the body must hash to. */
struct body_checks {
	bool has_md5, has_crc64;
	unsigned char md5[16];
	uint64_t crc64;
	struct slice md5_text, crc64_text;
};
enum err body_checks_parse(struct request *, struct body_checks *ret) MUST_CHECK;
/* x-ms-structured-body frames a body and carries its checksums within. Operations with a streamed body take it by
 * body_checks_parse; documents do not, and no frame is content. */
enum err body_refuse_structured(struct request *) MUST_CHECK;
/* Of a read: the answer shall be framed so (r->structured_answer). */
enum err body_structured_answer_parse(struct request *) MUST_CHECK;
/* After the body: ERR_MD5_MISMATCH or ERR_CRC64_MISMATCH with both values. */
enum err body_checks_compare(struct request *, const struct body_checks *) MUST_CHECK;
/* The same of a body in memory that nobody hashed while it came. */
enum err body_checks_compare_memory(struct request *, const struct body_checks *) MUST_CHECK;
/* A body in memory, of whatever operation: it is what its Content-MD5 says, if it has one. */
enum err body_check_memory(struct request *) MUST_CHECK;
/* x-ms-content-crc64 and Content-MD5 of what arrived, as asked. */
void body_checks_put_headers(struct request *, bool md5, bool crc64);

#endif
