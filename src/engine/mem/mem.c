/* SPDX-License-Identifier: Apache-2.0
 * The mem engine: opening, snapshots, reads, partitions, the power cut. See mem_int.h for the data and its invariants.
 */
#include "engine/mem/mem_int.h"

#include <assert.h>

bool mem_chance(struct mem *mem, unsigned permille)
{
	return permille && rng_below(&mem->rng, 1000) < permille;
}

void mem_interfere(struct mem_engine *e, enum mem_point point)
{
	if (!e->interfere || e->interfering)
		return;
	e->interfering = true;
	e->interfere(e->interfere_arg, point);
	e->interfering = false;
}

void mem_check_key(struct slice key)
{
	assert(key.len >= 1 && key.len <= LIMIT_KEY_BYTES);
	assert(!memchr(key.ptr, 0, key.len));
}

/* The key may be empty here: the beginning of the partition. */
struct slice mem_key(struct map_key *k, struct slice partition, struct slice key)
{
	mem_check_key(partition);
	assert(key.len <= LIMIT_KEY_BYTES);
	memcpy(k->bytes, partition.ptr, partition.len);
	k->bytes[partition.len] = 0;
	if (key.len)
		memcpy(k->bytes + partition.len + 1, key.ptr, key.len);
	k->len = partition.len + 1 + key.len;
	return slice_make(k->bytes, k->len);
}

struct slice mem_key_partition_end(struct map_key *k, struct slice partition)
{
	mem_key(k, partition, SLICE_NONE);
	k->bytes[partition.len] = 1;
	return slice_make(k->bytes, k->len);
}

uint64_t mem_floor(const struct mem *mem)
{
	uint64_t floor = mem->durable;
	for (const struct engine_snapshot *s = mem->snapshots; s; s = s->next)
		if (s->commit < floor)
			floor = s->commit;
	for (const struct engine_group *g = mem->groups; g; g = g->next)
		if (g->begin_commit < floor)
			floor = g->begin_commit;
	if (mem->late && mem->late->begin_commit < floor)
		floor = mem->late->begin_commit;
	return floor;
}

static void row_prune(struct row_node *n, uint64_t floor)
{
	struct version *v = n->newest;
	while (v->commit > floor && v->older)
		v = v->older;
	versions_free(v->older); /* v is what the floor sees, or the oldest there is */
	v->older = NULL;
}

void mem_row_put(struct mem *mem, struct slice key, struct slice value, uint64_t commit, uint64_t floor)
{
	struct row_node *n = map_insert(&mem->rows, key);
	struct version *v = mem_version_new(commit, value);
	v->older = n->newest;
	n->newest = v;
	row_prune(n, floor);
	mem->dead_rows += v->deleted;
}

/* Lets go of versions nobody can see. The whole map only when much of it is dead, so a commit costs what it wrote. */
void mem_sweep(struct mem *mem, uint64_t floor)
{
	struct row_node *n = mem->rows.head[0];
	if (mem->dead_rows < 64 || mem->dead_rows < mem->rows.count / 2)
		return;
	mem->dead_rows = 0;
	while (n) {
		struct row_node *next = n->next[0];
		row_prune(n, floor);
		if (n->newest->deleted && n->newest->commit <= floor)
			map_remove(&mem->rows, map_node_key(n));
		else
			mem->dead_rows += n->newest->deleted;
		n = next;
	}
	if (mem->dead_rows > 32) /* held by a reader: look again after as many deletions more */
		mem->dead_rows /= 2;
}

static enum err snapshot_take(struct engine *engine, struct engine_snapshot **ret)
{
	struct mem_engine *e = mem_engine_of(engine);
	struct mem *mem = e->mem;
	struct engine_snapshot *s = mem_alloc(sizeof *s);
	enum err err = ERR_OK;
	pthread_mutex_lock(&mem->lock);
	if (mem_engine_dead(e)) {
		err = ERR_IO;
	} else {
		s->commit = mem->commit;
		s->epoch = mem->epoch;
		s->next = mem->snapshots;
		s->link = &mem->snapshots;
		if (s->next)
			s->next->link = &s->next;
		mem->snapshots = s;
	}
	pthread_mutex_unlock(&mem->lock);
	if (err)
		free(s);
	else
		*ret = s;
	return err;
}

static void snapshot_unlink(struct engine_snapshot *s)
{
	if (!s->link)
		return;
	*s->link = s->next;
	if (s->next)
		s->next->link = s->link;
	s->link = NULL;
}

static void snapshot_drop(struct engine *engine, struct engine_snapshot *s)
{
	struct mem *mem = mem_engine_of(engine)->mem;
	if (!s)
		return;
	pthread_mutex_lock(&mem->lock);
	snapshot_unlink(s);
	pthread_mutex_unlock(&mem->lock);
	free(s);
}

static enum err get(struct engine *engine, struct engine_snapshot *s, struct slice partition, struct slice key,
		    struct arena *arena, struct slice *ret_value)
{
	struct mem_engine *e = mem_engine_of(engine);
	struct mem *mem = e->mem;
	struct map_key k;
	enum err err = ERR_NOT_FOUND;
	mem_check_key(key);
	struct slice at = mem_key(&k, partition, key);
	pthread_mutex_lock(&mem->lock);
	const struct row_node *n = map_find(&mem->rows, at);
	const struct version *v = n ? mem_version_at(n, s ? s->commit : mem->commit) : NULL;
	if (mem_engine_dead(e) || (s && s->epoch != e->epoch)) {
		err = ERR_IO;
	} else if (v) {
		struct slice copy = arena_dup(arena, slice_make(v->bytes, v->len));
		err = copy.ptr ? ERR_OK : ERR_NO_MEMORY;
		if (copy.ptr)
			*ret_value = copy;
	}
	pthread_mutex_unlock(&mem->lock);
	mem_interfere(e, MEM_AFTER_GET);
	return err;
}

static enum err scan(struct engine *engine, struct engine_snapshot *s, struct slice partition,
		     const struct scan_spec *spec, struct arena *arena, struct rows *ret_rows)
{
	struct mem_engine *e = mem_engine_of(engine);
	struct map_key hi;
	bool hi_inclusive;
	pthread_mutex_lock(&e->mem->lock);
	enum err err = mem_engine_dead(e) || (s && s->epoch != e->epoch)
			       ? ERR_IO
			       : mem_scan(e->mem, NULL, s ? s->commit : e->mem->commit, partition, spec, arena,
					  ret_rows, &hi, &hi_inclusive);
	pthread_mutex_unlock(&e->mem->lock);
	return err;
}

static enum err drop_partition(struct engine *engine, struct slice partition)
{
	struct mem_engine *e = mem_engine_of(engine);
	struct mem *mem = e->mem;
	struct map_key lo, hi;
	enum err err = ERR_OK;
	struct slice from = mem_key(&lo, partition, SLICE_NONE), until = mem_key_partition_end(&hi, partition);
	pthread_mutex_lock(&mem->lock);
	if (mem_engine_dead(e) || mem->failed) {
		err = ERR_IO;
	} else {
		uint64_t floor = mem_floor(mem);
		mem->commit++;
		for (struct row_node *n = map_seek(&mem->rows, from); n && slice_cmp(map_node_key(n), until) < 0;
		     n = n->next[0])
			if (!n->newest->deleted)
				mem_row_put(mem, map_node_key(n), SLICE_NONE, mem->commit, floor);
		mem->durable = mem->commit;
		mem->syncs++;
		mem_sweep(mem, mem_floor(mem));
	}
	pthread_mutex_unlock(&mem->lock);
	return err;
}

/* The first partition at or after `at` that has a row, as a slice into the map; absent if there is none. */
static struct slice partition_next(const struct mem *mem, struct slice at)
{
	const struct row_node *n = map_seek(&mem->rows, at);
	while (n && n->newest->deleted)
		n = n->next[0];
	if (!n)
		return SLICE_NONE;
	struct slice key = map_node_key(n);
	return slice_first(key, slice_find_byte(key, 0));
}

static enum err list_partitions(struct engine *engine, struct slice from, size_t limit, struct arena *arena,
				struct slice **ret, size_t *ret_count)
{
	struct mem_engine *e = mem_engine_of(engine);
	struct mem *mem = e->mem;
	struct map_key k;
	enum err err = ERR_OK;
	size_t count = 0;
	struct slice *ids = ARENA_NEW_ARRAY(arena, struct slice, limit), id;
	if (!ids)
		return ERR_NO_MEMORY;
	pthread_mutex_lock(&mem->lock);
	if (mem_engine_dead(e))
		err = ERR_IO;
	while (!err && count < limit && slice_is_set(id = partition_next(mem, from))) {
		ids[count] = arena_dup(arena, id);
		if (!ids[count].ptr)
			err = ERR_NO_MEMORY;
		count++;
		from = mem_key_partition_end(&k, id);
	}
	pthread_mutex_unlock(&mem->lock);
	if (!err) {
		*ret = ids;
		*ret_count = count;
	}
	return err;
}

static void stats(struct engine *engine, struct engine_stats *ret)
{
	struct mem *mem = mem_engine_of(engine)->mem;
	pthread_mutex_lock(&mem->lock);
	*ret = (struct engine_stats){ .syncs = mem->syncs, .bytes_written = mem->bytes_written };
	mem_extents_stats(mem, ret);
	pthread_mutex_unlock(&mem->lock);
}

static enum err sync_all(struct engine *engine)
{
	struct mem_engine *e = mem_engine_of(engine);
	struct mem *mem = e->mem;
	pthread_mutex_lock(&mem->lock);
	enum err err = mem_engine_dead(e) || mem->failed ? ERR_IO : ERR_OK;
	if (err == ERR_OK && mem->unsynced) {
		mem->durable = mem->commit;
		mem->unsynced = false;
		mem->syncs++;
	}
	pthread_mutex_unlock(&mem->lock);
	return err;
}

static void mem_free(struct mem *mem)
{
	assert(!mem->snapshots && !mem->groups); /* whoever took them drops them first */
	mem_late_flush(mem, false);
	while (mem->pins) {
		struct pin *next = mem->pins->next;
		free(mem->pins);
		mem->pins = next;
	}
	map_fini(&mem->rows);
	mem_extents_fini(mem);
	pthread_mutex_destroy(&mem->lock);
	free(mem);
}

static void close_engine(struct engine *engine)
{
	struct mem_engine *e = mem_engine_of(engine);
	struct mem *mem = e->mem;
	pthread_mutex_lock(&mem->lock);
	bool last = --mem->engines == 0;
	if (!mem_engine_dead(e))
		mem->durable = mem->commit;
	pthread_mutex_unlock(&mem->lock);
	free(e);
	if (last)
		mem_free(mem);
}

static const struct engine_ops mem_ops = {
	.name = "mem",
	.inline_bytes = PAYLOAD_INLINE_BYTES,
	.shards = 1,
	.may_be_unknown = true,
	.close = close_engine,
	.snapshot_take = snapshot_take,
	.snapshot_drop = snapshot_drop,
	.get = get,
	.scan = scan,
	.group_begin = mem_group_begin,
	.group_get = mem_group_get,
	.group_scan = mem_group_scan,
	.group_accept = mem_group_accept,
	.group_commit = mem_group_commit,
	.group_abort = mem_group_abort,
	.group_sync_later = mem_group_sync_later,
	.sync = sync_all,
	.extent_begin = mem_extent_begin,
	.extent_id = mem_extent_id,
	.extent_append = mem_extent_append,
	.extent_seal = mem_extent_seal,
	.extent_append_seal = mem_extent_append_seal,
	.extent_abandon = mem_extent_abandon,
	.extent_writer_free = mem_extent_writer_free,
	.extent_read = mem_extent_read,
	.pin = mem_pin,
	.unpin = mem_unpin,
	.drop_partition = drop_partition,
	.list_partitions = list_partitions,
	.reclaim = mem_reclaim,
	.stats = stats,
};

static struct engine *engine_new(struct mem *mem)
{
	struct mem_engine *e = mem_alloc(sizeof *e);
	e->engine.ops = &mem_ops;
	e->mem = mem;
	e->epoch = mem->epoch;
	mem->engines++;
	return &e->engine;
}

enum err engine_mem_open(const struct mem_options *options, struct engine **ret)
{
	struct mem *mem = mem_alloc(sizeof *mem);
	pthread_mutex_init(&mem->lock, NULL);
	if (options)
		mem->faults = *options;
	rng_init_seed(&mem->rng, mem->faults.seed);
	mem->extent_next_id = 1;
	*ret = engine_new(mem);
	return ERR_OK;
}

enum err engine_mem_attach(struct engine *engine, struct engine **ret)
{
	struct mem *mem = mem_engine_of(engine)->mem;
	pthread_mutex_lock(&mem->lock);
	*ret = engine_new(mem);
	pthread_mutex_unlock(&mem->lock);
	return ERR_OK;
}

/* Versions above what is durable vanish, and rows that had no others with them. */
static void rows_crash(struct mem *mem)
{
	struct row_node *n = mem->rows.head[0];
	mem->dead_rows = 0;
	while (n) {
		struct row_node *next = n->next[0];
		while (n->newest && n->newest->commit > mem->durable) {
			struct version *lost = n->newest;
			n->newest = lost->older;
			free(lost);
		}
		if (!n->newest)
			map_remove(&mem->rows, map_node_key(n));
		else
			mem->dead_rows += n->newest->deleted;
		n = next;
	}
}

struct engine *engine_mem_crash(struct engine *engine)
{
	struct mem *mem = mem_engine_of(engine)->mem;
	pthread_mutex_lock(&mem->lock);
	mem_late_flush(mem, rng_below(&mem->rng, 2)); /* on its way when the power went: either */
	if (mem->unsynced) /* some of what was not synced is there, each with all before it */
		mem->durable += rng_below(&mem->rng, mem->commit - mem->durable + 1);
	mem->unsynced = false;
	rows_crash(mem);
	mem_extents_crash(mem);
	mem->durable = mem->commit; /* numbers are never used twice */
	while (mem->snapshots)
		snapshot_unlink(mem->snapshots);
	while (mem->pins) {
		struct pin *next = mem->pins->next;
		free(mem->pins);
		mem->pins = next;
	}
	mem->failed = false;
	mem->epoch++;
	struct engine *fresh = engine_new(mem);
	pthread_mutex_unlock(&mem->lock);
	return fresh;
}

void engine_mem_sync(struct engine *engine)
{
	struct mem *mem = mem_engine_of(engine)->mem;
	pthread_mutex_lock(&mem->lock);
	mem->durable = mem->commit;
	pthread_mutex_unlock(&mem->lock);
}

void engine_mem_set_faults(struct engine *engine, const struct mem_options *options)
{
	struct mem *mem = mem_engine_of(engine)->mem;
	pthread_mutex_lock(&mem->lock);
	mem->faults = *options;
	pthread_mutex_unlock(&mem->lock);
}

void engine_mem_interfere(struct engine *engine, void (*interfere)(void *, enum mem_point), void *arg)
{
	struct mem_engine *e = mem_engine_of(engine);
	pthread_mutex_lock(&e->mem->lock);
	e->interfere = interfere;
	e->interfere_arg = arg;
	pthread_mutex_unlock(&e->mem->lock);
}

void engine_mem_counts(struct engine *engine, struct mem_counts *ret)
{
	struct mem *mem = mem_engine_of(engine)->mem;
	pthread_mutex_lock(&mem->lock);
	*ret = mem->counts;
	ret->rows = mem->rows.count;
	ret->extents = mem->extent_count;
	for (const struct row_node *n = mem->rows.head[0]; n; n = n->next[0])
		for (const struct version *v = n->newest; v; v = v->older)
			ret->versions++;
	for (const struct engine_snapshot *s = mem->snapshots; s; s = s->next)
		ret->snapshots++;
	for (const struct pin *p = mem->pins; p; p = p->next)
		ret->pins++;
	pthread_mutex_unlock(&mem->lock);
}
