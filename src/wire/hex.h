/* SPDX-License-Identifier: Apache-2.0
 * Hexadecimal text of bytes. */
#ifndef WIRE_HEX_H
#define WIRE_HEX_H

#include "base/buf.h"

void hex_encode_lower(struct buf *, struct slice raw);
void hex_encode_upper(struct buf *, struct slice raw);
/* Exactly 2 * len digits of either case; false (dst undefined) if not. */
bool hex_decode_exact(struct slice text, void *dst, size_t len);
/* 1..16 digits of either case, nothing else. */
bool hex_to_u64(struct slice text, uint64_t *ret);

#endif
