/* SPDX-License-Identifier: Apache-2.0
 * The operations of Table as numbers, OP_<id of ops.def>: how code asks which one a request is. */
#ifndef REST_TABLE_OPS_H
#define REST_TABLE_OPS_H

#include "rest/core/op.h"

enum table_op {
	OPS_FIRST(TABLE),
#define OP OP_ENUM
#include "rest/table/ops.def"
#undef OP
};

#endif
