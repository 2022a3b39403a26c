/* SPDX-License-Identifier: Apache-2.0
 * Entities as OData JSON: a request's object to a run of properties (svc/table/edm.h), a stored run to bytes of an
 * answer. Both go straight between text and record bytes, without a tree in between. */
#ifndef REST_ENTITY_JSON_H
#define REST_ENTITY_JSON_H

#include "base/arena.h"
#include "base/buf.h"
#include "rest/table/entity_value.h"
#include "rest/table/format.h"

/* Reads, types and checks an entity; keys and total size are not judged here. */
enum err rest_entity_body_parse(struct slice text, struct arena *, struct entity_body *ret) MUST_CHECK;

/* What writing entities of one table needs to know. */
struct entity_writer {
	enum odata_level level;
	struct slice root; /* service URL with a '/' at its end, fit to stand in JSON */
	struct slice account, table;
	struct slice updated; /* Atom: the time of the answer */
	bool select_all;
	size_t select_count; /* names of $select, if not all; SELECT_MAX at most */
	struct slice *select;
	struct name_index *select_index;
	struct edm_second second; /* of the last Timestamp: what was written together comes in a row */
};
enum { SELECT_MAX = 255 };

/* One object, from '{' to '}'. metadata_url: begin with odata.metadata of a single entity. */
void rest_entity_json_write(struct buf *, struct entity_writer *, const struct entity *, bool metadata_url);
/* odata.metadata and the comma behind it, of one entity or of a list; it names what was selected. */
void rest_entity_metadata_write(struct buf *, const struct entity_writer *, bool element);
/* table(PartitionKey='..',RowKey='..'), percent-encoded, quotes doubled. */
void rest_entity_link_write(struct buf *, const struct entity_writer *, struct slice partition_key,
			    struct slice row_key);
/* A quoted JSON string. */
void rest_table_json_text_write(struct buf *, struct slice text);

/* W/"datetime'...'" of ticks, at most ENTITY_ETAG_MAX bytes; returns the length. */
enum { ENTITY_ETAG_MAX = 48 };
size_t rest_entity_etag_format(uint64_t ticks, char *dst);
/* The ticks of an ETag of ours exactly as we write it; 0 if it is another one. */
uint64_t rest_entity_etag_parse(struct slice etag);

#endif
