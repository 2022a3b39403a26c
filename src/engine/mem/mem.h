/* SPDX-License-Identifier: Apache-2.0
 * The in-memory engine: optimistic on purpose, so that what runs on it is ready for engines whose commits can lose.
 *
 * A group remembers what it read and its commit is refused (CONFLICT) if any of that changed; every group_get reads the
 * newest committed state, so an apply may see a torn state, but then its group cannot commit. With options it also
 * refuses for no reason, leaves outcomes unknown, runs full, and fails for good; all of it drawn from one seed, in the
 * order of the commits, so a single-threaded user sees the same run for the same seed.
 *
 * Several engines may look at the same data: engine_mem_attach is another front end. engine_mem_crash is a power cut:
 * every engine attached before it is dead (reads ERR_IO, commits FAILED) and the one returned sees what was durable.
 * The data lives until the last engine that shows it is closed.
 *
 * Threads: as engine.h says; one mutex guards all. Out of memory ends the process: this engine is for tests and for
 * development mode without a disk. */
#ifndef ENGINE_MEM_MEM_H
#define ENGINE_MEM_MEM_H

#include "store/engine.h"

struct mem_options {
	uint64_t seed;
	unsigned conflict_permille;	    /* a commit is refused though nothing changed */
	unsigned unknown_happened_permille; /* UNKNOWN, and it is durable */
	unsigned unknown_lost_permille;	    /* UNKNOWN, and nothing of it happened */
	unsigned unknown_late_permille;	    /* UNKNOWN, and it happens some calls later, unless what it read changed */
	unsigned no_space_permille;	    /* NO_SPACE; extents: ERR_NO_SPACE */
	uint64_t fail_after_commits;	    /* the n-th commit and every later one is FAILED; 0 = never */
	bool commits_volatile; /* a broken engine: DONE is answered one sync too early (engine_mem_sync, or the
				* next commit) and a crash shows it; for proofs that checkers see the loss */
};

/* options == NULL: no faults. */
enum err engine_mem_open(const struct mem_options *, struct engine **ret) MUST_CHECK;
/* Another front end on the same data. */
enum err engine_mem_attach(struct engine *, struct engine **ret) MUST_CHECK;
/* Power cut and restart. The old engine must still be closed by its owner. */
struct engine *engine_mem_crash(struct engine *);
/* With commits_volatile: what was answered DONE is durable now. */
void engine_mem_sync(struct engine *);
/* From now on these probabilities hold (the seed and what was drawn stay). */
void engine_mem_set_faults(struct engine *, const struct mem_options *);

/* Where a caller of this engine stands when `interfere` is called: without locks, in the caller's thread, so the
 * callback may do anything through another engine on the data, or read through this one, or crash it. It is not called
 * again from inside itself. An engine with a callback is used by one thread at a time. */
enum mem_point {
	MEM_AFTER_GET,	   /* get read its value and did not return yet: others may make it old */
	MEM_BEFORE_READ,   /* group_get, group_scan */
	MEM_BEFORE_COMMIT, /* the group is whole and nothing of it is durable */
	MEM_AFTER_COMMIT,  /* DONE (or UNKNOWN, happened) is decided and not yet answered */
};
void engine_mem_interfere(struct engine *, void (*interfere)(void *arg, enum mem_point), void *arg);

/* Changes one stored byte behind the checksums. False if the extent is not there or is shorter. */
bool engine_mem_corrupt_extent(struct engine *, const struct extent_ref *, uint32_t offset);

/* Everything as it is now, to go back to at any time; the caller frees it, before or after the engine is closed. What
 * is being written meanwhile is in it or not, each commit as a whole. Going back is one commit. */
struct mem_state;
struct mem_state *engine_mem_save(struct engine *);
enum err engine_mem_restore(struct engine *, const struct mem_state *) MUST_CHECK;
void engine_mem_state_free(struct mem_state *); /* accepts NULL */

struct mem_counts {
	uint64_t commits, conflicts, conflicts_injected, unknown_happened, unknown_lost, unknown_late;
	uint64_t rows, versions, snapshots, pins, extents;
};
void engine_mem_counts(struct engine *, struct mem_counts *ret);

#endif
