/* SPDX-License-Identifier: Apache-2.0
 * A scrub of the running server: one at a time, in a thread of its own that gives way to all others. It reads moments
 * of the store (engine/rocks/rocks.h), so nobody waits for it and whatever is written or deleted meanwhile is no
 * damage; a moment is held for a few minutes at most, because deleted bytes keep their space while it is. */
#ifndef SERVER_SCRUB_JOB_H
#define SERVER_SCRUB_JOB_H

#include "base/buf.h"
#include "rest/core/server.h"
#include "wire/http/uri.h"

struct house;
struct scrub_job;
struct store;

/* `data_dir` NULL: nothing is on a disk, so there is nothing to scrub. Removes what a killed server left there. */
struct scrub_job *scrub_job_new(struct store *, const char *data_dir);
/* None runs when this returns, and none will begin. Accepts NULL. */
void scrub_job_end(struct scrub_job *);
void scrub_job_free(struct scrub_job *); /* after its end; accepts NULL */
void scrub_job_count(struct scrub_job *, struct rest_jobs *ret);

/* Commands of the admin socket. Each answers with the progress as JSON (docs/operations.md), or says why not.
 *   start      rate=MB a second (0: as fast as it can), hold=SECONDS a moment is held at most
 *   progress   from=N: of what was found, only what comes behind the first N
 *   cancel     what was found so far stays to be read */
int scrub_job_start(struct house *, const struct query *, struct buf *out);
int scrub_job_progress(struct house *, const struct query *, struct buf *out);
int scrub_job_cancel(struct house *, const struct query *, struct buf *out);

#endif
