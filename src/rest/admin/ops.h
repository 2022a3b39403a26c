/* SPDX-License-Identifier: Apache-2.0
 * The operations of the admin listener as numbers, OP_<id of ops.def>: how code asks which one a request is. */
#ifndef REST_ADMIN_OPS_H
#define REST_ADMIN_OPS_H

#include "rest/core/op.h"

enum admin_op {
	OPS_FIRST(ADMIN),
#define OP OP_ENUM
#include "rest/admin/ops.def"
#undef OP
};

#endif
