/* SPDX-License-Identifier: Apache-2.0
 * CREATE: opening what is there, or making it. In order: a repeated request; the name; pending delete; kind;
 * disposition; attributes and leases; the other opens; then the file is made or overwritten and the open granted. */
#include "svc/common/conditions.h"
#include "svc/file/open/open_int.h"
#include "svc/file/target.h"

static bool overwrites(enum file_disposition d)
{
	return d == FILE_SUPERSEDE || d == FILE_OVERWRITE || d == FILE_OVERWRITE_IF;
}

/* ---- a request that was sent before ---- */

static enum err answer_again(struct txn *txn, struct file_open_call *c, const struct file_handle *h)
{
	static const struct file_view live = { 0 };
	struct opens f;
	TRY(opens_load(txn, h->inode_id, &f));
	struct file_open *o = opens_find(&f, h->open_id);
	if (!o || !o->connected)
		return ERR_SMB_FILE_NOT_AVAILABLE;
	/* It must be the same request: same kind of oplock, same lease. */
	const struct open_oplock *k = opens_oplock_of(&f, o);
	bool lease = o->oplock.kind == OPLOCK_LEASE;
	if (lease != (c->oplock.kind == OPLOCK_LEASE) ||
	    (lease && !oplock_is_lease_of(&k->oplock, &c->oplock.client, &c->oplock.key)))
		return ERR_SMB_ACCESS_DENIED;
	c->open = *o;
	if (lease) {
		c->open.oplock = k->oplock;
	} else {
		/* As Windows has it: the answer is to what is asked now; the open keeps what it has. */
		c->open.oplock = (struct oplock){ .kind = c->oplock.kind, .state = c->oplock.state };
		if (o->life == OPEN_DURABLE && !(c->oplock.state & CACHE_HANDLE))
			c->open.life = OPEN_PLAIN;
	}
	c->oplock_breaking = lease && k->oplock.breaking;
	c->replayed = true;
	c->action = (enum file_open_action)o->action;
	TRY(inode_get(txn, &live, h->inode_id, &c->inode));
	c->allocation = open_allocation(&f.state, &c->inode);
	return ERR_OK;
}

/* True: the call is answered, with *ret_err. */
static bool find_repeated(struct txn *txn, struct file_open_call *c, enum err *ret_err)
{
	struct file_handle h;
	if (!c->durable_v2 || c->guid_is_used)
		return false;
	enum err err = open_find_by_guid(txn, &c->opener.client, &c->create_guid, &h);
	if (err == ERR_NOT_FOUND)
		return false;
	if (err == ERR_OK)
		err = c->replay ? answer_again(txn, c, &h) : ERR_SMB_DUPLICATE_OBJECT_ID;
	*ret_err = err;
	return true;
}

/* ---- what is there ---- */

static enum err check_kind(const struct file_open_call *c, const struct inode *n)
{
	bool directory = n->kind == FILE_KIND_DIRECTORY;
	if (c->disposition == FILE_CREATE)
		return ERR_RESOURCE_ALREADY_EXISTS;
	if (c->want_directory && !directory)
		return ERR_SMB_NOT_A_DIRECTORY;
	if (c->want_file && directory)
		return ERR_SMB_FILE_IS_A_DIRECTORY;
	return directory && overwrites(c->disposition) ? ERR_SMB_INVALID_PARAMETER : ERR_OK;
}

enum {
	ACCESS_CHANGES = ACCESS_ANY_WRITE | ACCESS_DELETE | ACCESS_DELETE_CHILD | ACCESS_WRITE_ATTRIBUTES |
			 ACCESS_WRITE_EA | ACCESS_WRITE_DAC | ACCESS_WRITE_OWNER
};

static enum err check_attributes(struct txn *txn, const struct file_open_call *c, const struct inode *n)
{
	bool overwrite = overwrites(c->disposition);
	uint32_t guarded = n->attributes & (FILE_ATTR_HIDDEN | FILE_ATTR_SYSTEM);
	if (n->kind == FILE_KIND_FILE && (n->attributes & FILE_ATTR_READONLY)) {
		if ((c->access & ACCESS_ANY_WRITE) || overwrite)
			return ERR_SMB_ACCESS_DENIED;
		if (c->delete_on_close)
			return ERR_SMB_CANNOT_DELETE;
	}
	if (overwrite && (guarded & ~c->attributes))
		return ERR_SMB_ACCESS_DENIED;
	/* A lease taken by REST is an open that shares reading only. */
	enum lease_state lease = lease_state(&n->lease, txn_now(txn));
	bool leased = lease == LEASE_LEASED || lease == LEASE_BREAKING;
	if (leased && (overwrite || (c->access & (ACCESS_ANY_WRITE | ACCESS_DELETE))))
		return ERR_SHARING_VIOLATION;
	return ERR_OK;
}

/* Deleting the directory is pending, or the tree may only be read: nothing is made in it. */
static enum err check_parent(struct txn *txn, const struct file_open_call *c, const struct inode *parent)
{
	bool pending;
	TRY(file_opens_is_delete_pending(txn, parent->id, &pending));
	if (pending)
		return ERR_SMB_DELETE_PENDING;
	return c->read_only ? ERR_SMB_ACCESS_DENIED : ERR_OK;
}

/* A key names one lease, of one file; a directory has none, but another file's key is wrong there too. */
static enum err check_lease_key(struct txn *txn, const struct file_open_call *c, bool exists, uint64_t inode_id)
{
	uint64_t other;
	if (c->oplock.kind != OPLOCK_LEASE)
		return ERR_OK;
	enum err err = open_find_by_lease(txn, &c->oplock.client, &c->oplock.key, &other);
	if (err == ERR_NOT_FOUND)
		return ERR_OK;
	TRY(err);
	return exists && other == inode_id ? ERR_OK : ERR_SMB_INVALID_PARAMETER;
}

/* ---- making and overwriting ---- */

static enum err make(struct txn *txn, struct file_open_call *c)
{
	struct file_create_call create = { .target = c->target };
	create.target.kind = c->want_directory ? FILE_KIND_DIRECTORY : FILE_KIND_FILE;
	create.target.through_open = true;
	create.settings.set_attributes = true;
	create.settings.attributes =
		c->want_directory ? c->attributes | FILE_ATTR_DIRECTORY : c->attributes | FILE_ATTR_ARCHIVE;
	create.settings.permission = c->permission;
	TRY(file_apply_create(txn, &create));
	c->inode = create.inode;
	c->events = create.events;
	c->action = FILE_WAS_CREATED;
	return ERR_OK;
}

static enum err overwrite(struct txn *txn, struct file_open_call *c)
{
	struct inode *n = &c->inode;
	uint64_t now = txn_now(txn);
	n->attributes = c->attributes | FILE_ATTR_ARCHIVE;
	n->written_ticks = n->changed_ticks = n->accessed_ticks = now;
	if (c->disposition == FILE_SUPERSEDE)
		n->created_ticks = now;
	n->copy = (struct file_copy){ .status = FILE_COPY_NONE };
	n->http.has_md5 = false;
	inode_touch(txn, n);
	TRY(inode_reset_contents(txn, n, 0));
	TRY(inode_put(txn, n));
	event_add(&c->events, FILE_EVENT_MODIFIED,
		  FILE_CHANGED_ATTRIBUTES | FILE_CHANGED_SIZE | FILE_CHANGED_LAST_WRITE, n);
	c->action = c->disposition == FILE_SUPERSEDE ? FILE_WAS_SUPERSEDED : FILE_WAS_OVERWRITTEN;
	return ERR_OK;
}

/* ---- the open itself ---- */

/* How long it may outlive its connection. A durable open only with something that others have to ask before they go on;
 * a persistent one always. */
static void grant_life(const struct file_open_call *c, struct file_open *o, uint8_t state)
{
	bool can_wait = !o->is_directory && (state & CACHE_HANDLE);
	o->life = c->life;
	if (o->has_snapshot || (c->life == OPEN_DURABLE && !can_wait))
		o->life = OPEN_PLAIN;
	if (o->life == OPEN_PLAIN)
		return;
	uint32_t seconds_max = FILE_DURABLE_MAX_SECONDS;
	o->timeout_ms = c->durable_v2 ? c->timeout_ms : FILE_DURABLE_V1_SECONDS * 1000;
	if (!o->timeout_ms)
		o->timeout_ms = FILE_DURABLE_DEFAULT_SECONDS * 1000;
	if (c->durable_v2 && o->timeout_ms > seconds_max * 1000)
		o->timeout_ms = seconds_max * 1000;
}

static enum err grant_lease(struct txn *txn, struct opens *f, const struct file_open_call *c, struct file_open *o,
			    uint8_t state)
{
	static const struct oplock none = { .kind = OPLOCK_NONE };
	const struct open_oplock *existing = opens_find_lease(f, &c->oplock.client, &c->oplock.key);
	o->oplock = oplock_grant(existing ? &existing->oplock : &none, &c->oplock, state);
	grant_life(c, o, o->oplock.state);
	bool durable = o->life == OPEN_PERSISTENT || (existing && existing->durable);
	return open_lease_put(txn, f->inode_id, &o->oplock, durable);
}

static enum err grant(struct txn *txn, struct opens *f, struct file_open_call *c, uint8_t state)
{
	struct file_open o = { .inode_id = f->inode_id,
			       .open_id = c->open_id,
			       .access = c->access,
			       .share = c->share,
			       .options = c->options,
			       .is_directory = c->inode.kind == FILE_KIND_DIRECTORY,
			       .delete_on_close = c->delete_on_close,
			       .durable_v2 = c->durable_v2,
			       .create_guid = c->create_guid,
			       .connected = true,
			       .opener = c->opener,
			       .opened_ticks = txn_now(txn),
			       .action = (uint8_t)c->action,
			       .has_snapshot = c->target.has_snapshot,
			       .snapshot_ticks = c->target.snapshot_ticks };
	bool leases = c->oplock.kind == OPLOCK_LEASE && !o.is_directory && !o.has_snapshot;
	if (leases) {
		TRY(grant_lease(txn, f, c, &o, state));
	} else {
		if (c->oplock.kind == OPLOCK_PLAIN && state)
			o.oplock = (struct oplock){ .kind = OPLOCK_PLAIN, .state = state };
		grant_life(c, &o, state);
	}
	TRY(open_put(txn, &o));
	TRY(open_index_put(txn, &o));
	if (c->allocation_bytes > f->state.allocation_bytes && !o.is_directory && !o.has_snapshot) {
		f->state.allocation_bytes = c->allocation_bytes;
		TRY(open_state_write(txn, f->inode_id, &f->state, true, o.life == OPEN_PERSISTENT));
	}
	c->open = o;
	c->oplock_breaking = o.oplock.breaking;
	c->allocation = open_allocation(&f->state, &c->inode);
	return ERR_OK;
}

/* ---- apply ---- */

static enum err ask_others(struct txn *txn, struct opens *f, struct file_open_call *c, bool directory,
			   uint8_t *ret_state)
{
	bool again = c->target.breaks->asked;
	struct lock_open_request r = { .access = c->access,
				       .share = c->share,
				       .overwrite = overwrites(c->disposition),
				       .deletes = c->delete_on_close,
				       .again = again,
				       .is_directory = directory,
				       .oplock = c->oplock };
	struct lock_demands d;
	uint64_t close_id = 0;
	if (f->count >= OPENS_MAX_PER_FILE)
		return ERR_HANDLE_LIMIT_EXCEEDED;
	TRY(demands_new(txn, f, &d));
	enum lock_answer answer = lock_may_open(&f->rules, &r, &d, &close_id, ret_state);
	TRY(answer_or_mark(txn, f, answer, &d, close_id, c->target.breaks));
	return c->target.breaks->wait ? ERR_OK : breaks_mark(txn, f, &d, c->target.breaks);
}

static enum err open_existing(struct txn *txn, struct file_open_call *c)
{
	struct opens f;
	uint8_t state = 0;
	TRY(opens_load(txn, c->inode.id, &f));
	if (f.state.delete_pending && !c->target.has_snapshot)
		return ERR_SMB_DELETE_PENDING;
	TRY(check_kind(c, &c->inode));
	if ((c->read_only || c->target.has_snapshot) &&
	    (overwrites(c->disposition) || c->delete_on_close || (c->access & ACCESS_CHANGES)))
		return ERR_SMB_ACCESS_DENIED;
	if (c->target.has_snapshot)
		return grant(txn, &f, c, 0);
	TRY(check_attributes(txn, c, &c->inode));
	if (c->delete_on_close && c->inode.id == FILE_ROOT_ID)
		return ERR_SMB_CANNOT_DELETE;
	bool directory = c->inode.kind == FILE_KIND_DIRECTORY;
	TRY(check_lease_key(txn, c, !directory, c->inode.id));
	TRY(ask_others(txn, &f, c, directory, &state));
	if (c->target.breaks->wait)
		return ERR_OK;
	if (overwrites(c->disposition))
		TRY(overwrite(txn, c));
	return grant(txn, &f, c, state);
}

static enum err open_new(struct txn *txn, struct file_open_call *c, const struct inode *parent)
{
	struct opens f;
	uint8_t state = 0;
	if (c->disposition == FILE_OPEN || c->disposition == FILE_OVERWRITE || c->target.has_snapshot)
		return ERR_RESOURCE_NOT_FOUND;
	TRY(check_parent(txn, c, parent));
	if (c->delete_on_close && (c->attributes & FILE_ATTR_READONLY))
		return ERR_SMB_CANNOT_DELETE;
	TRY(check_lease_key(txn, c, false, 0));
	TRY(make(txn, c));
	TRY(opens_load(txn, c->inode.id, &f));
	TRY(ask_others(txn, &f, c, c->want_directory, &state));
	return grant(txn, &f, c, state);
}

enum err file_apply_open(struct txn *txn, void *call)
{
	struct file_open_call *c = call;
	struct file_view view;
	struct inode parent;
	enum err err;
	c->action = FILE_WAS_OPENED;
	c->replayed = c->oplock_breaking = c->wake = false;
	c->events.count = 0;
	c->target.breaks->wait = false;
	c->target.breaks->count = 0; /* but not `asked` */
	c->target.breaks->close_open_id = 0;
	TRY(target_view(txn, &c->target, &view));
	if (find_repeated(txn, c, &err))
		return err;
	err = inode_find(txn, &view, &c->target.place, &parent, &c->inode);
	if (err == ERR_OK)
		return open_existing(txn, c);
	return err == ERR_RESOURCE_NOT_FOUND ? open_new(txn, c, &parent) : err;
}
