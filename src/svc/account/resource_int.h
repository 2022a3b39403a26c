/* SPDX-License-Identifier: Apache-2.0
 * Rows of deleted resources, inside the room. */
#ifndef SVC_ACCOUNT_RESOURCE_INT_H
#define SVC_ACCOUNT_RESOURCE_INT_H

#include "svc/account/resource.h"

enum err deleted_decode(struct slice value, struct arena *, struct deleted_resource *ret) MUST_CHECK;

#endif
