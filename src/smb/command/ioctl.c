/* SPDX-License-Identifier: Apache-2.0
 * IOCTL: file system controls, by code. What the service does not know is refused as it refuses it. */
#include "smb/opens.h"

#include <time.h>

#include "smb/command/copychunk.h"
#include "svc/file/share.h"
#include "wire/utf16.h"

enum {
	IOCTL_IS_FSCTL = 1,
	RESUME_ANSWER_BYTES = 32,
	OBJECT_ID_BYTES = 64,
	SNAPSHOT_HEAD_BYTES = 12,
	SNAPSHOT_LEAST_BYTES = 16
};
#define INTERFACE_BITS_PER_SECOND     UINT64_C(10000000000) /* nobody measures it */
#define FSCTL_DFS_GET_REFERRALS	      UINT32_C(0x00060194)
#define FSCTL_DFS_GET_REFERRALS_EX    UINT32_C(0x000601B0)
#define FSCTL_GET_COMPRESSION	      UINT32_C(0x0009003C)
#define FSCTL_SET_COMPRESSION	      UINT32_C(0x0009C040)
#define FSCTL_CREATE_OR_GET_OBJECT_ID UINT32_C(0x000900C0)
#define FSCTL_REQUEST_RESUME_KEY      UINT32_C(0x00140078)
#define FSCTL_NETWORK_INTERFACE_INFO  UINT32_C(0x001401FC)
#define FSCTL_VALIDATE_NEGOTIATE_INFO UINT32_C(0x00140204)
#define FSCTL_COPYCHUNK		      UINT32_C(0x001440F2)
#define FSCTL_ENUMERATE_SNAPSHOTS     UINT32_C(0x00144064)
#define FSCTL_COPYCHUNK_WRITE	      UINT32_C(0x001480F2)

static void answer(struct smb_request *r, const struct smb2_ioctl *io, struct slice output)
{
	smb2_ioctl_put(r->out, io->code, r->open->id, output);
	smb_reply(r, STATUS_OK);
}

static void resume_key(struct smb_request *r, const struct smb2_ioctl *io)
{
	char key[RESUME_ANSWER_BYTES] = { 0 };
	if (io->max_output < RESUME_ANSWER_BYTES) {
		smb_fail(r, STATUS_INVALID_PARAMETER);
		return;
	}
	bytes_store(key, r->open->id.persistent, 8);
	bytes_store(key + 8, r->open->id.volatile_, 8);
	answer(r, io, slice_make(key, sizeof key));
}

/* The id by which link tracking finds a file again: share and file, and the same as those of its birth. The service
 * has none; smbtorture's compound.related3 and replay.channel-sequence ask for one, and must pass. */
static void object_id(struct smb_request *r, const struct smb2_ioctl *io)
{
	char id[OBJECT_ID_BYTES] = { 0 };
	if (io->max_output < OBJECT_ID_BYTES) {
		smb_fail(r, STATUS_INVALID_PARAMETER);
		return;
	}
	for (size_t at = 0; at <= 32; at += 32) {
		bytes_store(id + at, r->open->handle.inode_id, 8);
		bytes_store(id + at + 8, r->tree->generation, 8);
	}
	answer(r, io, slice_make(id, sizeof id));
}

static void compression_get(struct smb_request *r, const struct smb2_ioctl *io)
{
	if (io->max_output < 2)
		smb_fail(r, STATUS_INVALID_PARAMETER);
	else
		answer(r, io, slice_make("\0\0", 2)); /* none */
}

static void compression_set(struct smb_request *r, const struct smb2_ioctl *io)
{
	if (io->input.len < 2)
		smb_fail(r, STATUS_INVALID_PARAMETER);
	else if (smb2_u16(io->input, 0) != 0)
		smb_fail(r, STATUS_NOT_SUPPORTED);
	else
		answer(r, io, SLICE(""));
}

static void snapshot_name_put(struct buf *b, uint64_t ticks)
{
	char text[32];
	time_t seconds = (time_t)((int64_t)(ticks - TICKS_UNIX_EPOCH) / (int64_t)TICKS_PER_SECOND);
	struct tm tm;
	gmtime_r(&seconds, &tm);
	size_t len = strftime(text, sizeof text, "@GMT-%Y.%m.%d-%H.%M.%S", &tm);
	utf16_put(b, slice_make(text, len));
	bytes_put_u16(b, 0);
}

/* Newest first. A client asks with 16 bytes of room for the counts alone. */
static void snapshots(struct smb_request *r, const struct smb2_ioctl *io)
{
	struct share_snapshots_call list = { 0 };
	struct buf b;
	if (io->max_output < SNAPSHOT_LEAST_BYTES) {
		smb_fail(r, STATUS_INVALID_PARAMETER);
		return;
	}
	enum err e = smb_look(r, share_apply_list_snapshots, &list);
	if (e != ERR_OK) {
		smb_fail_err(r, e);
		return;
	}
	buf_init(&b, SMB_TRANSFER_MAX);
	smb2_zeros_put(&b, SNAPSHOT_HEAD_BYTES);
	for (size_t i = list.count; i > 0; i--)
		snapshot_name_put(&b, list.snapshot[i - 1].ticks);
	bytes_put_u16(&b, 0);
	if (buf_ok(&b)) {
		size_t names = b.len - SNAPSHOT_HEAD_BYTES;
		bool fits = b.len <= io->max_output;
		bytes_store(b.ptr, list.count, 4);
		bytes_store(b.ptr + 4, fits ? list.count : 0, 4);
		bytes_store(b.ptr + 8, names, 4);
		if (!fits) {
			b.len = SNAPSHOT_HEAD_BYTES;
			bytes_put_u32(&b, 0);
		}
		answer(r, io, buf_slice(&b));
	} else {
		smb_fail(r, STATUS_INSUFFICIENT_RESOURCES);
	}
	buf_fini(&b);
}

/* Of 3.x, asked without a file: the address that the client has reached. A session has one channel, so others would be
 * of no use to it. */
static void network_interfaces(struct smb_request *r, const struct smb2_ioctl *io)
{
	struct io_address own;
	struct buf b;
	if (!smb_is_3x(r->conn) || !io_address_own(r->conn->stream.fd, &own)) {
		smb_fail(r, STATUS_INVALID_DEVICE_REQUEST);
		return;
	}
	if (!smb2_file_id_is_none(io->id) || io->input.len) {
		smb_fail(r, STATUS_INVALID_PARAMETER);
		return;
	}
	struct smb2_interface n = { 1, INTERFACE_BITS_PER_SECOND, slice_make(own.bytes, own.len) };
	buf_init(&b, 2 * SMB2_INTERFACE_BYTES);
	smb2_interface_put(&b, &n, true);
	smb2_pad(&b, 0, SMB2_INTERFACES_ALIGN);
	if (!buf_ok(&b)) {
		smb_fail(r, STATUS_INSUFFICIENT_RESOURCES);
	} else if (b.len > io->max_output) {
		smb_fail(r, STATUS_BUFFER_TOO_SMALL);
	} else {
		smb2_ioctl_put(r->out, io->code, io->id, buf_slice(&b));
		smb_reply(r, STATUS_OK);
	}
	buf_fini(&b);
}

static void on_file(struct smb_request *r, const struct smb2_ioctl *io)
{
	if (!smb_open_of(r, io->id, true))
		return;
	switch (io->code) {
	case FSCTL_REQUEST_RESUME_KEY:
		resume_key(r, io);
		return;
	case FSCTL_COPYCHUNK:
	case FSCTL_COPYCHUNK_WRITE:
		smb_copychunk(r, io, io->code == FSCTL_COPYCHUNK);
		return;
	case FSCTL_ENUMERATE_SNAPSHOTS:
		snapshots(r, io);
		return;
	case FSCTL_CREATE_OR_GET_OBJECT_ID:
		object_id(r, io);
		return;
	case FSCTL_GET_COMPRESSION:
		compression_get(r, io);
		return;
	case FSCTL_SET_COMPRESSION:
		compression_set(r, io);
		return;
	default:
		smb_fail(r, STATUS_INVALID_DEVICE_REQUEST);
	}
}

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
	case FSCTL_NETWORK_INTERFACE_INFO:
		network_interfaces(r, &io);
		return;
	default:
		on_file(r, &io);
	}
}
