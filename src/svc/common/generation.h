/* SPDX-License-Identifier: Apache-2.0
 * A generation is the life of one container, queue, table or share; what lives below it is in a partition of its own.
 * Its meta row says that it is live. Every write below asks for it in its own transaction, so that a write that races
 * with the delete is ordered before it or finds nothing. */
#ifndef SVC_COMMON_GENERATION_H
#define SVC_COMMON_GENERATION_H

#include "store/store.h"

enum err generation_open(struct txn *) MUST_CHECK;
enum err generation_close(struct txn *) MUST_CHECK;
/* ERR_OK if it is live, else `gone` (ContainerNotFound, QueueNotFound, ...). */
enum err generation_require(struct txn *, enum err gone) MUST_CHECK;

#endif
