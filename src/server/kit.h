/* SPDX-License-Identifier: Apache-2.0
 * What the test kit needs to know of the engine: named states, which the engine in memory can keep. */
#ifndef SERVER_KIT_H
#define SERVER_KIT_H

#include "rest/core/server.h"

struct kit;

struct kit *kit_new(struct store *, bool in_memory); /* NULL: no memory */
void kit_free(struct kit *);			     /* accepts NULL */
const struct rest_kit *kit_rest(struct kit *);	     /* NULL of NULL */

#endif
