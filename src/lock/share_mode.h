/* SPDX-License-Identifier: Apache-2.0
 * Access and share mode of an open: who may have a file open beside whom. Bits are those of the SMB wire, so that both
 * doors speak of the same thing; a REST operation is a momentary open (rest_table.h). Pure functions. */
#ifndef LOCK_SHARE_MODE_H
#define LOCK_SHARE_MODE_H

#include <stdbool.h>
#include <stdint.h>

enum {
	ACCESS_READ_DATA = 0x1, /* of a directory: list */
	ACCESS_WRITE_DATA = 0x2,
	ACCESS_APPEND_DATA = 0x4,
	ACCESS_READ_EA = 0x8,
	ACCESS_WRITE_EA = 0x10,
	ACCESS_EXECUTE = 0x20,
	ACCESS_DELETE_CHILD = 0x40,
	ACCESS_READ_ATTRIBUTES = 0x80,
	ACCESS_WRITE_ATTRIBUTES = 0x100,
	ACCESS_DELETE = 0x10000,
	ACCESS_READ_CONTROL = 0x20000,
	ACCESS_WRITE_DAC = 0x40000,
	ACCESS_WRITE_OWNER = 0x80000,
	ACCESS_SYNCHRONIZE = 0x100000,
	ACCESS_ALL = 0x1F01FF,

	ACCESS_ANY_READ = ACCESS_READ_DATA | ACCESS_EXECUTE,
	ACCESS_ANY_WRITE = ACCESS_WRITE_DATA | ACCESS_APPEND_DATA,
	/* Only opens with one of these take part in the share check. */
	ACCESS_SHARED = ACCESS_ANY_READ | ACCESS_ANY_WRITE | ACCESS_DELETE,
};

enum { SHARE_READ = 1, SHARE_WRITE = 2, SHARE_DELETE = 4, SHARE_ALL = 7 };

/* May the two be open at once? Each one's access is held against what the other shares. */
bool lock_share_conflicts(uint32_t access_a, uint32_t share_a, uint32_t access_b, uint32_t share_b);

/* Looks at attributes only: breaks no oplock and does not stand in the way of one. Leases let READ_CONTROL pass too. */
bool lock_share_is_stat_open(uint32_t access);
bool lock_share_is_lease_stat_open(uint32_t access);

#endif
