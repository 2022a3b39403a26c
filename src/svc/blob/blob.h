/* SPDX-License-Identifier: Apache-2.0
 * Operations on blobs: each is a call struct filled by a front end and an apply function that runs it in a transaction
 * on the container's partition. Order of checks in all of them: container live, blob there, lease, conditions, tags,
 * immutability, type (specs: order of checks). */
#ifndef SVC_BLOB_BLOB_H
#define SVC_BLOB_BLOB_H

#include "svc/blob/content/manifest.h"
#include "svc/blob/record.h"
#include "svc/common/conditions.h"

struct tag_filter;    /* tags.h */
struct extent_cipher; /* store/encrypted.h */

/* Account settings that decide what becomes of a state that is replaced or deleted. */
struct blob_rules {
	bool versioning;
	bool soft_delete;
	uint32_t retention_days;
	uint32_t rows_at_once; /* what touches more rows than this is one row and a sweep; 0 = as a rule (tests: few) */
};

/* Which blob, and what must hold: part of every call. */
struct blob_target {
	struct slice name;
	uint64_t snapshot_ticks; /* 0 = none asked */
	uint64_t version_ticks;
	bool has_lease_id;
	bool lease_of_old_only; /* before 2013-08-15: a creating write looks at its id only if there is a blob */
	struct uuid lease_id;
	struct conditions conditions;
	bool names_target; /* a change that does not meet them is ERR_TARGET_CONDITION_NOT_MET, as for a copy */
	const struct tag_filter *if_tags; /* NULL = no x-ms-if-tags */
	struct blob_rules rules;
	/* Of a write that makes a blob: what it gets. Of the others, if asks_encryption: what the blob must have. */
	struct blob_encryption encryption;
	bool asks_encryption;
};

static inline const struct uuid *blob_target_lease_id(const struct blob_target *t)
{
	return t->has_lease_id ? &t->lease_id : NULL;
}

/* ---- building blocks of the applies (check.c) ---- */

/* The state the target names: base, snapshot or version. ERR_BLOB_NOT_FOUND if there is none; one that is soft-deleted
 * is in *ret then. */
enum err blob_load(struct txn *, const struct blob_target *, struct blob *ret) MUST_CHECK;
/* Lease, conditions and tags of a read of `b`. */
enum err blob_check_read(struct txn *, const struct blob_target *, const struct blob *b) MUST_CHECK;
/* Lease, conditions, tags and immutability of a write that removes `b`: the base, a snapshot or a version. */
enum err blob_check_delete(struct txn *, const struct blob_target *, const struct blob *b) MUST_CHECK;
/* The same for a write that changes `b`: only the base ever changes, and only if no copy keeps it. */
enum err blob_check_write(struct txn *, const struct blob_target *, const struct blob *b) MUST_CHECK;
/* Its two halves, for writes with conditions of their own: these come between them, before holds and the type. */
enum err blob_check_conditions(struct txn *, const struct blob_target *, const struct blob *b) MUST_CHECK;
enum err blob_check_changeable(const struct blob *b, uint64_t now_ticks) MUST_CHECK;
/* A blob under a customer's key is read and written with that key, and others without one; a scope that is named must
 * be the blob's. */
enum err blob_check_encryption(const struct blob_target *, const struct blob_encryption *of_blob) MUST_CHECK;
/* x-ms-if-tags; a blob that is not there (NULL) has no tags. */
enum err blob_check_tags(const struct blob_target *, const struct blob *) MUST_CHECK;
/* What a copy keeps to itself: its destination while it is pending, and that of an incremental one for good, which
 * knows nothing but properties, the next copy and delete. Snapshots and versions of it are free. */
enum err blob_check_copy(const struct blob *) MUST_CHECK;
/* The first half of that: also an incremental copy may be leased and tagged when it is done. */
enum err blob_check_not_pending(const struct blob *) MUST_CHECK;
static inline bool blob_is_incremental(const struct blob *b)
{
	return b->copy.incremental && !b->history_ticks;
}
/* Legal hold or a policy that still runs: ERR_BLOB_IMMUTABLE_DUE_TO_... */
enum err blob_check_mutable(const struct blob *, uint64_t now_ticks) MUST_CHECK;
/* In the archive a blob is neither read nor changed nor replaced: ERR_BLOB_ARCHIVED, on its way back
 * ERR_BLOB_BEING_REHYDRATED. Its properties, tags, tier and leases are there, and it can be deleted. */
enum err blob_check_online(const struct blob *) MUST_CHECK;
/* New ETag and Last-Modified for a state that is about to be put. */
void blob_touch(struct txn *, struct blob *, uint64_t last_etag);
/* The id of a new version of the name: its ETag, but later than `last_version` (0 = none), and no history row's time.
 * Of an account without versions 0. A history row that another version's id named would be overwritten. */
enum err blob_new_version(struct txn *, const struct blob_target *, struct blob *, uint64_t last_version) MUST_CHECK;
/* The first time from `ticks` on that no history row of the name has. */
enum err blob_version_after(struct txn *, struct slice name, uint64_t ticks, uint64_t *ret) MUST_CHECK;
/* Does the state live on when it is replaced? With versions on it does. What is a version stays one when they are
 * switched off: only no new ones are made. */
static inline bool blob_is_kept(const struct blob_target *t, const struct blob *old)
{
	return t->rules.versioning || old->version_ticks;
}
/* The old state is about to be replaced by a put of the same name: keeps it as a version or a soft-deleted snapshot, or
 * releases its content (history.c). */
enum err blob_supersede(struct txn *, const struct blob_target *, const struct blob *old) MUST_CHECK;

/* ---- Put Blob ---- */
struct blob_put_call {
	struct blob_target target;
	enum blob_type type;
	const struct payload *payload; /* block blobs; NULL in the dry run before the body */
	uint64_t content_id;	       /* random */
	uint64_t page_length_bytes;    /* page blobs */
	uint64_t sequence_number;
	struct blob_http http;
	struct pairs metadata;
	struct pairs tags;
	enum blob_tier tier;
	enum immutability_mode immutability;
	uint64_t immutable_until_ticks;
	bool legal_hold, tells_legal_hold;
	enum blob_rehydrate rehydrate; /* tier Archive: on its way out of it, as a copy of an archived blob is */
	bool rehydrate_high;
	bool may_overwrite; /* false: a SAS that may create but not write */
	/* out */
	struct blob blob;
};
enum err blob_apply_put(struct txn *, void *call);

/* ---- reads ---- */

/* A run of a blob's bytes: in memory (bytes set), in an extent, or zeros (neither). */
struct blob_piece {
	struct slice bytes;
	struct extent_ref extent; /* length_bytes 0 = none */
	uint32_t offset;	  /* in the extent: of its data, if it is encrypted */
	uint64_t length_bytes;
};

/* Reads pieces one after the other: a position that moves on. `at` is in the piece `index`. */
struct blob_piece_reader {
	struct store *store;
	const struct extent_cipher *cipher; /* of pieces in encrypted extents; else NULL */
	const struct blob_piece *piece;
	size_t count, index;
	uint64_t at;
};
/* At most `room` bytes, 0 at the end. Outside transactions: it reads the disk. */
enum err blob_piece_read(struct blob_piece_reader *, char *dst, size_t room, size_t *ret_bytes) MUST_CHECK;

struct blob_get_call {
	struct blob_target target;
	bool want_bytes; /* find the pieces of the range too. ERR_CONFLICT then means: run again on a snapshot */
	bool for_copy;	 /* the block list too; pieces only up to COPY_PIECES_MAX_BYTES, for what is brought at once */
	bool archived_too; /* what lies in the archive may be read: for a copy that takes it out */
	bool on_snapshot;  /* it is one: rows that change in place (pages, appended blocks) may be read */
	bool has_range;
	uint64_t range_first, range_last; /* inclusive; last may lie far behind the end */
	/* out */
	struct blob blob;
	uint64_t now_ticks;
	uint64_t offset, length; /* what of the range there is */
	struct blob_piece *piece;
	size_t piece_count;
	struct manifest blocks; /* for_copy: the block list, if the content has one */
	bool soft_deleted;	/* ERR_BLOB_NOT_FOUND: the snapshot or version is kept, for its days */
	bool tags_unmet;	/* x-ms-if-tags does not hold: ERR_CONDITION_NOT_MET for this reason */
	bool too_many;		/* for_copy: the pages lie in more than COPY_PIECES_MAX pieces, which are not given */
};
enum { COPY_PIECES_MAX = 20000 };	   /* a megabyte of them: some 10 GiB written in large pieces */
#define COPY_PIECES_MAX_BYTES (5000 * MIB) /* the longest that one request brings: Put Blob From URL */
/* Without want_bytes only txn_get: fit for the cache of hot records. With it too, unless the content lies in rows. */
enum err blob_apply_get(struct txn *, void *call);
/* The pieces of [offset, offset+length) of a content of append or page rows (append.c, page.c). */
enum err blob_append_pieces(struct txn *, struct blob_get_call *) MUST_CHECK;
enum err blob_page_pieces(struct txn *, struct blob_get_call *) MUST_CHECK;

/* ---- changes of properties ---- */
struct blob_modify_call {
	struct blob_target target;
	/* set properties */
	bool set_http;
	struct blob_http http;
	bool resize;
	uint64_t length_bytes;
	enum sequence_action { SEQUENCE_NONE, SEQUENCE_MAX, SEQUENCE_UPDATE, SEQUENCE_INCREMENT } sequence_action;
	uint64_t sequence_number;
	/* set metadata */
	struct pairs metadata;
	/* lease */
	struct lease_request lease;
	/* out */
	struct blob blob;
	uint64_t now_ticks;
};
enum err blob_apply_set_properties(struct txn *, void *call);
enum err blob_apply_set_metadata(struct txn *, void *call);
enum err blob_apply_lease(struct txn *, void *call);

/* ---- delete ---- */
enum delete_snapshots { DELETE_SNAPSHOTS_NONE, DELETE_SNAPSHOTS_INCLUDE, DELETE_SNAPSHOTS_ONLY };
struct blob_delete_call {
	struct blob_target target;
	struct conditions tier_conditions; /* times only: of the last change of the tier */
	enum delete_snapshots snapshots;
	bool permanent;
	bool permanent_allowed;
	/* out */
	bool deleted_permanently;
	bool again; /* nothing was done but to go on with a sweep that was in the way (history.h): run it again */
};
enum err blob_apply_delete(struct txn *, void *call);

/* ---- list ---- */
struct blob_list_call {
	struct slice prefix, delimiter;
	struct slice from;   /* a name: blobs at or after it; absent = beginning */
	struct slice before; /* a name: blobs before it; absent or empty = to the end */
	uint64_t from_ticks; /* with history: at this name, history from this time on (0 = all, UINT64_MAX = none) */
	size_t limit;
	bool snapshots, versions, deleted, uncommitted;
	bool versions_only; /* also, once, each name without a base that has versions; needs base_too */
	bool base_too;	    /* false with showonly=deleted */
	/* out */
	struct blob_list_item *item;
	size_t count;
	bool more;
	struct slice next; /* name to go on from */
	uint64_t next_ticks;
	uint64_t now_ticks;
};
struct blob_list_item {
	bool is_prefix;
	bool is_uncommitted; /* only uncommitted blocks exist */
	bool is_current;     /* with versions: this is the current one */
	bool versions_only;  /* the base is gone: what is shown is its newest version, without its id */
	struct blob blob;    /* or only the name, of a prefix */
};
enum err blob_apply_list(struct txn *, void *call);

#endif
