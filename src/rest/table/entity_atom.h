/* SPDX-License-Identifier: Apache-2.0
 * Entities and tables as Atom entries and feeds, the form of versions before 2015-12-11 (rest/table/format.h). */
#ifndef REST_TABLE_ENTITY_ATOM_H
#define REST_TABLE_ENTITY_ATOM_H

#include "rest/table/entity_json.h"
#include "svc/table/tables.h"

/* Reads, types and checks an entity; keys and total size are not judged here. */
enum err rest_entity_atom_parse(struct slice text, struct arena *, struct entity_body *ret) MUST_CHECK;
/* The TableName of an entry; absent if it has none. ERR_INVALID_INPUT. */
enum err rest_table_atom_parse(struct slice text, struct arena *, struct slice *ret_name) MUST_CHECK;

/* One entry. `document`: with the XML declaration and the namespaces, which a feed has itself. */
void rest_entity_atom_write(struct buf *, struct entity_writer *, const struct entity *, bool document);
void rest_table_atom_write(struct buf *, const struct entity_writer *, struct slice name, bool document);
/* What stands around the entries of a list; `title` is the table's name, or "Tables". */
void atom_feed_open(struct buf *, const struct entity_writer *, struct slice title);
void atom_feed_close(struct buf *);

#endif
