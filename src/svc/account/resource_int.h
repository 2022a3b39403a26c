/* SPDX-License-Identifier: Apache-2.0
 * Rows of deleted resources, inside the room. */
#ifndef SVC_ACCOUNT_RESOURCE_INT_H
#define SVC_ACCOUNT_RESOURCE_INT_H

#include "svc/account/resource.h"

void deleted_key(struct key *, struct slice name, uint64_t ticks);
enum err deleted_decode(struct slice value, struct arena *, struct deleted_resource *ret) MUST_CHECK;

#endif
