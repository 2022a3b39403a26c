/* SPDX-License-Identifier: Apache-2.0
 * A session's keys: signing and encryption of messages. Keys are derived once at login; the contexts belong to the
 * thread of the session's connection. */
#ifndef SMB_PROTECT_H
#define SMB_PROTECT_H

#include "wire/smb2/setup.h"

enum { PROTECT_HASH_BYTES = 64, PROTECT_KEY_BYTES = 16 };

/* What the pre-authentication hash becomes with one message more. */
void protect_hash(unsigned char hash[PROTECT_HASH_BYTES], struct slice message);

struct protect_spec {
	uint16_t dialect;
	enum smb2_signing signing;
	enum smb2_cipher cipher;
	const unsigned char *session_key; /* PROTECT_KEY_BYTES */
	const unsigned char *hash;	  /* 3.1.1: the session's, before the final answer */
	uint32_t nonce_salt;		  /* random */
	bool only_openssl;		  /* tests: as on a processor without wide instructions */
};

struct protect; /* the keys */
enum err protect_new(const struct protect_spec *, struct protect **ret) MUST_CHECK;
void protect_free(struct protect *); /* accepts NULL */
bool protect_can_encrypt(const struct protect *);

/* Writes the signature into the header at `part`, and the flag that says so. */
void protect_sign(struct protect *, char *part, size_t len);
/* A client's part. */
bool protect_verify(struct protect *, struct slice part);
/* In place: `message` becomes ciphertext, `head` its transform header. False if the nonces are used up. */
bool protect_encrypt(struct protect *, uint64_t session_id, char head[SMB2_TRANSFORM_BYTES], char *message, size_t len);
/* In place, behind its transform header. False: the tag is wrong. */
bool protect_decrypt(struct protect *, const struct smb2_transform *, char *message_with_head);

#endif
