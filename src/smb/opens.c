/* SPDX-License-Identifier: Apache-2.0
 * The table of a session's opens, by the file id that the client knows them by. */
#include "smb/opens.h"

#include "store/key.h"

#include <assert.h>

enum { OPEN_SLOTS = 64 };

struct smb_opens {
	size_t count;
	struct smb_open *slot[OPEN_SLOTS];
};

struct smb_opens *smb_opens_new(void)
{
	return calloc(1, sizeof(struct smb_opens));
}

void smb_opens_free(struct smb_opens *o)
{
	assert(!o || o->count == 0);
	free(o);
}

static struct smb_open **slot_of(struct smb_opens *o, uint64_t volatile_id)
{
	return &o->slot[volatile_id % OPEN_SLOTS];
}

static void open_notice(void *owner, const struct holder_notice *);

struct smb_open *smb_open_new(struct smb_request *r, struct file_handle handle, uint64_t persistent_id)
{
	struct smb_session *s = r->session;
	struct smb_loop *sl = r->conn->sl;
	struct smb_open *o = s->opens->count < SMB_OPENS_MAX ? calloc(1, sizeof *o) : NULL;
	if (!o)
		return NULL;
	o->refs = 2; /* the session's and the caller's */
	o->session = s;
	o->tree = r->tree;
	o->handle = handle;
	o->id.persistent = persistent_id;
	do
		o->id.volatile_ = rng_u64(&sl->rng);
	while (o->id.volatile_ == 0 || o->id.volatile_ == UINT64_MAX);
	if (handle.open_id &&
	    holder_add(sl->server->config.holders, handle.open_id, sl->loop, open_notice, o) != ERR_OK) {
		free(o);
		return NULL;
	}
	smb_tree_ref(o->tree);
	struct smb_open **slot = slot_of(s->opens, o->id.volatile_);
	o->next = *slot;
	*slot = o;
	s->opens->count++;
	return o;
}

void smb_open_ref(struct smb_open *o)
{
	o->refs++;
}

void smb_open_unref(struct smb_open *o)
{
	assert(o->refs > 0);
	if (--o->refs > 0)
		return;
	assert(o->closed && !o->notify_first && !o->watcher);
	smb_tree_unref(o->tree);
	free((void *)(uintptr_t)o->pattern.ptr);
	free((void *)(uintptr_t)o->after.ptr);
	free(o);
}

void smb_open_forget(struct smb_open *o)
{
	struct smb_opens *all = o->session->opens;
	struct smb_open **at = slot_of(all, o->id.volatile_);
	assert(!o->closed);
	while (*at != o)
		at = &(*at)->next;
	*at = o->next;
	all->count--;
	o->closed = true;
	if (o->handle.open_id)
		holder_remove(o->session->conn->sl->server->config.holders, o->handle.open_id);
	smb_notify_end(o, STATUS_NOTIFY_CLEANUP);
	smb_open_unref(o);
}

struct smb_open *smb_open_find(struct smb_session *s, struct smb2_file_id id)
{
	for (struct smb_open *o = *slot_of(s->opens, id.volatile_); o; o = o->next)
		if (o->id.volatile_ == id.volatile_ && o->id.persistent == id.persistent)
			return o;
	return NULL;
}

struct smb_open *smb_open_by_persistent(struct smb_session *s, uint64_t persistent_id)
{
	for (size_t i = 0; i < OPEN_SLOTS; i++)
		for (struct smb_open *o = s->opens->slot[i]; o; o = o->next)
			if (o->id.persistent == persistent_id)
				return o;
	return NULL;
}

bool smb_guid_is_used(const struct smb_session *s, const unsigned char guid[SMB2_GUID_BYTES])
{
	bool used = false;
	for (size_t i = 0; i < OPEN_SLOTS; i++)
		for (const struct smb_open *o = s->opens->slot[i]; o; o = o->next) {
			if (!o->durable_v2 || memcmp(o->create_guid, guid, SMB2_GUID_BYTES) != 0)
				continue;
			if (!o->used)
				return false;
			used = true;
		}
	return used;
}

/* A request of an earlier channel, delayed somewhere, must not change what was done since. */
static bool channel_is_old(struct smb_request *r, struct smb_open *o, bool changes)
{
	if (!smb_is_3x(r->conn))
		return false;
	uint16_t now = (uint16_t)r->h.status, ahead = (uint16_t)(now - o->channel_sequence);
	if (ahead <= 0x7FFF) {
		o->channel_sequence = now;
		return false;
	}
	return changes;
}

struct smb_open *smb_open_of(struct smb_request *r, struct smb2_file_id id, bool changes)
{
	struct smb_chain *ch = r->chain;
	assert(!r->open);
	if ((r->h.flags & SMB2_FLAG_RELATED) && smb2_file_id_is_none(id)) {
		if (ch->related_status != STATUS_OK) {
			smb_fail(r, ch->related_status);
			return NULL;
		}
		id = ch->file_id;
	}
	struct smb_open *o = r->session->opens ? smb_open_find(r->session, id) : NULL;
	if (!o || o->tree != r->tree) {
		smb_fail(r, STATUS_FILE_CLOSED);
		return NULL;
	}
	ch->file_id = o->id;
	if (channel_is_old(r, o, changes)) {
		smb_fail(r, STATUS_FILE_NOT_AVAILABLE);
		return NULL;
	}
	smb_open_ref(o);
	o->used = true;
	r->open = o;
	return o;
}

bool smb_open_may(struct smb_request *r, const struct smb_open *o, uint32_t access)
{
	if (o->access & access)
		return true;
	smb_fail(r, STATUS_ACCESS_DENIED);
	return false;
}

/* ---- closing rows in the background ---- */

struct row_close {
	struct store_job job;
	struct io_task task;
	struct smb_loop *sl;
	struct arena arena;
	struct slice partition; /* owned */
	uint64_t share;
	struct file_close_call call;
};

static void row_closed(struct io_task *t)
{
	struct row_close *c = io_container_of(t, struct row_close, task);
	struct smb_loop *sl = c->sl;
	struct wait_key key = { c->share, c->call.handle.inode_id };
	if (c->call.wake)
		wait_wake(sl->server->config.waits, &key);
	if (c->call.deleted || c->call.pending)
		watch_gone(sl->server->config.watches, c->share, c->call.handle.inode_id);
	smb_publish_events(sl, c->partition, c->share, &c->call.events, &c->arena);
	arena_fini(&c->arena);
	free((void *)(uintptr_t)c->partition.ptr);
	free(c);
	sl->work_count--;
	smb_loop_check_drained(sl);
}

static void row_close_done(struct store_job *job, enum err result)
{
	struct row_close *c = job->owner;
	if (result != ERR_OK) {
		c->call.wake = true; /* waiters look for themselves */
		c->call.deleted = c->call.pending = false;
		c->call.events.count = 0;
	}
	io_loop_post(c->sl->loop, &c->task);
}

void smb_close_row(struct smb_loop *sl, const struct smb_tree *tree, struct file_handle handle, enum file_close_how how,
		   bool sync)
{
	struct row_close *c = calloc(1, sizeof *c);
	char *partition = malloc(tree->partition.len);
	if (!c || !partition) { /* it stays open until the server restarts; nothing else is possible */
		free(c);
		free(partition);
		return;
	}
	memcpy(partition, tree->partition.ptr, tree->partition.len);
	c->sl = sl;
	c->partition = slice_make(partition, tree->partition.len);
	c->share = tree->share;
	c->call.handle = handle;
	c->call.how = how;
	c->task.run = row_closed;
	arena_init(&c->arena, SMB_ARENA_BYTES);
	c->job = (struct store_job){
		.partition = c->partition,
		.apply = file_apply_close,
		.call = &c->call,
		.arena = &c->arena,
		.done = row_close_done,
		.owner = c,
		.sync = sync,
	};
	sl->work_count++;
	store_write(sl->server->config.store, &c->job);
}

bool smb_opens_are_unsynced(const struct smb_session *s, const struct smb_tree *tree)
{
	bool unsynced = false;
	for (size_t i = 0; s->opens && i < OPEN_SLOTS; i++)
		for (const struct smb_open *o = s->opens->slot[i]; o; o = o->next)
			unsynced = unsynced || ((!tree || o->tree == tree) && smb_open_is_unsynced(o));
	return unsynced;
}

static void synced(struct smb_request *r, enum err e)
{
	if (e != ERR_OK) {
		smb_fail_err(r, e);
		return;
	}
	smb2_empty_put(r->out);
	smb_reply(r, STATUS_OK);
}

void smb_reply_synced(struct smb_request *r)
{
	if (r->sync)
		smb_commit(r, KEY_PARTITION_STORE, store_apply_nothing, NULL, synced);
	else
		synced(r, ERR_OK);
}

void smb_opens_end(struct smb_session *s, struct smb_tree *tree, bool disconnected)
{
	if (!s->opens)
		return;
	for (size_t i = 0; i < OPEN_SLOTS; i++)
		for (struct smb_open *o = s->opens->slot[i]; o;) {
			struct smb_open *next = o->next;
			if (!tree || o->tree == tree) {
				if (o->handle.open_id)
					smb_close_row(s->conn->sl, o->tree, o->handle,
						      disconnected ? FILE_CLOSE_DISCONNECT : FILE_CLOSE_CLIENT,
						      smb_open_is_unsynced(o));
				smb_open_forget(o);
			}
			o = next;
		}
}

/* ---- what the holder of an open is told ---- */

static void break_send(struct smb_open *o, const struct holder_notice *n)
{
	struct smb_session *s = o->session;
	struct buf b;
	struct smb2_header h = { .command = SMB2_OPLOCK_BREAK, .flags = SMB2_FLAG_RESPONSE, .message_id = UINT64_MAX };
	if (!n->is_lease)
		h.session_id = s->id;
	buf_init(&b, SMB_OUT_HEAD_BYTES + SMB2_HEADER_BYTES + 64);
	smb2_zeros_put(&b, SMB_OUT_HEAD_BYTES);
	smb2_header_put(&b, &h);
	if (n->is_lease) {
		struct smb2_lease_notice l = {
			.epoch = n->epoch, .acknowledge = n->ack_required, .current = n->from, .next = n->to
		};
		memcpy(l.key, n->lease_key, sizeof l.key);
		smb2_lease_notice_put(&b, &l);
	} else {
		smb2_oplock_notice_put(&b, oplock_state_level(n->to), o->id);
	}
	smb_conn_send(s->conn, &b, SMB_OUT_HEAD_BYTES, s->encrypts ? s : NULL);
}

static void open_notice(void *owner, const struct holder_notice *n)
{
	struct smb_open *o = owner;
	if (o->closed || o->session->conn->closed)
		return;
	if (n->what == NOTICE_BREAK)
		break_send(o, n);
	else /* its row is gone already */
		smb_open_forget(o);
}

bool smb_conn_tell(struct smb_conn *c, const struct holder_notice *n)
{
	for (struct smb_session *s = c->sessions; s; s = s->next) {
		struct smb_open *o = s->opens ? smb_open_by_persistent(s, n->open_id) : NULL;
		if (!o)
			continue;
		open_notice(o, n);
		return true;
	}
	return false;
}
