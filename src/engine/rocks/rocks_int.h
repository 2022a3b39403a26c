/* SPDX-License-Identifier: Apache-2.0
 * The inside of the rocks engine. What rows look like in RocksDB: layout.h.
 *
 * Locks, in the order they are taken: compact_lock, publish_lock, write_lock, the journal's, the locator's write lock.
 * flush_lock is taken before none of them but the locator's: the journal's thread flushes while a writer waits for it
 * under write_lock. pin_lock is taken alone. */
#ifndef ENGINE_ROCKS_ROCKS_INT_H
#define ENGINE_ROCKS_ROCKS_INT_H

#include "base/limits.h"
#include "base/panic.h"
#include "engine/rocks/journal/journal.h"
#include "engine/rocks/journal/tail.h"
#include "engine/rocks/layout/layout.h"
#include "engine/rocks/overlay.h"
#include "engine/rocks/rocks.h"

#include <assert.h>
#include <pthread.h>
#include <rocksdb/c.h>
#include <stdatomic.h>

struct locator;
struct segments;

struct engine_snapshot {
	const rocksdb_snapshot_t *snapshot;
	rocksdb_readoptions_t *read;
};

struct extent_change {
	bool retire;
	struct extent_ref extent;
};

/* Two of them: one is built while the other is committed. */
struct engine_group {
	struct rocks *rocks;
	const struct engine_group *below; /* was being committed when this one was begun: its writes are seen here */
	rocksdb_writebatch_t *batch;	  /* kept from group to group */
	struct overlay overlay;
	/* For short scans of rows, made by the first one of the group. It has at least what was committed when the
	 * group began; what came later is in the two overlays. NULL: there was none. */
	rocksdb_iterator_t *iterator;
	rocksdb_readoptions_t *iterator_read; /* holds the end of the scan under way */
	struct extent_change *changes;
	size_t change_count, change_cap;
	size_t put_bytes, delete_count, publish_count;
	bool sync_later; /* see engine.h */
	atomic_bool open;
};

/* Pins by the retire sequence they were taken at, ascending. */
struct pin_bucket {
	uint64_t at;
	size_t count;
};

#define ROCKS_ALIVE UINT32_C(0x726f636b)

struct rocks {
	struct engine engine;
	uint32_t magic; /* ROCKS_ALIVE from open to close */
	rocksdb_t *db;
	rocksdb_column_family_handle_t *family[FAMILIES];
	rocksdb_options_t *options[FAMILIES];
	rocksdb_block_based_table_options_t *table[FAMILIES];
	rocksdb_cache_t *cache;
	rocksdb_readoptions_t *read;
	rocksdb_writeoptions_t *write_memory; /* what is durable already */
	struct journal *journal;
	struct locator *locator; /* NULL while the store is opened */
	/* Held from a batch's record in the journal to its rows in memory: both are in one order, and a file of the
	 * journal that is full holds nothing that is not in memory. */
	pthread_mutex_t write_lock;
	/* One flush at a time: the row "flushed through" never goes back, and no moment has one family newer than
	 * another. */
	pthread_mutex_t flush_lock;
	/* A compaction that is asked for may flush its family: none while a moment is made, and the other way round. */
	pthread_mutex_t compact_lock;
	bool may_sync_later; /* rocks_options.sync_later */
	/* So many are writing RocksDB's memory to tables: meanwhile every commit is synced (rocks_tables_begin). */
	atomic_uint tables_under_way;
	atomic_uint_fast64_t last_number; /* every commit of the journal up to this one is in RocksDB's memory */
	struct segments *segments;
	struct rocks *moment_of; /* only read: a moment of that engine, whose segments these are; NULL: no */
	int dir_fd, lock_fd;
	uint64_t reserve_bytes;		       /* see group.c */
	atomic_uint_fast64_t compaction_bytes; /* room a compaction may need, looked up now and then */
	atomic_uint_fast64_t compaction_looked_ns;
	uint64_t space_looked_ns,
		space_used_bytes; /* the committer's: when it last asked the disk, and what it wrote since */
	struct engine_group group[2];
	atomic_bool failed;
	struct rocks *next_abandoned;

	/* Held from the change of published bits to the end of the batch that stores them: their rows follow each other
	 * in the order of the changes. Committer and reclaimer. */
	pthread_mutex_t publish_lock;

	pthread_mutex_t pin_lock;
	struct pin_bucket *pins;
	size_t pin_count, pin_cap;
	uint64_t retire_next;		     /* the committer's */
	atomic_uint_fast64_t retire_durable; /* every retire up to here is committed */
	uint64_t reclaim_from;		     /* the reclaimer's: no row before this */
	atomic_uint_fast64_t retired_waiting;
	atomic_uint_fast64_t syncs, sync_ns, bytes_written;
	unsigned tight_groups; /* taken since the disk had next to nothing free (group.c) */
	/* The disk is below the reserve: what was deleted since should give its space back soon. */
	atomic_bool short_of_space;
	atomic_uint_fast64_t deletes_when_short;
	struct tail tail; /* under write_lock */
	/* The reclaimer's: when it last compacted all rows, and how far it is if it has not done so yet. */
	uint64_t compacted_ns;
	bool compacting;
	int compact_family;
	struct full_key compact_from; /* empty: from the beginning */
	uint64_t compact_deletes;     /* of deletes_when_short, when it began */
	atomic_bool hurries;	      /* the store is about to end */
};

static inline struct rocks *rocks_of(struct engine *e)
{
	struct rocks *r = (struct rocks *)e;
	MAGIC_CHECK(r, ROCKS_ALIVE);
	return r;
}

/* rocks.c */
/* Writes what is in memory to table files, and with it the number of the last commit that is in them all. Not under
 * write_lock, nor in the journal's thread, which has rocks_flush_synced: nothing that is in memory, or comes into it
 * meanwhile, waits for a sync. */
enum err rocks_flush(struct rocks *);
enum err rocks_flush_synced(struct rocks *);
/* Before a thread's first read or write: RocksDB counts every comparison of keys for each thread that does not say
 * that nobody will ask. */
void rocks_count_nothing(void);
/* What a RocksDB error text means; frees it. ERR_OK for NULL. */
enum err rocks_error(char *text);
/* What rocks_error was given last in this thread; empty if that was NULL. */
const char *rocks_last_error(void);
enum err rocks_get(struct rocks *, enum family, rocksdb_readoptions_t *, struct slice full_key, struct arena *,
		   struct slice *ret) MUST_CHECK;
/* A property of all families, added up; 0 if it cannot be told. */
uint64_t rocks_property(struct rocks *, const char *name);
/* Scans the partition's rows, merged with those of the group (NULL: none). */
enum err rocks_scan(struct rocks *, const rocksdb_snapshot_t *, struct engine_group *, struct slice partition,
		    const struct scan_spec *, struct arena *, struct rows *ret) MUST_CHECK;

/* write.c */
/* What a batch changes besides metadata. */
struct rocks_changed {
	const struct overlay *rows; /* NULL: none */
	struct slice partition;	    /* dropped; absent: none */
};
/* Makes the batch durable and visible; with sync_later it may be visible before it is durable. ERR_NO_SPACE: nothing
 * happened; other errors are told, and nothing more is written. */
enum err rocks_write(struct rocks *, rocksdb_writebatch_t *, struct rocks_changed, bool sync_later) MUST_CHECK;
/* Everything that is visible is durable. The second one under write_lock. */
enum err rocks_sync(struct engine *) MUST_CHECK;
enum err rocks_sync_locked(struct rocks *) MUST_CHECK;
/* Around whatever writes RocksDB's memory to tables, but for the journal's own flush, which the journal sees to: one
 * family goes after the other, and after a crash in between the journal must have all that the first one got. */
enum err rocks_tables_begin(struct rocks *) MUST_CHECK;
void rocks_tables_end(struct rocks *); /* also after an error */
enum err rocks_journal_replay(struct rocks *) MUST_CHECK;
bool rocks_journal_flush(void *rocks); /* journal_options.flush */

/* group.c */
enum err rocks_group_begin(struct engine *, struct engine_group **ret);
enum err rocks_group_get(struct engine_group *, struct slice partition, struct slice key, struct arena *,
			 struct slice *ret_value);
enum err rocks_group_scan(struct engine_group *, struct slice partition, const struct scan_spec *, struct arena *,
			  struct rows *ret_rows);
enum err rocks_group_accept(struct engine_group *, struct slice partition, const struct write *, size_t count);
enum outcome rocks_group_commit(struct engine_group *);
void rocks_group_sync_later(struct engine_group *);
void rocks_group_drop_iterator(struct engine_group *);
void rocks_group_abort(struct engine_group *);
/* So little is free that RocksDB could not write a table. */
bool rocks_is_tight(struct rocks *);
/* Free disk space, and whether it holds so many bytes besides the reserve. */
bool rocks_has_space(struct rocks *, uint64_t more_bytes, uint64_t *ret_free_bytes);

/* Adds the published bits of a region; under publish_lock. */
void rocks_put_bitmap(struct rocks *, rocksdb_writebatch_t *, uint32_t region);

/* reclaim.c */
uint64_t rocks_pin(struct engine *);
void rocks_unpin(struct engine *, uint64_t pin);
enum err rocks_reclaim(struct engine *, bool *ret_more);
void rocks_reclaim_hurry(struct engine *);
void rocks_put_retired(struct rocks *, rocksdb_writebatch_t *, uint64_t sequence, const struct extent_ref *);
/* Finds the sequence to go on from and counts what waits. */
enum err rocks_reclaim_open(struct rocks *) MUST_CHECK;

/* Puts one of the engine's own rows. */
static inline void rocks_put_own(struct rocks *r, rocksdb_writebatch_t *batch, const struct layout_row *row)
{
	rocksdb_writebatch_put_cf(batch, r->family[FAMILY_METADATA], row->key, row->key_len, row->value,
				  row->value_len);
}

/* open.c, rocks.c */
struct rocks *rocks_new(void); /* nothing is open yet; rocks_close takes it. NULL: no memory */
extern const struct engine_ops rocks_ops;
void rocks_close(struct engine *);

#endif
