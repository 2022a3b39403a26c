/* SPDX-License-Identifier: Apache-2.0
 * List Blobs: a merge of up to three row streams in name order ('h' history, 'b' base, 'U' uncommitted), with prefixes
 * folded at the delimiter. Each blob and each prefix counts as one result, and costs about as much: what lies below a
 * folded prefix is not read. A page ends early, with a marker, when it has gathered LIST_PAGE_BYTES: maybe without any
 * result, behind history that the list does not show. */
#include "svc/blob/blob.h"
#include "svc/blob/content/block_list.h"
#include "svc/blob/history.h"
#include "svc/blob/state.h"
#include "svc/common/generation.h"

#include <assert.h>

enum { KEY_ESCAPE_BYTE = 0x02 }; /* of store/key.h */
enum { LIST_PAGE_BYTES = 16 * 1024 * 1024, LIST_FETCH_ROWS = 1024, LIST_SKIP_ROWS = 4 };

struct stream {
	char tag;
	bool on;
	bool exhausted; /* no rows behind the fetched ones */
	struct key until;
	struct rows rows;
	size_t at;
	size_t fetch_rows; /* at most so many next time, then twice as many; 0 = as many as may be wanted */
	/* decoded front row */
	bool has_front;
	struct slice name;
	uint64_t ticks; /* 'h' */
};

struct merge {
	struct txn *txn;
	struct blob_list_call *call;
	struct stream stream[3]; /* in the order of equal names: history, base, uncommitted */
	size_t begin_bytes;	 /* of the arena */
	bool went_on;		 /* past a row: the next page begins further on */
	/* Marks of names with history, as far as they were fetched; mostly there are none. */
	struct rows marks;
	size_t mark_at;
	bool marks_fetched;
	/* The newest version seen of a name whose base did not come yet (call->versions_only). */
	bool has_root;
	struct blob root;
};

enum { LIST_FETCH_MARKS = 64 };

/* The mark of a name. Names are asked for in order. ERR_NOT_FOUND is a value. */
static enum err merge_mark(struct merge *m, struct slice name, struct history_mark *ret)
{
	struct key k;
	blob_history_mark_key(&k, name);
	for (;;) {
		while (m->mark_at < m->marks.count && slice_cmp(m->marks.row[m->mark_at].key, key_slice(&k)) < 0)
			m->mark_at++;
		if (m->mark_at < m->marks.count || (m->marks_fetched && !m->marks.more))
			break;
		struct scan_spec spec = { .from = key_slice(&k), .until = SLICE("h"), .limit_rows = LIST_FETCH_MARKS };
		TRY(txn_scan(m->txn, &spec, &m->marks));
		m->mark_at = 0;
		m->marks_fetched = true;
	}
	if (m->mark_at == m->marks.count || !slice_eq(m->marks.row[m->mark_at].key, key_slice(&k)))
		return ERR_NOT_FOUND;
	return blob_history_mark_decode(m->marks.row[m->mark_at].value, ret);
}

/* The folded prefix of a name, or absent. */
static struct slice folded(const struct blob_list_call *c, struct slice name)
{
	if (!c->delimiter.len)
		return SLICE_NONE;
	for (size_t i = c->prefix.len; i + c->delimiter.len <= name.len; i++)
		if (memcmp(name.ptr + i, c->delimiter.ptr, c->delimiter.len) == 0)
			return slice_first(name, i + c->delimiter.len);
	return SLICE_NONE;
}

/* Of a base row: how much of its key is the prefix that it is folded into. Blob names have no bytes that keys escape,
 * so the name stands in the key as it is; should there be one, nothing is folded here. */
static size_t fold_base_key(void *arg, struct slice key)
{
	const struct blob_list_call *c = arg;
	if (key.len < 2)
		return 0;
	struct slice name = slice_make(key.ptr + 1, key.len - 2); /* without its tag and its end mark */
	if (memchr(name.ptr, KEY_ESCAPE_BYTE, name.len))
		return 0;
	struct slice prefix = folded(c, name);
	return slice_is_set(prefix) ? 1 + prefix.len : 0;
}

static enum err stream_fetch(struct merge *m, struct stream *s, struct slice from)
{
	size_t want = m->call->limit - m->call->count + 1, most = s->fetch_rows ? s->fetch_rows : LIST_FETCH_ROWS;
	struct scan_spec spec = { .from = from,
				  .until = key_slice(&s->until),
				  .limit_rows = want < most ? want : most };
	/* Every base row is shown, itself or by its prefix: so the others below that prefix need not be read. */
	if (s->tag == 'b' && m->call->delimiter.len) {
		spec.fold = fold_base_key;
		spec.fold_arg = m->call;
	}
	if (s->fetch_rows && s->fetch_rows < LIST_FETCH_ROWS)
		s->fetch_rows *= 2;
	TRY(txn_scan(m->txn, &spec, &s->rows));
	s->at = 0;
	s->exhausted = !s->rows.more;
	return ERR_OK;
}

static enum err stream_front(struct merge *m, struct stream *s)
{
	s->has_front = false;
	if (!s->on)
		return ERR_OK;
	if (s->at == s->rows.count) {
		if (s->exhausted || !s->rows.count)
			return ERR_OK;
		struct key next;
		key_after(&next, s->rows.row[s->rows.count - 1].key);
		TRY(stream_fetch(m, s, key_slice(&next)));
		if (!s->rows.count)
			return ERR_OK;
	}
	struct slice rest = s->rows.row[s->at].key;
	char *dst = arena_alloc(txn_arena(m->txn), rest.len + 1);
	if (!dst)
		return ERR_NO_MEMORY;
	if (!key_take_tag(&rest, s->tag) || !key_take_str(&rest, dst, rest.len + 1, &s->name))
		return ERR_CORRUPT;
	if (s->tag == 'h' && !key_take_u64(&rest, &s->ticks))
		return ERR_CORRUPT;
	s->has_front = true;
	return ERR_OK;
}

/* Positions a stream at the first row not before (name, ticks). */
static enum err stream_seek(struct merge *m, struct stream *s, struct slice name, uint64_t ticks)
{
	struct key from;
	key_init(&from);
	key_tag(&from, s->tag);
	key_str(&from, name);
	if (s->tag == 'h' && ticks)
		key_u64(&from, ticks);
	TRY(stream_fetch(m, s, key_slice(&from)));
	return stream_front(m, s);
}

static bool is_version(const struct blob *b, uint64_t now)
{
	return !b->is_snapshot && !blob_history_is_base(b) && !blob_retention_over(b, now);
}

static void note_version(struct merge *m, const struct blob *b)
{
	m->has_root = true;
	m->root = *b;
	/* As a root it is neither that version nor deleted as one. */
	m->root.version_ticks = m->root.deleted_ticks = 0;
}

struct newest {
	uint64_t now, ticks;
};

static enum err newest_version(const struct blob *b, void *arg, bool *go_on)
{
	struct newest *n = arg;
	if (is_version(b, n->now))
		n->ticks = b->history_ticks;
	return ERR_OK;
}

/* A page that begins within or behind the history of a name: which of it is the newest version? */
static enum err find_root(struct merge *m, struct slice name)
{
	struct newest n = { .now = txn_now(m->txn) };
	struct blob b;
	TRY(blob_history_each(m->txn, name, 0, newest_version, &n));
	if (!n.ticks)
		return ERR_OK;
	TRY(blob_history_get(m->txn, name, n.ticks, &b));
	note_version(m, &b);
	return ERR_OK;
}

static void stream_end_before(struct stream *s, struct slice name)
{
	struct key end;
	key_init(&end);
	key_tag(&end, s->tag);
	key_str(&end, name);
	if (slice_cmp(key_slice(&end), key_slice(&s->until)) < 0)
		s->until = end;
}

static enum err merge_begin(struct merge *m)
{
	struct blob_list_call *c = m->call;
	static const char tags[3] = { 'h', 'b', 'U' };
	for (int i = 0; i < 3; i++) {
		struct stream *s = &m->stream[i];
		s->tag = tags[i];
		s->on = i == 0	 ? c->snapshots || c->versions || c->deleted || c->versions_only
			: i == 1 ? c->base_too
				 : c->uncommitted;
		if (!s->on)
			continue;
		key_init(&s->until);
		key_tag(&s->until, s->tag);
		key_str_open(&s->until, c->prefix);
		struct key from = s->until;
		key_prefix_end(&s->until);
		if (c->before.len)
			stream_end_before(s, c->before);
		/* A name may be all of the prefix: then its own history tells how far the list is. */
		bool behind = slice_is_set(c->from) && slice_cmp(c->from, c->prefix) >= 0;
		if (behind) {
			/* A base row comes behind its history: with a time in the marker, history below it was listed.
			 */
			TRY(stream_seek(m, s, c->from, c->from_ticks));
			continue;
		}
		TRY(stream_fetch(m, s, key_slice(&from)));
		TRY(stream_front(m, s));
	}
	bool within_history = c->from_ticks && slice_has_prefix(c->from, c->prefix);
	return c->versions_only && within_history ? find_root(m, c->from) : ERR_OK;
}

/* Did all of a name go by but its base? What is uncommitted comes behind the base. */
static bool root_is_due(const struct merge *m, const struct stream *next)
{
	return m->has_root && (!next || next->tag == 'U' || !slice_eq(next->name, m->root.name));
}

static struct stream *merge_least(struct merge *m)
{
	struct stream *least = NULL;
	for (int i = 0; i < 3; i++) {
		struct stream *s = &m->stream[i];
		if (s->on && s->has_front && (!least || slice_cmp(s->name, least->name) < 0))
			least = s;
	}
	return least;
}

/* Does this history row belong into the answer? */
static bool wants_history(const struct blob_list_call *c, const struct blob *b, uint64_t now)
{
	if (b->deleted_ticks)
		return c->deleted && !blob_retention_over(b, now);
	return b->is_snapshot ? c->snapshots : c->versions;
}

static enum err make_item(struct merge *m, struct stream *s, struct blob_list_item *item, bool *ret_wanted)
{
	if (root_is_due(m, s)) {
		*item = (struct blob_list_item){ .versions_only = true, .blob = m->root };
		*ret_wanted = true;
		return ERR_OK;
	}
	struct slice value = s->rows.row[s->at].value;
	*ret_wanted = true;
	if (s->tag == 'U') {
		struct stage stage;
		TRY(blob_stage_decode(value, &stage));
		*item = (struct blob_list_item){ .is_uncommitted = true, .blob = { .name = s->name } };
		item->blob.lease = stage.lease;
		*ret_wanted = stage.last_ticks + STAGE_LIFE_TICKS > txn_now(m->txn);
	} else {
		TRY(blob_decode(value, txn_arena(m->txn), &item->blob));
		blob_settle(&item->blob, txn_now(m->txn));
		item->is_prefix = item->is_uncommitted = item->versions_only = false;
		item->is_current = s->tag == 'b';
		item->blob.name = s->name;
		m->has_root = m->has_root && s->tag == 'h';
		if (s->tag == 'h') {
			struct history_mark mark;
			enum err e = merge_mark(m, s->name, &mark);
			if (e != ERR_OK && e != ERR_NOT_FOUND)
				return e;
			bool there = e == ERR_NOT_FOUND || blob_history_mark_apply(&mark, &item->blob, NULL);
			*ret_wanted = there && wants_history(m->call, &item->blob, txn_now(m->txn));
			if (m->call->versions_only && there && is_version(&item->blob, txn_now(m->txn)))
				note_version(m, &item->blob);
		}
	}
	return ERR_OK;
}

/* Behind everything that begins with `prefix`: past the rows that were fetched, and if they do not reach so far, by a
 * seek that brings few rows first, because the next prefix may be as long. */
static enum err stream_skip(struct merge *m, struct stream *s, struct slice prefix)
{
	struct key below;
	key_init(&below);
	key_tag(&below, s->tag);
	key_str_open(&below, prefix);
	while (s->at < s->rows.count && slice_has_prefix(s->rows.row[s->at].key, key_slice(&below)))
		s->at++;
	if (s->at == s->rows.count && !s->exhausted && s->rows.count) {
		s->fetch_rows = s->tag == 'b' ? 0 : LIST_SKIP_ROWS;
		key_prefix_end(&below);
		TRY(stream_fetch(m, s, key_slice(&below)));
	}
	return stream_front(m, s);
}

static enum err skip_prefix(struct merge *m, struct slice prefix)
{
	for (int i = 0; i < 3; i++)
		if (m->stream[i].on && m->stream[i].has_front && slice_has_prefix(m->stream[i].name, prefix))
			TRY(stream_skip(m, &m->stream[i], prefix));
	return ERR_OK;
}

static bool page_is_long(const struct merge *m)
{
	return m->went_on && txn_arena(m->txn)->used_bytes - m->begin_bytes > LIST_PAGE_BYTES;
}

static bool page_is_full(const struct merge *m)
{
	return m->call->count == m->call->limit || page_is_long(m);
}

/* Behind a full page: is this where the next one begins? What is not listed is passed over, as long as there is room.
 * */
static bool page_ends_here(const struct merge *m, const struct stream *s, bool wanted)
{
	return wanted || (s->tag == 'h' && page_is_long(m));
}

/* An uncommitted blob is listed only where no base has the name; history alone does not hide it. */
static bool shadowed(const struct merge *m, const struct stream *s)
{
	const struct blob_list_call *c = m->call;
	const struct blob_list_item *last = c->count ? &c->item[c->count - 1] : NULL;
	return s->tag == 'U' && last && (last->is_current || last->versions_only) && slice_eq(last->blob.name, s->name);
}

enum err blob_apply_list(struct txn *txn, void *call)
{
	struct blob_list_call *c = call;
	struct merge m = { .txn = txn, .call = c };
	c->count = 0;
	c->more = false;
	c->now_ticks = txn_now(txn);
	/* Not cleared: make_item writes the whole of each, and a page that ends early never touches the rest. */
	assert(c->limit <= SIZE_MAX / sizeof(struct blob_list_item));
	c->item = arena_alloc(txn_arena(txn), sizeof(struct blob_list_item) * (c->limit ? c->limit : 1));
	if (!c->item)
		return ERR_NO_MEMORY;
	TRY(generation_require(txn, ERR_CONTAINER_NOT_FOUND));
	m.begin_bytes = txn_arena(txn)->used_bytes;
	TRY(merge_begin(&m));
	for (;;) {
		struct stream *s = merge_least(&m);
		bool is_root = root_is_due(&m, s);
		if (!s && !is_root)
			break;
		/* Made where it will stay; behind a full page there is only the one that says where to go on. */
		bool full = page_is_full(&m), wanted;
		struct blob_list_item behind;
		/* cppcheck-suppress uninitvar ; its address, to be filled */
		struct blob_list_item *item = full ? &behind : &c->item[c->count];
		TRY(make_item(&m, s, item, &wanted));
		wanted = wanted && (is_root || !shadowed(&m, s));
		/* Only what would be listed itself makes a prefix. */
		struct slice prefix = wanted ? folded(c, item->blob.name) : SLICE_NONE;
		bool is_prefix = slice_is_set(prefix);
		if (is_prefix)
			*item = (struct blob_list_item){ .is_prefix = true, .blob = { .name = prefix } };
		if (full && page_ends_here(&m, s, wanted)) {
			c->more = true;
			c->next = item->blob.name;
			c->next_ticks = is_prefix ? 0 : is_root || s->tag != 'h' ? UINT64_MAX : s->ticks;
			return ERR_OK;
		}
		if (wanted)
			c->count++;
		m.went_on = true;
		if (is_root || is_prefix)
			m.has_root = false;
		if (is_prefix)
			TRY(skip_prefix(&m, prefix));
		if (is_root || is_prefix)
			continue;
		s->at++;
		TRY(stream_front(&m, s));
	}
	return ERR_OK;
}
