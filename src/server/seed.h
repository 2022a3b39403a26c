/* SPDX-License-Identifier: Apache-2.0
 * --create: containers, queues and tables that must be there once the server is ready. */
#ifndef SERVER_SEED_H
#define SERVER_SEED_H

#include "base/buf.h"
#include "base/slice.h"
#include "store/store.h"

/* "container1,queue:q1,table:t1" in the account; what exists already stays as it is. Before the first request. */
bool seed_create(struct store *, struct slice account, struct slice list, struct buf *error);

#endif
