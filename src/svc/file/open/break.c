/* SPDX-License-Identifier: Apache-2.0
 * Breaks: asked for, marked in the rows, acknowledged; and what REST operations ask of the opens. */
#include "svc/file/open/open_int.h"

#include <assert.h>

enum err demands_new(struct txn *txn, const struct opens *f, struct lock_demands *ret)
{
	struct lock_demand *item = ARENA_NEW_ARRAY(txn_arena(txn), struct lock_demand, f->oplock_count + 1);
	struct lock_holder *holder = ARENA_NEW_ARRAY(txn_arena(txn), struct lock_holder, f->oplock_count + 1);
	if (!item || !holder)
		return ERR_NO_MEMORY;
	*ret = (struct lock_demands){ .item = item, .holder = holder };
	return ERR_OK;
}

static bool has_client(const struct opens *f, int oplock)
{
	for (size_t i = 0; i < f->rules.open_count; i++)
		if (f->rules.open[i].oplock == oplock && f->rules.open[i].connected)
			return true;
	return false;
}

/* An open of the oplock, rather one whose client is there. */
static uint64_t open_of(const struct opens *f, int oplock)
{
	uint64_t found = 0;
	for (size_t i = 0; i < f->rules.open_count; i++)
		if (f->rules.open[i].oplock == oplock && (!found || f->rules.open[i].connected))
			found = f->rules.open[i].id;
	return found;
}

/* NULL: no room. */
static struct file_break *break_add(const struct opens *f, const struct lock_demand *d, struct file_breaks *b)
{
	const struct oplock *o = &f->oplock[d->oplock].oplock;
	if (b->count >= FILE_BREAKS_MAX && !b->more)
		return NULL;
	size_t i = b->count++;
	struct file_break *item = i < FILE_BREAKS_MAX ? &b->item[i] : &b->more[i - FILE_BREAKS_MAX];
	*item = (struct file_break){ .open_id = open_of(f, d->oplock),
				     .is_lease = o->kind == OPLOCK_LEASE,
				     .client = o->client,
				     .lease_key = o->key,
				     .keep = d->keep };
	return item;
}

static void breaks_reset(const struct opens *f, struct file_breaks *b)
{
	b->inode_id = f->inode_id;
	b->count = 0;
	b->more = NULL;
	b->asked = b->wait = false;
	b->close_open_id = 0;
	b->deadline_ticks = 0;
}

void breaks_ask(const struct opens *f, const struct lock_demands *d, struct file_breaks *ret)
{
	breaks_reset(f, ret);
	for (size_t i = 0; i < d->count; i++)
		if (!break_add(f, &d->item[i], ret))
			break;
}

/* One oplock comes down, or begins to. Without a client there is nobody to ask: it is lowered where it stands, and the
 * client finds it so when it comes back. */
static enum err mark(struct txn *txn, struct opens *f, int oplock, uint8_t keep, struct file_break *item)
{
	struct open_oplock *k = &f->oplock[oplock];
	uint64_t deadline = f->now_ticks + FILE_BREAK_SECONDS * TICKS_PER_SECOND;
	struct oplock_notice notice;
	struct oplock before = k->oplock;
	bool tell = oplock_break(&k->oplock, keep, deadline, &notice);
	if (!has_client(f, oplock) && k->oplock.breaking) {
		k->oplock.state = k->oplock.break_required;
		k->oplock.breaking = false;
		tell = false;
	}
	if (item) {
		item->has_notice = tell;
		if (tell)
			item->notice = notice;
	}
	if (k->oplock.state == before.state && k->oplock.breaking == before.breaking &&
	    k->oplock.break_required == before.break_required)
		return ERR_OK;
	return open_oplock_put(txn, f, k);
}

enum err breaks_mark(struct txn *txn, struct opens *f, const struct lock_demands *d, struct file_breaks *ret)
{
	breaks_reset(f, ret);
	if (d->count > FILE_BREAKS_MAX) {
		ret->more = ARENA_NEW_ARRAY(txn_arena(txn), struct file_break, d->count - FILE_BREAKS_MAX);
		if (!ret->more)
			return ERR_NO_MEMORY;
	}
	for (size_t i = 0; i < d->count; i++)
		TRY(mark(txn, f, d->item[i].oplock, d->item[i].keep, break_add(f, &d->item[i], ret)));
	return d->count ? opens_refresh(txn, f) : ERR_OK;
}

enum err answer_err(const struct opens *f, enum lock_answer answer, const struct lock_demands *d,
		    uint64_t close_open_id, struct file_breaks *breaks)
{
	switch (answer) {
	case LOCK_YES:
		return ERR_OK;
	case LOCK_BREAK:
		breaks_ask(f, d, breaks);
		breaks->asked = true;
		return ERR_BREAK_FIRST;
	case LOCK_CLOSE_DISCONNECTED:
		breaks_reset(f, breaks);
		breaks->close_open_id = close_open_id;
		return ERR_BREAK_FIRST;
	case LOCK_SHARING_VIOLATION:
		return ERR_SHARING_VIOLATION;
	case LOCK_DELETE_PENDING:
		return ERR_SMB_DELETE_PENDING;
	case LOCK_NOT_AVAILABLE:
		return ERR_SMB_FILE_NOT_AVAILABLE;
	}
	return ERR_SHARING_VIOLATION;
}

/* When the last break that is under way ends by itself. */
static uint64_t last_deadline(const struct opens *f)
{
	uint64_t last = 0;
	for (size_t i = 0; i < f->oplock_count; i++) {
		const struct oplock *o = &f->oplock[i].oplock;
		if (o->breaking && o->break_deadline_ticks > last)
			last = o->break_deadline_ticks;
	}
	return last;
}

enum err answer_or_mark(struct txn *txn, struct opens *f, enum lock_answer answer, const struct lock_demands *d,
			uint64_t close_open_id, struct file_breaks *breaks)
{
	breaks->wait = false;
	if (answer != LOCK_BREAK || !breaks->mark_at_once)
		return answer_err(f, answer, d, close_open_id, breaks);
	TRY(breaks_mark(txn, f, d, breaks));
	breaks->asked = breaks->wait = true;
	breaks->deadline_ticks = last_deadline(f);
	return ERR_OK;
}

/* ---- REST ---- */

enum err file_opens_rest_access(struct txn *txn, uint64_t inode_id, enum file_rest_op op, struct file_breaks *ret)
{
	struct opens f;
	struct lock_demands d;
	uint64_t close_id = 0;
	TRY(opens_load(txn, inode_id, &f));
	breaks_reset(&f, ret);
	if (!f.count && !f.state.delete_pending)
		return ERR_OK;
	TRY(demands_new(txn, &f, &d));
	enum lock_answer answer = lock_rest_access(&f.rules, op, &d, &close_id);
	TRY(answer_err(&f, answer, &d, close_id, ret));
	return breaks_mark(txn, &f, &d, ret);
}

enum err file_opens_rest_read(struct txn *txn, uint64_t inode_id, uint64_t offset, uint64_t length)
{
	struct opens f;
	TRY(opens_load(txn, inode_id, &f));
	return lock_may_io(&f.rules, 0, false, offset, length) ? ERR_OK : ERR_FILE_LOCK_CONFLICT;
}

enum err file_opens_rest_write(struct txn *txn, uint64_t inode_id)
{
	struct opens f;
	TRY(opens_load(txn, inode_id, &f));
	for (size_t i = 0; i < f.rules.open_count; i++)
		if (f.rules.open[i].range_count)
			return ERR_FILE_LOCK_CONFLICT;
	return ERR_OK;
}

enum err file_opens_is_delete_pending(struct txn *txn, uint64_t inode_id, bool *ret)
{
	struct opens f;
	TRY(opens_load(txn, inode_id, &f));
	*ret = f.state.delete_pending;
	return ERR_OK;
}

enum err file_opens_any(struct txn *txn, bool *ret)
{
	struct rows rows;
	struct scan_spec spec = { .from = SLICE("~o"), .until = SLICE("~p"), .limit_rows = 1, .keys_only = true };
	TRY(txn_scan(txn, &spec, &rows));
	*ret = rows.count > 0;
	return ERR_OK;
}

/* ---- below a directory ---- */

static enum err is_below(struct txn *txn, uint64_t inode_id, uint64_t directory_id, bool *ret)
{
	static const struct file_view live = { 0 };
	struct inode n;
	*ret = false;
	for (unsigned depth = 0; depth <= FILE_PATH_DEPTH_MAX && inode_id != FILE_ROOT_ID; depth++) {
		enum err err = inode_get(txn, &live, inode_id, &n);
		if (err == ERR_RESOURCE_NOT_FOUND)
			return ERR_OK;
		TRY(err);
		if (n.parent_id == directory_id) {
			*ret = true;
			return ERR_OK;
		}
		inode_id = n.parent_id;
	}
	return ERR_OK;
}

enum err file_opens_below(struct txn *txn, uint64_t directory_id, struct file_breaks *ret)
{
	struct key from, until;
	uint64_t last = UINT64_MAX;
	key_init(&from);
	key_tag(&from, KEY_TAG_VOLATILE);
	key_tag(&from, 'o');
	until = from;
	key_prefix_end(&until);
	struct scan_spec spec = { .from = key_slice(&from), .until = key_slice(&until), .keys_only = true };
	for (;;) {
		struct rows rows;
		TRY(txn_scan(txn, &spec, &rows));
		for (size_t i = 0; i < rows.count; i++) {
			uint64_t inode_id, open_id;
			bool below = false;
			if (!open_key_take(rows.row[i].key, &inode_id, &open_id) || inode_id == last)
				continue;
			last = inode_id;
			if (inode_id != directory_id)
				TRY(is_below(txn, inode_id, directory_id, &below));
			if (below)
				TRY(file_opens_rest_access(txn, inode_id, FILE_REST_REPLACE, ret));
		}
		if (!rows.more)
			return ERR_OK;
		key_after(&from, rows.row[rows.count - 1].key);
		spec.from = key_slice(&from);
	}
}

/* ---- marking what ERR_BREAK_FIRST asked for ---- */

static int find_item(const struct opens *f, const struct file_break *item)
{
	for (size_t i = 0; i < f->oplock_count; i++) {
		const struct open_oplock *k = &f->oplock[i];
		if (item->is_lease ? oplock_is_lease_of(&k->oplock, &item->client, &item->lease_key)
				   : k->oplock.kind == OPLOCK_PLAIN && f->open[k->open_index].open_id == item->open_id)
			return (int)i;
	}
	return LOCK_NO_OPLOCK;
}

static bool is_abandoned(const struct opens *f, int oplock)
{
	if (has_client(f, oplock))
		return false;
	for (size_t i = 0; i < f->rules.open_count; i++)
		if (f->rules.open[i].oplock == oplock && f->rules.open[i].life != OPEN_PERSISTENT)
			return true;
	return false;
}

static enum err close_abandoned(struct txn *txn, struct opens *f, uint64_t open_id, bool *ret_closed)
{
	struct close_result ignored;
	const struct file_open *o = opens_find(f, open_id);
	*ret_closed = false;
	if (!o || o->connected || (o->life == OPEN_PERSISTENT && f->now_ticks < o->end_ticks))
		return ERR_OK;
	*ret_closed = true;
	return open_end(txn, f, open_id, &ignored);
}

enum err file_apply_break(struct txn *txn, void *call)
{
	struct file_break_call *c = call;
	struct opens f;
	TRY(opens_load(txn, c->breaks.inode_id, &f));
	c->wait = c->wake = false;
	c->breaks.deadline_ticks = 0;
	if (c->breaks.close_open_id)
		TRY(close_abandoned(txn, &f, c->breaks.close_open_id, &c->wake));
	for (size_t i = 0; i < c->breaks.count; i++) {
		struct file_break *item = &c->breaks.item[i];
		int at = find_item(&f, item);
		item->has_notice = false;
		/* Its client left meanwhile, and it need not be kept for it: asked again, the rules have it closed. */
		if (at == LOCK_NO_OPLOCK || is_abandoned(&f, at))
			continue;
		TRY(mark(txn, &f, at, item->keep, item));
		const struct oplock *o = &f.oplock[at].oplock;
		c->wait |= o->breaking;
		if (o->breaking && o->break_deadline_ticks > c->breaks.deadline_ticks)
			c->breaks.deadline_ticks = o->break_deadline_ticks;
	}
	/* Asked by nobody new, but an older break must end first (an open while its lease is breaking). */
	if (!c->breaks.count) {
		c->breaks.deadline_ticks = last_deadline(&f);
		c->wait = c->breaks.deadline_ticks != 0;
	}
	if (c->wake)
		c->wait = false;
	return ERR_OK;
}

/* ---- acknowledgement ---- */

static enum err find_acknowledged(struct txn *txn, struct file_ack_call *c, struct opens *f, int *ret)
{
	uint64_t inode_id = c->handle.inode_id;
	if (c->is_lease) {
		enum err err = open_find_by_lease(txn, &c->client, &c->lease_key, &inode_id);
		TRY(err == ERR_NOT_FOUND ? ERR_RESOURCE_NOT_FOUND : err);
	}
	TRY(opens_load(txn, inode_id, f));
	struct file_break item = {
		.open_id = c->handle.open_id, .is_lease = c->is_lease, .client = c->client, .lease_key = c->lease_key
	};
	*ret = find_item(f, &item);
	if (*ret != LOCK_NO_OPLOCK)
		return ERR_OK;
	if (c->is_lease)
		return ERR_RESOURCE_NOT_FOUND;
	return opens_find(f, c->handle.open_id) ? ERR_SMB_INVALID_OPLOCK_PROTOCOL : ERR_SMB_FILE_CLOSED;
}

enum err file_apply_acknowledge(struct txn *txn, void *call)
{
	struct file_ack_call *c = call;
	struct opens f;
	int at;
	bool again;
	struct oplock_notice notice;
	TRY(find_acknowledged(txn, c, &f, &at));
	struct open_oplock *k = &f.oplock[at];
	breaks_reset(&f, &c->breaks);
	c->inode_id = f.inode_id;
	TRY(oplock_acknowledge(&k->oplock, c->state, f.now_ticks + FILE_BREAK_SECONDS * TICKS_PER_SECOND, &again,
			       &notice));
	/* What was acknowledged; a step that needs no answer has already gone further. */
	c->granted = c->state;
	if (again) {
		struct lock_demand d = { .oplock = at, .keep = k->oplock.break_to };
		struct file_break *item = break_add(&f, &d, &c->breaks);
		assert(item);
		item->has_notice = true;
		item->notice = notice;
	}
	c->wake = true;
	return open_oplock_put(txn, &f, k);
}
