/* SPDX-License-Identifier: Apache-2.0
 * Looks through a write batch. */
#include "engine/rocks/batch.h"

#include "base/bytes.h"
#include "engine/rocks/layout/layout.h"

enum {
	BATCH_HEAD_BYTES = 12,
	/* RocksDB's numbers; those of the first family have no family in them. */
	ENTRY_DELETE = 0,
	ENTRY_PUT = 1,
	ENTRY_DELETE_IN_FAMILY = 4,
	ENTRY_PUT_IN_FAMILY = 5,
	ENTRY_DELETE_RANGE_IN_FAMILY = 14,
	ENTRY_DELETE_RANGE = 15,
	VALUE_MAX_BYTES = LIMIT_VALUE_BYTES > LAYOUT_VALUE_MAX_BYTES ? LIMIT_VALUE_BYTES : LAYOUT_VALUE_MAX_BYTES,
};

static bool take_varint32(struct slice *rest, uint32_t *ret)
{
	uint64_t v = 0;
	for (unsigned shift = 0; rest->len && shift < 35; shift += 7) {
		unsigned char byte = (unsigned char)rest->ptr[0];
		*rest = slice_from(*rest, 1);
		v |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80) {
			*ret = (uint32_t)v;
			return v <= UINT32_MAX;
		}
	}
	return false;
}

static bool take_bytes(struct slice *rest, uint32_t max, struct slice *ret)
{
	uint32_t len;
	if (!take_varint32(rest, &len) || len > rest->len || len > max)
		return false;
	*ret = slice_first(*rest, len);
	*rest = slice_from(*rest, len);
	return true;
}

/* Rows of accounts have a partition, a NUL and a key; those of the metadata family begin with a byte that no account
 * has. */
static bool key_fits(uint32_t family, struct slice key)
{
	if (key.len == 0)
		return false;
	return layout_is_metadata(key) == (family == FAMILY_METADATA);
}

static bool take_entry(struct slice *rest)
{
	uint32_t family = FAMILY_ROWS;
	struct slice key, second;
	unsigned char kind = (unsigned char)rest->ptr[0];
	*rest = slice_from(*rest, 1);
	bool named =
		kind == ENTRY_DELETE_IN_FAMILY || kind == ENTRY_PUT_IN_FAMILY || kind == ENTRY_DELETE_RANGE_IN_FAMILY;
	if (named && (!take_varint32(rest, &family) || family >= FAMILIES))
		return false;
	if (!take_bytes(rest, FULL_KEY_BYTES, &key) || key.len == 0)
		return false;
	switch (kind) {
	case ENTRY_DELETE:
	case ENTRY_DELETE_IN_FAMILY:
		return key_fits(family, key);
	case ENTRY_PUT:
	case ENTRY_PUT_IN_FAMILY:
		return key_fits(family, key) && take_bytes(rest, VALUE_MAX_BYTES, &second);
	case ENTRY_DELETE_RANGE: /* of a partition, in each family */
	case ENTRY_DELETE_RANGE_IN_FAMILY:
		return take_bytes(rest, FULL_KEY_BYTES, &second) && slice_cmp(key, second) < 0;
	default:
		return false;
	}
}

bool batch_is_ours(struct slice bytes)
{
	if (bytes.len < BATCH_HEAD_BYTES)
		return false;
	uint64_t count = bytes_load(bytes.ptr + 8, 4), found = 0;
	struct slice rest = slice_from(bytes, BATCH_HEAD_BYTES);
	for (; rest.len; found++)
		if (!take_entry(&rest))
			return false;
	return found == count;
}
