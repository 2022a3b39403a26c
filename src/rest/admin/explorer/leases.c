/* SPDX-License-Identifier: Apache-2.0
 * Who holds which lease until when: the containers of an account and their blobs, and its shares. There is no index of
 * leases, so this walks; on a worker, for LEASES_BUDGET_MS at most, and the answer says where to go on. */
#include "base/limits.h"
#include "rest/admin/explorer/api.h"
#include "rest/core/server.h"
#include "svc/account/resource.h"
#include "svc/blob/blob.h"

enum { LEASES_BUDGET_MS = 300, LEASES_MOST = 200, LEASES_PAGE = 1000 };

struct leases_call {
	struct api_call api;
	struct slice account;
	struct slice from_container, from_blob; /* where to go on; absent: at the beginning */
	uint64_t deadline_ns;
	size_t found;
	uint64_t walked;
	struct buf *out;
	uint64_t now_ticks;
	bool more;
	char kind;
	struct slice next_name; /* of the account's list */
	struct resource_page page;
	struct blob_list_call blobs;
};

static const char *state_name(enum lease_state s)
{
	static const char *const names[] = { "available", "leased", "breaking", "broken", "expired" };
	return names[s];
}

static void put_lease(struct leases_call *c, const char *kind, struct slice container, struct slice object,
		      const struct lease *l)
{
	enum lease_state state = lease_state(l, c->now_ticks);
	char id[UUID_TEXT_BYTES];
	if (state != LEASE_LEASED && state != LEASE_BREAKING)
		return;
	uuid_format(&l->id, id);
	buf_put(c->out, c->found++ ? SLICE(",\n{") : SLICE("\n{"));
	explorer_put_text(c->out, "kind", slice_str(kind));
	explorer_put_text(c->out, "container", container);
	explorer_put_text(c->out, "name", object);
	explorer_put_text(c->out, "state", slice_str(state_name(state)));
	explorer_put_text(c->out, "id", slice_make(id, sizeof id));
	if (l->end_ticks != TICKS_FOREVER)
		explorer_put_time(c->out, "ends", l->end_ticks);
	BUF_PUT(c->out, "}");
}

static enum err list_account(struct txn *txn, void *call)
{
	struct leases_call *c = call;
	return resource_list(txn, c->kind, SLICE(""), c->next_name, LEASES_PAGE, &c->page);
}

static enum err list_blobs(struct txn *txn, void *call)
{
	return blob_apply_list(txn, &((struct leases_call *)call)->blobs);
}

static bool spent(const struct leases_call *c)
{
	return c->found >= LEASES_MOST || base_monotonic_ns() > c->deadline_ns;
}

/* The blobs of one container from c->from_blob on; what is left when time is up stays there. */
static enum err walk_container(struct request *r, struct leases_call *c, const struct resource *container)
{
	struct slice partition =
		resource_generation_partition(r->arena, c->account, RESOURCE_CONTAINER, container->generation);
	char next[LIMIT_KEY_BYTES];
	struct slice from = c->from_blob;
	c->from_blob = SLICE_NONE;
	if (!slice_is_set(partition))
		return ERR_NO_MEMORY;
	for (;;) {
		struct arena_position position = arena_position(r->arena);
		c->blobs = (struct blob_list_call){ .prefix = SLICE(""),
						    .delimiter = SLICE(""),
						    .from = from,
						    .limit = LEASES_PAGE,
						    .base_too = true };
		TRY(store_read(r->server->store, partition, list_blobs, c, r->arena));
		for (size_t i = 0; i < c->blobs.count; i++)
			put_lease(c, "blob", container->name, c->blobs.item[i].blob.name, &c->blobs.item[i].blob.lease);
		c->walked += c->blobs.count;
		if (!c->blobs.more || c->blobs.next.len > sizeof next)
			return ERR_OK;
		from = slice_make(next, c->blobs.next.len);
		memcpy(next, c->blobs.next.ptr, from.len);
		arena_rewind(r->arena, position);
		if (spent(c) || request_is_abandoned(r)) {
			c->from_blob = arena_dup(r->arena, from);
			return ERR_OK;
		}
	}
}

static void put_next(struct leases_call *c, struct slice container)
{
	c->more = true;
	BUF_PUT(c->out, "],\"next\":{");
	explorer_put_text(c->out, "container", container);
	explorer_put_text(c->out, "blob", c->from_blob);
	BUF_PUT(c->out, "}");
}

static enum err walk_containers(struct request *r, struct leases_call *c)
{
	struct slice partition = resource_account_partition(r->arena, c->account);
	c->kind = RESOURCE_CONTAINER;
	c->next_name = c->from_container;
	do {
		TRY(store_read(r->server->store, partition, list_account, c, r->arena));
		for (size_t i = 0; i < c->page.count; i++) {
			const struct resource *container = &c->page.resource[i];
			put_lease(c, "container", container->name, SLICE(""), &container->lease);
			/* One that is deleted meanwhile has no leases. */
			enum err e = walk_container(r, c, container);
			if (e == ERR_NO_MEMORY)
				return e;
			if (!spent(c))
				continue;
			struct slice next = i + 1 < c->page.count ? container[1].name : c->page.next_name;
			if (slice_is_set(c->from_blob))
				next = container->name;
			if (slice_is_set(next))
				put_next(c, next);
			return ERR_OK;
		}
		c->next_name = c->page.next_name;
	} while (slice_is_set(c->next_name));
	return ERR_OK;
}

static enum err walk(struct request *r)
{
	struct leases_call *c = r->call;
	c->out = &r->response.body;
	c->deadline_ns = base_monotonic_ns() + LEASES_BUDGET_MS * UINT64_C(1000000);
	BUF_PUT(c->out, "{");
	explorer_put_time(c->out, "now", c->now_ticks);
	BUF_PUT(c->out, ",\"leases\":[");
	if (!slice_is_set(c->from_container)) {
		c->kind = RESOURCE_SHARE;
		TRY(store_read(r->server->store, resource_account_partition(r->arena, c->account), list_account, c,
			       r->arena));
		for (size_t i = 0; i < c->page.count; i++)
			put_lease(c, "share", c->page.resource[i].name, SLICE(""), &c->page.resource[i].lease);
	}
	TRY(walk_containers(r, c));
	if (!c->more)
		BUF_PUT(c->out, "]");
	explorer_put_number(c->out, "walked", c->walked);
	BUF_PUT(c->out, "}\n");
	return ERR_OK;
}

enum err explorer_leases_parse(struct request *r, struct slice scope)
{
	struct leases_call *c = ARENA_NEW(r->arena, struct leases_call);
	const struct auth_account *a;
	if (!c)
		return ERR_NO_MEMORY;
	r->call = c;
	TRY(explorer_api_account(r, scope, &a));
	c->account = a->name;
	c->from_container = request_param(r, "container");
	c->from_blob = request_param(r, "blob");
	if (slice_is_set(c->from_blob) && c->from_blob.len == 0)
		c->from_blob = SLICE_NONE;
	c->now_ticks = r->arrival_ticks;
	request_step_work(r, walk);
	return ERR_OK;
}

enum err explorer_leases_format(struct request *r)
{
	return ERR_OK;
}
