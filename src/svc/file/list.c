/* SPDX-License-Identifier: Apache-2.0
 * List Directories and Files: one scan of a directory's range, in the order of folded names. */
#include "svc/file/history.h"
#include "svc/file/target.h"

enum {
	LIST_PAGE_ROWS = 512,
	LIST_BYTES =
		12 * 1024 * 1024 /* of rows in one answer: thousands with all the metadata they may have are more */
};

static enum err list_bounds(struct txn *txn, const struct file_list_call *c, struct key *from, struct key *until)
{
	key_init(until);
	key_tag(until, 'n');
	key_u64(until, c->directory.id);
	*from = *until;
	if (slice_is_set(c->prefix)) {
		struct slice folded = file_name_fold(txn_arena(txn), c->prefix);
		if (!slice_is_set(folded))
			return ERR_NO_MEMORY;
		key_str_open(until, folded);
		*from = *until;
	}
	key_prefix_end(until);
	if (slice_is_set(c->from)) {
		struct key start;
		struct slice folded = file_name_fold(txn_arena(txn), c->from);
		if (!slice_is_set(folded))
			return ERR_NO_MEMORY;
		inode_key(&start, c->directory.id, folded);
		if (c->after) {
			struct key exact = start;
			key_after(&start, key_slice(&exact));
		}
		if (slice_cmp(key_slice(&start), key_slice(from)) > 0)
			*from = start;
	}
	return ERR_OK;
}

static enum err is_hidden(struct txn *txn, bool ask, uint64_t id, bool *ret)
{
	*ret = false;
	return ask ? file_opens_is_delete_pending(txn, id, ret) : ERR_OK;
}

static enum err list_rows(struct txn *txn, struct file_list_call *c, struct row_walk *w)
{
	size_t bytes = 0;
	bool ask = false;
	if (!c->target.has_snapshot && !c->target.through_open)
		TRY(file_opens_any(txn, &ask));
	for (;;) {
		struct row row;
		struct inode n;
		bool hidden;
		enum err e = file_row_walk_next(w, &row);
		if (e == ERR_NOT_FOUND)
			return ERR_OK;
		TRY(e);
		TRY(inode_decode(row.value, txn_arena(txn), &n));
		TRY(is_hidden(txn, ask, n.id, &hidden));
		if (hidden)
			continue;
		if (c->count == c->limit || bytes > LIST_BYTES) {
			c->more = true;
			c->next = n.name;
			return ERR_OK;
		}
		bytes += row.value.len;
		c->entry[c->count++] = n;
	}
}

enum err file_apply_list(struct txn *txn, void *call)
{
	struct file_list_call *c = call;
	struct file_view view;
	struct key from, until;
	struct row_walk w;
	c->count = 0;
	c->more = false;
	c->next = SLICE_NONE;
	TRY(target_read(txn, &c->target, &view, &c->directory));
	if (c->directory.kind != FILE_KIND_DIRECTORY)
		return ERR_RESOURCE_NOT_FOUND;
	c->entry = ARENA_NEW_ARRAY(txn_arena(txn), struct inode, c->limit ? c->limit : 1);
	if (!c->entry)
		return ERR_NO_MEMORY;
	TRY(list_bounds(txn, c, &from, &until));
	TRY(file_row_walk_begin(&w, txn, &view, &from, &until,
				c->limit < LIST_PAGE_ROWS ? c->limit + 1 : LIST_PAGE_ROWS));
	return list_rows(txn, c, &w);
}

enum err file_apply_above(struct txn *txn, void *call)
{
	static const struct file_view live = { 0 };
	struct file_above_call *c = call;
	uint64_t id = c->parent_id;
	c->depth = 0;
	TRY(inode_path(txn, &live, id, &c->path));
	while (c->depth < FILE_ABOVE_MAX) {
		struct inode dir;
		c->dir[c->depth++] = id;
		if (id == FILE_ROOT_ID)
			return ERR_OK;
		TRY(inode_get(txn, &live, id, &dir));
		id = dir.parent_id;
	}
	return ERR_CORRUPT;
}
