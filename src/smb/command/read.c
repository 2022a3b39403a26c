/* SPDX-License-Identifier: Apache-2.0
 * READ: on a snapshot, straight into the answer.
 *
 * What is in the page cache is copied on the loop: to hand it to a worker costs a tenth more CPU and gains nothing. A
 * read that had to wait for the disk sends the next ones of its open to the workers, until none waits. */
#include "smb/bytes.h"

#include "base/sys/thread.h"

enum { READS_AWAY = 16 /* on workers after one that waited */ };

struct read_call {
	struct smb2_read in;
	uint64_t length; /* read */
	bool waited;
};

/* On a worker, or here and now. */
static enum err read_run(struct smb_request *r)
{
	struct read_call *c = r->call;
	uint64_t waits = thread_waits();
	smb2_read_put(r->out, 0);
	char *dst = buf_reserve(r->out, c->in.length + 1);
	enum err e = dst ? smb_read_bytes(r, r->open, c->in.offset, c->in.length, dst, &c->length) : ERR_NO_MEMORY;
	c->waited = thread_waits() != waits;
	return e;
}

static void read_done(struct smb_request *r, enum err e)
{
	struct read_call *c = r->call;
	if (c->waited)
		r->open->reads_away = READS_AWAY;
	else if (r->open->reads_away)
		r->open->reads_away--;
	if (e != ERR_OK) {
		smb_fail_err(r, e);
	} else if ((c->in.length && c->length == 0) || c->length < c->in.minimum) {
		smb_fail(r, STATUS_END_OF_FILE);
	} else {
		bytes_store(r->out->ptr + r->out->len - SMB2_READ_ANSWER_BYTES + 4, c->length, 4);
		r->out->len += c->length;
		if (c->length == 0)
			bytes_put_u8(r->out, 0);
		r->open->position = c->in.offset + c->length;
		smb_reply(r, STATUS_OK);
	}
}

void smb_do_read(struct smb_request *r)
{
	struct read_call *c = ARENA_NEW(&r->arena, struct read_call);
	if (!c || smb2_read_parse(r->part, &c->in) != ERR_OK || c->in.length > SMB_TRANSFER_MAX || c->in.channel ||
	    !smb_charge_ok(r, c->in.length)) {
		smb_fail(r, STATUS_INVALID_PARAMETER);
		return;
	}
	r->call = c;
	struct smb_open *o = smb_open_of(r, c->in.id, false);
	if (!o)
		return;
	if (o->directory) {
		smb_fail(r, STATUS_INVALID_DEVICE_REQUEST);
		return;
	}
	if (!smb_open_may(r, o, SMB2_READ_DATA | SMB2_EXECUTE))
		return;
	if (c->in.offset > INT64_MAX || c->in.length > INT64_MAX - c->in.offset) {
		smb_fail(r, STATUS_INVALID_PARAMETER);
		return;
	}
	smb_work_weigh(r, c->in.length);
	if (o->reads_away)
		smb_work(r, read_run, read_done);
	else
		read_done(r, read_run(r));
}
