/* SPDX-License-Identifier: Apache-2.0
 * All opens of one file: read from the rows, shown to the rules of src/lock, changed and removed. A file that
 * nobody has open costs one look at an empty range. */
#include "base/bytes.h"
#include "svc/file/open/open_int.h"

#include <assert.h>

enum { OPEN_ROW_MAX_BYTES = 64 * 1024 };

static void lease_suffix(struct key *k, const struct oplock_guid *client, const struct oplock_guid *key)
{
	char name[32];
	memcpy(name, client->bytes, 16);
	memcpy(name + 16, key->bytes, 16);
	key_str(k, slice_make(name, sizeof name));
}

static void lease_key(struct key *k, uint64_t inode_id, const struct oplock *o)
{
	opens_file_key(k, inode_id);
	key_tag(k, 'k');
	lease_suffix(k, &o->client, &o->key);
}

static void state_key(struct key *k, uint64_t inode_id)
{
	opens_file_key(k, inode_id);
	key_tag(k, 'f');
}

static void index_key(struct key *k, char tag)
{
	key_init(k);
	key_tag(k, KEY_TAG_VOLATILE);
	key_tag(k, tag);
}

/* The key of the durable row. */
static struct slice durable_key(const struct key *k)
{
	return slice_from(key_slice(k), 1);
}

/* ---- load ---- */

static enum err take_row(struct txn *txn, struct opens *f, const struct row *row)
{
	size_t prefix = 2 + KEY_U64_BYTES;
	if (row->key.len <= prefix)
		return ERR_CORRUPT;
	switch (row->key.ptr[prefix]) {
	case 'f':
		return open_state_decode(row->value, &f->state);
	case 'k':
		f->lease_count++;
		return open_lease_decode(row->value, &f->oplock[f->oplock_count++]);
	case 'o':
		return open_row_decode(row->value, txn_arena(txn), &f->open[f->count++]);
	default:
		return ERR_CORRUPT;
	}
}

/* Makes room for `more` rows of any kind. */
static enum err grow(struct txn *txn, struct opens *f, size_t more)
{
	struct file_open *open = ARENA_NEW_ARRAY(txn_arena(txn), struct file_open, f->count + more + 1);
	/* Each open may have a plain oplock of its own, and one place stays free for a new open's. */
	struct open_oplock *oplock =
		ARENA_NEW_ARRAY(txn_arena(txn), struct open_oplock, f->oplock_count + f->count + more * 2 + 2);
	if (!open || !oplock)
		return ERR_NO_MEMORY;
	if (f->count)
		memcpy(open, f->open, f->count * sizeof *open);
	if (f->oplock_count)
		memcpy(oplock, f->oplock, f->oplock_count * sizeof *oplock);
	f->open = open;
	f->oplock = oplock;
	return ERR_OK;
}

/* Plain oplocks stand in their open's row: lifts them into the list of all. */
static void lift_plain(struct opens *f)
{
	for (size_t i = 0; i < f->oplock_count; i++)
		f->oplock[i].oplock = oplock_at(&f->oplock[i].oplock, f->now_ticks);
	for (size_t i = 0; i < f->count; i++) {
		if (f->open[i].oplock.kind != OPLOCK_PLAIN)
			continue;
		f->open[i].oplock = oplock_at(&f->open[i].oplock, f->now_ticks);
		f->oplock[f->oplock_count++] = (struct open_oplock){ .oplock = f->open[i].oplock, .open_index = i };
	}
}

enum err opens_load(struct txn *txn, uint64_t inode_id, struct opens *ret)
{
	struct opens f = { .inode_id = inode_id, .now_ticks = txn_now(txn) };
	struct key from, until;
	if (txn_volatile_is_empty(txn)) {
		*ret = f;
		return ERR_OK;
	}
	opens_file_key(&from, inode_id);
	until = from;
	key_prefix_end(&until);
	struct scan_spec spec = { .from = key_slice(&from), .until = key_slice(&until) };
	for (;;) {
		struct rows rows;
		TRY(txn_scan(txn, &spec, &rows));
		if (rows.count)
			TRY(grow(txn, &f, rows.count));
		for (size_t i = 0; i < rows.count; i++)
			TRY(take_row(txn, &f, &rows.row[i]));
		if (!rows.more)
			break;
		key_after(&from, rows.row[rows.count - 1].key);
		spec.from = key_slice(&from);
	}
	if (f.count || f.oplock_count) {
		lift_plain(&f);
		TRY(opens_refresh(txn, &f));
	} else {
		f.rules.delete_pending = f.state.delete_pending;
	}
	*ret = f;
	return ERR_OK;
}

static int compare_lease(const struct oplock *o, const struct oplock_guid *client, const struct oplock_guid *key)
{
	int order = memcmp(o->client.bytes, client->bytes, sizeof client->bytes);
	return order ? order : memcmp(o->key.bytes, key->bytes, sizeof key->bytes);
}

/* Their rows came in the order of client and key. */
static int lease_index(const struct opens *f, const struct oplock_guid *client, const struct oplock_guid *key)
{
	size_t low = 0, high = f->lease_count;
	while (low < high) {
		size_t at = low + (high - low) / 2;
		int order = compare_lease(&f->oplock[at].oplock, client, key);
		if (order == 0)
			return (int)at;
		if (order < 0)
			low = at + 1;
		else
			high = at;
	}
	return LOCK_NO_OPLOCK;
}

static int plain_index(const struct opens *f, size_t open_index)
{
	size_t low = f->lease_count, high = f->oplock_count;
	while (low < high) {
		size_t at = low + (high - low) / 2;
		if (f->oplock[at].open_index == open_index)
			return (int)at;
		if (f->oplock[at].open_index < open_index)
			low = at + 1;
		else
			high = at;
	}
	return LOCK_NO_OPLOCK;
}

static int oplock_index(const struct opens *f, const struct file_open *o)
{
	if (o->oplock.kind == OPLOCK_LEASE)
		return lease_index(f, &o->oplock.client, &o->oplock.key);
	return o->oplock.kind == OPLOCK_PLAIN ? plain_index(f, (size_t)(o - f->open)) : LOCK_NO_OPLOCK;
}

/* Opens of snapshots stand in nobody's way. A disconnected open whose time is over is anybody's to close. */
enum err opens_refresh(struct txn *txn, struct opens *f)
{
	struct lock_open *open = ARENA_NEW_ARRAY(txn_arena(txn), struct lock_open, f->count + 1);
	struct oplock *oplock = ARENA_NEW_ARRAY(txn_arena(txn), struct oplock, f->oplock_count + 1);
	if (!open || !oplock)
		return ERR_NO_MEMORY;
	f->rules = (struct lock_opens){ .delete_pending = f->state.delete_pending,
					.open = open,
					.oplock = oplock,
					.oplock_count = f->oplock_count };
	for (size_t i = 0; i < f->oplock_count; i++)
		oplock[i] = f->oplock[i].oplock;
	for (size_t i = 0; i < f->count; i++) {
		const struct file_open *o = &f->open[i];
		bool over = !o->connected && f->now_ticks >= o->end_ticks;
		if (o->has_snapshot)
			continue;
		open[f->rules.open_count++] = (struct lock_open){ .id = o->open_id,
								  .access = o->access,
								  .share = o->share,
								  .delete_on_close = o->delete_on_close,
								  .life = over ? OPEN_DURABLE : o->life,
								  .connected = o->connected,
								  .end_ticks = o->end_ticks,
								  .oplock = oplock_index(f, o),
								  .range = o->range,
								  .range_count = o->range_count };
	}
	return ERR_OK;
}

struct file_open *opens_find(struct opens *f, uint64_t open_id)
{
	for (size_t i = 0; i < f->count; i++)
		if (f->open[i].open_id == open_id)
			return &f->open[i];
	return NULL;
}

struct open_oplock *opens_find_lease(struct opens *f, const struct oplock_guid *client, const struct oplock_guid *key)
{
	int i = lease_index(f, client, key);
	return i == LOCK_NO_OPLOCK ? NULL : &f->oplock[i];
}

struct open_oplock *opens_oplock_of(struct opens *f, const struct file_open *o)
{
	int i = oplock_index(f, o);
	return i == LOCK_NO_OPLOCK ? NULL : &f->oplock[i];
}

/* ---- put ---- */

static enum err put_row(struct txn *txn, const struct key *k, struct buf *value, bool durable)
{
	enum err err = buf_ok(value) ? txn_put_volatile(txn, key_slice(k), buf_slice(value)) : ERR_NO_MEMORY;
	if (err == ERR_OK && durable)
		err = txn_put(txn, durable_key(k), buf_slice(value));
	buf_fini(value);
	return err;
}

static enum err del_row(struct txn *txn, const struct key *k, bool durable)
{
	TRY(txn_del_volatile(txn, key_slice(k)));
	return durable ? txn_del(txn, durable_key(k)) : ERR_OK;
}

enum err open_put(struct txn *txn, const struct file_open *o)
{
	struct key k;
	struct buf b;
	buf_init(&b, OPEN_ROW_MAX_BYTES);
	open_key(&k, o->inode_id, o->open_id);
	open_row_encode(&b, o);
	return put_row(txn, &k, &b, o->life == OPEN_PERSISTENT);
}

enum err open_lease_put(struct txn *txn, uint64_t inode_id, const struct oplock *o, bool durable)
{
	struct key k;
	struct buf b;
	buf_init(&b, OPEN_ROW_MAX_BYTES);
	lease_key(&k, inode_id, o);
	open_lease_encode(&b, o, durable);
	return put_row(txn, &k, &b, durable);
}

enum err open_oplock_put(struct txn *txn, struct opens *f, const struct open_oplock *k)
{
	if (k->oplock.kind == OPLOCK_LEASE)
		return open_lease_put(txn, f->inode_id, &k->oplock, k->durable);
	struct file_open *o = &f->open[k->open_index];
	o->oplock = k->oplock;
	return open_put(txn, o);
}

static bool has_persistent(const struct opens *f)
{
	for (size_t i = 0; i < f->count; i++)
		if (f->open[i].life == OPEN_PERSISTENT)
			return true;
	return false;
}

enum err open_state_put(struct txn *txn, struct opens *f)
{
	return open_state_write(txn, f->inode_id, &f->state, f->count > 0, has_persistent(f));
}

enum err open_state_write(struct txn *txn, uint64_t inode_id, struct open_state *state, bool is_open, bool persistent)
{
	struct key k;
	struct buf b;
	state_key(&k, inode_id);
	if (!is_open || (!state->delete_pending && !state->allocation_bytes))
		return del_row(txn, &k, state->durable);
	state->durable |= persistent;
	buf_init(&b, OPEN_ROW_MAX_BYTES);
	open_state_encode(&b, state);
	return put_row(txn, &k, &b, state->durable);
}

/* ---- the ways to an open ---- */

static void guid_key(struct key *k, const struct oplock_guid *client, const struct oplock_guid *guid)
{
	index_key(k, 'g');
	lease_suffix(k, client, guid);
}

static enum err put_numbers(struct txn *txn, const struct key *k, uint64_t a, uint64_t b)
{
	char value[16];
	bytes_store(value, a, 8);
	bytes_store(value + 8, b, 8);
	return txn_put_volatile(txn, key_slice(k), slice_make(value, sizeof value));
}

static enum err get_numbers(struct txn *txn, const struct key *k, uint64_t *ret_a, uint64_t *ret_b)
{
	struct slice value;
	TRY(txn_get(txn, key_slice(k), &value));
	if (value.len != 16)
		return ERR_CORRUPT;
	*ret_a = bytes_load(value.ptr, 8);
	*ret_b = bytes_load(value.ptr + 8, 8);
	return ERR_OK;
}

enum err open_index_put(struct txn *txn, const struct file_open *o)
{
	struct key k;
	index_key(&k, 'h');
	key_u64(&k, o->open_id);
	TRY(put_numbers(txn, &k, o->inode_id, o->open_id));
	if (o->durable_v2) {
		guid_key(&k, &o->opener.client, &o->create_guid);
		TRY(put_numbers(txn, &k, o->inode_id, o->open_id));
	}
	if (o->oplock.kind != OPLOCK_LEASE)
		return ERR_OK;
	index_key(&k, 'l');
	lease_suffix(&k, &o->oplock.client, &o->oplock.key);
	return put_numbers(txn, &k, o->inode_id, o->open_id);
}

enum err open_find_by_id(struct txn *txn, uint64_t open_id, uint64_t *ret_inode)
{
	struct key k;
	uint64_t same;
	index_key(&k, 'h');
	key_u64(&k, open_id);
	return get_numbers(txn, &k, ret_inode, &same);
}

enum err open_find_by_guid(struct txn *txn, const struct oplock_guid *client, const struct oplock_guid *guid,
			   struct file_handle *ret)
{
	struct key k;
	guid_key(&k, client, guid);
	return get_numbers(txn, &k, &ret->inode_id, &ret->open_id);
}

enum err open_find_by_lease(struct txn *txn, const struct oplock_guid *client, const struct oplock_guid *key,
			    uint64_t *ret_inode)
{
	struct key k;
	uint64_t open_id;
	index_key(&k, 'l');
	lease_suffix(&k, client, key);
	return get_numbers(txn, &k, ret_inode, &open_id);
}

/* ---- remove ---- */

static enum err remove_lease(struct txn *txn, struct opens *f, const struct file_open *o)
{
	struct key k;
	struct open_oplock *lease = opens_find_lease(f, &o->oplock.client, &o->oplock.key);
	if (!lease)
		return ERR_OK;
	lease_key(&k, f->inode_id, &lease->oplock);
	TRY(del_row(txn, &k, lease->durable));
	index_key(&k, 'l');
	lease_suffix(&k, &o->oplock.client, &o->oplock.key);
	return txn_del_volatile(txn, key_slice(&k));
}

/* The way by its create guid, unless a later open has it by now. */
static enum err remove_guid(struct txn *txn, const struct file_open *o)
{
	struct file_handle named;
	struct key k;
	if (!o->durable_v2)
		return ERR_OK;
	enum err err = open_find_by_guid(txn, &o->opener.client, &o->create_guid, &named);
	if (err == ERR_NOT_FOUND || (err == ERR_OK && named.open_id != o->open_id))
		return ERR_OK;
	TRY(err);
	guid_key(&k, &o->opener.client, &o->create_guid);
	return txn_del_volatile(txn, key_slice(&k));
}

/* Takes one open out of the arrays, with its plain oplock or, if `lease`, its lease. */
static void cut_out(struct opens *f, size_t at, bool lease)
{
	int oplock = oplock_index(f, &f->open[at]);
	if (oplock != LOCK_NO_OPLOCK && (lease || f->oplock[oplock].oplock.kind == OPLOCK_PLAIN)) {
		f->oplock_count--;
		f->lease_count -= f->oplock[oplock].oplock.kind == OPLOCK_LEASE;
		memmove(&f->oplock[oplock], &f->oplock[oplock + 1],
			(f->oplock_count - (size_t)oplock) * sizeof *f->oplock);
	}
	for (size_t i = 0; i < f->oplock_count; i++)
		if (f->oplock[i].oplock.kind == OPLOCK_PLAIN && f->oplock[i].open_index > at)
			f->oplock[i].open_index--;
	f->count--;
	memmove(&f->open[at], &f->open[at + 1], (f->count - at) * sizeof *f->open);
}

enum err open_remove(struct txn *txn, struct opens *f, uint64_t open_id)
{
	struct key k;
	struct file_open *o = opens_find(f, open_id);
	assert(o);
	bool last_of_lease = o->oplock.kind == OPLOCK_LEASE;
	for (size_t i = 0; i < f->count && last_of_lease; i++)
		last_of_lease = &f->open[i] == o || f->open[i].oplock.kind != OPLOCK_LEASE ||
				compare_lease(&f->open[i].oplock, &o->oplock.client, &o->oplock.key) != 0;
	open_key(&k, f->inode_id, open_id);
	TRY(del_row(txn, &k, o->life == OPEN_PERSISTENT));
	if (last_of_lease)
		TRY(remove_lease(txn, f, o));
	index_key(&k, 'h');
	key_u64(&k, open_id);
	TRY(txn_del_volatile(txn, key_slice(&k)));
	TRY(remove_guid(txn, o));
	cut_out(f, (size_t)(o - f->open), last_of_lease);
	return opens_refresh(txn, f);
}
