/* SPDX-License-Identifier: Apache-2.0
 * The operations of File as numbers, OP_<id of ops.def>: how code asks which one a request is. */
#ifndef REST_FILE_OPS_H
#define REST_FILE_OPS_H

#include "rest/core/op.h"

enum file_op {
	OPS_FIRST(FILE),
#define OP OP_ENUM
#include "rest/file/ops.def"
#undef OP
};

#endif
