/* SPDX-License-Identifier: Apache-2.0
 * Saved states of the mem engine: a copy of all rows, and a share in the bytes of all extents that rows name. Going
 * back to one is a commit like others: readers that began before it see what was, a group that read what it changed
 * conflicts and runs again, and numbers (commits, extents) only grow. The store's own partition stays as it is: what
 * counts openings and keeps the time must not run backwards. */
#include "engine/mem/mem_int.h"

#include <assert.h>

struct mem_state {
	struct map rows; /* one version each */
	struct extent **extents;
	size_t extent_count;
};

static bool row_is_the_stores(struct slice map_key)
{
	/* The only partition whose name begins so: that of an account begins with its name (store/key.h). */
	return map_key.len > 0 && map_key.ptr[0] == '\x01';
}

struct mem_state *engine_mem_save(struct engine *engine)
{
	struct mem *mem = mem_engine_of(engine)->mem;
	struct mem_state *s = mem_alloc(sizeof *s);
	pthread_mutex_lock(&mem->lock);
	for (const struct row_node *n = mem->rows.head[0]; n; n = n->next[0]) {
		const struct version *v = mem_version_at(n, mem->commit);
		if (v && !row_is_the_stores(map_node_key(n)))
			map_insert(&s->rows, map_node_key(n))->newest =
				mem_version_new(0, slice_make(v->bytes, v->len));
	}
	s->extents = mem_alloc(mem->extent_count * sizeof(struct extent *));
	for (size_t i = 0; i < mem->extent_count; i++) {
		struct extent *x = mem->extents[i];
		if (x->published_commit && !x->retired_commit)
			s->extents[s->extent_count++] = mem_extent_share(x);
	}
	pthread_mutex_unlock(&mem->lock);
	return s;
}

/* Rows that are not in the state are deleted, all that are in it are put. */
static void rows_restore(struct mem *mem, const struct mem_state *s)
{
	uint64_t floor = mem_floor(mem);
	mem->commit++;
	for (struct row_node *n = mem->rows.head[0]; n; n = n->next[0]) {
		struct slice key = map_node_key(n);
		if (!n->newest->deleted && !row_is_the_stores(key) && !map_find(&s->rows, key))
			mem_row_put(mem, key, SLICE_NONE, mem->commit, floor);
	}
	for (const struct row_node *n = s->rows.head[0]; n; n = n->next[0])
		mem_row_put(mem, map_node_key(n), slice_make(n->newest->bytes, n->newest->len), mem->commit, floor);
	mem->durable = mem->commit;
}

enum err engine_mem_restore(struct engine *engine, const struct mem_state *s)
{
	struct mem_engine *e = mem_engine_of(engine);
	struct mem *mem = e->mem;
	pthread_mutex_lock(&mem->lock);
	enum err err = mem_engine_dead(e) || mem->failed ? ERR_IO : ERR_OK;
	if (err == ERR_OK) {
		rows_restore(mem, s);
		mem_extents_restore(mem, s->extents, s->extent_count, mem->commit);
		mem_sweep(mem, mem_floor(mem));
	}
	pthread_mutex_unlock(&mem->lock);
	return err;
}

void engine_mem_state_free(struct mem_state *s)
{
	if (!s)
		return;
	map_fini(&s->rows);
	for (size_t i = 0; i < s->extent_count; i++)
		mem_extent_drop(s->extents[i]);
	free(s->extents);
	free(s);
}
