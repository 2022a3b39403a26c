/* SPDX-License-Identifier: Apache-2.0
 * The journal: what makes a commit durable. Each commit's batch is one record, written before RocksDB's memory gets it;
 * RocksDB keeps no log of its own. Most are synced there and then (journal_append); what may be lost in a power cut for
 * a while is synced with a later one (journal_append_later), and at the latest when its file is full.
 *
 * Files in journal/ are written from their beginning, one after the other, and used again: a sync into space that was
 * written before costs half of one that makes a file grow, and none meets the making of a file. A file that is full
 * waits until everything in it is in RocksDB's tables; the journal's own thread asks for that and then marks it free.
 *
 *   file     a header block, then records, each from a block's beginning
 *   header   magic, state, epoch, number of its first record, flushed (every record up to this one is in tables), crc
 *   record   crc, length, number, epoch, then the batch. The highest bit of the length: before the batch stands how far
 *            the journal was synced when the record was written; without it that is up to the record before.
 *
 * Numbers go up by one and never stop; the epoch is drawn anew at each start, so that what an earlier run left behind
 * the end of a file is not taken for this one's.
 *
 * After a crash: the newest run of records without a gap. It must begin at most one behind what the headers say is in
 * tables, or records are missing, and the store does not open. Records that are in tables already may be applied again:
 * a batch says what rows are, not how they change, and the run is always applied to its end.
 *
 * A power cut may keep record 9 and lose 8, if neither was synced. What lies behind the end of the run tells: if a
 * record there says that more was synced than the run has, that was acknowledged, and was damaged since. */
#ifndef ENGINE_ROCKS_JOURNAL_H
#define ENGINE_ROCKS_JOURNAL_H

#include "base/err.h"
#include "base/slice.h"

struct journal;

struct journal_options {
	int dir_fd;	    /* the store's directory */
	size_t file_bytes;  /* a file that holds so many is full; the last record may reach beyond */
	bool buffered;	    /* through the page cache */
	uint64_t in_tables; /* as the database says: every record up to this one is in tables; 0: it does not say */
	/* Writes everything RocksDB has in memory into tables; false: it cannot. Called in the journal's thread. */
	bool (*flush)(void *arg);
	bool (*may_grow)(void *arg, uint64_t bytes); /* room on the disk for one more file */
	void *arg;
};

/* Reads what is there and changes nothing. *ret_last: the newest record found, or known to be in tables.
 * ERR_CORRUPT: records are missing in the middle. */
enum err journal_open(const struct journal_options *, struct journal **ret, uint64_t *ret_last) MUST_CHECK;
/* What the headers said was in tables: a database that has less is not the one this journal was written for, or lost
 * tables. */
uint64_t journal_header_flushed(const struct journal *);
/* Up to which record all were synced, as those behind the end say. More than *ret_last: some of them were damaged. */
uint64_t journal_said_synced(const struct journal *);
/* Gives every record to be applied again, in order; *ret_count of them. */
enum err journal_replay(struct journal *, enum err (*each)(void *arg, struct slice batch), void *arg,
			uint64_t *ret_count) MUST_CHECK;
/* Everything is in tables up to *ret_last: records can be appended from now on. */
enum err journal_start(struct journal *) MUST_CHECK;
/* Durable when it returns ERR_OK. One at a time, and after the one before was given to RocksDB. ERR_NO_SPACE: nothing
 * happened. Any other error: nothing is known about it, and nothing more is appended. */
enum err journal_append(struct journal *, struct slice batch, uint64_t *ret_number) MUST_CHECK;
/* As journal_append, but durable only with the next one, or by journal_sync: a power cut before that may take it, and
 * with it all that came behind. While a flush is asked for it is synced as ever. */
enum err journal_append_later(struct journal *, struct slice batch, uint64_t *ret_number) MUST_CHECK;
/* Everything that was appended is durable. By whoever may append; costs nothing if it was already. On an error nothing
 * more is appended. */
enum err journal_sync(struct journal *) MUST_CHECK;
uint64_t journal_synced(const struct journal *); /* the newest record that is durable, as the appender knows */
/* Ends the thread. Afterwards, once everything is in tables, journal_clear marks all files free, so that the next start
 * has nothing to read. */
void journal_stop(struct journal *);
void journal_clear(struct journal *);
void journal_free(struct journal *); /* accepts NULL */

#endif
