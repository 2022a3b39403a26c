/* SPDX-License-Identifier: Apache-2.0
 * Entities of one table: rows of the table's generation partition, and the applies that read and change them.
 *
 *   'e' string(PartitionKey) string(RowKey)            u8 1 | u8 parts | u64 ticks | properties, first piece
 *   'e' string(PartitionKey) string(RowKey) u64(n)     u8 1 | u64 ticks | properties, piece n = 1 .. parts
 *
 * ticks is Timestamp and ETag at once, strictly increasing per entity. An entity's encoding that does not fit one
 * record goes on in the rows behind it, which sort before the next entity; each part repeats the ticks, so that rows of
 * two versions cannot be taken for one entity. Keys hold no byte below 0x20 (entity_key_check), so their parts are
 * found without unescaping. Entities of one PartitionKey are neighbours: a partition may be split between PartitionKeys
 * only.
 *
 * Applies are pure and may run again. What they get in is borrowed, what they give out lives in the transaction's
 * arena. */
#ifndef SVC_TABLE_ENTITY_H
#define SVC_TABLE_ENTITY_H

#include "store/key.h"
#include "store/store.h"
#include "svc/common/count.h"
#include "svc/table/edm.h"

enum {
	ENTITY_PROPERTIES_MAX = 252, /* own ones; PartitionKey, RowKey and Timestamp come on top */
	ENTITY_NAME_MAX = 255,	     /* characters of a property's name */
	ENTITY_KEY_UNITS_MAX = 512,  /* 1 KiB of UTF-16 in each key */
	ENTITY_VALUE_BYTES_MAX = 64 * 1024,
	ENTITY_BYTES_MAX = 1024 * 1024, /* as the service counts: UTF-16 and its overheads */
	ENTITY_PART_BYTES = 120 * 1024, /* properties in one row; a record of LIMIT_VALUE_BYTES has room for it */
	ENTITY_PARTS_MAX = 16,
	BATCH_OPS_MAX = 100,
};

struct entity {
	struct slice partition_key, row_key;
	uint64_t ticks;
	struct slice properties; /* a run, edm.h */
};

void entity_key(struct key *, struct slice partition_key, struct slice row_key);
/* Takes a row's key apart without copying; false if it is no entity's. *ret_part is 0 for the first row. */
bool entity_key_split(struct slice key, struct slice *ret_partition_key, struct slice *ret_row_key, uint64_t *ret_part);
/* May it be written as a PartitionKey or RowKey? ERR_OUT_OF_RANGE_INPUT (characters), ERR_PROPERTY_VALUE_TOO_LARGE. */
enum err entity_key_check(struct slice key) MUST_CHECK;
/* A letter or '_', then letters, digits and '_' (beyond ASCII: anything), at most 255 characters. */
enum err entity_name_check(struct slice name) MUST_CHECK;
/* Counts and sizes of a run together with its keys: ERR_TOO_MANY_PROPERTIES, ERR_ENTITY_TOO_LARGE. */
enum err entity_size_check(struct slice partition_key, struct slice row_key, struct slice properties) MUST_CHECK;

/* A range of pairs of keys, both ends included; what is absent does not bound. */
struct entity_bounds {
	struct slice start_partition_key, start_row_key, end_partition_key, end_row_key;
};
bool entity_bounds_hold(const struct entity_bounds *, struct slice partition_key, struct slice row_key);

/* All properties of the entity whose first row was read: one piece points into `record`, several are joined in the
 * arena. On one snapshot only. */
enum err entity_read_properties(struct txn *, struct slice key, struct slice record, uint64_t *ret_ticks,
				struct slice *ret_properties) MUST_CHECK;

/* ---- Get ---- */
struct entity_get {
	struct slice key; /* entity_key of it */
	/* out */
	bool found;
	bool in_parts; /* point reads met an entity of several rows: read again on a snapshot */
	uint64_t ticks;
	struct slice properties;
};
/* For store_read_points: one get. */
enum err entity_get_point(struct txn *, void *entity_get);
/* For store_read: whatever its size. */
enum err entity_get_whole(struct txn *, void *entity_get);

/* ---- Changes ---- */
enum entity_action {
	ENTITY_INSERT,		  /* must not be there */
	ENTITY_REPLACE,		  /* If-Match */
	ENTITY_MERGE,		  /* If-Match */
	ENTITY_INSERT_OR_REPLACE, /* no question asked */
	ENTITY_INSERT_OR_MERGE,
	ENTITY_DELETE, /* If-Match */
};

struct entity_write {
	enum entity_action action;
	struct slice key; /* entity_key of it */
	struct slice partition_key, row_key;
	struct slice properties; /* checked by the front end; none for DELETE */
	bool match_any;		 /* If-Match: * */
	uint64_t match_ticks;	 /* else this; 0 matches nothing */
	/* out */
	uint64_t ticks;
	/* private to the apply */
	struct slice result;
	unsigned old_parts;
};

/* A call that BEGINS with this struct runs entity_write_apply (the first refusal is the answer, with its position in
 * `failed`) or entity_batch_apply (the refusal is in `refused`, the transaction changes nothing and is itself ERR_OK,
 * so that the front end can answer in the operation's own words). Each entity stands at most once in a batch. Results
 * that do not fit a commit together are ERR_REQUEST_BODY_TOO_LARGE of the whole. */
struct entity_batch {
	struct entity_write *write;
	size_t count;
	/* out */
	size_t failed;
	enum err refused;
	/* private to the apply */
	char *old;
};
enum err entity_write_apply(struct txn *, void *entity_batch);
enum err entity_batch_apply(struct txn *, void *entity_batch);
/* What entity_batch_apply would refuse, and nothing else: for a snapshot. */
enum err entity_batch_judge(struct txn *, void *entity_batch);

/* What a row weighs in its quota of stored bytes (store/meter.h). */
enum err entity_row_weigh(struct slice key, struct slice value, struct arena *, uint64_t *ret_bytes) MUST_CHECK;
extern const struct count_rule entity_count_rule; /* and how what it holds is counted */

#endif
