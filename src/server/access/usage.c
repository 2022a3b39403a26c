/* SPDX-License-Identifier: Apache-2.0
 * Quotas of stored bytes. See usage.h. */
#include "server/access/usage.h"

#include "auth/limits.h"
#include "store/meter.h"
#include "svc/account/resource.h"
#include "svc/blob/record.h"
#include "svc/file/share.h"
#include "svc/queue/queue.h"
#include "svc/table/entity.h"

static const struct {
	char kind;
	meter_weigh_fn *weigh;
} kinds[] = { { RESOURCE_CONTAINER, blob_row_weigh },
	      { RESOURCE_QUEUE, queue_row_weigh },
	      { RESOURCE_TABLE, entity_row_weigh },
	      { RESOURCE_SHARE, share_row_weigh } };

struct counting {
	struct store *store;
	const struct auth_account *account;
	meter_weigh_fn *weigh;
};

static enum err count_one(void *arg, const struct resource *r, struct arena *arena, bool *stop)
{
	const struct counting *c = arg;
	const struct auth_quota *own = limits_container_quota(c->account->limits, r->name);
	struct slice partition = resource_generation_partition(arena, c->account->name, r->kind, r->generation);
	if (!slice_is_set(partition))
		return ERR_NO_MEMORY;
	TRY(store_meter(c->store, partition, c->weigh, own ? own->stored_bytes : 0));
	return store_meter_count(c->store, partition);
}

static enum err count_account(struct store *store, const struct auth_account *a)
{
	for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
		struct counting c = { store, a, kinds[k].weigh };
		TRY(resource_walk(store, a->name, kinds[k].kind, SLICE(""), count_one, &c));
	}
	return ERR_OK;
}

bool usage_prepare(struct store *store, const struct auth_account *account, size_t count, struct buf *error)
{
	for (size_t i = 0; i < count; i++) {
		bool limited = account[i].limits && account[i].limits->stores_limited;
		enum err e = limited ? count_account(store, &account[i]) : ERR_OK;
		if (e != ERR_OK) {
			buf_printf(error, "cannot count what %.*s stores: %s", SLICE_FMT(account[i].name), err_name(e));
			return false;
		}
	}
	return true;
}
