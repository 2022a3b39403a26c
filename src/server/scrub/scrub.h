/* SPDX-License-Identifier: Apache-2.0
 * Between the parts of scrub: the walk (scrub.c), the words (scrub_name.c), the space of extents (scrub_space.c), and
 * who asks for it: the program on a store that nobody uses (scrub_main.c), the running server (scrub_job.c). One thread
 * has a struct scrub. */
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

struct scrub;

/* How far it is. */
struct scrub_figures {
	uint64_t partitions, rows, extents, extent_bytes, damaged;
	int percent;
	double seconds, seconds_left;
};

/* Who hears of it. */
struct scrub_sink {
	void *arg;
	void (*damage)(void *arg, const char *line);
	/* After each row and extent, while it waits for its rate, and at the end. May set scrub.pause. */
	void (*progress)(void *arg, struct scrub *, bool end);
};

enum scrub_pause {
	SCRUB_GO,
	SCRUB_LATER, /* the walk ends between two rows, and the next one goes on there */
	SCRUB_STOP,  /* it ends as soon as it can */
};

struct scrub {
	struct store *store;
	struct scrub_sink sink;
	unsigned char *extent; /* LIMIT_EXTENT_BYTES */
	uint64_t rows, extents, extent_bytes, damaged, partitions;
	uint64_t row_bytes;
	enum scrub_pause pause;

	uint64_t rate_bytes;	    /* at most so many a second; 0: as fast as it can */
	uint64_t paid_ns, paid_for; /* until when, and for how many bytes, the rate is used up */

	/* where the next walk goes on; an empty partition: from the beginning */
	struct key at_partition, at_key;

	/* the partition at hand */
	struct slice partition;
	char kind;
	uint64_t generation;
	char account[64];
	struct slice account_name;
	char place[256];	 /* account/container, once it was said */
	uint64_t file_bytes;	 /* of a share: sizes of its files, so far */
	uint64_t damaged_before; /* how much was damaged when the partition began */
	bool in_part;		 /* what came before was seen in an earlier walk */

	/* every extent that was named, for the check of space at the end */
	struct scrub_extent *named;
	size_t named_count, named_cap;
	size_t named_max; /* 0: as many as there are */
	bool named_lost;  /* no memory for all of them, or they are too many */
	/* the second walk: names who holds one of these */
	bool hunting;
	uint64_t *guilty;
	size_t guilty_count;

	/* hashes of the lines already said */
	uint64_t *said;
	size_t said_count, said_cap;

	uint64_t begun_ns, work_total;
};

enum { SCRUB_CLEAN = 0, SCRUB_DAMAGED = 1, SCRUB_CANNOT_RUN = 2 };
#define SCRUB_STAGING "scrub.new" /* in the data directory, while a running server is scrubbed */

/* With store, sink, rate_bytes and extent set. */
void scrub_begin(struct scrub *);
/* Reads every row and every extent from where the last walk ended; interrupted if it comes back with a pause. */
enum err scrub_walk(struct scrub *) MUST_CHECK;
/* After walks of one and the same moment: the space of extents, and who holds those that share some. */
enum err scrub_walk_space(struct scrub *) MUST_CHECK;
void scrub_fini(struct scrub *); /* not the store */

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
void scrub_progress(struct scrub *, bool end);

struct scrub_figures scrub_figures(const struct scrub *, bool end);
/* The bar on a terminal, else a line now and then; on standard error. */
struct scrub_bar {
	bool terminal;
	uint64_t shown_ns;
};
void scrub_bar_show(struct scrub_bar *, const struct scrub_figures *, bool end);
/* What was found, on standard output. */
void scrub_bar_damage(const struct scrub_bar *, struct slice line);
void scrub_summary_print(const struct scrub_figures *);

void scrub_extent_note(struct scrub *, const struct extent_ref *, bool retired);
bool scrub_extent_is_guilty(const struct scrub *, uint64_t id);
/* No two extents in one place, none that is retired is named. True: walk again, hunting. */
bool scrub_space_check(struct scrub *);

#endif
