/* SPDX-License-Identifier: Apache-2.0
 * Shares under scrub: every row is decoded, every run's bytes are read, names and ids must lead to each other, the use
 * must be the sum of the sizes, and damage is reported by the path of the file that has it, live or in a snapshot. */
#include "server/scrub/scrub.h"

#include "svc/common/generation.h"
#include "svc/common/names.h"
#include "svc/file/open.h"
#include "svc/file/rows.h"

#include <stdlib.h>

enum { INODE_PAGE = 200, FILES_NAMED = 8, STORE_ROW_TAG = 1 };

static void line_say(struct scrub *s, struct slice text, const char *note, const char *what, enum err err)
{
	struct buf line;
	buf_init(&line, 64 * KIB);
	buf_printf(&line, "%s/", scrub_place(s));
	scrub_text_put(&line, text);
	buf_printf(&line, "%s: %s (%s)", note, what, err_name(err));
	buf_put(&line, slice_make("", 1));
	scrub_line_say(s, buf_ok(&line) ? line.ptr : "(no memory to name it)");
	buf_fini(&line);
}

/* ---- whose content it is ---- */

struct holders {
	uint64_t content;
	bool past; /* among history rows */
	struct key next;
	bool more;
	size_t count;
	struct slice path[INODE_PAGE];
};

static enum err holders_apply(struct txn *txn, void *call)
{
	static const struct file_view live = { 0 };
	struct holders *h = call;
	struct rows rows;
	struct scan_spec spec = { .from = key_slice(&h->next),
				  .until = h->past ? SLICE("ho") : SLICE("o"),
				  .limit_rows = INODE_PAGE };
	h->count = 0;
	TRY(txn_scan(txn, &spec, &rows));
	for (size_t i = 0; i < rows.count; i++) {
		struct inode n;
		if (inode_decode(rows.row[i].value, txn_arena(txn), &n) != ERR_OK || n.content != h->content)
			continue;
		struct slice path = n.name; /* what it was in, a snapshot does not say any more */
		if (!h->past && inode_path(txn, &live, n.id, &path) != ERR_OK)
			path = n.name;
		h->path[h->count++] = path;
	}
	h->more = rows.more;
	if (rows.more)
		key_after(&h->next, rows.row[rows.count - 1].key);
	return ERR_OK;
}

/* A page of rows that cannot be read ends the search: its own damage is reported by the walk. */
static size_t holders_say(struct scrub *s, uint64_t content, bool past, const char *what, enum err err)
{
	size_t named = 0;
	struct holders *h = calloc(1, sizeof *h);
	if (!h)
		return 0;
	h->content = content;
	h->past = past;
	key_init(&h->next);
	if (past)
		key_tag(&h->next, 'h');
	key_tag(&h->next, 'n');
	for (h->more = true; h->more && named < FILES_NAMED;) {
		struct arena arena;
		arena_init(&arena, LIMIT_REQUEST_ARENA_BYTES);
		if (store_read(s->store, s->partition, holders_apply, h, &arena) != ERR_OK)
			h->more = false;
		for (size_t i = 0; i < h->count; i++, named++)
			line_say(s, h->path[i], past ? " (snapshot)" : "", what, err);
		arena_fini(&arena);
	}
	free(h);
	return named;
}

static void content_say(struct scrub *s, uint64_t content, const char *what, enum err err)
{
	char text[64];
	if (holders_say(s, content, false, what, err) + holders_say(s, content, true, what, err))
		return;
	snprintf(text, sizeof text, "(content %llx, which no readable file names)", (unsigned long long)content);
	line_say(s, slice_str(text), "", what, err);
}

/* ---- rows ---- */

struct source_call {
	uint64_t source;
	size_t len;
};

static enum err source_apply(struct txn *txn, void *call)
{
	struct source_call *c = call;
	struct key k;
	struct slice value;
	source_key(&k, c->source);
	TRY(txn_get(txn, key_slice(&k), &value));
	c->len = value.len;
	return ERR_OK;
}

static enum err source_check(struct scrub *s, const struct run *r, struct arena *arena)
{
	struct source_call c = { .source = r->source };
	enum err err = store_read(s->store, s->partition, source_apply, &c, arena);
	if (err == ERR_OK && (r->offset > c.len || r->end - r->first > c.len - r->offset))
		err = ERR_CORRUPT;
	return err;
}

static enum err extent_check(struct scrub *s, const struct run *r, const char **what)
{
	const struct extent_ref *e = &r->extent;
	if (s->hunting) {
		if (!scrub_extent_is_guilty(s, e->id))
			return ERR_OK;
		*what = "its bytes lie where others do, or wait to be reclaimed";
		return ERR_CORRUPT;
	}
	if (!engine_rocks_extent_published(store_engine(s->store), e)) {
		*what = "its bytes lie where space is free";
		return ERR_CORRUPT;
	}
	/* Only the part that is named: a hundred runs may lie in one extent. */
	uint32_t length = (uint32_t)(r->end - r->first);
	scrub_extent_note(s, e, false);
	s->extents++;
	s->extent_bytes += length;
	return extent_read(s->store, e, r->offset, length, s->extent);
}

static enum err run_check(struct scrub *s, struct slice key, struct slice value, struct arena *arena)
{
	struct run r;
	struct slice rest = slice_from(key, 1);
	uint64_t content = 0;
	const char *what = "its bytes";
	enum err err = ERR_OK;
	TRY(run_decode(key, value, &r));
	if (!key_take_u64(&rest, &content))
		return ERR_CORRUPT;
	if (r.kind == RUN_EXTENT)
		err = extent_check(s, &r, &what);
	else if (r.kind == RUN_ROW && !s->hunting)
		err = source_check(s, &r, arena);
	if (err != ERR_OK)
		content_say(s, content, what, err);
	return ERR_OK;
}

/* The bytes of an inode, live or in history, that names its only run itself. */
static void sole_check(struct scrub *s, const struct inode *n, struct arena *arena)
{
	if (!n->sole || s->hunting)
		return;
	struct run r = { .end = n->data_end, .kind = RUN_ROW, .source = n->sole };
	enum err err = source_check(s, &r, arena);
	if (err != ERR_OK)
		content_say(s, n->content, "its bytes", err);
}

/* ---- names and ids ---- */

struct pair_call {
	uint64_t id, parent_id;
	struct slice folded;
	bool fits; /* also where the share is deleted: then it is emptied row by row */
};

/* Does the row of the id say that the inode lies here? */
static enum err where_apply(struct txn *txn, void *call)
{
	struct pair_call *c = call;
	struct inode_where where;
	struct key k;
	struct slice value;
	c->fits = generation_require(txn, ERR_NOT_FOUND) == ERR_NOT_FOUND;
	if (c->fits)
		return ERR_OK;
	where_key(&k, c->id);
	enum err e = txn_get(txn, key_slice(&k), &value);
	if (e == ERR_NOT_FOUND)
		return ERR_OK;
	TRY(e);
	TRY(where_decode(value, &where));
	c->fits = where.parent_id == c->parent_id && slice_eq(where.folded, c->folded);
	return ERR_OK;
}

/* Does the inode that lies there have this id? */
static enum err inode_apply(struct txn *txn, void *call)
{
	struct pair_call *c = call;
	struct inode n;
	struct key k;
	struct slice value;
	c->fits = generation_require(txn, ERR_NOT_FOUND) == ERR_NOT_FOUND;
	if (c->fits)
		return ERR_OK;
	inode_key(&k, c->parent_id, c->folded);
	enum err e = txn_get(txn, key_slice(&k), &value);
	if (e == ERR_NOT_FOUND)
		return ERR_OK;
	TRY(e);
	TRY(inode_decode(value, txn_arena(txn), &n));
	c->fits = n.id == c->id;
	return ERR_OK;
}

/* A row that cannot be read is reported by its own check. */
static enum err pair_check(struct scrub *s, apply_fn *apply, struct pair_call *c, struct arena *arena)
{
	return store_read(s->store, s->partition, apply, c, arena) == ERR_OK && !c->fits ? ERR_CORRUPT : ERR_OK;
}

static enum err inode_check(struct scrub *s, struct slice key, struct slice value, struct arena *arena)
{
	char name[LIMIT_KEY_BYTES];
	struct inode n;
	struct slice rest = slice_from(key, 1);
	struct pair_call c = { 0 };
	TRY(inode_decode(value, arena, &n));
	if (s->hunting)
		return ERR_OK;
	s->file_bytes += n.size_bytes;
	sole_check(s, &n, arena);
	if (n.id == FILE_ROOT_ID)
		return ERR_OK;
	if (!key_take_u64(&rest, &c.parent_id) || !key_take_str(&rest, name, sizeof name, &c.folded) ||
	    c.parent_id != n.parent_id)
		return ERR_CORRUPT;
	c.id = n.id;
	return pair_check(s, where_apply, &c, arena);
}

static enum err where_check(struct scrub *s, struct slice key, struct slice value, struct arena *arena)
{
	struct inode_where where;
	struct slice rest = slice_from(key, 1);
	struct pair_call c = { 0 };
	TRY(where_decode(value, &where));
	if (s->hunting)
		return ERR_OK;
	if (!key_take_u64(&rest, &c.id) || rest.len)
		return ERR_CORRUPT;
	c.parent_id = where.parent_id;
	c.folded = where.folded;
	return pair_check(s, inode_apply, &c, arena);
}

static enum err live_apply(struct txn *txn, void *call)
{
	(void)call;
	return generation_require(txn, ERR_NOT_FOUND);
}

/* The state row lies behind all inodes. Where something is damaged, or the share is deleted, the sum says nothing. */
static enum err state_check(struct scrub *s, struct slice value, struct arena *arena)
{
	struct share_state state;
	TRY(share_state_decode(value, &state));
	if (s->hunting || s->in_part || s->damaged != s->damaged_before || state.used_bytes == s->file_bytes ||
	    store_read(s->store, s->partition, live_apply, NULL, arena) != ERR_OK)
		return ERR_OK;
	line_say(s, SLICE(""), "", "its use is not the sum of its files", ERR_CORRUPT);
	return ERR_OK;
}

/* ---- rows ---- */

static enum err history_check(struct scrub *s, struct slice key, struct slice value, struct arena *arena)
{
	struct slice row_key;
	struct inode n;
	struct inode_where where;
	uint64_t number;
	if (!history_key_split(key, &row_key, &number) || !row_key.len)
		return ERR_CORRUPT;
	switch (row_key.ptr[0]) {
	case 'n':
		TRY(inode_decode(value, arena, &n));
		sole_check(s, &n, arena);
		return ERR_OK;
	case 'i':
		return where_decode(value, &where);
	case 'r':
		return run_check(s, row_key, value, arena);
	default:
		return ERR_CORRUPT;
	}
}

static enum err small_row_check(struct slice key, struct slice value)
{
	struct cover cover;
	struct work work;
	struct slice text;
	struct merge_row merge;
	uint32_t names;
	switch (key.ptr[0]) {
	case 'c':
		return cover_decode(key, value, &cover);
	case 'w':
		return work_decode(value, &work);
	case 'm':
		return merge_decode(value, &merge);
	case 'p':
		return permission_decode(value, &text);
	case 'x':
	case 'y':
		return names_decode(value, NAMES_IN_SHARE, &names);
	default:
		return ERR_CORRUPT; /* no such row */
	}
}

enum err scrub_share_row(struct scrub *s, struct slice key, struct slice value, struct arena *arena)
{
	struct share_snapshot snapshot;
	switch (key.ptr[0]) {
	case 'n':
		return inode_check(s, key, value, arena);
	case 'i':
		return where_check(s, key, value, arena);
	case 'r':
		return run_check(s, key, value, arena);
	case 'h':
		return history_check(s, key, value, arena);
	case 's':
		return state_check(s, value, arena);
	case 'S':
		return snapshot_decode(value, arena, &snapshot);
	case 'o':
		return file_open_row_check(key, value, arena);
	case KEY_TAG_CONTENT:
	case STORE_ROW_TAG:
		return ERR_OK; /* bytes; what the store keeps of a partition */
	default:
		return small_row_check(key, value);
	}
}

void scrub_share_damage_say(struct scrub *s, struct slice key, enum err err)
{
	char name[LIMIT_KEY_BYTES];
	struct slice row_key = key, found, rest;
	uint64_t number, id;
	const char *note = "";
	if (key.len && key.ptr[0] == KEY_TAG_CONTENT)
		return; /* whoever names it says so, by its path */
	if (key.len && key.ptr[0] == 'h' && history_key_split(key, &row_key, &number))
		note = " (snapshot)";
	rest = row_key.len ? slice_from(row_key, 1) : row_key;
	if (row_key.len && row_key.ptr[0] == 'n' && key_take_u64(&rest, &id) &&
	    key_take_str(&rest, name, sizeof name, &found))
		line_say(s, found, note, "its record", err);
	else if (row_key.len && row_key.ptr[0] == 'r' && key_take_u64(&rest, &id))
		content_say(s, id, "its bytes", err);
	else
		scrub_damage_say(s, key, "its record", err);
}
