/* SPDX-License-Identifier: Apache-2.0
 * What may be a name: ERR_INVALID_RESOURCE_NAME for characters, ERR_NAME_LENGTH_OUT_OF_RANGE for length. The rules are
 * the same whoever asks, a URL or the configuration. */
#ifndef SVC_ACCOUNT_NAMES_H
#define SVC_ACCOUNT_NAMES_H

#include "base/err.h"
#include "base/slice.h"

/* Containers; `$root`, `$web` and `$logs` only if special_ok. Queues and shares have the same rule without them. */
enum err name_check_container(struct slice name, bool special_ok) MUST_CHECK;
enum { TABLE_NAME_MIN = 3, TABLE_NAME_MAX = 63 };
/* Tables: letters and digits, not beginning with a digit, and not "tables". */
enum err name_check_table(struct slice name) MUST_CHECK;
enum err name_check_blob(struct slice container, struct slice name) MUST_CHECK;
/* C# identifier (metadata names, table properties): letters, digits, '_', not beginning with a digit; letters beyond
 * ASCII. */
bool name_is_identifier(struct slice name);
/* Characters (code points) of UTF-8 text. */
size_t name_characters(struct slice text);

#endif
