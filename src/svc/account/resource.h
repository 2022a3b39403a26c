/* SPDX-License-Identifier: Apache-2.0
 * Containers, queues, tables and shares as the account sees them: one record each in the account partition, keyed by
 * kind and name. What lives below one is in a partition of its own, named by the record's generation, new at each
 * creation.
 *
 * Creating and deleting touch both partitions, one commit each, so that engines without cross-partition commits can do
 * it:
 *   create   1 account: name free? put an intent   2 generation: put meta (it is live)   3 account: put record, drop
 * intent
 *   delete   1 account: allowed? drop record, put an intent   2 generation: drop meta (later writes find none: 404)
 *            or, to be restored: 1 account: allowed? drop record, keep it as a deleted one
 * A creator that finds the name taken at step 3, or its own intent gone, turns its intent into one that drops its
 * generation. A crash or an error between leaves an intent, with the session that made it and the time; resource_settle
 * and resource_reap finish it. The reaper also empties dropped
 * generations.
 * A write below carries no cache in its correctness: it asks for the generation's meta in its own transaction.
 *
 * Rows of the account's partition:
 *   <kind> string(key name)     record; the key name is the name, lower-cased for tables
 *   'i' u64(generation)         intent
 *   'p' service letter          properties
 *   'r' string(name) u64(ticks) a deleted container that can still be restored
 *   'R' string(name) u64(ticks) a deleted share, likewise */
#ifndef SVC_ACCOUNT_RESOURCE_H
#define SVC_ACCOUNT_RESOURCE_H

#include "lock/lease.h"
#include "store/key.h"
#include "store/store.h"
#include "svc/common/generation.h"
#include "svc/common/metadata.h"

enum resource_kind { RESOURCE_CONTAINER = 'c', RESOURCE_QUEUE = 'q', RESOURCE_TABLE = 't', RESOURCE_SHARE = 's' };
enum public_access { PUBLIC_NONE, PUBLIC_BLOB, PUBLIC_CONTAINER };
enum { POLICIES_MAX = 5, POLICY_ID_MAX = 64 };

struct policy {
	struct slice id;
	struct slice start, expiry, permission; /* as the client wrote them; absent = not in the policy */
};

struct resource {
	char kind;
	struct slice name;
	uint64_t generation;
	uint64_t etag; /* ticks */
	uint64_t modified_ticks;
	uint64_t created_ticks;
	struct pairs metadata;
	size_t policy_count;
	struct policy policy[POLICIES_MAX];
	enum public_access public_access;
	struct lease lease;
	bool immutable_versions; /* version-level immutability allowed */
	struct slice extra;	 /* of the service: opaque here */
};

/* Record bytes; decode leaves slices pointing into `record`. */
void resource_encode(struct buf *, const struct resource *);
enum err resource_decode(struct slice record, struct arena *, struct resource *ret) MUST_CHECK;

/* A lookup from outside a transaction, through the cache of hot records: ERR_NOT_FOUND is a value. */
enum err resource_find(struct store *, struct slice account, char kind, struct slice name, struct arena *,
		       struct resource *ret) MUST_CHECK;
/* Partition ids, in the arena; absent if it has no room. */
struct slice resource_account_partition(struct arena *, struct slice account);
struct slice resource_generation_partition(struct arena *, struct slice account, char kind, uint64_t generation);

/* Inside a transaction on the account partition. */
enum err resource_get(struct txn *, char kind, struct slice name, struct resource *ret) MUST_CHECK;
enum err resource_put(struct txn *, const struct resource *) MUST_CHECK;
/* One page of records in name order: names with `prefix`, from `from_name` (inclusive; absent = beginning). At most
 * `limit`; fewer if they are large. */
struct resource_page {
	struct resource *resource;
	size_t count;
	struct slice next_name; /* absent at the end */
};
enum err resource_list(struct txn *, char kind, struct slice prefix, struct slice from_name, size_t limit,
		       struct resource_page *ret) MUST_CHECK;
/* Outside a transaction: all of one kind in name order, from `from_name` on (empty: the beginning), page by page, each
 * page on a snapshot of its own. `visit` may block; the resource and the arena are its until it returns. An error of it
 * ends the walk and is returned, *stop ends it with ERR_OK. */
typedef enum err resource_visit_fn(void *arg, const struct resource *, struct arena *, bool *stop);
enum err resource_walk(struct store *, struct slice account, char kind, struct slice from_name, resource_visit_fn *,
		       void *arg) MUST_CHECK;

/* Creation: a call that BEGINS with this struct runs the three applies as its steps (account, generation, account). */
struct resource_create {
	struct resource resource; /* in: kind, name, generation (random), metadata, ...; out: etag, times */
	enum err exists_error;	  /* what a taken name answers */
	/* May be NULL: looks at the resource that has the name already and decides: ERR_OK = fine, nothing is created
	 * (`existed` is set), else the error to answer. */
	enum err (*on_exists)(struct resource_create *, const struct resource *existing);
	bool existed;
	bool reserved;	  /* between the steps: an intent is there */
	enum err refused; /* for format: another creator came first, this is the answer */
};
enum err resource_create_reserve(struct txn *, void *call); /* step 1, account partition */
enum err resource_create_open(struct txn *, void *call);    /* step 2, generation partition */
enum err resource_create_publish(struct txn *, void *call); /* step 3, account partition */

/* Deletion: a call that BEGINS with this struct runs the two applies (account, generation as found by parse). */
struct resource_delete {
	char kind;
	struct slice name;
	uint64_t generation; /* in: the generation found when the request was parsed; another one is "not found" */
	enum err missing_error;
	uint32_t retention_days; /* not 0: it can be restored for so long */
	/* May be NULL: leases, conditions. What it changes is what is kept for a restore. */
	enum err (*check)(struct txn *, struct resource_delete *, struct resource *);
};
enum err resource_delete_remove(struct txn *, void *call); /* step 1, account partition */
enum err resource_delete_close(struct txn *, void *call);  /* step 2, generation partition */

/* Restoring: a call that BEGINS with this struct runs the two applies (generation, account). Parse finds the generation
 * by resource_find_deleted. */
struct resource_restore {
	char kind;
	struct slice name;
	uint64_t deleted_ticks; /* which of the deleted ones */
	enum err exists_error, missing_error;
	/* out */
	struct resource resource;
};
/* ERR_NOT_FOUND is a value. */
enum err resource_find_deleted(struct store *, struct slice account, char kind, struct slice name,
			       uint64_t deleted_ticks, struct arena *, struct resource *ret) MUST_CHECK;
enum err resource_restore_open(struct txn *, void *call);    /* step 1, generation partition */
enum err resource_restore_publish(struct txn *, void *call); /* step 2, account partition */

struct deleted_resource {
	struct resource resource;
	uint64_t deleted_ticks;
	uint32_t retention_days;
};
/* Deleted ones in the order of name and time, at most `limit`, from a name (and of that name from a time) on. */
struct deleted_query {
	char kind;
	struct slice prefix, from_name;
	uint64_t from_ticks;
	size_t limit;
};
enum err resource_list_deleted(struct txn *, const struct deleted_query *, struct deleted_resource **ret,
			       size_t *ret_count) MUST_CHECK;

/* Sets the stored access policies; last writer wins. */
struct resource_set_policies {
	char kind;
	struct slice name;
	enum err missing_error;
	size_t count;
	struct policy policy[POLICIES_MAX];
};
enum err resource_apply_set_policies(struct txn *, void *resource_set_policies) MUST_CHECK;

/* Background: where the containers, queues and shares of an account are, those that can be restored included; one page
 * of records, at most `limit`, from *from on (empty: the beginning), which is moved behind them. *ret_more: there are
 * others behind. By records and not by what the engine has: not every engine can list its partitions. */
struct resource_place {
	char kind;
	uint64_t generation;
};
enum err resource_places(struct store *, struct slice account, struct key *from, size_t limit,
			 struct resource_place *ret, size_t *ret_count, bool *ret_more) MUST_CHECK;
/* At start, and now and then: creations that did not finish and whose request cannot be running become dropped
 * generations. Blocks. */
enum err resource_settle(struct store *, struct slice account) MUST_CHECK;
/* Background: deleted resources whose days are over become dropped generations. Blocks. */
enum err resource_expire(struct store *, struct slice account) MUST_CHECK;
/* Background: drops generations of one account, a bounded number per call. Each service empties its own: `empty` is
 * called with the dropped generation's partition and retires a bounded number of extents per call; it says when nothing
 * is left, then the partition is dropped and the intent goes. Runs on a background thread; blocks. *ret_more: call
 * again. One that fails does not keep the others; the first error is returned. */
/* Everything of the account goes: containers, queues, tables and shares (leases or not), those that could be restored,
 * and the properties of its services. A few commits, whatever there is below; the reaper does the rest. What is written
 * meanwhile may stay or go. Blocks. */
enum err resource_reset(struct store *, struct slice account) MUST_CHECK;
typedef enum err resource_empty_fn(struct store *, struct slice partition, char kind, bool *ret_more);
enum err resource_reap(struct store *, struct slice account, resource_empty_fn *empty, bool *ret_more) MUST_CHECK;

#endif
