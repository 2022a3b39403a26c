/* SPDX-License-Identifier: Apache-2.0
 * The reaper: finishes what a crash or a delete left as intents in an account partition.
 *   'D' a dropped generation: make sure its meta is gone, let the service retire its extents, drop the partition, drop
 *       the intent.
 *   'C' a creation that did not finish: only at start (while serving, its request may still be running); if no record
 *       names the generation it is dropped like a deleted one.
 * Every step may be repeated: a crash in the middle costs nothing but doing it again. */
#include "svc/account/resource_int.h"

#include "svc/common/background.h"

enum { REAP_PAGE = 64 };

struct intents {
	struct rows rows;
};

static enum err read_intents(struct txn *txn, void *call)
{
	struct intents *i = call;
	struct scan_spec spec = { .from = SLICE("i"), .until = SLICE("j"), .limit_rows = REAP_PAGE };
	return txn_scan(txn, &spec, &i->rows);
}

struct named {
	char kind;
	uint64_t generation;
	bool found;
};

/* A creation without intent removal: does a record of that kind name the generation? */
static enum err find_named(struct txn *txn, void *call)
{
	struct named *n = call;
	struct slice from_name = SLICE_NONE;
	n->found = false;
	do {
		struct resource_page page;
		TRY(resource_list(txn, n->kind, SLICE(""), from_name, 500, &page));
		for (size_t i = 0; i < page.count; i++)
			n->found = n->found || page.resource[i].generation == n->generation;
		from_name = page.next_name;
	} while (slice_is_set(from_name) && !n->found);
	return ERR_OK;
}

struct intent_drop {
	struct slice key;
};

static enum err drop_intent(struct txn *txn, void *call)
{
	struct intent_drop *d = call;
	return txn_del(txn, d->key);
}

static enum err reap_one(struct store *store, struct slice account, struct slice account_partition,
			 const struct row *row, resource_empty_fn *empty, bool at_start, struct arena *arena,
			 bool *ret_more)
{
	struct slice rest = row->key;
	uint64_t generation;
	if (!key_take_tag(&rest, 'i') || !key_take_u64(&rest, &generation) || row->value.len < 2)
		return ERR_CORRUPT;
	char what = row->value.ptr[0], kind = row->value.ptr[1];
	struct intent_drop drop = { .key = row->key };
	if (what == 'C') {
		struct named named = { .kind = kind, .generation = generation };
		if (!at_start)
			return ERR_OK;
		TRY(store_read(store, account_partition, find_named, &named, arena));
		if (named.found)
			return background_write(store, account_partition, drop_intent, &drop, arena);
	}
	struct slice partition = resource_generation_partition(arena, account, kind, generation);
	if (!slice_is_set(partition))
		return ERR_NO_MEMORY;
	TRY(background_write(store, partition, resource_delete_close, NULL, arena));
	bool more = false;
	TRY(empty(store, partition, kind, &more));
	if (more) {
		*ret_more = true;
		return ERR_OK;
	}
	struct engine *engine = store_engine(store);
	TRY(engine->ops->drop_partition(engine, partition));
	return background_write(store, account_partition, drop_intent, &drop, arena);
}

/* Deleted resources whose days are over become intents like any other. */
static enum err expire_deleted(struct txn *txn, void *call)
{
	bool *found = call;
	struct rows rows;
	struct scan_spec spec = { .from = SLICE("r"), .until = SLICE("s"), .limit_rows = REAP_PAGE };
	*found = false;
	TRY(txn_scan(txn, &spec, &rows));
	for (size_t i = 0; i < rows.count; i++) {
		struct deleted_resource d;
		struct key k;
		TRY(deleted_decode(rows.row[i].value, txn_arena(txn), &d));
		if (txn_now(txn) < d.deleted_ticks + (uint64_t)d.retention_days * 86400 * TICKS_PER_SECOND)
			continue;
		*found = true;
		struct slice intent = arena_printf(txn_arena(txn), "D%c", d.resource.kind);
		if (!slice_is_set(intent))
			return ERR_NO_MEMORY;
		key_init(&k);
		key_tag(&k, 'i');
		key_u64(&k, d.resource.generation);
		TRY(txn_put(txn, key_slice(&k), intent));
		TRY(txn_del(txn, rows.row[i].key));
	}
	return ERR_OK;
}

enum err resource_reap(struct store *store, struct slice account, resource_empty_fn *empty, bool at_start,
		       bool *ret_more)
{
	struct arena arena;
	struct intents intents;
	bool more = false;
	arena_init(&arena, 16 * MIB);
	struct slice partition = resource_account_partition(&arena, account);
	enum err e =
		slice_is_set(partition) ? store_look(store, partition, read_intents, &intents, &arena) : ERR_NO_MEMORY;
	bool expired = false;
	if (e == ERR_OK)
		e = store_look(store, partition, expire_deleted, &expired, &arena);
	if (e == ERR_OK && expired)
		e = background_write(store, partition, expire_deleted, &expired, &arena);
	more = expired;
	for (size_t i = 0; e == ERR_OK && i < intents.rows.count; i++)
		e = reap_one(store, account, partition, &intents.rows.row[i], empty, at_start, &arena, &more);
	if (e == ERR_OK)
		*ret_more = more || intents.rows.more;
	arena_fini(&arena);
	return e;
}
