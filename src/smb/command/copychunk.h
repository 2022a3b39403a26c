/* SPDX-License-Identifier: Apache-2.0
 * FSCTL_SRV_COPYCHUNK: the server copies ranges from one open to another. */
#ifndef SMB_COPYCHUNK_H
#define SMB_COPYCHUNK_H

#include "smb/opens.h"

/* `read_too`: the target must be open for reading as well. */
void smb_copychunk(struct smb_request *, const struct smb2_ioctl *, bool read_too);

#endif
