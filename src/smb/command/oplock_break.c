/* SPDX-License-Identifier: Apache-2.0
 * OPLOCK_BREAK: a holder acknowledges the break of its oplock or lease. */
#include "smb/opens.h"

struct acknowledge {
	struct smb2_break in;
	struct file_ack_call call;
};

static void acknowledged(struct smb_request *r, enum err e)
{
	struct acknowledge *a = r->call;
	if (e != ERR_OK) {
		smb_fail_err(r, e);
		return;
	}
	smb_tell(r, &a->call.breaks);
	if (a->call.wake)
		smb_wake(r, a->call.inode_id);
	if (a->in.lease)
		a->in.state = a->call.granted;
	else
		a->in.level = oplock_state_level(a->call.granted);
	smb2_break_put(r->out, &a->in);
	smb_reply(r, STATUS_OK);
}

void smb_do_oplock_break(struct smb_request *r)
{
	struct acknowledge *a = ARENA_NEW(&r->arena, struct acknowledge);
	if (!a || smb2_break_parse(r->part, &a->in) != ERR_OK) {
		smb_fail(r, STATUS_INVALID_PARAMETER);
		return;
	}
	r->call = a;
	if (a->in.lease) {
		a->call.is_lease = true;
		memcpy(a->call.client.bytes, r->conn->client_guid, sizeof a->call.client.bytes);
		memcpy(a->call.lease_key.bytes, a->in.key, sizeof a->call.lease_key.bytes);
		a->call.state = (uint8_t)(a->in.state & CACHE_RWH);
	} else {
		struct smb_open *o = smb_open_of(r, a->in.id, false);
		if (!o)
			return;
		if (a->in.level != SMB2_OPLOCK_NONE && a->in.level != SMB2_OPLOCK_II) {
			smb_fail(r, STATUS_INVALID_PARAMETER);
			return;
		}
		a->in.id = o->id;
		a->call.handle = o->handle;
		a->call.state = oplock_level_state(a->in.level);
	}
	smb_decide(r, file_apply_acknowledge, &a->call, acknowledged);
}
