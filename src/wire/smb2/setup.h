/* SPDX-License-Identifier: Apache-2.0
 * The PDUs before a file is touched: NEGOTIATE (SMB1's form too), SESSION_SETUP, LOGOFF, TREE_CONNECT,
 * TREE_DISCONNECT, ECHO. Errors as header.h says, unless a function says more. */
#ifndef WIRE_SMB2_SETUP_H
#define WIRE_SMB2_SETUP_H

#include "wire/smb2/header.h"

enum {
	SMB2_GUID_BYTES = 16,
	SMB2_MODE_SIGNING_ENABLED = 1,
	SMB2_MODE_SIGNING_REQUIRED = 2,
	SMB2_CAP_LEASING = 0x2,
	SMB2_CAP_LARGE_MTU = 0x4,
	SMB2_CAP_PERSISTENT_HANDLES = 0x10,
	SMB2_CAP_ENCRYPTION = 0x40,
	SMB2_HASH_SHA512 = 1,
	SMB2_DIALECTS_MAX = 64, /* a client that names more is not one */
	SMB2_CONTEXTS_MAX = 32,
	SMB2_ALGORITHMS_MAX = 32,
};

enum smb2_cipher {
	SMB2_CIPHER_NONE,
	SMB2_CIPHER_AES128_CCM,
	SMB2_CIPHER_AES128_GCM,
	SMB2_CIPHER_AES256_CCM,
	SMB2_CIPHER_AES256_GCM,
	SMB2_CIPHERS
};
enum smb2_signing { SMB2_SIGN_HMAC_SHA256, SMB2_SIGN_AES_CMAC, SMB2_SIGN_AES_GMAC, SMB2_SIGNINGS };

struct smb2_algorithms {
	bool present;
	uint16_t count;
	uint16_t id[SMB2_ALGORITHMS_MAX]; /* in the client's order; what does not fit is not known anyway */
};

struct smb2_negotiate {
	uint16_t dialect_count;
	uint16_t dialect[SMB2_DIALECTS_MAX];
	uint16_t security_mode;
	uint32_t capabilities;
	unsigned char client_guid[SMB2_GUID_BYTES];
	/* Contexts, looked at only if 3.1.1 is among the dialects. */
	bool has_sha512; /* exactly one pre-authentication context was there, as the specification demands */
	struct smb2_algorithms ciphers, signings;
};
enum err smb2_negotiate_parse(struct slice part, struct smb2_negotiate *ret) MUST_CHECK;

struct smb2_negotiate_answer {
	uint16_t security_mode, dialect;
	unsigned char server_guid[SMB2_GUID_BYTES];
	uint32_t capabilities, max_transact, max_read, max_write;
	uint64_t system_time;
	struct slice token; /* the first SPNEGO token, may be empty */
	/* 3.1.1: contexts */
	unsigned char salt[32];
	bool has_cipher, has_signing;
	uint16_t cipher, signing;
};
void smb2_negotiate_put(struct buf *, const struct smb2_negotiate_answer *);

/* The SMB1 multi-protocol negotiate; true if it offers "SMB 2.???". */
bool smb2_smb1_offers_smb2(struct slice message);

struct smb2_session_setup {
	uint8_t flags; /* 1 = binding */
	uint8_t security_mode;
	uint64_t previous_session_id;
	struct slice token;
};
enum err smb2_session_setup_parse(struct slice part, struct smb2_session_setup *ret) MUST_CHECK;
enum { SMB2_SESSION_ENCRYPT = 4, SMB2_SESSION_BINDING = 1 };
void smb2_session_setup_put(struct buf *, uint16_t session_flags, struct slice token);

/* The path is UTF-16LE, as sent. */
enum err smb2_tree_connect_parse(struct slice part, struct slice *ret_path) MUST_CHECK;
struct smb2_tree_answer {
	uint8_t share_type; /* 1 disk, 2 pipe */
	uint32_t share_flags, capabilities, maximal_access;
};
enum { SMB2_SHARE_DISK = 1, SMB2_SHARE_PIPE = 2, SMB2_SHAREFLAG_ENCRYPT = 0x8000, SMB2_SHARE_CAP_CA = 0x10 };
void smb2_tree_connect_put(struct buf *, const struct smb2_tree_answer *);

/* LOGOFF, TREE_DISCONNECT, ECHO, and the answers of these, of FLUSH and LOCK: two bytes of size, two of nothing. */
enum err smb2_empty_parse(struct slice part) MUST_CHECK;
void smb2_empty_put(struct buf *);

#endif
