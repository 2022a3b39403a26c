/* SPDX-License-Identifier: Apache-2.0
 * Groups: accepted writes go into the overlay; commit makes the extents durable, then one write batch of what the
 * overlay holds, with one sync each.
 *
 * A full disk: below the reserve only groups that give space back are taken. The journal's space is taken beforehand,
 * and RocksDB never meets ENOSPC as long as nobody else eats the reserve; should it, nothing more can be written:
 * FAILED. Deletes are taken even when nothing is free at all, a bounded number of them: they go into the journal, and
 * the extents they retire give their space back before RocksDB has to write. The reserve holds the write buffers on
 * their way to table files, and the tables a compaction may have to write before it can remove what it read: without
 * it deleted rows could not be cleared away. */
#include "engine/rocks/rocks_int.h"
#include "engine/rocks/segment/segment.h"

#include "base/sys/clock.h"
#include "base/sys/log.h"

#include <assert.h>
#include <stdlib.h>
#include <sys/statvfs.h>

enum {
	SMALL_PUT_BYTES = 64 * 1024,
	KEEP_BATCH_BYTES = 1024 * 1024,
	COMPACTION_MAX_BYTES = 256 * 1024 * 1024, /* one compaction: all of level 0 and what it overlaps in the next */
	LOOK_EVERY_NS = 200 * 1000 * 1000,
	SPACE_LOOK_EVERY_NS = 10 * 1000 * 1000,
	SPACE_LOOK_PART = 16, /* or when so much of the reserve may be gone */
	DELETE_PART = 16,     /* deletes may use the reserve down to this part of it */
	TIGHT_GROUPS = 64,    /* and below that go into the journal alone, whose space is taken: so many */
};

enum err rocks_group_begin(struct engine *e, struct engine_group **ret)
{
	struct rocks *r = rocks_of(e);
	bool first_open = atomic_load(&r->group[0].open);
	struct engine_group *g = &r->group[first_open], *other = &r->group[!first_open];
	assert(!atomic_load(&g->open));
	/* Cleared only now: a group begun while this one was committed may have looked into it until it was handed over
	 * itself. */
	overlay_clear(&g->overlay);
	g->below = atomic_load(&other->open) ? other : NULL;
	atomic_store(&g->open, true);
	*ret = g;
	return ERR_OK;
}

void rocks_group_drop_iterator(struct engine_group *g)
{
	if (g->iterator)
		rocksdb_iter_destroy(g->iterator);
	g->iterator = NULL;
}

static void group_end(struct engine_group *g)
{
	size_t bytes;
	rocks_group_drop_iterator(g);
	rocksdb_writebatch_data(g->batch, &bytes);
	if (bytes <= KEEP_BATCH_BYTES) {
		rocksdb_writebatch_clear(g->batch);
	} else { /* clear would keep the memory of the largest group ever */
		rocksdb_writebatch_destroy(g->batch);
		g->batch = rocksdb_writebatch_create();
	}
	g->change_count = 0;
	g->put_bytes = g->delete_count = g->publish_count = 0;
	g->sync_later = false;
	atomic_store(&g->open, false);
}

void rocks_group_abort(struct engine_group *g)
{
	if (g)
		group_end(g);
}

enum err rocks_group_get(struct engine_group *g, struct slice partition, struct slice key, struct arena *arena,
			 struct slice *ret_value)
{
	struct full_key k;
	assert(g);
	full_key_make(&k, partition, key);
	struct slice full = slice_make(k.bytes, k.len);
	for (const struct engine_group *at = g; at; at = at == g ? g->below : NULL) {
		const struct overlay_node *n = at->overlay.count ? overlay_seek(&at->overlay, full) : NULL;
		if (!n || !slice_eq(n->key, full))
			continue;
		if (!slice_is_set(n->value))
			return ERR_NOT_FOUND;
		struct slice copy = arena_dup(arena, n->value);
		if (!slice_is_set(copy))
			return ERR_NO_MEMORY;
		*ret_value = copy;
		return ERR_OK;
	}
	return rocks_get(g->rocks, layout_family(partition, key), g->rocks->read, full, arena, ret_value);
}

enum err rocks_group_scan(struct engine_group *g, struct slice partition, const struct scan_spec *spec,
			  struct arena *arena, struct rows *ret_rows)
{
	return rocks_scan(g->rocks, NULL, g, partition, spec, arena, ret_rows);
}

static enum err changes_reserve(struct engine_group *g, size_t more)
{
	if (g->change_count + more <= g->change_cap)
		return ERR_OK;
	size_t cap = g->change_cap ? g->change_cap : 64;
	while (cap < g->change_count + more)
		cap *= 2;
	struct extent_change *c = realloc(g->changes, cap * sizeof *c);
	if (!c)
		return ERR_NO_MEMORY;
	g->changes = c;
	g->change_cap = cap;
	return ERR_OK;
}

/* Makes everything that can fail before anything is added. Nodes are chained through next[0]. */
static enum err prepare(struct engine_group *g, struct slice partition, const struct write *w, size_t count,
			struct overlay_node **ret_first)
{
	size_t extents = 0;
	struct overlay_node **link = ret_first;
	*ret_first = NULL;
	for (size_t i = 0; i < count; i++) {
		if (w[i].kind == WRITE_PUBLISH || w[i].kind == WRITE_RETIRE) {
			extents++;
			continue;
		}
		if (w[i].key.len == 0 || w[i].key.len > LIMIT_KEY_BYTES || w[i].value.len > LIMIT_VALUE_BYTES)
			return ERR_LIMIT;
		struct overlay_node *n = overlay_node_new(&g->overlay, partition, w[i].key,
							  w[i].kind == WRITE_PUT ? w[i].value : SLICE_NONE);
		if (!n)
			return ERR_NO_MEMORY;
		n->next[0] = NULL;
		*link = n;
		link = &n->next[0];
	}
	return changes_reserve(g, extents);
}

enum err rocks_group_accept(struct engine_group *g, struct slice partition, const struct write *w, size_t count)
{
	struct overlay_node *n;
	TRY(prepare(g, partition, w, count, &n));
	for (size_t i = 0; i < count; i++) {
		if (w[i].kind == WRITE_PUBLISH || w[i].kind == WRITE_RETIRE) {
			bool retire = w[i].kind == WRITE_RETIRE;
			g->changes[g->change_count++] = (struct extent_change){ retire, w[i].extent };
			g->delete_count += retire;
			g->publish_count += !retire;
			continue;
		}
		struct overlay_node *next = n->next[0];
		if (w[i].kind == WRITE_PUT)
			g->put_bytes += n->key.len + w[i].value.len;
		else
			g->delete_count++;
		overlay_insert(&g->overlay, n);
		n = next;
	}
	return ERR_OK;
}

/* ---- commit ---- */

/* Each row once, however often the group wrote it, and in order: the journal is shorter, and RocksDB finds the place of
 * a row in its memory beside the one before instead of searching for it. */
static void put_rows(struct rocks *r, struct engine_group *g)
{
	for (const struct overlay_node *n = g->overlay.head[0]; n; n = n->next[0]) {
		size_t partition_len = slice_find_byte(n->key, 0);
		rocksdb_column_family_handle_t *family = r->family[layout_family(
			slice_first(n->key, partition_len), slice_from(n->key, partition_len + 1))];
		if (slice_is_set(n->value))
			rocksdb_writebatch_put_cf(g->batch, family, n->key.ptr, n->key.len, n->value.ptr, n->value.len);
		else
			rocksdb_writebatch_delete_cf(g->batch, family, n->key.ptr, n->key.len);
	}
}

static uint64_t rocks_reserve(struct rocks *r)
{
	uint64_t now = base_monotonic_ns();
	if (now - atomic_load_explicit(&r->compaction_looked_ns, memory_order_relaxed) > LOOK_EVERY_NS) {
		uint64_t tables = rocks_property(r, "rocksdb.total-sst-files-size");
		atomic_store_explicit(&r->compaction_bytes,
				      tables < COMPACTION_MAX_BYTES ? tables : COMPACTION_MAX_BYTES,
				      memory_order_relaxed);
		atomic_store_explicit(&r->compaction_looked_ns, now, memory_order_relaxed);
	}
	return r->reserve_bytes + atomic_load_explicit(&r->compaction_bytes, memory_order_relaxed);
}

bool rocks_has_space(struct rocks *r, uint64_t more_bytes, uint64_t *ret_free_bytes)
{
	struct statvfs v;
	if (fstatvfs(r->dir_fd, &v) != 0) {
		*ret_free_bytes = 0;
		return true; /* cannot tell: let the write itself say */
	}
	*ret_free_bytes = (uint64_t)v.f_bavail * v.f_frsize;
	return *ret_free_bytes >= rocks_reserve(r) + more_bytes;
}

bool rocks_is_tight(struct rocks *r)
{
	uint64_t free_bytes;
	return !rocks_has_space(r, 0, &free_bytes) && free_bytes < r->reserve_bytes / DELETE_PART;
}

static bool may_commit(struct rocks *r, const struct engine_group *g)
{
	uint64_t free_bytes, now = base_monotonic_ns();
	/* The reserve is there so that the disk need not be asked each time. */
	r->space_used_bytes += g->put_bytes;
	if (now - r->space_looked_ns < SPACE_LOOK_EVERY_NS &&
	    r->space_used_bytes < r->reserve_bytes / SPACE_LOOK_PART &&
	    !atomic_load_explicit(&r->short_of_space, memory_order_relaxed))
		return true;
	r->space_looked_ns = now;
	r->space_used_bytes = 0;
	if (rocks_has_space(r, 0, &free_bytes)) {
		atomic_store_explicit(&r->short_of_space, false, memory_order_relaxed);
		return true;
	}
	atomic_store_explicit(&r->short_of_space, true, memory_order_relaxed);
	bool gives_back = g->delete_count && !g->publish_count && g->put_bytes <= SMALL_PUT_BYTES;
	if (!gives_back)
		return false;
	if (free_bytes >= r->reserve_bytes / DELETE_PART)
		r->tight_groups = 0;
	else if (r->tight_groups++ >= TIGHT_GROUPS)
		return false;
	atomic_fetch_add_explicit(&r->deletes_when_short, g->delete_count, memory_order_relaxed);
	return true;
}

void rocks_put_bitmap(struct rocks *r, rocksdb_writebatch_t *batch, uint32_t region)
{
	struct layout_row row;
	layout_bitmap_encode(&row, region, segment_published(r->segments, region));
	rocks_put_own(r, batch, &row);
}

/* Published bits of all changed regions into the batch, each region once. */
static void put_bitmaps(struct rocks *r, rocksdb_writebatch_t *batch, const struct extent_change *c, size_t count)
{
	uint32_t last = UINT32_MAX;
	for (size_t i = 0; i < count; i++) {
		uint32_t region = segment_region(&c[i].extent);
		bool seen = c[i].retire || region == last;
		/* Few regions a group: looking back is cheaper than a set. */
		for (size_t k = 0; k < i && !seen; k++)
			seen = !c[k].retire && segment_region(&c[k].extent) == region;
		if (!seen)
			rocks_put_bitmap(r, batch, region);
		last = c[i].retire ? last : region;
	}
}

static void unpublish(struct rocks *r, const struct engine_group *g, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!g->changes[i].retire)
			segment_published_set(r->segments, &g->changes[i].extent, false);
}

/* Sets published bits and adds the rows of all changes. False: an extent that is not ours, or published twice. */
static bool add_changes(struct rocks *r, struct engine_group *g)
{
	for (size_t i = 0; i < g->change_count; i++)
		if (!g->changes[i].retire && !segment_published_set(r->segments, &g->changes[i].extent, true)) {
			unpublish(r, g, i);
			return false;
		}
	put_bitmaps(r, g->batch, g->changes, g->change_count);
	for (size_t i = 0; i < g->change_count; i++)
		if (g->changes[i].retire)
			rocks_put_retired(r, g->batch, r->retire_next++, &g->changes[i].extent);
	return true;
}

static bool sync_extents(struct rocks *r, struct engine_group *g)
{
	for (size_t i = 0; i < g->change_count; i++)
		if (!g->changes[i].retire && !segment_sync(r->segments, &g->changes[i].extent))
			return false;
	return true;
}

static enum outcome fail(struct rocks *r, const char *what)
{
	log_error("%s failed. Nothing more is acknowledged; check the disk and start again.", what);
	atomic_store(&r->failed, true);
	return OUTCOME_FAILED;
}

static enum outcome commit(struct rocks *r, struct engine_group *g)
{
	if (atomic_load(&r->failed))
		return OUTCOME_FAILED;
	if (g->overlay.count == 0 && g->change_count == 0)
		return OUTCOME_DONE;
	if (!may_commit(r, g))
		return OUTCOME_NO_SPACE;
	if (g->publish_count && !sync_extents(r, g))
		return fail(r, "sync of a segment file");
	put_rows(r, g);
	if (g->publish_count)
		pthread_mutex_lock(&r->publish_lock);
	uint64_t retired = r->retire_next;
	/* With extents there are syncs already, and a record must not outlive the bytes that it names. */
	bool ours = add_changes(r, g), later = g->sync_later && !g->publish_count;
	enum err err =
		ours ? rocks_write(r, g->batch, (struct rocks_changed){ .rows = &g->overlay }, later) : ERR_CORRUPT;
	if (err == ERR_NO_SPACE) {
		unpublish(r, g, g->change_count);
		r->retire_next = retired;
	}
	if (g->publish_count)
		pthread_mutex_unlock(&r->publish_lock);
	if (!ours)
		return fail(r, "publishing an extent (it is not a sealed one)");
	if (err != ERR_OK)
		return err == ERR_NO_SPACE ? OUTCOME_NO_SPACE : OUTCOME_FAILED;
	atomic_fetch_add(&r->retired_waiting, r->retire_next - retired);
	atomic_store(&r->retire_durable, r->retire_next - 1);
	return OUTCOME_DONE;
}

void rocks_group_sync_later(struct engine_group *g)
{
	g->sync_later = g->rocks->may_sync_later;
}

enum outcome rocks_group_commit(struct engine_group *g)
{
	enum outcome o = commit(g->rocks, g);
	group_end(g);
	return o;
}
