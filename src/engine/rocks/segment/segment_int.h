/* SPDX-License-Identifier: Apache-2.0
 * Between segment.c (space) and segment_io.c (bytes). */
#ifndef ENGINE_ROCKS_SEGMENT_INT_H
#define ENGINE_ROCKS_SEGMENT_INT_H

#include "engine/rocks/segment/segment.h"

#include <pthread.h>
#include <stdatomic.h>

enum {
	REGION_WORDS = SEGMENT_REGION_BLOCKS / 64,
	FILES_MAX = 65536,
	REGIONS_MAX = FILES_MAX * SEGMENT_FILE_REGIONS, /* 64 TiB */
	POOL_MAX = 8,					/* write buffers kept for the next writer */
};

struct region {
	uint64_t used[REGION_WORDS];
	uint64_t published[REGION_WORDS];
	size_t grown_blocks; /* the file has this much of the region */
	size_t free_blocks;  /* of these, not used */
	size_t cursor;
	bool leaving;	  /* its space is being given back */
	size_t no_run_of; /* no run of so many free blocks was found since the last release */
	/* Blocks whose space went back to the file system while others of the region stayed: they count as used until
	 * a writer asks the disk for them again. NULL: there never were any. */
	uint64_t *holes;
	size_t hole_blocks;
};

struct segment_file {
	int fd;				    /* through the page cache: reads */
	int direct_fd;			    /* writes; -1: not on this file system */
	atomic_uint_fast64_t writes;	    /* counted when a write has ended */
	atomic_uint_fast64_t writes_synced; /* so many of them are durable */
};

#define SEGMENTS_ALIVE UINT32_C(0x73656753)

struct segments {
	uint32_t magic; /* SEGMENTS_ALIVE from open to close */
	struct segments_options options;
	bool buffered;
	int dir_fd;
	pthread_mutex_t lock; /* used bitmaps, growth, the pool */
	struct region **region;
	atomic_size_t region_count;
	size_t current;	   /* where the last run was found */
	bool cannot_punch; /* the file system takes nothing back */
	size_t growing;	   /* no region before this one can grow */
	struct segment_file **file;
	void *pool[POOL_MAX];
	size_t pool_count;
	atomic_uint_fast64_t next_id;
	atomic_uint_fast64_t published_blocks, bytes_written, syncs;
};

struct segment_file *segment_file_of(struct segments *, uint32_t region);
uint64_t segment_offset(uint64_t place);
enum err segment_reserve(struct segments *, size_t blocks, uint64_t *ret_place) MUST_CHECK;
void segment_unreserve(struct segments *, uint64_t place, size_t blocks);

#endif
