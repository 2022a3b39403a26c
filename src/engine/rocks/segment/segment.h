/* SPDX-License-Identifier: Apache-2.0
 * Extents on disk. Files of 1 GiB under segments/ are cut into regions of 64 MiB, a region into blocks of 4 KiB. An
 * extent is a run of blocks of one region: its bytes, then a CRC-32C for each 64 KiB of them (little-endian, seeded
 * with extent id and chunk number), then zeros to the end of the block. place = region << 32 | first block.
 *
 * Two bitmaps for each region: `used` (in memory: reserved by a writer, sealed or published) and `published` (also a
 * row in the database, written in the batch that publishes or reclaims). After a crash only what is published is used
 * again. Space is reused as soon as it is released; bytes never move. Of the regions in which nothing is left one is
 * kept for what comes, the others are given back to the file system (as holes: a file keeps its length). On a disk that
 * is short of space so is what is free between extents: rows and tables need room, too.
 *
 * Threads: writers and readers from any; the published_* calls under the caller's publish lock. */
#ifndef ENGINE_ROCKS_SEGMENT_H
#define ENGINE_ROCKS_SEGMENT_H

#include "store/engine.h"

enum {
	SEGMENT_BLOCK_BYTES = 4096,
	SEGMENT_REGION_BLOCKS = 16384,
	SEGMENT_BITMAP_BYTES = SEGMENT_REGION_BLOCKS / 8,
	SEGMENT_FILE_REGIONS = 16,
	SEGMENT_CHUNK_BYTES = 64 * 1024,
};

struct segments;

struct segments_options {
	int dir_fd;	   /* of the store; borrowed */
	bool buffered;	   /* no O_DIRECT */
	uint64_t first_id; /* ids count up from here */
	/* True if the disk may grow by so many bytes. */
	bool (*may_grow)(void *arg, uint64_t bytes);
	void *arg;
};

enum err segments_open(const struct segments_options *, struct segments **ret) MUST_CHECK;
void segments_close(struct segments *); /* accepts NULL */
/* At open: what the database says is published in a region. ERR_CORRUPT if there is no such region. */
enum err segments_restore(struct segments *, uint32_t region, const unsigned char *bitmap) MUST_CHECK;
/* After that, before the first writer. */
void segments_restored(struct segments *);
/* Gives the space of free regions back; where the disk is short of it all that is free, wherever it lies. May take
 * milliseconds; one thread at a time. */
void segments_give_back(struct segments *, bool short_of_space);

enum err segment_writer_new(struct segments *, uint32_t length_hint, struct extent_writer **ret);
uint64_t segment_writer_id(const struct extent_writer *);
enum err segment_writer_append(struct extent_writer *, struct slice bytes);
enum err segment_writer_seal(struct extent_writer *, struct extent_ref *ret);
enum err segment_writer_append_seal(struct extent_writer *, struct slice last, struct extent_ref *ret);
void segment_writer_free(struct extent_writer *);
enum err segment_read(struct segments *, const struct extent_ref *, uint32_t offset, uint32_t length, void *dst);
/* The space may be reused: never published, or no longer. */
void segment_release(struct segments *, const struct extent_ref *);

/* Makes the bytes of an extent durable (once for all extents of a file). False: the disk failed. */
bool segment_sync(struct segments *, const struct extent_ref *);
/* Sets or clears the published bits of an extent. False: the ref is not one of ours (damaged record). */
bool segment_published_set(struct segments *, const struct extent_ref *, bool published);
/* Are all blocks of the extent published? False for a ref that cannot be ours. */
bool segment_is_published(struct segments *, const struct extent_ref *);
bool segment_ref_valid(struct segments *, const struct extent_ref *);
/* Blocks of an extent of so many bytes, checksums included. */
size_t segment_blocks(uint32_t length_bytes);
/* The bitmap of a region as it is to be stored. */
const unsigned char *segment_published(struct segments *, uint32_t region);
static inline uint32_t segment_region(const struct extent_ref *e)
{
	return (uint32_t)(e->place >> 32);
}
void segment_stats(struct segments *, struct engine_stats *);

#endif
