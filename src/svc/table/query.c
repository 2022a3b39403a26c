/* SPDX-License-Identifier: Apache-2.0
 * The page loop of a query. See query.h. */
#include "svc/table/query.h"

#include "base/limits.h"
#include "svc/common/generation.h"

enum { QUERY_SCAN_ROWS = 256 };

struct walk {
	struct txn *txn;
	struct table_query *q;
	bool full;
};

/* Go on from this entity, or right behind it: 01 appended to a RowKey makes the least string a stored one can follow.
 */
static void remember(struct table_query *q, struct slice partition_key, struct slice row_key, bool behind)
{
	char *row = q->next_bytes + partition_key.len;
	memcpy(q->next_bytes, partition_key.ptr, partition_key.len);
	memcpy(row, row_key.ptr, row_key.len);
	row[row_key.len] = 1;
	q->next_partition_key = slice_make(q->next_bytes, partition_key.len);
	q->next_row_key = slice_make(row, row_key.len + behind);
	q->more = true;
}

/* One first row: does it match, is there room? */
static enum err visit(struct walk *w, struct slice key, struct entity *e, struct slice record)
{
	struct table_query *q = w->q;
	bool matches = true;
	if (w->full || q->matched == q->limit) {
		w->full = true;
		remember(q, e->partition_key, e->row_key, false);
		return ERR_OK;
	}
	q->scanned++;
	TRY(entity_read_properties(w->txn, key, record, &e->ticks, &e->properties));
	if (q->filter)
		TRY(filter_match(q->filter, e, &matches));
	if (!matches)
		return ERR_OK;
	q->matched++;
	return q->emit(q->arg, e, &w->full);
}

static enum err walk_point(struct walk *w, struct slice key)
{
	struct slice record;
	struct entity e;
	uint64_t part;
	enum err err = txn_get(w->txn, key, &record);
	if (err)
		return err == ERR_NOT_FOUND ? ERR_OK : err;
	if (!entity_key_split(key, &e.partition_key, &e.row_key, &part))
		return ERR_CORRUPT;
	return visit(w, key, &e, record);
}

/* Rows wanted from a scan: what the page still takes and one more to know whether it goes on; a filter may reject any
 * number. Not many at once: what a scan returns is copied, and small enough it stays in the processor's cache. */
static size_t scan_rows(const struct table_query *q)
{
	size_t want = q->limit - q->matched + 1;
	return q->filter || want > QUERY_SCAN_ROWS ? QUERY_SCAN_ROWS : want;
}

static enum err walk_scan(struct walk *w, struct slice from, struct slice until)
{
	struct table_query *q = w->q;
	struct arena *arena = txn_arena(w->txn);
	struct key at;
	key_init(&at);
	for (;;) {
		struct arena_position position = arena_position(arena);
		struct rows rows;
		struct entity e;
		struct scan_spec spec = { .from = from, .until = until, .limit_rows = scan_rows(q) };
		TRY(txn_scan(w->txn, &spec, &rows));
		for (size_t i = 0; i < rows.count && !q->more; i++) {
			uint64_t part;
			if (!entity_key_split(rows.row[i].key, &e.partition_key, &e.row_key, &part))
				return ERR_CORRUPT;
			if (!part)
				TRY(visit(w, rows.row[i].key, &e, rows.row[i].value));
		}
		bool more_rows = rows.more && rows.count > 0;
		if (more_rows) {
			key_after(&at, rows.row[rows.count - 1].key);
			from = key_slice(&at);
		}
		if (!q->more && more_rows && q->expired && q->expired(q->arg))
			remember(q, e.partition_key, e.row_key, true);
		arena_rewind(arena, position);
		if (q->more || !more_rows)
			return ERR_OK;
	}
}

enum err table_query_apply(struct txn *t, void *call)
{
	struct table_query *q = call;
	struct walk w = { .txn = t, .q = q };
	q->matched = 0;
	q->scanned = 0;
	q->more = false;
	/* Of a table that was deleted meanwhile some rows may be gone already. */
	TRY(generation_require(t, ERR_TABLE_NOT_FOUND));
	/* A page of none is no reason to come again. */
	for (size_t i = 0; i < q->plan->count && q->limit && !q->more; i++) {
		const struct plan_range *r = &q->plan->range[i];
		struct slice from = r->from;
		if (slice_is_set(q->from) && slice_cmp(q->from, from) > 0)
			from = q->from;
		if (slice_cmp(from, r->until) >= 0)
			continue;
		if (r->point && from.ptr == r->from.ptr)
			TRY(walk_point(&w, r->from));
		else
			TRY(walk_scan(&w, from, r->until));
	}
	return ERR_OK;
}
