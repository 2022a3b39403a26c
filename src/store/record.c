/* SPDX-License-Identifier: Apache-2.0
 * Version and checksum around every value; the checksum covers partition and key, so that a row in the wrong place
 * is damage. */
#include "store/record.h"

#include "base/bytes.h"

uint32_t record_seed(struct slice partition)
{
	return crc32c(0, partition);
}

static uint32_t record_crc(uint32_t seed, struct slice key, struct slice version_and_payload)
{
	return crc32c(crc32c(seed, key), version_and_payload);
}

void record_wrap(struct slice partition, struct slice key, struct slice payload, char *dst)
{
	dst[0] = RECORD_VERSION;
	if (payload.len)
		memcpy(dst + 1, payload.ptr, payload.len);
	bytes_store(dst + 1 + payload.len, record_crc(record_seed(partition), key, slice_make(dst, payload.len + 1)),
		    4);
}

enum err record_unwrap(struct slice partition, struct slice key, struct slice record, struct slice *ret)
{
	return record_unwrap_seeded(record_seed(partition), key, record, ret);
}

enum err record_unwrap_seeded(uint32_t seed, struct slice key, struct slice record, struct slice *ret)
{
	if (record.len < RECORD_OVERHEAD_BYTES || record.ptr[0] != RECORD_VERSION)
		return ERR_CORRUPT;
	if (record_crc(seed, key, slice_first(record, record.len - 4)) != bytes_load(record.ptr + record.len - 4, 4))
		return ERR_CORRUPT;
	*ret = record_payload(record);
	return ERR_OK;
}
