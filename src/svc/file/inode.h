/* SPDX-License-Identifier: Apache-2.0
 * A directory or file as the rest of the program sees it, and the steps that every operation on one is made of. Front
 * ends use the calls of file.h; src/svc/file/open*.c and applies of their own use these steps inside a transaction on
 * the share's partition. */
#ifndef SVC_FILE_INODE_H
#define SVC_FILE_INODE_H

#include "lock/lease.h"
#include "store/extent.h"
#include "store/store.h"
#include "svc/common/metadata.h"
#include "svc/file/name.h"

#define FILE_ROOT_ID	    UINT64_C(0) /* of the root directory, and of its own parent */
#define FILE_SIZE_MAX_BYTES (UINT64_C(4) << 40)

enum file_kind { FILE_KIND_ANY, FILE_KIND_FILE, FILE_KIND_DIRECTORY };

/* Attribute bits: those of SMB ([MS-FSCC] 2.6). REST has names for them. NORMAL (0x80) is never stored. */
enum {
	FILE_ATTR_READONLY = 0x1,
	FILE_ATTR_HIDDEN = 0x2,
	FILE_ATTR_SYSTEM = 0x4,
	FILE_ATTR_DIRECTORY = 0x10,
	FILE_ATTR_ARCHIVE = 0x20,
	FILE_ATTR_TEMPORARY = 0x100,
	FILE_ATTR_OFFLINE = 0x1000,
	FILE_ATTR_NOT_CONTENT_INDEXED = 0x2000,
	FILE_ATTR_NO_SCRUB_DATA = 0x20000
};

/* The six headers a REST client may set. */
struct file_http {
	struct slice content_type, content_encoding, content_language, content_disposition, cache_control;
	bool has_md5;
	unsigned char md5[16];
};

enum file_copy_status { FILE_COPY_NONE, FILE_COPY_PENDING, FILE_COPY_SUCCESS, FILE_COPY_ABORTED, FILE_COPY_FAILED };
struct file_copy {
	enum file_copy_status status;
	struct uuid id;
	struct slice source, description;
	uint64_t copied_bytes, total_bytes;
	uint64_t completed_ticks;
	uint64_t heartbeat_ticks; /* pending: when its worker last wrote; long ago = the worker is gone */
};

/* How far down names reach: levels, and UTF-16 units of the longest path with a separator before each name. */
struct reach {
	uint16_t levels, chars;
};
enum { FILE_REACH_UNKNOWN = UINT16_MAX };

/* Slices point into the record or the transaction's arena. */
struct inode {
	uint64_t id;	    /* stable, never reused in the share */
	uint64_t parent_id; /* FILE_ROOT_ID for the root and its children */
	enum file_kind kind;
	struct slice name; /* as given; empty for the root */
	uint64_t size_bytes;
	uint32_t attributes; /* FILE_ATTR_DIRECTORY is set exactly on directories */
	uint64_t created_ticks, written_ticks, accessed_ticks, changed_ticks;
	uint64_t etag;	     /* ticks; also Last-Modified */
	uint64_t permission; /* key of a permission (file_permission_get); 0 = none of its own: the default applies */
	struct file_http http;
	struct pairs metadata;
	struct lease lease;
	struct file_copy copy;
	/* inside the room: */
	uint64_t content;    /* id of the contents: runs are keyed by it; 0 = never had any */
	uint64_t born_ticks; /* when the file was created or created over: range diffs do not reach beyond */
	uint64_t run_count;  /* of the contents, as far as the writers know: tells when to merge */
	uint64_t merge_at;   /* a run_count past this asks for a merge */
	uint64_t covers;     /* cover rows that the background has not resolved yet may be there: stamp of the newest */
	uint64_t data_end;   /* no run reaches beyond this */
	uint64_t sole;	     /* source of its only run, [0, data_end), which has no row of its own; 0 = runs are rows */
	struct reach below;  /* of directories but the root: nothing below reaches farther (depth.h) */
	uint64_t stamp;	     /* store time of the row's last change: below a snapshot's number = part of it */
};

/* Which share state: live, or a snapshot found by share_snapshot_find. */
struct file_view {
	uint64_t snapshot; /* number of the snapshot; 0 = live */
};

/* A path, or the id of an inode. */
struct file_place {
	bool by_id;
	uint64_t id;
	struct file_path path;
	bool short_names; /* where the path leads nowhere its names may be short ones */
};

/* Looks a place up. ERR_PARENT_NOT_FOUND, ERR_RESOURCE_NOT_FOUND. *ret_parent (may be NULL) is set as soon as the
 * parent directory is there, also when the last component is missing: then *ret is untouched. A component in the
 * middle that is a file is ERR_PARENT_NOT_FOUND. */
enum err inode_find(struct txn *, const struct file_view *, const struct file_place *, struct inode *ret_parent,
		    struct inode *ret) MUST_CHECK;
/* ERR_RESOURCE_NOT_FOUND if it is gone. */
enum err inode_get(struct txn *, const struct file_view *, uint64_t id, struct inode *ret) MUST_CHECK;
enum err inode_find_child(struct txn *, const struct file_view *, uint64_t parent_id, struct slice name,
			  struct inode *ret) MUST_CHECK;
/* The path from the root, in the arena, components joined by '/'; empty for the root. */
enum err inode_path(struct txn *, const struct file_view *, uint64_t id, struct slice *ret) MUST_CHECK;

/* A new, empty file or directory in a directory where the name is free. In: everything but id, parent_id, stamp, etag
 * and the fields inside the room. Charges the size to the quota (ERR_SHARE_SIZE_LIMIT_REACHED). */
enum err inode_create(struct txn *, const struct inode *parent, struct inode *) MUST_CHECK;
/* A changed inode goes back under its name. The stamp is set here; etag and times are the caller's. */
enum err inode_put(struct txn *, struct inode *) MUST_CHECK;
/* All six headers, metadata, permission etc. are the caller's; the contents become size_bytes of zeros. */
enum err inode_reset_contents(struct txn *, struct inode *, uint64_t size_bytes) MUST_CHECK;
/* Shrinks or grows (with zeros) and charges the quota. The caller puts the inode. */
enum err inode_resize(struct txn *, struct inode *, uint64_t size_bytes) MUST_CHECK;
/* The entry and the contents go; a directory must be empty (ERR_DIRECTORY_NOT_EMPTY). */
enum err inode_remove(struct txn *, const struct inode *) MUST_CHECK;
enum err inode_dir_is_empty(struct txn *, uint64_t id, bool *ret) MUST_CHECK;
/* Under another name, in the same or another directory, where that name is free (or only its own in other case). The
 * inode is put. The errors of depth_check_move. */
enum err inode_move(struct txn *, struct inode *, const struct inode *new_parent, struct slice new_name) MUST_CHECK;

/* Bytes. A write or clear within the file's size. The caller puts the inode afterwards (with its new times). */
enum err inode_write(struct txn *, struct inode *, uint64_t offset, const struct payload *) MUST_CHECK;
enum err inode_clear(struct txn *, struct inode *, uint64_t offset, uint64_t length) MUST_CHECK;

/* A piece of a file's bytes: in memory (bytes set), in an extent, or zeros (neither). Readable while the caller holds a
 * pin (extent_pin) that it took before the transaction. */
struct file_piece {
	struct slice bytes;
	struct extent_ref extent; /* length_bytes 0 = none */
	uint32_t offset;	  /* in the extent */
	uint64_t length_bytes;
};
/* The pieces of [offset, offset+length), at most `limit` of them and as many as the arena has room for: *ret_length
 * tells how far they reach (all of it, unless there are very many). Needs a snapshot (store_read) or a writing
 * transaction. */
struct file_pieces {
	struct file_piece *piece;
	size_t count;
	uint64_t length_bytes;
};
enum err inode_pieces(struct txn *, const struct file_view *, const struct inode *, uint64_t offset, uint64_t length,
		      size_t limit, struct file_pieces *ret) MUST_CHECK;

/* Permissions: a text (SDDL) is kept once in a share, under a key made from it. */
enum { FILE_PERMISSION_BYTES_MAX = 64 * 1024 };
enum err file_permission_put(struct txn *, struct slice sddl, uint64_t *ret_key) MUST_CHECK;
enum err file_permission_get(struct txn *, uint64_t key, struct slice *ret_sddl) MUST_CHECK; /* ERR_NOT_FOUND */

#endif
