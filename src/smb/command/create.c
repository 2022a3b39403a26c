/* SPDX-License-Identifier: Apache-2.0
 * CREATE: opens a file or directory, makes it, or takes a durable open over again. Here the request is checked and put
 * into the service's words, and the result into the wire's; everything about the file, its other opens and its oplocks
 * is decided in the commit (svc/file/open.h). */
#include "smb/opens.h"

#include "smb/security.h"
#include "wire/sddl/sddl.h"

enum {
	IMPERSONATION_MAX = 3,
	OPTIONS_REFUSED = 0x00102080, /* by id, reserved opfilter, tree connection */
	ATTRIBUTES_KEPT = 0x23127,
};
#define OPTIONS_INVALID	   UINT32_C(0xFF000000)
#define ATTRIBUTES_INVALID UINT32_C(0xFFFD8048)
#define ACCESS_INVALID	   UINT32_C(0x0CE0FE00)
#define GENERIC_ALL	   UINT32_C(0x10000000)
#define GENERIC_EXECUTE	   UINT32_C(0x20000000)
#define GENERIC_WRITE	   UINT32_C(0x40000000)
#define GENERIC_READ	   UINT32_C(0x80000000)

struct create {
	struct smb2_create in;
	struct file_path path;
	uint32_t access;
	struct file_open_call open;
	struct file_reconnect_call reconnect;
	struct file_get_call get; /* of a previous version */
	struct file_breaks breaks;
};

/* ---- checks of the request alone ---- */

static uint32_t access_resolve(const struct smb_tree *t, uint32_t asked)
{
	uint32_t access = asked & SMB2_ALL_ACCESS;
	if (asked & SMB2_MAXIMUM_ALLOWED)
		access |= smb_tree_access(t);
	if (asked & GENERIC_ALL)
		access |= SMB2_ALL_ACCESS;
	if (asked & GENERIC_EXECUTE)
		access |= 0x1200A0;
	if (asked & GENERIC_WRITE)
		access |= 0x120116;
	if (asked & GENERIC_READ)
		access |= 0x120089;
	return access;
}

static uint32_t options_check(const struct smb2_create *in)
{
	bool directory = in->options & SMB2_OPTION_DIRECTORY;
	if (in->options & OPTIONS_INVALID)
		return STATUS_INVALID_PARAMETER;
	if (in->options & OPTIONS_REFUSED)
		return STATUS_NOT_SUPPORTED;
	if (directory && (in->options & SMB2_OPTION_NON_DIRECTORY))
		return STATUS_INVALID_PARAMETER;
	if (directory && in->disposition != SMB2_OPEN && in->disposition != SMB2_CREATE_NEW &&
	    in->disposition != SMB2_OPEN_IF)
		return STATUS_INVALID_PARAMETER;
	if (directory && (in->attributes & FILE_ATTR_TEMPORARY))
		return STATUS_INVALID_PARAMETER;
	return STATUS_OK;
}

static uint32_t durable_check(const struct smb2_create *in)
{
	bool v1 = in->durable || in->reconnect, v2 = in->durable_v2 || in->reconnect_v2;
	return (v1 && v2) || (in->durable_v2 && in->reconnect_v2) ? STATUS_INVALID_PARAMETER : STATUS_OK;
}

static uint32_t request_check(const struct smb_tree *t, const struct smb2_create *in)
{
	uint32_t status = durable_check(in);
	/* A reconnect takes what the open had, and ignores what is asked here. */
	if (status != STATUS_OK || in->reconnect || in->reconnect_v2)
		return status;
	if (in->impersonation > IMPERSONATION_MAX)
		return STATUS_BAD_IMPERSONATION_LEVEL;
	if (in->disposition >= SMB2_DISPOSITIONS || (in->share & ~7u) || (in->attributes & ATTRIBUTES_INVALID))
		return STATUS_INVALID_PARAMETER;
	status = options_check(in);
	if (status != STATUS_OK)
		return status;
	if (in->access & SMB2_SYSTEM_SECURITY)
		return STATUS_PRIVILEGE_NOT_HELD;
	if (in->access == 0 || (in->access & ACCESS_INVALID))
		return STATUS_ACCESS_DENIED;
	if ((in->options & SMB2_OPTION_DELETE_ON_CLOSE) && !(access_resolve(t, in->access) & SMB2_DELETE))
		return STATUS_INVALID_PARAMETER;
	return in->has_eas ? STATUS_EAS_NOT_SUPPORTED : STATUS_OK;
}

/* ---- into the service's words ---- */

static struct oplock_guid guid_of(const unsigned char bytes[16])
{
	struct oplock_guid g;
	memcpy(g.bytes, bytes, sizeof g.bytes);
	return g;
}

static struct oplock_request oplock_asked(const struct smb_conn *c, const struct smb2_create *in)
{
	/* A reconnect tells its lease by the context alone. */
	if (in->oplock == SMB2_OPLOCK_LEASE || in->reconnect || in->reconnect_v2) {
		const struct smb2_lease_context *l = &in->lease;
		if (!l->present || (l->v2 && !smb_is_3x(c)))
			return (struct oplock_request){ 0 };
		return (struct oplock_request){
			.kind = OPLOCK_LEASE,
			.client = guid_of(c->client_guid),
			.key = guid_of(l->key),
			.version = l->v2 ? 2 : 1,
			.epoch = l->epoch,
			.state = (uint8_t)(l->state & CACHE_RWH),
		};
	}
	uint8_t state = oplock_level_state(in->oplock);
	return (struct oplock_request){ .kind = state ? OPLOCK_PLAIN : OPLOCK_NONE,
					.client = guid_of(c->client_guid),
					.state = state };
}

static struct file_opener opener_of(const struct smb_request *r)
{
	return (struct file_opener){
		.client = guid_of(r->conn->client_guid),
		.session_id = r->session->id,
		.user = r->session->account->name,
		.client_ip = slice_str(r->conn->address_and_port),
	};
}

static uint64_t open_id_make(struct smb_request *r)
{
	uint64_t id;
	do
		id = rng_u64(&r->conn->sl->rng);
	while (id == 0 || id == UINT64_MAX);
	return id;
}

static bool short_names(const struct smb_request *r)
{
	return r->conn->sl->server->config.short_names;
}

static void open_fill(struct smb_request *r, struct create *c)
{
	const struct smb2_create *in = &c->in;
	struct file_open_call *o = &c->open;
	o->target = (struct file_target){ .place = { .path = c->path, .short_names = short_names(r) },
					  .breaks = &c->breaks };
	o->open_id = open_id_make(r);
	o->access = c->access;
	o->share = in->share;
	o->disposition = (enum file_disposition)in->disposition;
	o->options = in->options;
	o->want_directory = in->options & SMB2_OPTION_DIRECTORY;
	o->want_file = in->options & SMB2_OPTION_NON_DIRECTORY;
	o->delete_on_close = in->options & SMB2_OPTION_DELETE_ON_CLOSE;
	o->attributes = in->attributes & ATTRIBUTES_KEPT;
	o->allocation_bytes = in->has_allocation ? in->allocation : 0;
	o->opener = opener_of(r);
	o->oplock = oplock_asked(r->conn, in);
	bool v2 = in->durable_v2; /* of 3.x, but as well of a client that asks for it in 2.1 */
	o->life = in->durable || v2 ? OPEN_DURABLE : OPEN_PLAIN;
	if (v2 && (in->durable_flags & SMB2_DURABLE_PERSISTENT) && r->tree->continuous)
		o->life = OPEN_PERSISTENT;
	o->durable_v2 = v2;
	o->create_guid = guid_of(in->create_guid);
	o->timeout_ms = in->durable_timeout_ms;
	o->replay = (r->h.flags & SMB2_FLAG_REPLAY) && v2 && smb_is_3x(r->conn);
	o->read_only = r->tree->read_only;
	o->guid_is_used = v2 && smb_guid_is_used(r->session, in->create_guid);
}

/* ---- answers ---- */

static void lease_answer(struct smb2_create_answer *a, const struct smb2_create *in, const struct oplock *o,
			 bool breaking)
{
	if (o->kind != OPLOCK_LEASE) {
		a->oplock = o->kind == OPLOCK_PLAIN ? oplock_state_level(o->state) : SMB2_OPLOCK_NONE;
		return;
	}
	a->oplock = SMB2_OPLOCK_LEASE;
	a->lease = (struct smb2_lease_context){
		.present = true,
		.v2 = o->version == 2,
		.state = o->state,
		.flags = (breaking ? SMB2_LEASE_BREAKING : 0) | (in->lease.flags & SMB2_LEASE_PARENT_KEY),
		.epoch = o->epoch,
	};
	memcpy(a->lease.key, o->key.bytes, sizeof a->lease.key);
	if (in->lease.flags & SMB2_LEASE_PARENT_KEY)
		memcpy(a->lease.parent_key, in->lease.parent_key, sizeof a->lease.parent_key);
}

static struct smb2_create_answer answer_of(const struct smb_request *r, const struct create *c,
					   const struct inode *inode)
{
	return (struct smb2_create_answer){
		.times = smb_times(inode),
		.allocation = smb_allocation(inode),
		.size = inode->kind == FILE_KIND_DIRECTORY ? 0 : inode->size_bytes,
		.attributes = smb_attributes(inode),
		.has_maximal_access = c->in.wants_maximal_access,
		.maximal_access = smb_tree_access(r->tree),
		.has_file_id = c->in.wants_file_id,
		.disk_id = smb_disk_id(inode),
		.volume_id = r->tree->generation,
	};
}

/* The row is there: the client gets its id, or, if it has gone meanwhile, the row goes too. */
static void open_hand_over(struct smb_request *r, struct create *c, const struct file_open *row,
			   struct smb2_create_answer *a, const struct inode *inode)
{
	struct file_handle handle = { row->inode_id, row->open_id };
	bool gone = r->conn->closed || r->session->ended || r->tree->ended;
	struct smb_open *o = gone ? NULL : smb_open_new(r, handle, row->open_id);
	if (!o) {
		smb_close_row(r->conn->sl, r->tree, handle, gone ? FILE_CLOSE_DISCONNECT : FILE_CLOSE_CLIENT, false);
		smb_fail(r, gone ? STATUS_NETWORK_NAME_DELETED : STATUS_INSUFFICIENT_RESOURCES);
		return;
	}
	o->access = row->access;
	o->options = row->options;
	o->write_through =
		row->life == OPEN_PERSISTENT || (row->options & (SMB2_OPTION_WRITE_THROUGH | SMB2_OPTION_NO_BUFFERING));
	o->position = row->position;
	o->directory = inode->kind == FILE_KIND_DIRECTORY;
	o->channel_sequence = smb_is_3x(r->conn) ? (uint16_t)r->h.status : 0;
	o->action = a->action;
	o->durable_v2 = row->durable_v2;
	memcpy(o->create_guid, row->create_guid.bytes, sizeof o->create_guid);
	a->id = o->id;
	r->chain->file_id = o->id;
	smb2_create_put(r->out, a);
	smb_open_unref(o);
	smb_reply(r, STATUS_OK);
}

/* Another CREATE with the same guid is under way: it waits for somebody's oplock. */
static bool is_pending(const struct smb_request *r, const struct create *c)
{
	for (const struct smb_chain *ch = r->conn->chains; ch; ch = ch->next) {
		const struct smb_request *v = &ch->request;
		if (!ch->begun || v == r || v->answered || v->h.command != SMB2_CREATE || v->session != r->session)
			continue;
		const struct create *other = v->call;
		if (other && v->breaking && other->open.durable_v2 &&
		    memcmp(other->in.create_guid, c->in.create_guid, sizeof c->in.create_guid) == 0)
			return true;
	}
	return false;
}

/* A CREATE that was sent again, whose first answer was lost: the open that the client has already. */
static bool replay_answer(struct smb_request *r, const struct file_open *row, struct smb2_create_answer *a)
{
	struct smb_open *o = smb_open_by_persistent(r->session, row->open_id);
	if (!o || o->tree != r->tree)
		return false;
	a->action = o->action;
	a->id = o->id;
	r->chain->file_id = o->id;
	smb2_create_put(r->out, a);
	smb_reply(r, STATUS_OK);
	return true;
}

static void durable_answer(struct smb2_create_answer *a, const struct create *c, const struct file_open *row)
{
	if (row->life == OPEN_PLAIN)
		return;
	a->durable = c->in.durable && !row->durable_v2;
	a->durable_v2 = c->in.durable_v2 && row->durable_v2;
	a->durable_timeout_ms = row->timeout_ms;
	a->durable_flags = row->life == OPEN_PERSISTENT ? SMB2_DURABLE_PERSISTENT : 0;
}

static uint32_t open_status(enum err e)
{
	switch (e) {
	case ERR_PARENT_NOT_FOUND:
		return STATUS_OBJECT_PATH_NOT_FOUND;
	case ERR_RESOURCE_NOT_FOUND:
		return STATUS_OBJECT_NAME_NOT_FOUND;
	case ERR_RESOURCE_ALREADY_EXISTS:
		return STATUS_OBJECT_NAME_COLLISION;
	default:
		return smb_status_of(e);
	}
}

static void opened(struct smb_request *r, enum err e)
{
	struct create *c = r->call;
	struct file_open_call *o = &c->open;
	if (e != ERR_OK) {
		smb_fail(r, r->cancelled ? STATUS_CANCELLED : open_status(e));
		return;
	}
	smb_tell(r, &c->breaks);
	if (o->wake)
		smb_wake(r, o->inode.id);
	smb_publish(r, &o->events);
	struct smb2_create_answer a = answer_of(r, c, &o->inode);
	a.action = (uint32_t)o->action;
	a.allocation = o->allocation;
	lease_answer(&a, &c->in, &o->open.oplock, o->oplock_breaking);
	durable_answer(&a, c, &o->open);
	if (o->replayed && replay_answer(r, &o->open, &a))
		return;
	open_hand_over(r, c, &o->open, &a, &o->inode);
}

/* ---- durable opens taken over again ---- */

static void reconnected(struct smb_request *r, enum err e)
{
	struct create *c = r->call;
	struct file_reconnect_call *k = &c->reconnect;
	if (e != ERR_OK) {
		smb_fail(r, open_status(e));
		return;
	}
	smb_tell(r, &k->breaks);
	struct smb2_create_answer a = answer_of(r, c, &k->inode);
	a.action = FILE_WAS_OPENED;
	a.allocation = k->allocation;
	lease_answer(&a, &c->in, &k->open.oplock, k->oplock_breaking);
	open_hand_over(r, c, &k->open, &a, &k->inode);
}

static void reconnect(struct smb_request *r, struct create *c)
{
	const struct smb2_create *in = &c->in;
	struct file_reconnect_call *k = &c->reconnect;
	k->open_id = in->reconnect_id.persistent;
	k->v2 = in->reconnect_v2;
	k->persistent = in->reconnect_v2 && (in->durable_flags & SMB2_DURABLE_PERSISTENT);
	k->create_guid = guid_of(in->create_guid);
	k->oplock = in->lease.present ? oplock_asked(r->conn, in) : (struct oplock_request){ 0 };
	k->path = c->path;
	k->check_path = in->lease.present;
	k->opener = opener_of(r);
	smb_decide(r, file_apply_reconnect, k, reconnected);
}

/* ---- previous versions: no row, nothing can be changed ---- */

static void snapshot_open(struct smb_request *r, struct create *c)
{
	const uint32_t changes = SMB2_WRITE_DATA | SMB2_APPEND_DATA | SMB2_WRITE_ATTRIBUTES | SMB2_DELETE |
				 SMB2_WRITE_DAC | SMB2_WRITE_OWNER;
	bool maximum = c->in.access & SMB2_MAXIMUM_ALLOWED;
	struct file_get_call *g = &c->get;
	g->target = (struct file_target){
		.has_snapshot = true,
		.snapshot_ticks = SMB_TICKS_OF_FILETIME(c->in.snapshot_time),
		.place = { .path = c->path, .short_names = short_names(r) },
		.through_open = true,
	};
	enum err e = smb_look(r, file_apply_get, g);
	bool directory = e == ERR_OK && g->inode.kind == FILE_KIND_DIRECTORY;
	if (e != ERR_OK || (directory && (c->in.options & SMB2_OPTION_NON_DIRECTORY)) ||
	    (!directory && (c->in.options & SMB2_OPTION_DIRECTORY))) {
		smb_fail(r, e == ERR_SHARE_NOT_FOUND ? STATUS_OBJECT_NAME_NOT_FOUND
			    : e != ERR_OK	     ? open_status(e)
			    : directory		     ? STATUS_FILE_IS_A_DIRECTORY
						     : STATUS_NOT_A_DIRECTORY);
		return;
	}
	if (c->in.disposition != SMB2_OPEN && c->in.disposition != SMB2_OPEN_IF) {
		smb_fail(r, STATUS_MEDIA_WRITE_PROTECTED);
		return;
	}
	if (!maximum && (c->access & changes)) {
		smb_fail(r, STATUS_ACCESS_DENIED);
		return;
	}
	struct smb_open *o = smb_open_new(r, (struct file_handle){ g->inode.id, 0 }, open_id_make(r));
	if (!o) {
		smb_fail(r, STATUS_INSUFFICIENT_RESOURCES);
		return;
	}
	o->snapshot = true;
	o->snapshot_ticks = g->target.snapshot_ticks;
	o->directory = directory;
	o->access = c->access & ~changes;
	struct smb2_create_answer a = answer_of(r, c, &g->inode);
	a.action = FILE_WAS_OPENED;
	a.id = o->id;
	r->chain->file_id = o->id;
	smb2_create_put(r->out, &a);
	smb_open_unref(o);
	smb_reply(r, STATUS_OK);
}

void smb_do_create(struct smb_request *r)
{
	struct create *c = ARENA_NEW(&r->arena, struct create);
	if (!c) {
		smb_fail(r, STATUS_INSUFFICIENT_RESOURCES);
		return;
	}
	r->call = c;
	if (smb2_create_parse(r->part, &c->in) != ERR_OK) {
		smb_fail(r, STATUS_INVALID_PARAMETER);
		return;
	}
	if (r->tree->pipe) { /* no named pipes */
		smb_fail(r, STATUS_OBJECT_NAME_NOT_FOUND);
		return;
	}
	uint32_t status = request_check(r->tree, &c->in);
	if (status == STATUS_OK)
		status = smb_path_parse(r, c->in.name, &c->path);
	c->open.permission = (struct file_permission){ .inherit = sddl_inherit, .default_stays = true };
	if (status == STATUS_OK && slice_is_set(c->in.security))
		status = smb_security_parse(r, c->in.security, &c->open.permission);
	if (status != STATUS_OK) {
		smb_fail(r, status);
		return;
	}
	c->access = access_resolve(r->tree, c->in.access);
	if (c->in.reconnect || c->in.reconnect_v2) {
		reconnect(r, c);
	} else if (c->in.has_snapshot) {
		snapshot_open(r, c);
	} else {
		open_fill(r, c);
		if (c->open.durable_v2 && is_pending(r, c)) {
			smb_fail(r, c->open.replay ? STATUS_FILE_NOT_AVAILABLE : STATUS_DUPLICATE_OBJECTID);
			return;
		}
		smb_commit_breaking(r, file_apply_open, &c->open, &c->breaks, opened);
	}
}
