/* SPDX-License-Identifier: Apache-2.0
 * How a share lies in its partition. Not for front ends.
 *
 *   's'                                  state: use, quota, newest snapshot
 *   'n' u64(parent) string(folded name)  an inode, under its name: a directory is one range, in list order
 *   'i' u64(id)                          where the inode is: parent and folded name
 *   'r' u64(content) u64(last byte)      a run of bytes of a content
 *   'd' u64(source)                      the bytes of a small write, named by runs or by an inode
 *   'x' u64(extent)                      how many rows name an extent, if more than one
 *   'y' u64(source)                      how many rows name a 'd' row, if more than one
 *   'c' u64(content) u64(stamp)          cover: runs in a range that are older than it are gone
 *   'p' u64(key)                         a permission's text
 *   'S' u64(ticks)                       a snapshot
 *   'h' <key> u64(number)                history: what the row <key> was, for the snapshots up to that number
 *   'w' u64(stamp) u64(subject)          work of the background
 *   'm' u64(inode)                       a file whose runs should be merged
 *   'o' ...                              opens (open.h)
 *
 * Ids of inodes, contents and sources are store times: every transaction has one of its own, so no counter is needed
 * and none is used twice.
 *
 * Stamps. Each row of the kinds n, i, r begins, behind its version, with the store time of the transaction that wrote
 * it. The number of a snapshot is the store time of the transaction that took it. A row is in the snapshots with a
 * number above its stamp. Before such a row is changed or removed it is put into history, under the number of the
 * newest snapshot: from then on it is in the snapshots above its stamp and up to that number. So every row, live or
 * history, is in one interval of numbers, and the intervals of one key do not overlap.
 *
 * Runs are keyed by their last byte: the first key at or behind an offset is the first run that reaches it. Visible
 * runs never overlap; the run that is written with a cover may lie over older ones that the cover hides. */
#ifndef SVC_FILE_ROWS_H
#define SVC_FILE_ROWS_H

#include "store/key.h"
#include "svc/file/inode.h"
#include "svc/file/share.h"

enum {
	RUN_INLINE_BYTES = 512,	      /* in the run's row; longer ones in a 'd' row */
	FILE_RECORD_MAX = 120 * 1024, /* of an inode: 64 KiB of headers and metadata came in one request */
	FILE_COVERS_MAX = 128	      /* of one content that wait for the background */
};

/* ---- state ---- */
struct share_state {
	uint64_t used_bytes, quota_bytes;
	uint64_t newest; /* number of the newest snapshot there is; 0 = none */
	uint32_t snapshot_count;
	uint64_t last_ticks;	 /* name of the last snapshot ever taken: names only grow */
	uint64_t deleting_ticks; /* a delete was begun then: for a while no snapshot may be taken */
	uint64_t tree_stamp;	 /* when a directory was last renamed or removed */
};
/* ERR_SHARE_NOT_FOUND if the generation is not live. */
enum err share_state_get(struct txn *, struct share_state *ret) MUST_CHECK;
/* The same, once the generation is known to be live. */
enum err share_state_load(struct txn *, struct share_state *ret) MUST_CHECK;
enum err share_state_put(struct txn *, const struct share_state *) MUST_CHECK;
void share_state_encode(struct buf *, const struct share_state *);
enum err share_state_decode(struct slice record, struct share_state *ret) MUST_CHECK;

/* ---- inodes ---- */
void inode_key(struct key *, uint64_t parent_id, struct slice folded);
void inode_root_key(struct key *);
void inode_encode(struct buf *, const struct inode *);
enum err inode_decode(struct slice record, struct arena *, struct inode *ret) MUST_CHECK;

struct inode_where {
	uint64_t stamp;
	uint64_t parent_id;
	struct slice folded;
};
void where_key(struct key *, uint64_t id);
void where_encode(struct buf *, const struct inode_where *);
enum err where_decode(struct slice record, struct inode_where *ret) MUST_CHECK;

/* ---- runs ---- */
enum run_kind { RUN_ZEROS, RUN_INLINE, RUN_ROW, RUN_EXTENT };
struct run {
	uint64_t stamp;	     /* of the row */
	uint64_t data_stamp; /* of the bytes: when they were written */
	uint64_t first, end; /* [first, end) of the file */
	enum run_kind kind;
	struct slice bytes;	  /* INLINE */
	uint64_t source;	  /* ROW */
	struct extent_ref extent; /* EXTENT */
	uint32_t offset;	  /* ROW, EXTENT: of the first byte */
};
void run_key(struct key *, uint64_t content, uint64_t last_byte);
void run_encode(struct buf *, const struct run *);
/* `key` tells the end; it may be a history key without its number. */
enum err run_decode(struct slice key, struct slice record, struct run *ret) MUST_CHECK;

void source_key(struct key *, uint64_t source);

struct cover {
	uint64_t first, end;
	uint64_t stamp;
};
void cover_key(struct key *, uint64_t content, uint64_t stamp);
void cover_encode(struct buf *, const struct cover *);
enum err cover_decode(struct slice key, struct slice record, struct cover *ret) MUST_CHECK;

/* ---- snapshots ---- */
void snapshot_key(struct key *, uint64_t ticks);
void snapshot_encode(struct buf *, const struct share_snapshot *);
enum err snapshot_decode(struct slice record, struct arena *, struct share_snapshot *ret) MUST_CHECK;

/* ---- history ---- */
/* The stamp of any row that has one. */
enum err file_row_stamp(struct slice record, uint64_t *ret) MUST_CHECK;
void history_key(struct key *, struct slice row_key, uint64_t number);
/* A history key in its two parts. */
bool history_key_split(struct slice key, struct slice *ret_row_key, uint64_t *ret_number);

/* ---- work ---- */
enum work_kind {
	WORK_CONTENT = 'C',  /* a content that no inode names since `stamp` */
	WORK_COVER = 'V',    /* the cover `stamp` of a content is to be resolved */
	WORK_SNAPSHOT = 'S', /* a snapshot was dropped: history that only it needed goes */
};
struct work {
	enum work_kind kind;
	uint64_t subject; /* the content; of a snapshot its number */
	uint64_t stamp;
	struct slice next; /* key to go on from; empty = from the beginning */
};
void work_key(struct key *, uint64_t stamp, uint64_t subject);
void work_encode(struct buf *, const struct work *);
enum err work_decode(struct slice record, struct work *ret) MUST_CHECK;
enum err work_add(struct txn *, const struct work *) MUST_CHECK; /* under its stamp and subject */

void merge_key(struct key *, uint64_t inode_id);
struct merge_row {
	uint64_t next;		   /* offset to go on from; 0 = it has not begun */
	uint64_t etag;		   /* of the file when it began */
	uint64_t not_before_ticks; /* it waits until then */
};
void merge_encode(struct buf *, const struct merge_row *);
enum err merge_decode(struct slice record, struct merge_row *ret) MUST_CHECK;

/* ---- permissions ---- */
void permission_key(struct key *, uint64_t key);
void permission_encode(struct buf *, struct slice sddl);
enum err permission_decode(struct slice record, struct slice *ret_sddl) MUST_CHECK;

/* Puts what `encode` wrote into b, and frees b. */
enum err file_row_put(struct txn *, const struct key *, struct buf *b) MUST_CHECK;

#endif
