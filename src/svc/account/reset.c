/* SPDX-License-Identifier: Apache-2.0
 * An account is emptied by its own rows: each record becomes the intent to drop its generation, which the reaper works
 * off. What a commit may write bounds a round, so that any number of records is a number of rounds. */
#include "svc/account/resource_int.h"

enum { RESET_ARENA_BYTES = 32 * 1024 * 1024, RESET_ROWS = 2048 };

/* The letters of rows that go: records, deleted ones that could be restored, properties. */
static const char reset_tags[] = { RESOURCE_CONTAINER, RESOURCE_QUEUE, RESOURCE_TABLE, RESOURCE_SHARE, 'r', 'R', 'p' };

struct reset {
	bool more;
};

static enum err row_reset(struct txn *txn, char tag, const struct row *row)
{
	struct deleted_resource d;
	TRY(txn_del(txn, row->key));
	if (tag == 'p')
		return ERR_OK;
	if (tag == 'r' || tag == 'R')
		TRY(deleted_decode(row->value, txn_arena(txn), &d));
	else
		TRY(resource_decode(row->value, txn_arena(txn), &d.resource));
	return intent_put(txn, INTENT_DROP, d.resource.kind, d.resource.generation);
}

static enum err apply_reset(struct txn *txn, void *call)
{
	struct reset *c = call;
	size_t left = RESET_ROWS;
	c->more = false;
	for (size_t i = 0; i < sizeof reset_tags; i++) {
		struct key from, until;
		struct rows rows = { .more = true };
		key_init(&from);
		key_tag(&from, reset_tags[i]);
		until = from;
		key_prefix_end(&until);
		while (rows.more && left) {
			struct scan_spec spec = { .from = key_slice(&from),
						  .until = key_slice(&until),
						  .limit_rows = left };
			TRY(txn_scan(txn, &spec, &rows));
			for (size_t k = 0; k < rows.count; k++)
				TRY(row_reset(txn, reset_tags[i], &rows.row[k]));
			left -= rows.count < left ? rows.count : left;
			if (rows.more)
				key_after(&from, rows.row[rows.count - 1].key);
		}
		c->more = c->more || rows.more;
	}
	return ERR_OK;
}

enum err resource_reset(struct store *store, struct slice account)
{
	struct arena arena;
	struct reset call = { .more = true };
	arena_init(&arena, RESET_ARENA_BYTES);
	struct slice partition = resource_account_partition(&arena, account);
	enum err e = slice_is_set(partition) ? ERR_OK : ERR_NO_MEMORY;
	while (e == ERR_OK && call.more) {
		struct arena_position memory = arena_position(&arena);
		e = store_write_wait(store, partition, apply_reset, &call, &arena);
		arena_rewind(&arena, memory);
	}
	arena_fini(&arena);
	return e;
}
