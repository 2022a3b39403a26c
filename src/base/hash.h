/* SPDX-License-Identifier: Apache-2.0
 * A fast hash of bytes for tables in memory. Never stored, and not for secrets. */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include "base/slice.h"

/* The result is the seed for what follows. */
uint64_t base_hash_bytes(uint64_t seed, struct slice);

#endif
