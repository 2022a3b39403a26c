/* SPDX-License-Identifier: Apache-2.0
 * Keys and families of rows in RocksDB; encode and decode of the engine's own rows. */
#include "engine/rocks/layout/layout.h"

#include "base/bytes.h"
#include "store/key.h"

#include <assert.h>

const char *const layout_family_name[FAMILIES] = { LAYOUT_NAME_ROWS, LAYOUT_NAME_CONTENTS, LAYOUT_NAME_METADATA };

void full_key_make(struct full_key *k, struct slice partition, struct slice key)
{
	assert(partition.len && partition.len <= LIMIT_KEY_BYTES && key.len <= LIMIT_KEY_BYTES);
	memcpy(k->bytes, partition.ptr, partition.len);
	k->bytes[partition.len] = 0;
	if (key.len)
		memcpy(k->bytes + partition.len + 1, key.ptr, key.len);
	k->len = partition.len + 1 + key.len;
}

void full_key_make_end(struct full_key *k, struct slice partition)
{
	full_key_make(k, partition, SLICE_NONE);
	k->bytes[partition.len] = 1;
}

/* The engine's rows begin with 0, the store's partition with 1, those of accounts with a letter or digit. */
bool layout_is_metadata(struct slice full_key)
{
	return (unsigned char)full_key.ptr[0] <= 1;
}

enum family layout_family(struct slice partition, struct slice key)
{
	if (layout_is_metadata(partition))
		return FAMILY_METADATA;
	return key.len && key.ptr[0] == KEY_TAG_CONTENT ? FAMILY_CONTENTS : FAMILY_ROWS;
}

/* ---- the engine's own rows ---- */

static void key_store(char *dst, uint64_t v, int bytes)
{
	for (int i = 0; i < bytes; i++)
		dst[i] = (char)(v >> (8 * (bytes - 1 - i)));
}

static uint64_t key_load(const char *src, int bytes)
{
	uint64_t v = 0;
	for (int i = 0; i < bytes; i++)
		v = v << 8 | (unsigned char)src[i];
	return v;
}

static void wrap(struct layout_row *row, struct slice payload)
{
	assert(payload.len + RECORD_OVERHEAD_BYTES <= sizeof row->value);
	record_wrap(SLICE_NONE, slice_make(row->key, row->key_len), payload, row->value);
	row->value_len = payload.len + RECORD_OVERHEAD_BYTES;
}

/* A payload of a length that is known: wrapped, or bare as in data format 3. */
static enum err unwrap(struct slice key, struct slice value, size_t payload_bytes, struct slice *ret)
{
	if (value.len == payload_bytes) {
		*ret = value;
		return ERR_OK;
	}
	if (value.len != payload_bytes + RECORD_OVERHEAD_BYTES)
		return ERR_CORRUPT;
	return record_unwrap(SLICE_NONE, key, value, ret);
}

void layout_number_encode(struct layout_row *row, struct slice key, uint64_t number)
{
	char payload[LAYOUT_NUMBER_BYTES];
	assert(key.len && key.len <= sizeof row->key);
	memcpy(row->key, key.ptr, key.len);
	row->key_len = key.len;
	bytes_store(payload, number, sizeof payload);
	wrap(row, slice_make(payload, sizeof payload));
}

enum err layout_number_decode(struct slice key, struct slice value, uint64_t *ret)
{
	struct slice payload;
	TRY(unwrap(key, value, LAYOUT_NUMBER_BYTES, &payload));
	*ret = bytes_load(payload.ptr, LAYOUT_NUMBER_BYTES);
	return ERR_OK;
}

void layout_bitmap_encode(struct layout_row *row, uint32_t region, const unsigned char bitmap[LAYOUT_BITMAP_BYTES])
{
	row->key[0] = 0;
	row->key[1] = 'b';
	key_store(row->key + 2, region, 4);
	row->key_len = LAYOUT_BITMAP_KEY_BYTES;
	wrap(row, slice_make((const char *)bitmap, LAYOUT_BITMAP_BYTES));
}

enum err layout_bitmap_decode(struct slice key, struct slice value, uint32_t *ret_region,
			      const unsigned char **ret_bitmap)
{
	struct slice payload;
	if (key.len != LAYOUT_BITMAP_KEY_BYTES)
		return ERR_CORRUPT;
	TRY(unwrap(key, value, LAYOUT_BITMAP_BYTES, &payload));
	*ret_region = (uint32_t)key_load(key.ptr + 2, 4);
	*ret_bitmap = (const unsigned char *)payload.ptr;
	return ERR_OK;
}

void layout_retired_key(char key[LAYOUT_RETIRED_KEY_BYTES], uint64_t sequence)
{
	key[0] = 0;
	key[1] = 'd';
	key_store(key + 2, sequence, 8);
}

void layout_retired_encode(struct layout_row *row, uint64_t sequence, const struct extent_ref *e)
{
	char payload[LAYOUT_RETIRED_BYTES];
	layout_retired_key(row->key, sequence);
	row->key_len = LAYOUT_RETIRED_KEY_BYTES;
	bytes_store(payload, e->id, 8);
	bytes_store(payload + 8, e->place, 8);
	bytes_store(payload + 16, e->length_bytes, 4);
	wrap(row, slice_make(payload, sizeof payload));
}

enum err layout_retired_decode(struct slice key, struct slice value, uint64_t *ret_sequence, struct extent_ref *ret)
{
	struct slice payload;
	if (key.len != LAYOUT_RETIRED_KEY_BYTES)
		return ERR_CORRUPT;
	TRY(unwrap(key, value, LAYOUT_RETIRED_BYTES, &payload));
	*ret_sequence = key_load(key.ptr + 2, 8);
	ret->id = bytes_load(payload.ptr, 8);
	ret->place = bytes_load(payload.ptr + 8, 8);
	ret->length_bytes = (uint32_t)bytes_load(payload.ptr + 16, 4);
	return ERR_OK;
}
