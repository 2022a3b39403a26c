/* SPDX-License-Identifier: Apache-2.0
 * Deletes and undeletes of more history rows than a commit may touch. One row, the mark of the name, says what happened
 * to all of them at its time; every reader of a history row applies it, so that it is seen by everybody at once; a
 * sweep (retire.c) brings it into the rows afterwards, in small commits, and ends with the mark. A name has one mark at
 * a time: the next operation that needs one finishes the sweep first.
 *
 *   'g' string(name)     u8 version, u8 kind, u64 ticks, u32 retention days, u32 rows of a step, u64 next
 *
 * Rows that come later are not touched: a new snapshot has a later time, and so has what is deleted later. */
#ifndef SVC_BLOB_HISTORY_H
#define SVC_BLOB_HISTORY_H

#include "svc/blob/record.h"

/* What one commit changes row by row, of how many rows in all. */
enum {
	HISTORY_ROWS_AT_ONCE = 500,
	HISTORY_SWEEP_ROWS = 200,
	HISTORY_EXTENTS_AT_ONCE = 2000,
	HISTORY_ROWS_LOOKED_AT = 4000
};

enum mark_kind {
	MARK_DELETED = 'D',	 /* every live snapshot was deleted, for good */
	MARK_SOFT_DELETED = 'S', /* the same, kept for its days */
	MARK_UNDELETED = 'U',	 /* everything that was deleted and within its days came back, bases as snapshots */
};

struct history_mark {
	enum mark_kind kind;
	uint64_t ticks;
	uint32_t retention_days;
	uint32_t sweep_rows; /* so many in a step of the sweep */
	uint64_t next_ticks; /* rows before this time are swept */
};

/* The base that was, kept after a soft delete: no snapshot, and no version, which has its own time. One that had been a
 * version, before versioning was switched off, still has its id. */
static inline bool blob_history_is_base(const struct blob *b)
{
	return !b->is_snapshot && b->history_ticks != b->version_ticks;
}

/* ERR_NOT_FOUND is a value. */
enum err blob_history_mark_get(struct txn *, struct slice name, struct history_mark *ret) MUST_CHECK;
/* Queues the sweep too. */
enum err blob_history_mark_put(struct txn *, struct slice name, const struct history_mark *) MUST_CHECK;
void blob_history_mark_key(struct key *, struct slice name);
enum err blob_history_mark_decode(struct slice record, struct history_mark *ret) MUST_CHECK;

/* What a history row is under the mark of its name. False: gone. *ret_changed (may be NULL): not as the row says. */
bool blob_history_mark_apply(const struct history_mark *, struct blob *, bool *ret_changed);

/* A history row as everybody sees it: blob_history_get_row and the mark. */
enum err blob_history_get(struct txn *, struct slice name, uint64_t ticks, struct blob *ret) MUST_CHECK;

/* One bounded piece of the sweep. *ret_done: there is no mark any more. */
enum err blob_history_sweep(struct txn *, struct slice name, bool *ret_done) MUST_CHECK;

/* Calls fn for each history row of the name from a time on, as everybody sees it, in order, in little memory. fn keeps
 * nothing of the row and writes nothing; false from *go_on ends the walk. */
typedef enum err history_fn(const struct blob *, void *arg, bool *go_on);
enum err blob_history_each(struct txn *, struct slice name, uint64_t from_ticks, history_fn *, void *arg) MUST_CHECK;
/* The same for fn that changes or deletes the row, of a name that has no mark and few rows. */
typedef enum err history_change_fn(struct txn *, struct blob *, void *arg);
enum err blob_history_change_each(struct txn *, struct slice name, history_change_fn *, void *arg) MUST_CHECK;

#endif
