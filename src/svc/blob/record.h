/* SPDX-License-Identifier: Apache-2.0
 * The rows of a container's partition and the record of a blob.
 *
 *   'b' string(name)                              the blob as it is now
 *   'h' string(name) u64(ticks)                   history: a snapshot or a version, at its time
 *   'g' string(name)                              what happened to many of its history rows at once (history.h)
 *   'U' string(name)                              staging: there are uncommitted blocks (block_list.h)
 *   'u' string(name) u64(staging) string(id)      one uncommitted block
 *   'd' u64(content)                              bytes of a small content
 *   'f' u64(content) u64(part)                    block list of a content, in parts of at most BLOB_MANIFEST_PART_BYTES
 *   'p' u64(content) u64(offset) ...              appended blocks and page chunks (append.c, page.c)
 *   'k' u64(content)                              a content that no blob names yet (build.h)
 *   'o' u64(content) u64(ticks)                   a range of page chunks that was cleared (page_clear.c)
 *   'c' u64(content)                              how many holders a content has, once it had more than one
 *   'x' u64(extent)                               how many 'p' rows name an extent, if more than one
 *   'z' u64(sequence)                             retired content and stagings, emptied in order (retire.c)
 *   'Z'                                           the next sequence of those
 *   't' string(key) string(value) string(name) u64(ticks)   tag index
 *
 * A content is the bytes of a blob, apart from its properties. Small ones lie in the record. Others have an id that is
 * never reused; snapshots, versions and the base share it, so taking a snapshot is one small commit whatever the size.
 * Every record that names a content counts in its 'c' row; the last one to go queues the content for retirement. */
#ifndef SVC_BLOB_RECORD_H
#define SVC_BLOB_RECORD_H

#include "base/arena.h"
#include "lock/lease.h"
#include "store/extent.h"
#include "store/key.h"
#include "store/store.h"
#include "svc/common/count.h"
#include "svc/common/metadata.h"

enum blob_type { BLOB_BLOCK, BLOB_PAGE, BLOB_APPEND };
enum blob_tier { TIER_NONE, TIER_HOT, TIER_COOL, TIER_COLD, TIER_ARCHIVE, TIER_PREMIUM_FIRST };
enum blob_rehydrate { REHYDRATE_NONE, REHYDRATE_TO_HOT, REHYDRATE_TO_COOL, REHYDRATE_TO_COLD };
enum copy_status { COPY_NONE, COPY_PENDING, COPY_SUCCESS, COPY_ABORTED, COPY_FAILED };
enum immutability_mode { IMMUTABLE_NONE, IMMUTABLE_UNLOCKED, IMMUTABLE_LOCKED };
enum {
	BLOB_RECORD_MAX = 120 * 1024,
	BLOB_MANIFEST_PART_BYTES = 64 * 1024,
	BLOB_EXTENTS_IN_RECORD = 1400,
	PAGE_BYTES = 512,
	CONTENT_IN_RECORD_BYTES = 512
};

/* Where the bytes are. */
enum content_kind {
	CONTENT_EMPTY,	  /* no bytes */
	CONTENT_INLINE,	  /* in the record: up to CONTENT_IN_RECORD_BYTES, so that lists and leases stay light */
	CONTENT_ROW,	  /* in a row of its own, 'd' */
	CONTENT_EXTENTS,  /* a run of extents, listed in the record: Put Blob */
	CONTENT_MANIFEST, /* a block list in 'f' rows: Put Block List */
	CONTENT_ROWS,	  /* 'p' rows: append and page blobs */
};

struct content {
	enum content_kind kind;
	uint64_t id;		    /* all but EMPTY and INLINE */
	struct slice inline_bytes;  /* INLINE; ROW after blob_content_load */
	struct extent_ref *extents; /* EXTENTS, in the arena */
	uint32_t extent_count;
	uint32_t part_count; /* MANIFEST */
	bool clears;	     /* ROWS of page blobs: 'o' rows may be there */
	uint64_t epoch;	     /* ROWS of page blobs: rows of a later epoch are not part of it.
				MANIFEST: the content it borrows blocks from and keeps alive; 0 = none */
};

/* The six headers a client may set on the content. An absent type means the default, an empty one none. */
struct blob_http {
	struct slice content_type, content_encoding, content_language, content_disposition, cache_control;
	bool has_md5;
	unsigned char md5[16];
	struct slice odd_md5; /* without has_md5: what a client said that is no MD5, kept as it is; absent mostly */
};
enum { BLOB_ODD_MD5_MAX = 256 };

struct blob_copy {
	enum copy_status status;
	struct uuid id;
	struct slice source, description;
	uint64_t copied_bytes, total_bytes;
	uint64_t completed_ticks;
	uint64_t heartbeat_ticks; /* pending: when its worker last said so; long ago = the worker is gone */
	bool incremental;
	uint64_t incremental_snapshot; /* ticks of the destination snapshot */
};

/* What a client says of the encryption of a blob's bytes. With a key of its own the extents are encrypted under it
 * (store/encrypted.h), and only the key's hash is kept. A scope is a name and nothing else here. Never both. */
enum { BLOB_KEY_SHA256_BYTES = 32, BLOB_SCOPE_MAX_BYTES = 63 };
struct blob_encryption {
	bool has_key;
	unsigned char key_sha256[BLOB_KEY_SHA256_BYTES];
	struct slice scope; /* absent: the account's */
};

struct blob {
	/* identity: from the key for history rows */
	struct slice name;
	enum blob_type type;
	uint64_t etag, modified_ticks, created_ticks;
	uint64_t length_bytes;
	struct blob_http http;
	struct pairs metadata;
	struct pairs tags;
	struct lease lease;
	struct content content;
	uint64_t sequence_number; /* page */
	uint32_t block_count;	  /* committed blocks: append and block blobs */
	bool sealed;		  /* append */
	enum blob_tier tier;
	uint64_t tier_changed_ticks;
	enum blob_rehydrate rehydrate;
	bool rehydrate_high; /* asked for with high priority */
	struct blob_copy copy;
	uint64_t version_ticks;	 /* version id of this state; 0 = versioning was off */
	uint64_t history_ticks;	 /* of a history row: its time (snapshot or version); 0 on the base */
	bool is_snapshot;	 /* history row: a snapshot (else a version) */
	uint64_t deleted_ticks;	 /* soft-deleted at; 0 = not */
	uint32_t retention_days; /* soft-deleted: kept this long */
	enum immutability_mode immutability;
	uint64_t immutable_until_ticks;
	bool legal_hold;
	bool tells_legal_hold;	/* somebody said whether: answers tell, even that there is none */
	uint64_t expires_ticks; /* 0 = never */
	struct blob_encryption encryption;
};

void blob_encode(struct buf *, const struct blob *);
/* Slices point into `record`; `name` is not in the record and stays absent. */
enum err blob_decode(struct slice record, struct arena *, struct blob *ret) MUST_CHECK;

void blob_key(struct key *, struct slice name);
void blob_history_key(struct key *, struct slice name, uint64_t ticks);

/* Inside a transaction. ERR_NOT_FOUND is a value. */
enum err blob_get(struct txn *, struct slice name, struct blob *ret) MUST_CHECK;
enum err blob_history_get_row(struct txn *, struct slice name, uint64_t ticks, struct blob *ret) MUST_CHECK;
/* Writes the base row, or the history row if history_ticks is set. */
enum err blob_put(struct txn *, const struct blob *) MUST_CHECK;

/* Contents. */
/* Makes a content of a payload: inline, or extents that this publishes. `id` is random and used if it is not inline. */
enum err blob_content_from_payload(struct txn *, const struct payload *, uint64_t id, struct content *ret) MUST_CHECK;
void blob_content_row_key(struct key *, uint64_t id);
/* Fetches the bytes of a ROW. ERR_CONFLICT if they are gone: the record was not read on the same snapshot and is stale.
 */
enum err blob_content_load(struct txn *, struct content *) MUST_CHECK;
/* One more record names it. */
enum err blob_content_share(struct txn *, const struct content *) MUST_CHECK;
enum err blob_content_is_shared(struct txn *, const struct content *, bool *ret) MUST_CHECK;
/* One record less names it; the last one queues it for retirement (retire.c). */
enum err blob_content_release(struct txn *, const struct content *) MUST_CHECK;

/* As blob_content_release for a holder that knows only the id: a manifest that borrowed blocks. */
enum err blob_content_release_lender(struct txn *, uint64_t id) MUST_CHECK;

/* 'p' rows begin with the extents they name, so that any of them can be given back without knowing more. An extent
 * named by several rows is counted in an 'x' row. Publish it once, then add_ref for each further row. */
enum { ROW_RECORD_VERSION = 1 };
void blob_row_extents_encode(struct buf *, const struct extent_ref *, uint16_t count);
enum err blob_row_extents_decode(struct cursor *, struct arena *, struct extent_ref **ret,
				 uint16_t *ret_count) MUST_CHECK;
enum err blob_extent_add_ref(struct txn *, const struct extent_ref *, uint32_t more) MUST_CHECK;
enum err blob_extent_drop_ref(struct txn *, const struct extent_ref *) MUST_CHECK; /* the last one retires it */

/* What a row of a container weighs in its quota (store/meter.h). */
enum err blob_row_weigh(struct slice key, struct slice value, struct arena *, uint64_t *ret_bytes) MUST_CHECK;
extern const struct count_rule blob_count_rule; /* and how what it holds is counted */

#endif
