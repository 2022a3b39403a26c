/* SPDX-License-Identifier: Apache-2.0
 * The PDUs that work on an open file: CLOSE, FLUSH, READ, WRITE, LOCK, IOCTL, QUERY_DIRECTORY, CHANGE_NOTIFY,
 * QUERY_INFO, SET_INFO, OPLOCK_BREAK. Only the frame of the last ones is here; what they carry is in info.h. */
#ifndef WIRE_SMB2_FILE_H
#define WIRE_SMB2_FILE_H

#include "wire/smb2/create.h"
#include "wire/smb2/header.h"

struct smb2_close {
	uint16_t flags; /* 1: answer with attributes */
	struct smb2_file_id id;
};
enum err smb2_close_parse(struct slice part, struct smb2_close *ret) MUST_CHECK;
struct smb2_close_answer {
	uint16_t flags;
	struct smb2_file_times times;
	uint64_t allocation, size;
	uint32_t attributes;
};
void smb2_close_put(struct buf *, const struct smb2_close_answer *);

enum err smb2_flush_parse(struct slice part, struct smb2_file_id *ret) MUST_CHECK;

struct smb2_read {
	uint32_t length, minimum, channel;
	uint64_t offset;
	struct smb2_file_id id;
};
enum { SMB2_READ_ANSWER_BYTES = 16 };
enum err smb2_read_parse(struct slice part, struct smb2_read *ret) MUST_CHECK;
/* The fixed part; `length` bytes of data follow. */
void smb2_read_put(struct buf *, uint32_t length);

/* Where every client puts the bytes of a WRITE, from its header on. */
enum { SMB2_WRITE_DATA_AT = 112 };
enum { SMB2_WRITE_THROUGH = 1, SMB2_WRITE_UNBUFFERED = 2 };
struct smb2_write {
	uint64_t offset;
	struct smb2_file_id id;
	uint32_t channel, flags;
	struct slice data;
};
enum err smb2_write_parse(struct slice part, struct smb2_write *ret) MUST_CHECK;
void smb2_write_put(struct buf *, uint32_t count);

enum { SMB2_LOCK_SHARED = 1, SMB2_LOCK_EXCLUSIVE = 2, SMB2_LOCK_UNLOCK = 4, SMB2_LOCK_FAIL_NOW = 0x10 };
enum { SMB2_LOCK_ELEMENT_BYTES = 24 };
struct smb2_lock {
	uint16_t count;
	uint8_t sequence_number;
	uint32_t sequence_index;
	struct smb2_file_id id;
	struct slice elements; /* count x SMB2_LOCK_ELEMENT_BYTES */
};
struct smb2_lock_element {
	uint64_t offset, length;
	uint32_t flags;
};
enum err smb2_lock_parse(struct slice part, struct smb2_lock *ret) MUST_CHECK;
struct smb2_lock_element smb2_lock_element(const struct smb2_lock *, size_t i);

struct smb2_ioctl {
	uint32_t code;
	struct smb2_file_id id;
	uint32_t max_output, flags; /* flags 1: a file system control */
	struct slice input;
};
enum err smb2_ioctl_parse(struct slice part, struct smb2_ioctl *ret) MUST_CHECK;
void smb2_ioctl_put(struct buf *, uint32_t code, struct smb2_file_id, struct slice output);

/* An entry of FSCTL_QUERY_NETWORK_INTERFACE_INFO's answer. */
enum { SMB2_INTERFACE_BYTES = 152, SMB2_INTERFACES_ALIGN = 16 /* the service pads the whole so */ };
struct smb2_interface {
	uint32_t index;
	uint64_t bits_per_second;
	struct slice address; /* 4 or 16 bytes */
};
void smb2_interface_put(struct buf *, const struct smb2_interface *, bool last);

enum { SMB2_FIND_RESTART = 1, SMB2_FIND_SINGLE = 2, SMB2_FIND_REOPEN = 0x10 };
struct smb2_query_directory {
	uint8_t info_class, flags;
	struct smb2_file_id id;
	struct slice pattern; /* UTF-16LE */
	uint32_t output_length;
};
enum err smb2_query_directory_parse(struct slice part, struct smb2_query_directory *ret) MUST_CHECK;

struct smb2_change_notify {
	bool tree;
	uint32_t output_length, filter;
	struct smb2_file_id id;
};
enum err smb2_change_notify_parse(struct slice part, struct smb2_change_notify *ret) MUST_CHECK;

enum smb2_info_type { SMB2_INFO_FILE = 1, SMB2_INFO_FS = 2, SMB2_INFO_SECURITY = 3, SMB2_INFO_QUOTA = 4 };
struct smb2_query_info {
	uint8_t type, info_class;
	uint32_t output_length, additional;
	struct smb2_file_id id;
	struct slice input;
};
enum err smb2_query_info_parse(struct slice part, struct smb2_query_info *ret) MUST_CHECK;

/* The answers of QUERY_DIRECTORY, CHANGE_NOTIFY and QUERY_INFO have one form. */
void smb2_output_put(struct buf *, struct slice data);

struct smb2_set_info {
	uint8_t type, info_class;
	uint32_t additional;
	struct smb2_file_id id;
	struct slice input;
};
enum err smb2_set_info_parse(struct slice part, struct smb2_set_info *ret) MUST_CHECK;
void smb2_set_info_put(struct buf *);

/* An acknowledgement of an oplock's or of a lease's break, and its answer of the same form. */
struct smb2_break {
	bool lease;
	uint8_t level;		/* oplock */
	struct smb2_file_id id; /* oplock */
	unsigned char key[16];	/* lease */
	uint32_t state;		/* lease */
};
enum err smb2_break_parse(struct slice part, struct smb2_break *ret) MUST_CHECK;
void smb2_break_put(struct buf *, const struct smb2_break *);

/* What the server sends unasked. */
void smb2_oplock_notice_put(struct buf *, uint8_t level, struct smb2_file_id);
struct smb2_lease_notice {
	uint16_t epoch;
	bool acknowledge;
	unsigned char key[16];
	uint32_t current, next;
};
void smb2_lease_notice_put(struct buf *, const struct smb2_lease_notice *);

#endif
