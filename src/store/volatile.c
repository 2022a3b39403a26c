/* SPDX-License-Identifier: Apache-2.0
 * The map behind volatile rows: a skip list under one lock. Values are counted: a row's two values are mostly one. */
#include "store/volatile.h"

#include "base/fair.h"
#include "base/hash.h"
#include "base/limits.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { LEVELS_MAX = 12, STRIPES = 4096 };

struct volatile_value {
	size_t refs;
	size_t len;
	char bytes[];
};

struct node {
	struct slice partition, key;		    /* in `bytes` */
	struct volatile_value *published, *working; /* NULL: no row */
	bool early;				    /* published is what a group under way adds */
	unsigned pins;				    /* writes prepared and not yet accepted: the node stays */
	struct node **next;
	unsigned levels;
	char *bytes;
};

struct volatile_map {
	pthread_mutex_t lock;
	struct node head;
	struct node *head_next[LEVELS_MAX];
	uint64_t random;
	struct fair bytes;
	atomic_size_t count;
	atomic_uint_fast64_t now;
	uint64_t changed[STRIPES]; /* `now` of the last publication of such keys */
};

struct volatile_map *volatile_new(void)
{
	struct volatile_map *m = calloc(1, sizeof *m);
	if (!m)
		return NULL;
	pthread_mutex_init(&m->lock, NULL);
	m->head.next = m->head_next;
	m->head.levels = LEVELS_MAX;
	m->random = 88172645463325252u;
	fair_init(&m->bytes, LIMIT_VOLATILE_BYTES);
	return m;
}

static void value_drop(struct volatile_value *v)
{
	if (v && --v->refs == 0)
		free(v);
}

static struct volatile_value *value_hold(struct volatile_value *v)
{
	if (v)
		v->refs++;
	return v;
}

/* The account is what comes before the first byte 01 of a partition's id (store/key.h). */
static unsigned owner_of(struct slice partition)
{
	const char *end = partition.len ? memchr(partition.ptr, 1, partition.len) : NULL;
	return fair_owner(end ? slice_first(partition, (size_t)(end - partition.ptr)) : partition);
}

static void node_free(struct node *n)
{
	value_drop(n->published);
	value_drop(n->working);
	free(n->next);
	free(n->bytes);
	free(n);
}

void volatile_free(struct volatile_map *m)
{
	if (!m)
		return;
	for (struct node *n = m->head.next[0], *next; n; n = next) {
		next = n->next[0];
		node_free(n);
	}
	pthread_mutex_destroy(&m->lock);
	free(m);
}

/* ---- the list ---- */

static int node_cmp(const struct node *n, struct slice partition, struct slice key)
{
	int order = slice_cmp(n->partition, partition);
	return order ? order : slice_cmp(n->key, key);
}

/* The first node at or after the key; before[i] (may be NULL) is the last one before it on level i. */
static struct node *list_seek(struct volatile_map *m, struct slice partition, struct slice key, struct node **before)
{
	struct node *at = &m->head;
	for (unsigned i = LEVELS_MAX; i-- > 0;) {
		while (at->next[i] && node_cmp(at->next[i], partition, key) < 0)
			at = at->next[i];
		if (before)
			before[i] = at;
	}
	return at->next[0];
}

static struct node *list_find(struct volatile_map *m, struct slice partition, struct slice key)
{
	struct node *n = list_seek(m, partition, key, NULL);
	return n && node_cmp(n, partition, key) == 0 ? n : NULL;
}

static unsigned pick_levels(struct volatile_map *m)
{
	m->random ^= m->random << 13;
	m->random ^= m->random >> 7;
	m->random ^= m->random << 17;
	unsigned levels = 1;
	for (uint64_t r = m->random; levels < LEVELS_MAX && (r & 3) == 0; r >>= 2)
		levels++;
	return levels;
}

static size_t node_bytes(unsigned levels, struct slice partition, struct slice key)
{
	return sizeof(struct node) + levels * sizeof(struct node *) + partition.len + key.len;
}

static struct node *node_new(unsigned levels, struct slice partition, struct slice key)
{
	struct node *n = calloc(1, sizeof *n);
	if (!n)
		return NULL;
	n->levels = levels;
	n->next = calloc(levels, sizeof(struct node *));
	n->bytes = malloc(partition.len + key.len);
	if (!n->next || !n->bytes) {
		node_free(n);
		return NULL;
	}
	memcpy(n->bytes, partition.ptr, partition.len);
	memcpy(n->bytes + partition.len, key.ptr, key.len);
	n->partition = slice_make(n->bytes, partition.len);
	n->key = slice_make(n->bytes + partition.len, key.len);
	return n;
}

static struct node *list_add(struct volatile_map *m, struct slice partition, struct slice key)
{
	struct node *before[LEVELS_MAX];
	struct node *n = list_seek(m, partition, key, before);
	if (n && node_cmp(n, partition, key) == 0)
		return n;
	n = node_new(pick_levels(m), partition, key);
	if (!n)
		return NULL;
	for (unsigned i = 0; i < n->levels; i++) {
		n->next[i] = before[i]->next[i];
		before[i]->next[i] = n;
	}
	fair_take(&m->bytes, owner_of(n->partition), node_bytes(n->levels, n->partition, n->key));
	atomic_fetch_add(&m->count, 1);
	return n;
}

static void list_remove_if_empty(struct volatile_map *m, struct slice partition, struct slice key)
{
	struct node *before[LEVELS_MAX];
	struct node *n = list_seek(m, partition, key, before);
	if (!n || node_cmp(n, partition, key) != 0 || n->published || n->working || n->pins)
		return;
	for (unsigned i = 0; i < n->levels; i++)
		before[i]->next[i] = n->next[i];
	fair_give_back(&m->bytes, owner_of(n->partition), node_bytes(n->levels, n->partition, n->key));
	atomic_fetch_sub(&m->count, 1);
	node_free(n);
}

/* ---- writes ---- */

static void drop_held(struct volatile_map *m, struct slice partition, struct volatile_write *w)
{
	if (w->held && w->held->refs == 1)
		fair_give_back(&m->bytes, owner_of(partition), w->held->len);
	value_drop(w->held);
	w->held = NULL;
	list_remove_if_empty(m, partition, w->key);
}

static void discard_one(struct volatile_map *m, struct slice partition, struct volatile_write *w)
{
	struct node *n = w->held ? list_find(m, partition, w->key) : NULL;
	if (n)
		n->pins--;
	drop_held(m, partition, w);
}

/* Is there room for this value? The account's rows may only grow while they are no larger than what is free. */
static enum err check_room(struct volatile_map *m, struct slice partition, const struct volatile_write *w)
{
	struct node *n = list_find(m, partition, w->key);
	size_t need = w->value.len + (n ? 0 : node_bytes(LEVELS_MAX, partition, w->key));
	size_t had = n && n->working ? n->working->len : 0;
	if (need > fair_free(&m->bytes))
		return ERR_NO_MEMORY;
	bool may = need <= had || fair_may_take(&m->bytes, owner_of(partition), need - had);
	return may ? ERR_OK : ERR_HANDLE_LIMIT_EXCEEDED;
}

static enum err prepare_one(struct volatile_map *m, struct slice partition, struct volatile_write *w)
{
	w->held = NULL;
	if (!slice_is_set(w->value))
		return ERR_OK;
	TRY(check_room(m, partition, w));
	struct node *n = list_add(m, partition, w->key);
	if (!n)
		return ERR_NO_MEMORY;
	w->held = malloc(sizeof *w->held + w->value.len);
	if (!w->held)
		return ERR_NO_MEMORY;
	n->pins++;
	w->held->refs = 1;
	w->held->len = w->value.len;
	memcpy(w->held->bytes, w->value.ptr, w->value.len);
	fair_take(&m->bytes, owner_of(partition), w->value.len);
	return ERR_OK;
}

enum err volatile_prepare(struct volatile_map *m, struct slice partition, struct volatile_write *w, size_t count)
{
	enum err err = ERR_OK;
	size_t done = 0;
	pthread_mutex_lock(&m->lock);
	while (done < count && err == ERR_OK)
		err = prepare_one(m, partition, &w[done++]);
	while (err != ERR_OK && done > 0)
		discard_one(m, partition, &w[--done]);
	pthread_mutex_unlock(&m->lock);
	return err;
}

void volatile_discard(struct volatile_map *m, struct slice partition, struct volatile_write *w, size_t count)
{
	pthread_mutex_lock(&m->lock);
	for (size_t i = 0; i < count; i++)
		discard_one(m, partition, &w[i]);
	pthread_mutex_unlock(&m->lock);
}

/* Puts v in the place of *at. */
static void replace(struct volatile_map *m, const struct node *n, struct volatile_value **at, struct volatile_value *v)
{
	struct volatile_value *old = *at;
	*at = value_hold(v);
	if (old && old->refs == 1)
		fair_give_back(&m->bytes, owner_of(n->partition), old->len);
	value_drop(old);
}

void volatile_accept(struct volatile_map *m, struct slice partition, struct volatile_write *w, size_t count)
{
	pthread_mutex_lock(&m->lock);
	for (size_t i = 0; i < count; i++) {
		struct node *n = list_find(m, partition, w[i].key);
		assert(n || !w[i].held);
		if (n)
			replace(m, n, &n->working, w[i].held);
		if (w[i].held)
			n->pins--;
	}
	pthread_mutex_unlock(&m->lock);
}

static uint64_t *stripe_of(struct volatile_map *m, struct slice partition, struct slice key)
{
	return &m->changed[base_hash_bytes(base_hash_bytes(1, partition), slice_first(key, VOLATILE_GROUP_BYTES)) %
			   STRIPES];
}

static void publish(struct volatile_map *m, struct node *n, struct volatile_value *v)
{
	replace(m, n, &n->published, v);
	*stripe_of(m, n->partition, n->key) = atomic_fetch_add(&m->now, 1) + 1;
}

void volatile_publish_added(struct volatile_map *m, struct slice partition, const struct volatile_write *w,
			    size_t count)
{
	pthread_mutex_lock(&m->lock);
	for (size_t i = 0; i < count; i++) {
		struct node *n = w[i].held ? list_find(m, partition, w[i].key) : NULL;
		if (!n || n->published)
			continue;
		publish(m, n, w[i].held);
		n->early = true;
	}
	pthread_mutex_unlock(&m->lock);
}

static void settle_one(struct volatile_map *m, struct node *n, struct volatile_value *held, bool happened)
{
	if (happened) {
		publish(m, n, held);
		n->early = false;
		return;
	}
	if (n->early)
		publish(m, n, NULL);
	n->early = false;
	replace(m, n, &n->working, n->published);
}

void volatile_settle(struct volatile_map *m, struct slice partition, struct volatile_write *w, size_t count,
		     bool happened)
{
	pthread_mutex_lock(&m->lock);
	for (size_t i = 0; i < count; i++) {
		struct node *n = list_find(m, partition, w[i].key);
		if (n)
			settle_one(m, n, w[i].held, happened);
		drop_held(m, partition, &w[i]);
	}
	pthread_mutex_unlock(&m->lock);
}

/* ---- reads ---- */

static enum err copy_value(const struct volatile_value *v, struct arena *arena, struct slice *ret)
{
	struct slice copy = arena_dup(arena, slice_make(v->bytes, v->len));
	if (!slice_is_set(copy))
		return ERR_NO_MEMORY;
	*ret = copy;
	return ERR_OK;
}

enum err volatile_get(struct volatile_map *m, bool working, struct slice partition, struct slice key,
		      struct arena *arena, struct slice *ret)
{
	if (!atomic_load(&m->count))
		return ERR_NOT_FOUND;
	pthread_mutex_lock(&m->lock);
	struct node *n = list_find(m, partition, key);
	const struct volatile_value *v = !n ? NULL : working ? n->working : n->published;
	enum err err = v ? copy_value(v, arena, ret) : ERR_NOT_FOUND;
	pthread_mutex_unlock(&m->lock);
	return err;
}

static enum err scan_add(struct rows *rows, const struct node *n, const struct volatile_value *v,
			 const struct scan_spec *spec, struct arena *arena)
{
	struct row *r = &rows->row[rows->count];
	*r = (struct row){ .key = arena_dup(arena, n->key) };
	if (!slice_is_set(r->key))
		return ERR_NO_MEMORY;
	if (!spec->keys_only)
		TRY(copy_value(v, arena, &r->value));
	rows->count++;
	return ERR_OK;
}

enum err volatile_scan(struct volatile_map *m, bool working, struct slice partition, const struct scan_spec *spec,
		       struct arena *arena, struct rows *ret)
{
	struct rows rows = { 0 };
	size_t limit = spec->limit_rows && spec->limit_rows < LIMIT_SCAN_ROWS ? spec->limit_rows : LIMIT_SCAN_ROWS;
	size_t cap = 0, bytes = 0;
	enum err err = ERR_OK;
	if (!atomic_load(&m->count)) {
		*ret = rows;
		return ERR_OK;
	}
	pthread_mutex_lock(&m->lock);
	struct node *n = list_seek(m, partition, spec->from, NULL);
	for (; n && err == ERR_OK && slice_eq(n->partition, partition); n = n->next[0]) {
		const struct volatile_value *v = working ? n->working : n->published;
		if (slice_is_set(spec->until) && slice_cmp(n->key, spec->until) >= 0)
			break;
		if (!v)
			continue;
		rows.more = rows.count == limit || bytes >= LIMIT_SCAN_BYTES;
		if (rows.more)
			break;
		if (rows.count == cap) {
			cap = cap ? cap * 4 : 16;
			struct row *grown = ARENA_NEW_ARRAY(arena, struct row, cap);
			err = grown ? ERR_OK : ERR_NO_MEMORY;
			if (grown && rows.count)
				memcpy(grown, rows.row, rows.count * sizeof *grown);
			rows.row = grown;
		}
		if (err == ERR_OK)
			err = scan_add(&rows, n, v, spec, arena);
		bytes += n->key.len + v->len;
	}
	pthread_mutex_unlock(&m->lock);
	if (err == ERR_OK)
		*ret = rows;
	return err;
}

uint64_t volatile_now(struct volatile_map *m)
{
	return atomic_load(&m->now);
}

bool volatile_changed(struct volatile_map *m, struct slice partition, struct slice key, uint64_t since)
{
	if (atomic_load(&m->now) == since)
		return false;
	pthread_mutex_lock(&m->lock);
	bool changed = *stripe_of(m, partition, key) > since;
	pthread_mutex_unlock(&m->lock);
	return changed;
}

size_t volatile_count(struct volatile_map *m)
{
	return atomic_load(&m->count);
}
