/* SPDX-License-Identifier: Apache-2.0
 * From the program's errors to NTSTATUS: errors.def has one for what SMB can meet, the rest is said here. */
#include "smb/smb_int.h"

uint32_t smb_status_of(enum err e)
{
	switch (e) {
	case ERR_OK:
		return STATUS_OK;
	case ERR_SYNTAX:
		return STATUS_INVALID_PARAMETER;
	case ERR_NO_MEMORY:
	case ERR_BUSY:
	case ERR_LIMIT:
		return STATUS_INSUFFICIENT_RESOURCES;
	case ERR_NO_SPACE:
	case ERR_QUOTA_REACHED:
		return STATUS_DISK_FULL;
	case ERR_NOT_FOUND:
		return STATUS_OBJECT_NAME_NOT_FOUND;
	default: {
		uint32_t status = err_info(e)->ntstatus;
		return status ? status : STATUS_INTERNAL_ERROR;
	}
	}
}
