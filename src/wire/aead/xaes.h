/* SPDX-License-Identifier: Apache-2.0
 * XAES-256-GCM (C2SP): AES-256-GCM with nonces of 24 bytes, which may be random. */
#ifndef WIRE_XAES_H
#define WIRE_XAES_H

#include "base/err.h"
#include "base/slice.h"

enum { XAES_KEY_BYTES = 32, XAES_NONCE_BYTES = 24, XAES_TAG_BYTES = 16 };

/* Writes in.len + XAES_TAG_BYTES. `bound` is vouched for and not written. */
enum err xaes_seal(const unsigned char key[XAES_KEY_BYTES], const unsigned char nonce[XAES_NONCE_BYTES],
		   struct slice bound, struct slice in, unsigned char *out) MUST_CHECK;
/* Writes in.len - XAES_TAG_BYTES. ERR_CORRUPT: another key, nonce, bound or bytes; what is in out then is zeros. */
enum err xaes_open(const unsigned char key[XAES_KEY_BYTES], const unsigned char nonce[XAES_NONCE_BYTES],
		   struct slice bound, struct slice in, unsigned char *out) MUST_CHECK;

#endif
