/* SPDX-License-Identifier: Apache-2.0
 * Checkpoints: `zaffre checkpoint DIR [PREVIOUS]` copies one moment of a store that a server goes on writing to,
 * `zaffre restore DIR` makes a data directory of it again.
 *
 * The server makes the moment (a folder of second names in its data directory) and holds it as long as the copying
 * program has a file in that folder locked; the program copies. So a checkpoint may lie wherever its user may write,
 * and one whose program dies is given up at once.
 *
 *   CHECKPOINT   written last: what is in it, and the segment files' times for the next one
 *   db/          RocksDB's files of the moment: second names where that is possible
 *   segments/    copies, or second names of those in PREVIOUS that did not change since
 *   accounts     the keys, if the data directory has them
 *   limits       of the accounts, likewise
 *
 * A server does not run on a checkpoint: it would write into files that other checkpoints share. */
#ifndef SERVER_CHECKPOINT_H
#define SERVER_CHECKPOINT_H

#include "base/buf.h"
#include "server/config.h"
#include "wire/http/uri.h"

struct house;
struct moment_holder;

#define CHECKPOINT_FILE	   "CHECKPOINT"
#define CHECKPOINT_HEAD	   "zaffre checkpoint 1"
#define CHECKPOINT_STAGING "checkpoint.new" /* in the data directory, while one is made */
#define CHECKPOINT_HOLD	   "HOLD"

/* The server's side: commands of the admin socket, and what a start and an end do about moments. */
int checkpoint_begin(struct house *, const struct query *, struct buf *out);
int checkpoint_finish(struct house *, const struct query *, struct buf *out);
void checkpoint_clean(const char *data_dir); /* what a killed server left */
void checkpoint_end(struct house *);	     /* none is held when this returns */

/* The programs. Arguments behind the command's word; exit status. */
int checkpoint_main(int argc, char **argv);
int checkpoint_restore_main(int argc, char **argv);

#endif
