/* SPDX-License-Identifier: Apache-2.0
 * How rows lie in RocksDB: keys, families, and the rows the engine writes for itself.
 *
 * A row's key is partition 00 key (neither holds a NUL). The engine's own rows begin with 00:
 *   00 'b' u32 region      which blocks of a region hold published extents (segment.h)
 *   00 'd' u64 sequence    a retired extent waiting to be reclaimed: u64 id, u64 place, u32 length
 *   00 'f'                 u64 number: every commit of the journal up to this one is in tables
 *   00 'o'                 u64 count: how often this store was opened; the upper bits of extent ids
 * Numbers in keys are big-endian, in values little-endian. A value is wrapped as every record of the store is
 * (store/record.h: version, payload, CRC-32C over key and both). Data format 3 had the bare payload; it is still read,
 * and told apart by its length.
 *
 * Rows lie in three column families, which commit together: contents (KEY_TAG_CONTENT), metadata (the rows above and
 * the store's own partition), and all others. Contents come with ids that grow, so their tables follow one another and
 * are moved from level to level; among the other rows, which come in any order, every compaction would write them
 * again. Metadata is written by every group: among the other rows it would make each new table reach from one end of
 * the keys to the other, and no table could be moved then. */
#ifndef ENGINE_ROCKS_LAYOUT_H
#define ENGINE_ROCKS_LAYOUT_H

#include "base/err.h"
#include "base/limits.h"
#include "store/engine.h"
#include "store/record.h"

enum family { FAMILY_ROWS, FAMILY_CONTENTS, FAMILY_METADATA, FAMILIES };
/* Their names in RocksDB. The last one is that of data format 3 and stays. */
#define LAYOUT_NAME_ROWS     "default"
#define LAYOUT_NAME_CONTENTS "contents"
#define LAYOUT_NAME_METADATA "books"
extern const char *const layout_family_name[FAMILIES];

enum {
	FULL_KEY_BYTES = 2 * LIMIT_KEY_BYTES + 1,
	LAYOUT_BITMAP_BYTES = 2048, /* a bit for each block of a region */
	LAYOUT_KEY_MAX_BYTES = 10,
	LAYOUT_BITMAP_KEY_BYTES = 6,
	LAYOUT_RETIRED_KEY_BYTES = 10,
	LAYOUT_RETIRED_BYTES = 20,
	LAYOUT_NUMBER_BYTES = 8,
	LAYOUT_VALUE_MAX_BYTES = LAYOUT_BITMAP_BYTES + RECORD_OVERHEAD_BYTES,
};

struct full_key {
	size_t len;
	char bytes[FULL_KEY_BYTES];
};

void full_key_make(struct full_key *, struct slice partition, struct slice key);
static inline struct slice full_key_slice(const struct full_key *k)
{
	return slice_make(k->bytes, k->len);
}
/* The first key behind those of the partition. */
void full_key_make_end(struct full_key *, struct slice partition);

enum family layout_family(struct slice partition, struct slice key);
/* Does a key (or a partition) belong to the metadata family? */
bool layout_is_metadata(struct slice full_key);

/* One of the engine's own rows, ready to be put. */
struct layout_row {
	size_t key_len, value_len;
	char key[LAYOUT_KEY_MAX_BYTES];
	char value[LAYOUT_VALUE_MAX_BYTES];
};

#define LAYOUT_OPENS_KEY   slice_make("\0o", 2)
#define LAYOUT_FLUSHED_KEY slice_make("\0f", 2)
void layout_number_encode(struct layout_row *, struct slice key, uint64_t number);
enum err layout_number_decode(struct slice key, struct slice value, uint64_t *ret) MUST_CHECK;

void layout_bitmap_encode(struct layout_row *, uint32_t region, const unsigned char bitmap[LAYOUT_BITMAP_BYTES]);
enum err layout_bitmap_decode(struct slice key, struct slice value, uint32_t *ret_region,
			      const unsigned char **ret_bitmap) MUST_CHECK;

void layout_retired_key(char key[LAYOUT_RETIRED_KEY_BYTES], uint64_t sequence);
void layout_retired_encode(struct layout_row *, uint64_t sequence, const struct extent_ref *);
enum err layout_retired_decode(struct slice key, struct slice value, uint64_t *ret_sequence,
			       struct extent_ref *ret) MUST_CHECK;

#endif
