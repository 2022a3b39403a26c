/* SPDX-License-Identifier: Apache-2.0
 * The embedded engine: RocksDB for rows, shared segment files for extents, in one directory:
 *   FORMAT     "zaffre 5"; 4 and 3 are brought to 5, another number is refused
 *   LOCK       held while a server runs on the directory; its process and when that began
 *   TAIL       the number of the last durable commit, so that a journal that lost its end is noticed
 *   journal/   commits that are not in tables yet (journal.h)
 *   db/        RocksDB
 *   segments/  extents (segment.h)
 * It has one writer (the store's committer) and never answers CONFLICT or UNKNOWN. */
#ifndef ENGINE_ROCKS_ROCKS_H
#define ENGINE_ROCKS_ROCKS_H

#include "base/buf.h"
#include "store/engine.h"

struct rocks_options {
	const char *dir;
	const char *name;	/* of the directory in messages; NULL: dir */
	bool create;		/* make the directory and an empty store if there is none */
	uint64_t reserve_bytes; /* disk space only deletes may use; 0 = default (at most an eighth of the disk) */
	bool locator_off;	/* every read goes through RocksDB (locator/) */
	bool sync_later;	/* groups may be synced later than they are answered (engine.h) */
	bool buffered;		/* extents through the page cache, not O_DIRECT (measurements) */
};

/* On error *ret_message says what is wrong and what to do (one line). ERR_BUSY: another server has the directory;
 * ERR_CORRUPT: damage, or a format this program does not know; ERR_NO_SPACE, ERR_IO: the disk. */
enum err engine_rocks_open(const struct rocks_options *, struct engine **ret, struct buf *ret_message) MUST_CHECK;

/* One moment of a store that goes on being written to (moment.c). RocksDB's files as of it, which never change again,
 * are made at db_path: on the same file system, and not there yet. Extents that were alive then stay where they are
 * until the end. */
struct rocks_moment {
	uint64_t pin;
	uint64_t commit;    /* the last one that is in it */
	uint64_t waited_ns; /* how long commits waited for it at most */
	uint64_t took_ns;   /* until it was made, while commits went on */
};
enum err engine_rocks_moment_begin(struct engine *, const char *db_path, struct rocks_moment *ret,
				   struct buf *ret_message) MUST_CHECK;
void engine_rocks_moment_end(struct engine *, const struct rocks_moment *);
/* The moment as an engine that is only read, every table from the disk again; `dir` holds its db. Closed before the
 * moment ends. It writes nothing and takes no extents; a store over it must be `manual`. */
enum err engine_rocks_moment_open(struct engine *, const char *dir, struct engine **ret,
				  struct buf *ret_message) MUST_CHECK;

/* For a scrub of an engine that nobody writes to, or of a moment (inspect.c). */
/* All blocks of the extent are marked as holding published bytes; false also for a ref that cannot be ours. */
bool engine_rocks_extent_published(struct engine *, const struct extent_ref *);
/* Blocks it takes from its place on; the place of an extent counts blocks. */
uint64_t engine_rocks_extent_space(const struct extent_ref *);
/* Every extent that no record names any more and that waits to be reclaimed. ERR_CORRUPT if one of them is damaged. */
enum err engine_rocks_retired_each(struct engine *, void (*each)(void *arg, const struct extent_ref *),
				   void *arg) MUST_CHECK;
uint64_t engine_rocks_estimate_rows(struct engine *);

#endif
