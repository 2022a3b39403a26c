/* SPDX-License-Identifier: Apache-2.0
 * One copy, from the first byte to the last commit (copy_run.c). Private to jobs. */
#ifndef JOBS_COPY_RUN_H
#define JOBS_COPY_RUN_H

#include <stdatomic.h>

#include "jobs/copy.h"

struct copy_run_options {
	struct store *store;
	const struct copy_job_spec *spec;
	const atomic_bool *stop; /* the server stops: leave everything as it is */
};

/* Runs the copy to its end, whatever that is; the destination says how it ended. Blocks: for a thread of its own. */
void copy_run(const struct copy_run_options *);

#endif
