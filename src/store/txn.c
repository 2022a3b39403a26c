/* SPDX-License-Identifier: Apache-2.0
 * A transaction: what apply sees. It keeps its own write set (in the arena, wrapped as records); reads see that first,
 * then the snapshot, the cache or the committer's group. The write set holds each key once. */
#include "store/store_int.h"

#include <assert.h>

#include "base/sys/clock.h"

enum {
	TXN_FIRST_WRITES = 8,
	TXN_LINEAR_WRITES = 8,
	READS_PER_LOOK = 64,   /* gets between two looks at the time of a read with a deadline; a scan is as many */
	BYTES_PER_READ = 1024, /* of a long value: checked and decoded in the time of a get */
	TXN_CACHE_VALUE_BYTES = 4096, /* of what only writers read, no more than this is worth a copy */
};

void txn_init(struct txn *t, struct store *s, enum txn_mode mode, struct slice partition, struct arena *arena,
	      uint64_t now_ticks)
{
	*t = (struct txn){ .store = s, .mode = mode, .partition = partition, .arena = arena, .now_ticks = now_ticks };
	if (mode == TXN_SNAPSHOT)
		t->volatile_since = volatile_now(s->volatiles);
}

void txn_fini(struct txn *t)
{
	if (t->snapshot)
		t->store->engine->ops->snapshot_drop(t->store->engine, t->snapshot);
	t->snapshot = NULL;
}

uint64_t txn_now(const struct txn *t)
{
	return t->now_ticks;
}

/* Alone, no two transactions have one time, in whatever partition. Where others write, their commits to this partition
 * have another time too: each reads the stamp and conflicts. But that is the stamp's promise and not the time's, so a
 * number of this store is used there. */
uint64_t txn_unique(const struct txn *t)
{
	if (store_mutant(t->store) == MUTANT_UNIQUE_BY_TIME)
		return t->now_ticks / TICKS_PER_SECOND;
	return t->unique ? t->unique : t->now_ticks;
}

uint64_t txn_session(const struct txn *t)
{
	return t->store->session;
}

struct arena *txn_arena(const struct txn *t)
{
	return t->arena;
}

unsigned txn_mutant(const struct txn *t)
{
	return store_mutant(t->store);
}

bool txn_is_dry(const struct txn *t)
{
	return t->mode != TXN_GROUP;
}

/* ---- the write set ---- */

static void index_add(struct txn *t, size_t position)
{
	size_t at = store_hash(t->store, SLICE_NONE, t->writes[position].key) & (t->index_cap - 1);
	while (t->index[at])
		at = (at + 1) & (t->index_cap - 1);
	t->index[at] = (uint32_t)position + 1;
}

static enum err index_grow(struct txn *t)
{
	size_t cap = t->index_cap ? t->index_cap * 2 : TXN_LINEAR_WRITES * 4;
	uint32_t *index = ARENA_NEW_ARRAY(t->arena, uint32_t, cap);
	if (!index)
		return ERR_NO_MEMORY;
	t->index = index;
	t->index_cap = cap;
	for (size_t i = 0; i < t->count; i++)
		if (write_has_key(&t->writes[i]))
			index_add(t, i);
	return ERR_OK;
}

static struct write *own_find(struct txn *t, struct slice key)
{
	if (t->index) {
		size_t at = store_hash(t->store, SLICE_NONE, key) & (t->index_cap - 1);
		for (; t->index[at]; at = (at + 1) & (t->index_cap - 1)) {
			struct write *w = &t->writes[t->index[at] - 1];
			if (slice_eq(w->key, key))
				return w;
		}
		return NULL;
	}
	for (size_t i = t->count; i-- > 0;)
		if (write_has_key(&t->writes[i]) && slice_eq(t->writes[i].key, key))
			return &t->writes[i];
	return NULL;
}

static enum err own_add(struct txn *t, struct write **ret)
{
	if (t->count == t->cap) {
		size_t cap = t->cap ? t->cap * 2 : TXN_FIRST_WRITES;
		struct write *w = ARENA_NEW_ARRAY(t->arena, struct write, cap);
		if (!w)
			return ERR_NO_MEMORY;
		if (t->count)
			memcpy(w, t->writes, t->count * sizeof *w);
		t->writes = w;
		t->cap = cap;
	}
	*ret = &t->writes[t->count++];
	return ERR_OK;
}

static enum err own_add_keyed(struct txn *t, struct slice key, struct write **ret)
{
	struct write *w = own_find(t, key);
	if (!w) {
		struct slice copy = arena_dup(t->arena, key);
		if (!slice_is_set(copy))
			return ERR_NO_MEMORY;
		if (t->count - t->extent_count >= LIMIT_COMMIT_WRITES || t->write_bytes + key.len > LIMIT_COMMIT_BYTES)
			return ERR_LIMIT;
		TRY(own_add(t, &w));
		*w = (struct write){ .kind = WRITE_DEL, .key = copy };
		t->write_bytes += key.len;
		if (t->count > TXN_LINEAR_WRITES) {
			if (t->count * 2 > t->index_cap)
				TRY(index_grow(t));
			else
				index_add(t, t->count - 1);
		}
	}
	*ret = w;
	return ERR_OK;
}

static enum err check_key(struct slice key)
{
	if (key.len == 0 || key.len > LIMIT_KEY_BYTES)
		return ERR_LIMIT;
	assert(!memchr(key.ptr, 0, key.len));
	assert(!slice_eq(key, KEY_STAMP));
	assert(!txn_is_volatile_key(key));
	return ERR_OK;
}

/* A write that did not get into the set must not be lost quietly, whatever apply makes of the error. */
static enum err fail(struct txn *t, enum err err)
{
	if (err != ERR_OK && t->failed == ERR_OK)
		t->failed = err;
	return err;
}

static enum err put_record(struct txn *t, struct slice key, struct slice record)
{
	struct write *w;
	if (t->write_bytes + key.len + record.len > LIMIT_COMMIT_BYTES)
		return ERR_LIMIT;
	TRY(own_add_keyed(t, key, &w));
	t->write_bytes += record.len - w->value.len;
	w->kind = WRITE_PUT;
	w->value = record;
	return ERR_OK;
}

static enum err wrap(struct txn *t, struct slice key, struct slice value, struct slice *ret_record)
{
	TRY(check_key(key));
	size_t len = value.len + RECORD_OVERHEAD_BYTES;
	if (value.len > RECORD_PAYLOAD_MAX_BYTES)
		return ERR_LIMIT;
	char *record = arena_alloc(t->arena, len);
	if (!record)
		return ERR_NO_MEMORY;
	record_wrap(t->partition, key, value, record);
	*ret_record = slice_make(record, len);
	return ERR_OK;
}

static enum err put(struct txn *t, struct slice key, struct slice value)
{
	struct slice record;
	TRY(wrap(t, key, value, &record));
	return put_record(t, key, record);
}

enum err txn_put(struct txn *t, struct slice key, struct slice value)
{
	return fail(t, put(t, key, value));
}

enum err txn_row_make(struct txn *t, struct slice key, struct slice value, struct txn_row *ret)
{
	struct txn_row row = { .key = arena_dup(t->arena, key) };
	if (!slice_is_set(row.key))
		return ERR_NO_MEMORY;
	TRY(wrap(t, key, value, &row.record));
	*ret = row;
	return ERR_OK;
}

enum err txn_put_row(struct txn *t, const struct txn_row *row)
{
	return fail(t, put_record(t, row->key, row->record));
}

static enum err del(struct txn *t, struct slice key)
{
	TRY(check_key(key));
	struct write *w;
	TRY(own_add_keyed(t, key, &w));
	t->write_bytes -= w->value.len;
	w->kind = WRITE_DEL;
	w->value = SLICE_NONE;
	return ERR_OK;
}

enum err txn_del(struct txn *t, struct slice key)
{
	return fail(t, del(t, key));
}

static enum err add_extent(struct txn *t, enum write_kind kind, const struct extent_ref *extent)
{
	struct write *w;
	if (t->extent_count >= LIMIT_COMMIT_EXTENTS)
		return fail(t, ERR_LIMIT);
	TRY(fail(t, own_add(t, &w)));
	t->extent_count++;
	*w = (struct write){ .kind = kind, .extent = *extent };
	return ERR_OK;
}

enum err txn_publish(struct txn *t, const struct extent_ref *extent)
{
	return add_extent(t, WRITE_PUBLISH, extent);
}

enum err txn_retire(struct txn *t, const struct extent_ref *extent)
{
	return add_extent(t, WRITE_RETIRE, extent);
}

/* ---- reads ---- */

static enum err ensure_snapshot(struct txn *t)
{
	if (t->snapshot)
		return ERR_OK;
	struct engine *e = t->store->engine;
	return e->ops->snapshot_take(e, &t->snapshot);
}

enum err txn_stamp_time(struct txn *t, uint64_t *ret)
{
	struct slice record;
	struct stamp stamp;
	struct engine *e = t->store->engine;
	struct arena_position memory = arena_position(t->arena);
	if (t->mode == TXN_SNAPSHOT)
		TRY(ensure_snapshot(t));
	enum err err = e->ops->get(e, t->snapshot, t->partition, KEY_STAMP, t->arena, &record);
	if (err == ERR_NOT_FOUND) {
		*ret = 0;
		return ERR_OK;
	}
	TRY(err);
	TRY(stamp_decode(t->partition, record, &stamp));
	arena_rewind(t->arena, memory);
	*ret = stamp.now_ticks;
	return ERR_OK;
}

static enum err group_get_engine(struct txn *t, struct slice key, struct slice *ret)
{
	struct store *s = t->store;
	const struct engine_ops *ops = s->engine->ops;
	struct slice record;
	if (store_mutant(s) == MUTANT_JUDGE_BEFORE_GROUP || store_mutant(s) == MUTANT_OUT_OF_ORDER)
		TRY(ops->get(s->engine, NULL, t->partition, key, t->arena, &record));
	else
		TRY(ops->group_get(t->group, t->partition, key, t->arena, &record));
	return record_unwrap(t->partition, key, record, ret);
}

static enum err group_get(struct txn *t, struct slice key, struct slice *ret)
{
	struct store *s = t->store;
	uint64_t hash, ticket;
	enum err err;
	if (!s->cache || s->engine->ops->may_be_unknown) {
		t->saw_group = true; /* nothing tells what groups wrote */
		return group_get_engine(t, key, ret);
	}
	/* The store is the only writer. While the group has not touched the key, a cached record is the committed one,
	 * and the committed one may be cached: what every commit asks for (the meta record, a counter) is read once. */
	hash = store_hash(s, t->partition, key);
	if (!committer_may_use_cache(s, hash)) {
		t->saw_group = true;
		return group_get_engine(t, key, ret);
	}
	if (cache_find(s->cache, hash, t->partition, key, t->arena, ret, &err, &ticket))
		return err;
	TRY(group_get_engine(t, key, ret));
	if (ret->len <= TXN_CACHE_VALUE_BYTES)
		cache_fill(s->cache, hash, t->partition, key, *ret, ticket);
	return ERR_OK;
}

/* The deadline is for what the read does and for the disk it waits for. If others had the core meanwhile, a worker
 * would get no more of it, and what was read would be read again for nothing. */
static bool budget_is_spent(const struct txn *t)
{
	if (!t->usage_known)
		return true;
	struct thread_usage now = thread_usage();
	return now.waits != t->usage.waits || now.cpu_ns - t->usage.cpu_ns > t->budget_ns;
}

/* Time is looked at now and then: a get costs little more than that. */
static bool past_deadline(struct txn *t, size_t cost)
{
	if (!t->deadline_ns || (t->reads += cost) < READS_PER_LOOK)
		return false;
	t->reads = 0;
	return base_monotonic_ns() > t->deadline_ns && budget_is_spent(t);
}

/* A read that scans may become long. */
static void budget_begin(struct txn *t)
{
	uint64_t now_ns = base_monotonic_ns();
	t->usage_known = now_ns < t->deadline_ns;
	if (t->usage_known) {
		t->budget_ns = t->deadline_ns - now_ns;
		t->usage = thread_usage();
	}
}

enum err txn_spend(struct txn *t, size_t cost)
{
	return past_deadline(t, cost) ? ERR_BUDGET : ERR_OK;
}

static enum err get_any(struct txn *t, struct slice key, struct slice *ret_value)
{
	if (txn_is_volatile_key(key))
		return txn_get_volatile(t, key, ret_value);
	if (t->count) {
		struct write *w = own_find(t, key);
		if (w) {
			if (w->kind == WRITE_DEL)
				return ERR_NOT_FOUND;
			*ret_value = record_payload(w->value);
			return ERR_OK;
		}
	}
	switch (t->mode) {
	case TXN_GROUP:
		return group_get(t, key, ret_value);
	case TXN_POINTS:
		return store_get(t->store, t->partition, key, t->arena, ret_value);
	case TXN_NEWEST:
	case TXN_SNAPSHOT:
		break;
	}
	struct slice record;
	struct engine *e = t->store->engine;
	if (t->mode == TXN_SNAPSHOT)
		TRY(ensure_snapshot(t));
	TRY(e->ops->get(e, t->snapshot, t->partition, key, t->arena, &record));
	return record_unwrap(t->partition, key, record, ret_value);
}

enum err txn_get(struct txn *t, struct slice key, struct slice *ret_value)
{
	if (past_deadline(t, 1))
		return ERR_BUDGET;
	enum err e = get_any(t, key, ret_value);
	if (e == ERR_OK)
		t->reads += ret_value->len / BYTES_PER_READ;
	return e;
}

static enum err base_scan(struct txn *t, const struct scan_spec *spec, struct rows *ret)
{
	struct engine *e = t->store->engine;
	unsigned mutant = store_mutant(t->store);
	t->saw_group = true;
	if (t->mode == TXN_GROUP && mutant != MUTANT_JUDGE_BEFORE_GROUP && mutant != MUTANT_OUT_OF_ORDER)
		return e->ops->group_scan(t->group, t->partition, spec, t->arena, ret);
	if (t->mode != TXN_GROUP && t->mode != TXN_NEWEST)
		TRY(ensure_snapshot(t));
	return e->ops->scan(e, t->snapshot, t->partition, spec, t->arena, ret);
}

static enum err unwrap_row(uint32_t seed, struct row *r)
{
	return slice_is_set(r->value) ? record_unwrap_seeded(seed, r->key, r->value, &r->value) : ERR_OK;
}

static bool in_range(struct slice key, const struct scan_spec *spec)
{
	return slice_cmp(key, spec->from) >= 0 && (!slice_is_set(spec->until) || slice_cmp(key, spec->until) < 0);
}

static int compare_writes(const void *a, const void *b)
{
	return slice_cmp((*(struct write *const *)a)->key, (*(struct write *const *)b)->key);
}

/* Own writes within the range, in order. */
static enum err own_range(struct txn *t, const struct scan_spec *spec, struct write ***ret, size_t *ret_count)
{
	size_t n = 0;
	struct write **own = ARENA_NEW_ARRAY(t->arena, struct write *, t->count + 1);
	if (!own)
		return ERR_NO_MEMORY;
	for (size_t i = 0; i < t->count; i++)
		if (write_has_key(&t->writes[i]) && in_range(t->writes[i].key, spec))
			own[n++] = &t->writes[i];
	if (n > 1)
		qsort(own, n, sizeof(struct write *), compare_writes);
	*ret = own;
	*ret_count = n;
	return ERR_OK;
}

struct merge {
	const struct scan_spec *spec;
	struct rows out;
	size_t limit, bytes;
	uint32_t seed; /* of the partition's records */
};

static bool merge_full(const struct merge *m)
{
	return m->out.count == m->limit || (m->out.count && m->bytes >= LIMIT_SCAN_BYTES);
}

static void merge_add(struct merge *m, struct slice key, struct slice value)
{
	m->out.row[m->out.count++] = (struct row){ key, m->spec->keys_only ? SLICE_NONE : value };
	m->bytes += key.len + value.len;
}

/* Merges one page of the base with own writes up to the page's end. */
static enum err merge_page(struct merge *m, struct rows *page, struct write **own, size_t own_count, size_t *own_at)
{
	size_t i = 0;
	while (!merge_full(m)) {
		bool base_left = i < page->count;
		bool own_left = *own_at < own_count;
		if (!base_left && (page->more || !own_left))
			break;
		int order = !base_left ? 1 : !own_left ? -1 : slice_cmp(page->row[i].key, own[*own_at]->key);
		if (order < 0) {
			struct row *r = &page->row[i++];
			if (slice_eq(r->key, KEY_STAMP))
				continue;
			TRY(unwrap_row(m->seed, r));
			merge_add(m, r->key, r->value);
			continue;
		}
		struct write *w = own[(*own_at)++];
		i += order == 0;
		if (w->kind == WRITE_PUT)
			merge_add(m, w->key, record_payload(w->value));
	}
	m->out.more = i < page->count || page->more || *own_at < own_count;
	return ERR_OK;
}

static enum err scan_merged(struct txn *t, const struct scan_spec *spec, struct rows *ret)
{
	struct write **own;
	size_t own_count, own_at = 0;
	TRY(own_range(t, spec, &own, &own_count));
	struct merge m = { .spec = spec, .seed = record_seed(t->partition) };
	m.limit = spec->limit_rows && spec->limit_rows < LIMIT_SCAN_ROWS ? spec->limit_rows : LIMIT_SCAN_ROWS;
	m.out.row = ARENA_NEW_ARRAY(t->arena, struct row, m.limit);
	if (!m.out.row)
		return ERR_NO_MEMORY;
	struct scan_spec next = *spec;
	for (;;) {
		struct rows page;
		TRY(base_scan(t, &next, &page));
		TRY(merge_page(&m, &page, own, own_count, &own_at));
		if (merge_full(&m) || !page.more)
			break;
		struct key after;
		key_after(&after, page.row[page.count - 1].key);
		next.from = arena_dup(t->arena, key_slice(&after));
		if (!slice_is_set(next.from))
			return ERR_NO_MEMORY;
	}
	*ret = m.out;
	return ERR_OK;
}

/* Without the transaction's own writes. */
static enum err scan_base(struct txn *t, const struct scan_spec *spec, struct rows *ret)
{
	struct rows rows;
	TRY(base_scan(t, spec, &rows));
	uint32_t seed = record_seed(t->partition);
	for (size_t i = 0; i < rows.count; i++)
		TRY(unwrap_row(seed, &rows.row[i]));
	*ret = rows;
	return ERR_OK;
}

enum err txn_scan(struct txn *t, const struct scan_spec *spec, struct rows *ret_rows)
{
	if (t->deadline_ns && !t->usage_known)
		budget_begin(t);
	if (past_deadline(t, READS_PER_LOOK))
		return ERR_BUDGET;
	if (txn_is_volatile_key(spec->from))
		return txn_scan_volatile(t, spec, ret_rows);
	bool hides_stamp = t->store->engine->ops->may_be_unknown && in_range(KEY_STAMP, spec);
	if (t->count || hides_stamp)
		return scan_merged(t, spec, ret_rows);
	return scan_base(t, spec, ret_rows);
}

enum err txn_before_get(struct txn *t, struct slice key, struct slice *ret)
{
	assert(t->mode == TXN_GROUP);
	return group_get(t, key, ret);
}

enum err txn_before_scan(struct txn *t, const struct scan_spec *spec, struct rows *ret)
{
	return scan_base(t, spec, ret);
}
