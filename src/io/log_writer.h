/* SPDX-License-Identifier: Apache-2.0
 * Writes lines to a descriptor on a thread of its own. Who hands them over never waits, whoever reads at the other end:
 * past a bound of waiting bytes lines are lost, and how many is told. */
#ifndef IO_LOG_WRITER_H
#define IO_LOG_WRITER_H

#include "base/err.h"
#include "base/slice.h"

struct log_writer;

/* Takes the descriptor over, also on error. */
enum err io_log_writer_new(int fd, struct log_writer **ret) MUST_CHECK;
/* Writes what waits, for a short time only if nobody reads it. Accepts NULL. */
void io_log_writer_free(struct log_writer *);
/* Lines to come go to this descriptor, which is taken over; those that were handed over before may still go to the old
 * one. Any thread. */
void io_log_writer_reopen(struct log_writer *, int fd);
/* Whole lines. Any thread. */
void io_log_writer_put(struct log_writer *, struct slice lines);

#endif
