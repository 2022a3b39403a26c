/* SPDX-License-Identifier: Apache-2.0
 * Queues as resources of their account: one page of their list, and their metadata. Both run on the account's
 * partition. Creating and deleting are the same for every kind of resource (svc/account/resource.h). */
#ifndef SVC_QUEUE_ADMIN_H
#define SVC_QUEUE_ADMIN_H

#include "svc/account/resource.h"

struct queue_list {
	struct slice prefix, from_name; /* from_name absent: from the beginning */
	size_t limit;
	struct resource_page page; /* out */
};
enum err queue_list_apply(struct txn *, void *queue_list);

/* The last writer wins. ERR_QUEUE_NOT_FOUND. */
struct queue_set_metadata {
	struct slice name;
	struct pairs metadata;
};
enum err queue_set_metadata_apply(struct txn *, void *queue_set_metadata);

/* For resource_create: creating a queue again is fine if its metadata is the same. */
enum err queue_create_on_exists(struct resource_create *, const struct resource *existing);

#endif
