/* SPDX-License-Identifier: Apache-2.0
 * Joining the runs of a file that was written in very many small pieces. */
#ifndef SVC_FILE_MERGE_H
#define SVC_FILE_MERGE_H

#include "store/store.h"

enum {
	MERGE_RUNS_MIN = 128, /* neighbours that are worth it, within MERGE_WINDOW_BYTES */
	MERGE_RUNS_MAX = 1000,
	MERGE_SMALL_BYTES = 64 * 1024, /* longer runs are fine as they are */
	MERGE_WINDOW_BYTES = 1024 * 1024
};

/* One file's next stretch, if one waits. *ret_more: there is more to do. Blocks on the disk. */
enum err merge_round(struct store *, struct slice partition, bool *ret_more) MUST_CHECK;

#endif
