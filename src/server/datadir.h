/* SPDX-License-Identifier: Apache-2.0
 * The data directory: made if absent, held by one process at a time, of a known format. Layout:
 *   FORMAT    the number of the format, decimal and a new line; a newer one is refused
 *   LOCK      flock'ed by the server that runs, holds its process id
 *   accounts  production mode: the keys, 0600
 * and what the engine keeps beside them. */
#ifndef SERVER_DATADIR_H
#define SERVER_DATADIR_H

#include "base/buf.h"
#include "base/err.h"

enum { DATADIR_FORMAT = 1 };

struct datadir {
	char *path; /* absolute */
	int lock_fd;
	bool temporary; /* removed by datadir_close */
};

/* create: makes it if absent. On failure *error has the line to print. */
bool datadir_open(struct datadir *, const char *path, bool create, struct buf *error);
/* A fresh one under TMPDIR that datadir_close removes. */
bool datadir_open_temporary(struct datadir *, struct buf *error);
void datadir_close(struct datadir *); /* accepts a zeroed struct with lock_fd -1 */

#endif
