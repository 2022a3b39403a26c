/* SPDX-License-Identifier: Apache-2.0
 * The contract between the store and an engine. Nothing above src/store knows which engine runs.
 *
 * Data model. A partition is an ordered map from key to value, named by its id (account first, store/key.h). Keys are 1
 * to LIMIT_KEY_BYTES bytes without NUL; values are never empty and at most LIMIT_VALUE_BYTES. Order is by unsigned
 * bytes.
 *
 * Keys that begin with 01 belong to the store and the engine.
 *
 * Snapshots. get and scan see one committed state, chosen when the snapshot was taken (snapshot == NULL: the newest
 * state, for each call on its own). Any thread; a snapshot may be used by one thread at a time.
 *
 * Groups. Where others write too (may_be_unknown) all of a group is of one partition, reads included; such an engine
 * need not be able to do more. A group gathers the writes of several transactions and makes them durable together.
 * group_get and group_scan see the committed state plus every write set already accepted into this group (the
 * overlay). group_accept adds one transaction's write set, all or nothing; a write set may also publish and retire
 * extents. group_commit ends it:
 *   DONE      all of it is durable and visible to every later read
 *   CONFLICT  nothing of it happened; what was read through the group changed meanwhile: run the transactions again
 *   UNKNOWN   it may or may not have happened; the store resolves it by reading the partitions' version stamps
 *   FAILED    the engine cannot go on (a sync failed): nothing more may be acknowledged; the process says why and exits
 *   NO_SPACE  nothing of it happened, the disk is full; later groups may work again
 * A group that was told group_sync_later answers DONE when it is visible, and is durable with the next group that was
 * not, or with sync; all of it or nothing, and never without the groups before it. What then fails is FAILED, for those
 * that come.
 * The store builds one group at a time, from its committer thread (see groups_overlap). Optimistic engines (mem) record
 * what group_get and group_scan read, and check it at commit; rocks has one writer and never answers CONFLICT or
 * UNKNOWN.
 *
 * Extents. An immutable run of 1..LIMIT_EXTENT_BYTES payload bytes. begin/append/seal write it: sealed bytes are
 * readable by their ref at once but survive a crash only after a group that published the ref answered DONE (which
 * makes them durable before the records that name them). Unpublished extents are reclaimed: by abandon, or after a
 * restart. A retired extent is reclaimed some time after the commit, never while a pin taken before that commit is
 * held. Every read verifies checksums that also bind the extent's id: ERR_CORRUPT, never wrong bytes. A writer is used
 * by one thread at a time; different writers run in parallel. append and read may block on the disk.
 *
 * Memory. Values and rows are copied into the arena given (ERR_NO_MEMORY past its limit).
 */
#ifndef STORE_ENGINE_H
#define STORE_ENGINE_H

#include "base/arena.h"
#include "base/err.h"
#include "base/slice.h"

struct engine_snapshot;
struct engine_group;
struct extent_writer;

struct row {
	struct slice key; /* without the partition */
	struct slice value;
};

struct rows {
	struct row *row; /* in the arena */
	size_t count;
	bool more; /* more rows follow; go on from key_after(last key) */
};

/* One page of a scan: keys in [from, until), until absent = to the partition's end. Stops at limit_rows (0 = the most
 * allowed) or when LIMIT_SCAN_BYTES are gathered, with at least one row if there is one. keys_only leaves values
 * absent. */
struct scan_spec {
	struct slice from;
	struct slice until;
	size_t limit_rows;
	bool keys_only;
	/* A hint, may be NULL: of a row that is in the page, how long the beginning of its key is that no further row
	 * needs to have (0: none). Engines may leave such rows out; a caller must do without them and with them. */
	size_t (*fold)(void *arg, struct slice key);
	void *fold_arg;
};

struct extent_ref {
	uint64_t id;	/* never reused; bound into the checksums */
	uint64_t place; /* the engine's own: where it lies */
	uint32_t length_bytes;
};

struct write {
	enum write_kind { WRITE_PUT, WRITE_DEL, WRITE_PUBLISH, WRITE_RETIRE } kind;
	struct slice key;	  /* PUT, DEL */
	struct slice value;	  /* PUT */
	struct extent_ref extent; /* PUBLISH, RETIRE */
	uint64_t hash;		  /* the store's own (cache.h); engines need not look at it */
};

enum outcome { OUTCOME_DONE, OUTCOME_CONFLICT, OUTCOME_UNKNOWN, OUTCOME_FAILED, OUTCOME_NO_SPACE };

struct engine {
	const struct engine_ops *ops;
};

struct engine_stats {
	uint64_t extent_bytes_live; /* published and not yet reclaimed */
	uint64_t extent_bytes_free; /* recyclable space in files that exist */
	uint64_t retired_waiting;   /* extents retired and not yet reclaimed */
	uint64_t syncs;
	uint64_t sync_ns; /* what making groups durable took, all in all */
	uint64_t bytes_written;
	/* Point reads that an index of the engine's own answered: with a row, with "no such row"; and those it could
	 * not answer, which cost more. Engines without one leave them 0. */
	uint64_t index_rows, index_absent, index_unknown;
	uint64_t index_tables, index_refused; /* files it knows; of these, those it cannot read */
	uint64_t index_bytes;
	uint64_t disk_free_bytes; /* on the disk of the data; 0: it has none, or cannot tell */
	bool disk_is_short;	  /* so little is free that only what gives space back is committed */
};

struct engine_ops {
	const char *name;
	/* Others write too: group_commit can answer CONFLICT and UNKNOWN. Then the store reads and rewrites a stamp row
	 * (KEY_STAMP) in every partition a group touches, so an unknown outcome can be resolved by reading it back.
	 * False (rocks) costs nothing: the store is the only writer. */
	bool may_be_unknown;
	/* Calls go over a network and may take long: not for threads that must not wait. Then a snapshot need not stand
	 * still over several calls. No engine has it yet. */
	bool waits;
	size_t inline_bytes; /* a payload of up to so many lies in its record, a longer one in extents */
	unsigned shards;     /* partitions of a new generation; the store knows of one only */
	/* A second group may be begun while the first is in group_commit, in another thread: it sees what the first
	 * wrote. If the first does not end with DONE, the second is aborted. */
	bool groups_overlap;
	void (*close)(struct engine *); /* clean shutdown; NULL is not accepted */

	enum err (*snapshot_take)(struct engine *, struct engine_snapshot **ret);
	void (*snapshot_drop)(struct engine *, struct engine_snapshot *); /* accepts NULL */
	enum err (*get)(struct engine *, struct engine_snapshot *, struct slice partition, struct slice key,
			struct arena *, struct slice *ret_value);
	enum err (*scan)(struct engine *, struct engine_snapshot *, struct slice partition, const struct scan_spec *,
			 struct arena *, struct rows *ret_rows);

	enum err (*group_begin)(struct engine *, struct engine_group **ret);
	enum err (*group_get)(struct engine_group *, struct slice partition, struct slice key, struct arena *,
			      struct slice *ret_value);
	enum err (*group_scan)(struct engine_group *, struct slice partition, const struct scan_spec *, struct arena *,
			       struct rows *ret_rows);
	enum err (*group_accept)(struct engine_group *, struct slice partition, const struct write *, size_t count);
	enum outcome (*group_commit)(struct engine_group *); /* frees the group, whatever the outcome */
	void (*group_abort)(struct engine_group *);	     /* accepts NULL */
	/* Before group_commit. The engine may make it durable at once all the same. NULL, as sync: it always does. */
	void (*group_sync_later)(struct engine_group *);
	/* Whatever was answered DONE is durable. From any thread; on an error nothing more may be acknowledged. */
	enum err (*sync)(struct engine *);

	enum err (*extent_begin)(struct engine *, uint32_t length_hint, struct extent_writer **ret);
	uint64_t (*extent_id)(const struct extent_writer *); /* that its ref will have */
	enum err (*extent_append)(struct extent_writer *, struct slice bytes);
	enum err (*extent_seal)(struct extent_writer *, struct extent_ref *ret); /* frees the writer, also on error */
	/* The last bytes and the end; frees the writer. Bytes that begin a page go to the disk from where they are. */
	enum err (*extent_append_seal)(struct extent_writer *, struct slice last, struct extent_ref *ret);
	void (*extent_abandon)(struct engine *, const struct extent_ref *); /* sealed, and will never be published */
	void (*extent_writer_free)(struct extent_writer *);		    /* not sealed; accepts NULL */
	enum err (*extent_read)(struct engine *, const struct extent_ref *, uint32_t offset, uint32_t length,
				void *dst);
	uint64_t (*pin)(struct engine *); /* extents alive now stay readable until unpin */
	void (*unpin)(struct engine *, uint64_t pin);

	/* Removes every key of a partition in the background-friendly way; the partition is already unreachable.
	 * Extents it names must have been retired before. */
	enum err (*drop_partition)(struct engine *, struct slice partition);
	/* Partition ids in order, from `from` (inclusive, may be empty), at most `limit`: for scrub and tests. NULL:
	 * this engine cannot. */
	enum err (*list_partitions)(struct engine *, struct slice from, size_t limit, struct arena *,
				    struct slice **ret, size_t *ret_count);
	/* One bounded round of reclaim; *ret_more says whether another would find work. Called from one background
	 * thread. */
	enum err (*reclaim)(struct engine *, bool *ret_more);
	/* From another thread, before the end: the round under way ends soon, and those to come do nothing that takes
	 * long. NULL: they never do. */
	void (*reclaim_hurry)(struct engine *);
	void (*stats)(struct engine *, struct engine_stats *ret);
};

#endif
