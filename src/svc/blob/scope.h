/* SPDX-License-Identifier: Apache-2.0
 * What a container says of encryption scopes: in the record of the container, as the service's own part of it. */
#ifndef SVC_BLOB_SCOPE_H
#define SVC_BLOB_SCOPE_H

#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"

struct container_scope {
	struct slice name;  /* of blobs that name none; absent: the account's own key */
	bool deny_override; /* and of all others too */
};

void blob_scope_encode(struct buf *, const struct container_scope *);
/* Nothing is what a container has that never said any. */
enum err blob_scope_decode(struct slice extra, struct container_scope *ret) MUST_CHECK;
/* 3 to 63 letters, digits and hyphens. */
bool blob_scope_name_is_valid(struct slice);

#endif
