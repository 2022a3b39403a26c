/* SPDX-License-Identifier: Apache-2.0
 * CLOSE and FLUSH: what an open held is given back; what was written is durable already, so FLUSH has nothing to wait
 * for but what is under way. With --smbWriteBack it may not be: then both are answered after a sync. */
#include "smb/opens.h"

enum { CLOSE_WANTS_ATTRIBUTES = 1 };

struct close {
	struct smb2_close in;
	struct file_close_call call;
};

static void answer(struct smb_request *r, const struct inode *inode, uint64_t allocation)
{
	struct close *c = r->call;
	struct smb2_close_answer a = { 0 };
	if ((c->in.flags & CLOSE_WANTS_ATTRIBUTES) && inode) {
		a = (struct smb2_close_answer){
			.flags = CLOSE_WANTS_ATTRIBUTES,
			.times = smb_times(inode),
			.allocation = allocation,
			.size = inode->kind == FILE_KIND_DIRECTORY ? 0 : inode->size_bytes,
			.attributes = smb_attributes(inode),
		};
	}
	smb2_close_put(r->out, &a);
	smb_reply(r, STATUS_OK);
}

static void closed(struct smb_request *r, enum err e)
{
	struct close *c = r->call;
	if (e != ERR_OK) {
		smb_fail_err(r, e);
		return;
	}
	if (c->call.wake)
		smb_wake(r, c->call.handle.inode_id);
	if (c->call.deleted || c->call.pending)
		watch_gone(r->conn->sl->server->config.watches, r->tree->share, c->call.handle.inode_id);
	smb_publish(r, &c->call.events);
	answer(r, &c->call.inode, c->call.allocation);
}

void smb_do_close(struct smb_request *r)
{
	struct close *c = ARENA_NEW(&r->arena, struct close);
	if (!c || smb2_close_parse(r->part, &c->in) != ERR_OK) {
		smb_fail(r, STATUS_INVALID_PARAMETER);
		return;
	}
	r->call = c;
	struct smb_open *o = smb_open_of(r, c->in.id, false);
	if (!o || smb_after_writes(r, smb_do_close))
		return;
	smb_cancel_open(r->conn, o, STATUS_FILE_CLOSED);
	smb_open_forget(o);
	if (!o->handle.open_id) {
		answer(r, NULL, 0);
		return;
	}
	c->call = (struct file_close_call){ .handle = o->handle, .how = FILE_CLOSE_CLIENT };
	r->sync = smb_open_is_unsynced(o);
	if (r->sync)
		smb_commit(r, r->tree->partition, file_apply_close, &c->call, closed);
	else
		smb_decide(r, file_apply_close, &c->call, closed);
}

struct flush {
	uint64_t writes; /* late ones of the open, before it */
};

static void flushed(struct smb_request *r, enum err e)
{
	const struct flush *f = r->call;
	if (e != ERR_OK) {
		smb_fail_err(r, e);
		return;
	}
	if (f->writes > r->open->flushed_writes)
		r->open->flushed_writes = f->writes;
	smb2_empty_put(r->out);
	smb_reply(r, STATUS_OK);
}

/* Of all that was written to the share, through whatever open. */
static void flush_late_writes(struct smb_request *r)
{
	struct flush *f = ARENA_NEW(&r->arena, struct flush);
	if (!f) {
		smb_fail(r, STATUS_INSUFFICIENT_RESOURCES);
		return;
	}
	f->writes = r->open->late_writes;
	r->call = f;
	r->sync = true;
	smb_commit(r, r->tree->partition, store_apply_nothing, NULL, flushed);
}

void smb_do_flush(struct smb_request *r)
{
	struct smb2_file_id id;
	if (smb2_flush_parse(r->part, &id) != ERR_OK) {
		smb_fail(r, STATUS_INVALID_PARAMETER);
		return;
	}
	struct smb_open *o = smb_open_of(r, id, false);
	if (!o || smb_after_writes(r, smb_do_flush) ||
	    (!o->directory && !smb_open_may(r, o, SMB2_WRITE_DATA | SMB2_APPEND_DATA)))
		return;
	if (r->conn->sl->server->config.write_back) {
		flush_late_writes(r);
		return;
	}
	smb2_empty_put(r->out); /* every write that was answered is durable already */
	smb_reply(r, STATUS_OK);
}
