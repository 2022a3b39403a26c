/* SPDX-License-Identifier: Apache-2.0
 * Names of directories and files: what is allowed, how they compare, how a path is split.
 *
 * Names keep their case and compare without it: two names are the same if their folded forms are. Folding is simple
 * upper-casing, code point by code point (libutf8proc), so the length in code points never changes. Lists are in the
 * order of the folded names' UTF-16 code units, as the service has it; file_name_fold writes bytes that sort that way.
 * Pure functions. */
#ifndef SVC_FILE_NAME_H
#define SVC_FILE_NAME_H

#include "base/arena.h"
#include "base/err.h"
#include "base/slice.h"

enum {
	FILE_NAME_CHARS_MAX = 255, /* of a component, in UTF-16 code units */
	FILE_PATH_CHARS_MAX = 2048,
	FILE_PATH_DEPTH_MAX = 250,
	FILE_NAME_BYTES_MAX = 4 * FILE_NAME_CHARS_MAX
};

/* A path below the share's root, split and validated, not folded. count 0: the root itself. */
struct file_path {
	struct slice *name; /* in the arena */
	size_t count;
};

/* Splits at '/' (and at '\\' if `backslash`); one separator at either end is dropped. Trailing dots of each component
 * are stripped unless keep_dots. Errors: ERR_INVALID_RESOURCE_NAME (characters, reserved names, empty components, "."
 * and ".."), ERR_NAME_LENGTH_OUT_OF_RANGE (a component), ERR_INVALID_FILE_OR_DIRECTORY_PATH_NAME (length or depth of
 * the whole), ERR_NO_MEMORY. `text` is percent-decoded UTF-8; the names point into it. */
struct file_path_rules {
	bool keep_dots;
	bool backslash; /* SMB */
};
enum err file_path_split(struct arena *, struct slice text, struct file_path_rules, struct file_path *ret) MUST_CHECK;

/* UTF-16 code units of a name that was checked. */
size_t file_name_chars(struct slice name);

/* One component. */
enum err file_name_check(struct slice name) MUST_CHECK;
/* The folded form, in the arena: sorts by bytes as the names do by UTF-16 code units. Absent if the arena is full.
 * Bytes that are no UTF-8 stay as they are. */
struct slice file_name_fold(struct arena *, struct slice name);
bool file_name_equal(struct arena *, struct slice a, struct slice b);

/* Short (8.3) names, for clients that ask for them: made of the inode's id, so that they stay over renames, are unique
 * in a share, and lead back to the inode without an index. */
enum { FILE_SHORT_NAME_BYTES = 12 };
bool file_name_is_short(struct slice name); /* it is one itself, and has no other */
/* Absent: the id is of no inode that could have one. */
struct slice file_short_name(uint64_t id, char room[FILE_SHORT_NAME_BYTES]);
bool file_short_name_parse(struct slice name, uint64_t *ret_id);

#endif
