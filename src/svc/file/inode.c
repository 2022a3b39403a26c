/* SPDX-License-Identifier: Apache-2.0
 * Inodes by name and by id: finding, creating, moving, removing. An inode lies under its name ('n' rows); the 'i' row
 * of its id says where that is. Both change in one transaction. */
#include "svc/file/inode.h"

#include <assert.h>

#include "svc/file/content/run.h"
#include "svc/file/depth.h"

enum {
	COPY_SILENCE_SECONDS = 60,
	INODE_EXPECT_BYTES = 512 /* most have no more: one piece of memory instead of several */
};

/* ---- finding ---- */

/* A pending copy whose worker has been silent for long has failed: the server ended under it. */
static void expire_copy(struct txn *txn, struct file_copy *c)
{
	if (c->status != FILE_COPY_PENDING ||
	    txn_now(txn) < c->heartbeat_ticks + COPY_SILENCE_SECONDS * TICKS_PER_SECOND)
		return;
	c->status = FILE_COPY_FAILED;
	c->description = SLICE("500 InternalError \"The copy ended with the server that made it.\"");
	c->completed_ticks = c->heartbeat_ticks;
}

static enum err get_by_key(struct txn *txn, const struct file_view *view, const struct key *k, struct inode *ret)
{
	struct slice value;
	if (k->overflow)
		return ERR_RESOURCE_NOT_FOUND;
	enum err e = file_row_get(txn, view, key_slice(k), &value);
	if (e == ERR_NOT_FOUND)
		return ERR_RESOURCE_NOT_FOUND;
	TRY(e);
	TRY(inode_decode(value, txn_arena(txn), ret));
	expire_copy(txn, &ret->copy);
	return ERR_OK;
}

static enum err get_root(struct txn *txn, const struct file_view *view, struct inode *ret)
{
	struct key k;
	inode_root_key(&k);
	return get_by_key(txn, view, &k, ret);
}

static enum err get_where(struct txn *txn, const struct file_view *view, uint64_t id, struct inode_where *ret)
{
	struct key k;
	struct slice value;
	where_key(&k, id);
	enum err e = file_row_get(txn, view, key_slice(&k), &value);
	if (e == ERR_NOT_FOUND)
		return ERR_RESOURCE_NOT_FOUND;
	TRY(e);
	return where_decode(value, ret);
}

enum err inode_get(struct txn *txn, const struct file_view *view, uint64_t id, struct inode *ret)
{
	struct inode_where where;
	struct inode n;
	struct key k;
	if (id == FILE_ROOT_ID)
		return get_root(txn, view, ret);
	TRY(get_where(txn, view, id, &where));
	inode_key(&k, where.parent_id, where.folded);
	enum err e = get_by_key(txn, view, &k, &n);
	if (e == ERR_RESOURCE_NOT_FOUND || (e == ERR_OK && n.id != id))
		return ERR_CORRUPT; /* the two rows change together */
	TRY(e);
	*ret = n;
	return ERR_OK;
}

enum err inode_find_child(struct txn *txn, const struct file_view *view, uint64_t parent_id, struct slice name,
			  struct inode *ret)
{
	struct key k;
	struct slice folded = file_name_fold(txn_arena(txn), name);
	if (!slice_is_set(folded))
		return ERR_NO_MEMORY;
	inode_key(&k, parent_id, folded);
	return get_by_key(txn, view, &k, ret);
}

static enum err short_name_find(struct txn *txn, const struct file_view *view, uint64_t parent_id, struct slice name,
				struct inode *ret)
{
	struct inode n;
	uint64_t id;
	if (!file_short_name_parse(name, &id))
		return ERR_RESOURCE_NOT_FOUND;
	TRY(inode_get(txn, view, id, &n));
	if (n.parent_id != parent_id || file_name_is_short(n.name))
		return ERR_RESOURCE_NOT_FOUND;
	*ret = n;
	return ERR_OK;
}

enum err inode_find(struct txn *txn, const struct file_view *view, const struct file_place *place,
		    struct inode *ret_parent, struct inode *ret)
{
	struct inode at, child;
	if (place->by_id) {
		TRY(inode_get(txn, view, place->id, &at));
		if (ret_parent)
			TRY(inode_get(txn, view, at.parent_id, ret_parent));
		*ret = at;
		return ERR_OK;
	}
	/* The root is always there: of the way through it only the id counts. */
	at = (struct inode){ .id = FILE_ROOT_ID, .parent_id = FILE_ROOT_ID, .kind = FILE_KIND_DIRECTORY };
	if (!place->path.count || (ret_parent && place->path.count == 1))
		TRY(get_root(txn, view, &at));
	if (!place->path.count) {
		if (ret_parent)
			*ret_parent = at;
		*ret = at;
		return ERR_OK;
	}
	for (size_t i = 0;; i++) {
		bool last = i + 1 == place->path.count;
		if (last && ret_parent)
			*ret_parent = at;
		enum err e = inode_find_child(txn, view, at.id, place->path.name[i], &child);
		if (e == ERR_RESOURCE_NOT_FOUND && place->short_names)
			e = short_name_find(txn, view, at.id, place->path.name[i], &child);
		if (!last && (e == ERR_RESOURCE_NOT_FOUND || (e == ERR_OK && child.kind != FILE_KIND_DIRECTORY)))
			return ERR_PARENT_NOT_FOUND;
		TRY(e);
		if (last)
			break;
		at = child;
	}
	*ret = child;
	return ERR_OK;
}

enum err inode_path(struct txn *txn, const struct file_view *view, uint64_t id, struct slice *ret)
{
	struct slice name[FILE_PATH_DEPTH_MAX];
	size_t depth = 0, bytes = 0;
	while (id != FILE_ROOT_ID) {
		struct inode n;
		if (depth == FILE_PATH_DEPTH_MAX)
			return ERR_INVALID_FILE_OR_DIRECTORY_PATH_NAME;
		TRY(inode_get(txn, view, id, &n));
		name[depth++] = n.name;
		bytes += n.name.len + 1;
		id = n.parent_id;
	}
	char *text = arena_alloc(txn_arena(txn), bytes + 1);
	size_t at = 0;
	if (!text)
		return ERR_NO_MEMORY;
	while (depth-- > 0) {
		memcpy(text + at, name[depth].ptr, name[depth].len);
		at += name[depth].len;
		if (depth)
			text[at++] = '/';
	}
	*ret = slice_make(text, at);
	return ERR_OK;
}

enum err inode_dir_is_empty(struct txn *txn, uint64_t id, bool *ret)
{
	struct key from, until;
	struct rows rows;
	key_init(&from);
	key_tag(&from, 'n');
	key_u64(&from, id);
	until = from;
	key_prefix_end(&until);
	struct scan_spec spec = {
		.from = key_slice(&from), .until = key_slice(&until), .limit_rows = 1, .keys_only = true
	};
	TRY(txn_scan(txn, &spec, &rows));
	*ret = rows.count == 0;
	return ERR_OK;
}

/* ---- changing ---- */

/* An inode row goes into history, and names its only run there. If the file goes on with it, that is one name more; if
 * it was cut, the name was left to this row (runs_cut). */
static enum err keep_sole(struct txn *txn, struct slice record, uint64_t sole)
{
	struct inode old;
	struct run run;
	if (!sole)
		return ERR_OK;
	TRY(inode_decode(record, txn_arena(txn), &old));
	if (old.sole != sole)
		return ERR_OK;
	run = inode_sole_run(&old);
	return run_add_names(txn, &run, 1);
}

/* If a snapshot holds the row that is there now, it is kept. A row as young as `stamp` is known to be in none. `sole`:
 * of the inode as it goes on. */
static enum err keep_row(struct txn *txn, const struct key *k, uint64_t stamp, uint64_t sole)
{
	struct share_state state;
	struct slice record;
	bool kept;
	if (stamp == txn_now(txn)) /* no snapshot is younger */
		return ERR_OK;
	TRY(share_state_load(txn, &state));
	if (state.newest <= stamp)
		return ERR_OK;
	enum err e = txn_get(txn, key_slice(k), &record);
	if (e != ERR_OK)
		return e == ERR_NOT_FOUND ? ERR_OK : e;
	TRY(history_keep(txn, state.newest, key_slice(k), record, &kept));
	return kept ? keep_sole(txn, record, sole) : ERR_OK;
}

static enum err put_at(struct txn *txn, const struct key *k, struct inode *n)
{
	struct buf b;
	if (k->overflow)
		return ERR_NAME_LENGTH_OUT_OF_RANGE;
	TRY(keep_row(txn, k, n->stamp, n->sole));
	n->stamp = txn_now(txn);
	buf_init(&b, FILE_RECORD_MAX);
	buf_expect(&b, INODE_EXPECT_BYTES);
	inode_encode(&b, n);
	return file_row_put(txn, k, &b);
}

static enum err key_of(struct txn *txn, uint64_t id, uint64_t parent_id, struct slice name, struct key *ret,
		       struct slice *ret_folded)
{
	if (id == FILE_ROOT_ID) {
		inode_root_key(ret);
		return ERR_OK;
	}
	struct slice folded = file_name_fold(txn_arena(txn), name);
	if (!slice_is_set(folded))
		return ERR_NO_MEMORY;
	inode_key(ret, parent_id, folded);
	if (ret_folded)
		*ret_folded = folded;
	return ERR_OK;
}

enum err inode_put(struct txn *txn, struct inode *n)
{
	struct key k;
	TRY(key_of(txn, n->id, n->parent_id, n->name, &k, NULL));
	return put_at(txn, &k, n);
}

/* `stamp`: of the row that is there, at most; of a new inode none is. */
static enum err put_where(struct txn *txn, uint64_t id, uint64_t stamp, uint64_t parent_id, struct slice folded)
{
	struct key k;
	struct buf b;
	where_key(&k, id);
	TRY(keep_row(txn, &k, stamp, 0));
	buf_init(&b, 2 * LIMIT_KEY_BYTES);
	where_encode(&b, &(struct inode_where){ txn_now(txn), parent_id, folded });
	return file_row_put(txn, &k, &b);
}

static enum err del_keeping(struct txn *txn, const struct key *k, uint64_t sole)
{
	TRY(keep_row(txn, k, 0, sole));
	return txn_del(txn, key_slice(k));
}

enum err inode_create(struct txn *txn, const struct inode *parent, struct inode *n)
{
	struct key k;
	struct slice folded;
	assert(parent->kind == FILE_KIND_DIRECTORY);
	if (n->size_bytes > FILE_SIZE_MAX_BYTES)
		return ERR_OUT_OF_RANGE_INPUT;
	n->id = txn_now(txn);
	n->parent_id = parent->id;
	n->content = n->run_count = n->merge_at = n->covers = n->data_end = n->sole = 0;
	n->born_ticks = txn_now(txn);
	n->below = (struct reach){ 0, 0 };
	if (n->kind == FILE_KIND_DIRECTORY)
		n->below = (struct reach){ DEPTH_FRESH_LEVELS, DEPTH_FRESH_CHARS };
	n->stamp = txn_now(txn); /* the name is free: no row to keep */
	TRY(depth_note(txn, parent, n));
	TRY(inode_charge(txn, 0, n->size_bytes));
	TRY(key_of(txn, n->id, n->parent_id, n->name, &k, &folded));
	TRY(put_where(txn, n->id, n->stamp, n->parent_id, folded));
	return put_at(txn, &k, n);
}

/* Paths that lead through the directory are not what they were (see target_read). */
static enum err tree_changed(struct txn *txn)
{
	struct share_state state;
	TRY(share_state_load(txn, &state));
	state.tree_stamp = txn_now(txn);
	return share_state_put(txn, &state);
}

enum err inode_remove(struct txn *txn, const struct inode *old)
{
	struct inode n = *old;
	struct key k;
	bool empty;
	assert(n.id != FILE_ROOT_ID);
	if (n.kind == FILE_KIND_DIRECTORY) {
		TRY(inode_dir_is_empty(txn, n.id, &empty));
		if (!empty)
			return ERR_DIRECTORY_NOT_EMPTY;
		TRY(tree_changed(txn));
	} else {
		TRY(inode_charge(txn, n.size_bytes, 0));
		TRY(runs_drop_all(txn, &n));
	}
	TRY(key_of(txn, n.id, n.parent_id, n.name, &k, NULL));
	TRY(del_keeping(txn, &k, 0));
	where_key(&k, n.id);
	return del_keeping(txn, &k, 0);
}

enum err inode_move(struct txn *txn, struct inode *n, const struct inode *new_parent, struct slice new_name)
{
	struct key old_key, new_key;
	struct slice folded;
	assert(n->id != FILE_ROOT_ID && new_parent->kind == FILE_KIND_DIRECTORY);
	TRY(depth_check_move(txn, n, new_parent, new_name));
	if (n->kind == FILE_KIND_DIRECTORY)
		TRY(tree_changed(txn));
	TRY(key_of(txn, n->id, n->parent_id, n->name, &old_key, NULL));
	TRY(key_of(txn, n->id, new_parent->id, new_name, &new_key, &folded));
	n->name = new_name;
	n->parent_id = new_parent->id;
	TRY(depth_note(txn, new_parent, n));
	if (slice_eq(key_slice(&old_key), key_slice(&new_key)))
		return put_at(txn, &new_key, n);
	TRY(del_keeping(txn, &old_key, n->sole));
	TRY(put_where(txn, n->id, 0, new_parent->id, folded));
	/* What lies at the new key in this transaction was removed before and kept then. */
	n->stamp = txn_now(txn);
	return put_at(txn, &new_key, n);
}

/* ---- permissions ---- */

enum { PERMISSION_PROBES_MAX = 16 };

enum err file_permission_get(struct txn *txn, uint64_t key, struct slice *ret_sddl)
{
	struct key k;
	struct slice value;
	permission_key(&k, key);
	TRY(txn_get(txn, key_slice(&k), &value));
	return permission_decode(value, ret_sddl);
}

/* FNV-1a with a last mix: the same text has the same key in every share and at every time. */
static uint64_t permission_hash(struct slice text)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325);
	for (size_t i = 0; i < text.len; i++)
		h = (h ^ (unsigned char)text.ptr[i]) * UINT64_C(0x100000001b3);
	h = (h ^ (h >> 32)) * UINT64_C(0x9e3779b97f4a7c15);
	return h ^ (h >> 29);
}

enum err file_permission_put(struct txn *txn, struct slice sddl, uint64_t *ret_key)
{
	uint64_t key = permission_hash(sddl);
	struct key k;
	struct slice there;
	struct buf b;
	if (sddl.len > FILE_PERMISSION_BYTES_MAX)
		return ERR_FILE_INVALID_PERMISSION;
	for (int i = 0; i < PERMISSION_PROBES_MAX; i++, key++) {
		if (key == 0) /* means none */
			continue;
		enum err e = file_permission_get(txn, key, &there);
		if (e == ERR_OK && !slice_eq(there, sddl))
			continue;
		if (e != ERR_NOT_FOUND) {
			if (e == ERR_OK)
				*ret_key = key;
			return e;
		}
		buf_init(&b, FILE_PERMISSION_BYTES_MAX + 1);
		permission_encode(&b, sddl);
		permission_key(&k, key);
		TRY(file_row_put(txn, &k, &b));
		*ret_key = key;
		return ERR_OK;
	}
	return ERR_LIMIT;
}
