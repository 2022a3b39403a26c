/* SPDX-License-Identifier: Apache-2.0
 * Copying a moment of a running server into the new directory of a checkpoint. */
#ifndef SERVER_CHECKPOINT_COPY_H
#define SERVER_CHECKPOINT_COPY_H

#include "server/checkpoint/clone.h"

struct checkpoint_copy {
	const char *dir;
	const char *before; /* a checkpoint to share with what did not change; NULL: none */
	/* A command of the admin socket: the status, and what it answered. 0: that was told already. */
	int (*ask)(void *arg, const char *target, struct buf *out);
	void *arg;
	struct clone_progress progress;
	struct buf error; /* out: why not */
	uint64_t commit;  /* out: the last one that is in it */
};

bool checkpoint_copy_run(struct checkpoint_copy *);

#endif
