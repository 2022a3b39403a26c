/* SPDX-License-Identifier: Apache-2.0
 * How deep a tree may become: 250 levels, and 2,048 characters of a path, also for what hangs below a directory that is
 * renamed. Inside the room.
 *
 * A directory's inode says how far down what hangs below it may reach (inode.below). It may say too much, for deletes
 * do not lower it, but never too little: for every entry of a directory, `below` of the directory is at least the
 * entry's name and the entry's own `below`. A rename is judged by it and stays one small commit; only where it would
 * refuse, a bounded number of entries is looked at to see whether it is so. docs/decisions/0027. */
#ifndef SVC_FILE_DEPTH_H
#define SVC_FILE_DEPTH_H

#include "svc/file/inode.h"

enum {
	/* A new directory claims one level of names up to 31 characters: most never have to say more. */
	DEPTH_FRESH_LEVELS = 1,
	DEPTH_FRESH_CHARS = 32,
	/* Entries that one rename looks at: all others' commits wait meanwhile. */
	DEPTH_LOOKS_MAX = 2048
};

/* The entry n is to become new_name in new_parent. ERR_INVALID_INPUT: that is below itself.
 * ERR_INVALID_FILE_OR_DIRECTORY_PATH_NAME: something below it would lie too deep, or deeper than it does and there is
 * too much to look at. Of a file nothing is asked: its new path was judged when it was split. */
enum err depth_check_move(struct txn *, const struct inode *n, const struct inode *new_parent,
			  struct slice new_name) MUST_CHECK;
/* `parent` has got the entry `child`: it, and the directories above, say so if they did not reach as far before. */
enum err depth_note(struct txn *, const struct inode *parent, const struct inode *child) MUST_CHECK;

#endif
