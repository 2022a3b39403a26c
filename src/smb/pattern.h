/* SPDX-License-Identifier: Apache-2.0
 * DOS wildcards of QUERY_DIRECTORY: `*` any run, `?` one character, `<` any run up to the last dot, `>` one or none
 * before a dot or the end, `"` a dot or the end. Both sides are folded by the caller. Pure. */
#ifndef SMB_PATTERN_H
#define SMB_PATTERN_H

#include "base/slice.h"

enum { PATTERN_MAX = 1024 }; /* bytes; a longer one matches nothing */

/* In time of pattern times name, whatever the pattern. */
bool pattern_matches(struct slice pattern, struct slice name);
/* What every name that matches begins with: the characters before the first wildcard. */
struct slice pattern_prefix(struct slice pattern);

#endif
