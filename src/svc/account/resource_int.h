/* SPDX-License-Identifier: Apache-2.0
 * Rows of deleted resources and intents, inside the room. */
#ifndef SVC_ACCOUNT_RESOURCE_INT_H
#define SVC_ACCOUNT_RESOURCE_INT_H

#include "svc/account/resource.h"

/* The first byte of their keys. */
static inline char deleted_tag(char kind)
{
	return kind == RESOURCE_SHARE ? 'R' : 'r';
}
enum err deleted_decode(struct slice value, struct arena *, struct deleted_resource *ret) MUST_CHECK;
/* Gone for everybody, even if the reaper did not come by yet. */
bool deleted_is_over(const struct deleted_resource *, uint64_t now_ticks);

/* What: 'C' for a creation under way, 'D' for a generation to drop. */
enum err intent_put(struct txn *, char what, char kind, uint64_t generation) MUST_CHECK;

#endif
