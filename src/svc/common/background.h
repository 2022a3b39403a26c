/* SPDX-License-Identifier: Apache-2.0
 * For background threads only: a store write that waits for its answer. */
#ifndef SVC_COMMON_BACKGROUND_H
#define SVC_COMMON_BACKGROUND_H

#include "store/store.h"

enum err background_write(struct store *, struct slice partition, apply_fn *, void *call, struct arena *) MUST_CHECK;

#endif
