/* SPDX-License-Identifier: Apache-2.0
 * Applies on the records of queues in their account's partition. See admin.h. */
#include "svc/queue/admin.h"

#include <assert.h>

enum err queue_list_apply(struct txn *txn, void *call)
{
	struct queue_list *l = call;
	assert(l->limit > 0);
	return resource_list(txn, RESOURCE_QUEUE, l->prefix, l->from_name, l->limit, &l->page);
}

enum err queue_set_metadata_apply(struct txn *txn, void *call)
{
	const struct queue_set_metadata *c = call;
	struct resource queue;
	enum err e = resource_get(txn, RESOURCE_QUEUE, c->name, &queue);
	if (e != ERR_OK)
		return e == ERR_NOT_FOUND ? ERR_QUEUE_NOT_FOUND : e;
	queue.metadata = c->metadata;
	queue.modified_ticks = txn_now(txn);
	return resource_put(txn, &queue);
}

enum err queue_create_on_exists(struct resource_create *c, const struct resource *existing)
{
	return pairs_equal(&c->resource.metadata, &existing->metadata) ? ERR_OK : c->exists_error;
}
