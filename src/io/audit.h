/* SPDX-License-Identifier: Apache-2.0
 * A log that loses no line: each is written, in order, before who handed it over goes on. One thread writes what has
 * come together, so that many who wait cost one write.
 *
 * A disk that is slow makes who hands over a line wait, and nobody's loop: the end is posted to it. A write that fails
 * is told once in the log of the server, to everybody who waits (ERR_IO) and to whoever asks io_audit_works; the lines
 * stay in memory and are tried again each second. After a sync that failed nobody knows what is on the disk: then only
 * another file (io_audit_reopen) ends it.
 *
 * Lines are given to the kernel before the answer, so they outlive this process, however it ends; and to the disk once
 * a second, or before each answer (`sync_always`), which they need to outlive the machine. */
#ifndef IO_AUDIT_H
#define IO_AUDIT_H

#include "base/err.h"
#include "base/slice.h"
#include "io/loop.h"

struct audit_log;

/* Who waits for a line; lives until its task ran. */
struct audit_waiter {
	struct io_loop *loop; /* NULL: the task runs on the thread that writes, and must be quick */
	struct io_task task;  /* run on that loop */
	enum err result;      /* ERR_OK: written. ERR_IO: not yet, the line is kept. ERR_NO_MEMORY: it was not taken */
	struct audit_waiter *next;
};

/* Takes the descriptor over, also on error. */
enum err io_audit_new(int fd, bool sync_always, struct audit_log **ret) MUST_CHECK;
/* Writes and syncs what waits, if it can be written. Accepts NULL. Everybody who waited was posted to. */
void io_audit_free(struct audit_log *);
/* Lines to come go to this descriptor, which is taken over. Any thread. */
void io_audit_reopen(struct audit_log *, int fd);
/* One whole line. The waiter is posted to its loop, never from here; NULL: nobody waits. Any thread. */
void io_audit_put(struct audit_log *, struct slice line, struct audit_waiter *);
/* The same for a thread that may block. */
enum err io_audit_put_wait(struct audit_log *, struct slice line) MUST_CHECK;
/* False: lines cannot be written, or too many wait: what would need one is to be refused. Counts who is told no. */
bool io_audit_works(struct audit_log *);
/* Lines written, and requests refused because none could be. */
void io_audit_stats(struct audit_log *, uint64_t *ret_lines, uint64_t *ret_refused);

#endif
