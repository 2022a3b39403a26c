/* SPDX-License-Identifier: Apache-2.0
 * Set Blob Tags: changes tags and index together; ETag and Last-Modified stay. */
#ifndef SVC_BLOB_TAGS_OPS_H
#define SVC_BLOB_TAGS_OPS_H

#include "svc/blob/blob.h"
#include "svc/blob/tags.h"

struct blob_tags_call {
	struct blob_target target;
	struct pairs tags;
};
enum err blob_apply_set_tags(struct txn *, void *call);

#endif
