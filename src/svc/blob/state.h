/* SPDX-License-Identifier: Apache-2.0
 * Snapshots, undelete, tiers, immutability policies and legal holds. None of them changes the ETag of the base. */
#ifndef SVC_BLOB_STATE_H
#define SVC_BLOB_STATE_H

#include "svc/blob/blob.h"

struct blob_snapshot_call {
	struct blob_target target;
	bool has_metadata;
	struct pairs metadata; /* of the snapshot, instead of the base's */
	/* out */
	struct blob snapshot;
	uint64_t base_version_ticks;
};
enum err blob_apply_snapshot(struct txn *, void *call);

/* What was deleted last comes back as the base, if the name has none now; other deleted bases become snapshots.
 * Thousands of rows come back by a mark (history.h). */
struct blob_undelete_call {
	struct slice name;
	uint32_t rows_at_once; /* as in blob_rules */
	/* out */
	bool again; /* as of a delete */
};
enum err blob_apply_undelete(struct txn *, void *call);
/* Soft-deleted, and its days are over: gone for every reader, swept some time later. */
bool blob_retention_over(const struct blob *, uint64_t now_ticks);

struct blob_state_call {
	struct blob_target target;
	/* tier */
	enum blob_tier tier;
	bool high_priority;
	bool rehydrating; /* out: the blob leaves the archive, later */
	/* immutability policy: mode NONE deletes it */
	enum immutability_mode mode;
	uint64_t until_ticks;
	/* legal hold */
	bool legal_hold;
	/* out */
	struct blob blob;
};
/* Block blobs have the tiers of access, page blobs those of premium disks, append blobs none; TIER_NONE suits all.
 * ERR_ACCESS_TIER_NOT_SUPPORTED_FOR_BLOB_TYPE. */
enum err blob_check_tier(enum blob_type, enum blob_tier) MUST_CHECK;
/* Of a tier that is read online: Hot, Cool, Cold (TIER_NONE: Hot). */
enum blob_rehydrate blob_rehydrate_to(enum blob_tier);
enum err blob_apply_set_tier(struct txn *, void *call);
enum err blob_apply_set_immutability(struct txn *, void *call);
enum err blob_apply_delete_immutability(struct txn *, void *call);
enum err blob_apply_set_legal_hold(struct txn *, void *call);

/* A blob that left the archive is readable BLOB_REHYDRATE_SECONDS later. */
enum { BLOB_REHYDRATE_SECONDS = 10 };
/* A pending copy whose worker was silent for so long has none any more. */
enum { BLOB_COPY_SILENCE_SECONDS = 60 };
/* What a record means at this time: a rehydration that is over is done, a copy without a worker has failed. */
void blob_settle(struct blob *, uint64_t now_ticks);

/* Background: one bounded page of history rows whose retention is over, stagings whose week is over and
 * builds without a maker, from *from on
 * (partition-relative key, absent = beginning; set to where to go on, absent at the end). Blocks. */
enum err blob_expire_round(struct store *, struct slice partition, struct buf *from, bool *ret_more) MUST_CHECK;

#endif
