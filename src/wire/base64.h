/* SPDX-License-Identifier: Apache-2.0
 * Base64 (RFC 4648). Encoding is padded. Decoding is strict in alphabet, length and padding: no blanks, no line ends,
 * nothing behind the padding. Bits that the last character has too many are ignored, as the service does: clients do
 * send block ids such as "block1==". The URL form is for tokens: '-' and '_', no padding allowed. */
#ifndef WIRE_BASE64_H
#define WIRE_BASE64_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"

#define BASE64_BYTES(raw_bytes) (((raw_bytes) + 2) / 3 * 4)

/* Writes BASE64_BYTES(raw.len) characters, no NUL. */
void base64_encode_to(char *dst, struct slice raw);
void base64_encode(struct buf *, struct slice raw);
/* ERR_SYNTAX or ERR_NO_MEMORY. An empty text is an empty result. */
enum err base64_decode(struct slice text, struct arena *, struct slice *ret) MUST_CHECK;
enum err base64url_decode(struct slice text, struct arena *, struct slice *ret) MUST_CHECK;
/* Decodes into dst if the result has exactly `len` bytes; false (dst undefined) if not. */
bool base64_decode_exact(struct slice text, void *dst, size_t len);

#endif
