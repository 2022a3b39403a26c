/* SPDX-License-Identifier: Apache-2.0
 * JSON as tables and tokens need it.
 *
 * Written are values alone. Strings are escaped; malformed UTF-8 becomes U+FFFD. Doubles are written in the shortest
 * form that reads back the same and always look like a double (5.0, 1e+20); those that are no numbers as the strings
 * "NaN", "Infinity", "-Infinity".
 *
 * The reader gives a tree whose slices point into the document or the arena. Refused: malformed UTF-8, halves of
 * surrogate pairs, trailing text, comments, nesting deeper than asked for, more than LIMIT_JSON_VALUES values. A byte
 * order mark is skipped. Names may repeat; json_member finds the first. */
#ifndef WIRE_JSON_H
#define WIRE_JSON_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"

/* What stands between the quotes of a string; and a double. */
void json_put_text(struct buf *, struct slice text);
void json_put_double(struct buf *, double v);

enum json_kind { JSON_NULL, JSON_BOOL, JSON_NUMBER, JSON_STRING, JSON_OBJECT, JSON_ARRAY };

struct json_node {
	enum json_kind kind;
	struct slice name; /* of a member of an object, else absent */
	struct slice text; /* string: decoded; number: as sent; bool: "true" or "false"; else absent */
	struct json_node *child, *last_child, *next;
};

struct json_member {
	struct slice name;
	enum json_kind kind; /* never JSON_OBJECT or JSON_ARRAY */
	struct slice text;
};

/* ERR_SYNTAX or ERR_NO_MEMORY. max_depth counts nested objects and arrays, at most LIMIT_JSON_DEPTH. */
enum err json_parse(struct slice document, struct arena *, unsigned max_depth, struct json_node **ret) MUST_CHECK;
/* One object without nested values: an entity. */
enum err json_parse_flat(struct slice document, struct arena *, struct json_member **ret, size_t *ret_count) MUST_CHECK;
/* NULL if missing or node is NULL or no object. */
struct json_node *json_member(const struct json_node *, const char *name);
/* The text of a string member; absent if missing or of another kind. */
struct slice json_member_string(const struct json_node *, const char *name);
/* A JSON number's text; false if it overflows or is longer than any sensible one. */
bool json_number_to_double(struct slice text, double *ret);
/* No fraction and no exponent in it (Edm.Int32, not Edm.Double). */
bool json_number_is_integer(struct slice text);

/* Walks over the members of an object or the elements of an array of any size, without memory: what is inside of them
 * stays text, for another walk or json_parse. Only quotes, brackets, commas and colons are looked at, so a document
 * that was cut short is found out and one with other faults may not be. */
enum json_walk_state { JSON_WALK_FIRST, JSON_WALK_MORE, JSON_WALK_DONE, JSON_WALK_BROKEN };
struct json_walk {
	const char *at, *end;
	bool object;
	enum json_walk_state state; /* DONE after the last one, BROKEN if it is no JSON from `at` on */
	struct slice name;	    /* of a member: as it stands there, without the quotes */
	struct slice value;	    /* as it stands there */
};
/* False: it is neither an object nor an array. */
bool json_walk_begin(struct json_walk *, struct slice value);
bool json_walk_next(struct json_walk *);
/* The first member of that name; absent if there is none or it is no object. */
struct slice json_walk_find(struct slice object, const char *name);

#endif
