/* SPDX-License-Identifier: Apache-2.0
 * What a group has accepted and not yet committed, in key order: a skip list over full keys. Later writes of a key
 * replace earlier ones. It owns copies of keys and values. One thread writes; once it
 * has stopped, any may read. */
#ifndef ENGINE_ROCKS_OVERLAY_H
#define ENGINE_ROCKS_OVERLAY_H

#include "base/arena.h"

enum { OVERLAY_HEIGHT = 12 };

struct overlay_node {
	struct slice key;
	struct slice value; /* absent: deleted */
	int height;
	struct overlay_node *next[];
};

struct overlay {
	struct arena arena;
	struct overlay_node *head[OVERLAY_HEIGHT];
	uint32_t random;
	size_t count;
};

void overlay_init(struct overlay *, size_t limit_bytes);
void overlay_fini(struct overlay *);
void overlay_clear(struct overlay *);
/* Makes a node with its key (first + 00 + second) and value, not yet in the list; NULL past the limit. */
struct overlay_node *overlay_node_new(struct overlay *, struct slice first, struct slice second, struct slice value);
void overlay_insert(struct overlay *, struct overlay_node *);
/* The first node at or after the key; NULL at the end. Go on through next[0]. */
const struct overlay_node *overlay_seek(const struct overlay *, struct slice key);

/* Two overlays read as one, in key order: where both have a key, the upper one's counts. */
struct overlay_pair {
	const struct overlay_node *upper, *lower;
};
const struct overlay_node *overlay_pair_first(const struct overlay_pair *);
void overlay_pair_next(struct overlay_pair *);

#endif
