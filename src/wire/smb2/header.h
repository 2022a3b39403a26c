/* SPDX-License-Identifier: Apache-2.0
 * The SMB2 header, the transform header of an encrypted message, and the shape that all bodies share.
 *
 * Offsets in fields count from the first byte of the header of the part they stand in; a part is one request of a
 * compound message, from its header to the next one's or to the end of the message. Parsers look only inside the part
 * and return slices into it. Bytes behind the last field are legal. ERR_SYNTAX is the one error: the structure size is
 * wrong, or a field leaves the part. */
#ifndef WIRE_SMB2_HEADER_H
#define WIRE_SMB2_HEADER_H

#include "base/bytes.h"
#include "base/err.h"

enum {
	SMB2_HEADER_BYTES = 64,
	SMB2_TRANSFORM_BYTES = 52,
	SMB2_TRANSFORM_FIRST = 0xFD, /* its first byte, and of no other message */
	SMB2_TRANSFORM_AAD_AT = 20,  /* from here to the end it is authenticated */
	SMB2_SIGNATURE_BYTES = 16,
	SMB2_SIGNATURE_AT = 48,
	SMB2_NEXT_AT = 20,
	SMB2_CREDITS_AT = 14,
	SMB2_FLAGS_AT = 16,
	SMB2_TCP_PREFIX_BYTES = 4,
};

enum smb2_command {
	SMB2_NEGOTIATE,
	SMB2_SESSION_SETUP,
	SMB2_LOGOFF,
	SMB2_TREE_CONNECT,
	SMB2_TREE_DISCONNECT,
	SMB2_CREATE,
	SMB2_CLOSE,
	SMB2_FLUSH,
	SMB2_READ,
	SMB2_WRITE,
	SMB2_LOCK,
	SMB2_IOCTL,
	SMB2_CANCEL,
	SMB2_ECHO,
	SMB2_QUERY_DIRECTORY,
	SMB2_CHANGE_NOTIFY,
	SMB2_QUERY_INFO,
	SMB2_SET_INFO,
	SMB2_OPLOCK_BREAK,
	SMB2_COMMANDS
};

enum {
	SMB2_FLAG_RESPONSE = 0x1,
	SMB2_FLAG_ASYNC = 0x2,
	SMB2_FLAG_RELATED = 0x4,
	SMB2_FLAG_SIGNED = 0x8,
	SMB2_FLAG_PRIORITY = 0x70,
	SMB2_FLAG_REPLAY = 0x20000000,
};

enum smb2_dialect {
	SMB2_DIALECT_210 = 0x0210,
	SMB2_DIALECT_WILDCARD = 0x02FF,
	SMB2_DIALECT_300 = 0x0300,
	SMB2_DIALECT_302 = 0x0302,
	SMB2_DIALECT_311 = 0x0311,
};

struct smb2_header {
	uint16_t credit_charge;
	uint32_t status; /* request, 3.x: the low half is the channel sequence */
	uint16_t command;
	uint16_t credits; /* asked or granted */
	uint32_t flags;
	uint32_t next; /* 0 = last part */
	uint64_t message_id;
	uint32_t reserved; /* echoed */
	uint32_t tree_id;  /* this and reserved are the async id with SMB2_FLAG_ASYNC */
	uint64_t session_id;
	unsigned char signature[SMB2_SIGNATURE_BYTES];
};

static inline uint64_t smb2_header_async_id(const struct smb2_header *h)
{
	return (uint64_t)h->tree_id << 32 | h->reserved;
}

/* An open as the client names it; both halves must match. All ones: that of the part before. */
struct smb2_file_id {
	uint64_t persistent, volatile_;
};
#define SMB2_FILE_ID_NONE ((struct smb2_file_id){ UINT64_MAX, UINT64_MAX })
static inline bool smb2_file_id_is_none(struct smb2_file_id id)
{
	return id.persistent == UINT64_MAX && id.volatile_ == UINT64_MAX;
}

/* The first bytes of a message tell what it is. */
enum smb2_message { SMB2_MESSAGE_PLAIN, SMB2_MESSAGE_TRANSFORM, SMB2_MESSAGE_SMB1, SMB2_MESSAGE_OTHER };
enum smb2_message smb2_message_kind(struct slice message);

/* `part` may be longer than the header. */
enum err smb2_header_parse(struct slice part, struct smb2_header *ret) MUST_CHECK;
void smb2_header_put(struct buf *, const struct smb2_header *);

struct smb2_transform {
	unsigned char tag[SMB2_SIGNATURE_BYTES];
	unsigned char nonce[16];
	uint32_t size; /* of the plain message that follows */
	uint16_t flags;
	uint64_t session_id;
};
/* Refuses flags other than "encrypted" and a size that is not what follows. */
enum err smb2_transform_parse(struct slice message, struct smb2_transform *ret) MUST_CHECK;
void smb2_transform_write(char dst[SMB2_TRANSFORM_BYTES], const struct smb2_transform *);

/* The fixed part of a request's body, if it has its structure size (odd ones count one byte of what follows). */
enum err smb2_body(struct slice part, size_t structure_size, struct slice *ret) MUST_CHECK;
/* `length` bytes at `offset` of the part, not before its body's fixed part ends; an empty field may have any offset. */
enum err smb2_field(struct slice part, size_t body_bytes, uint64_t offset, uint64_t length,
		    struct slice *ret) MUST_CHECK;
static inline uint16_t smb2_u16(struct slice s, size_t at)
{
	return (uint16_t)bytes_load(s.ptr + at, 2);
}
static inline uint32_t smb2_u32(struct slice s, size_t at)
{
	return (uint32_t)bytes_load(s.ptr + at, 4);
}
static inline uint64_t smb2_u64(struct slice s, size_t at)
{
	return bytes_load(s.ptr + at, 8);
}
struct smb2_file_id smb2_file_id_load(struct slice s, size_t at);
void smb2_file_id_put(struct buf *, struct smb2_file_id);
void smb2_zeros_put(struct buf *, size_t count);
/* Zero bytes until `len - from` is a multiple of `unit`. */
void smb2_pad(struct buf *, size_t from, size_t unit);

/* The body of an error, of an interim answer too. */
void smb2_error_put(struct buf *, struct slice data);

#endif
