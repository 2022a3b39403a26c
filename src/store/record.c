/* SPDX-License-Identifier: Apache-2.0 */
#include "store/record.h"

#include "base/bytes.h"

static uint32_t record_crc(struct slice partition, struct slice key, struct slice version_and_payload)
{
	return crc32c(crc32c(crc32c(0, partition), key), version_and_payload);
}

void record_wrap(struct slice partition, struct slice key, struct slice payload, char *dst)
{
	dst[0] = RECORD_VERSION;
	if (payload.len)
		memcpy(dst + 1, payload.ptr, payload.len);
	uint32_t crc = record_crc(partition, key, slice_make(dst, payload.len + 1));
	char *tail = dst + 1 + payload.len;
	for (int i = 0; i < 4; i++)
		tail[i] = (char)(crc >> (8 * i));
}

enum err record_unwrap(struct slice partition, struct slice key, struct slice record, struct slice *ret)
{
	if (record.len < RECORD_OVERHEAD_BYTES || record.ptr[0] != RECORD_VERSION)
		return ERR_CORRUPT;
	const unsigned char *tail = (const unsigned char *)record.ptr + record.len - 4;
	uint32_t want = (uint32_t)tail[0] | (uint32_t)tail[1] << 8 | (uint32_t)tail[2] << 16 | (uint32_t)tail[3] << 24;
	if (record_crc(partition, key, slice_first(record, record.len - 4)) != want)
		return ERR_CORRUPT;
	*ret = record_payload(record);
	return ERR_OK;
}
