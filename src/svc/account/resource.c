/* SPDX-License-Identifier: Apache-2.0
 * Record (version 1): u8 version, name, u64 generation, etag, modified, created, pairs metadata, u8 policies {id,
 * start, expiry, permission}, u8 public access, lease, u8 flags, extra. */
#include "svc/account/resource_int.h"

#include "base/bytes.h"
#include "store/mutant.h"

#include <assert.h>

#include "svc/common/conditions.h"

enum { RESOURCE_RECORD_VERSION = 1, RESOURCE_RECORD_MAX = 96 * 1024 };

static void row_key(struct key *k, char kind, struct slice name)
{
	char lower[256];
	key_init(k);
	key_tag(k, kind);
	if (kind == RESOURCE_TABLE && name.len <= sizeof lower) { /* table names compare without case */
		for (size_t i = 0; i < name.len; i++)
			lower[i] = name.ptr[i] >= 'A' && name.ptr[i] <= 'Z' ? (char)(name.ptr[i] + 32) : name.ptr[i];
		name = slice_make(lower, name.len);
	}
	key_str(k, name);
}

static void intent_key(struct key *k, uint64_t generation)
{
	key_init(k);
	key_tag(k, 'i');
	key_u64(k, generation);
}

enum { INTENT_OLD_BYTES = 2, INTENT_VERSION = 1, INTENT_BYTES = 3 + 8 + 8 };

enum err intent_put(struct txn *txn, enum intent_what what, char kind, uint64_t generation)
{
	struct key k;
	char value[INTENT_BYTES] = { (char)what, kind, INTENT_VERSION };
	intent_key(&k, generation);
	bytes_store(value + 3, txn_session(txn), 8);
	bytes_store(value + 11, txn_now(txn), 8);
	return txn_put(txn, key_slice(&k), slice_make(value, sizeof value));
}

enum err intent_decode(const struct row *row, struct intent *ret)
{
	struct slice rest = row->key;
	struct intent i = { .what = 0 };
	struct cursor c = cursor_make(row->value);
	if (!key_take_tag(&rest, 'i') || !key_take_u64(&rest, &i.generation))
		return ERR_CORRUPT;
	i.what = (char)cursor_u8(&c);
	i.kind = (char)cursor_u8(&c);
	if (row->value.len != INTENT_OLD_BYTES) {
		bool known = cursor_u8(&c) == INTENT_VERSION;
		i.session = cursor_u64(&c);
		i.ticks = cursor_u64(&c);
		if (!known)
			return ERR_CORRUPT;
	}
	if (!cursor_done(&c))
		return ERR_CORRUPT;
	*ret = i;
	return ERR_OK;
}

bool intent_is_over(const struct intent *i, const struct txn *txn, bool shared)
{
	if (txn_mutant(txn) == MUTANT_SETTLE_LIVE)
		return true;
	if (!shared && i->session != txn_session(txn))
		return true;
	return txn_now(txn) >= i->ticks + INTENT_LIFE_SECONDS * TICKS_PER_SECOND;
}

void resource_encode(struct buf *b, const struct resource *r)
{
	bytes_put_u8(b, RESOURCE_RECORD_VERSION);
	bytes_put_u8(b, (uint8_t)r->kind);
	bytes_put_str(b, r->name);
	bytes_put_u64(b, r->generation);
	bytes_put_u64(b, r->etag);
	bytes_put_u64(b, r->modified_ticks);
	bytes_put_u64(b, r->created_ticks);
	pairs_encode(b, &r->metadata);
	bytes_put_u8(b, (uint8_t)r->policy_count);
	for (size_t i = 0; i < r->policy_count; i++) {
		bytes_put_str(b, r->policy[i].id);
		bytes_put_str(b, r->policy[i].start);
		bytes_put_str(b, r->policy[i].expiry);
		bytes_put_str(b, r->policy[i].permission);
	}
	bytes_put_u8(b, (uint8_t)r->public_access);
	lease_encode(b, &r->lease);
	bytes_put_u8(b, r->immutable_versions);
	bytes_put_str(b, r->extra);
}

enum err resource_decode(struct slice record, struct arena *arena, struct resource *ret)
{
	struct cursor c = cursor_make(record);
	struct resource r = { .kind = 0 };
	if (cursor_u8(&c) != RESOURCE_RECORD_VERSION)
		return ERR_CORRUPT;
	r.kind = (char)cursor_u8(&c);
	r.name = cursor_str(&c);
	r.generation = cursor_u64(&c);
	r.etag = cursor_u64(&c);
	r.modified_ticks = cursor_u64(&c);
	r.created_ticks = cursor_u64(&c);
	r.metadata = pairs_decode(&c, arena);
	r.policy_count = cursor_u8(&c);
	if (r.policy_count > POLICIES_MAX)
		return ERR_CORRUPT;
	for (size_t i = 0; i < r.policy_count; i++) {
		r.policy[i].id = cursor_str(&c);
		r.policy[i].start = cursor_str(&c);
		r.policy[i].expiry = cursor_str(&c);
		r.policy[i].permission = cursor_str(&c);
	}
	r.public_access = (enum public_access)cursor_u8(&c);
	r.lease = lease_decode(&c);
	r.immutable_versions = cursor_u8(&c) != 0;
	r.extra = cursor_str(&c);
	if (!cursor_done(&c))
		return ERR_CORRUPT;
	*ret = r;
	return ERR_OK;
}

static struct slice key_in_arena(struct arena *arena, const struct key *k)
{
	return k->overflow ? SLICE_NONE : arena_dup(arena, key_slice(k));
}

struct slice resource_account_partition(struct arena *arena, struct slice account)
{
	struct key k;
	key_init(&k);
	key_partition_account(&k, account);
	return key_in_arena(arena, &k);
}

struct slice resource_generation_partition(struct arena *arena, struct slice account, char kind, uint64_t generation)
{
	struct key k;
	key_init(&k);
	key_partition(&k, account, kind, generation);
	return key_in_arena(arena, &k);
}

enum err resource_find(struct store *store, struct slice account, char kind, struct slice name, struct arena *arena,
		       struct resource *ret)
{
	struct key partition, row;
	struct slice value;
	key_init(&partition);
	key_partition_account(&partition, account);
	row_key(&row, kind, name);
	if (partition.overflow || row.overflow)
		return ERR_NOT_FOUND;
	TRY(store_get(store, key_slice(&partition), key_slice(&row), arena, &value));
	return resource_decode(value, arena, ret);
}

enum err resource_get(struct txn *txn, char kind, struct slice name, struct resource *ret)
{
	struct key row;
	struct slice value;
	row_key(&row, kind, name);
	if (row.overflow)
		return ERR_NOT_FOUND;
	TRY(txn_get(txn, key_slice(&row), &value));
	return resource_decode(value, txn_arena(txn), ret);
}

enum err resource_put(struct txn *txn, const struct resource *r)
{
	struct key row;
	struct buf b;
	row_key(&row, r->kind, r->name);
	if (row.overflow)
		return ERR_LIMIT;
	buf_init(&b, RESOURCE_RECORD_MAX);
	resource_encode(&b, r);
	enum err e = buf_ok(&b) ? txn_put(txn, key_slice(&row), buf_slice(&b)) : ERR_LIMIT;
	buf_fini(&b);
	return e;
}

/* Of records: a request holds them, and up to five times as much of XML. Thousands with all the metadata they may have are
 * more. */
enum { LIST_PAGE_BYTES = 4 * 1024 * 1024 };

enum err resource_list(struct txn *txn, char kind, struct slice prefix, struct slice from_name, size_t limit,
		       struct resource_page *ret)
{
	struct key from, until;
	struct resource_page page = { NULL, 0, SLICE_NONE };
	struct arena *arena = txn_arena(txn);

	key_init(&until);
	key_tag(&until, kind);
	key_str_open(&until, prefix);
	from = until;
	key_prefix_end(&until);
	if (slice_is_set(from_name)) {
		struct key start;
		row_key(&start, kind, from_name);
		if (slice_cmp(key_slice(&start), key_slice(&from)) > 0)
			from = start;
	}
	/* A prefix or a name to begin at that outgrew its key is cut off: no name is as long, so none lies between. */
	page.resource = ARENA_NEW_ARRAY(arena, struct resource, limit ? limit : 1);
	if (!page.resource)
		return ERR_NO_MEMORY;
	size_t bytes = 0;
	while (page.count < limit + 1) {
		struct rows rows;
		struct scan_spec spec = { .from = key_slice(&from),
					  .until = key_slice(&until),
					  .limit_rows = limit + 1 - page.count };
		TRY(txn_scan(txn, &spec, &rows));
		for (size_t i = 0; i < rows.count; i++) {
			struct resource r;
			TRY(resource_decode(rows.row[i].value, arena, &r));
			if (page.count == limit || bytes > LIST_PAGE_BYTES) {
				page.next_name = r.name;
				break;
			}
			page.resource[page.count++] = r;
			bytes += rows.row[i].value.len;
		}
		if (!rows.more || slice_is_set(page.next_name))
			break;
		key_after(&from, rows.row[rows.count - 1].key);
	}
	*ret = page;
	return ERR_OK;
}

/* ---- creation ---- */

/* Answers for a name that is taken; *ret_taken false if it is free. */
static enum err name_taken(struct txn *txn, struct resource_create *c, bool *ret_taken)
{
	struct resource existing;
	enum err e = resource_get(txn, c->resource.kind, c->resource.name, &existing);
	*ret_taken = e == ERR_OK;
	if (e == ERR_NOT_FOUND)
		return ERR_OK;
	TRY(e);
	if (!c->on_exists)
		return c->exists_error;
	TRY(c->on_exists(c, &existing));
	c->existed = true;
	return ERR_OK;
}

enum err resource_create_reserve(struct txn *txn, void *call)
{
	struct resource_create *c = call;
	bool taken;
	c->existed = c->reserved = false;
	c->refused = ERR_OK;
	TRY(name_taken(txn, c, &taken));
	if (taken)
		return ERR_OK;
	c->reserved = true;
	return intent_put(txn, INTENT_CREATE, c->resource.kind, c->resource.generation);
}

/* Is the intent of this creation still there? It may have been given up meanwhile, by a front end that took it for one
 * of a session that is over: then the generation is being dropped. */
static enum err intent_is_ours(struct txn *txn, uint64_t generation, bool *ret)
{
	struct key k;
	struct intent intent;
	struct row row;
	intent_key(&k, generation);
	row.key = key_slice(&k);
	*ret = false;
	enum err e = txn_get(txn, row.key, &row.value);
	if (e == ERR_NOT_FOUND)
		return ERR_OK;
	TRY(e);
	TRY(intent_decode(&row, &intent));
	*ret = intent.what == INTENT_CREATE && intent.session == txn_session(txn);
	return ERR_OK;
}

enum err resource_create_open(struct txn *txn, void *call)
{
	struct resource_create *c = call;
	return c->reserved ? generation_open(txn) : ERR_OK;
}

enum err resource_create_publish(struct txn *txn, void *call)
{
	struct resource_create *c = call;
	struct key k;
	bool taken, ours;
	if (!c->reserved)
		return ERR_OK;
	c->existed = false;
	c->refused = ERR_OK;
	/* The intent goes with the record that replaces it. If another creator came first, or this one was given up, what
	 * was made for it goes the way of a deleted resource, again if it was emptied before its meta was put; that must
	 * be committed, so the refusal waits for format. */
	enum err e = name_taken(txn, c, &taken);
	if (taken) {
		c->refused = e;
		return intent_put(txn, INTENT_DROP, c->resource.kind, c->resource.generation);
	}
	TRY(e);
	TRY(intent_is_ours(txn, c->resource.generation, &ours));
	if (!ours && txn_mutant(txn) != MUTANT_PUBLISH_BLIND) {
		c->refused = ERR_SERVER_BUSY;
		return intent_put(txn, INTENT_DROP, c->resource.kind, c->resource.generation);
	}
	intent_key(&k, c->resource.generation);
	TRY(txn_del(txn, key_slice(&k)));
	c->resource.etag = c->resource.modified_ticks = c->resource.created_ticks = txn_now(txn);
	return resource_put(txn, &c->resource);
}

/* ---- deletion ---- */

static void deleted_key(struct key *k, char kind, struct slice name, uint64_t ticks)
{
	key_init(k);
	key_tag(k, deleted_tag(kind));
	key_str(k, name);
	key_u64(k, ticks);
}

static enum err deleted_put(struct txn *txn, const struct resource *r, uint32_t days)
{
	struct key k;
	struct buf b;
	deleted_key(&k, r->kind, r->name, txn_now(txn));
	buf_init(&b, RESOURCE_RECORD_MAX);
	bytes_put_u64(&b, txn_now(txn));
	bytes_put_u32(&b, days);
	resource_encode(&b, r);
	enum err e = buf_ok(&b) ? txn_put(txn, key_slice(&k), buf_slice(&b)) : ERR_LIMIT;
	buf_fini(&b);
	return e;
}

enum err deleted_decode(struct slice value, struct arena *arena, struct deleted_resource *ret)
{
	struct cursor c = cursor_make(value);
	ret->deleted_ticks = cursor_u64(&c);
	ret->retention_days = cursor_u32(&c);
	return c.failed ? ERR_CORRUPT : resource_decode(cursor_raw(&c, cursor_left(&c)), arena, &ret->resource);
}

bool deleted_is_over(const struct deleted_resource *d, uint64_t now)
{
	return now >= d->deleted_ticks + (uint64_t)d->retention_days * 86400 * TICKS_PER_SECOND;
}

enum err resource_delete_remove(struct txn *txn, void *call)
{
	struct resource_delete *d = call;
	struct resource r;
	struct key k;
	enum err e = resource_get(txn, d->kind, d->name, &r);
	if (e == ERR_NOT_FOUND || (e == ERR_OK && r.generation != d->generation))
		return d->missing_error;
	TRY(e);
	if (d->check)
		TRY(d->check(txn, d, &r));
	row_key(&k, d->kind, d->name);
	TRY(txn_del(txn, key_slice(&k)));
	if (d->retention_days)
		return deleted_put(txn, &r, d->retention_days);
	return intent_put(txn, INTENT_DROP, d->kind, d->generation);
}

enum err resource_delete_close(struct txn *txn, void *call)
{
	/* What can be restored stays as it is: it may be back already, and this would close it behind the restore. A
	 * write that found it before it went is then one that came before the delete. */
	const struct resource_delete *d = call;
	return d->retention_days ? ERR_OK : generation_close(txn);
}

/* ---- restoring ---- */

enum err resource_find_deleted(struct store *store, struct slice account, char kind, struct slice name,
			       uint64_t deleted_ticks, struct arena *arena, struct resource *ret)
{
	struct key partition, row;
	struct slice value;
	struct deleted_resource d;
	key_init(&partition);
	key_partition_account(&partition, account);
	deleted_key(&row, kind, name, deleted_ticks);
	if (partition.overflow || row.overflow)
		return ERR_NOT_FOUND;
	TRY(store_get(store, key_slice(&partition), key_slice(&row), arena, &value));
	TRY(deleted_decode(value, arena, &d));
	*ret = d.resource;
	return ERR_OK;
}

enum err resource_restore_open(struct txn *txn, void *call)
{
	(void)call;
	return generation_open(txn);
}

enum err resource_restore_publish(struct txn *txn, void *call)
{
	struct resource_restore *c = call;
	struct key k;
	struct slice value;
	struct deleted_resource d;
	struct resource other;
	deleted_key(&k, c->kind, c->name, c->deleted_ticks);
	enum err e = txn_get(txn, key_slice(&k), &value);
	if (e == ERR_NOT_FOUND)
		return c->missing_error;
	TRY(e);
	TRY(deleted_decode(value, txn_arena(txn), &d));
	if (deleted_is_over(&d, txn_now(txn)))
		return c->missing_error;
	e = resource_get(txn, d.resource.kind, c->name, &other);
	if (e != ERR_NOT_FOUND)
		return e == ERR_OK ? c->exists_error : e;
	TRY(txn_del(txn, key_slice(&k)));
	c->resource = d.resource;
	c->resource.lease = (struct lease){ .held = false };
	c->resource.etag = etag_next(txn_now(txn), c->resource.etag);
	c->resource.modified_ticks = c->resource.etag;
	return resource_put(txn, &c->resource);
}

enum err resource_list_deleted(struct txn *txn, const struct deleted_query *q, struct deleted_resource **ret,
			       size_t *ret_count)
{
	struct key from, until;
	struct rows rows = { .more = true };
	size_t count = 0, limit = q->limit ? q->limit : 1;
	struct deleted_resource *found = ARENA_NEW_ARRAY(txn_arena(txn), struct deleted_resource, limit);
	if (!found)
		return ERR_NO_MEMORY;
	key_init(&until);
	key_tag(&until, deleted_tag(q->kind));
	key_str_open(&until, q->prefix);
	from = until;
	key_prefix_end(&until);
	if (slice_is_set(q->from_name) && slice_cmp(q->from_name, q->prefix) >= 0)
		deleted_key(&from, q->kind, q->from_name, q->from_ticks);
	while (rows.more && count < limit) {
		struct scan_spec spec = { .from = key_slice(&from),
					  .until = key_slice(&until),
					  .limit_rows = limit - count };
		TRY(txn_scan(txn, &spec, &rows));
		for (size_t i = 0; i < rows.count; i++) {
			TRY(deleted_decode(rows.row[i].value, txn_arena(txn), &found[count]));
			count += !deleted_is_over(&found[count], txn_now(txn));
		}
		if (rows.more)
			key_after(&from, rows.row[rows.count - 1].key);
	}
	*ret = found;
	*ret_count = count;
	return ERR_OK;
}

enum err resource_apply_set_policies(struct txn *txn, void *resource_set_policies)
{
	const struct resource_set_policies *c = resource_set_policies;
	struct resource r;
	assert(c->count <= POLICIES_MAX);
	enum err e = resource_get(txn, c->kind, c->name, &r);
	if (e != ERR_OK)
		return e == ERR_NOT_FOUND ? c->missing_error : e;
	r.policy_count = c->count;
	memcpy(r.policy, c->policy, sizeof c->policy);
	r.modified_ticks = txn_now(txn);
	return resource_put(txn, &r);
}
