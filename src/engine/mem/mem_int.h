/* SPDX-License-Identifier: Apache-2.0
 * Inside the mem engine.
 *
 * Rows of all partitions live in one ordered map; a map key is partition, 00, key (neither contains 00, so the order is
 * by partition first and inside it by key). A row is a list of versions, newest first, each with the number of its
 * commit. A snapshot is a commit number: it sees, of each row, the newest version not above it. `floor` is the oldest
 * number anybody can still ask for; of what is not above it only the newest version of a row is kept.
 *
 * Invariants (all under `lock`): every row in `rows` has a version; commit numbers in a list fall; durable <= commit;
 * extents are sorted by id. */
#ifndef ENGINE_MEM_MEM_INT_H
#define ENGINE_MEM_MEM_INT_H

#include "base/limits.h"
#include "base/sys/rng.h"
#include "engine/mem/mem.h"

#include <pthread.h>

enum { MAP_HEIGHT_MAX = 16, MAP_KEY_BYTES = 2 * LIMIT_KEY_BYTES + 2 };

struct version {
	struct version *older;
	uint64_t commit;
	uint32_t len;
	bool deleted;
	char bytes[];
};

struct row_node {
	struct version *newest;
	uint32_t key_len;
	uint32_t height;
	struct row_node *next[]; /* `height` of them, then the key's bytes */
};

struct map {
	struct row_node *head[MAP_HEIGHT_MAX];
	uint64_t random; /* heights only; not drawn from the seed of faults */
	size_t count;
};

struct map_key {
	size_t len;
	char bytes[MAP_KEY_BYTES];
};

void *mem_alloc(size_t bytes);					   /* cleared; never NULL */
void mem_grow(void *array, size_t *cap, size_t need, size_t size); /* array: address of a pointer */

/* map.c */
struct slice map_node_key(const struct row_node *);
struct row_node *map_seek(const struct map *, struct slice key); /* the first not below key, or NULL */
struct row_node *map_find(const struct map *, struct slice key);
struct row_node *map_insert(struct map *, struct slice key); /* or the one there; its newest may be NULL */
void map_remove(struct map *, struct slice key);
void map_fini(struct map *);
struct version *mem_version_new(uint64_t commit, struct slice value);		/* value absent: a deletion */
const struct version *mem_version_at(const struct row_node *, uint64_t commit); /* NULL: not there or deleted */
void versions_free(struct version *);

struct extent {
	uint64_t id, place;
	uint32_t length_bytes;
	uint64_t published_commit; /* 0: not yet */
	uint64_t retired_commit;   /* 0: alive */
	uint64_t retired_event;	   /* orders retirement against pins */
	struct extent_bytes *shared;
};

/* What an extent holds: immutable, and shared with saved states. */
struct extent_bytes {
	unsigned users; /* changed atomically: states outlive engines */
	unsigned char *bytes;
	uint32_t crc[];
};

struct read_range {
	size_t lo_at, lo_len, hi_at, hi_len; /* in the group's key bytes */
	bool hi_inclusive;
	uint64_t seen_commit;
};

struct engine_snapshot {
	struct engine_snapshot *next, **link;
	uint64_t commit;
	uint64_t epoch;
};

struct pin {
	struct pin *next;
	uint64_t event;
};

struct engine_group {
	struct mem_engine *engine;
	struct engine_group *next, **link; /* open groups hold the floor down */
	uint64_t begin_commit;
	size_t partition_len; /* the one it reads and writes; 0: none yet */
	char partition[LIMIT_KEY_BYTES];
	struct map overlay;
	struct read_range *reads;
	size_t read_count, read_cap;
	char *read_keys;
	size_t read_key_bytes, read_key_cap;
	struct write *extents; /* publish and retire, in order */
	size_t extent_count, extent_cap;
	uint64_t write_bytes;
	bool sync_later;
	unsigned late_calls; /* UNKNOWN, late: it happens after so many calls */
};

/* What survives engines: the simulated disk. */
struct mem {
	pthread_mutex_t lock;
	struct mem_options faults;
	struct rng rng;
	size_t engines; /* attached */
	uint64_t epoch; /* counts power cuts */
	bool failed;
	struct map rows;
	uint64_t commit, durable;
	bool unsynced;	  /* groups behind `durable` said that they may be synced later */
	size_t dead_rows; /* about: rows whose newest version is a deletion */
	struct engine_snapshot *snapshots;
	struct engine_group *groups;
	struct engine_group *late;
	uint64_t event;
	struct pin *pins;
	struct extent **extents;
	size_t extent_count, extent_cap;
	uint64_t extent_next_id;
	uint64_t space_used, space_total; /* what sealed extents take, and the most they ever took */
	uint64_t syncs, bytes_written;
	struct mem_counts counts;
};

struct mem_engine {
	struct engine engine; /* first */
	struct mem *mem;
	uint64_t epoch; /* not mem's: dead */
	void (*interfere)(void *, enum mem_point);
	void *interfere_arg;
	bool interfering;
};

static inline struct mem_engine *mem_engine_of(struct engine *e)
{
	return (struct mem_engine *)e;
}
static inline bool mem_engine_dead(const struct mem_engine *e)
{
	return e->epoch != e->mem->epoch;
}

/* mem.c */
void mem_check_key(struct slice key);
struct slice mem_key(struct map_key *, struct slice partition, struct slice key);
struct slice mem_key_partition_end(struct map_key *, struct slice partition);
uint64_t mem_floor(const struct mem *);
void mem_row_put(struct mem *, struct slice map_key, struct slice value, uint64_t commit, uint64_t floor);
void mem_sweep(struct mem *, uint64_t floor);

/* scan.c: one page over the rows as of a commit, below `overlay` if there is one. ret_hi receives where the page's
 * knowledge ends (a map key) and whether that key itself was looked at. */
enum err mem_scan(struct mem *, const struct map *overlay, uint64_t commit, struct slice partition,
		  const struct scan_spec *, struct arena *, struct rows *ret_rows, struct map_key *ret_hi,
		  bool *ret_hi_inclusive);

/* group.c */
enum err mem_group_begin(struct engine *, struct engine_group **ret);
enum err mem_group_get(struct engine_group *, struct slice partition, struct slice key, struct arena *,
		       struct slice *ret);
enum err mem_group_scan(struct engine_group *, struct slice partition, const struct scan_spec *, struct arena *,
			struct rows *ret);
enum err mem_group_accept(struct engine_group *, struct slice partition, const struct write *, size_t count);
enum outcome mem_group_commit(struct engine_group *);
void mem_group_abort(struct engine_group *);
void mem_group_sync_later(struct engine_group *);
void mem_late_flush(struct mem *, bool happens); /* lock held; accepts that there is none */

/* extent.c; those with a struct mem are called with the lock held */
enum err mem_extent_begin(struct engine *, uint32_t length_hint, struct extent_writer **ret);
uint64_t mem_extent_id(const struct extent_writer *);
enum err mem_extent_append(struct extent_writer *, struct slice bytes);
enum err mem_extent_append_seal(struct extent_writer *, struct slice last, struct extent_ref *ret);
enum err mem_extent_seal(struct extent_writer *, struct extent_ref *ret);
void mem_extent_abandon(struct engine *, const struct extent_ref *);
void mem_extent_writer_free(struct extent_writer *);
enum err mem_extent_read(struct engine *, const struct extent_ref *, uint32_t offset, uint32_t length, void *dst);
uint64_t mem_pin(struct engine *);
void mem_unpin(struct engine *, uint64_t pin);
enum err mem_reclaim(struct engine *, bool *ret_more);
void mem_extent_apply(struct mem *, const struct write *, uint64_t commit);
void mem_extents_crash(struct mem *);
void mem_extents_fini(struct mem *);
struct extent *mem_extent_share(const struct extent *); /* another one of the same id and bytes, alive */
void mem_extent_drop(struct extent *);
/* Exactly these are alive from this commit on, besides what nobody published yet. Sorted by id. */
void mem_extents_restore(struct mem *, struct extent *const *, size_t count, uint64_t commit);
void mem_extents_stats(const struct mem *, struct engine_stats *);

void mem_interfere(struct mem_engine *, enum mem_point); /* without the lock */
bool mem_chance(struct mem *, unsigned permille);

#endif
