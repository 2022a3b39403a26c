/* SPDX-License-Identifier: Apache-2.0
 * Bounds on the depth of trees. */
#include "svc/file/depth.h"

#include "svc/file/rows.h"

enum {
	REACH_MAX = FILE_REACH_UNKNOWN - 1,
	LOOK_PAGE_ROWS = 128,
	/* Trees of a program that did not bound renames may be deeper than a path; what lies this deep counts as
	 * deeper than everything. */
	WALK_MAX = 4 * FILE_PATH_DEPTH_MAX
};

static const struct file_view live = { 0 };

static uint16_t sum(uint16_t a, uint16_t b)
{
	if (a == FILE_REACH_UNKNOWN || b == FILE_REACH_UNKNOWN)
		return FILE_REACH_UNKNOWN;
	unsigned both = (unsigned)a + b;
	return (uint16_t)(both > REACH_MAX ? REACH_MAX : both);
}

static struct reach reach_sum(struct reach a, struct reach b)
{
	return (struct reach){ sum(a.levels, b.levels), sum(a.chars, b.chars) };
}

static struct reach name_reach(struct slice name)
{
	return (struct reach){ 1, (uint16_t)(1 + file_name_chars(name)) };
}

static bool covers(struct reach a, struct reach b)
{
	return a.levels >= b.levels && a.chars >= b.chars;
}

/* From the root: the first name has no separator before it. */
static bool is_allowed(struct reach r)
{
	return r.levels <= FILE_PATH_DEPTH_MAX && r.chars <= FILE_PATH_CHARS_MAX + 1;
}

/* Where a directory lies. ERR_INVALID_INPUT: at or below `moved_id`. */
static enum err place_of(struct txn *txn, uint64_t id, uint64_t moved_id, struct reach *ret)
{
	struct reach r = { 0, 0 };
	for (unsigned i = 0; id != FILE_ROOT_ID; i++) {
		struct inode n;
		if (id == moved_id)
			return ERR_INVALID_INPUT;
		if (i == WALK_MAX) {
			r = (struct reach){ REACH_MAX, REACH_MAX };
			break;
		}
		TRY(inode_get(txn, &live, id, &n));
		r = reach_sum(r, name_reach(n.name));
		id = n.parent_id;
	}
	*ret = r;
	return ERR_OK;
}

/* ---- looking at what hangs below ---- */

struct look {
	struct txn *txn;
	struct reach to; /* where the directory that moves would be */
	struct look_dir {
		uint64_t id;
		struct reach at; /* from the directory that moves */
	} * dir;		 /* those that must be looked into: what they say of themselves would be too deep */
	size_t count;
	size_t looks;
};

static enum err look_at(struct look *l, struct reach dir_at, struct slice record)
{
	struct inode n;
	if (l->looks++ == DEPTH_LOOKS_MAX)
		return ERR_LIMIT;
	TRY(inode_decode(record, txn_arena(l->txn), &n));
	struct reach at = reach_sum(dir_at, name_reach(n.name));
	if (!is_allowed(reach_sum(l->to, at)))
		return ERR_INVALID_FILE_OR_DIRECTORY_PATH_NAME;
	if (n.kind == FILE_KIND_DIRECTORY && !is_allowed(reach_sum(l->to, reach_sum(at, n.below))))
		l->dir[l->count++] = (struct look_dir){ n.id, at };
	return ERR_OK;
}

static enum err look_into(struct look *l, const struct look_dir *dir)
{
	struct key from, until;
	struct rows rows = { .more = true };
	key_init(&from);
	key_tag(&from, 'n');
	key_u64(&from, dir->id);
	until = from;
	key_prefix_end(&until);
	while (rows.more) {
		struct arena_position position = arena_position(txn_arena(l->txn));
		struct scan_spec spec = { .from = key_slice(&from),
					  .until = key_slice(&until),
					  .limit_rows = LOOK_PAGE_ROWS };
		TRY(txn_scan(l->txn, &spec, &rows));
		for (size_t i = 0; i < rows.count; i++)
			TRY(look_at(l, dir->at, rows.row[i].value));
		if (rows.count)
			key_after(&from, rows.row[rows.count - 1].key);
		arena_rewind(txn_arena(l->txn), position);
	}
	return ERR_OK;
}

/* ERR_LIMIT: there is more than may be looked at. */
static enum err look_below(struct txn *txn, const struct inode *n, struct reach to)
{
	struct look l = { .txn = txn, .to = to };
	l.dir = ARENA_NEW_ARRAY(txn_arena(txn), struct look_dir, DEPTH_LOOKS_MAX + 1);
	if (!l.dir)
		return ERR_NO_MEMORY;
	l.dir[l.count++] = (struct look_dir){ n->id, { 0, 0 } };
	for (size_t i = 0; i < l.count; i++)
		TRY(look_into(&l, &l.dir[i]));
	return ERR_OK;
}

/* ---- what the room asks ---- */

enum err depth_check_move(struct txn *txn, const struct inode *n, const struct inode *new_parent, struct slice new_name)
{
	struct reach from, to;
	if (n->kind != FILE_KIND_DIRECTORY)
		return ERR_OK;
	if (n->parent_id == new_parent->id && file_name_chars(new_name) <= file_name_chars(n->name))
		return ERR_OK;
	TRY(place_of(txn, new_parent->id, n->id, &to));
	to = reach_sum(to, name_reach(new_name));
	if (is_allowed(reach_sum(to, n->below)))
		return ERR_OK;
	TRY(place_of(txn, n->parent_id, n->id, &from));
	if (covers(reach_sum(from, name_reach(n->name)), to))
		return ERR_OK; /* nothing comes to lie deeper than it does */
	enum err e = look_below(txn, n, to);
	if (e != ERR_LIMIT)
		return e;
	/* Of what was made by a program that did not note it nothing is said that may be wrong. */
	return n->below.levels == FILE_REACH_UNKNOWN ? ERR_OK : ERR_INVALID_FILE_OR_DIRECTORY_PATH_NAME;
}

enum err depth_note(struct txn *txn, const struct inode *parent, const struct inode *child)
{
	if (parent->id == FILE_ROOT_ID)
		return ERR_OK;
	struct inode dir = *parent;
	struct reach needed = reach_sum(name_reach(child->name), child->below);
	while (dir.id != FILE_ROOT_ID && !covers(dir.below, needed)) {
		if (needed.levels > dir.below.levels)
			dir.below.levels = needed.levels;
		if (needed.chars > dir.below.chars)
			dir.below.chars = needed.chars;
		TRY(inode_put(txn, &dir));
		needed = reach_sum(name_reach(dir.name), dir.below);
		TRY(inode_get(txn, &live, dir.parent_id, &dir));
	}
	return ERR_OK;
}
