/* SPDX-License-Identifier: Apache-2.0
 * The language of tag expressions, and the index of tags that follows the base blobs. */
#include "svc/blob/tags.h"

#include "svc/common/generation.h"

/* ---- the language ---- */

struct scanner {
	struct slice text;
	size_t at;
	enum tag_dialect dialect;
	const char *expected;
};

static void skip_blanks(struct scanner *s)
{
	while (s->at < s->text.len && (s->text.ptr[s->at] == ' ' || s->text.ptr[s->at] == '\t'))
		s->at++;
}

static bool fail(struct scanner *s, const char *expected)
{
	s->expected = expected;
	return false;
}

static bool has_only_tag_characters(struct slice s)
{
	for (size_t i = 0; i < s.len; i++) {
		char c = s.ptr[i];
		if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
		      (c && strchr(" +-./:=_", c))))
			return false;
	}
	return true;
}

static bool is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* A run in quotes; the quote itself is written twice inside. Tag characters have no quotes, so a doubled one matches
 * nothing. */
static bool take_quoted(struct scanner *s, char quote, struct slice *ret)
{
	size_t begin = ++s->at;
	while (s->at < s->text.len && s->text.ptr[s->at] != quote)
		s->at++;
	if (s->at == s->text.len)
		return fail(s, "expected a closing quote");
	*ret = slice_make(s->text.ptr + begin, s->at - begin);
	s->at++;
	return true;
}

static bool take_key(struct scanner *s, struct slice *ret)
{
	skip_blanks(s);
	if (s->at < s->text.len && s->text.ptr[s->at] == '"')
		return take_quoted(s, '"', ret);
	if (slice_has_prefix(slice_from(s->text, s->at), SLICE("@container")) && s->dialect == TAG_FIND) {
		s->at += SLICE("@container").len;
		*ret = SLICE_NONE;
		return true;
	}
	size_t begin = s->at;
	while (s->at < s->text.len && is_word(s->text.ptr[s->at]))
		s->at++;
	*ret = slice_make(s->text.ptr + begin, s->at - begin);
	return ret->len ? true : fail(s, "expected a tag name");
}

static bool take_op(struct scanner *s, enum tag_op *ret)
{
	static const struct {
		struct slice text;
		enum tag_op op;
	} ops[] = { { { ">=", 2 }, TAG_GE }, { { "<=", 2 }, TAG_LE }, { { "<>", 2 }, TAG_NE },
		    { { "=", 1 }, TAG_EQ },  { { ">", 1 }, TAG_GT },  { { "<", 1 }, TAG_LT } };
	skip_blanks(s);
	for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
		if (!slice_has_prefix(slice_from(s->text, s->at), ops[i].text))
			continue;
		if (ops[i].op == TAG_NE && s->dialect == TAG_FIND)
			break;
		s->at += ops[i].text.len;
		*ret = ops[i].op;
		return true;
	}
	return fail(s, "expected an operator");
}

static bool take_value(struct scanner *s, struct slice *ret)
{
	skip_blanks(s);
	if (s->at == s->text.len || s->text.ptr[s->at] != '\'')
		return fail(s, "expected a value in single quotes");
	return take_quoted(s, '\'', ret);
}

static bool take_word(struct scanner *s, struct slice word)
{
	struct slice rest = slice_from(s->text, s->at);
	if (!slice_has_prefix_nocase(rest, word) || (rest.len > word.len && is_word(rest.ptr[word.len])))
		return false;
	s->at += word.len;
	return true;
}

static bool take_term(struct scanner *s, struct tag_term *t)
{
	if (!take_key(s, &t->key) || !take_op(s, &t->op) || !take_value(s, &t->value))
		return false;
	if (t->key.len > TAG_KEY_MAX)
		return fail(s, "expected a tag name of at most 128 characters");
	if (slice_is_set(t->key) && !has_only_tag_characters(t->value))
		return fail(s, "expected a value that a tag can have");
	if (!slice_is_set(t->key) && t->op != TAG_EQ)
		return fail(s, "expected = after @container");
	return true;
}

enum err blob_tag_filter_parse(struct slice text, enum tag_dialect dialect, struct arena *arena, struct tag_filter *ret,
			       size_t *ret_position, const char **ret_reason)
{
	struct scanner s = { .text = text, .dialect = dialect, .expected = "" };
	struct tag_filter f = { .count = 0 };
	bool or_before = false;
	(void)arena;
	for (bool fine = true; fine;) {
		if (f.count > TAG_OPERATORS_MAX || (dialect == TAG_FIND && f.count == TAG_FIND_TERMS_MAX)) {
			fail(&s, "expected fewer conditions");
			break;
		}
		struct tag_term *t = &f.term[f.count];
		t->or_before = or_before;
		if (!take_term(&s, t))
			break;
		f.count++;
		skip_blanks(&s);
		if (s.at == text.len) {
			*ret = f;
			return ERR_OK;
		}
		or_before = dialect == TAG_CONDITION && take_word(&s, SLICE("OR"));
		fine = or_before || take_word(&s, SLICE("AND")) || fail(&s, "expected AND");
	}
	*ret_position = s.at + 1;
	*ret_reason = s.expected;
	return ERR_SYNTAX;
}

static bool compare(enum tag_op op, int c)
{
	switch (op) {
	case TAG_EQ:
		return c == 0;
	case TAG_NE:
		return c != 0;
	case TAG_GT:
		return c > 0;
	case TAG_GE:
		return c >= 0;
	case TAG_LT:
		return c < 0;
	case TAG_LE:
		return c <= 0;
	}
	return false;
}

static const struct pair *find_tag(const struct pairs *tags, struct slice key)
{
	for (size_t i = 0; tags && i < tags->count; i++)
		if (slice_eq(tags->pair[i].name, key))
			return &tags->pair[i];
	return NULL;
}

static bool term_holds(const struct tag_term *t, const struct pairs *tags)
{
	if (!slice_is_set(t->key))
		return true; /* @container was judged before */
	const struct pair *p = find_tag(tags, t->key);
	return p && compare(t->op, slice_cmp(p->value, t->value));
}

bool blob_tag_filter_matches(const struct tag_filter *f, const struct pairs *tags)
{
	bool all = true;
	for (size_t i = 0; i < f->count; i++) {
		if (f->term[i].or_before) {
			if (all)
				return true;
			all = true;
		}
		all = all && term_holds(&f->term[i], tags);
	}
	return all;
}

bool blob_tag_filter_wants_container(const struct tag_filter *f, struct slice container)
{
	for (size_t i = 0; i < f->count; i++)
		if (!slice_is_set(f->term[i].key) && !slice_eq(f->term[i].value, container))
			return false;
	return true;
}

bool blob_tag_is_valid(struct slice key, struct slice value)
{
	if (key.len == 0 || key.len > TAG_KEY_MAX || value.len > TAG_VALUE_MAX)
		return false;
	return has_only_tag_characters(key) && has_only_tag_characters(value);
}

/* ---- the index ---- */

static void index_key(struct key *k, const struct pair *p, struct slice name)
{
	key_init(k);
	key_tag(k, 't');
	key_str(k, p->name);
	key_str(k, p->value);
	key_str(k, name);
}

static enum err index_each(struct txn *txn, struct slice name, const struct pairs *tags, const struct pairs *other,
			   bool put)
{
	struct key k;
	for (size_t i = 0; tags && i < tags->count; i++) {
		const struct pair *same = find_tag(other, tags->pair[i].name);
		if (same && slice_eq(same->value, tags->pair[i].value))
			continue;
		index_key(&k, &tags->pair[i], name);
		if (k.overflow)
			return ERR_LIMIT;
		TRY(put ? txn_put(txn, key_slice(&k), SLICE("1")) : txn_del(txn, key_slice(&k)));
	}
	return ERR_OK;
}

enum err blob_tags_reindex(struct txn *txn, struct slice name, const struct pairs *old, const struct pairs *fresh)
{
	TRY(index_each(txn, name, old, fresh, false));
	return index_each(txn, name, fresh, old, true);
}

/* ---- Find Blobs by Tags ---- */

/* The term the index is walked by: an equality if there is one, else any about a tag. */
static const struct tag_term *driving_term(const struct tag_filter *f)
{
	const struct tag_term *best = NULL;
	for (size_t i = 0; i < f->count; i++) {
		if (!slice_is_set(f->term[i].key))
			continue;
		if (!best || (f->term[i].op == TAG_EQ && best->op != TAG_EQ))
			best = &f->term[i];
	}
	return best;
}

static void walk_bounds(const struct tag_term *t, const struct tag_place *place, struct key *from, struct key *until)
{
	key_init(from);
	key_tag(from, 't');
	key_str(from, t->key);
	struct key at = *from;
	*until = *from;
	if (t->op == TAG_EQ || t->op == TAG_GT || t->op == TAG_GE)
		key_str(from, t->value);
	if (t->op == TAG_EQ || t->op == TAG_LT || t->op == TAG_LE)
		key_str(until, t->value);
	key_prefix_end(until);
	if (!slice_is_set(place->name))
		return;
	key_str(&at, place->value);
	key_str(&at, place->name);
	if (slice_cmp(key_slice(&at), key_slice(from)) > 0)
		*from = at;
}

static enum err take_place(struct arena *arena, struct slice key, struct tag_place *ret)
{
	struct slice tag;
	size_t room = key.len;
	char *dst = arena_alloc(arena, room);
	if (!dst)
		return ERR_NO_MEMORY;
	bool fine = key_take_tag(&key, 't') && key_take_str(&key, dst, room, &tag) &&
		    key_take_str(&key, dst, room, &ret->value) &&
		    key_take_str(&key, dst + ret->value.len, room - ret->value.len, &ret->name);
	return fine ? ERR_OK : ERR_CORRUPT;
}

static enum err asked_tags(struct arena *arena, const struct tag_filter *f, const struct pairs *tags, struct pairs *ret)
{
	struct pairs p = { ARENA_NEW_ARRAY(arena, struct pair, f->count), 0 };
	if (!p.pair)
		return ERR_NO_MEMORY;
	for (size_t i = 0; i < f->count; i++) {
		const struct pair *tag = slice_is_set(f->term[i].key) ? find_tag(tags, f->term[i].key) : NULL;
		if (tag && !find_tag(&p, tag->name))
			p.pair[p.count++] = *tag;
	}
	*ret = p;
	return ERR_OK;
}

/* A match behind a full page, or the first row there is no room for, is where the next page begins. */
static enum err look_at(struct txn *txn, struct tag_find_call *c, struct slice key, size_t full_bytes)
{
	struct arena *arena = txn_arena(txn);
	struct arena_position unneeded = arena_position(arena);
	struct tag_place place;
	struct blob b;
	TRY(take_place(arena, key, &place));
	c->more = c->left.rows == 0 || (c->count && arena->used_bytes > full_bytes);
	c->next = place;
	if (c->more)
		return ERR_OK;
	c->left.rows--;
	enum err e = blob_get(txn, place.name, &b);
	if (e != ERR_OK || !blob_tag_filter_matches(c->filter, &b.tags)) {
		arena_rewind(arena, unneeded);
		return e == ERR_NOT_FOUND ? ERR_OK : e;
	}
	c->more = c->count == c->limit;
	if (c->more)
		return ERR_OK;
	struct tag_find_item *item = &c->item[c->count++];
	item->name = place.name;
	return asked_tags(arena, c->filter, &b.tags, &item->tags);
}

enum err blob_apply_find_tags(struct txn *txn, void *call)
{
	struct tag_find_call *c = call;
	struct arena *arena = txn_arena(txn);
	struct key from, until;
	c->count = 0;
	c->more = false;
	c->left = c->room;
	TRY(generation_require(txn, ERR_CONTAINER_NOT_FOUND));
	const struct tag_term *drive = driving_term(c->filter);
	if (!drive)
		return ERR_OK;
	size_t begin_bytes = arena->used_bytes;
	c->item = ARENA_NEW_ARRAY(arena, struct tag_find_item, c->limit);
	if (!c->item)
		return ERR_NO_MEMORY;
	walk_bounds(drive, &c->from, &from, &until);
	for (bool more = true; more && !c->more;) {
		struct rows rows;
		struct arena_position unneeded = arena_position(arena);
		size_t count = c->count;
		struct scan_spec spec = { .from = key_slice(&from), .until = key_slice(&until), .keys_only = true };
		TRY(txn_scan(txn, &spec, &rows));
		for (size_t i = 0; i < rows.count && !c->more; i++)
			TRY(look_at(txn, c, rows.row[i].key, begin_bytes + c->room.bytes));
		more = rows.more;
		if (rows.count)
			key_after(&from, rows.row[rows.count - 1].key);
		if (c->count == count && !c->more)
			arena_rewind(arena, unneeded);
	}
	size_t kept_bytes = arena->used_bytes - begin_bytes;
	c->left.bytes -= kept_bytes < c->left.bytes ? kept_bytes : c->left.bytes;
	return ERR_OK;
}
