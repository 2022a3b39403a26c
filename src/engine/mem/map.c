/* SPDX-License-Identifier: Apache-2.0
 * The ordered map of the mem engine: a skip list with keys in the nodes. Not locked; the caller is. */
#include "engine/mem/mem_int.h"

#include <assert.h>

void *mem_alloc(size_t bytes)
{
	void *p = calloc(1, bytes ? bytes : 1);
	if (!p)
		abort(); /* a test engine has no answer for this that would not hide it */
	return p;
}

void mem_grow(void *array, size_t *cap, size_t need, size_t size)
{
	void **p = array;
	if (need <= *cap)
		return;
	size_t want = *cap ? *cap * 2 : 16;
	if (want < need)
		want = need;
	void *grown = realloc(*p, want * size);
	if (!grown)
		abort();
	*p = grown;
	*cap = want;
}

struct slice map_node_key(const struct row_node *n)
{
	return slice_make((const char *)&n->next[n->height], n->key_len);
}

static unsigned map_height(struct map *m)
{
	m->random ^= m->random << 13;
	m->random ^= m->random >> 7;
	m->random ^= m->random << 17;
	unsigned height = 1 + (unsigned)__builtin_ctzll(m->random | UINT64_C(1) << 40) / 2;
	return height < MAP_HEIGHT_MAX ? height : MAP_HEIGHT_MAX;
}

/* Fills `link` with the place at each level where a node of this key hangs or would hang. */
static struct row_node *map_walk(const struct map *m, struct slice key, struct row_node *const **link)
{
	struct row_node *const *at = m->head, *found = NULL;
	for (int level = MAP_HEIGHT_MAX - 1; level >= 0; level--) {
		while (at[level] && at[level] != found) {
			if (slice_cmp(map_node_key(at[level]), key) >= 0) {
				found = at[level];
				break;
			}
			at = at[level]->next;
		}
		if (link)
			link[level] = &at[level];
	}
	return at[0];
}

struct row_node *map_seek(const struct map *m, struct slice key)
{
	return map_walk(m, key, NULL);
}

struct row_node *map_find(const struct map *m, struct slice key)
{
	struct row_node *n = map_seek(m, key);
	return n && slice_eq(map_node_key(n), key) ? n : NULL;
}

struct row_node *map_insert(struct map *m, struct slice key)
{
	struct row_node *const *link[MAP_HEIGHT_MAX];
	struct row_node *n = map_walk(m, key, link);
	if (n && slice_eq(map_node_key(n), key))
		return n;
	if (!m->random)
		m->random = UINT64_C(0x9e3779b97f4a7c15);
	unsigned height = map_height(m);
	n = mem_alloc(sizeof *n + height * sizeof n->next[0] + key.len);
	n->height = height;
	n->key_len = (uint32_t)key.len;
	memcpy((char *)&n->next[height], key.ptr, key.len);
	for (unsigned level = 0; level < height; level++) {
		struct row_node **at = (struct row_node **)link[level];
		n->next[level] = *at;
		*at = n;
	}
	m->count++;
	return n;
}

void map_remove(struct map *m, struct slice key)
{
	struct row_node *const *link[MAP_HEIGHT_MAX];
	struct row_node *n = map_walk(m, key, link);
	assert(n && slice_eq(map_node_key(n), key));
	for (unsigned level = 0; level < n->height; level++) {
		struct row_node **at = (struct row_node **)link[level];
		assert(*at == n);
		*at = n->next[level];
	}
	versions_free(n->newest);
	free(n);
	m->count--;
}

void map_fini(struct map *m)
{
	struct row_node *n = m->head[0];
	while (n) {
		struct row_node *next = n->next[0];
		versions_free(n->newest);
		free(n);
		n = next;
	}
	*m = (struct map){ .random = m->random };
}

struct version *mem_version_new(uint64_t commit, struct slice value)
{
	struct version *v = mem_alloc(sizeof *v + value.len);
	v->commit = commit;
	v->deleted = !slice_is_set(value);
	v->len = (uint32_t)value.len;
	if (value.len)
		memcpy(v->bytes, value.ptr, value.len);
	return v;
}

const struct version *mem_version_at(const struct row_node *n, uint64_t commit)
{
	const struct version *v = n->newest;
	while (v && v->commit > commit)
		v = v->older;
	return v && !v->deleted ? v : NULL;
}

void versions_free(struct version *v)
{
	while (v) {
		struct version *older = v->older;
		free(v);
		v = older;
	}
}
