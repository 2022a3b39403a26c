/* SPDX-License-Identifier: Apache-2.0
 * Rows that belong to something and lie apart from it in the workspace: snapshots and uncommitted blocks of blobs,
 * messages of queues. Gathered in one walk and sorted by whom they belong to. */
#ifndef SERVER_IMPORT_PARTS_H
#define SERVER_IMPORT_PARTS_H

#include "base/arena.h"

struct import_part {
	struct slice container, name; /* of a blob; or the queue and nothing */
	struct slice order;	      /* a time as text: earlier ones come first */
	struct slice row;
	size_t place; /* as they were added: what is equal stays in this order */
};
struct import_parts {
	struct import_part *part;
	size_t count, room;
};

/* Copies the names into the arena. False: no memory. */
bool import_part_add(struct import_parts *, struct import_part, struct arena *);
void import_parts_sort(struct import_parts *);
/* Of a sorted list. */
const struct import_part *import_parts_find(const struct import_parts *, struct slice container, struct slice name,
					    size_t *ret_count);
void import_parts_free(struct import_parts *);

#endif
