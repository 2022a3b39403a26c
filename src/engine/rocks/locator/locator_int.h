/* SPDX-License-Identifier: Apache-2.0
 * The inside of the locator. */
#ifndef ENGINE_ROCKS_LOCATOR_INT_H
#define ENGINE_ROCKS_LOCATOR_INT_H

#include "engine/rocks/locator/locator.h"
#include "engine/rocks/locator/sst.h"

#include <pthread.h>
#include <stdatomic.h>

enum {
	LOCATED_FAMILIES = FAMILY_CONTENTS + 1, /* not metadata, which is read once, at the start */
	LEVELS = 7,
	READER_SLOTS = 16,
	NOTE_BITS = 1 << 20, /* a file of the journal holds some ten thousand keys */
	PAGES_MAX = 4,	     /* more flushes than that without a pause: nothing is known until there is one */
	PAGES_ALIVE_MAX = 3 * PAGES_MAX, /* with those that are disposed of, should a read never end */
	ASKED_OFTEN = 256, /* reads of a table that was there before us, until it is indexed: about what that costs */
};

#define INDEX_BYTES_MAX (96u * 1024 * 1024) /* 16 million rows */

/* What was written between two flushes: a filter of two bits a key. */
struct page {
	_Alignas(64) atomic_uint_fast64_t word[NOTE_BITS / 64];
	struct page *next_disposed;
};

/* The rows of one table: u16 of the key's hash, u16 block; 0 is free. Linear probing. */
struct table_index {
	uint64_t number;
	bool refused; /* cannot be read without RocksDB: unknown for good */
	int fd;
	struct sst_map map;
	uint32_t *slot;
	uint32_t slot_count;
	size_t bytes, uses; /* uses: sets it is in */
};

struct placed_table {
	uint64_t number;
	struct slice smallest, largest; /* keys */
	struct table_index *index;	/* NULL: none yet */
	atomic_uint asked;		/* in vain */
};

struct level {
	struct placed_table *table; /* level 0: in any order; others by key, none overlaps another */
	size_t count;
};

struct table_set {
	struct arena arena;
	struct level level[LOCATED_FAMILIES][LEVELS];
	struct placed_table **by_number; /* all of them */
	size_t count;
	uint64_t page;	  /* every page up to this one is in these tables */
	uint64_t version; /* see locator_tables_version */
	struct table_set *next_disposed;
};

/* What a read goes by: a set, and what was written since. Replaced as a whole; nobody waits for who still has the old
 * one. */
struct view {
	struct table_set *set;
	struct page *page[PAGES_MAX]; /* the newest last */
	size_t page_count;
	struct view *next_disposed;
};

/* No new read finds them; the thread frees them when those that had are over. */
struct disposed {
	struct view *view;
	struct table_set *set;
	struct page *page;
};

/* Around each read. */
struct reader_slot {
	_Alignas(64) pthread_rwlock_t lock;
	atomic_uint_fast64_t count[LOCATED_UNKNOWN + 1]; /* answers, by enum located; of the threads of this slot */
};

#define LOCATOR_ALIVE UINT32_C(0x6c6f6361)

struct locator {
	struct reader_slot slot[READER_SLOTS];
	uint32_t magic; /* LOCATOR_ALIVE from new to free */
	struct locator_options options;
	uint64_t seed;

	/* Changed under the write lock. */
	_Atomic(struct view *) view;  /* NULL: nothing is known */
	struct page *page[PAGES_MAX]; /* the newest, which is written to, last */
	size_t page_count;
	uint64_t page_last;	/* number of the newest */
	struct table_set *kept; /* too old to be read by; the next one takes over what it knows of the tables */
	struct disposed disposed;

	pthread_mutex_t write_lock; /* never held while anything is waited for but RocksDB's memory */
	atomic_size_t pages_alive;
	atomic_uint_fast64_t flushed, flushed_ns;
	atomic_uint_fast64_t flushes; /* begun */

	/* The thread's. */
	pthread_t thread;
	bool runs;
	atomic_bool stop; /* set under the lock */
	pthread_mutex_t lock;
	pthread_cond_t wake;
	/* Under the lock. */
	bool look;
	uint64_t first_own; /* tables from this number on were written by this process */
	atomic_size_t index_bytes, index_count, refused_count;
	bool refusal_told;
	uint64_t listing_ns; /* what the last list of tables took */
};

/* locator.c */
/* Makes the set that of the readers. False: it was too old already. Takes it over either way. */
bool locator_set_install(struct locator *, struct table_set *);
/* Makes the set the one that is kept, if there is one and readers have none. Takes it over either way. */
void locator_set_keep(struct locator *, struct table_set *);
void locator_forget_set(struct locator *);
/* The thread's: waits for reads that may have it. */
void locator_free_disposed(struct locator *);
/* Only the thread frees sets: they stay. */
const struct table_set *locator_current(struct locator *);
const struct table_set *locator_kept(struct locator *);

static inline uint32_t index_slot(const struct table_index *t, uint64_t hash)
{
	return (uint32_t)(((hash >> 32) * t->slot_count) >> 32);
}
static inline uint32_t index_fingerprint(uint64_t hash)
{
	uint32_t fingerprint = hash & 0xffff;
	return (fingerprint ? fingerprint : 1) << 16;
}
uint64_t locator_hash(const struct locator *, struct slice full_key, uint64_t *ret_partition_hash);

/* locator_index.c */
/* ERR_NOT_FOUND: RocksDB has removed the table. One that cannot be read without RocksDB is marked as refused. */
enum err locator_index_make(struct locator *, uint64_t number, struct table_index **ret) MUST_CHECK;
void locator_index_free(struct locator *, struct table_index *);

/* locator_set.c; the thread's */
void locator_set_free(struct locator *, struct table_set *); /* no reader has it any more */
void locator_let_go(struct locator *);			     /* in the set that is kept, of tables that are gone */
uint64_t locator_tables_version(const struct locator *);     /* changes whenever the tables do */
uint64_t locator_table_number(const char *file_name);

/* locator_thread.c */
bool locator_start(struct locator *);
void locator_stop(struct locator *); /* frees the sets, too */

#endif
