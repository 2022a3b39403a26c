/* SPDX-License-Identifier: Apache-2.0
 * What the engine stores for a key: one version byte, the payload, and a CRC-32C (little-endian) over partition, key,
 * version and payload. A record that lands under another key, or of which a bit flipped, is ERR_CORRUPT and never a
 * wrong value. Threads: pure functions. */
#ifndef STORE_RECORD_H
#define STORE_RECORD_H

#include "base/arena.h"
#include "base/err.h"
#include "base/limits.h"
#include "base/slice.h"

enum {
	RECORD_VERSION = 1,
	RECORD_OVERHEAD_BYTES = 5,
	RECORD_PAYLOAD_MAX_BYTES = LIMIT_VALUE_BYTES - RECORD_OVERHEAD_BYTES
};

/* dst has payload.len + RECORD_OVERHEAD_BYTES bytes. */
void record_wrap(struct slice partition, struct slice key, struct slice payload, char *dst);
/* *ret points into `record`. */
enum err record_unwrap(struct slice partition, struct slice key, struct slice record, struct slice *ret) MUST_CHECK;
/* The same for many of one partition, of which only the seed counts. */
uint32_t record_seed(struct slice partition);
enum err record_unwrap_seeded(uint32_t seed, struct slice key, struct slice record, struct slice *ret) MUST_CHECK;
/* The payload of a record that was made here and cannot be damaged. */
static inline struct slice record_payload(struct slice record)
{
	return slice_make(record.ptr + 1, record.len - RECORD_OVERHEAD_BYTES);
}

#endif
