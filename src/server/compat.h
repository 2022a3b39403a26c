/* SPDX-License-Identifier: Apache-2.0
 * `zaffre compat`: docs/compat.md from the table of operations. */
#ifndef SERVER_COMPAT_H
#define SERVER_COMPAT_H

#include "base/buf.h"

void compat_print(struct buf *out);

#endif
