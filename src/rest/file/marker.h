/* SPDX-License-Identifier: Apache-2.0
 * Markers of List Directories and Files: 1!<length of the text>!<base64 of a name, '=' as '-'>. Pure. */
#ifndef REST_FILE_MARKER_H
#define REST_FILE_MARKER_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"

/* The name in it, in the arena. ERR_SYNTAX: it is no such marker. */
enum err rest_file_marker_parse(struct slice marker, struct arena *, struct slice *ret) MUST_CHECK;
void rest_file_marker_put(struct buf *, struct slice name);

#endif
