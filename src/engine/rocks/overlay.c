/* SPDX-License-Identifier: Apache-2.0
 * What a group has written, in key order, so that its next transaction reads it. (docs/decisions/0002) */
#include "engine/rocks/overlay.h"

void overlay_init(struct overlay *o, size_t limit_bytes)
{
	*o = (struct overlay){ .random = 0x9e3779b9u };
	arena_init(&o->arena, limit_bytes);
}

void overlay_fini(struct overlay *o)
{
	arena_fini(&o->arena);
}

void overlay_clear(struct overlay *o)
{
	arena_reset(&o->arena);
	memset(o->head, 0, sizeof o->head);
	o->count = 0;
}

static int pick_height(struct overlay *o)
{
	o->random ^= o->random << 13;
	o->random ^= o->random >> 17;
	o->random ^= o->random << 5;
	int height = 1;
	for (uint32_t r = o->random; height < OVERLAY_HEIGHT && (r & 3) == 0; r >>= 2)
		height++;
	return height;
}

struct overlay_node *overlay_node_new(struct overlay *o, struct slice first, struct slice second, struct slice value)
{
	int height = pick_height(o);
	size_t links = (size_t)height * sizeof(struct overlay_node *);
	struct overlay_node *n = arena_alloc(&o->arena, sizeof *n + links + first.len + 1 + second.len + value.len);
	if (!n)
		return NULL;
	char *key = (char *)n->next + links;
	memcpy(key, first.ptr, first.len);
	key[first.len] = 0;
	memcpy(key + first.len + 1, second.ptr, second.len);
	n->key = slice_make(key, first.len + 1 + second.len);
	if (value.len)
		memcpy(key + n->key.len, value.ptr, value.len);
	n->value = slice_is_set(value) ? slice_make(key + n->key.len, value.len) : SLICE_NONE;
	n->height = height;
	return n;
}

/* Fills, for each level, the link that leads to the first node at or after the key. */
static struct overlay_node *find(struct overlay *o, struct slice key, struct overlay_node **link[OVERLAY_HEIGHT])
{
	struct overlay_node **at = o->head;
	for (int level = OVERLAY_HEIGHT - 1; level >= 0; level--) {
		while (at[level] && slice_cmp(at[level]->key, key) < 0)
			at = at[level]->next;
		link[level] = &at[level];
	}
	return *link[0];
}

void overlay_insert(struct overlay *o, struct overlay_node *n)
{
	struct overlay_node **link[OVERLAY_HEIGHT];
	struct overlay_node *same = find(o, n->key, link);
	if (same && slice_eq(same->key, n->key)) {
		same->value = n->value;
		return;
	}
	for (int level = 0; level < n->height; level++) {
		n->next[level] = *link[level];
		*link[level] = n;
	}
	o->count++;
}

const struct overlay_node *overlay_seek(const struct overlay *o, struct slice key)
{
	struct overlay_node *const *at = o->head;
	for (int level = OVERLAY_HEIGHT - 1; level >= 0; level--)
		while (at[level] && slice_cmp(at[level]->key, key) < 0)
			at = at[level]->next;
	return at[0];
}

const struct overlay_node *overlay_pair_first(const struct overlay_pair *p)
{
	if (!p->lower || (p->upper && slice_cmp(p->upper->key, p->lower->key) <= 0))
		return p->upper;
	return p->lower;
}

void overlay_pair_next(struct overlay_pair *p)
{
	int order = !p->lower ? -1 : !p->upper ? 1 : slice_cmp(p->upper->key, p->lower->key);
	if (order <= 0)
		p->upper = p->upper->next[0];
	if (order >= 0)
		p->lower = p->lower->next[0];
}
