/* SPDX-License-Identifier: Apache-2.0
 * Copying files of a store: durable when done, holes stay holes, shared blocks where the file system can. Who copies
 * as root does not follow links that the store's owner may have put there. */
#ifndef SERVER_CLONE_H
#define SERVER_CLONE_H

#include "base/buf.h"

#include <sys/stat.h>

/* How far a long copy is, for a line on a terminal or for who else wants to know. */
struct clone_progress {
	uint64_t copied_bytes; /* written anew */
	uint64_t linked_bytes; /* shared with a file that was there */
	uint64_t total_bytes;  /* as far as known; 0: not */
	bool terminal;
	unsigned shown_percent;
	/* Hears of every piece; false ends the copying (ECANCELED). NULL: nobody. */
	bool (*note)(void *arg, const struct clone_progress *);
	void *note_arg;
};

/* A file below from_fd becomes one below to_fd, with times, owner and mode. False: errno, and no file is left. */
bool clone_file(int from_fd, int to_fd, const char *name, struct clone_progress *);
/* A second name, if both are on one file system; false if not (or for another reason: copy then). */
bool clone_link(int from_fd, int to_fd, const char *name, struct clone_progress *);
/* All bytes in a new file of that name. */
bool clone_text(int to_fd, const char *name, struct slice text);
/* Makes and opens a directory; it must not be there. -1 and errno. */
int clone_make_dir(int at_fd, const char *path);
/* Names in a directory, "." and ".." left out; each is given to `each`, which returns false to end. */
bool clone_each_name(int dir_fd, bool (*each)(void *arg, const char *name), void *arg);
/* A directory and all in it, as far as that can be removed; links are not followed. */
void clone_remove_tree(const char *path);
/* False: it shall end, and errno says so. */
bool clone_show(struct clone_progress *, bool last);

#endif
