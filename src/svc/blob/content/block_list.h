/* SPDX-License-Identifier: Apache-2.0
 * Uncommitted blocks. 'U' name says that a staging is open: its id, the length its block ids have, how many there are
 * and when the last came. Blocks lie under the staging id; closing a staging is one small commit (the 'U' row goes, the
 * rest is given back in the background). A staging ends a week after its last block. As long as there is no blob of the
 * name, the staging is what a lease holds; the blob that comes of it takes the lease over. */
#ifndef SVC_BLOB_BLOCK_LIST_H
#define SVC_BLOB_BLOCK_LIST_H

#include "svc/blob/blob.h"
#include "svc/blob/content/manifest.h"

#define STAGE_LIFE_TICKS (UINT64_C(7) * 24 * 3600 * TICKS_PER_SECOND)

struct stage {
	uint64_t id;
	uint32_t block_id_bytes;
	uint32_t block_count;
	uint64_t last_ticks;
	uint64_t created_ticks;
	uint64_t staged_bytes;		   /* of all blocks: what the row weighs (usage.c); 0 = never counted */
	struct lease lease;		   /* while there is no blob of the name */
	struct blob_encryption encryption; /* of all its blocks: the key, not the scope */
};

void blob_stage_encode(struct buf *, const struct stage *);
enum err blob_stage_decode(struct slice record, struct stage *ret) MUST_CHECK;
/* The open one; ERR_NOT_FOUND is a value, and what one has whose week is over. */
enum err blob_stage_get(struct txn *, struct slice name, struct stage *ret) MUST_CHECK;
enum err blob_stage_put(struct txn *, struct slice name, const struct stage *) MUST_CHECK;
/* Ends an open staging, if there is one: its blocks are given back. */
enum err blob_stage_discard(struct txn *, struct slice name) MUST_CHECK;
/* The same, but for the blocks that the content `kept`, a block list just written, took out of it. */
enum err blob_stage_end(struct txn *, struct slice name, const struct content *kept) MUST_CHECK;

struct blob_put_block_call {
	struct blob_target target;
	struct slice block_id;	       /* decoded */
	const struct payload *payload; /* extents (never inline); NULL in the dry run */
	uint64_t stage_id;	       /* random, used if none is open */
};
enum err blob_apply_put_block(struct txn *, void *call);

enum block_source { BLOCK_LATEST, BLOCK_COMMITTED, BLOCK_UNCOMMITTED };
struct block_choice {
	enum block_source source;
	struct slice id;
};
struct block_list_plan;
struct blob_put_block_list_call {
	struct blob_put_call put; /* properties of the new state; payload unused */
	const struct block_choice *choice;
	size_t choice_count;
	/* A long list, or one over many blocks, is worked out ahead by blob_apply_plan_block_list: the committer is
	 * everybody's. With plans_ahead the apply refuses what is long without a plan, or with one that rests on blocks
	 * that changed since, by ERR_BUDGET: plan (again), then commit. Without it does everything itself. */
	bool plans_ahead;
	struct block_list_plan *plan; /* lives in the arena of the read that made it; NULL: none */
};
enum err blob_apply_put_block_list(struct txn *, void *call);
/* On a snapshot: every check of the apply, then the rows of the new list (call->plan). */
enum err blob_apply_plan_block_list(struct txn *, void *call);
/* So many entries, staged and committed blocks together are a millisecond of the committer's time. */
enum { BLOCK_LIST_LONG = 1000 };

struct blob_get_block_list_call {
	struct blob_target target;
	bool committed, uncommitted; /* what is asked for */
	/* out */
	bool exists; /* a committed blob is there */
	struct blob blob;
	struct manifest committed_blocks;
	struct manifest uncommitted_blocks;
};
enum err blob_apply_get_block_list(struct txn *, void *call);

#endif
