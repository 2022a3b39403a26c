/* SPDX-License-Identifier: Apache-2.0
 * WRITE: the bytes become a payload (in memory if small, else an extent), the commit names it, and the answer is sent
 * when that is durable. With --smbWriteBack a small one is answered when everybody can see it, and is made durable by
 * FLUSH, by CLOSE, or a second later, unless the client asked for it to be written through. */
#include "smb/bytes.h"

#define NTFS_FILE_MAX_BYTES UINT64_C(0xFFFFFFF0000)

struct write_call {
	struct smb2_write in;
	struct payload payload;
	struct file_open_write_call call;
};

static void written(struct smb_request *r, enum err e)
{
	struct write_call *c = r->call;
	smb_payload_end(r, &c->payload, e);
	if (e != ERR_OK) {
		smb_fail(r, e == ERR_SHARE_SIZE_LIMIT_REACHED ? STATUS_DISK_FULL : smb_status_of(e));
		return;
	}
	smb_tell(r, &c->call.breaks);
	smb_publish(r, &c->call.write.events);
	r->open->position = c->in.offset + c->in.data.len;
	smb2_write_put(r->out, (uint32_t)c->in.data.len);
	smb_reply(r, STATUS_OK);
}

/* On a worker: the bytes go to the disk. */
static enum err write_run(struct smb_request *r)
{
	struct write_call *c = r->call;
	return smb_payload_make(r, c->in.data, &c->payload);
}

static bool may_sync_later(const struct smb_request *r, const struct write_call *c)
{
	return r->conn->sl->server->config.write_back && c->in.data.len <= PAYLOAD_INLINE_BYTES &&
	       !r->open->write_through && !(c->in.flags & (SMB2_WRITE_THROUGH | SMB2_WRITE_UNBUFFERED));
}

static void write_commit(struct smb_request *r, enum err e)
{
	struct write_call *c = r->call;
	if (e != ERR_OK) {
		smb_fail_err(r, e);
		return;
	}
	smb_write_fill(&c->call, r->open, c->in.offset, c->in.data.len, &c->payload);
	r->sync_later = may_sync_later(r, c);
	r->open->late_writes += r->sync_later;
	smb_commit(r, r->tree->partition, file_apply_open_write, &c->call, written);
}

static void write_away_end(struct smb_request *r, enum err e)
{
	struct smb_open *o = r->open;
	smb_open_ref(o);
	write_commit(r, e);
	smb_write_queued(o);
	smb_open_unref(o);
}

void smb_do_write(struct smb_request *r)
{
	struct write_call *c = ARENA_NEW(&r->arena, struct write_call);
	if (!c || smb2_write_parse(r->part, &c->in) != ERR_OK || c->in.data.len > SMB_TRANSFER_MAX || c->in.channel ||
	    !smb_charge_ok(r, c->in.data.len)) {
		smb_fail(r, STATUS_INVALID_PARAMETER);
		return;
	}
	r->call = c;
	struct smb_open *o = smb_open_of(r, c->in.id, true);
	if (!o)
		return;
	if (o->directory) {
		smb_fail(r, STATUS_INVALID_DEVICE_REQUEST);
		return;
	}
	if (!smb_open_may(r, o, SMB2_WRITE_DATA | SMB2_APPEND_DATA))
		return;
	/* Past what NTFS knows is no offset; past what a file here may have is a full disk. */
	if (c->in.offset > INT64_MAX || (c->in.data.len && c->in.offset + c->in.data.len > NTFS_FILE_MAX_BYTES)) {
		smb_fail(r, STATUS_INVALID_PARAMETER);
		return;
	}
	if (c->in.data.len && c->in.offset + c->in.data.len > FILE_SIZE_MAX_BYTES) {
		smb_fail(r, STATUS_DISK_FULL);
		return;
	}
	if (c->in.data.len == 0) {
		smb2_write_put(r->out, 0);
		smb_reply(r, STATUS_OK);
		return;
	}
	if (c->in.data.len > PAYLOAD_INLINE_BYTES) {
		smb_write_begin(r);
		smb_work(r, write_run, write_away_end);
	} else {
		write_commit(r, write_run(r));
	}
}
