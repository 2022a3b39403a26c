/* SPDX-License-Identifier: Apache-2.0
 * Shares: their record in the account, the first rows of their partition, and their end. */
#include "svc/file/share.h"

#include "svc/common/generation.h"
#include "svc/file/rows.h"

enum {
	SETTINGS_VERSION = 1,
	/* A delete that found no snapshot must remove the record within this time; as long no snapshot is taken. */
	DELETE_WITHIN_SECONDS = 30
};

/* ---- settings ---- */

void share_settings_encode(struct buf *b, const struct share_settings *s)
{
	bytes_put_u8(b, SETTINGS_VERSION);
	bytes_put_u32(b, s->quota_gib);
	bytes_put_u8(b, (uint8_t)s->tier);
	bytes_put_u64(b, s->tier_changed_ticks);
	bytes_put_u8(b, (uint8_t)s->protocol);
	bytes_put_u8(b, (uint8_t)s->squash);
	bytes_put_u64(b, s->provisioned_iops);
	bytes_put_u64(b, s->provisioned_bandwidth_mibps);
	bytes_put_u8(b, (uint8_t)(s->paid_bursting | s->snapshot_directory << 1 | s->directory_lease << 2));
	bytes_put_u64(b, s->paid_bursting_iops);
	bytes_put_u64(b, s->paid_bursting_bandwidth_mibps);
}

enum err share_settings_decode(struct slice extra, struct share_settings *ret)
{
	struct share_settings s = { .quota_gib = SHARE_QUOTA_DEFAULT_GIB };
	struct cursor c = cursor_make(extra);
	if (!extra.len) {
		*ret = s;
		return ERR_OK;
	}
	if (cursor_u8(&c) != SETTINGS_VERSION)
		return ERR_CORRUPT;
	s.quota_gib = cursor_u32(&c);
	s.tier = (enum share_tier)cursor_u8(&c);
	s.tier_changed_ticks = cursor_u64(&c);
	s.protocol = (enum share_protocol)cursor_u8(&c);
	s.squash = (enum share_squash)cursor_u8(&c);
	s.provisioned_iops = cursor_u64(&c);
	s.provisioned_bandwidth_mibps = cursor_u64(&c);
	uint8_t flags = cursor_u8(&c);
	s.paid_bursting = flags & 1;
	s.snapshot_directory = flags & 2;
	s.directory_lease = flags & 4;
	s.paid_bursting_iops = cursor_u64(&c);
	s.paid_bursting_bandwidth_mibps = cursor_u64(&c);
	if (!cursor_done(&c) || s.tier > SHARE_TIER_PREMIUM || s.protocol > SHARE_PROTOCOL_NFS ||
	    s.squash > SHARE_SQUASH_ALL)
		return ERR_CORRUPT;
	*ret = s;
	return ERR_OK;
}

/* The settings become the record's `extra`, in the arena. */
static enum err settings_store(struct txn *txn, const struct share_settings *s, struct resource *r)
{
	struct buf b;
	buf_init(&b, 256);
	share_settings_encode(&b, s);
	r->extra = buf_ok(&b) ? arena_dup(txn_arena(txn), buf_slice(&b)) : SLICE_NONE;
	buf_fini(&b);
	return slice_is_set(r->extra) ? ERR_OK : ERR_NO_MEMORY;
}

/* ---- create ---- */

void share_create_init(struct share_create *c, struct slice name, uint64_t generation)
{
	*c = (struct share_create){
		.base = { .resource = { .kind = RESOURCE_SHARE, .name = name, .generation = generation },
			  .exists_error = ERR_SHARE_ALREADY_EXISTS },
		.settings = { .quota_gib = SHARE_QUOTA_DEFAULT_GIB }
	};
}

enum err share_create_reserve(struct txn *txn, void *call)
{
	return resource_create_reserve(txn, call);
}

static enum err put_root(struct txn *txn)
{
	struct key k;
	struct buf b;
	uint64_t now = txn_now(txn);
	struct inode root = { .id = FILE_ROOT_ID,
			      .parent_id = FILE_ROOT_ID,
			      .kind = FILE_KIND_DIRECTORY,
			      .name = SLICE(""),
			      .attributes = FILE_ATTR_DIRECTORY,
			      .created_ticks = now,
			      .written_ticks = now,
			      .accessed_ticks = now,
			      .changed_ticks = now,
			      .etag = now,
			      .born_ticks = now,
			      .stamp = now };
	inode_root_key(&k);
	buf_init(&b, 1024);
	inode_encode(&b, &root);
	return file_row_put(txn, &k, &b);
}

enum err share_create_open(struct txn *txn, void *call)
{
	struct share_create *c = call;
	TRY(resource_create_open(txn, call));
	if (!c->base.reserved)
		return ERR_OK;
	TRY(share_state_put(txn, &(struct share_state){ .quota_bytes = c->settings.quota_gib * GIB }));
	return put_root(txn);
}

enum err share_create_publish(struct txn *txn, void *call)
{
	struct share_create *c = call;
	if (!c->base.reserved)
		return ERR_OK;
	c->settings.tier_changed_ticks = txn_now(txn);
	TRY(settings_store(txn, &c->settings, &c->base.resource));
	return resource_create_publish(txn, call);
}

/* ---- the record ---- */

static enum err load(struct txn *txn, struct share_call *c)
{
	enum err e = resource_get(txn, RESOURCE_SHARE, c->name, &c->resource);
	c->now_ticks = txn_now(txn);
	if (e == ERR_NOT_FOUND || (e == ERR_OK && c->generation && c->resource.generation != c->generation))
		return ERR_SHARE_NOT_FOUND;
	TRY(e);
	return share_settings_decode(c->resource.extra, &c->settings);
}

static const struct uuid *lease_id(const struct share_call *c)
{
	return c->has_lease_id ? &c->lease_id : NULL;
}

static enum err load_for_change(struct txn *txn, struct share_call *c)
{
	TRY(load(txn, c));
	return lease_check_write(&c->resource.lease, &lease_errors_share, c->now_ticks, lease_id(c));
}

static enum err save_changed(struct txn *txn, struct share_call *c)
{
	c->resource.etag = etag_next(c->now_ticks, c->resource.etag);
	c->resource.modified_ticks = c->resource.etag;
	return resource_put(txn, &c->resource);
}

enum err share_apply_get(struct txn *txn, void *call)
{
	struct share_call *c = call;
	TRY(load(txn, c));
	return lease_check_read(&c->resource.lease, &lease_errors_share, c->now_ticks, lease_id(c));
}

enum err share_apply_set_metadata(struct txn *txn, void *call)
{
	struct share_call *c = call;
	TRY(load_for_change(txn, c));
	c->resource.metadata = c->metadata;
	return save_changed(txn, c);
}

enum err share_apply_set_acl(struct txn *txn, void *call)
{
	struct share_call *c = call;
	TRY(load_for_change(txn, c));
	c->resource.policy_count = c->policy_count;
	memcpy(c->resource.policy, c->policy, sizeof c->policy);
	return save_changed(txn, c);
}

static void settings_change(const struct share_call *c, struct share_settings *s)
{
	if (c->set_quota)
		s->quota_gib = c->change.quota_gib;
	if (c->set_tier) {
		if (s->tier != c->change.tier)
			s->tier_changed_ticks = c->now_ticks;
		s->tier = c->change.tier;
	}
	if (c->set_squash)
		s->squash = c->change.squash;
	if (c->set_provisioned) {
		s->provisioned_iops = c->change.provisioned_iops;
		s->provisioned_bandwidth_mibps = c->change.provisioned_bandwidth_mibps;
	}
	if (c->set_paid_bursting) {
		s->paid_bursting = c->change.paid_bursting;
		s->paid_bursting_iops = c->change.paid_bursting_iops;
		s->paid_bursting_bandwidth_mibps = c->change.paid_bursting_bandwidth_mibps;
	}
	if (c->set_snapshot_directory)
		s->snapshot_directory = c->change.snapshot_directory;
	if (c->set_directory_lease)
		s->directory_lease = c->change.directory_lease;
}

enum err share_apply_set_properties(struct txn *txn, void *call)
{
	struct share_call *c = call;
	TRY(load_for_change(txn, c));
	settings_change(c, &c->settings);
	TRY(settings_store(txn, &c->settings, &c->resource));
	return save_changed(txn, c);
}

enum err share_apply_set_quota(struct txn *txn, void *call)
{
	const struct share_call *c = call;
	struct share_state state;
	if (!c->set_quota)
		return ERR_OK;
	TRY(share_state_get(txn, &state));
	state.quota_bytes = c->change.quota_gib * GIB;
	return share_state_put(txn, &state);
}

enum err share_apply_lease(struct txn *txn, void *call)
{
	struct share_call *c = call;
	TRY(load(txn, c));
	TRY(lease_request_run(&c->resource.lease, &lease_errors_share, c->now_ticks, &c->lease));
	return resource_put(txn, &c->resource);
}

enum err share_apply_stats(struct txn *txn, void *call)
{
	struct share_stats_call *c = call;
	struct share_state state;
	TRY(share_state_get(txn, &state));
	c->used_bytes = state.used_bytes;
	c->quota_bytes = state.quota_bytes;
	c->snapshot_count = state.snapshot_count;
	return ERR_OK;
}

/* ---- delete ----
 * Snapshots live in the generation's partition, the record in the account's. The first step sees that there are none
 * (or that they may go) and stops new ones for a while; the second removes the record within that while, by the one
 * clock that both partitions have, or not at all. */

/* A lease ends with its share: what is kept for a restore shows it broken. */
static enum err delete_check(struct txn *txn, struct resource_delete *base, struct resource *r)
{
	uint32_t unused_left;
	struct share_delete *d = (struct share_delete *)base;
	TRY(lease_check_write(&r->lease, &lease_errors_share, txn_now(txn), d->has_lease_id ? &d->lease_id : NULL));
	if (r->lease.held)
		TRY(lease_break(&r->lease, &lease_errors_share, txn_now(txn), 0, &unused_left));
	return txn_now(txn) - d->begun_ticks < DELETE_WITHIN_SECONDS * TICKS_PER_SECOND ? ERR_OK : ERR_BUSY;
}

void share_delete_init(struct share_delete *d, struct slice name, uint64_t generation)
{
	*d = (struct share_delete){ .base = { .kind = RESOURCE_SHARE,
					      .name = name,
					      .generation = generation,
					      .missing_error = ERR_SHARE_NOT_FOUND,
					      .check = delete_check } };
}

static enum err any_leased(struct txn *txn, bool *ret)
{
	struct share_snapshots_call all;
	*ret = false;
	TRY(share_apply_list_snapshots(txn, &all));
	for (size_t i = 0; i < all.count; i++) {
		enum lease_state s = lease_state(&all.snapshot[i].lease, txn_now(txn));
		*ret |= s == LEASE_LEASED || s == LEASE_BREAKING;
	}
	return ERR_OK;
}

enum err share_delete_begin(struct txn *txn, void *call)
{
	struct share_delete *d = call;
	struct share_state state;
	bool leased;
	d->begun_ticks = txn_now(txn);
	TRY(lease_check_write(&d->found_lease, &lease_errors_share, txn_now(txn),
			      d->has_lease_id ? &d->lease_id : NULL));
	TRY(share_state_get(txn, &state));
	if (state.snapshot_count && d->snapshots == SHARE_DELETE_SNAPSHOTS_NONE)
		return ERR_SHARE_HAS_SNAPSHOTS;
	if (state.snapshot_count && d->snapshots == SHARE_DELETE_SNAPSHOTS_INCLUDE) {
		TRY(any_leased(txn, &leased));
		if (leased)
			return ERR_DELETE_SHARE_WHEN_SNAPSHOT_LEASED;
	}
	state.deleting_ticks = txn_now(txn);
	return share_state_put(txn, &state);
}

enum err share_delete_remove(struct txn *txn, void *call)
{
	return resource_delete_remove(txn, call);
}

enum err share_delete_end(struct txn *txn, void *call)
{
	return resource_delete_close(txn, call);
}

enum err share_restore_open(struct txn *txn, void *call)
{
	struct share_state state;
	TRY(resource_restore_open(txn, call));
	TRY(share_state_get(txn, &state));
	state.deleting_ticks = 0;
	return share_state_put(txn, &state);
}

/* ---- snapshots ---- */

enum err share_snapshot_find(struct txn *txn, uint64_t ticks, struct share_snapshot *ret)
{
	struct key k;
	struct slice value;
	snapshot_key(&k, ticks);
	TRY(txn_get(txn, key_slice(&k), &value));
	return snapshot_decode(value, txn_arena(txn), ret);
}

static enum err snapshot_put(struct txn *txn, const struct share_snapshot *s)
{
	struct key k;
	struct buf b;
	snapshot_key(&k, s->ticks);
	buf_init(&b, LIMIT_VALUE_BYTES);
	snapshot_encode(&b, s);
	return file_row_put(txn, &k, &b);
}

/* Whole seconds, each name later than the one before. */
static uint64_t snapshot_name(uint64_t now, uint64_t last)
{
	uint64_t ticks = now - now % TICKS_PER_SECOND;
	return ticks > last ? ticks : last + TICKS_PER_SECOND;
}

enum err share_apply_snapshot(struct txn *txn, void *call)
{
	struct share_snapshot_call *c = call;
	struct share_state state;
	struct share_settings settings;
	c->now_ticks = txn_now(txn);
	TRY(share_state_get(txn, &state));
	TRY(share_settings_decode(c->base.extra, &settings));
	if (state.deleting_ticks && c->now_ticks - state.deleting_ticks < DELETE_WITHIN_SECONDS * TICKS_PER_SECOND)
		return ERR_SHARE_BEING_DELETED;
	if (state.snapshot_count >= SHARE_SNAPSHOTS_MAX)
		return ERR_SHARE_SNAPSHOT_COUNT_EXCEEDED;
	struct share_snapshot s = { .ticks = snapshot_name(c->now_ticks, state.last_ticks),
				    .number = c->now_ticks,
				    .etag = c->base.etag,
				    .quota_gib = settings.quota_gib,
				    .metadata = c->has_metadata ? c->metadata : c->base.metadata };
	if (c->has_metadata) /* the snapshot differs from the share: an ETag of its own */
		s.etag = s.ticks;
	state.newest = s.number;
	state.last_ticks = s.ticks;
	state.snapshot_count++;
	TRY(share_state_put(txn, &state));
	c->snapshot = s;
	return snapshot_put(txn, &s);
}

static enum err load_snapshot(struct txn *txn, struct share_snapshot_call *c, enum err missing)
{
	struct share_state state;
	c->now_ticks = txn_now(txn);
	TRY(share_state_get(txn, &state));
	enum err e = share_snapshot_find(txn, c->ticks, &c->snapshot);
	return e == ERR_NOT_FOUND ? missing : e;
}

enum err share_apply_get_snapshot(struct txn *txn, void *call)
{
	struct share_snapshot_call *c = call;
	TRY(load_snapshot(txn, c, ERR_SHARE_NOT_FOUND));
	return lease_check_read(&c->snapshot.lease, &lease_errors_share, c->now_ticks,
				c->has_lease_id ? &c->lease_id : NULL);
}

enum err share_apply_lease_snapshot(struct txn *txn, void *call)
{
	struct share_snapshot_call *c = call;
	TRY(load_snapshot(txn, c, ERR_SHARE_NOT_FOUND));
	TRY(lease_request_run(&c->snapshot.lease, &lease_errors_share, c->now_ticks, &c->lease));
	return snapshot_put(txn, &c->snapshot);
}

enum err share_apply_list_snapshots(struct txn *txn, void *call)
{
	struct share_snapshots_call *c = call;
	struct share_state state;
	struct rows rows;
	struct scan_spec spec = { .from = SLICE("S"), .until = SLICE("T"), .limit_rows = SHARE_SNAPSHOTS_MAX };
	c->count = 0;
	TRY(share_state_get(txn, &state));
	c->snapshot = ARENA_NEW_ARRAY(txn_arena(txn), struct share_snapshot, SHARE_SNAPSHOTS_MAX);
	if (!c->snapshot)
		return ERR_NO_MEMORY;
	if (!state.snapshot_count)
		return ERR_OK;
	TRY(txn_scan(txn, &spec, &rows));
	for (; c->count < rows.count; c->count++)
		TRY(snapshot_decode(rows.row[c->count].value, txn_arena(txn), &c->snapshot[c->count]));
	return ERR_OK;
}

/* History that only this snapshot needed is given back by the background. */
enum err share_apply_delete_snapshot(struct txn *txn, void *call)
{
	struct share_snapshot_call *c = call;
	struct share_state state;
	struct share_snapshots_call all;
	struct key k;
	TRY(load_snapshot(txn, c, ERR_SHARE_SNAPSHOT_NOT_FOUND));
	TRY(lease_check_write(&c->snapshot.lease, &lease_errors_share, c->now_ticks,
			      c->has_lease_id ? &c->lease_id : NULL));
	TRY(share_state_get(txn, &state));
	TRY(share_apply_list_snapshots(txn, &all));
	state.newest = 0;
	for (size_t i = 0; i < all.count; i++)
		if (all.snapshot[i].ticks != c->ticks && all.snapshot[i].number > state.newest)
			state.newest = all.snapshot[i].number;
	if (state.snapshot_count != all.count)
		return ERR_CORRUPT;
	state.snapshot_count--;
	TRY(share_state_put(txn, &state));
	snapshot_key(&k, c->ticks);
	TRY(txn_del(txn, key_slice(&k)));
	return work_add(txn,
			&(struct work){ .kind = WORK_SNAPSHOT, .subject = c->snapshot.number, .stamp = txn_now(txn) });
}
