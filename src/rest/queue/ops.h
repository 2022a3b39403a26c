/* SPDX-License-Identifier: Apache-2.0
 * The operations of Queue as numbers, OP_<id of ops.def>: how code asks which one a request is. */
#ifndef REST_QUEUE_OPS_H
#define REST_QUEUE_OPS_H

#include "rest/core/op.h"

enum queue_op {
	OPS_FIRST(QUEUE),
#define OP OP_ENUM
#include "rest/queue/ops.def"
#undef OP
};

#endif
