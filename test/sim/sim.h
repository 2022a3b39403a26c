/* SPDX-License-Identifier: Apache-2.0
 * One simulated run: several clients on one or two front ends (stores in manual mode) over one mem engine, one thread, one
 * seed. Time is a count of events. Trouble comes from the engine (conflicts, unknown and late outcomes, full, failed) and
 * from here (power cuts at any point of a commit, another front end's commit between the reads and the commit of the first,
 * clocks that jump). What clients saw becomes a history (linear.h); the verdict is its check, and that no extent was lost,
 * damaged or leaked. */
#ifndef TEST_SIM_SIM_H
#define TEST_SIM_SIM_H

#include "base/buf.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/rng.h"
#include "engine/mem/mem.h"
#include "linear.h"
#include "store/mutant.h"
#include "store/store.h"

enum { SIM_CLIENTS = 7, SIM_FRONTS = 2, SIM_BLOBS = 3, SIM_PAIRS = 2, SIM_KEYS = SIM_BLOBS + SIM_PAIRS, SIM_OPEN_MAX = 5 };

struct sim_config {
	uint64_t seed;
	unsigned mutant;       /* store/mutant.h */
	bool volatile_commits; /* the engine's mutant */
	unsigned ops;          /* about so many operations */
};

struct sim_totals {
	uint64_t runs, ops, acknowledged, refused, open, crashes, conflicts, unknowns, gave_up;
};

/* LINEAR_VIOLATION: *why says what; *history (may be NULL) receives all operations either way. */
enum linear_answer sim_run(const struct sim_config *, struct sim_totals *, struct buf *why, struct buf *history);

/* ---- inside ---- */

enum op_kind { OP_PUT, OP_DEL, OP_GET, OP_ACQUIRE, OP_RELEASE, OP_MOVE, OP_READ };

/* A blob's record. */
struct record {
	uint64_t etag;
	uint32_t value;
	uint32_t lease; /* client + 1; 0 none */
	struct extent_ref extent; /* id 0: the value is here; else the extent repeats it */
};

/* What an operation needs and finds; apply sees nothing else. */
struct call {
	enum op_kind kind;
	char key[2][24];      /* rows: a blob has one, a pair two */
	uint32_t value, lease;
	bool none;
	bool by_scan; /* a pair is read by one scan, not by two gets */
	uint64_t if_etag;
	int64_t amount;
	struct extent_ref extent; /* sealed, to be published */
	/* found, set anew by every run */
	struct record record;
	int64_t a, b;
};

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
	unsigned generation;          /* of the key when called */
	enum client_state state;
	struct store_job job;
	struct call call;
	struct arena arena;
	uint64_t call_time, pin;
	uint64_t knows_etag[SIM_BLOBS]; /* what it saw last */
	unsigned knows_generation[SIM_BLOBS];
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
	struct key_slot key[SIM_KEYS];
	uint64_t now, value_next;
	bool in_hook, crashed;
	struct linear_history *history;
	struct buf *why;
	bool violated;
};

/* ops.c */
apply_fn sim_apply;
void sim_choose(struct sim *, struct client *);                 /* fills client->call; the client is idle */
/* Writes the operation into the history: err is what the store answered; open: nobody knows. */
void sim_record(struct sim *, struct client *, enum err err, bool open);
void sim_key_text(const struct sim *, unsigned slot, unsigned generation, char *dst, size_t size);
void sim_wrong(struct sim *, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
