/* SPDX-License-Identifier: Apache-2.0
 * Changes of entities as HTTP asks for them: shared by requests of their own and parts of an entity group transaction.
 */
#ifndef REST_ENTITY_OPS_H
#define REST_ENTITY_OPS_H

#include "rest/table/common.h"

/* The words of one change. Which action it is: the method, and whether If-Match is there. */
struct entity_change {
	enum http_method method;	     /* POST (insert), PUT, MERGE, PATCH, DELETE */
	const struct http_head *head;	     /* If-Match, If-None-Match */
	struct slice partition_key, row_key; /* of the URL; absent for an insert */
	struct slice body;		     /* absent for a delete */
};
/* Checks everything that needs no store and fills the write; its slices point into body and arena. */
enum err rest_entity_change_parse(struct request *, const struct entity_change *, struct entity_write *ret) MUST_CHECK;
/* Permission letters and key range of a SAS, for a part of a batch (a request of its own was asked by its row of
 * ops.def). */
enum err rest_entity_change_allowed(const struct request *, struct slice table, const struct entity_write *) MUST_CHECK;
/* http://host/account/table(PartitionKey='..',RowKey='..'), in the arena; absent: no memory. */
struct slice rest_entity_url(struct request *, const struct entity_writer *, const struct entity_write *);
/* $select into the writer. */
enum err rest_entity_select_parse(struct request *, struct entity_writer *) MUST_CHECK;

/* A single GET inside a batch runs one of these. */
extern const struct handler handler_entity_get, handler_entity_query;

#endif
