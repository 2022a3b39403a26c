/* SPDX-License-Identifier: Apache-2.0
 * Rows that live in memory only: an ordered map beside the engine, for state that ends with the process (the opens of
 * SMB clients). They take part in transactions like other rows; their keys begin with KEY_TAG_VOLATILE.
 *
 * Each row has two values: `working`, what the committer's transactions see (groups under way included), and
 * `published`, what readers see, once the group is durable. If a group does not happen its working values fall back to
 * the published ones; all groups under way fall back together, as the committer does with what was built on them.
 *
 * A row that a group adds beside durable writes is published before the commit, and all else after it: a reader that
 * sees the durable rows of a group also sees what the group put in its way.
 *
 * Readers on a snapshot. A change of rows between the snapshot and the look at them is noticed (volatile_changed), by
 * the first bytes of the key: the reader starts over with a new snapshot. So what it read and what it was allowed to
 * read belong to one moment.
 *
 * Memory. All rows together have a bound that accounts share (base/fair.h). A row that is there can be changed and
 * deleted by an account that may add nothing.
 *
 * Threads: any, one lock inside; prepare, accept and discard are the committer's. */
#ifndef STORE_VOLATILE_H
#define STORE_VOLATILE_H

#include "store/engine.h"

struct volatile_map;
struct volatile_value;

struct volatile_write {
	struct slice key;
	struct slice value;	     /* absent: delete */
	struct volatile_value *held; /* the map's, from prepare to settle */
};

enum { VOLATILE_GROUP_BYTES = 12 };		 /* of the key: tag, letter, number; changes are noticed for these */
#define LIMIT_VOLATILE_BYTES (256 * 1024 * 1024) /* of all rows: some 300,000 opens */

struct volatile_map *volatile_new(void); /* NULL: no memory */
void volatile_free(struct volatile_map *);

/* Memory for the writes; afterwards accept cannot fail. Else nothing was kept: ERR_HANDLE_LIMIT_EXCEEDED, the account
 * has its part of the memory; ERR_NO_MEMORY, there is none. */
enum err volatile_prepare(struct volatile_map *, struct slice partition, struct volatile_write *,
			  size_t count) MUST_CHECK;
void volatile_accept(struct volatile_map *, struct slice partition, struct volatile_write *, size_t count);
/* Prepared and not to be accepted. */
void volatile_discard(struct volatile_map *, struct slice partition, struct volatile_write *, size_t count);
/* Before the commit of a group that has durable writes too: what it adds is shown. */
void volatile_publish_added(struct volatile_map *, struct slice partition, const struct volatile_write *, size_t count);
/* The end of accepted writes: they happened, or they did not. */
void volatile_settle(struct volatile_map *, struct slice partition, struct volatile_write *, size_t count,
		     bool happened);

enum err volatile_get(struct volatile_map *, bool working, struct slice partition, struct slice key, struct arena *,
		      struct slice *ret) MUST_CHECK;
enum err volatile_scan(struct volatile_map *, bool working, struct slice partition, const struct scan_spec *,
		       struct arena *, struct rows *ret) MUST_CHECK;

/* Counts publications. */
uint64_t volatile_now(struct volatile_map *);
/* Was a row with the first bytes of this key published since then? */
bool volatile_changed(struct volatile_map *, struct slice partition, struct slice key, uint64_t since);
size_t volatile_count(struct volatile_map *);

#endif
