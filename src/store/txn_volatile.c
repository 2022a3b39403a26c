/* SPDX-License-Identifier: Apache-2.0
 * A transaction's view of volatile rows: its own writes first, then the committer's working values or the published
 * ones. */
#include "store/store_int.h"

#include <assert.h>
#include <stdlib.h>

enum { TXN_FIRST_VOLATILES = 8, LIMIT_TXN_VOLATILES = 2048 }; /* force close of some hundred handles at a time */

bool txn_is_volatile_key(struct slice key)
{
	return key.len && key.ptr[0] == KEY_TAG_VOLATILE;
}

/* For the committer: who looked at which file's rows, or changed them. */
static void touch(struct txn *t, struct slice key)
{
	if (t->mode != TXN_GROUP)
		return;
	if (key.len < VOLATILE_GROUP_BYTES)
		touched_add_all(&t->store->touching);
	else
		touched_add(&t->store->touching,
			    store_hash(t->store, t->partition, slice_first(key, VOLATILE_GROUP_BYTES)));
}

static struct volatile_write *own_find(struct txn *t, struct slice key)
{
	for (size_t i = 0; i < t->volatile_count; i++)
		if (slice_eq(t->volatiles[i].key, key))
			return &t->volatiles[i];
	return NULL;
}

static enum err own_grow(struct txn *t)
{
	size_t cap = t->volatile_cap ? t->volatile_cap * 2 : TXN_FIRST_VOLATILES;
	struct volatile_write *w = ARENA_NEW_ARRAY(t->arena, struct volatile_write, cap);
	if (!w)
		return ERR_NO_MEMORY;
	if (t->volatile_count)
		memcpy(w, t->volatiles, t->volatile_count * sizeof *w);
	t->volatiles = w;
	t->volatile_cap = cap;
	return ERR_OK;
}

static enum err own_put(struct txn *t, struct slice key, struct slice value)
{
	assert(txn_is_volatile_key(key) && key.len >= 2);
	struct volatile_write *w = own_find(t, key);
	touch(t, key);
	if (!w) {
		struct slice copy = arena_dup(t->arena, key);
		if (!slice_is_set(copy))
			return ERR_NO_MEMORY;
		if (key.len > LIMIT_KEY_BYTES || t->volatile_count == LIMIT_TXN_VOLATILES)
			return ERR_LIMIT;
		if (t->volatile_count == t->volatile_cap)
			TRY(own_grow(t));
		w = &t->volatiles[t->volatile_count++];
		*w = (struct volatile_write){ .key = copy };
	}
	w->value = value;
	return ERR_OK;
}

/* A write that did not get into the set must not be lost quietly, whatever apply makes of the error. */
static enum err fail(struct txn *t, enum err err)
{
	if (err != ERR_OK && t->failed == ERR_OK)
		t->failed = err;
	return err;
}

enum err txn_put_volatile(struct txn *t, struct slice key, struct slice value)
{
	assert(value.len > 0);
	struct slice copy = arena_dup(t->arena, value);
	return fail(t, slice_is_set(copy) ? own_put(t, key, copy) : ERR_NO_MEMORY);
}

enum err txn_del_volatile(struct txn *t, struct slice key)
{
	return fail(t, own_put(t, key, SLICE_NONE));
}

/* On a snapshot: were the rows changed since it was taken? Then all that was read so far may be too old. */
static enum err check_moment(struct txn *t, struct slice key)
{
	if (t->mode != TXN_SNAPSHOT || !volatile_changed(t->store->volatiles, t->partition, key, t->volatile_since))
		return ERR_OK;
	t->stale = true;
	return ERR_CONFLICT;
}

enum err txn_get_volatile(struct txn *t, struct slice key, struct slice *ret)
{
	struct volatile_write *own = own_find(t, key);
	touch(t, key);
	if (own && !slice_is_set(own->value))
		return ERR_NOT_FOUND;
	if (own) {
		*ret = own->value;
		return ERR_OK;
	}
	struct slice value;
	enum err err = volatile_get(t->store->volatiles, t->mode == TXN_GROUP, t->partition, key, t->arena, &value);
	TRY(check_moment(t, key));
	if (err == ERR_OK)
		*ret = value;
	return err;
}

bool txn_volatile_is_empty(const struct txn *t)
{
	struct volatile_map *m = t->store->volatiles;
	if (t->volatile_count || volatile_count(m))
		return false;
	if (t->mode == TXN_GROUP)
		touched_add_all(&t->store->touching);
	return t->mode != TXN_SNAPSHOT || volatile_now(m) == t->volatile_since;
}

static int compare_rows(const void *a, const void *b)
{
	return slice_cmp(((const struct row *)a)->key, ((const struct row *)b)->key);
}

/* Lays own writes over a page of the map. Own keys behind the page's end belong to a later page. */
static enum err merge_own(struct txn *t, const struct scan_spec *spec, struct rows *page)
{
	struct slice last = page->more ? page->row[page->count - 1].key : SLICE_NONE;
	struct row *row = ARENA_NEW_ARRAY(t->arena, struct row, page->count + t->volatile_count + 1);
	size_t n = 0;
	if (!row)
		return ERR_NO_MEMORY;
	for (size_t i = 0; i < page->count; i++)
		if (!own_find(t, page->row[i].key))
			row[n++] = page->row[i];
	for (size_t i = 0; i < t->volatile_count; i++) {
		const struct volatile_write *w = &t->volatiles[i];
		bool in_range = slice_cmp(w->key, spec->from) >= 0 &&
				(!slice_is_set(spec->until) || slice_cmp(w->key, spec->until) < 0) &&
				(!slice_is_set(last) || slice_cmp(w->key, last) <= 0);
		if (in_range && slice_is_set(w->value))
			row[n++] = (struct row){ w->key, spec->keys_only ? SLICE_NONE : w->value };
	}
	if (n > 1)
		qsort(row, n, sizeof *row, compare_rows);
	page->row = row;
	page->count = n;
	return ERR_OK;
}

enum err txn_scan_volatile(struct txn *t, const struct scan_spec *spec, struct rows *ret)
{
	struct rows page;
	struct scan_spec at = *spec;
	touch(t, spec->from);
	for (;;) {
		TRY(volatile_scan(t->store->volatiles, t->mode == TXN_GROUP, t->partition, &at, t->arena, &page));
		/* A list of all opens begins without a number: it is as new as each row of it. */
		if (spec->from.len >= VOLATILE_GROUP_BYTES)
			TRY(check_moment(t, spec->from));
		if (!t->volatile_count)
			break;
		struct slice last = page.more ? page.row[page.count - 1].key : SLICE_NONE;
		TRY(merge_own(t, &at, &page));
		if (page.count || !page.more)
			break;
		/* All of the page was deleted by this transaction: look further. */
		struct key after;
		key_after(&after, last);
		at.from = arena_dup(t->arena, key_slice(&after));
		if (!slice_is_set(at.from))
			return ERR_NO_MEMORY;
	}
	*ret = page;
	return ERR_OK;
}
