/* SPDX-License-Identifier: Apache-2.0
 * IOCTL: file system controls, by code. What the service does not know is refused as it refuses it. */
#include "smb/smb_int.h"

enum { IOCTL_IS_FSCTL = 1 };
#define FSCTL_VALIDATE_NEGOTIATE_INFO UINT32_C(0x00140204)
#define FSCTL_DFS_GET_REFERRALS	      UINT32_C(0x00060194)
#define FSCTL_DFS_GET_REFERRALS_EX    UINT32_C(0x000601B0)

void smb_do_ioctl(struct smb_request *r)
{
	struct smb2_ioctl io;
	if (smb2_ioctl_parse(r->part, &io) != ERR_OK || io.max_output > SMB_TRANSFER_MAX ||
	    !smb_charge_ok(r, io.input.len > io.max_output ? io.input.len : io.max_output)) {
		smb_fail(r, STATUS_INVALID_PARAMETER);
		return;
	}
	if (io.flags != IOCTL_IS_FSCTL) {
		smb_fail(r, STATUS_NOT_SUPPORTED);
		return;
	}
	switch (io.code) {
	case FSCTL_VALIDATE_NEGOTIATE_INFO:
		if (!(r->is_signed || r->chain->encrypted) || !smb_validate_negotiate(r, &io)) {
			smb_conn_close(r->conn);
			smb_fail(r, STATUS_ACCESS_DENIED);
		}
		return;
	case FSCTL_DFS_GET_REFERRALS:
	case FSCTL_DFS_GET_REFERRALS_EX:
		smb_fail(r, STATUS_FS_DRIVER_REQUIRED);
		return;
	default:
		smb_fail(r, STATUS_INVALID_DEVICE_REQUEST);
	}
}
