/* SPDX-License-Identifier: Apache-2.0
 * What the table handlers share: OData levels, headers, tokens, the service's URL, key ranges of a SAS. */
#ifndef REST_TABLE_COMMON_H
#define REST_TABLE_COMMON_H

#include "rest/core/request.h"
#include "rest/table/entity_json.h"
#include "svc/account/resource.h"
#include "svc/table/tables.h"

/* "http://host[/account]/", in the arena. */
struct slice rest_table_service_root(struct request *);
/* root, account, table as addressed, everything selected, the usual level; and with the level asked for. */
enum err rest_table_writer_init(struct request *, struct entity_writer *) MUST_CHECK;
enum err rest_table_writer_init_level(struct request *, struct entity_writer *) MUST_CHECK;
/* Atom says when it was written. */
enum err rest_table_writer_set_time(struct request *, struct entity_writer *) MUST_CHECK;

/* The verb, or what X-HTTP-Method of a POST says in its place (for proxies that would not let it through). Any other
 * use of that header is refused: the verb alone would do something else than was asked for. */
enum err rest_table_method(const struct http_head *, enum http_method *ret) MUST_CHECK;

enum table_prefer { PREFER_NOTHING, PREFER_CONTENT, PREFER_NO_CONTENT };
enum table_prefer rest_table_prefer_of(struct slice header);

/* Headers of an answer that has a body, and of one that has none. */
void rest_table_headers(struct request *, enum odata_level, bool list);
void rest_table_empty_headers(struct request *);
/* One entity in the writer's format; `document`: not within a list. */
void rest_entity_write(struct buf *, struct entity_writer *, const struct entity *, bool document);

/* Continuation tokens: 1!<length>!<base64 with other signs for = + />. */
struct slice rest_table_token_make(struct arena *, struct slice text); /* absent: no memory */
bool rest_table_token_read(struct arena *, struct slice token, struct slice *ret);

/* Finds the table's generation partition through the cache: `missing` if there is none. */
enum err rest_table_find(struct request *, struct slice table, enum err missing,
			 struct slice *ret_partition) MUST_CHECK;
/* $filter, $select: as other parameters, but '+' stands for a blank. Absent if missing or blank. */
enum err rest_table_option(struct request *, const char *name, struct slice *ret) MUST_CHECK;
struct filter;
/* $filter, parsed; NULL if there is none. Errors tell where the text is wrong. */
enum err rest_table_filter(struct request *, struct filter **ret) MUST_CHECK;
/* The same for Query Tables: names of tables have no case. */
enum err rest_table_filter_tables(struct request *, struct filter **ret) MUST_CHECK;
/* Options of OData that the service does not have, and that would change what is answered: ERR_NOT_IMPLEMENTED. */
enum err rest_table_options_check(const struct request *) MUST_CHECK;
/* $top; 0 .. 1000. Absent: 1000. */
enum err rest_table_top(struct request *, size_t *ret) MUST_CHECK;
/* The error, with this text in its body; absent (no memory for it): the usual one. */
enum err rest_table_fault(struct request *, enum err, struct slice message);

/* PartitionKey='..',RowKey='..' */
enum err rest_table_keys_parse(struct request *, struct slice text, struct slice *ret_pk,
			       struct slice *ret_rk) MUST_CHECK;
/* The key range of the request's SAS; without one it bounds nothing. */
struct entity_bounds rest_table_sas_bounds(const struct request *);
/* Is the entity within the key range of the SAS? ERR_AUTHORIZATION_FAILURE if not. */
enum err rest_table_range_check(const struct request *, struct slice pk, struct slice rk) MUST_CHECK;
/* If-Match of an entity: present or not, "*", ticks (0: matches nothing). Refuses what is not one ETag, and
 * If-None-Match. */
struct table_match {
	bool present, any;
	uint64_t ticks;
};
enum err rest_table_match_parse(const struct http_head *, struct table_match *ret) MUST_CHECK;

#endif
