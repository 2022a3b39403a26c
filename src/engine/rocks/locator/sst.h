/* SPDX-License-Identifier: Apache-2.0
 * Reads a table file of RocksDB's without RocksDB: where its blocks are, and the rows of one block. Only what this
 * engine has RocksDB write (block-based tables of format 5, not compressed, XXH3); anything else is refused, and
 * whoever asked goes through RocksDB. Every block is verified before it is looked at.
 *
 *   file     data blocks one after the other, other blocks, footer
 *   block    entries, (a hash of the keys,) places where a key stands in full (u32 each), their number (u32)
 *   behind   u8 kind of compression (0: none), u32 of the XXH3 of the block
 *   entry    bytes shared with the key before, bytes not shared, (bytes of the value,) key, value; lengths as varints
 *   key      the row's key, then u64: sequence << 8 | kind of entry */
#ifndef ENGINE_ROCKS_SST_H
#define ENGINE_ROCKS_SST_H

#include "engine/rocks/layout/layout.h"

enum { SST_TRAILER_BYTES = 5, SST_ENTRY_TAIL_BYTES = 8, SST_RANGES_MAX = 16 };

struct sst_range {
	struct slice from, until;
};

/* What is known of a table. */
struct sst_map {
	uint64_t row_count;
	uint32_t block_count;
	uint32_t *block_at;			/* and where the last one ends */
	struct sst_range range[SST_RANGES_MAX]; /* deleted as a whole: rows below or in this table may be gone */
	size_t range_count;
};

struct sst_row {
	struct slice key, value;
	uint64_t sequence;
	bool deleted;
};

/* Goes through the entries of a block. */
struct sst_cursor {
	const unsigned char *at, *end;
	size_t key_len;
	struct slice value;
	char key[FULL_KEY_BYTES + SST_ENTRY_TAIL_BYTES];
};

/* ERR_CORRUPT: not a table as we have them written, or damaged; ERR_IO, ERR_NO_MEMORY: another time perhaps. */
enum err sst_map_read(int fd, struct sst_map *ret) MUST_CHECK;
void sst_map_free(struct sst_map *);

static inline uint32_t sst_block_bytes(const struct sst_map *m, uint32_t block)
{
	return m->block_at[block + 1] - m->block_at[block];
}
/* Reads sst_block_bytes() and verifies them. */
enum err sst_block_read(int fd, const struct sst_map *, uint32_t block, char *dst) MUST_CHECK;

/* False: damaged. */
bool sst_block_begin(struct sst_cursor *, struct slice block);
/* False at the end, or where the block is damaged. */
bool sst_block_next(struct sst_cursor *, struct sst_row *ret);
/* The newest row of that key in a block. ERR_NOT_FOUND: it has none; ERR_LIMIT: it cannot be told this way. */
enum err sst_block_find(struct slice block, struct slice key, struct sst_row *ret) MUST_CHECK;

#endif
