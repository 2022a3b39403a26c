/* SPDX-License-Identifier: Apache-2.0
 * What the test kit needs to know of the engine: named states, which the engine in memory can keep. */
#ifndef SERVER_STATES_H
#define SERVER_STATES_H

#include "rest/core/server.h"

struct states;

struct states *states_new(struct store *, bool in_memory); /* NULL: no memory */
void states_free(struct states *);			   /* accepts NULL */
const struct rest_kit *states_rest(struct states *);	   /* NULL of NULL */

#endif
