/* SPDX-License-Identifier: Apache-2.0
 * The decisions over all opens of one file. A sharing violation is never answered while a handle cache (H) of the one
 * who stands in the way could still give way: it is asked first, and the whole decision is made again afterwards. */
#include "lock/opens.h"

#include <assert.h>

struct rest_row {
	uint32_t access, share;
	bool needs_no_open;
	uint8_t keeps[4]; /* of RWH, RH, RW, R */
	uint8_t waits;
};

static const struct rest_row rest_rows[FILE_REST_OPS] = {
#define X(name, access, share, alone, rwh, rh, rw, r, waits)                                                           \
	[FILE_REST_##name] = { access, share, alone, { rwh, rh, rw, r }, waits },
	REST_OPERATIONS(X)
#undef X
};

/* ---- demands ---- */

/* Who has each oplock: is one of them connected; if none is, the first open that may be closed by whoever needs what it
 * blocks. */
static void find_holders(const struct lock_opens *f, struct lock_demands *d)
{
	d->count = 0;
	d->wait = false;
	for (size_t i = 0; i < f->oplock_count; i++)
		d->holder[i] = (struct lock_holder){ 0 };
	for (size_t i = 0; i < f->open_count; i++) {
		const struct lock_open *o = &f->open[i];
		struct lock_holder *h = o->oplock == LOCK_NO_OPLOCK ? NULL : &d->holder[o->oplock];
		if (!h)
			continue;
		h->has_client |= o->connected;
		if (!h->abandoned && o->life != OPEN_PERSISTENT)
			h->abandoned = o;
	}
	for (size_t i = 0; i < f->oplock_count; i++)
		if (d->holder[i].has_client)
			d->holder[i].abandoned = NULL;
}

static void note_in_the_way(const struct lock_open *o, struct lock_demands *d)
{
	if (o->oplock != LOCK_NO_OPLOCK)
		d->holder[o->oplock].in_the_way = true;
}

static void demand(struct lock_demands *d, int oplock, uint8_t keep)
{
	d->item[d->count++] = (struct lock_demand){ .oplock = oplock, .keep = keep };
}

static bool is_disconnected(const struct lock_open *o)
{
	return !o->connected && o->life != OPEN_PERSISTENT;
}

/* ---- open ---- */

static bool is_own_lease(const struct lock_opens *f, int oplock, const struct oplock_request *r)
{
	return oplock != LOCK_NO_OPLOCK && r->kind == OPLOCK_LEASE &&
	       oplock_is_lease_of(&f->oplock[oplock], &r->client, &r->key);
}

static bool has_ranges(const struct lock_opens *f)
{
	for (size_t i = 0; i < f->open_count; i++)
		if (f->open[i].range_count)
			return true;
	return false;
}

/* Somebody's persistent open, whose client is away: it can only give way if it has a handle cache (with locks: if it is
 * alone, so that every other open has to ask it). */
static bool is_protected(const struct lock_opens *f, const struct lock_open *o, bool ranges)
{
	if (o->connected || o->life != OPEN_PERSISTENT)
		return false;
	uint8_t needed = ranges ? CACHE_HANDLE | CACHE_WRITE : CACHE_HANDLE;
	uint8_t state = o->oplock == LOCK_NO_OPLOCK ? 0 : f->oplock[o->oplock].state;
	return (state & needed) != needed;
}

/* Looks at attributes and nothing else: breaks nothing, and stands in nobody's way. */
static bool only_looks(const struct lock_open_request *r)
{
	return lock_share_is_stat_open(r->access) && !r->overwrite;
}

/* The share check against all others. */
static enum lock_answer check_shares(const struct lock_opens *f, const struct lock_open_request *r,
				     struct lock_demands *d, uint64_t *ret_open)
{
	enum lock_answer answer = LOCK_YES;
	bool ranges = has_ranges(f);
	for (size_t i = 0; i < f->open_count; i++) {
		const struct lock_open *o = &f->open[i];
		bool own = is_own_lease(f, o->oplock, &r->oplock);
		if (!only_looks(r) && !own && is_protected(f, o, ranges))
			return LOCK_NOT_AVAILABLE;
		if (!lock_share_conflicts(o->access, o->share, r->access, r->share))
			continue;
		if (is_disconnected(o)) {
			*ret_open = o->id;
			return LOCK_CLOSE_DISCONNECTED;
		}
		note_in_the_way(o, d);
		answer = LOCK_SHARING_VIOLATION;
	}
	return answer;
}

/* Whom the open must break. LOCK_YES, LOCK_BREAK or LOCK_CLOSE_DISCONNECTED. */
static enum lock_answer open_breaks(const struct lock_opens *f, const struct lock_open_request *r, bool violation,
				    struct lock_demands *d, uint64_t *ret_open)
{
	uint8_t wait_for = violation ? CACHE_HANDLE : CACHE_WRITE | (r->deletes ? CACHE_HANDLE : 0);
	for (int i = 0; i < (int)f->oplock_count; i++) {
		const struct oplock *o = &f->oplock[i];
		if (is_own_lease(f, i, &r->oplock))
			continue;
		if (o->kind == OPLOCK_LEASE && lock_share_is_lease_stat_open(r->access) && !r->overwrite)
			continue;
		if (violation && !d->holder[i].in_the_way)
			continue;
		uint8_t keep = r->overwrite && !violation ? 0 : (uint8_t)(o->state & ~wait_for);
		if (!(o->state & ~keep)) {
			d->wait |= o->breaking;
			continue;
		}
		const struct lock_open *abandoned = d->holder[i].abandoned;
		if (abandoned) {
			*ret_open = abandoned->id;
			return LOCK_CLOSE_DISCONNECTED;
		}
		demand(d, i, keep);
		d->wait |= ((o->state & wait_for) || (o->breaking && r->again)) && d->holder[i].has_client;
	}
	return d->wait ? LOCK_BREAK : LOCK_YES;
}

/* What of the asked-for state can be granted beside the others. */
static uint8_t open_grants(const struct lock_opens *f, const struct lock_open_request *r)
{
	uint8_t granted = r->oplock.state;
	bool plain = r->oplock.kind == OPLOCK_PLAIN;
	bool others = false, other_oplock = false, other_handle = false, other_writer = false;
	if (r->oplock.kind == OPLOCK_NONE || r->is_directory)
		return 0;
	if (!plain && (!(granted & CACHE_READ) || (has_ranges(f) && !r->overwrite)))
		return 0;
	if (plain && has_ranges(f) && !r->overwrite)
		return 0;
	for (size_t i = 0; i < f->open_count; i++) {
		const struct lock_open *o = &f->open[i];
		if (is_own_lease(f, o->oplock, &r->oplock))
			continue;
		const struct oplock *held = o->oplock == LOCK_NO_OPLOCK ? NULL : &f->oplock[o->oplock];
		others |= held || !lock_share_is_stat_open(o->access);
		other_oplock |= held && held->kind == OPLOCK_PLAIN && held->state;
		other_handle |= held && (held->state & CACHE_HANDLE);
		other_writer |= held && (held->state & CACHE_WRITE); /* one that only looks broke nobody */
	}
	if (others)
		granted &= (uint8_t)~CACHE_WRITE;
	if (!plain)
		return other_oplock ? granted & (uint8_t)~CACHE_HANDLE : granted;
	return other_handle || other_writer ? 0 : oplock_level_state(oplock_state_level(granted));
}

enum lock_answer lock_may_open(const struct lock_opens *f, const struct lock_open_request *r, struct lock_demands *d,
			       uint64_t *ret_open, uint8_t *ret_state)
{
	find_holders(f, d);
	if (f->delete_pending)
		return LOCK_DELETE_PENDING;
	enum lock_answer shares = check_shares(f, r, d, ret_open);
	if (shares == LOCK_NOT_AVAILABLE || shares == LOCK_CLOSE_DISCONNECTED)
		return shares;
	if (!only_looks(r)) {
		enum lock_answer breaks = open_breaks(f, r, shares == LOCK_SHARING_VIOLATION, d, ret_open);
		if (breaks != LOCK_YES)
			return breaks;
	}
	if (shares == LOCK_SHARING_VIOLATION)
		return shares;
	*ret_state = open_grants(f, r);
	return LOCK_YES;
}

/* ---- REST ---- */

static uint8_t rest_keeps(const struct rest_row *row, uint8_t state)
{
	switch (state) {
	case CACHE_RWH:
		return row->keeps[0];
	case CACHE_RH:
		return row->keeps[1];
	case CACHE_RW:
		return row->keeps[2];
	case CACHE_READ:
		return row->keeps[3];
	default:
		return 0;
	}
}

static bool rest_conflicts(const struct rest_row *row, const struct lock_open *o)
{
	return row->needs_no_open || lock_share_conflicts(o->access, o->share, row->access, row->share);
}

enum lock_answer lock_rest_access(const struct lock_opens *f, enum file_rest_op op, struct lock_demands *d,
				  uint64_t *ret_open)
{
	assert(op < FILE_REST_OPS);
	const struct rest_row *row = &rest_rows[op];
	bool violation = false;
	find_holders(f, d);
	if (f->delete_pending)
		return LOCK_DELETE_PENDING;
	for (size_t i = 0; i < f->open_count; i++) {
		if (!rest_conflicts(row, &f->open[i]))
			continue;
		if (is_disconnected(&f->open[i])) {
			*ret_open = f->open[i].id;
			return LOCK_CLOSE_DISCONNECTED;
		}
		note_in_the_way(&f->open[i], d);
		violation = true;
	}
	for (int i = 0; i < (int)f->oplock_count; i++) {
		uint8_t state = f->oplock[i].state;
		uint8_t keep = violation ? (uint8_t)(state & ~CACHE_HANDLE) : rest_keeps(row, state);
		uint8_t waits = violation ? CACHE_HANDLE : row->waits;
		if (!(state & ~keep) || (violation && !d->holder[i].in_the_way))
			continue;
		const struct lock_open *abandoned = d->holder[i].abandoned;
		if (abandoned && (state & ~keep & waits)) {
			*ret_open = abandoned->id;
			return LOCK_CLOSE_DISCONNECTED;
		}
		demand(d, i, keep);
		d->wait |= (state & ~keep & waits) && d->holder[i].has_client;
	}
	if (d->wait)
		return LOCK_BREAK;
	return violation ? LOCK_SHARING_VIOLATION : LOCK_YES;
}

/* ---- bytes ---- */

bool lock_may_io(const struct lock_opens *f, uint64_t own, bool write, uint64_t offset, uint64_t length)
{
	for (size_t i = 0; i < f->open_count; i++)
		for (size_t k = 0; k < f->open[i].range_count; k++)
			if (byte_range_stops_io(&f->open[i].range[k], own && f->open[i].id == own, write, offset,
						length))
				return false;
	return true;
}

bool lock_may_lock(const struct lock_opens *f, uint64_t own, const struct byte_range *asked)
{
	for (size_t i = 0; i < f->open_count; i++)
		for (size_t k = 0; k < f->open[i].range_count; k++)
			if (byte_range_conflicts(&f->open[i].range[k], asked, f->open[i].id == own))
				return false;
	return true;
}

static const struct lock_open *find_open(const struct lock_opens *f, uint64_t id)
{
	for (size_t i = 0; i < f->open_count; i++)
		if (f->open[i].id == id)
			return &f->open[i];
	return NULL;
}

/* A client's own lease is coherent with its own writes; its own level II oplock is not (it belongs to one handle). */
void lock_write_breaks(const struct lock_opens *f, uint64_t own, struct lock_demands *d)
{
	const struct lock_open *me = own ? find_open(f, own) : NULL;
	d->count = 0;
	d->wait = false;
	for (int i = 0; i < (int)f->oplock_count; i++) {
		const struct oplock *o = &f->oplock[i];
		bool mine = me && me->oplock == i;
		if (mine && (o->kind == OPLOCK_LEASE || (o->state & CACHE_WRITE)))
			continue;
		if (o->state & CACHE_READ)
			demand(d, i, 0);
	}
}

/* ---- rename, delete, close ---- */

enum lock_answer lock_may_rename(const struct lock_opens *f, uint64_t own, struct lock_demands *d, uint64_t *ret_open)
{
	const struct lock_open *me = find_open(f, own);
	find_holders(f, d);
	for (int i = 0; i < (int)f->oplock_count; i++) {
		const struct oplock *o = &f->oplock[i];
		if ((me && me->oplock == i) || !(o->state & CACHE_HANDLE))
			continue;
		const struct lock_open *abandoned = d->holder[i].abandoned;
		if (abandoned) {
			*ret_open = abandoned->id;
			return LOCK_CLOSE_DISCONNECTED;
		}
		demand(d, i, (uint8_t)(o->state & ~CACHE_HANDLE));
		d->wait |= d->holder[i].has_client;
	}
	return d->wait ? LOCK_BREAK : LOCK_YES;
}

struct lock_close_effects lock_close(const struct lock_opens *f, uint64_t open)
{
	const struct lock_open *me = find_open(f, open);
	struct lock_close_effects e = { 0 };
	assert(me);
	bool last = f->open_count == 1;
	e.sets_pending = me->delete_on_close || f->delete_pending;
	e.deletes = last && e.sets_pending;
	e.ends_oplock = me->oplock != LOCK_NO_OPLOCK;
	for (size_t i = 0; i < f->open_count; i++)
		if (&f->open[i] != me && f->open[i].oplock == me->oplock)
			e.ends_oplock = false;
	return e;
}
