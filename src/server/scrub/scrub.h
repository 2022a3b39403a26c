/* SPDX-License-Identifier: Apache-2.0
 * Between the parts of scrub: the walk (scrub.c), the words (scrub_name.c), the space of extents (scrub_space.c). */
#ifndef SERVER_SCRUB_H
#define SERVER_SCRUB_H

#include "base/limits.h"
#include "engine/rocks/rocks.h"
#include "store/extent.h"
#include "store/key.h"
#include "svc/blob/record.h"

struct scrub_extent {
	uint64_t place, blocks, id;
	bool retired;
};

struct scrub {
	struct store *store;
	unsigned char *extent; /* LIMIT_EXTENT_BYTES */
	uint64_t rows, extents, extent_bytes, damaged, partitions;

	/* the partition at hand */
	struct slice partition;
	char kind;
	uint64_t generation;
	char account[64];
	struct slice account_name;
	char place[256];	 /* account/container, once it was said */
	uint64_t file_bytes;	 /* of a share: sizes of its files, so far */
	uint64_t damaged_before; /* how much was damaged when the partition began */

	/* every extent that was named, for the check of space at the end */
	struct scrub_extent *named;
	size_t named_count, named_cap;
	bool named_lost; /* no memory for all of them */
	/* the second walk: names who holds one of these */
	bool hunting;
	uint64_t *guilty;
	size_t guilty_count;

	/* hashes of the lines already said */
	uint64_t *said;
	size_t said_count, said_cap;

	bool terminal;
	uint64_t begun_ns, shown_ns, work_total;
};

void scrub_partition_begin(struct scrub *, struct slice partition);
/* The words for the partition at hand. */
const char *scrub_place(struct scrub *);
/* Text of users, without what would steer a terminal. */
void scrub_text_put(struct buf *, struct slice);
/* A row of a share, and damage of one (scrub_share.c). */
enum err scrub_share_row(struct scrub *, struct slice key, struct slice value, struct arena *) MUST_CHECK;
void scrub_share_damage_say(struct scrub *, struct slice key, enum err);

/* One line; the same line only once. */
void scrub_damage_say(struct scrub *, struct slice key, const char *what, enum err);
/* Damage below a content: a line for each blob that holds it. */
void scrub_content_say(struct scrub *, uint64_t content, const char *what, enum err);
/* Damage without a row. */
void scrub_line_say(struct scrub *, const char *line);
void scrub_progress_begin(struct scrub *);
void scrub_progress(struct scrub *, bool end);

void scrub_extent_note(struct scrub *, const struct extent_ref *, bool retired);
bool scrub_extent_is_guilty(const struct scrub *, uint64_t id);
/* After the walk: no two extents in one place, none that is retired is named. True: walk again, hunting. */
bool scrub_space_check(struct scrub *);

#endif
