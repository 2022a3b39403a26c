/* SPDX-License-Identifier: Apache-2.0
 * What the embedded requests of a batch share with those of a connection. Not for other rooms. */
#ifndef WIRE_HTTP1_INT_H
#define WIRE_HTTP1_INT_H

#include "wire/http/http1.h"

enum { HTTP_METHOD_BYTES_MAX = 32 };

enum http_method http_method_of(struct slice text);
/* From head->method and head->target (not empty) to path, query (absent if none) and, of an absolute-form target,
 * *ret_authority. False: no target of a request. */
bool http_target_split(struct http_head *, struct slice *ret_authority);

#endif
