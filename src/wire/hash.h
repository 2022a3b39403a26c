/* SPDX-License-Identifier: Apache-2.0
 * Hashes of bodies and signatures. All state is a plain value that may be copied and dropped; nothing is allocated.
 * A prepared HMAC key is read-only after hash_hmac_key_init, so threads share it. */
#ifndef WIRE_HASH_H
#define WIRE_HASH_H

#include "base/buf.h"

enum { HASH_MD5_BYTES = 16, HASH_SHA256_BYTES = 32 };

struct hash_md5 {
	uint64_t state[12];
};
void hash_md5_init(struct hash_md5 *);
void hash_md5_update(struct hash_md5 *, struct slice);
/* The state is used up; init again. */
void hash_md5_final(struct hash_md5 *, unsigned char dst[HASH_MD5_BYTES]);
void hash_md5(struct slice, unsigned char dst[HASH_MD5_BYTES]);

/* The next bytes of several streams, hashed side by side: up to 16 cost little more than one. A state appears once. The
 * slices are used up. */
struct hash_md5_piece {
	struct hash_md5 *state;
	struct slice bytes;
};
void hash_md5_update_many(struct hash_md5_piece *, size_t count);
/* The same on a unit of one's choice, which must be there; for tests and measurements. */
enum hash_md5_unit { HASH_MD5_SCALAR, HASH_MD5_SSE2, HASH_MD5_AVX2, HASH_MD5_AVX512 };
enum hash_md5_unit hash_md5_best_unit(void);
void hash_md5_update_many_on(enum hash_md5_unit, struct hash_md5_piece *, size_t count);

struct hash_sha256 {
	uint64_t state[14];
};
void hash_sha256_init(struct hash_sha256 *);
void hash_sha256_update(struct hash_sha256 *, struct slice);
void hash_sha256_final(struct hash_sha256 *, unsigned char dst[HASH_SHA256_BYTES]);
void hash_sha256(struct slice, unsigned char dst[HASH_SHA256_BYTES]);

/* HMAC-SHA256: the key's two blocks are hashed once. Wipe what held a key with hash_wipe. */
struct hash_hmac_key {
	struct hash_sha256 inner, outer;
};
void hash_hmac_key_init(struct hash_hmac_key *, struct slice key);
void hash_hmac(const struct hash_hmac_key *, struct slice message, unsigned char dst[HASH_SHA256_BYTES]);
void hash_wipe(void *secret, size_t len);

/* CRC-64/NVME, what x-ms-content-crc64 is. Start with 0, feed the result on. */
uint64_t hash_crc64(uint64_t crc, struct slice);
/* The same by tables, on every processor; for tests and as the fallback. */
uint64_t hash_crc64_portable(uint64_t crc, struct slice);
/* The header form: base64 of the eight bytes, lowest first. */
enum { HASH_CRC64_TEXT_BYTES = 12 };
void hash_crc64_format(uint64_t crc, char dst[HASH_CRC64_TEXT_BYTES]);
bool hash_crc64_parse(struct slice text, uint64_t *ret);

#endif
