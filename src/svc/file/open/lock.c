/* SPDX-License-Identifier: Apache-2.0
 * Reading, writing and locking bytes through an open. */
#include "svc/file/open/open_int.h"
#include "svc/file/target.h"

/* ---- the open ---- */

static enum err find_open(struct txn *txn, const struct file_handle *h, struct opens *f, struct file_open **ret)
{
	TRY(opens_load(txn, h->inode_id, f));
	struct file_open *o = opens_find(f, h->open_id);
	if (!o || !o->connected)
		return ERR_SMB_FILE_CLOSED;
	*ret = o;
	return ERR_OK;
}

enum err file_open_get(struct txn *txn, const struct file_handle *h, struct file_open *ret)
{
	struct opens f;
	struct file_open *o;
	TRY(find_open(txn, h, &f, &o));
	*ret = *o;
	if (o->oplock.kind == OPLOCK_LEASE)
		ret->oplock = opens_oplock_of(&f, o)->oplock;
	return ERR_OK;
}

enum err file_open_require(struct txn *txn, const struct file_handle *h, uint32_t access, struct file_open *ret)
{
	struct file_open o;
	TRY(file_open_get(txn, h, &o));
	if (!(o.access & access))
		return ERR_SMB_ACCESS_DENIED;
	*ret = o;
	return ERR_OK;
}

/* Those who cached what changes now are told. */
static enum err tell_readers(struct txn *txn, struct opens *f, uint64_t own, struct file_breaks *ret)
{
	struct lock_demands d;
	TRY(demands_new(txn, f, &d));
	lock_write_breaks(&f->rules, own, &d);
	return breaks_mark(txn, f, &d, ret);
}

/* ---- read and write ---- */

static enum err check_io(struct txn *txn, struct opens *f, uint64_t own, bool write, uint64_t offset, uint64_t length,
			 struct file_breaks *ret)
{
	ret->count = 0;
	if (!lock_may_io(&f->rules, own, write, offset, length))
		return ERR_FILE_LOCK_CONFLICT;
	return write ? tell_readers(txn, f, own, ret) : ERR_OK;
}

enum err file_open_io(struct txn *txn, const struct file_handle *h, bool write, uint64_t offset, uint64_t length,
		      struct file_breaks *ret)
{
	struct opens f;
	struct file_open *o;
	TRY(find_open(txn, h, &f, &o));
	return check_io(txn, &f, h->open_id, write, offset, length, ret);
}

enum err file_apply_open_read(struct txn *txn, void *call)
{
	struct file_open_read_call *c = call;
	struct opens f;
	struct file_open *o;
	TRY(find_open(txn, &c->handle, &f, &o));
	if (!(o->access & ACCESS_ANY_READ))
		return ERR_SMB_ACCESS_DENIED;
	uint64_t length = c->get.has_range ? c->get.range_last - c->get.range_first + 1 : 0;
	if (c->get.has_range && !lock_may_io(&f.rules, o->open_id, false, c->get.range_first, length))
		return ERR_FILE_LOCK_CONFLICT;
	c->get.target.place = (struct file_place){ .by_id = true, .id = c->handle.inode_id };
	c->get.target.kind = FILE_KIND_FILE;
	c->get.target.has_snapshot = o->has_snapshot;
	c->get.target.snapshot_ticks = o->snapshot_ticks;
	c->get.target.through_open = true;
	c->get.want_bytes = true;
	return file_apply_get(txn, &c->get);
}

enum err file_apply_open_write(struct txn *txn, void *call)
{
	struct file_open_write_call *c = call;
	struct opens f;
	struct file_open *o;
	TRY(find_open(txn, &c->handle, &f, &o));
	if (!(o->access & ACCESS_ANY_WRITE) || o->has_snapshot)
		return ERR_SMB_ACCESS_DENIED;
	TRY(check_io(txn, &f, o->open_id, true, c->write.offset, c->write.length, &c->breaks));
	c->write.target.place = (struct file_place){ .by_id = true, .id = c->handle.inode_id };
	c->write.target.kind = FILE_KIND_FILE;
	c->write.target.has_snapshot = false;
	c->write.target.through_open = true;
	c->write.may_extend = true;
	c->write.keep_written = o->keep_written;
	c->write.keep_changed = o->keep_changed;
	return file_apply_write(txn, &c->write);
}

/* ---- SET_INFO ---- */

static void freeze(bool *keep, uint8_t how, const struct file_time *t)
{
	if (how == 1 || t->how == FILE_TIME_SET)
		*keep = true;
	else if (how == 2)
		*keep = false;
}

static enum err take_allocation(struct txn *txn, struct file_open_set_call *c)
{
	static const struct file_view live = { 0 };
	struct inode n;
	TRY(inode_get(txn, &live, c->handle.inode_id, &n));
	c->modify.resize = c->allocation_bytes < n.size_bytes;
	c->modify.size_bytes = c->allocation_bytes;
	c->modify.settings.written.how = c->modify.resize ? FILE_TIME_NOW : FILE_TIME_KEEP;
	c->modify.inode = n;
	return ERR_OK;
}

enum err file_apply_open_set(struct txn *txn, void *call)
{
	struct file_open_set_call *c = call;
	struct opens f;
	struct file_open *o;
	c->breaks.count = 0;
	TRY(find_open(txn, &c->handle, &f, &o));
	if (!(o->access & c->access) || o->has_snapshot)
		return ERR_SMB_ACCESS_DENIED;
	if (c->set_allocation)
		TRY(take_allocation(txn, c));
	if (c->modify.resize || c->set_allocation) {
		/* Cutting or growing touches all bytes from there on. */
		uint64_t from = c->modify.size_bytes;
		if (c->modify.resize && !lock_may_io(&f.rules, o->open_id, true, from, UINT64_MAX - from))
			return ERR_FILE_LOCK_CONFLICT;
		TRY(tell_readers(txn, &f, o->open_id, &c->breaks));
	}
	struct file_open was = *o;
	freeze(&o->keep_written, c->freeze_written, &c->modify.settings.written);
	freeze(&o->keep_changed, c->freeze_changed, &c->modify.settings.changed);
	freeze(&o->keep_accessed, c->freeze_accessed, &c->modify.settings.accessed);
	freeze(&o->keep_created, c->freeze_created, &c->modify.settings.created);
	if (was.keep_written != o->keep_written || was.keep_changed != o->keep_changed ||
	    was.keep_accessed != o->keep_accessed || was.keep_created != o->keep_created)
		TRY(open_put(txn, o));
	c->modify.target.place = (struct file_place){ .by_id = true, .id = c->handle.inode_id };
	c->modify.target.kind = FILE_KIND_ANY;
	c->modify.target.through_open = true;
	c->modify.keep_copy = true;
	if (c->set_allocation && !c->modify.resize)
		return ERR_OK;
	return file_apply_set_properties(txn, &c->modify);
}

enum err file_apply_open_note(struct txn *txn, void *call)
{
	static const struct file_view live = { 0 };
	struct file_open_note_call *c = call;
	struct opens f;
	struct file_open *o;
	TRY(find_open(txn, &c->handle, &f, &o));
	bool changed = (c->set_position && o->position != c->position) ||
		       (c->set_channel_sequence && o->channel_sequence != c->channel_sequence);
	if (c->set_position)
		o->position = c->position;
	if (c->set_channel_sequence)
		o->channel_sequence = c->channel_sequence;
	if (changed)
		TRY(open_put(txn, o));
	struct file_view view = live;
	struct file_target at = { .has_snapshot = o->has_snapshot, .snapshot_ticks = o->snapshot_ticks };
	TRY(target_view(txn, &at, &view));
	TRY(inode_get(txn, &view, f.inode_id, &c->inode));
	c->open = *o;
	if (o->oplock.kind == OPLOCK_LEASE)
		c->open.oplock = opens_oplock_of(&f, o)->oplock;
	c->delete_pending = f.state.delete_pending;
	c->allocation = open_allocation(&f.state, &c->inode);
	return ERR_OK;
}

/* ---- LOCK ---- */

/* A client that did not hear the answer sends the request again, with the same number. */
static bool is_replay(const struct file_lock_call *c, const struct file_open *o)
{
	bool watched = c->sequence_bucket >= 1 && c->sequence_bucket <= FILE_LOCK_SEQUENCES && o->life != OPEN_PLAIN;
	return watched && o->lock_sequence[c->sequence_bucket - 1] == c->sequence_number + 1;
}

static void note_sequence(const struct file_lock_call *c, struct file_open *o)
{
	if (c->sequence_bucket >= 1 && c->sequence_bucket <= FILE_LOCK_SEQUENCES && o->life != OPEN_PLAIN)
		o->lock_sequence[c->sequence_bucket - 1] = (uint8_t)(c->sequence_number + 1);
}

/* Room for the ranges it has and `more`. */
static enum err own_ranges(struct txn *txn, const struct file_open *o, size_t more, struct byte_range **ret)
{
	struct byte_range *r = ARENA_NEW_ARRAY(txn_arena(txn), struct byte_range, o->range_count + more + 1);
	if (!r)
		return ERR_NO_MEMORY;
	if (o->range_count)
		memcpy(r, o->range, o->range_count * sizeof *r);
	*ret = r;
	return ERR_OK;
}

static size_t count_ranges(const struct opens *f)
{
	size_t n = 0;
	for (size_t i = 0; i < f->count; i++)
		n += f->open[i].range_count;
	return n;
}

static enum err add_lock(struct opens *f, struct file_open *o, struct byte_range *own,
			 const struct file_lock_element *e)
{
	struct byte_range asked = { .offset = e->offset, .length = e->length, .exclusive = e->exclusive };
	if (!byte_range_is_valid(e->offset, e->length))
		return ERR_SMB_INVALID_LOCK_RANGE;
	if (!lock_may_lock(&f->rules, o->open_id, &asked))
		return ERR_SMB_LOCK_NOT_GRANTED;
	/* Against those of this very request, which the rules do not know yet. */
	for (size_t i = 0; i < o->range_count; i++)
		if (byte_range_conflicts(&own[i], &asked, true))
			return ERR_SMB_LOCK_NOT_GRANTED;
	if (o->range_count == BYTE_RANGE_MAX_PER_OPEN)
		return ERR_BUSY;
	own[o->range_count++] = asked;
	return ERR_OK;
}

enum err file_apply_lock(struct txn *txn, void *call)
{
	struct file_lock_call *c = call;
	struct opens f;
	struct file_open *o;
	struct byte_range *own;
	c->wake = c->replayed = false;
	c->breaks.count = 0;
	TRY(find_open(txn, &c->handle, &f, &o));
	if (o->is_directory || o->has_snapshot)
		return ERR_SMB_INVALID_PARAMETER;
	c->replayed = is_replay(c, o);
	if (c->replayed)
		return ERR_OK;
	if (c->count > BYTE_RANGE_MAX_PER_OPEN || c->count + count_ranges(&f) > BYTE_RANGE_MAX_PER_FILE)
		return ERR_BUSY;
	TRY(own_ranges(txn, o, c->count, &own));
	o->range = own;
	for (size_t i = 0; i < c->count; i++)
		TRY(add_lock(&f, o, own, &c->element[i]));
	note_sequence(c, o);
	TRY(open_put(txn, o));
	return tell_readers(txn, &f, o->open_id, &c->breaks);
}

enum err file_apply_unlock(struct txn *txn, void *call)
{
	struct file_unlock_call *u = call;
	struct file_lock_call *c = &u->lock;
	struct opens f;
	struct file_open *o;
	struct byte_range *own;
	c->wake = c->replayed = false;
	c->breaks.count = 0;
	u->failed_at = c->count;
	TRY(find_open(txn, &c->handle, &f, &o));
	if (o->is_directory || o->has_snapshot)
		return ERR_SMB_INVALID_PARAMETER;
	c->replayed = is_replay(c, o);
	if (c->replayed)
		return ERR_OK;
	TRY(own_ranges(txn, o, 0, &own));
	for (size_t i = 0; i < c->count; i++) {
		size_t at = byte_range_find(own, o->range_count, c->element[i].offset, c->element[i].length);
		if (at == o->range_count) {
			u->failed_at = i;
			break;
		}
		o->range_count--;
		memmove(&own[at], &own[at + 1], (o->range_count - at) * sizeof *own);
		c->wake = true;
	}
	o->range = own;
	if (u->failed_at == c->count)
		note_sequence(c, o);
	return open_put(txn, o);
}
