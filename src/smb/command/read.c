/* SPDX-License-Identifier: Apache-2.0
 * READ: on a snapshot, straight into the answer. */
#include "smb/bytes.h"

void smb_do_read(struct smb_request *r)
{
	struct smb2_read in;
	if (smb2_read_parse(r->part, &in) != ERR_OK || in.length > SMB_TRANSFER_MAX || in.channel ||
	    !smb_charge_ok(r, in.length)) {
		smb_fail(r, STATUS_INVALID_PARAMETER);
		return;
	}
	struct smb_open *o = smb_open_of(r, in.id, false);
	if (!o)
		return;
	if (o->directory) {
		smb_fail(r, STATUS_INVALID_DEVICE_REQUEST);
		return;
	}
	if (!smb_open_may(r, o, SMB2_READ_DATA | SMB2_EXECUTE))
		return;
	if (in.offset > INT64_MAX || in.length > INT64_MAX - in.offset) {
		smb_fail(r, STATUS_INVALID_PARAMETER);
		return;
	}
	smb2_read_put(r->out, 0);
	size_t fixed_at = r->out->len - SMB2_READ_ANSWER_BYTES;
	uint64_t length = 0;
	char *dst = buf_reserve(r->out, in.length + 1);
	enum err e = dst ? smb_read_bytes(r, o, in.offset, in.length, dst, &length) : ERR_NO_MEMORY;
	if (e != ERR_OK) {
		smb_fail_err(r, e);
	} else if ((in.length && length == 0) || length < in.minimum) {
		smb_fail(r, STATUS_END_OF_FILE);
	} else {
		bytes_store(r->out->ptr + fixed_at + 4, length, 4);
		r->out->len += length;
		if (length == 0)
			bytes_put_u8(r->out, 0);
		o->position = in.offset + length;
		smb_reply(r, STATUS_OK);
	}
}
