/* SPDX-License-Identifier: Apache-2.0
 * The URL of a copy source: whether it names this server, and which of its services; and the bytes of a source. A fetch
 * never leaves the server. */
#ifndef REST_COPY_URL_H
#define REST_COPY_URL_H

#include "rest/core/request.h"

/* What stands between the scheme and the path; absent if it is no http or https URL. */
struct slice rest_source_url_authority(struct slice url);
/* False: the URL names no service of this server. */
bool rest_source_url_service(const struct request *, struct slice url, enum service *ret);
/* The URL as it is asked for: the Java library encodes the path as a whole, and an encoded slash separates names as a
 * plain one does. */
enum err rest_source_url_target(struct request *, struct slice url, struct slice *ret);
/* It proves itself by a SAS. */
bool rest_source_url_has_signature(struct slice url);
/* The row of a plain read of an object, of Blob and of File alike: nothing else is done for a copy. */
bool rest_source_is_get(const struct op *);

/* Newer versions also say, beside the refusal of the copy, what the source answered. */
void rest_source_tell_answer(struct request *, enum err);

/* The next bytes of a source; *ret 0 at its end. */
typedef enum err source_read_fn(void *reader, char *dst, size_t cap, size_t *ret);
/* On a worker: all bytes into req->payload through the writer, which is used up, with their hashes in req->body_md5 and
 * body_crc64. */
enum err rest_source_fetch(struct request *, struct payload_writer *, source_read_fn *, void *reader) MUST_CHECK;

#endif
