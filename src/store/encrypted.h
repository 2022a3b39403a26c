/* SPDX-License-Identifier: Apache-2.0
 * Extents whose bytes are encrypted under a key that is not kept here.
 *
 *   head     u8 version = 1, three zeros, 20 random bytes
 *   frames   at most EXTENT_FRAME_BYTES of data, encrypted, and a tag of EXTENT_TAG_BYTES; only the last is shorter
 *
 * The nonce of a frame is the head's random bytes and its number, so under one key it never comes twice. Beside the
 * data a tag vouches for the extent's id, whether the frame is the last, and whose extent it is (the cipher's
 * identity): what is cut, put elsewhere or exchanged does not verify. How many bytes of data an extent holds follows
 * from its length. Offsets of readers count data. The cipher itself is the caller's. */
#ifndef STORE_ENCRYPTED_H
#define STORE_ENCRYPTED_H

#include "base/limits.h"
#include "store/extent.h"

enum {
	EXTENT_HEAD_BYTES = 24,
	EXTENT_FRAME_BYTES = 16 * 1024,
	EXTENT_TAG_BYTES = 16,
	EXTENT_NONCE_BYTES = 24,
	EXTENT_IDENTITY_BYTES = 32,
	EXTENT_FRAMES_MAX = (LIMIT_EXTENT_BYTES - EXTENT_HEAD_BYTES) / (EXTENT_FRAME_BYTES + EXTENT_TAG_BYTES)
};

/* Any thread, several at a time. */
struct extent_cipher {
	/* Writes in.len + EXTENT_TAG_BYTES. */
	enum err (*seal)(const struct extent_cipher *, const unsigned char nonce[EXTENT_NONCE_BYTES],
			 struct slice bound, struct slice in, unsigned char *out);
	/* Writes in.len - EXTENT_TAG_BYTES. ERR_CORRUPT: not what was sealed. */
	enum err (*open)(const struct extent_cipher *, const unsigned char nonce[EXTENT_NONCE_BYTES],
			 struct slice bound, struct slice in, unsigned char *out);
	unsigned char identity[EXTENT_IDENTITY_BYTES];
};

/* Data in an encrypted extent of that length; 0 if none has it. */
uint32_t extent_data_bytes(uint32_t stored_bytes);
/* The same of an extent that is encrypted or not. */
static inline uint32_t extent_ref_data_bytes(const struct extent_ref *e, bool encrypted)
{
	return encrypted ? extent_data_bytes(e->length_bytes) : e->length_bytes;
}
/* One frame, and the head of an extent that begins. */
void extent_head_make(unsigned char head[EXTENT_HEAD_BYTES]);
enum err extent_frame_seal(const struct extent_cipher *, uint64_t extent_id,
			   const unsigned char head[EXTENT_HEAD_BYTES], uint32_t frame, bool last, struct slice data,
			   unsigned char *out) MUST_CHECK;
/* extent_read of such an extent: [offset, offset+length) of its data. */
enum err extent_read_encrypted(struct store *, const struct extent_cipher *, const struct extent_ref *, uint32_t offset,
			       uint32_t length, void *dst) MUST_CHECK;
/* Before the first append: the payload goes into encrypted extents, however short. The cipher outlives the writer. */
void payload_writer_encrypt(struct payload_writer *, const struct extent_cipher *);

#endif
