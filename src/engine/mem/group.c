/* SPDX-License-Identifier: Apache-2.0
 * Groups of the mem engine: the overlay, the record of what was read, and the commit that checks it.
 *
 * A read is remembered as a range of map keys and the commit number it saw; a group may commit if no row in any of its
 * ranges has a newer version. Rows deleted since the group began keep their deletion until it ends (mem_floor), so a
 * vanished row is seen too. A late group (UNKNOWN, decided later) stays with its ranges until its time comes and
 * happens only if they still hold: that is how a delayed write of a remote store behaves, and why a store must change
 * what the group read before it may run its transactions again. */
#include "engine/mem/mem_int.h"

#include <assert.h>

static void group_unlink(struct engine_group *g)
{
	if (!g->link)
		return;
	*g->link = g->next;
	if (g->next)
		g->next->link = g->link;
	g->link = NULL;
}

static void group_free(struct engine_group *g)
{
	map_fini(&g->overlay);
	free(g->reads);
	free(g->read_keys);
	free(g->extents);
	free(g);
}

static bool reads_hold(const struct mem *mem, const struct engine_group *g)
{
	if (mem->commit == g->begin_commit)
		return true;
	for (size_t i = 0; i < g->read_count; i++) {
		const struct read_range *r = &g->reads[i];
		struct slice lo = slice_make(g->read_keys + r->lo_at, r->lo_len);
		struct slice hi = slice_make(g->read_keys + r->hi_at, r->hi_len);
		for (const struct row_node *n = map_seek(&mem->rows, lo); n; n = n->next[0]) {
			int c = slice_cmp(map_node_key(n), hi);
			if (c > 0 || (c == 0 && !r->hi_inclusive))
				break;
			if (n->newest->commit > r->seen_commit)
				return false;
		}
	}
	return true;
}

static void group_apply(struct mem *mem, struct engine_group *g)
{
	uint64_t floor = mem_floor(mem);
	mem->commit++;
	for (const struct row_node *n = g->overlay.head[0]; n; n = n->next[0])
		mem_row_put(mem, map_node_key(n),
			    n->newest->deleted ? SLICE_NONE : slice_make(n->newest->bytes, n->newest->len), mem->commit,
			    floor);
	for (size_t i = 0; i < g->extent_count; i++)
		mem_extent_apply(mem, &g->extents[i], mem->commit);
	if (g->sync_later) {
		mem->unsynced = true;
	} else {
		mem->durable = mem->faults.commits_volatile ? mem->commit - 1 : mem->commit;
		mem->unsynced = false;
		mem->syncs++;
	}
	mem->bytes_written += g->write_bytes;
	mem->counts.commits++;
	mem_sweep(mem, mem_floor(mem));
}

void mem_late_flush(struct mem *mem, bool happens)
{
	struct engine_group *g = mem->late;
	if (!g)
		return;
	mem->late = NULL;
	if (happens && reads_hold(mem, g))
		group_apply(mem, g);
	group_free(g);
}

/* Every call of a group is a moment at which a late one may arrive. */
static void late_tick(struct mem *mem)
{
	if (mem->late && mem->late->late_calls-- == 0)
		mem_late_flush(mem, true);
}

enum err mem_group_begin(struct engine *engine, struct engine_group **ret)
{
	struct mem_engine *e = mem_engine_of(engine);
	struct mem *mem = e->mem;
	struct engine_group *g = mem_alloc(sizeof *g);
	enum err err = ERR_OK;
	g->engine = e;
	pthread_mutex_lock(&mem->lock);
	if (mem_engine_dead(e)) {
		err = ERR_IO;
	} else {
		late_tick(mem);
		g->begin_commit = mem->commit;
		g->next = mem->groups;
		g->link = &mem->groups;
		if (g->next)
			g->next->link = &g->next;
		mem->groups = g;
	}
	pthread_mutex_unlock(&mem->lock);
	if (err)
		free(g);
	else
		*ret = g;
	return err;
}

static size_t remember_key(struct engine_group *g, struct slice key)
{
	size_t at = g->read_key_bytes;
	mem_grow(&g->read_keys, &g->read_key_cap, at + key.len, 1);
	memcpy(g->read_keys + at, key.ptr, key.len);
	g->read_key_bytes += key.len;
	return at;
}

static void remember(struct engine_group *g, struct slice lo, struct slice hi, bool hi_inclusive)
{
	struct read_range r = {
		.lo_len = lo.len, .hi_len = hi.len, .hi_inclusive = hi_inclusive, .seen_commit = g->engine->mem->commit
	};
	r.lo_at = remember_key(g, lo);
	r.hi_at = lo.ptr == hi.ptr ? r.lo_at : remember_key(g, hi);
	mem_grow(&g->reads, &g->read_cap, g->read_count + 1, sizeof *g->reads);
	g->reads[g->read_count++] = r;
}

/* A group reads and writes one partition: an engine that keeps partitions in different places can do no more. */
static void check_partition(struct engine_group *g, struct slice partition)
{
	assert(partition.len > 0 && partition.len <= sizeof g->partition);
	if (!g->partition_len) {
		memcpy(g->partition, partition.ptr, partition.len);
		g->partition_len = partition.len;
	}
	assert(slice_eq(partition, slice_make(g->partition, g->partition_len)));
}

enum err mem_group_get(struct engine_group *g, struct slice partition, struct slice key, struct arena *arena,
		       struct slice *ret_value)
{
	struct mem *mem = g->engine->mem;
	struct map_key k;
	const struct version *v = NULL;
	enum err err = ERR_NOT_FOUND;
	check_partition(g, partition);
	mem_check_key(key);
	struct slice at = mem_key(&k, partition, key);
	mem_interfere(g->engine, MEM_BEFORE_READ);
	pthread_mutex_lock(&mem->lock);
	late_tick(mem);
	const struct row_node *n = map_find(&g->overlay, at);
	if (!n) { /* what the group wrote itself nobody else can change */
		n = map_find(&mem->rows, at);
		remember(g, at, at, true);
	}
	v = n ? mem_version_at(n, UINT64_MAX) : NULL;
	if (mem_engine_dead(g->engine)) {
		err = ERR_IO;
	} else if (v) {
		struct slice copy = arena_dup(arena, slice_make(v->bytes, v->len));
		err = copy.ptr ? ERR_OK : ERR_NO_MEMORY;
		if (copy.ptr)
			*ret_value = copy;
	}
	pthread_mutex_unlock(&mem->lock);
	return err;
}

enum err mem_group_scan(struct engine_group *g, struct slice partition, const struct scan_spec *spec,
			struct arena *arena, struct rows *ret_rows)
{
	struct mem *mem = g->engine->mem;
	struct map_key lo, hi;
	bool hi_inclusive;
	enum err err = ERR_IO;
	check_partition(g, partition);
	hi.len = 0;
	mem_interfere(g->engine, MEM_BEFORE_READ);
	pthread_mutex_lock(&mem->lock);
	late_tick(mem);
	if (!mem_engine_dead(g->engine))
		err = mem_scan(mem, &g->overlay, mem->commit, partition, spec, arena, ret_rows, &hi, &hi_inclusive);
	if (!err)
		remember(g, mem_key(&lo, partition, spec->from), slice_make(hi.bytes, hi.len), hi_inclusive);
	pthread_mutex_unlock(&mem->lock);
	return err;
}

/* What a caller must not do, whatever its input was, is a bug above and ends here. */
static void check_writes(const struct write *w, size_t count)
{
	size_t bytes = 0, extents = 0;
	for (size_t i = 0; i < count; i++) {
		if (w[i].kind == WRITE_PUT || w[i].kind == WRITE_DEL) {
			mem_check_key(w[i].key);
			bytes += w[i].key.len;
		} else {
			assert(w[i].extent.id && w[i].extent.length_bytes);
			extents++;
		}
		if (w[i].kind == WRITE_PUT) {
			assert(w[i].value.len >= 1 && w[i].value.len <= LIMIT_VALUE_BYTES);
			bytes += w[i].value.len;
		}
	}
	assert(count - extents <= LIMIT_COMMIT_WRITES && extents <= LIMIT_COMMIT_EXTENTS);
	assert(bytes <= LIMIT_COMMIT_BYTES);
}

enum err mem_group_accept(struct engine_group *g, struct slice partition, const struct write *w, size_t count)
{
	struct mem *mem = g->engine->mem;
	struct map_key k;
	check_partition(g, partition);
	check_writes(w, count);
	for (size_t i = 0; i < count; i++) {
		if (w[i].kind == WRITE_PUBLISH || w[i].kind == WRITE_RETIRE) {
			mem_grow(&g->extents, &g->extent_cap, g->extent_count + 1, sizeof *g->extents);
			g->extents[g->extent_count++] = w[i];
			continue;
		}
		struct row_node *n = map_insert(&g->overlay, mem_key(&k, partition, w[i].key));
		versions_free(n->newest);
		n->newest = mem_version_new(0, w[i].kind == WRITE_PUT ? w[i].value : SLICE_NONE);
		g->write_bytes += w[i].key.len + w[i].value.len;
	}
	pthread_mutex_lock(&mem->lock);
	late_tick(mem);
	pthread_mutex_unlock(&mem->lock);
	return ERR_OK;
}

/* FAILED is a sync that failed: what it tried to write may be there after the restart, or not. */
static enum outcome commit_failed(struct mem *mem, struct engine_group *g)
{
	if (!mem->failed && reads_hold(mem, g) && rng_below(&mem->rng, 2))
		group_apply(mem, g);
	mem->failed = true;
	return OUTCOME_FAILED;
}

/* Decides and does it. *ret_late: the group now belongs to mem. */
static enum outcome commit_locked(struct mem *mem, struct engine_group *g, bool *ret_late)
{
	const struct mem_options *f = &mem->faults;
	if (mem_engine_dead(g->engine))
		return OUTCOME_FAILED;
	if (mem->failed || (f->fail_after_commits && mem->counts.commits + 1 >= f->fail_after_commits))
		return commit_failed(mem, g);
	if (mem_chance(mem, f->no_space_permille))
		return OUTCOME_NO_SPACE;
	if (!reads_hold(mem, g)) {
		mem->counts.conflicts++;
		return OUTCOME_CONFLICT;
	}
	if (mem_chance(mem, f->conflict_permille)) {
		mem->counts.conflicts_injected++;
		return OUTCOME_CONFLICT;
	}
	if (mem_chance(mem, f->unknown_lost_permille)) {
		mem->counts.unknown_lost++;
		return OUTCOME_UNKNOWN;
	}
	if (!mem->late && mem_chance(mem, f->unknown_late_permille)) {
		mem->counts.unknown_late++;
		g->late_calls = (unsigned)rng_below(&mem->rng, 12);
		*ret_late = true;
		return OUTCOME_UNKNOWN;
	}
	group_apply(mem, g);
	if (mem_chance(mem, f->unknown_happened_permille)) {
		mem->counts.unknown_happened++;
		return OUTCOME_UNKNOWN;
	}
	return OUTCOME_DONE;
}

enum outcome mem_group_commit(struct engine_group *g)
{
	struct mem_engine *e = g->engine;
	struct mem *mem = e->mem;
	bool late = false;
	mem_interfere(e, MEM_BEFORE_COMMIT);
	pthread_mutex_lock(&mem->lock);
	late_tick(mem);
	group_unlink(g); /* its own commit needs nothing old */
	uint64_t before = mem->commit;
	enum outcome outcome = commit_locked(mem, g, &late);
	bool happened = mem->commit != before;
	if (late) {
		g->engine = NULL; /* may be closed by then */
		mem->late = g;
	}
	pthread_mutex_unlock(&mem->lock);
	if (!late)
		group_free(g);
	if (happened)
		mem_interfere(e, MEM_AFTER_COMMIT);
	/* The power may have gone between the sync and this answer. */
	pthread_mutex_lock(&mem->lock);
	if (mem_engine_dead(e))
		outcome = OUTCOME_FAILED;
	pthread_mutex_unlock(&mem->lock);
	return outcome;
}

void mem_group_sync_later(struct engine_group *g)
{
	g->sync_later = true;
}

void mem_group_abort(struct engine_group *g)
{
	if (!g)
		return;
	struct mem *mem = g->engine->mem;
	pthread_mutex_lock(&mem->lock);
	group_unlink(g);
	pthread_mutex_unlock(&mem->lock);
	group_free(g);
}
