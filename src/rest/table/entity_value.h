/* SPDX-License-Identifier: Apache-2.0
 * Values of properties from the text that stands for them, the same in JSON and in Atom. */
#ifndef REST_TABLE_ENTITY_VALUE_H
#define REST_TABLE_ENTITY_VALUE_H

#include "svc/table/entity.h"

/* An entity as a request has it. */
struct entity_body {
	struct slice partition_key, row_key; /* absent if the body has none, or null */
	bool key_typed;			     /* one of them is said to be no string */
	struct slice properties;	     /* the run */
};

/* ERR_INVALID_VALUE_TYPE if the text does not fit the type, ERR_ENTITY_TOO_LARGE past 64 KiB. */
enum err rest_entity_value_parse(struct slice text, enum edm_type, struct arena *, struct edm_value *ret) MUST_CHECK;
/* The same for a value whose type was named: of a number that does not fit it, the service says that it cannot read
 * it. */
enum err rest_entity_value_parse_typed(struct slice text, enum edm_type, struct arena *,
				       struct edm_value *ret) MUST_CHECK;

#endif
