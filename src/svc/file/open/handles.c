/* SPDX-License-Identifier: Apache-2.0
 * List Handles and Force Close; the opens of a share at the server's start, and those whose time is over. */
#include "svc/file/open/open_int.h"
#include "svc/file/target.h"

enum {
	HANDLES_PER_COMMIT = 100, /* closed in one transaction: each may delete a file */
	LOAD_PER_COMMIT = 200,
	/* Rows read in one go, also of opens that are not meant: all others' commits wait meanwhile. Then the caller is
	 * told where to go on. */
	CLOSE_READS_MAX = 2048,
	LIST_READS_MAX = 65536,
	ROUND_ARENA_BYTES = 16 * 1024 * 1024,
};

static const struct file_view live = { 0 };

/* ---- a walk over opens ---- */

/* Opens from (inode, open) on, in the order of their keys. `each` returns ERR_LIMIT to stop before that open. */
typedef enum err visit_fn(struct txn *, void *arg, uint64_t inode_id, uint64_t open_id, struct slice row);

struct walk {
	uint64_t inode_id, open_id; /* where to begin; where it stopped */
	bool only_inode;	    /* the opens of that inode and no other */
	bool durable;		    /* the durable rows instead of the volatile ones */
	bool stopped;
};

static void walk_range(const struct walk *w, struct key *from, struct key *until)
{
	key_init(until);
	if (!w->durable)
		key_tag(until, KEY_TAG_VOLATILE);
	key_tag(until, 'o');
	if (w->only_inode)
		key_u64(until, w->inode_id);
	*from = *until;
	key_prefix_end(until);
	if (!w->only_inode)
		key_u64(from, w->inode_id);
	if (w->open_id) {
		key_tag(from, 'o');
		key_u64(from, w->open_id);
	}
}

static enum err walk_opens(struct txn *txn, struct walk *w, visit_fn *each, void *arg)
{
	struct key from, until;
	walk_range(w, &from, &until);
	w->stopped = false;
	struct scan_spec spec = { .from = key_slice(&from), .until = key_slice(&until), .limit_rows = 256 };
	for (;;) {
		struct rows rows;
		TRY(txn_scan(txn, &spec, &rows));
		for (size_t i = 0; i < rows.count; i++) {
			uint64_t inode_id, open_id;
			if (!open_key_take(rows.row[i].key, &inode_id, &open_id))
				continue;
			enum err err = each(txn, arg, inode_id, open_id, rows.row[i].value);
			if (err == ERR_LIMIT) {
				w->inode_id = inode_id;
				w->open_id = open_id;
				w->stopped = true;
				return ERR_OK;
			}
			TRY(err);
		}
		if (!rows.more)
			return ERR_OK;
		key_after(&from, rows.row[rows.count - 1].key);
		spec.from = key_slice(&from);
	}
}

/* ---- List Handles ---- */

struct list {
	struct file_handles_call *call;
	size_t limit;
	size_t reads, reads_max;
	uint64_t last_inode; /* answers of the last question, which mostly comes again */
	bool last_below;
	uint64_t last_described; /* opens come file by file: its state is read once */
	bool last_pending;
};

static enum err is_wanted(struct txn *txn, struct list *l, uint64_t inode_id, bool *ret)
{
	uint64_t at = inode_id;
	struct inode n;
	if (inode_id == l->last_inode) {
		*ret = l->last_below;
		return ERR_OK;
	}
	*ret = at == l->call->inode.id;
	for (unsigned depth = 0; !*ret && l->call->recursive && at != FILE_ROOT_ID && depth <= FILE_PATH_DEPTH_MAX;
	     depth++) {
		enum err err = inode_get(txn, &live, at, &n);
		l->reads++;
		if (err == ERR_RESOURCE_NOT_FOUND)
			break;
		TRY(err);
		at = n.parent_id;
		*ret = at == l->call->inode.id;
	}
	l->last_inode = inode_id;
	l->last_below = *ret;
	return ERR_OK;
}

static enum err describe(struct txn *txn, struct slice row, struct file_handle_info *ret)
{
	struct inode n;
	TRY(open_row_decode(row, txn_arena(txn), &ret->open));
	enum err err = inode_get(txn, &live, ret->open.inode_id, &n);
	if (err == ERR_RESOURCE_NOT_FOUND) {
		ret->path = SLICE("");
		return ERR_OK;
	}
	TRY(err);
	ret->parent_id = n.parent_id;
	return inode_path(txn, &live, n.id, &ret->path);
}

static enum err list_one(struct txn *txn, void *arg, uint64_t inode_id, uint64_t open_id, struct slice row)
{
	struct list *l = arg;
	struct file_handles_call *c = l->call;
	bool wanted;
	(void)open_id;
	if (l->reads >= l->reads_max)
		return ERR_LIMIT;
	l->reads++;
	TRY(is_wanted(txn, l, inode_id, &wanted));
	if (!wanted)
		return ERR_OK;
	if (c->count == l->limit)
		return ERR_LIMIT;
	struct file_handle_info *h = &c->handle[c->count];
	TRY(describe(txn, row, h));
	if (l->last_described != inode_id)
		TRY(file_opens_is_delete_pending(txn, inode_id, &l->last_pending));
	l->last_described = inode_id;
	h->delete_pending = l->last_pending || h->open.delete_on_close;
	c->count++;
	return ERR_OK;
}

/* What the call is about. Handles are shown of files that are to be deleted, too. */
static enum err find_target(struct txn *txn, struct file_handles_call *c)
{
	struct file_view view;
	c->count = c->closed_count = 0;
	c->more = c->wake_all = false;
	TRY(target_view(txn, &c->target, &view));
	TRY(inode_find(txn, &view, &c->target.place, NULL, &c->inode));
	bool fits = c->target.kind == FILE_KIND_ANY || c->target.kind == c->inode.kind;
	return fits ? ERR_OK : ERR_RESOURCE_NOT_FOUND;
}

static struct walk walk_for(const struct file_handles_call *c)
{
	struct walk w = { .inode_id = c->after, .open_id = c->after_open };
	w.only_inode = !(c->recursive && c->inode.kind == FILE_KIND_DIRECTORY);
	if (w.only_inode)
		w.inode_id = c->inode.id;
	return w;
}

enum err file_apply_list_handles(struct txn *txn, void *call)
{
	struct file_handles_call *c = call;
	TRY(find_target(txn, c));
	struct list l = { .call = c,
			  .limit = c->limit ? c->limit : 1,
			  .reads_max = LIST_READS_MAX,
			  .last_inode = UINT64_MAX,
			  .last_described = UINT64_MAX };
	struct walk w = walk_for(c);
	c->handle = ARENA_NEW_ARRAY(txn_arena(txn), struct file_handle_info, l.limit);
	if (!c->handle)
		return ERR_NO_MEMORY;
	TRY(walk_opens(txn, &w, list_one, &l));
	c->more = w.stopped;
	c->next = w.inode_id;
	c->next_open = w.open_id;
	return ERR_OK;
}

/* ---- Force Close ---- */

static enum err note_closing(struct txn *txn, void *arg, uint64_t inode_id, uint64_t open_id, struct slice row)
{
	struct list *l = arg;
	struct file_handles_call *c = l->call;
	bool wanted;
	(void)row;
	if (l->reads >= l->reads_max)
		return ERR_LIMIT;
	l->reads++;
	TRY(is_wanted(txn, l, inode_id, &wanted));
	if (!wanted || (c->close_one && c->close_one != open_id))
		return ERR_OK;
	if (c->closed_count == l->limit)
		return ERR_LIMIT;
	c->closed[c->closed_count++] = (struct file_handle){ inode_id, open_id };
	return ERR_OK;
}

enum err file_apply_force_close(struct txn *txn, void *call)
{
	struct file_handles_call *c = call;
	TRY(find_target(txn, c));
	if (c->recursive && c->inode.kind == FILE_KIND_FILE)
		return ERR_INVALID_HEADER_VALUE;
	struct list l = { .call = c,
			  .limit = HANDLES_PER_COMMIT,
			  .reads_max = CLOSE_READS_MAX,
			  .last_inode = UINT64_MAX,
			  .last_described = UINT64_MAX };
	struct walk w = walk_for(c);
	bool directly = c->close_one && w.only_inode; /* the first one from there on is it, or it is not there */
	if (directly) {
		w.open_id = c->close_one;
		l.reads_max = 1;
	}
	c->closed = ARENA_NEW_ARRAY(txn_arena(txn), struct file_handle, l.limit);
	c->events = ARENA_NEW_ARRAY(txn_arena(txn), struct file_events, l.limit);
	if (!c->closed || !c->events)
		return ERR_NO_MEMORY;
	TRY(walk_opens(txn, &w, note_closing, &l));
	for (size_t i = 0; i < c->closed_count; i++) {
		struct opens f;
		struct close_result r;
		TRY(opens_load(txn, c->closed[i].inode_id, &f));
		TRY(open_end(txn, &f, c->closed[i].open_id, &r));
		c->events[i] = r.events;
	}
	c->count = c->closed_count;
	c->wake_all = c->closed_count > 0;
	c->more = w.stopped && !directly;
	c->next = w.inode_id;
	c->next_open = w.open_id;
	return ERR_OK;
}

/* ---- after a restart ---- */

struct load {
	struct walk walk;
	size_t count;
};

static enum err load_one(struct txn *txn, void *arg, uint64_t inode_id, uint64_t open_id, struct slice row)
{
	struct load *l = arg;
	struct file_open o;
	(void)inode_id;
	(void)open_id;
	if (l->count == LOAD_PER_COMMIT)
		return ERR_LIMIT;
	l->count++;
	TRY(open_row_decode(row, txn_arena(txn), &o));
	/* Their clients have to come back; the time they have for it begins now. */
	o.connected = false;
	if (o.oplock.breaking)
		o.oplock.state = o.oplock.break_required;
	o.oplock.breaking = false;
	o.end_ticks = txn_now(txn) + o.timeout_ms * (TICKS_PER_SECOND / 1000);
	TRY(open_put(txn, &o));
	return open_index_put(txn, &o);
}

static enum err apply_load(struct txn *txn, void *call)
{
	struct load *l = call;
	struct load run = *l;
	run.count = 0;
	TRY(walk_opens(txn, &run.walk, load_one, &run));
	*l = run;
	return ERR_OK;
}

/* Leases and states of files with persistent opens. A break that was under way ends here: its holder is told the state
 * when it comes back. */
static enum err load_other(struct txn *txn, const struct row *row)
{
	size_t prefix = 1 + KEY_U64_BYTES;
	struct slice key = row->key;
	uint64_t inode_id;
	if (!key_take_tag(&key, 'o') || !key_take_u64(&key, &inode_id) || row->key.len <= prefix)
		return ERR_CORRUPT;
	if (row->key.ptr[prefix] == 'k') {
		struct open_oplock k;
		TRY(open_lease_decode(row->value, &k));
		if (k.oplock.breaking)
			k.oplock.state = k.oplock.break_required;
		k.oplock.breaking = false;
		return open_lease_put(txn, inode_id, &k.oplock, true);
	}
	if (row->key.ptr[prefix] != 'f')
		return ERR_OK;
	struct open_state file_state;
	TRY(open_state_decode(row->value, &file_state));
	return open_state_write(txn, inode_id, &file_state, true, true);
}

struct load_others {
	struct slice from; /* in memory that outlives the transaction */
	struct key key;
	bool more;
};

static enum err apply_load_others(struct txn *txn, void *call)
{
	struct load_others *l = call;
	struct rows rows;
	struct scan_spec spec = { .from = l->from, .until = SLICE("p"), .limit_rows = LOAD_PER_COMMIT };
	TRY(txn_scan(txn, &spec, &rows));
	for (size_t i = 0; i < rows.count; i++)
		TRY(load_other(txn, &rows.row[i]));
	l->more = rows.more;
	if (rows.more)
		key_after(&l->key, rows.row[rows.count - 1].key);
	return ERR_OK;
}

static enum err apply_has_durable(struct txn *txn, void *call)
{
	bool *ret = call;
	struct rows rows;
	struct scan_spec spec = { .from = SLICE("o"), .until = SLICE("p"), .limit_rows = 1, .keys_only = true };
	TRY(txn_scan(txn, &spec, &rows));
	*ret = rows.count > 0;
	return ERR_OK;
}

enum err file_opens_load(struct store *store, struct slice partition)
{
	struct arena arena;
	bool any = false;
	struct load l = { .walk.durable = true };
	struct load_others others = { .from = SLICE("o") };
	enum err err;
	arena_init(&arena, ROUND_ARENA_BYTES);
	err = store_look(store, partition, apply_has_durable, &any, &arena);
	l.walk.stopped = others.more = any;
	while (err == ERR_OK && l.walk.stopped) {
		arena_reset(&arena);
		err = store_write_wait(store, partition, apply_load, &l, &arena);
	}
	while (err == ERR_OK && others.more) {
		arena_reset(&arena);
		err = store_write_wait(store, partition, apply_load_others, &others, &arena);
		others.from = key_slice(&others.key);
	}
	arena_fini(&arena);
	return err;
}

/* ---- opens whose time is over ---- */

struct round {
	struct file_handle over[HANDLES_PER_COMMIT];
	size_t count;
	bool more;
};

static enum err note_over(struct txn *txn, void *arg, uint64_t inode_id, uint64_t open_id, struct slice row)
{
	struct round *r = arg;
	struct file_open o;
	TRY(open_row_decode(row, txn_arena(txn), &o));
	if (o.connected || txn_now(txn) < o.end_ticks)
		return ERR_OK;
	if (r->count == HANDLES_PER_COMMIT)
		return ERR_LIMIT;
	r->over[r->count++] = (struct file_handle){ inode_id, open_id };
	return ERR_OK;
}

static enum err apply_find_over(struct txn *txn, void *call)
{
	struct round *r = call;
	struct walk w = { 0 };
	r->count = 0;
	TRY(walk_opens(txn, &w, note_over, r));
	r->more = w.stopped;
	return ERR_OK;
}

static enum err apply_close_over(struct txn *txn, void *call)
{
	const struct round *r = call;
	for (size_t i = 0; i < r->count; i++) {
		struct opens f;
		struct close_result ignored;
		TRY(opens_load(txn, r->over[i].inode_id, &f));
		const struct file_open *o = opens_find(&f, r->over[i].open_id);
		if (o && !o->connected && f.now_ticks >= o->end_ticks)
			TRY(open_end(txn, &f, r->over[i].open_id, &ignored));
	}
	return ERR_OK;
}

enum err file_opens_round(struct store *store, struct slice partition, bool *ret_more)
{
	struct arena arena;
	struct round r;
	arena_init(&arena, ROUND_ARENA_BYTES);
	enum err err = store_look(store, partition, apply_find_over, &r, &arena);
	if (err == ERR_OK && r.count) {
		arena_reset(&arena);
		err = store_write_wait(store, partition, apply_close_over, &r, &arena);
	}
	arena_fini(&arena);
	if (err == ERR_OK)
		*ret_more = r.more;
	return err;
}
