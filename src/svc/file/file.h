/* SPDX-License-Identifier: Apache-2.0
 * Operations on directories and files: each is a call struct filled by a front end and an apply function that runs in a
 * transaction on the share generation's partition (kind RESOURCE_SHARE). Reads run by store_read; those that say so may
 * run by store_read_points.
 *
 * Order of checks in all of them: share live (and snapshot there), parent, the object itself and its kind, delete
 * pending, lease, read-only attribute, opens of SMB clients, state, quota.
 *
 * A REST operation is a momentary open: its apply asks the opens of the file (open.h). If some must be broken first it
 * returns ERR_BREAK_FIRST and target.breaks says which; the front end asks for the breaks, waits and runs it again. An
 * SMB operation through a handle was judged by its open: it sets through_open. */
#ifndef SVC_FILE_FILE_H
#define SVC_FILE_FILE_H

#include "svc/file/inode.h"

struct file_breaks; /* open.h */

/* What the watchers of a directory are told, once the commit is durable. */
enum file_event_action {
	FILE_EVENT_ADDED = 1, /* numbers as SMB has them */
	FILE_EVENT_REMOVED,
	FILE_EVENT_MODIFIED,
	FILE_EVENT_RENAMED_OLD,
	FILE_EVENT_RENAMED_NEW
};
enum { /* completion filter bits of SMB */
       FILE_CHANGED_FILE_NAME = 0x1,
       FILE_CHANGED_DIR_NAME = 0x2,
       FILE_CHANGED_ATTRIBUTES = 0x4,
       FILE_CHANGED_SIZE = 0x8,
       FILE_CHANGED_LAST_WRITE = 0x10,
       FILE_CHANGED_LAST_ACCESS = 0x20,
       FILE_CHANGED_CREATION = 0x40,
       FILE_CHANGED_SECURITY = 0x100
};
struct file_event {
	enum file_event_action action;
	uint32_t changed;   /* FILE_CHANGED_ bits */
	uint64_t parent_id; /* the directory that holds the name */
	struct slice name;
	bool of_rename; /* for those who do not watch names: they get no other event of it */
};
enum { FILE_EVENTS_MAX = 4 }; /* a rename that replaces: removed, old name, new name, modified */
struct file_events {
	size_t count;
	struct file_event event[FILE_EVENTS_MAX];
};

/* The directories above an entry, its parent first, the root last, and the parent's path: what those who watch a tree
 * are told by. ERR_RESOURCE_NOT_FOUND if the parent is gone. */
enum { FILE_ABOVE_MAX = FILE_PATH_DEPTH_MAX + 2 };
struct file_above_call {
	uint64_t parent_id;
	/* out */
	uint64_t dir[FILE_ABOVE_MAX];
	size_t depth;
	struct slice path;
};
enum err file_apply_above(struct txn *, void *call);

/* Which object, and what must hold: part of every call. */
struct file_target {
	bool has_snapshot;
	uint64_t snapshot_ticks; /* as the client named it (whole seconds); missing: ERR_SHARE_NOT_FOUND */
	struct file_place place;
	enum file_kind kind; /* what the operation is for; ANY = both. The other kind: ERR_RESOURCE_NOT_FOUND for reads,
			      * ERR_RESOURCE_TYPE_MISMATCH for changes */
	bool has_lease_id;
	struct uuid lease_id;
	bool through_open; /* leases, read-only attribute and opens were judged when the handle was opened, or by
				     * the caller in this transaction */
	struct file_breaks *breaks; /* out, with ERR_BREAK_FIRST; not NULL unless through_open */
};

/* ---- properties to set ---- */
enum file_time_how { FILE_TIME_KEEP, FILE_TIME_NOW, FILE_TIME_SET, FILE_TIME_SOURCE };
struct file_time {
	enum file_time_how how; /* KEEP on create means now; SOURCE only in copies */
	uint64_t ticks;
};
enum file_permission_how { FILE_PERMISSION_KEEP, FILE_PERMISSION_INHERIT, FILE_PERMISSION_TEXT, FILE_PERMISSION_KEY };
struct file_permission {
	enum file_permission_how how; /* KEEP on create means inherit */
	struct slice text;	      /* canonical SDDL */
	uint64_t key;		      /* unknown: ERR_FILE_INVALID_PERMISSION_KEY */
	/* INHERIT: the child's text from the parent's (absent: the parent has none of its own), in the arena; absent
	 * result = out of memory. Pure. NULL: a child of a parent without permission has none either, else it has the
	 * parent's. */
	struct slice (*inherit)(struct arena *, struct slice parent_text, bool directory);
	bool default_stays; /* with `inherit`: a child of a parent without permission has none either */
};
struct file_settings {
	bool set_attributes;
	uint32_t attributes;
	struct file_time created, written, accessed, changed; /* accessed KEEP follows written where that moves */
	struct file_permission permission;
};

/* ---- Create File, Create Directory ---- */
struct file_create_call {
	struct file_target target; /* place by path; kind FILE or DIRECTORY */
	struct file_settings settings;
	uint64_t size_bytes;
	struct file_http http;
	struct pairs metadata;
	const struct payload *payload; /* initial data, from offset 0; NULL = none, and in the dry run */
	bool never_replace;	       /* a SAS that may create but not write: existing = ERR_RESOURCE_ALREADY_EXISTS */
	/* out */
	struct inode inode;
	bool replaced;
	struct file_events events;
};
/* An existing directory: ERR_RESOURCE_ALREADY_EXISTS; a file is created over: same id, lease kept. */
enum err file_apply_create(struct txn *, void *call);

/* ---- reads ---- */
struct file_get_call {
	struct file_target target;
	bool want_bytes; /* else properties only: then it only uses txn_get */
	/* want_bytes with txn_get alone, for store_read_points: a range within the last run, as all of small files is.
	 * ERR_CONFLICT: it is not such a file, or it changed between the gets: run again on a snapshot without this. */
	bool by_points;
	bool has_range;
	uint64_t range_first, range_last; /* inclusive; last may lie far behind the end */
	size_t piece_limit;		  /* 0 = FILE_PIECES_MAX */
	uint64_t expect_etag;		  /* not 0: another one is ERR_CONDITION_NOT_MET (going on with a read) */
	/* out */
	struct inode inode;
	uint64_t now_ticks;
	uint64_t offset, length; /* what of the range there is; ERR_INVALID_RANGE if it begins behind the end */
	/* The pieces reach pieces.length_bytes far: if that is less than `length`, read on from there in another call
	 * (with the pin and expect_etag of the first, or of one snapshot). */
	struct file_pieces pieces;
};
enum { FILE_PIECES_MAX = 16384 };
enum err file_apply_get(struct txn *, void *call);

/* ---- Set Properties, Set Metadata, lease ---- */
struct file_modify_call {
	struct file_target target;
	/* set properties */
	struct file_settings settings;
	bool set_http; /* all six are replaced */
	struct file_http http;
	bool resize;
	uint64_t size_bytes;
	bool keep_copy; /* SMB: what a copy left behind stays */
	/* set metadata */
	struct pairs metadata;
	/* lease: files only, infinite */
	struct lease_request lease;
	/* out */
	struct inode inode;
	uint64_t now_ticks;
	struct file_events events;
};
enum err file_apply_set_properties(struct txn *, void *call);
enum err file_apply_set_metadata(struct txn *, void *call);
enum err file_apply_lease(struct txn *, void *call);

/* ---- Put Range, SMB WRITE ---- */
struct file_write_call {
	struct file_target target;
	bool clear;
	uint64_t offset, length;
	const struct payload *payload; /* NULL in the dry run and for clear */
	bool may_extend;	       /* SMB: the file grows to the end of the write; else ERR_INVALID_RANGE */
	bool at_end;		       /* SMB append: offset is the file's size */
	bool keep_written;	       /* x-ms-file-last-write-time: preserve, or an SMB handle that set it itself */
	bool keep_changed;	       /* likewise, of an SMB handle */
	/* out */
	struct inode inode;
	struct file_events events;
};
enum err file_apply_write(struct txn *, void *call);

/* ---- List Ranges ---- */
struct file_range {
	uint64_t first, last; /* inclusive */
	bool clear;	      /* diff: was there, is not any more */
};
struct file_ranges_call {
	struct file_target target;
	bool has_range;
	uint64_t range_first, range_last;
	uint64_t from; /* marker: nothing before this offset */
	size_t limit;
	bool diff;
	uint64_t previous_ticks; /* diff: the snapshot to compare with; missing: ERR_SHARE_NOT_FOUND */
	bool follow_rename;	 /* else a file renamed since: ERR_FILE_GENERATION_MISMATCH */
	bool exact;		 /* SMB: by bytes instead of pages of 512 */
	/* out */
	struct inode inode;
	struct file_range *range;
	size_t count;
	bool more;
	uint64_t next;
};
enum err file_apply_ranges(struct txn *, void *call);

/* ---- List Directories and Files, SMB QUERY_DIRECTORY ---- */
struct file_list_call {
	struct file_target target; /* the directory */
	struct slice prefix;	   /* of names, compared without case; absent = all */
	struct slice from;	   /* a name: entries at or after it; absent = beginning */
	bool after;		   /* only after `from` */
	size_t limit;
	/* out */
	struct inode directory;
	struct inode *entry; /* files and directories in one order */
	size_t count;
	bool more;
	struct slice next; /* name to go on from */
};
enum err file_apply_list(struct txn *, void *call);

/* ---- Rename ---- */
struct file_rename_call {
	struct file_target source; /* kind FILE or DIRECTORY (ANY through SMB) */
	struct file_target target; /* place by path; its lease id is x-ms-destination-lease-id */
	bool replace, ignore_readonly;
	struct file_settings settings;
	bool set_metadata;
	struct pairs metadata;
	bool set_content_type;
	struct slice content_type;
	/* out */
	struct inode inode;
	bool replaced;
	uint64_t replaced_id;
	struct file_events events;
};
enum err file_apply_rename(struct txn *, void *call);

/* ---- Delete ---- */
struct file_delete_call {
	struct file_target target;
	/* out */
	struct inode inode; /* as it was */
	struct file_events events;
};
enum err file_apply_delete(struct txn *, void *call);

/* ---- Copy File ----
 * The destination's side. Three ways, by what the caller has:
 *   share    the source lies in this very share: source.place is set. Bytes are shared, not copied; done at once.
 *            If the source has more runs than a commit holds, too_many is set and nothing was done: go the long way.
 *   payload  the bytes are here (small ones): done at once
 *   neither  the destination is made with its size, of zeros, and is pending; file_apply_copy_step brings the bytes
 * Every step asks first whether its copy is still the pending one: an abort, a delete or an overwrite ends it. */
struct file_copy_call {
	struct file_create_call create; /* destination: size, properties, metadata, headers as they shall be, payload */
	struct file_copy copy;		/* id, source, total */
	bool ignore_readonly, set_archive;
	bool share;
	struct file_target source;
	bool source_settings; /* share: headers, attributes and permission, and metadata unless has_metadata */
	bool has_metadata;
	struct inode source_inode; /* for FILE_TIME_SOURCE and the like; out with share, else in */
	/* out */
	bool too_many;
};
enum err file_apply_copy(struct txn *, void *call);

struct file_copy_step_call {
	uint64_t inode_id;
	struct uuid id;
	uint64_t offset;
	const struct payload *payload; /* NULL: only the heartbeat, or the end */
	uint64_t copied_bytes;
	enum file_copy_status status; /* PENDING: progress; SUCCESS, FAILED: the end */
	struct slice description;
	/* out */
	bool gone; /* no longer the pending copy: stop */
};
enum err file_apply_copy_step(struct txn *, void *call);

struct file_abort_copy_call {
	struct file_target target;
	struct uuid id; /* another one: ERR_COPY_ID_MISMATCH; none pending: ERR_NO_PENDING_COPY_OPERATION */
	/* out */
	struct inode inode;
};
enum err file_apply_abort_copy(struct txn *, void *call);

/* ---- permissions ---- */
struct file_permission_call {
	struct slice text; /* create */
	uint64_t key;	   /* get; out of create. Unknown: ERR_FILE_INVALID_PERMISSION_KEY */
};
enum err file_apply_create_permission(struct txn *, void *call);
enum err file_apply_get_permission(struct txn *, void *call);

/* ---- background ---- */
/* One bounded piece of the share's work: contents that nobody names, dropped snapshots, covers, merges. *ret_more:
 * there is more. Blocks. */
enum err file_round(struct store *, struct slice partition, bool *ret_more) MUST_CHECK;
/* Everything in a dropped generation (resource_empty_fn): retires the extents that its rows name, a bounded piece per
 * call. */
enum err file_empty(struct store *, struct slice partition, bool *ret_more) MUST_CHECK;

#endif
