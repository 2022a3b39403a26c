/* SPDX-License-Identifier: Apache-2.0
 * UTF-16LE, as SMB and NTLM write text, and UTF-8. A lone surrogate or malformed UTF-8 is ERR_SYNTAX. */
#ifndef WIRE_UTF16_H
#define WIRE_UTF16_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"

/* The result is in the arena; ERR_NO_MEMORY if it has no room. An odd length is ERR_SYNTAX. */
enum err utf16_to_utf8(struct slice utf16, struct arena *, struct slice *ret) MUST_CHECK;
enum err utf16_from_utf8(struct slice utf8, struct arena *, struct slice *ret) MUST_CHECK;
/* Appends; malformed UTF-8 becomes U+FFFD, because what is stored was checked when it came. */
void utf16_put(struct buf *, struct slice utf8);

#endif
