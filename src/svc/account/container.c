/* SPDX-License-Identifier: Apache-2.0
 * What a container's record has beyond a resource: public access, immutability, default scope. */
#include "svc/account/container.h"

static struct condition_target target_of(const struct resource *r)
{
	return (struct condition_target){ .exists = true, .etag = r->etag, .modified_ticks = r->modified_ticks };
}

static enum err load(struct txn *txn, struct container_call *c)
{
	enum err e = resource_get(txn, RESOURCE_CONTAINER, c->name, &c->resource);
	c->now_ticks = txn_now(txn);
	return e == ERR_NOT_FOUND ? c->missing_error : e;
}

/* The checks of everything but delete and lease: an id is checked only if given. */
static enum err load_checked(struct txn *txn, struct container_call *c)
{
	TRY(load(txn, c));
	TRY(lease_check_read(&c->resource.lease, &lease_errors_container, c->now_ticks,
			     c->has_lease_id ? &c->lease_id : NULL));
	struct condition_target t = target_of(&c->resource);
	return conditions_check_write(&c->conditions, &t, ERR_CONDITION_NOT_MET, ERR_CONDITION_NOT_MET);
}

enum err container_apply_get(struct txn *txn, void *call)
{
	struct container_call *c = call;
	TRY(load(txn, c));
	return lease_check_read(&c->resource.lease, &lease_errors_container, c->now_ticks,
				c->has_lease_id ? &c->lease_id : NULL);
}

static enum err save_changed(struct txn *txn, struct container_call *c)
{
	c->resource.etag = etag_next(c->now_ticks, c->resource.etag);
	c->resource.modified_ticks = c->resource.etag;
	return resource_put(txn, &c->resource);
}

enum err container_apply_set_metadata(struct txn *txn, void *call)
{
	struct container_call *c = call;
	TRY(load_checked(txn, c));
	c->resource.metadata = c->metadata;
	return save_changed(txn, c);
}

enum err container_apply_set_acl(struct txn *txn, void *call)
{
	struct container_call *c = call;
	TRY(load_checked(txn, c));
	c->resource.public_access = c->public_access;
	c->resource.policy_count = c->policy_count;
	memcpy(c->resource.policy, c->policy, sizeof c->policy);
	return save_changed(txn, c);
}

enum err container_apply_lease(struct txn *txn, void *call)
{
	struct container_call *c = call;
	TRY(load(txn, c));
	struct condition_target t = target_of(&c->resource);
	TRY(conditions_check_write(&c->conditions, &t, ERR_CONDITION_NOT_MET, ERR_CONDITION_NOT_MET));
	TRY(lease_request_run(&c->resource.lease, &lease_errors_container, c->now_ticks, &c->lease));
	return c->lease_is_change ? save_changed(txn, c) : resource_put(txn, &c->resource);
}

static enum err delete_check(struct txn *txn, struct resource_delete *base, struct resource *r)
{
	struct container_delete *d = (struct container_delete *)base;
	struct condition_target t = target_of(r);
	TRY(lease_check_write(&r->lease, &lease_errors_container, txn_now(txn), d->has_lease_id ? &d->lease_id : NULL));
	return conditions_check_write(&d->conditions, &t, ERR_CONDITION_NOT_MET, ERR_CONDITION_NOT_MET);
}

void container_delete_init(struct container_delete *d, struct slice name, uint64_t generation)
{
	*d = (struct container_delete){ .base = { .kind = RESOURCE_CONTAINER,
						  .name = name,
						  .generation = generation,
						  .missing_error = ERR_CONTAINER_NOT_FOUND,
						  .check = delete_check } };
}
