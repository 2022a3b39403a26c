/* SPDX-License-Identifier: Apache-2.0
 * The operations of Blob as numbers, OP_<id of ops.def>: how code asks which one a request is. */
#ifndef REST_BLOB_OPS_H
#define REST_BLOB_OPS_H

#include "rest/core/op.h"

enum blob_op {
	OPS_FIRST(BLOB),
#define OP OP_ENUM
#include "rest/blob/ops.def"
#undef OP
};

#endif
