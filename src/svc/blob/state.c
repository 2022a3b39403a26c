/* SPDX-License-Identifier: Apache-2.0
 * Applies that change what a blob is without changing its bytes, and the round that ends what time ends. */
#include "svc/blob/state.h"

#include "svc/blob/content/block_list.h"
#include <assert.h>

#include "svc/blob/content/build.h"
#include "svc/blob/history.h"
#include "svc/blob/tags.h"
#include "svc/common/generation.h"

/* ---- snapshots ---- */

enum { SNAPSHOT_VERSION_TICKS = 10000 }; /* a millisecond: so far behind its snapshot the next version lies */

enum err blob_version_after(struct txn *txn, struct slice name, uint64_t ticks, uint64_t *ret)
{
	struct blob other;
	for (;; ticks++) {
		enum err e = blob_history_get_row(txn, name, ticks, &other);
		if (e == ERR_NOT_FOUND) {
			*ret = ticks;
			return ERR_OK;
		}
		TRY(e);
	}
}

enum err blob_apply_snapshot(struct txn *txn, void *call)
{
	struct blob_snapshot_call *c = call;
	struct blob base;
	uint64_t now = txn_now(txn);
	TRY(generation_require(txn, ERR_CONTAINER_NOT_FOUND));
	TRY(blob_load(txn, &c->target, &base));
	TRY(lease_check_read(&base.lease, &lease_errors_blob, now, blob_target_lease_id(&c->target)));
	struct condition_target t = { .exists = true, .etag = base.etag, .modified_ticks = base.modified_ticks };
	TRY(conditions_check_write(&c->target.conditions, &t, ERR_CONDITION_NOT_MET, ERR_CONDITION_NOT_MET));
	TRY(blob_check_tags(&c->target, &base));
	if (c->target.asks_encryption)
		TRY(blob_check_encryption(&c->target, &base.encryption));
	TRY(blob_check_copy(&base));
	TRY(blob_check_online(&base));

	struct blob *s = &c->snapshot;
	*s = base;
	/* Later than the version that is current: its id becomes the time of a history row one day. */
	TRY(blob_version_after(txn, base.name, etag_next(now, base.version_ticks), &s->history_ticks));
	s->is_snapshot = true;
	s->lease = (struct lease){ .held = false };
	s->version_ticks = 0;
	if (c->has_metadata) {
		s->metadata = c->metadata;
		s->etag = etag_next(now, base.etag);
		s->modified_ticks = s->etag;
	}
	TRY(blob_content_share(txn, &base.content));
	/* With versions the state of now becomes one, and the base goes on as the next: the same in all but its id. */
	bool versioned = c->target.rules.versioning && !blob_is_incremental(&base);
	if (versioned) {
		TRY(blob_content_share(txn, &base.content));
		TRY(blob_supersede(txn, &c->target, &base));
		TRY(blob_version_after(txn, base.name, s->history_ticks + SNAPSHOT_VERSION_TICKS, &base.version_ticks));
	}
	if (base.type == BLOB_PAGE) /* what is written from now on is not the snapshot's */
		base.content.epoch++;
	if (versioned || base.type == BLOB_PAGE)
		TRY(blob_put(txn, &base));
	c->base_version_ticks = base.version_ticks;
	return blob_put(txn, s);
}

/* ---- undelete ---- */

static bool is_deleted_base(const struct blob *b)
{
	return b->deleted_ticks && blob_history_is_base(b);
}

static enum err restore_row(struct txn *txn, struct blob *b, bool as_base)
{
	struct key k;
	bool was_base = is_deleted_base(b);
	blob_history_key(&k, b->name, b->history_ticks);
	b->deleted_ticks = 0;
	b->retention_days = 0;
	if (!was_base)
		return blob_put(txn, b);
	if (!as_base) {
		b->is_snapshot = true;
		b->version_ticks = 0;
		return blob_put(txn, b);
	}
	TRY(txn_del(txn, key_slice(&k)));
	b->history_ticks = 0;
	TRY(blob_tags_reindex(txn, b->name, NULL, &b->tags));
	return blob_put(txn, b);
}

bool blob_retention_over(const struct blob *b, uint64_t now)
{
	return b->deleted_ticks && now >= b->deleted_ticks + (uint64_t)b->retention_days * 86400 * TICKS_PER_SECOND;
}

/* What is past its days is gone, even if nobody swept it yet. */
struct deleted {
	uint64_t now_ticks;
	bool any;	       /* something of the name is there */
	size_t rows, count;    /* all, and those to bring back */
	uint64_t newest_ticks; /* the deleted base that went last; key order is time order */
};

static enum err tally_deleted(const struct blob *b, void *arg, bool *go_on)
{
	struct deleted *d = arg;
	d->rows++;
	if (blob_retention_over(b, d->now_ticks))
		return ERR_OK;
	d->any = true;
	d->count += b->deleted_ticks != 0;
	if (is_deleted_base(b))
		d->newest_ticks = b->history_ticks;
	return ERR_OK;
}

static enum err restore_deleted(struct txn *txn, struct blob *b, void *base_ticks)
{
	if (!b->deleted_ticks || blob_retention_over(b, txn_now(txn)))
		return ERR_OK;
	return restore_row(txn, b, b->history_ticks == *(const uint64_t *)base_ticks);
}

/* The base comes back as it is; what a mark brings back are the others. */
static enum err restore_by_mark(struct txn *txn, const struct blob_undelete_call *c, uint64_t base_ticks)
{
	struct history_mark m = { .kind = MARK_UNDELETED,
				  .ticks = txn_now(txn),
				  .sweep_rows = c->rows_at_once ? c->rows_at_once : HISTORY_SWEEP_ROWS };
	if (base_ticks) {
		struct blob b;
		TRY(blob_history_get_row(txn, c->name, base_ticks, &b));
		TRY(restore_row(txn, &b, true));
	}
	return blob_history_mark_put(txn, c->name, &m);
}

enum err blob_apply_undelete(struct txn *txn, void *call)
{
	struct blob_undelete_call *c = call;
	struct history_mark mark;
	struct blob base;
	struct deleted d = { .now_ticks = txn_now(txn) };
	size_t at_once = c->rows_at_once ? c->rows_at_once : HISTORY_ROWS_AT_ONCE;
	c->again = false;
	TRY(generation_require(txn, ERR_CONTAINER_NOT_FOUND));
	enum err e = blob_history_mark_get(txn, c->name, &mark);
	if (e == ERR_OK) {
		bool done;
		c->again = true;
		return blob_history_sweep(txn, c->name, &done);
	}
	if (e != ERR_NOT_FOUND)
		return e;
	e = blob_get(txn, c->name, &base);
	if (e != ERR_OK && e != ERR_NOT_FOUND)
		return e;
	TRY(blob_history_each(txn, c->name, 0, tally_deleted, &d));
	if (!d.any && e == ERR_NOT_FOUND)
		return ERR_BLOB_NOT_FOUND;
	uint64_t base_ticks = e == ERR_NOT_FOUND ? d.newest_ticks : 0;
	if (d.count <= at_once && d.rows <= HISTORY_ROWS_LOOKED_AT)
		return blob_history_change_each(txn, c->name, restore_deleted, &base_ticks);
	return restore_by_mark(txn, c, base_ticks);
}

/* ---- tiers ---- */

static void settle_copy(struct blob *b, uint64_t now)
{
	if (b->copy.status != COPY_PENDING ||
	    now < b->copy.heartbeat_ticks + BLOB_COPY_SILENCE_SECONDS * TICKS_PER_SECOND)
		return;
	b->copy.status = COPY_FAILED;
	b->copy.description = SLICE("500 InternalError \"The copy was interrupted by a restart of the server.\"");
	b->copy.completed_ticks = b->copy.heartbeat_ticks;
}

void blob_settle(struct blob *b, uint64_t now)
{
	settle_copy(b, now);
	if (b->rehydrate == REHYDRATE_NONE || now < b->tier_changed_ticks + BLOB_REHYDRATE_SECONDS * TICKS_PER_SECOND)
		return;
	b->tier = b->rehydrate == REHYDRATE_TO_HOT    ? TIER_HOT
		  : b->rehydrate == REHYDRATE_TO_COOL ? TIER_COOL
						      : TIER_COLD;
	b->rehydrate = REHYDRATE_NONE;
	b->rehydrate_high = false;
}

enum err blob_check_tier(enum blob_type type, enum blob_tier tier)
{
	bool suits = tier == TIER_NONE || (type == BLOB_BLOCK && tier < TIER_PREMIUM_FIRST) ||
		     (type == BLOB_PAGE && tier >= TIER_PREMIUM_FIRST);
	return suits ? ERR_OK : ERR_ACCESS_TIER_NOT_SUPPORTED_FOR_BLOB_TYPE;
}

enum blob_rehydrate blob_rehydrate_to(enum blob_tier tier)
{
	assert(tier != TIER_ARCHIVE && tier < TIER_PREMIUM_FIRST);
	return tier == TIER_COOL ? REHYDRATE_TO_COOL : tier == TIER_COLD ? REHYDRATE_TO_COLD : REHYDRATE_TO_HOT;
}

static enum err set_tier(struct blob_state_call *c, uint64_t now)
{
	struct blob *b = &c->blob;
	TRY(blob_check_tier(b->type, c->tier));
	enum blob_rehydrate goal = c->tier == TIER_HOT	  ? REHYDRATE_TO_HOT
				   : c->tier == TIER_COOL ? REHYDRATE_TO_COOL
							  : REHYDRATE_TO_COLD;
	if (b->rehydrate != REHYDRATE_NONE) {
		c->rehydrating = true;
		if (b->rehydrate != goal || c->tier == TIER_ARCHIVE)
			return ERR_BLOB_BEING_REHYDRATED;
		b->rehydrate_high = b->rehydrate_high || c->high_priority; /* it can be raised, not lowered */
		return ERR_OK;
	}
	if (b->tier == TIER_ARCHIVE && c->tier != TIER_ARCHIVE && b->history_ticks)
		return ERR_BLOB_ARCHIVED; /* only the base is brought back; a copy of the others can be */
	if (b->tier == TIER_ARCHIVE && c->tier != TIER_ARCHIVE) {
		b->rehydrate = goal;
		b->rehydrate_high = c->high_priority;
		c->rehydrating = true;
	} else {
		b->tier = c->tier;
	}
	b->tier_changed_ticks = now;
	return ERR_OK;
}

enum err blob_apply_set_tier(struct txn *txn, void *call)
{
	struct blob_state_call *c = call;
	c->rehydrating = false;
	TRY(generation_require(txn, ERR_CONTAINER_NOT_FOUND));
	TRY(blob_load(txn, &c->target, &c->blob));
	TRY(lease_check_read(&c->blob.lease, &lease_errors_blob, txn_now(txn), blob_target_lease_id(&c->target)));
	TRY(blob_check_tags(&c->target, &c->blob));
	TRY(blob_check_copy(&c->blob));
	TRY(set_tier(c, txn_now(txn)));
	return blob_put(txn, &c->blob);
}

/* ---- holds ---- */

static enum err load_for_hold(struct txn *txn, struct blob_state_call *c)
{
	TRY(generation_require(txn, ERR_CONTAINER_NOT_FOUND));
	TRY(blob_load(txn, &c->target, &c->blob));
	struct condition_target t = { .exists = true, .etag = c->blob.etag, .modified_ticks = c->blob.modified_ticks };
	TRY(conditions_check_write(&c->target.conditions, &t, ERR_CONDITION_NOT_MET, ERR_CONDITION_NOT_MET));
	return blob_check_copy(&c->blob);
}

enum err blob_apply_set_immutability(struct txn *txn, void *call)
{
	struct blob_state_call *c = call;
	TRY(load_for_hold(txn, c));
	struct blob *b = &c->blob;
	/* A locked policy can only grow. */
	if (b->immutability == IMMUTABLE_LOCKED &&
	    (c->mode != IMMUTABLE_LOCKED || c->until_ticks < b->immutable_until_ticks))
		return ERR_BLOB_IMMUTABLE_DUE_TO_POLICY;
	b->immutability = c->mode;
	b->immutable_until_ticks = c->until_ticks;
	return blob_put(txn, b);
}

enum err blob_apply_delete_immutability(struct txn *txn, void *call)
{
	struct blob_state_call *c = call;
	TRY(load_for_hold(txn, c));
	if (c->blob.immutability == IMMUTABLE_LOCKED)
		return ERR_IMMUTABILITY_POLICY_DELETE_ON_LOCKED_POLICY;
	c->blob.immutability = IMMUTABLE_NONE;
	c->blob.immutable_until_ticks = 0;
	return blob_put(txn, &c->blob);
}

enum err blob_apply_set_legal_hold(struct txn *txn, void *call)
{
	struct blob_state_call *c = call;
	TRY(load_for_hold(txn, c));
	c->blob.legal_hold = c->legal_hold;
	c->blob.tells_legal_hold = true;
	return blob_put(txn, &c->blob);
}

/* ---- what time ends ---- */

enum { EXPIRE_ROWS = 256 };

struct expire_call {
	struct slice from;
	bool write; /* the first pass only looks, on a snapshot */
	bool found, more;
	size_t extents; /* of what went */
	struct slice next;
};

/* Its days are over, unless a mark brought it back before that. */
static enum err expire_history(struct txn *txn, struct expire_call *c, const struct row *row, struct blob *b)
{
	struct slice rest = row->key;
	struct history_mark mark;
	char *dst = arena_alloc(txn_arena(txn), rest.len + 1);
	if (!dst)
		return ERR_NO_MEMORY;
	if (!key_take_tag(&rest, 'h') || !key_take_str(&rest, dst, row->key.len, &b->name))
		return ERR_CORRUPT;
	enum err e = blob_history_mark_get(txn, b->name, &mark);
	if (e != ERR_OK && e != ERR_NOT_FOUND)
		return e;
	if (e == ERR_OK && blob_history_mark_apply(&mark, b, NULL) && !b->deleted_ticks)
		return ERR_OK;
	c->found = true;
	c->extents += b->content.extent_count;
	if (!c->write)
		return ERR_OK;
	TRY(blob_content_release(txn, &b->content));
	return txn_del(txn, row->key);
}

static enum err expire_row(struct txn *txn, struct expire_call *c, const struct row *row)
{
	uint64_t now = txn_now(txn);
	if (row->key.ptr[0] == 'h') {
		struct blob b;
		TRY(blob_decode(row->value, txn_arena(txn), &b));
		return blob_retention_over(&b, now) ? expire_history(txn, c, row, &b) : ERR_OK;
	}
	if (row->key.ptr[0] == 'k') {
		bool expired;
		TRY(blob_build_expired(row->value, now, &expired));
		c->found |= expired;
		return expired && c->write ? blob_build_drop_row(txn, row->key) : ERR_OK;
	}
	struct stage s;
	TRY(blob_stage_decode(row->value, &s));
	if (s.last_ticks + STAGE_LIFE_TICKS > now)
		return ERR_OK;
	c->found = true;
	if (!c->write)
		return ERR_OK;
	struct slice rest = row->key, name;
	char *dst = arena_alloc(txn_arena(txn), rest.len + 1);
	if (!dst || !key_take_tag(&rest, 'U') || !key_take_str(&rest, dst, row->key.len, &name))
		return dst ? ERR_CORRUPT : ERR_NO_MEMORY;
	return blob_stage_discard(txn, name);
}

/* The kinds of rows that end with time, in key order. */
static const struct expiring {
	struct slice from, until;
} expiring[] = { { SLICE("U"), SLICE("V") }, { SLICE("h"), SLICE("i") }, { SLICE("k"), SLICE("l") } };
enum { EXPIRING = sizeof expiring / sizeof *expiring };

static enum err apply_expire(struct txn *txn, void *call)
{
	struct expire_call *c = call;
	struct rows rows;
	size_t kind = 0;
	while (c->from.len && kind + 1 < EXPIRING && slice_cmp(c->from, expiring[kind].until) >= 0)
		kind++;
	c->found = c->more = false;
	c->extents = 0;
	struct scan_spec spec = { .from = c->from.len ? c->from : expiring[kind].from,
				  .until = expiring[kind].until,
				  .limit_rows = EXPIRE_ROWS };
	TRY(txn_scan(txn, &spec, &rows));
	size_t i = 0;
	while (i < rows.count && c->extents < HISTORY_EXTENTS_AT_ONCE)
		TRY(expire_row(txn, c, &rows.row[i++]));
	if (i < rows.count || rows.more) {
		struct key k;
		key_after(&k, rows.row[i - 1].key);
		c->next = arena_dup(txn_arena(txn), key_slice(&k));
		c->more = true;
	} else if (kind + 1 < EXPIRING) {
		c->next = expiring[kind + 1].from;
		c->more = true;
	}
	return ERR_OK;
}

enum err blob_expire_round(struct store *store, struct slice partition, struct buf *from, bool *ret_more)
{
	struct arena arena;
	struct expire_call c = { .from = buf_slice(from) };
	arena_init(&arena, 64 * MIB);
	enum err e = store_read(store, partition, apply_expire, &c, &arena);
	if (e == ERR_OK && c.found) {
		c.write = true;
		e = store_write_wait(store, partition, apply_expire, &c, &arena);
	}
	if (e == ERR_OK) {
		struct buf next;
		buf_init(&next, LIMIT_KEY_BYTES);
		if (c.more)
			buf_put(&next, c.next);
		buf_fini(from);
		*from = next;
		*ret_more = c.more;
	}
	arena_fini(&arena);
	return e;
}
