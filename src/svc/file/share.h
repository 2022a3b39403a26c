/* SPDX-License-Identifier: Apache-2.0
 * Shares. The record of a share (svc/account/resource.h, kind RESOURCE_SHARE) has its name, metadata, ACL and lease;
 * what a share has beyond a container is in the record's `extra`: struct share_settings. Quota and use are also in
 * the state row of the share's partition, where they are enforced.
 *
 * Snapshots are rows of the share's partition. Taking one is one small commit whatever the share holds.
 *
 * Steps of several commits, each an apply on the partition named:
 *   create            account: share_create_reserve     generation: share_create_open     account: share_create_publish
 *   set properties    account: share_apply_set_properties     generation: share_apply_set_quota
 *   delete            generation: share_delete_begin    account: share_delete_remove      generation: share_delete_end
 *   restore           generation: share_restore_open        account: resource_restore_publish
 *   all others        one commit: account (get, metadata, ACL, lease) or generation (stats, everything of a snapshot)
 * */
#ifndef SVC_FILE_SHARE_H
#define SVC_FILE_SHARE_H

#include "svc/account/resource.h"
#include "svc/common/conditions.h"
#include "svc/common/count.h"

enum { SHARE_QUOTA_DEFAULT_GIB = 5120, SHARE_QUOTA_MAX_GIB = 102400, SHARE_SNAPSHOTS_MAX = 200 };

enum share_tier { SHARE_TIER_TRANSACTION_OPTIMIZED, SHARE_TIER_HOT, SHARE_TIER_COOL, SHARE_TIER_PREMIUM };
enum share_protocol { SHARE_PROTOCOL_SMB, SHARE_PROTOCOL_NFS };
enum share_squash { SHARE_SQUASH_NONE, SHARE_SQUASH_ROOT, SHARE_SQUASH_ALL };

struct share_settings {
	uint32_t quota_gib;
	enum share_tier tier;
	uint64_t tier_changed_ticks;
	enum share_protocol protocol;
	enum share_squash squash;
	/* Kept and given back; 0 or false = not given. */
	uint64_t provisioned_iops, provisioned_bandwidth_mibps;
	bool paid_bursting;
	uint64_t paid_bursting_iops, paid_bursting_bandwidth_mibps;
	bool snapshot_directory; /* enable-snapshot-virtual-directory-access */
	bool directory_lease;	 /* enable-smb-directory-lease */
};
void share_settings_encode(struct buf *, const struct share_settings *);
/* An absent or empty extra reads as the defaults. */
enum err share_settings_decode(struct slice extra, struct share_settings *ret) MUST_CHECK;

/* Create: begins with resource_create. */
struct share_create {
	struct resource_create base; /* resource.extra is made from settings */
	struct share_settings settings;
};
void share_create_init(struct share_create *, struct slice name, uint64_t generation);
enum err share_create_reserve(struct txn *, void *call);
enum err share_create_open(struct txn *, void *call);
enum err share_create_publish(struct txn *, void *call);

/* Get, set, ACL, lease of the share itself: applies on the account partition. Sets and delete need the id of an active
 * lease; reads check an id if one is given. */
struct share_call {
	struct slice name;
	uint64_t generation; /* not 0: another one is ERR_SHARE_NOT_FOUND */
	bool has_lease_id;
	struct uuid lease_id;
	struct lease_request lease;
	struct pairs metadata;
	size_t policy_count;
	struct policy policy[POLICIES_MAX];
	/* set properties: only what is flagged */
	bool set_quota, set_tier, set_squash, set_provisioned, set_paid_bursting, set_snapshot_directory,
		set_directory_lease;
	struct share_settings change;
	/* out */
	struct resource resource;
	struct share_settings settings;
	uint64_t now_ticks;
};
enum err share_apply_get(struct txn *, void *call);
enum err share_apply_set_metadata(struct txn *, void *call);
enum err share_apply_set_acl(struct txn *, void *call);
enum err share_apply_set_properties(struct txn *, void *call);
enum err share_apply_set_quota(struct txn *, void *call); /* generation; after set_properties, with its call */
enum err share_apply_lease(struct txn *, void *call);

/* Stats: generation partition. */
struct share_stats_call {
	/* out */
	uint64_t used_bytes; /* the sizes of all files */
	uint64_t quota_bytes;
	uint64_t snapshot_count;
};
enum err share_apply_stats(struct txn *, void *call);

/* ---- snapshots: generation partition ---- */
struct share_snapshot {
	uint64_t ticks;	 /* its name: whole seconds */
	uint64_t number; /* store time of the commit that took it: rows older than it are in it */
	uint64_t etag;	 /* ticks; also Last-Modified */
	uint32_t quota_gib;
	struct pairs metadata;
	struct lease lease;
};
/* Inside a transaction. ERR_NOT_FOUND is a value. */
enum err share_snapshot_find(struct txn *, uint64_t ticks, struct share_snapshot *ret) MUST_CHECK;

struct share_snapshot_call {
	uint64_t ticks; /* which one: all but create */
	/* create */
	struct resource base; /* the share's record, as parse found it */
	bool has_metadata;    /* else the share's */
	struct pairs metadata;
	/* lease, get */
	bool has_lease_id;
	struct uuid lease_id;
	struct lease_request lease;
	/* out */
	struct share_snapshot snapshot;
	uint64_t now_ticks;
};
enum err share_apply_snapshot(struct txn *, void *call);     /* create */
enum err share_apply_get_snapshot(struct txn *, void *call); /* ERR_SHARE_NOT_FOUND */
enum err share_apply_lease_snapshot(struct txn *, void *call);
enum err share_apply_delete_snapshot(struct txn *, void *call); /* ERR_SHARE_SNAPSHOT_NOT_FOUND */

/* All of a share, in the order of time. */
struct share_snapshots_call {
	/* out */
	struct share_snapshot *snapshot;
	size_t count;
};
enum err share_apply_list_snapshots(struct txn *, void *call);

/* ---- delete ---- */
enum share_delete_snapshots {
	SHARE_DELETE_SNAPSHOTS_NONE,
	SHARE_DELETE_SNAPSHOTS_INCLUDE,
	SHARE_DELETE_SNAPSHOTS_LEASED
};
struct share_delete {
	struct resource_delete base;
	bool has_lease_id;
	struct uuid lease_id;
	enum share_delete_snapshots snapshots;
	struct lease found_lease; /* of the share as parse found it: its lease is judged before the snapshots */
	uint64_t begun_ticks;	  /* between the steps */
};
void share_delete_init(struct share_delete *, struct slice name, uint64_t generation);
/* With retention_days the third step leaves the generation as it is. Until the second step no snapshot can be taken. */
enum err share_delete_begin(struct txn *, void *call);
enum err share_delete_remove(struct txn *, void *call);
enum err share_delete_end(struct txn *, void *call);
/* The call begins with resource_restore (kind RESOURCE_SHARE, new_etag). */
enum err share_restore_open(struct txn *, void *call);

/* What a row weighs in its quota of stored bytes (store/meter.h). */
enum err share_row_weigh(struct slice key, struct slice value, struct arena *, uint64_t *ret_bytes) MUST_CHECK;
extern const struct count_rule share_count_rule; /* and how what it holds is counted */

#endif
