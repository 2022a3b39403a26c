/* SPDX-License-Identifier: Apache-2.0
 * Counting rows. See count.h. */
#include "svc/common/count.h"

#include "base/limits.h"
#include "store/key.h"

enum { COUNT_PAGE_ROWS = 1000, COUNT_ARENA_BYTES = 64 * 1024 * 1024 };

struct page_call {
	const struct count_rule *rule;
	struct key from, until;
	/* out */
	struct count found;
	struct key next; /* behind what was read */
	bool more;
};

static enum err apply_page(struct txn *t, void *call)
{
	struct page_call *c = call;
	struct rows rows;
	struct scan_spec spec = { .from = key_slice(&c->from),
				  .until = key_slice(&c->until),
				  .limit_rows = COUNT_PAGE_ROWS };
	c->found = (struct count){ 0 };
	TRY(txn_scan(t, &spec, &rows));
	for (size_t i = 0; i < rows.count; i++) {
		struct arena_position position = arena_position(txn_arena(t));
		uint64_t bytes = 0;
		TRY(c->rule->weigh(rows.row[i].key, rows.row[i].value, txn_arena(t), &bytes));
		c->found.bytes += bytes;
		c->found.objects += c->rule->is_object(rows.row[i].key, rows.row[i].value, txn_arena(t));
		arena_rewind(txn_arena(t), position);
	}
	c->more = rows.more && rows.count;
	if (c->more)
		key_after(&c->next, rows.row[rows.count - 1].key);
	return ERR_OK;
}

enum err count_partition(struct store *store, struct slice partition, const struct count_rule *rule,
			 bool (*go_on)(void *arg, const struct count *), void *arg, struct count *sum)
{
	struct arena arena;
	enum err e = ERR_OK;
	arena_init(&arena, COUNT_ARENA_BYTES);
	for (const char *tag = rule->tags; *tag && e == ERR_OK; tag++) {
		struct page_call c = { .rule = rule, .more = true };
		key_init(&c.from);
		key_tag(&c.from, *tag);
		key_init(&c.until);
		key_tag(&c.until, (char)(*tag + 1));
		while (e == ERR_OK && c.more) {
			arena_reset(&arena);
			e = store_look(store, partition, apply_page, &c, &arena);
			if (e != ERR_OK)
				break;
			c.from = c.next;
			sum->objects += c.found.objects;
			sum->bytes += c.found.bytes;
			if (!go_on(arg, sum))
				e = ERR_STOPPED;
		}
	}
	arena_fini(&arena);
	return e;
}
