/* SPDX-License-Identifier: Apache-2.0
 * What rows were when a snapshot was taken: keeping them, and reading rows as a snapshot sees them. The rules of stamps
 * and numbers are in rows.h. */
#ifndef SVC_FILE_HISTORY_H
#define SVC_FILE_HISTORY_H

#include "svc/file/rows.h"

/* The numbers of the snapshots there are, ascending. */
struct snapshots {
	uint64_t number[SHARE_SNAPSHOTS_MAX];
	size_t count;
};
enum err snapshots_load(struct txn *, struct snapshots *ret) MUST_CHECK;
/* The newest one above `stamp` and not above `until`; 0 = none. */
uint64_t snapshots_between(const struct snapshots *, uint64_t stamp, uint64_t until);

/* The row `key`, which is `record`, is about to be changed or removed. If a snapshot holds it (newest is the number of
 * the newest one there is), it goes into history first. */
enum err history_keep(struct txn *, uint64_t newest, struct slice key, struct slice record, bool *ret_kept) MUST_CHECK;
/* The same for a change that counts as made at `as_of`: snapshots taken later do not hold the row. */
enum err history_keep_as_of(struct txn *, const struct snapshots *, uint64_t as_of, struct slice key,
			    struct slice record, bool *ret_kept) MUST_CHECK;

/* A row as a view sees it. ERR_NOT_FOUND is a value. */
enum err file_row_get(struct txn *, const struct file_view *, struct slice key, struct slice *ret) MUST_CHECK;

/* The rows of a key range as a view sees them, in key order. Rows are in the transaction's arena; pages in which
 * nothing is visible are given back. A walk that changes rows behind itself stays correct. */
struct row_stream {
	struct key from, until;
	struct rows rows;
	size_t at;
	bool exhausted;
};
struct row_past; /* history.c */
struct row_walk {
	struct txn *txn;
	uint64_t snapshot; /* 0 = live */
	size_t page_rows;
	struct row_stream live;
	struct row_past *past; /* of a snapshot, in the arena; NULL = live */
	/* May be set after file_row_walk_begin: rows that the caller does not want to see either. */
	enum err (*filter)(void *arg, const struct row *, bool *ret_visible);
	void *filter_arg;
};
/* until: exclusive. page_rows: of one scan; small for those who need few. */
enum err file_row_walk_begin(struct row_walk *, struct txn *, const struct file_view *, const struct key *from,
			     const struct key *until, size_t page_rows) MUST_CHECK;
enum err file_row_walk_next(struct row_walk *, struct row *ret) MUST_CHECK; /* ERR_NOT_FOUND at the end */

#endif
