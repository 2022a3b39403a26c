/* SPDX-License-Identifier: Apache-2.0
 * The thread that does what nobody waits for: reclaim of dead extents and dropped generations, in bounded rounds. */
#ifndef SERVER_BACKGROUND_H
#define SERVER_BACKGROUND_H

#include "store/store.h"

struct background;

/* NULL if there is no memory or thread for it (said in the log): the server works, space is not reclaimed. */
struct background *background_start(struct store *);
void background_stop(struct background *); /* waits for the round that runs; accepts NULL */

#endif
