/* SPDX-License-Identifier: Apache-2.0
 * Joining the runs of a file that was written in very many small pieces. */
#ifndef SVC_FILE_MERGE_H
#define SVC_FILE_MERGE_H

#include "base/sys/clock.h"
#include "store/store.h"

enum {
	MERGE_FILE_RUNS = 256, /* of files with no more than these nobody asks */
	MERGE_RUNS_MIN = 128,  /* neighbours that are worth it, within MERGE_WINDOW_BYTES */
	MERGE_RUNS_MAX = 1000,
	MERGE_SMALL_BYTES = 64 * 1024, /* longer runs are fine as they are */
	MERGE_WINDOW_BYTES = 1024 * 1024,
	/* A file that was gone through and is written again waits, the longer the more runs it has: going along them
	 * all costs about a twentieth of that time at most. */
	MERGE_WAIT_SECONDS = 30,
	MERGE_WAIT_TICKS_A_RUN = 200
};

static inline uint64_t merge_wait_ticks(uint64_t run_count)
{
	return MERGE_WAIT_SECONDS * TICKS_PER_SECOND + run_count * MERGE_WAIT_TICKS_A_RUN;
}

/* One file's next stretch, if one is due. *ret_more: there is more to do. Blocks on the disk. */
enum err merge_round(struct store *, struct slice partition, bool *ret_more) MUST_CHECK;

#endif
