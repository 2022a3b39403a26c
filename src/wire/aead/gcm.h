/* SPDX-License-Identifier: Apache-2.0
 * AES-GCM with a nonce of 96 bits, by instructions that take four blocks at once (VAES and VPCLMULQDQ in registers of
 * 512 bits). Debian 12's OpenSSL takes one at a time: docs/decisions/0024-own-gcm.md.
 *
 * Only where gcm_is_here(); elsewhere a caller goes to OpenSSL. The time depends on lengths alone, never on keys or
 * bytes. A key may be used by several threads at once. */
#ifndef WIRE_AEAD_GCM_H
#define WIRE_AEAD_GCM_H

#include "base/err.h"
#include "base/slice.h"

enum {
	GCM_BLOCK_BYTES = 16,
	GCM_NONCE_BYTES = 12,
	GCM_TAG_BYTES = 16,
	GCM_ROUND_KEYS_MAX = 15,
	GCM_BATCH_BLOCKS = 32, /* folded together */
	GCM_POWERS = GCM_BATCH_BLOCKS + 3,
};

struct gcm_key {
	unsigned rounds;
	unsigned char round_key[GCM_ROUND_KEYS_MAX][GCM_BLOCK_BYTES];
	/* The hash key's 32nd to first power, then zeros: n blocks are multiplied by the last n powers, and what is
	 * read beyond them is nothing. */
	unsigned char power[GCM_POWERS][GCM_BLOCK_BYTES];
};

/* Does this processor have the instructions? Nothing below may be called without them. */
bool gcm_is_here(void);
void gcm_key_init(struct gcm_key *, struct slice key); /* of 16 or 32 bytes; wipe it with hash_wipe */
/* The tag over `pieces`, which are authenticated and not encrypted (GMAC). All but the last have whole blocks. */
void gcm_mac(const struct gcm_key *, const unsigned char nonce[GCM_NONCE_BYTES], const struct slice *pieces,
	     size_t count, unsigned char ret_tag[GCM_TAG_BYTES]);
/* In place. `aad` is authenticated beside the data. */
void gcm_seal(const struct gcm_key *, const unsigned char nonce[GCM_NONCE_BYTES], struct slice aad, void *data,
	      size_t len, unsigned char ret_tag[GCM_TAG_BYTES]);
/* In place. False: the tag is wrong, and what was written means nothing. */
bool gcm_open(const struct gcm_key *, const unsigned char nonce[GCM_NONCE_BYTES], struct slice aad, void *data,
	      size_t len, const unsigned char tag[GCM_TAG_BYTES]) MUST_CHECK;

#endif
