/* SPDX-License-Identifier: Apache-2.0
 * Where rows are in the table files: for each table in use a hash from keys to blocks, so that a row that is in no
 * cache costs one access to memory a level and one read of its block. RocksDB's own way there costs three times that
 * (decisions/0014). The locator may always say that it does not know; then RocksDB is asked.
 *
 * What it says is right because of two things it keeps: the tables as they were at some moment after a flush (they
 * never change, and stay readable while they are open, whatever RocksDB has made of them since), and a note of every
 * key written since that flush began. A key that is not among the notes stands in those tables as it stands in the
 * store.
 *
 *   writer      under the locator's lock: notes the batch's keys, then puts it into RocksDB's memory
 *   flush       begins a new page of notes, flushes, tells which page is in tables now
 *   own thread  when no flush was for a moment: takes the list of tables, indexes the new ones, replaces the set
 *   readers     take pages of notes and set as they are together, look into both, and are nobody's to wait for but the
 *               thread's, before it frees what they may have: a slow disk holds up no writer */
#ifndef ENGINE_ROCKS_LOCATOR_H
#define ENGINE_ROCKS_LOCATOR_H

#include "base/arena.h"
#include "engine/rocks/layout/layout.h"

#include <rocksdb/c.h>

struct locator;

enum located { LOCATED_ROW, LOCATED_NOTHING, LOCATED_UNKNOWN };

struct locator_options {
	rocksdb_t *db;
	rocksdb_column_family_handle_t **family; /* FAMILIES */
	int dir_fd;				 /* of the store; the tables are in "db" */
	size_t tables_max;			 /* each has an open file */
	bool idle;				 /* no thread: whoever made it calls locator_refresh (tests) */
};

struct locator *locator_new(const struct locator_options *);
void locator_free(struct locator *); /* accepts NULL */

/* Is the row there, in the store as it is now? */
enum located locator_find(struct locator *, enum family, struct slice full_key, struct arena *, struct slice *ret);

/* Held from the notes of a batch until it is in RocksDB's memory. */
void locator_write_begin(struct locator *);
void locator_note(struct locator *, struct slice full_key);
void locator_note_partition(struct locator *, struct slice partition); /* every key of it */
void locator_write_end(struct locator *);

/* Before a flush of all families and, with what that gave, after one that succeeded. */
uint64_t locator_flush_begin(struct locator *);
void locator_flushed(struct locator *, uint64_t page);
/* Tables may have gone without a flush. */
void locator_look(struct locator *);

/* The index_* fields; the others are left alone. */
void locator_stats(struct locator *, struct engine_stats *);

/* Brings the set up to date. False: some tables are left to be indexed. */
bool locator_refresh(struct locator *);

#endif
