/* SPDX-License-Identifier: Apache-2.0
 * Settings of the account that decide what becomes of replaced and deleted blobs. */
#ifndef REST_BLOB_RULES_H
#define REST_BLOB_RULES_H

#include "rest/core/request.h"
#include "svc/blob/blob.h"

enum err rest_blob_rules_load(struct request *, struct blob_rules *ret) MUST_CHECK;

/* Account setting AllowPermanentDelete. */
enum err rest_blob_permanent_delete_allowed(struct request *, bool *ret) MUST_CHECK;

#endif
