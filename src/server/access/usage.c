/* SPDX-License-Identifier: Apache-2.0
 * Quotas of stored bytes. See usage.h. */
#include "server/access/usage.h"

#include "auth/limits.h"
#include "base/limits.h"
#include "store/meter.h"
#include "svc/account/resource.h"
#include "svc/blob/record.h"
#include "svc/file/share.h"
#include "svc/queue/queue.h"
#include "svc/table/entity.h"

enum { PAGE = 200 };

static const struct {
	char kind;
	meter_weigh_fn *weigh;
} kinds[] = { { RESOURCE_CONTAINER, blob_row_weigh },
	      { RESOURCE_QUEUE, queue_row_weigh },
	      { RESOURCE_TABLE, entity_row_weigh },
	      { RESOURCE_SHARE, share_row_weigh } };

struct list_call {
	char kind;
	struct slice from;
	struct resource_page page;
};

static enum err apply_list(struct txn *txn, void *call)
{
	struct list_call *c = call;
	return resource_list(txn, c->kind, SLICE(""), c->from, PAGE, &c->page);
}

static enum err count_one(struct store *store, const struct auth_account *a, const struct resource *r,
			  meter_weigh_fn *weigh, struct arena *arena)
{
	const struct auth_quota *own = limits_container_quota(a->limits, r->name);
	struct slice partition = resource_generation_partition(arena, a->name, r->kind, r->generation);
	if (!slice_is_set(partition))
		return ERR_NO_MEMORY;
	TRY(store_meter(store, partition, weigh, own ? own->stored_bytes : 0));
	return store_meter_count(store, partition);
}

static enum err count_kind(struct store *store, const struct auth_account *a, size_t kind)
{
	struct list_call c = { .kind = kinds[kind].kind, .from = SLICE_NONE };
	struct arena arena;
	enum err e = ERR_OK;
	arena_init(&arena, GIB);
	do {
		e = store_read(store, resource_account_partition(&arena, a->name), apply_list, &c, &arena);
		for (size_t i = 0; e == ERR_OK && i < c.page.count; i++)
			e = count_one(store, a, &c.page.resource[i], kinds[kind].weigh, &arena);
		c.from = c.page.next_name;
	} while (e == ERR_OK && slice_is_set(c.from));
	arena_fini(&arena);
	return e;
}

bool usage_prepare(struct store *store, const struct auth_account *account, size_t count, struct buf *error)
{
	for (size_t i = 0; i < count; i++)
		for (size_t k = 0;
		     account[i].limits && account[i].limits->stores_limited && k < sizeof kinds / sizeof *kinds; k++) {
			enum err e = count_kind(store, &account[i], k);
			if (e != ERR_OK) {
				buf_printf(error, "cannot count what %.*s stores: %s", SLICE_FMT(account[i].name),
					   err_name(e));
				return false;
			}
		}
	return true;
}
