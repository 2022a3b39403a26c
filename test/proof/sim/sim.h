/* SPDX-License-Identifier: Apache-2.0
 * One simulated run: several clients on one or two front ends (stores in manual mode) over one mem engine, one thread,
 * one seed. Time is a count of events. Trouble comes from the engine (conflicts, unknown and late outcomes, full,
 * failed) and from here (power cuts at any point of a commit, another front end's commit between the reads and the
 * commit of the first, clocks that jump). What clients saw becomes a history (linear.h); the verdict is its check, and
 * that no extent was lost, damaged or leaked. */
#ifndef TEST_SIM_SIM_H
#define TEST_SIM_SIM_H

#include "base/buf.h"
#include "base/limits.h"
#include "base/mutant.h"
#include "base/sys/clock.h"
#include "base/sys/rng.h"
#include "engine/mem/mem.h"
#include "linear.h"
#include "store/mutant.h"
#include "store/store.h"

enum { SIM_CLIENTS = 7, SIM_FRONTS = 2, SIM_KEYS_MAX = 8, SIM_OPEN_MAX = 5 };

struct sim_service;

struct sim_config {
	const struct sim_service *service;
	uint64_t seed;
	unsigned mutant;       /* store/mutant.h */
	bool volatile_commits; /* the engine's mutant */
	unsigned ops;	       /* about so many operations */
};

struct sim_totals {
	uint64_t runs, ops, acknowledged, refused, open, crashes, conflicts, unknowns, gave_up;
};

/* LINEAR_VIOLATION: *why says what; *history (may be NULL) receives all operations either way. */
enum linear_answer sim_run(const struct sim_config *, struct sim_totals *, struct buf *why, struct buf *history);

/* ---- inside ---- */

enum client_state {
	CLIENT_IDLE,
	CLIENT_WRITES, /* its job is queued */
	CLIENT_READS,  /* the record is read, its extent not yet */
	CLIENT_INSIDE, /* in the middle of a read; others may act */
};

struct sim;

struct client {
	struct sim *sim;
	unsigned number, front, slot; /* slot: which key */
	unsigned generation;	      /* of the key when called */
	enum client_state state;
	bool reads;  /* on a snapshot, nothing to commit */
	bool points; /* a read of single records, fit for the cache */
	apply_fn *apply;
	void *call;   /* the service's own, cleared before every choice */
	void *memory; /* the service's own, kept over the run */
	struct store_job job;
	struct arena arena;
	uint64_t call_time, pin;
	uint64_t knows_etag[SIM_KEYS_MAX]; /* what it saw last */
	unsigned knows_generation[SIM_KEYS_MAX];
};

struct front {
	struct sim *sim;
	struct store *store;
	struct engine *engine;
	struct clock clock;
	unsigned number;
	bool steps; /* its committer is under way */
};

struct key_slot {
	unsigned generation; /* a key with too many open outcomes is given up for a new one */
	unsigned open;
	unsigned uses; /* the service's own count */
	struct slice partition;
};

struct sim {
	const struct sim_config *config;
	struct sim_totals *totals;
	struct rng rng;
	struct mem_options faults;
	unsigned crash_permille, jump_permille, meddle_permille, fail_permille, extent_permille;
	bool cached;
	unsigned fronts;
	struct engine *disk; /* nobody's front end; what survives */
	struct front front[SIM_FRONTS];
	struct client client[SIM_CLIENTS];
	const struct sim_service *service;
	struct key_slot key[SIM_KEYS_MAX];
	uint64_t now, value_next;
	bool in_hook, crashed;
	struct linear_history *history;
	struct buf *why;
	bool violated;
};

/* What the clients do. Keys are slots 0..slots-1, each with generations. */
struct sim_service {
	const char *name;
	unsigned slots;
	size_t call_bytes, memory_bytes;
	/* Which partition a slot lies in. */
	struct slice (*partition)(unsigned slot);
	/* Once, before trouble begins; runs writes with sim_write_now. NULL: nothing. */
	void (*setup)(struct sim *);
	/* Draws what the idle client does with its slot: call, apply, reads, points. */
	void (*choose)(struct sim *, struct client *);
	/* The read that looks at the key last. */
	void (*choose_last)(struct sim *, struct client *);
	/* After all reads: last operations of client 0, by sim_write_now. NULL: none. */
	void (*finish)(struct sim *, struct client *);
	/* Payload into extents, before the write is queued. False: no space, it is not asked. */
	bool (*prepare)(struct sim *, struct client *);
	/* It certainly did not happen: prepared extents are nobody's. */
	void (*give_up)(struct sim *, struct client *);
	/* After a read: does the answer lie in extents, to be read later under the pin? And are they whole? */
	bool (*has_bytes)(const struct client *);
	enum err (*check_bytes)(struct sim *, struct client *);
	/* The operation as a line of the history (sim_history_add); err is what the store answered. */
	void (*record)(struct sim *, struct client *, enum err err, bool open);
	/* Extents that the records of a partition name, whole or ERR_CORRUPT. NULL: finish has counted. */
	apply_fn *audit;
	/* A background thread's turn, now and then. NULL: none. */
	void (*background)(struct sim *);
};

struct sim_audit {
	struct sim *sim;
	uint64_t extents; /* found */
};

extern const struct sim_service sim_plain, sim_services, sim_contents, sim_files;

/* run.c */
/* arena: NULL if the call keeps nothing in it. */
enum err sim_write_now(struct sim *, struct slice partition, apply_fn *, void *call, struct arena *) MUST_CHECK;
/* Runs blocking background work on a front end of its own, with threads, while everything else stands still. */
void sim_housekeep(struct sim *, void (*work)(struct sim *, struct store *, bool all), bool all);
void sim_history_add(struct sim *, struct client *, const char *op, const char *key, const char *args,
		     const char *result, bool open);
void sim_wrong(struct sim *, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* payload.c: payloads whose bytes all say which value they are. */
bool sim_extent_make(struct engine *, uint32_t value, struct extent_ref *ret);
bool sim_extent_make_bytes(struct engine *, uint32_t value, size_t bytes, struct extent_ref *ret);
enum err sim_extent_check(struct engine *, uint32_t value, const struct extent_ref *) MUST_CHECK;
/* Some value, but all of one. */
enum err sim_extent_check_any(struct engine *, const struct extent_ref *) MUST_CHECK;

#endif
