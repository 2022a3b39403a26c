/* SPDX-License-Identifier: Apache-2.0
 * What a record of the journal may hold: a write batch of RocksDB's, of the few kinds this engine makes. RocksDB trusts
 * the bytes of a batch more than bytes of a disk deserve: what it does not expect may end the process. So a batch that
 * comes from the journal is looked through before RocksDB gets it.
 *
 *   batch    u64 sequence, u32 number of entries, entries
 *   entry    u8 kind, (varint family, unless it is the first,) key, then by kind a value or the key behind a range;
 *            each as a varint length and bytes */
#ifndef ENGINE_ROCKS_BATCH_H
#define ENGINE_ROCKS_BATCH_H

#include "base/slice.h"

bool batch_is_ours(struct slice bytes);

#endif
