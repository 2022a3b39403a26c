/* SPDX-License-Identifier: Apache-2.0
 * Bytes of files, for READ, WRITE and copies. */
#ifndef SMB_BYTES_H
#define SMB_BYTES_H

#include "smb/opens.h"

/* What the file has of [offset, offset + length) through this open. Nothing behind its end: *ret_length 0. */
enum err smb_read_bytes(struct smb_request *, const struct smb_open *, uint64_t offset, uint32_t length, char *dst,
			uint64_t *ret_length) MUST_CHECK;
/* `data` must live until the payload ends. */
enum err smb_payload_make(struct smb_request *, struct slice data, struct payload *ret) MUST_CHECK;
/* After the commit that should have named it. */
void smb_payload_end(struct smb_request *, struct payload *, enum err result);
void smb_write_fill(struct file_open_write_call *, const struct smb_open *, uint64_t offset, uint64_t length,
		    const struct payload *);

#endif
