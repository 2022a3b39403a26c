/* SPDX-License-Identifier: Apache-2.0
 * Going through the containers, queues, tables or shares of an account, for whoever looks at all of them. */
#include "svc/account/resource.h"

#include "base/limits.h"

enum { WALK_PAGE = 200, WALK_ARENA_BYTES = 32 * 1024 * 1024 };

struct page_call {
	char kind;
	struct slice from;
	struct resource_page page;
};

static enum err apply_page(struct txn *txn, void *call)
{
	struct page_call *c = call;
	return resource_list(txn, c->kind, SLICE(""), c->from, WALK_PAGE, &c->page);
}

static enum err page_read(struct store *store, struct slice account, struct page_call *c, struct arena *arena)
{
	struct slice partition = resource_account_partition(arena, account);
	return slice_is_set(partition) ? store_read(store, partition, apply_page, c, arena) : ERR_NO_MEMORY;
}

enum err resource_walk(struct store *store, struct slice account, char kind, struct slice from_name,
		       resource_visit_fn *visit, void *arg)
{
	struct page_call c = { .kind = kind };
	struct arena arena;
	struct buf from; /* outlives the page that named it */
	bool stop = false;
	enum err e;
	buf_init(&from, LIMIT_KEY_BYTES);
	buf_put(&from, from_name);
	arena_init(&arena, WALK_ARENA_BYTES);
	do {
		arena_reset(&arena);
		c.from = from.len ? buf_slice(&from) : SLICE_NONE;
		e = buf_ok(&from) ? page_read(store, account, &c, &arena) : ERR_NO_MEMORY;
		for (size_t i = 0; e == ERR_OK && !stop && i < c.page.count; i++)
			e = visit(arg, &c.page.resource[i], &arena, &stop);
		if (e == ERR_OK && slice_is_set(c.page.next_name)) {
			buf_clear(&from);
			buf_put(&from, c.page.next_name);
		}
	} while (e == ERR_OK && !stop && slice_is_set(c.page.next_name));
	arena_fini(&arena);
	buf_fini(&from);
	return e;
}
