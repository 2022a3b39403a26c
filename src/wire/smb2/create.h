/* SPDX-License-Identifier: Apache-2.0
 * CREATE and its contexts. The parser reads every context before anything is done; unknown ones are skipped, a known
 * one of a wrong length is ERR_SYNTAX. */
#ifndef WIRE_SMB2_CREATE_H
#define WIRE_SMB2_CREATE_H

#include "wire/smb2/header.h"

enum smb2_oplock_level {
	SMB2_OPLOCK_NONE = 0,
	SMB2_OPLOCK_II = 1,
	SMB2_OPLOCK_EXCLUSIVE = 8,
	SMB2_OPLOCK_BATCH = 9,
	SMB2_OPLOCK_LEASE = 0xFF,
};
enum { SMB2_LEASE_READ = 1, SMB2_LEASE_HANDLE = 2, SMB2_LEASE_WRITE = 4 };
enum { SMB2_LEASE_BREAKING = 2, SMB2_LEASE_PARENT_KEY = 4 };
enum { SMB2_DURABLE_PERSISTENT = 2 };

enum smb2_disposition {
	SMB2_SUPERSEDE,
	SMB2_OPEN,
	SMB2_CREATE_NEW,
	SMB2_OPEN_IF,
	SMB2_OVERWRITE,
	SMB2_OVERWRITE_IF,
	SMB2_DISPOSITIONS
};

enum {
	SMB2_OPTION_DIRECTORY = 0x1,
	SMB2_OPTION_WRITE_THROUGH = 0x2,
	SMB2_OPTION_NO_BUFFERING = 0x8,
	SMB2_OPTION_NON_DIRECTORY = 0x40,
	SMB2_OPTION_DELETE_ON_CLOSE = 0x1000,
};

/* Bits of an access mask. */
enum {
	SMB2_READ_DATA = 0x1,
	SMB2_WRITE_DATA = 0x2,
	SMB2_APPEND_DATA = 0x4,
	SMB2_EXECUTE = 0x20,
	SMB2_READ_ATTRIBUTES = 0x80,
	SMB2_WRITE_ATTRIBUTES = 0x100,
	SMB2_DELETE = 0x10000,
	SMB2_READ_CONTROL = 0x20000,
	SMB2_WRITE_DAC = 0x40000,
	SMB2_WRITE_OWNER = 0x80000,
	SMB2_SYSTEM_SECURITY = 0x1000000,
	SMB2_MAXIMUM_ALLOWED = 0x2000000,
	SMB2_ALL_ACCESS = 0x1F01FF,
	SMB2_READ_AND_EXECUTE = 0x1200A9, /* all that changes nothing */
};

struct smb2_lease_context {
	bool present;
	bool v2;
	unsigned char key[16], parent_key[16];
	uint32_t state, flags;
	uint16_t epoch;
};

struct smb2_create {
	uint8_t oplock;
	uint32_t impersonation, access, attributes, share, disposition, options;
	struct slice name; /* UTF-16LE */
	/* contexts */
	bool wants_maximal_access, wants_file_id, has_allocation, has_snapshot, has_eas;
	uint64_t allocation, snapshot_time;
	struct slice security; /* absent if not given */
	struct smb2_lease_context lease;
	bool durable, reconnect; /* version 1 */
	bool durable_v2, reconnect_v2;
	struct smb2_file_id reconnect_id;
	uint32_t durable_timeout_ms, durable_flags;
	unsigned char create_guid[16];
};
enum err smb2_create_parse(struct slice part, struct smb2_create *ret) MUST_CHECK;

struct smb2_file_times {
	uint64_t creation, access, write, change;
};

struct smb2_create_answer {
	uint8_t oplock;
	uint32_t action;
	struct smb2_file_times times;
	uint64_t allocation, size;
	uint32_t attributes;
	struct smb2_file_id id;
	/* contexts */
	bool has_maximal_access, has_file_id, durable, durable_v2;
	uint32_t maximal_access;
	uint64_t disk_id, volume_id;
	uint32_t durable_timeout_ms, durable_flags;
	struct smb2_lease_context lease;
};
void smb2_create_put(struct buf *, const struct smb2_create_answer *);

#endif
