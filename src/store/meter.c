/* SPDX-License-Identifier: Apache-2.0
 * Bytes of partitions. See meter.h. The row: u8 version, u64 session, u64 bytes, u8 done, string: the key before which
 * everything is counted. */
#include "store/meter.h"

#include <assert.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "store/store_int.h"

enum { METER_RECORD_VERSION = 1, METER_BUCKETS = 1024, METERS_MAX = 100000, COUNT_ROWS_A_TXN = 500 };

struct meter {
	struct meter *next;
	struct slice partition; /* owned */
	meter_weigh_fn *weigh;
	atomic_uint_least64_t limit_bytes, used_bytes;
};

struct meters {
	pthread_mutex_t lock; /* a leaf */
	size_t count;
	struct meter *bucket[METER_BUCKETS];
};

struct usage {
	uint64_t used_bytes;
	bool done;
	struct slice until; /* not done: keys before it are counted */
};

/* ---- which partitions ---- */

static struct meter **meter_slot(struct meters *all, struct slice partition)
{
	struct meter **at = &all->bucket[base_hash_bytes(0, partition) % METER_BUCKETS];
	while (*at && !slice_eq((*at)->partition, partition))
		at = &(*at)->next;
	return at;
}

/* Stays until the store is closed: the pointer may be kept. */
static struct meter *meter_find(struct store *s, struct slice partition)
{
	struct meters *all = atomic_load_explicit(&s->meters, memory_order_acquire);
	if (!all)
		return NULL;
	pthread_mutex_lock(&all->lock);
	struct meter *m = *meter_slot(all, partition);
	pthread_mutex_unlock(&all->lock);
	return m;
}

static struct meters *meters_get(struct store *s)
{
	struct meters *all = atomic_load(&s->meters), *fresh = all ? NULL : calloc(1, sizeof *fresh);
	if (!fresh)
		return all;
	pthread_mutex_init(&fresh->lock, NULL);
	if (atomic_compare_exchange_strong(&s->meters, &all, fresh))
		return fresh;
	pthread_mutex_destroy(&fresh->lock);
	free(fresh);
	return all;
}

static struct meter *meter_new(struct slice partition, meter_weigh_fn *weigh)
{
	struct meter *m = calloc(1, sizeof *m + partition.len);
	if (!m)
		return NULL;
	memcpy(m + 1, partition.ptr, partition.len);
	m->partition = slice_make((char *)(m + 1), partition.len);
	m->weigh = weigh;
	return m;
}

enum err store_meter(struct store *s, struct slice partition, meter_weigh_fn *weigh, uint64_t limit_bytes)
{
	struct meters *all = meters_get(s);
	enum err e = all ? ERR_OK : ERR_NO_MEMORY;
	if (e != ERR_OK)
		return e;
	pthread_mutex_lock(&all->lock);
	struct meter **at = meter_slot(all, partition);
	if (!*at && all->count >= METERS_MAX)
		e = ERR_LIMIT;
	else if (!*at) {
		*at = meter_new(partition, weigh);
		e = *at ? ERR_OK : ERR_NO_MEMORY;
		all->count += *at != NULL;
	}
	if (e == ERR_OK)
		atomic_store(&(*at)->limit_bytes, limit_bytes);
	pthread_mutex_unlock(&all->lock);
	return e;
}

bool store_is_metered(struct store *s, struct slice partition)
{
	return meter_find(s, partition) != NULL;
}

uint64_t store_usage(struct store *s, struct slice prefix)
{
	struct meters *all = atomic_load_explicit(&s->meters, memory_order_acquire);
	uint64_t sum = 0;
	if (!all)
		return 0;
	pthread_mutex_lock(&all->lock);
	for (size_t i = 0; i < METER_BUCKETS; i++)
		for (const struct meter *m = all->bucket[i]; m; m = m->next)
			if (slice_has_prefix(m->partition, prefix))
				sum += atomic_load_explicit(&m->used_bytes, memory_order_relaxed);
	pthread_mutex_unlock(&all->lock);
	return sum;
}

void meter_dropped(struct store *s, struct slice partition)
{
	struct meter *m = meter_find(s, partition);
	if (m)
		atomic_store(&m->used_bytes, 0);
}

void meters_free(struct store *s)
{
	struct meters *all = atomic_load(&s->meters);
	if (!all)
		return;
	for (size_t i = 0; i < METER_BUCKETS; i++)
		while (all->bucket[i]) {
			struct meter *m = all->bucket[i];
			all->bucket[i] = m->next;
			free(m);
		}
	pthread_mutex_destroy(&all->lock);
	free(all);
}

/* ---- the row ---- */

static enum err usage_decode(struct slice value, uint64_t *ret_session, struct usage *ret)
{
	struct cursor c = cursor_make(value);
	uint8_t version = cursor_u8(&c);
	*ret_session = cursor_u64(&c);
	ret->used_bytes = cursor_u64(&c);
	ret->done = cursor_u8(&c) != 0;
	ret->until = cursor_str(&c);
	return version == METER_RECORD_VERSION && cursor_done(&c) ? ERR_OK : ERR_CORRUPT;
}

static enum err usage_load(struct txn *t, struct usage *ret)
{
	struct slice value;
	uint64_t session;
	*ret = (struct usage){ .until = SLICE("") };
	enum err e = txn_before_get(t, KEY_USAGE, &value);
	if (e == ERR_NOT_FOUND)
		return ERR_OK;
	TRY(e);
	struct usage u;
	TRY(usage_decode(value, &session, &u));
	if (session == store_session(t->store))
		*ret = u;
	return ERR_OK;
}

static enum err usage_save(struct txn *t, const struct usage *u)
{
	struct buf b;
	buf_init(&b, LIMIT_KEY_BYTES + 64);
	bytes_put_u8(&b, METER_RECORD_VERSION);
	bytes_put_u64(&b, store_session(t->store));
	bytes_put_u64(&b, u->used_bytes);
	bytes_put_u8(&b, u->done);
	bytes_put_str(&b, u->done ? SLICE("") : u->until);
	enum err e = buf_ok(&b) ? txn_put(t, KEY_USAGE, buf_slice(&b)) : ERR_NO_MEMORY;
	buf_fini(&b);
	return e;
}

static enum err weigh(struct txn *t, const struct meter *m, struct slice key, struct slice value, uint64_t *ret)
{
	struct arena_position position = arena_position(t->arena);
	enum err e = m->weigh(key, value, t->arena, ret);
	arena_rewind(t->arena, position);
	return e;
}

/* Some rows further, of the partition as it was before this transaction. */
static enum err count_on(struct txn *t, const struct meter *m, struct usage *u)
{
	struct rows rows;
	struct key next;
	struct scan_spec spec = { .from = u->until, .limit_rows = COUNT_ROWS_A_TXN };
	TRY(txn_before_scan(t, &spec, &rows));
	for (size_t i = 0; i < rows.count; i++) {
		uint64_t bytes = 0;
		if (slice_eq(rows.row[i].key, KEY_USAGE))
			continue;
		TRY(weigh(t, m, rows.row[i].key, rows.row[i].value, &bytes));
		u->used_bytes += bytes;
	}
	u->done = !rows.more;
	if (u->done || !rows.count)
		return ERR_OK;
	key_after(&next, rows.row[rows.count - 1].key);
	u->until = arena_dup(t->arena, key_slice(&next));
	return slice_is_set(u->until) ? ERR_OK : ERR_NO_MEMORY;
}

/* What the transaction's own writes change, of what was counted. */
static enum err count_own(struct txn *t, const struct meter *m, const struct usage *u, uint64_t *ret_more,
			  uint64_t *ret_less)
{
	size_t count = t->count; /* reading adds none */
	*ret_more = *ret_less = 0;
	for (size_t i = 0; i < count; i++) {
		const struct write *w = &t->writes[i];
		struct slice old;
		uint64_t bytes = 0;
		if (!write_has_key(w) || slice_eq(w->key, KEY_USAGE) || (!u->done && slice_cmp(w->key, u->until) >= 0))
			continue;
		if (w->kind == WRITE_PUT) {
			TRY(weigh(t, m, w->key, record_payload(w->value), &bytes));
			*ret_more += bytes;
		}
		enum err e = txn_before_get(t, w->key, &old);
		if (e == ERR_NOT_FOUND)
			continue;
		TRY(e);
		TRY(weigh(t, m, w->key, old, &bytes));
		*ret_less += bytes;
	}
	return ERR_OK;
}

enum err meter_apply(struct txn *t)
{
	struct meter *m = t->count ? meter_find(t->store, t->partition) : NULL;
	uint64_t more, less;
	struct usage u;
	if (!m)
		return ERR_OK;
	TRY(usage_load(t, &u));
	bool was_done = u.done;
	if (!u.done)
		TRY(count_on(t, m, &u));
	TRY(count_own(t, m, &u, &more, &less));
	if (less > u.used_bytes + more)
		return ERR_CORRUPT;
	uint64_t limit = atomic_load(&m->limit_bytes), used = u.used_bytes + more - less;
	if (more > less && u.done && limit && used > limit)
		return ERR_QUOTA_REACHED;
	bool same = was_done && more == less;
	u.used_bytes = used;
	atomic_store_explicit(&m->used_bytes, used, memory_order_relaxed);
	return same ? ERR_OK : usage_save(t, &u);
}

struct count_call {
	bool done;
};

static enum err apply_count(struct txn *t, void *call)
{
	struct count_call *c = call;
	struct meter *m = meter_find(t->store, t->partition);
	struct slice meta;
	struct usage u;
	/* Nothing may be written where a generation ended. */
	enum err e = txn_get(t, KEY_META, &meta);
	c->done = true;
	if (!m || e == ERR_NOT_FOUND)
		return ERR_OK;
	TRY(e);
	TRY(usage_load(t, &u));
	atomic_store_explicit(&m->used_bytes, u.used_bytes, memory_order_relaxed);
	c->done = u.done;
	return u.done ? ERR_OK : usage_save(t, &u); /* that is a write: the meter counts on behind it */
}

enum err store_meter_count(struct store *s, struct slice partition)
{
	struct count_call c = { .done = false };
	enum err e = ERR_OK;
	while (e == ERR_OK && !c.done) {
		struct arena arena;
		arena_init(&arena, 64 * MIB);
		e = store_write_wait(s, partition, apply_count, &c, &arena);
		arena_fini(&arena);
	}
	return e;
}
