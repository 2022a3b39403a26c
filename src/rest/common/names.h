/* SPDX-License-Identifier: Apache-2.0
 * Rules for names in URLs: 400 InvalidResourceName for characters, OutOfRangeInput for length. */
#ifndef REST_NAMES_H
#define REST_NAMES_H

#include "base/err.h"
#include "base/slice.h"

/* Containers; `$root`, `$web` and `$logs` only if special_ok. Queues and shares have the same rule without them. */
enum err name_check_container(struct slice name, bool special_ok) MUST_CHECK;
enum err name_check_blob(struct slice container, struct slice name) MUST_CHECK;
/* C# identifier (metadata names, table properties): letters, digits, '_', not beginning with a digit; letters beyond
 * ASCII. */
bool name_is_identifier(struct slice name);
/* Characters (code points) of UTF-8 text. */
size_t name_characters(struct slice text);

#endif
