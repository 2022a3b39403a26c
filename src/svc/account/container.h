/* SPDX-License-Identifier: Apache-2.0
 * Operations on the record of a container (shares will use the same): read, metadata, ACL, lease, delete.
 * Container leases exclude others from deletion only; every other operation checks an id if one is given.
 * Conditions on containers are the two time headers. Lease operations leave ETag and Last-Modified alone, but for
 * clients of an early version. */
#ifndef SVC_ACCOUNT_CONTAINER_H
#define SVC_ACCOUNT_CONTAINER_H

#include "svc/account/resource.h"
#include "svc/common/conditions.h"

struct container_call {
	struct slice name;
	bool has_lease_id;
	struct uuid lease_id;
	struct conditions conditions;
	enum err missing_error;
	struct lease_request lease; /* container_apply_lease */
	bool lease_is_change;	    /* as it was before 2013-08-15: it moves ETag and Last-Modified */
	struct pairs metadata;	    /* container_apply_set_metadata */
	size_t policy_count;	    /* container_apply_set_acl */
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
