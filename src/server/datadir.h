/* SPDX-License-Identifier: Apache-2.0
 * The data directory as the server sees it: made if absent, never somebody else's. The engine keeps its format and its
 * lock there (engine/rocks/rocks.h); beside them lie `accounts`, the keys of production mode (0600), and `limits`, what
 * accounts forbid. */
#ifndef SERVER_DATADIR_H
#define SERVER_DATADIR_H

#include "base/buf.h"
#include "base/err.h"

struct datadir {
	char *path; /* absolute; or a word, if there is none */
};

/* create: makes it if absent, and from here on root makes files that belong to the directory's owner. On failure *error
 * has the line to print, and nothing in the directory changed. */
bool datadir_open(struct datadir *, const char *path, bool create, struct buf *error);
/* Is it of this mode, or of none yet? A server with a public key must not offer what another kept, and the other way
 * round keys would be missed that were never there. `change`: never mind. */
bool datadir_check_mode(const struct datadir *, bool production, bool change, struct buf *error);
/* It is, from now on. */
bool datadir_keep_mode(const struct datadir *, bool production, struct buf *error);
/* It says neither of the two modes. */
bool datadir_mode_is_damaged(const struct datadir *);
/* For root that only looks: this process goes into the directory and becomes its owner, for good, before any file there
 * is opened. Whoever owns it may have put links there; with the owner's rights they lead nowhere the owner could not
 * go. The directory is "." from now on: the owner may not be allowed to come from above. One thread. */
bool datadir_become_owner(const struct datadir *, struct buf *error);
/* A file of that name in it, 0600, is this text from now on; synced: after a crash it is the old or the new one. */
bool datadir_replace_file(const char *data_dir, const char *name, struct slice text, struct buf *error);
void datadir_close(struct datadir *); /* accepts a zeroed struct */

#endif
