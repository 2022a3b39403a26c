/* SPDX-License-Identifier: Apache-2.0
 * The reaper: finishes what a crash or a delete left as intents in an account partition.
 *   'D' a dropped generation: make sure its meta is gone, let the service retire its extents, drop the partition, drop
 *       the intent.
 *   'C' a creation that did not finish. While its session is alive, its request may still be running: it is passed
 * over.
 *       Of a session that is over, or too old for any request, it becomes a 'D', unless a record names the generation.
 * Every step may be repeated: a crash in the middle costs nothing but doing it again. What is changed at once is
 * bounded, what is looked at is not: nothing may hide behind rows that stay. */
#include "svc/account/resource_int.h"

enum {
	REAP_ARENA_BYTES = 16 * 1024 * 1024, /* several pages of rows */
	REAP_PAGE = 64,			     /* rows looked at, and with that changed, by one transaction */
	REAP_AT_ONCE = 64 /* generations worked on in a call: a few commits each, then others have their turn */
};

/* A walk over rows of the account's partition, page by page. */
struct walk {
	struct key from; /* of this page */
	struct key next; /* out, if there is more: of the next one */
	bool more;
};

static void walk_begin(struct walk *w, char tag)
{
	key_init(&w->from);
	key_tag(&w->from, tag);
	w->next = w->from;
	w->more = true;
}

/* From w->from to the end of the rows with the tag. */
static enum err walk_page(struct txn *txn, struct walk *w, char tag, struct rows *ret)
{
	struct key until;
	key_init(&until);
	key_tag(&until, tag);
	key_prefix_end(&until);
	struct scan_spec spec = { .from = key_slice(&w->from), .until = key_slice(&until), .limit_rows = REAP_PAGE };
	TRY(txn_scan(txn, &spec, ret));
	w->more = ret->more;
	if (ret->more)
		key_after(&w->next, ret->row[ret->count - 1].key);
	return ERR_OK;
}

/* A page that changes rows: each one is looked at first, so that nothing found costs no commit. */
struct change {
	struct walk walk;
	bool found;
};

static enum err change_all(struct store *store, struct slice account, char tag, apply_fn *apply, struct change *c)
{
	struct arena arena;
	arena_init(&arena, REAP_ARENA_BYTES);
	struct slice partition = resource_account_partition(&arena, account);
	enum err e = slice_is_set(partition) ? ERR_OK : ERR_NO_MEMORY;
	walk_begin(&c->walk, tag);
	while (e == ERR_OK && c->walk.more) {
		struct arena_position memory = arena_position(&arena);
		e = store_look(store, partition, apply, c, &arena);
		if (e == ERR_OK && c->found)
			e = store_write_wait(store, partition, apply, c, &arena);
		c->walk.from = c->walk.next;
		arena_rewind(&arena, memory);
	}
	arena_fini(&arena);
	return e;
}

/* ---- intents ---- */

/* Creations without an end, one page of intents. */
struct settle {
	struct change change;
	bool shared;
	size_t count;
	struct {
		struct intent intent;
		struct slice key;
		bool named;
	} creation[REAP_PAGE];
};

/* Which of them does a record name? None should be: the intent goes in the transaction that puts the record. But what
 * is not named is destroyed. */
static enum err find_named(struct txn *txn, char kind, struct settle *s)
{
	struct walk w;
	walk_begin(&w, kind);
	while (w.more) {
		struct rows rows;
		struct resource r;
		struct arena_position memory = arena_position(txn_arena(txn));
		TRY(walk_page(txn, &w, kind, &rows));
		for (size_t i = 0; i < rows.count; i++) {
			TRY(resource_decode(rows.row[i].value, txn_arena(txn), &r));
			for (size_t k = 0; k < s->count; k++)
				s->creation[k].named |= s->creation[k].intent.generation == r.generation &&
							s->creation[k].intent.kind == kind;
		}
		w.from = w.next;
		arena_rewind(txn_arena(txn), memory);
	}
	return ERR_OK;
}

static enum err apply_settle(struct txn *txn, void *call)
{
	static const char kinds[] = { RESOURCE_CONTAINER, RESOURCE_QUEUE, RESOURCE_TABLE, RESOURCE_SHARE };
	struct settle *s = call;
	struct rows rows;
	s->count = 0;
	TRY(walk_page(txn, &s->change.walk, 'i', &rows));
	for (size_t i = 0; i < rows.count; i++) {
		struct intent intent;
		TRY(intent_decode(&rows.row[i], &intent));
		s->creation[s->count].intent = intent;
		s->creation[s->count].key = rows.row[i].key;
		s->creation[s->count].named = false;
		s->count += intent.what == INTENT_CREATE && intent_is_over(&intent, txn, s->shared);
	}
	s->change.found = s->count != 0;
	if (!s->count || txn_is_dry(txn))
		return ERR_OK;
	for (size_t i = 0; i < sizeof kinds; i++)
		TRY(find_named(txn, kinds[i], s));
	for (size_t i = 0; i < s->count; i++) {
		const struct intent *c = &s->creation[i].intent;
		TRY(s->creation[i].named ? txn_del(txn, s->creation[i].key)
					 : intent_put(txn, INTENT_DROP, c->kind, c->generation));
	}
	return ERR_OK;
}

enum err resource_settle(struct store *store, struct slice account)
{
	struct settle s = { .shared = store_is_shared(store) };
	return change_all(store, account, 'i', apply_settle, &s.change);
}

/* ---- what time ends ---- */

struct expire {
	struct change change; /* first */
	char tag;
};

static enum err apply_expire(struct txn *txn, void *call)
{
	struct expire *expire = call;
	struct change *c = &expire->change;
	struct rows rows;
	c->found = false;
	TRY(walk_page(txn, &c->walk, expire->tag, &rows));
	for (size_t i = 0; i < rows.count; i++) {
		struct deleted_resource d;
		TRY(deleted_decode(rows.row[i].value, txn_arena(txn), &d));
		if (!deleted_is_over(&d, txn_now(txn)))
			continue;
		c->found = true;
		TRY(intent_put(txn, INTENT_DROP, d.resource.kind, d.resource.generation));
		TRY(txn_del(txn, rows.row[i].key));
	}
	return ERR_OK;
}

enum err resource_expire(struct store *store, struct slice account)
{
	static const char kinds[] = { RESOURCE_CONTAINER, RESOURCE_SHARE };
	for (size_t i = 0; i < sizeof kinds; i++) {
		struct expire e = { .tag = deleted_tag(kinds[i]) };
		TRY(change_all(store, account, e.tag, apply_expire, &e.change));
	}
	return ERR_OK;
}

/* ---- dropped generations ---- */

struct intents {
	struct walk walk;
	struct rows rows;
};

static enum err read_intents(struct txn *txn, void *call)
{
	struct intents *i = call;
	return walk_page(txn, &i->walk, 'i', &i->rows);
}

static enum err close_generation(struct txn *txn, void *call)
{
	(void)call;
	return generation_close(txn);
}

static enum err drop_intent(struct txn *txn, void *call)
{
	const struct slice *key = call;
	return txn_del(txn, *key);
}

struct reaper {
	struct store *store;
	struct slice account, partition;
	resource_empty_fn *empty;
	struct arena *arena;
	bool more;
};

static enum err reap_one(struct reaper *r, const struct intent *intent, struct slice key)
{
	bool more = false;
	struct slice partition = resource_generation_partition(r->arena, r->account, intent->kind, intent->generation);
	if (!slice_is_set(partition))
		return ERR_NO_MEMORY;
	TRY(store_write_wait(r->store, partition, close_generation, NULL, r->arena));
	TRY(r->empty(r->store, partition, intent->kind, &more));
	if (more) {
		r->more = true;
		return ERR_OK;
	}
	TRY(store_drop_partition(r->store, partition));
	return store_write_wait(r->store, r->partition, drop_intent, &key, r->arena);
}

/* Works on dropped generations among the rows, as long as *left is not 0. */
static enum err reap_rows(struct reaper *r, const struct rows *rows, size_t *left)
{
	enum err result = ERR_OK;
	for (size_t i = 0; i < rows->count && *left; i++) {
		struct intent intent;
		struct arena_position memory = arena_position(r->arena);
		enum err e = intent_decode(&rows->row[i], &intent);
		if (e == ERR_OK && intent.what == INTENT_DROP) {
			e = reap_one(r, &intent, rows->row[i].key);
			*left -= e == ERR_OK;
		}
		if (result == ERR_OK)
			result = e;
		arena_rewind(r->arena, memory);
	}
	return result;
}

enum err resource_reap(struct store *store, struct slice account, resource_empty_fn *empty, bool *ret_more)
{
	struct arena arena;
	struct intents page;
	size_t left = REAP_AT_ONCE;
	arena_init(&arena, REAP_ARENA_BYTES);
	struct reaper r = { .store = store, .account = account, .empty = empty, .arena = &arena };
	r.partition = resource_account_partition(&arena, account);
	enum err result = slice_is_set(r.partition) ? ERR_OK : ERR_NO_MEMORY;
	walk_begin(&page.walk, 'i');
	while (slice_is_set(r.partition) && page.walk.more && left) {
		struct arena_position memory = arena_position(&arena);
		enum err e = store_look(store, r.partition, read_intents, &page, &arena);
		if (e != ERR_OK) {
			result = e;
			break;
		}
		e = reap_rows(&r, &page.rows, &left);
		if (result == ERR_OK)
			result = e;
		page.walk.from = page.walk.next;
		arena_rewind(&arena, memory);
	}
	if (result == ERR_OK)
		*ret_more = r.more || !left;
	arena_fini(&arena);
	return result;
}

/* ---- what there is to tend ---- */

struct places {
	struct key *from;
	size_t limit;
	struct resource_place *ret;
	size_t count;
	bool more;
};

/* The letters of the rows that lead to a partition with work in it, in key order. */
#define PLACE_TAGS "cqrs"

static enum err place_decode(const struct row *row, struct arena *arena, struct resource_place *ret)
{
	struct deleted_resource d;
	if (row->key.ptr[0] == 'r')
		TRY(deleted_decode(row->value, arena, &d));
	else
		TRY(resource_decode(row->value, arena, &d.resource));
	*ret = (struct resource_place){ d.resource.kind, d.resource.generation };
	return ERR_OK;
}

static enum err apply_places(struct txn *txn, void *call)
{
	struct places *p = call;
	const char *tag = p->from->len ? strchr(PLACE_TAGS, p->from->bytes[0]) : PLACE_TAGS;
	p->count = 0;
	if (!p->from->len)
		key_tag(p->from, *tag);
	while (tag && *tag && p->count < p->limit) {
		struct key until;
		struct rows rows;
		key_init(&until);
		key_tag(&until, *tag);
		key_prefix_end(&until);
		struct scan_spec spec = { .from = key_slice(p->from),
					  .until = key_slice(&until),
					  .limit_rows = p->limit - p->count };
		TRY(txn_scan(txn, &spec, &rows));
		for (size_t i = 0; i < rows.count; i++)
			TRY(place_decode(&rows.row[i], txn_arena(txn), &p->ret[p->count++]));
		if (rows.more) {
			key_after(p->from, rows.row[rows.count - 1].key);
			continue;
		}
		key_init(p->from);
		if (*++tag)
			key_tag(p->from, *tag);
	}
	p->more = p->from->len > 0;
	return ERR_OK;
}

enum err resource_places(struct store *store, struct slice account, struct key *from, size_t limit,
			 struct resource_place *ret, size_t *ret_count, bool *ret_more)
{
	struct arena arena;
	struct places p = { .from = from, .limit = limit, .ret = ret };
	arena_init(&arena, REAP_ARENA_BYTES);
	struct slice partition = resource_account_partition(&arena, account);
	enum err e = slice_is_set(partition) ? store_look(store, partition, apply_places, &p, &arena) : ERR_NO_MEMORY;
	arena_fini(&arena);
	if (e != ERR_OK) {
		key_init(from);
		return e;
	}
	*ret_count = p.count;
	*ret_more = p.more;
	return ERR_OK;
}
