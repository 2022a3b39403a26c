/* SPDX-License-Identifier: Apache-2.0
 * Keys and encryption scopes that a request names: x-ms-encryption-key and its two companions, the same of a copy's
 * source, x-ms-encryption-scope, the scope of a SAS (ses), and what the container says of them.
 *
 * A key lives as long as its request: in the request's arena, which is wiped at the end. It is never written. */
#ifndef REST_BLOB_ENCRYPTION_H
#define REST_BLOB_ENCRYPTION_H

#include "rest/blob/common.h"

#define REST_BLOB_ACCOUNT_SCOPE "$account-encryption-key"

enum encryption_use {
	ENCRYPTION_READ,    /* a key, of a blob that is there */
	ENCRYPTION_CHANGE,  /* a key or a scope, of a blob that is there */
	ENCRYPTION_CREATE,  /* a key or a scope, which a new blob gets */
	ENCRYPTION_SCOPE,   /* only a scope, which a new blob gets */
	ENCRYPTION_REFUSED, /* the operation takes neither */
};

/* From the head into the target; with a key, r->cipher is set and payloads will be encrypted. */
enum err rest_blob_encryption_parse(struct request *, enum encryption_use, struct blob_target *) MUST_CHECK;
/* x-ms-source-encryption-key of the request whose part reads the source: into the part's target and cipher. */
enum err rest_blob_encryption_parse_source(struct request *part, struct blob_target *) MUST_CHECK;
/* rest_blob_find of an operation that parsed these: asks the container, too, and binds the cipher to the blob. */
enum err rest_blob_encryption_find(struct request *, enum encryption_use, struct blob_target *,
				   struct slice *ret_partition) MUST_CHECK;
/* Of bytes that were found: how they are read; NULL: as they lie. */
const struct extent_cipher *rest_blob_encryption_cipher(const struct request *, const struct blob *);

/* x-ms-request-server-encrypted for versions that know it, and what the blob is encrypted with. */
void rest_blob_put_encrypted(struct request *, const struct blob_encryption *);
/* Only the latter. */
void rest_blob_put_encryption(struct request *, const struct blob_encryption *);

#endif
