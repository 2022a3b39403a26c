/* SPDX-License-Identifier: Apache-2.0
 * The $filter language: parsed into a tree, evaluated on entities, and read for what it says about keys.
 *
 *   or   := and ('or' and)*            and  := not ('and' not)*
 *   not  := 'not' not | '(' or ')' | comparison | property        (a property alone: it is Boolean and true)
 *             | true | false
 *   comparison := property op literal | literal op property        op := eq ne gt ge lt le
 *   literal    := 'text' | digits | digits 'L' | number | true | false | datetime'..' | guid'..' | X'hex' | binary'hex'
 *
 * Words are case-sensitive but for true and false. The keys and Timestamp are never Boolean: alone they are an error.
 * A comparison with a property the entity does not have, or has in a type the literal does not fit (edm_compare), is
 * false, whatever the operator; `not` of it is true. At most FILTER_COMPARISONS_MAX comparisons and FILTER_DEPTH_MAX
 * levels of nesting.
 *
 * A filter is immutable once parsed and lives in the arena it was parsed into. Pure; any thread. */
#ifndef SVC_TABLE_FILTER_H
#define SVC_TABLE_FILTER_H

#include "base/arena.h"
#include "svc/table/edm.h"
#include "svc/table/entity.h"

enum { FILTER_COMPARISONS_MAX = 15, FILTER_DEPTH_MAX = 64 };

enum filter_kind { FILTER_AND, FILTER_OR, FILTER_NOT, FILTER_COMPARE, FILTER_TRUTH, FILTER_CONSTANT };
enum filter_op { FILTER_EQ, FILTER_NE, FILTER_GT, FILTER_GE, FILTER_LT, FILTER_LE };

struct filter_node {
	enum filter_kind kind;
	enum filter_op op;			/* COMPARE: property op value */
	unsigned property;			/* COMPARE, TRUTH: index of the filter's property */
	struct edm_value value;			/* COMPARE; CONSTANT: a Boolean */
	const struct filter_node *left, *right; /* NOT has left only */
};

struct filter {
	const struct filter_node *root;
	size_t property_count; /* distinct ones */
	struct slice property[FILTER_COMPARISONS_MAX];
	size_t comparison_count;
};

/* ERR_SYNTAX with the byte position where reading stopped (behind the token that does not fit); ERR_OUT_OF_RANGE_INPUT
 * likewise for a whole number without 'L' that is no Int32; ERR_LIMIT past the bounds above; ERR_NO_MEMORY. */
enum err filter_parse(struct slice text, struct arena *, struct filter **ret, size_t *ret_position) MUST_CHECK;

/* The same for names that have no case: text literals come in lower case, to be compared with names in lower case. */
enum err filter_parse_lower(struct slice text, struct arena *, struct filter **ret, size_t *ret_position) MUST_CHECK;

/* Values of the filter's properties, by index; EDM_NONE = not there. */
bool filter_eval(const struct filter *, const struct edm_value *values);
/* Looks the properties up in an entity first; ERR_CORRUPT if its run is damaged. */
enum err filter_match(const struct filter *, const struct entity *, bool *ret) MUST_CHECK;

/* ---- What a filter says about keys ---- */
enum { PLAN_RANGES_MAX = 32 };

/* Keys of rows in [from, until), in the arena; until absent: to the end. A point has from = the entity's key. */
struct plan_range {
	struct slice from, until;
	bool point;
};

struct plan {
	size_t count; /* in order, disjoint; none: nothing can match */
	struct plan_range range[PLAN_RANGES_MAX];
	const char *name; /* for the access log: none, point, points, range pk, range, scan */
};

/* Every entity that matches lies in one of the ranges; those in them still have to be asked. filter may be NULL. */
enum err plan_make(const struct filter *, struct arena *, struct plan *ret) MUST_CHECK;
/* Cuts every range to [from, until); absent = unbounded. */
void plan_clip(struct plan *, struct slice from, struct slice until);
/* Cuts the plan to the entities within the bounds. ERR_LIMIT: a bound is longer than any key. */
enum err plan_clip_to_bounds(struct plan *, const struct entity_bounds *, struct arena *) MUST_CHECK;

#endif
