/* SPDX-License-Identifier: Apache-2.0
 * Bytes of the rows of opens, and their keys. */
#include "base/bytes.h"
#include "svc/file/open/open_int.h"

enum { OPEN_FLAGS_KNOWN = 0x3FF };

static void put_guid(struct buf *b, const struct oplock_guid *g)
{
	buf_put(b, slice_make(g->bytes, sizeof g->bytes));
}

static struct oplock_guid take_guid(struct cursor *c)
{
	struct oplock_guid g = { { 0 } };
	struct slice raw = cursor_raw(c, sizeof g.bytes);
	if (!c->failed)
		memcpy(g.bytes, raw.ptr, sizeof g.bytes);
	return g;
}

static void put_oplock(struct buf *b, const struct oplock *o)
{
	bytes_put_u8(b, (uint8_t)o->kind);
	if (o->kind == OPLOCK_NONE)
		return;
	put_guid(b, &o->client);
	put_guid(b, &o->key);
	bytes_put_u8(b, o->version);
	bytes_put_u16(b, o->epoch);
	bytes_put_u8(b, o->state);
	bytes_put_u8(b, o->breaking);
	bytes_put_u8(b, o->break_to);
	bytes_put_u8(b, o->break_required);
	bytes_put_u64(b, o->break_deadline_ticks);
}

static struct oplock take_oplock(struct cursor *c)
{
	struct oplock o = { .kind = cursor_u8(c) };
	if (o.kind > OPLOCK_LEASE)
		c->failed = true;
	if (o.kind == OPLOCK_NONE || c->failed)
		return o;
	o.client = take_guid(c);
	o.key = take_guid(c);
	o.version = cursor_u8(c);
	o.epoch = cursor_u16(c);
	o.state = cursor_u8(c);
	o.breaking = cursor_u8(c) != 0;
	o.break_to = cursor_u8(c);
	o.break_required = cursor_u8(c);
	o.break_deadline_ticks = cursor_u64(c);
	return o;
}

static uint32_t flags_of(const struct file_open *o)
{
	return (uint32_t)(o->is_directory | o->delete_on_close << 1 | o->durable_v2 << 2 | o->connected << 3 |
			  o->keep_written << 4 | o->keep_changed << 5 | o->keep_accessed << 6 | o->keep_created << 7 |
			  o->has_snapshot << 8);
}

static void flags_set(struct file_open *o, uint32_t flags)
{
	o->is_directory = flags & 1;
	o->delete_on_close = flags & 2;
	o->durable_v2 = flags & 4;
	o->connected = flags & 8;
	o->keep_written = flags & 0x10;
	o->keep_changed = flags & 0x20;
	o->keep_accessed = flags & 0x40;
	o->keep_created = flags & 0x80;
	o->has_snapshot = flags & 0x100;
}

void open_row_encode(struct buf *b, const struct file_open *o)
{
	bytes_put_u8(b, OPEN_ROW_VERSION);
	bytes_put_u64(b, o->inode_id);
	bytes_put_u64(b, o->open_id);
	bytes_put_u32(b, flags_of(o));
	bytes_put_u32(b, o->access);
	bytes_put_u32(b, o->share);
	bytes_put_u32(b, o->options);
	bytes_put_u8(b, (uint8_t)o->life);
	bytes_put_u32(b, o->timeout_ms);
	put_guid(b, &o->create_guid);
	bytes_put_u64(b, o->end_ticks);
	put_guid(b, &o->opener.client);
	bytes_put_u64(b, o->opener.session_id);
	bytes_put_str(b, o->opener.user);
	bytes_put_str(b, o->opener.client_ip);
	bytes_put_u64(b, o->opened_ticks);
	bytes_put_u64(b, o->reconnected_ticks);
	bytes_put_u64(b, o->snapshot_ticks);
	bytes_put_u8(b, o->action);
	bytes_put_u64(b, o->position);
	bytes_put_u16(b, o->channel_sequence);
	buf_put(b, slice_make(o->lock_sequence, sizeof o->lock_sequence));
	put_oplock(b, &o->oplock);
	bytes_put_u32(b, (uint32_t)o->range_count);
	for (size_t i = 0; i < o->range_count; i++) {
		bytes_put_u64(b, o->range[i].offset);
		bytes_put_u64(b, o->range[i].length);
		bytes_put_u8(b, o->range[i].exclusive);
	}
}

static void take_ranges(struct cursor *c, struct arena *arena, struct file_open *o)
{
	size_t count = cursor_u32(c);
	if (c->failed || count > BYTE_RANGE_MAX_PER_OPEN) {
		c->failed = true;
		return;
	}
	struct byte_range *range = ARENA_NEW_ARRAY(arena, struct byte_range, count + 1);
	if (!range) {
		c->failed = true;
		return;
	}
	for (size_t i = 0; i < count; i++) {
		range[i].offset = cursor_u64(c);
		range[i].length = cursor_u64(c);
		range[i].exclusive = cursor_u8(c) != 0;
	}
	o->range = range;
	o->range_count = count;
}

static void take_opener(struct cursor *c, struct file_opener *o)
{
	o->client = take_guid(c);
	o->session_id = cursor_u64(c);
	o->user = cursor_str(c);
	o->client_ip = cursor_str(c);
}

enum err open_row_decode(struct slice record, struct arena *arena, struct file_open *ret)
{
	struct file_open o = { 0 };
	struct cursor c = cursor_make(record);
	if (cursor_u8(&c) != OPEN_ROW_VERSION)
		return ERR_CORRUPT;
	o.inode_id = cursor_u64(&c);
	o.open_id = cursor_u64(&c);
	uint32_t flags = cursor_u32(&c);
	flags_set(&o, flags);
	o.access = cursor_u32(&c);
	o.share = cursor_u32(&c);
	o.options = cursor_u32(&c);
	o.life = cursor_u8(&c);
	o.timeout_ms = cursor_u32(&c);
	o.create_guid = take_guid(&c);
	o.end_ticks = cursor_u64(&c);
	take_opener(&c, &o.opener);
	o.opened_ticks = cursor_u64(&c);
	o.reconnected_ticks = cursor_u64(&c);
	o.snapshot_ticks = cursor_u64(&c);
	o.action = cursor_u8(&c);
	o.position = cursor_u64(&c);
	o.channel_sequence = cursor_u16(&c);
	struct slice sequences = cursor_raw(&c, sizeof o.lock_sequence);
	if (!c.failed)
		memcpy(o.lock_sequence, sequences.ptr, sizeof o.lock_sequence);
	o.oplock = take_oplock(&c);
	take_ranges(&c, arena, &o);
	if (!cursor_done(&c) || o.life > OPEN_PERSISTENT || (flags & ~(uint32_t)OPEN_FLAGS_KNOWN))
		return ERR_CORRUPT;
	*ret = o;
	return ERR_OK;
}

void open_lease_encode(struct buf *b, const struct oplock *o, bool durable)
{
	bytes_put_u8(b, OPEN_ROW_VERSION);
	bytes_put_u8(b, durable);
	put_oplock(b, o);
}

enum err open_lease_decode(struct slice record, struct open_oplock *ret)
{
	struct cursor c = cursor_make(record);
	if (cursor_u8(&c) != OPEN_ROW_VERSION)
		return ERR_CORRUPT;
	struct open_oplock o = { .durable = cursor_u8(&c) != 0 };
	o.oplock = take_oplock(&c);
	if (!cursor_done(&c) || o.oplock.kind != OPLOCK_LEASE)
		return ERR_CORRUPT;
	*ret = o;
	return ERR_OK;
}

void open_state_encode(struct buf *b, const struct open_state *s)
{
	bytes_put_u8(b, OPEN_ROW_VERSION);
	bytes_put_u8(b, (uint8_t)(s->delete_pending | s->durable << 1));
	bytes_put_u64(b, s->allocation_bytes);
}

enum err open_state_decode(struct slice record, struct open_state *ret)
{
	struct cursor c = cursor_make(record);
	if (cursor_u8(&c) != OPEN_ROW_VERSION)
		return ERR_CORRUPT;
	uint8_t flags = cursor_u8(&c);
	struct open_state s = { .delete_pending = flags & 1, .durable = flags & 2, .allocation_bytes = cursor_u64(&c) };
	if (!cursor_done(&c) || flags > 3)
		return ERR_CORRUPT;
	*ret = s;
	return ERR_OK;
}

/* ---- keys ---- */

void opens_file_key(struct key *k, uint64_t inode_id)
{
	key_init(k);
	key_tag(k, KEY_TAG_VOLATILE);
	key_tag(k, 'o');
	key_u64(k, inode_id);
}

void open_key(struct key *k, uint64_t inode_id, uint64_t open_id)
{
	opens_file_key(k, inode_id);
	key_tag(k, 'o');
	key_u64(k, open_id);
}

bool open_key_take(struct slice key, uint64_t *ret_inode, uint64_t *ret_open)
{
	(void)key_take_tag(&key, KEY_TAG_VOLATILE); /* durable ones have none */
	return key_take_tag(&key, 'o') && key_take_u64(&key, ret_inode) && key_take_tag(&key, 'o') &&
	       key_take_u64(&key, ret_open) && !key.len;
}

enum err file_open_row_check(struct slice key, struct slice record, struct arena *arena)
{
	struct slice rest = key;
	struct file_open open;
	struct open_oplock lease;
	struct open_state state;
	uint64_t inode_id, open_id;
	if (!key_take_tag(&rest, 'o') || !key_take_u64(&rest, &inode_id) || !rest.len)
		return ERR_CORRUPT;
	switch (rest.ptr[0]) {
	case 'f':
		return rest.len == 1 ? open_state_decode(record, &state) : ERR_CORRUPT;
	case 'k':
		return open_lease_decode(record, &lease);
	case 'o':
		TRY(open_row_decode(record, arena, &open));
		if (!open_key_take(key, &inode_id, &open_id))
			return ERR_CORRUPT;
		return open.inode_id == inode_id && open.open_id == open_id ? ERR_OK : ERR_CORRUPT;
	default:
		return ERR_CORRUPT;
	}
}
