/* SPDX-License-Identifier: Apache-2.0
 * A client comes back to an open that outlived its connection. It finds access, share mode, locks, position and
 * lease as they were; what its request says about access and disposition does not count. */
#include "svc/file/open/open_int.h"

static bool guid_eq(const struct oplock_guid *a, const struct oplock_guid *b)
{
	return memcmp(a->bytes, b->bytes, sizeof a->bytes) == 0;
}

static enum err find(struct txn *txn, const struct file_reconnect_call *c, struct file_handle *ret)
{
	ret->open_id = c->open_id;
	enum err err = c->open_id ? open_find_by_id(txn, c->open_id, &ret->inode_id)
				  : open_find_by_guid(txn, &c->opener.client, &c->create_guid, ret);
	return err == ERR_NOT_FOUND ? ERR_RESOURCE_NOT_FOUND : err;
}

/* The lease context must be the open's own; a client without one never had one. */
static bool lease_fits(const struct file_reconnect_call *c, const struct file_open *o)
{
	if (o->oplock.kind != OPLOCK_LEASE)
		return c->oplock.kind != OPLOCK_LEASE;
	return c->oplock.kind == OPLOCK_LEASE && guid_eq(&c->opener.client, &o->oplock.client) &&
	       guid_eq(&c->oplock.key, &o->oplock.key);
}

static enum err check(const struct file_reconnect_call *c, const struct opens *f, const struct file_open *o)
{
	if (o->connected || o->life == OPEN_PLAIN || f->now_ticks >= o->end_ticks)
		return ERR_RESOURCE_NOT_FOUND;
	/* Either form of the request is good for either kind of open; older opens have a guid of zeros. */
	if (c->v2 && !guid_eq(&o->create_guid, &c->create_guid))
		return ERR_RESOURCE_NOT_FOUND;
	if ((o->life == OPEN_PERSISTENT) != c->persistent || !lease_fits(c, o))
		return ERR_RESOURCE_NOT_FOUND;
	return slice_eq(o->opener.user, c->opener.user) ? ERR_OK : ERR_SMB_ACCESS_DENIED;
}

static enum err check_path(struct txn *txn, const struct file_reconnect_call *c, uint64_t inode_id)
{
	static const struct file_view live = { 0 };
	struct inode named;
	struct file_place place = { .path = c->path };
	enum err err = inode_find(txn, &live, &place, NULL, &named);
	if (err == ERR_OK && named.id == inode_id)
		return ERR_OK;
	if (err != ERR_OK && err != ERR_RESOURCE_NOT_FOUND && err != ERR_PARENT_NOT_FOUND)
		return err;
	return ERR_SMB_INVALID_PARAMETER;
}

enum err file_apply_reconnect(struct txn *txn, void *call)
{
	static const struct file_view live = { 0 };
	struct file_reconnect_call *c = call;
	struct file_handle h;
	struct opens f;
	c->breaks.count = 0;
	TRY(find(txn, c, &h));
	TRY(opens_load(txn, h.inode_id, &f));
	struct file_open *o = opens_find(&f, h.open_id);
	if (!o)
		return ERR_RESOURCE_NOT_FOUND;
	TRY(check(c, &f, o));
	if (c->check_path && o->oplock.kind == OPLOCK_LEASE)
		TRY(check_path(txn, c, h.inode_id));
	o->connected = true;
	o->end_ticks = 0;
	o->reconnected_ticks = f.now_ticks;
	o->opener.session_id = c->opener.session_id;
	o->opener.client_ip = c->opener.client_ip;
	TRY(open_put(txn, o));
	c->open = *o;
	const struct open_oplock *k = opens_oplock_of(&f, o);
	if (k)
		c->open.oplock = k->oplock;
	c->oplock_breaking = k && k->oplock.breaking;
	TRY(inode_get(txn, &live, h.inode_id, &c->inode));
	c->allocation = open_allocation(&f.state, &c->inode);
	return ERR_OK;
}
