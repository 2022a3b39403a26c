/* SPDX-License-Identifier: Apache-2.0
 * Has the journal lost its end? It is read up to the first record that does not verify: after a crash that is where the
 * unfinished write was, but a bit that rotted earlier looks the same, and what was acknowledged behind it would be gone
 * without a word. So a small mapped file (TAIL) remembers the number of the last commit that was synced. After a
 * restart the journal, or the tables, must have at least that one.
 *
 * The file is written after the sync and is not synced itself: it can be behind (after a power cut), never ahead. After
 * kill -9 it is exact. Two words, the number and its complement: anything else says nothing. */
#ifndef ENGINE_ROCKS_TAIL_H
#define ENGINE_ROCKS_TAIL_H

#include "base/err.h"

#include <stdint.h>

struct tail {
	uint64_t *word; /* mapped; NULL: not open */
};

/* *ret_remembered: 0 if the file says nothing. Errors leave errno. */
enum err tail_open(struct tail *, int dir_fd, uint64_t *ret_remembered) MUST_CHECK;
void tail_close(struct tail *);
void tail_remember(struct tail *, uint64_t number); /* this commit is durable */

#endif
