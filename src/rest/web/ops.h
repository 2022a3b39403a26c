/* SPDX-License-Identifier: Apache-2.0
 * The operations of Web as numbers, OP_<id of ops.def>: how code asks which one a request is. */
#ifndef REST_WEB_OPS_H
#define REST_WEB_OPS_H

#include "rest/core/op.h"

enum web_op {
	OPS_FIRST(WEB),
#define OP OP_ENUM
#include "rest/web/ops.def"
#undef OP
};

#endif
