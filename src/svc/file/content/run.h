/* SPDX-License-Identifier: Apache-2.0
 * The bytes of files, inside the room: walking the runs of a content, cutting ranges out of it, and giving back what
 * is no longer named. */
#ifndef SVC_FILE_RUN_H
#define SVC_FILE_RUN_H

#include "base/limits.h"
#include "svc/common/names.h"
#include "svc/file/history.h"

#define RUN_MAX_BYTES ((uint64_t)LIMIT_EXTENT_BYTES)
enum {
	RUN_PAGE_BYTES = 512,	/* what clears free and List Ranges shows */
	RUNS_AT_ONCE = 1024,	/* a cut through more of them is a cover */
	RUNS_DROP_AT_ONCE = 64, /* contents with more runs than this are given back in the background */
	RUNS_HIDDEN_MAX = 16384 /* rows under covers that a writer steps over; then it must wait for the background */
};

struct covers {
	struct cover *cover; /* in the order of their stamps */
	size_t count;
};
/* Those that a view sees. Costs nothing for an inode that has none. */
enum err covers_load(struct txn *, const struct file_view *, const struct inode *, struct covers *ret) MUST_CHECK;
/* All of a content, as the background finds them. */
enum err covers_load_content(struct txn *, const struct file_view *, uint64_t content, struct covers *ret) MUST_CHECK;
/* The first cover that hides the run, or NULL. A run lies inside a younger cover or outside of it, never across. */
const struct cover *covers_hide(const struct covers *, const struct run *);

/* The run of an inode that says itself where its only one is. */
struct run inode_sole_run(const struct inode *);

/* The visible runs that reach into [first, end), in order; the first and the last may stick out. */
struct run_walk {
	struct row_walk rows;
	struct covers covers;
	uint64_t first, end;
	size_t hidden;	     /* rows stepped over */
	size_t hidden_limit; /* 0 = none; else ERR_BUSY past it */
	bool is_sole;	     /* there is no row to walk along, only this: */
	bool sole_left;
	struct run sole;
};
struct run_row {
	struct slice key, record; /* absent if the run is its inode's */
	struct run run;
};
enum err run_walk_begin(struct run_walk *, struct txn *, const struct file_view *, const struct inode *, uint64_t first,
			uint64_t end, size_t page_rows) MUST_CHECK;
enum err run_walk_next(struct run_walk *, struct run_row *ret) MUST_CHECK; /* ERR_NOT_FOUND at the end */

/* The pieces of [offset, offset+length) of a file without covers if its last run begins at or before `offset`, with
 * txn_get alone. ERR_CONFLICT: it does not. */
enum err inode_last_run(struct txn *, const struct inode *, uint64_t offset, uint64_t length,
			struct file_pieces *ret) MUST_CHECK;

/* The part of a run inside [first, end), which it reaches. */
struct run run_part(const struct run *, uint64_t first, uint64_t end);

/* One name more or less for what the run's bytes lie in; the last one gives it back. */
enum err run_add_names(struct txn *, const struct run *, uint32_t more) MUST_CHECK;
/* May what the runs of a page name have other names? Two scans for the page instead of a get for each run: of very many
 * pieces hardly any is shared. */
struct run_sharing {
	bool extents, sources;
};
enum err run_sharing_look(struct txn *, const struct run_row *, size_t count, struct run_sharing *ret) MUST_CHECK;
/* `sharing`: of a page that the run is in; NULL: its own count is asked for. */
enum err run_drop_name(struct txn *, const struct run *, const struct run_sharing *) MUST_CHECK;

/* Removes what the file has in [first, end), and adjusts the inode. */
enum err runs_cut(struct txn *, struct inode *, uint64_t first, uint64_t end) MUST_CHECK;
/* Puts a run where nothing visible lies. Its source has been named. Sets the stamp. */
enum err runs_put(struct txn *, struct inode *, struct run *) MUST_CHECK;
/* A size changes from `before` to `after`: ERR_SHARE_SIZE_LIMIT_REACHED. */
enum err inode_charge(struct txn *, uint64_t before, uint64_t after) MUST_CHECK;
/* All bytes go: at once if they are few, else by the background. */
enum err runs_drop_all(struct txn *, struct inode *) MUST_CHECK;
/* A row of runs that is gone as of a time: into history if a snapshot holds it, else given back. */
enum err run_row_drop(struct txn *, const struct snapshots *, uint64_t as_of, const struct run_row *,
		      const struct run_sharing *) MUST_CHECK;

#endif
