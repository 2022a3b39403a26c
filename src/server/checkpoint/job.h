/* SPDX-License-Identifier: Apache-2.0
 * A checkpoint that the running server makes itself, in the folder `checkpoints` of its data directory: for who asks
 * from the explorer, and because a server in its sandbox writes nowhere else. One at a time, in a thread of its own; it
 * gives up before it takes the last of the disk from the server. */
#ifndef SERVER_CHECKPOINT_JOB_H
#define SERVER_CHECKPOINT_JOB_H

#include "base/buf.h"
#include "wire/http/uri.h"

struct house;
struct checkpoint_job;

struct checkpoint_job *checkpoint_job_new(struct house *); /* NULL: no memory */
/* None runs when this returns, and none will begin. Before checkpoint_end. Accepts NULL. */
void checkpoint_job_end(struct checkpoint_job *);
void checkpoint_job_free(struct checkpoint_job *); /* after its end; accepts NULL */

/* Commands of the admin socket. Each answers with the progress as JSON (docs/operations.md), or says why not.
 *   start      name=NAME; previous=NAME: one there, to share with what did not change
 *   progress
 *   cancel
 *   list       the finished ones, as JSON
 *   remove     name=NAME; not while one is made, which may share with it. Answers with the list */
int checkpoint_job_start(struct house *, const struct query *, struct buf *out);
int checkpoint_job_progress(struct house *, const struct query *, struct buf *out);
int checkpoint_job_cancel(struct house *, const struct query *, struct buf *out);
int checkpoint_job_list(struct house *, const struct query *, struct buf *out);
int checkpoint_job_remove(struct house *, const struct query *, struct buf *out);

#endif
