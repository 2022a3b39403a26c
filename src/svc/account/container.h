/* SPDX-License-Identifier: Apache-2.0
 * Operations on the record of a container (shares will use the same): read, metadata, ACL, lease, delete.
 * Container leases exclude others from deletion only; every other operation checks an id if one is given.
 * Conditions on containers are the two time headers. Lease operations leave ETag and Last-Modified alone. */
#ifndef SVC_ACCOUNT_CONTAINER_H
#define SVC_ACCOUNT_CONTAINER_H

#include "svc/account/resource.h"
#include "svc/common/conditions.h"

enum lease_action { LEASE_ACTION_ACQUIRE, LEASE_ACTION_RENEW, LEASE_ACTION_CHANGE, LEASE_ACTION_RELEASE, LEASE_ACTION_BREAK };

/* What a lease request says; the same for containers and blobs. */
struct lease_request {
	enum lease_action action;
	bool has_id, has_proposed;
	struct uuid id, proposed, minted;
	int32_t duration_s;     /* acquire */
	int32_t break_period_s; /* break: 0..60 or LEASE_BREAK_DEFAULT */
	/* out */
	struct uuid result_id;
	uint32_t break_seconds_left;
};
enum err lease_request_run(struct lease *, const struct lease_errors *, uint64_t now_ticks, struct lease_request *) MUST_CHECK;

struct container_call {
	struct slice name;
	bool has_lease_id;
	struct uuid lease_id;
	struct conditions conditions;
	enum err missing_error;
	struct lease_request lease;     /* container_apply_lease */
	struct pairs metadata;          /* container_apply_set_metadata */
	size_t policy_count;            /* container_apply_set_acl */
	struct policy policy[POLICIES_MAX];
	enum public_access public_access;
	/* out */
	struct resource resource;
	uint64_t now_ticks;
};

/* Applies on the account partition. */
enum err container_apply_get(struct txn *, void *call);
enum err container_apply_set_metadata(struct txn *, void *call);
enum err container_apply_set_acl(struct txn *, void *call);
enum err container_apply_lease(struct txn *, void *call);

/* Delete: begins with resource_delete, so that its two steps run on it. */
struct container_delete {
	struct resource_delete base;
	bool has_lease_id;
	struct uuid lease_id;
	struct conditions conditions;
};
void container_delete_init(struct container_delete *, struct slice name, uint64_t generation);

#endif
