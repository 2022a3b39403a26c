/* SPDX-License-Identifier: Apache-2.0
 * Blob index tags: the expression language of x-ms-if-tags and Find Blobs by Tags, and the index.
 *
 *   expression := comparison { AND comparison }       (x-ms-if-tags also knows OR, which binds weaker)
 *   comparison := key op 'value'                      key: "quoted", or letters, digits and _; or @container
 *   op         := = > >= < <=                         (x-ms-if-tags also <>)
 *
 * At most TAG_OPERATORS_MAX logical operators. Keys and values compare by bytes. A missing tag satisfies no comparison
 * (also not <>). Index rows: 't' string(key) string(value) string(name), for base blobs, written with the record. */
#ifndef SVC_BLOB_TAGS_H
#define SVC_BLOB_TAGS_H

#include "svc/blob/record.h"

enum { TAG_OPERATORS_MAX = 10, TAG_FIND_TERMS_MAX = 10, TAGS_MAX = 10, TAG_KEY_MAX = 128, TAG_VALUE_MAX = 256 };

enum tag_op { TAG_EQ, TAG_NE, TAG_GT, TAG_GE, TAG_LT, TAG_LE };

struct tag_term {
	struct slice key; /* absent: @container */
	enum tag_op op;
	struct slice value;
	bool or_before; /* an OR stands before this term */
};

struct tag_filter {
	struct tag_term term[TAG_OPERATORS_MAX + 1];
	size_t count;
};

enum tag_dialect { TAG_CONDITION, TAG_FIND };
/* ERR_SYNTAX: *ret_position is where (from 1), *ret_reason what was expected. */
enum err blob_tag_filter_parse(struct slice text, enum tag_dialect, struct arena *, struct tag_filter *ret,
			       size_t *ret_position, const char **ret_reason) MUST_CHECK;
/* The expression holds for these tags (NULL: the blob is not there, it has none). */
bool blob_tag_filter_matches(const struct tag_filter *, const struct pairs *tags);
/* The part about @container; true if there is none. */
bool blob_tag_filter_wants_container(const struct tag_filter *, struct slice container);

/* Letters, digits, space and + - . / : = _; key 1..128, value 0..256. */
bool blob_tag_is_valid(struct slice key, struct slice value);

/* The index follows the tags of the base blob; either may be NULL. */
enum err blob_tags_reindex(struct txn *, struct slice name, const struct pairs *old,
			   const struct pairs *fresh) MUST_CHECK;

/* Where a walk of the index stands: among the rows of one tag, which are in the order of values, then names. */
struct tag_place {
	struct slice value, name;
};

/* What one request may look at and keep; then it says where to go on. */
struct tag_find_room {
	size_t rows;  /* of the index */
	size_t bytes; /* of its arena */
};

/* Find Blobs by Tags in one container. What is found comes in the order of the index. */
struct tag_find_call {
	const struct tag_filter *filter;
	struct tag_place from; /* at or after; absent = beginning */
	size_t limit;
	struct tag_find_room room;
	/* out */
	struct tag_find_item {
		struct slice name;
		struct pairs tags; /* only those the expression asks for */
	} * item;
	size_t count;
	struct tag_find_room left;
	bool more;
	struct tag_place next;
};
enum err blob_apply_find_tags(struct txn *, void *call);

#endif
