/* SPDX-License-Identifier: Apache-2.0
 * The old name of store_write_wait. */
#ifndef SVC_COMMON_BACKGROUND_H
#define SVC_COMMON_BACKGROUND_H

#include "store/store.h"

static inline enum err MUST_CHECK background_write(struct store *s, struct slice partition, apply_fn *apply, void *call,
						   struct arena *arena)
{
	return store_write_wait(s, partition, apply, call, arena);
}

#endif
