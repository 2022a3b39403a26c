/* SPDX-License-Identifier: Apache-2.0
 * The states of a lease and what each lets pass; its record and its words. */
#include "lock/lease.h"

#include "base/mutant.h"
#include "base/sys/clock.h"

#include <assert.h>

const struct lease_errors lease_errors_blob = {
	.id_missing = ERR_BLOB_LEASE_ID_MISSING,
	.lost = ERR_BLOB_LEASE_LOST,
	.mismatch = ERR_BLOB_LEASE_MISMATCH,
	.not_present = ERR_BLOB_LEASE_NOT_PRESENT,
	.op_not_present = ERR_BLOB_LEASE_OP_NOT_PRESENT,
	.op_mismatch = ERR_BLOB_LEASE_OP_MISMATCH,
};

const struct lease_errors lease_errors_container = {
	.id_missing = ERR_CONTAINER_LEASE_ID_MISSING,
	.lost = ERR_CONTAINER_LEASE_LOST,
	.mismatch = ERR_CONTAINER_LEASE_MISMATCH,
	.not_present = ERR_CONTAINER_LEASE_NOT_PRESENT,
	.op_not_present = ERR_CONTAINER_LEASE_OP_NOT_PRESENT,
	.op_mismatch = ERR_CONTAINER_LEASE_OP_MISMATCH,
};

const struct lease_errors lease_errors_share = {
	.id_missing = ERR_SHARE_LEASE_ID_MISSING,
	.lost = ERR_SHARE_LEASE_LOST,
	.mismatch = ERR_SHARE_LEASE_MISMATCH,
	.not_present = ERR_SHARE_LEASE_NOT_PRESENT,
	.op_not_present = ERR_SHARE_LEASE_OP_NOT_PRESENT,
	.op_mismatch = ERR_SHARE_LEASE_OP_MISMATCH,
};

const struct lease_errors lease_errors_file = {
	.id_missing = ERR_FILE_LEASE_ID_MISSING,
	.lost = ERR_FILE_LEASE_LOST,
	.mismatch = ERR_FILE_LEASE_MISMATCH,
	.not_present = ERR_FILE_LEASE_NOT_PRESENT,
	.op_not_present = ERR_FILE_LEASE_OP_NOT_PRESENT,
	.op_mismatch = ERR_FILE_LEASE_OP_MISMATCH,
};

enum lease_state lease_state(const struct lease *l, uint64_t now)
{
	if (!l->held)
		return LEASE_AVAILABLE;
	bool over = now >= l->end_ticks && !mutant_leases_endless();
	if (l->breaking)
		return over ? LEASE_BROKEN : LEASE_BREAKING;
	return over ? LEASE_EXPIRED : LEASE_LEASED;
}

static uint64_t end_of(uint64_t now, int32_t duration_s)
{
	return duration_s == LEASE_INFINITE ? TICKS_FOREVER : now + (uint64_t)duration_s * TICKS_PER_SECOND;
}

enum err lease_acquire(struct lease *l, const struct lease_errors *e, uint64_t now, const struct uuid *proposed,
		       const struct uuid *minted, int32_t duration_s)
{
	bool same = l->held && proposed && uuid_eq(&l->id, proposed);
	assert(proposed || minted);
	assert(duration_s == LEASE_INFINITE || duration_s > 0);
	switch (lease_state(l, now)) {
	case LEASE_LEASED:
		if (!same)
			return ERR_LEASE_ALREADY_PRESENT;
		break;
	case LEASE_BREAKING:
		return same ? ERR_LEASE_IS_BREAKING_AND_CANNOT_BE_ACQUIRED : ERR_LEASE_ALREADY_PRESENT;
	case LEASE_AVAILABLE:
	case LEASE_BROKEN:
	case LEASE_EXPIRED:
		break;
	}
	(void)e;
	*l = (struct lease){ .held = true, .id = proposed ? *proposed : *minted, .duration_s = duration_s };
	l->end_ticks = end_of(now, duration_s);
	return ERR_OK;
}

enum err lease_renew(struct lease *l, const struct lease_errors *e, uint64_t now, const struct uuid *id)
{
	enum lease_state state = lease_state(l, now);
	if (state == LEASE_AVAILABLE || !uuid_eq(&l->id, id))
		return e->op_mismatch;
	if (state == LEASE_BREAKING || state == LEASE_BROKEN)
		return ERR_LEASE_IS_BROKEN_AND_CANNOT_BE_RENEWED;
	l->end_ticks = end_of(now, l->duration_s);
	return ERR_OK;
}

enum err lease_change(struct lease *l, const struct lease_errors *e, uint64_t now, const struct uuid *id,
		      const struct uuid *proposed)
{
	enum lease_state state = lease_state(l, now);
	if (state == LEASE_AVAILABLE || state == LEASE_BROKEN || state == LEASE_EXPIRED)
		return e->op_not_present;
	if (state == LEASE_BREAKING)
		return uuid_eq(&l->id, id) ? ERR_LEASE_IS_BREAKING_AND_CANNOT_BE_CHANGED : e->op_mismatch;
	/* Proposing the id that already holds the lease succeeds: a client that lost the first answer may ask again. */
	if (!uuid_eq(&l->id, id) && !uuid_eq(&l->id, proposed))
		return e->op_mismatch;
	l->id = *proposed;
	return ERR_OK;
}

enum err lease_release(struct lease *l, const struct lease_errors *e, uint64_t now, const struct uuid *id)
{
	(void)now;
	if (!l->held || !uuid_eq(&l->id, id))
		return e->op_mismatch;
	*l = (struct lease){ .held = false };
	return ERR_OK;
}

static uint32_t seconds_left(uint64_t now, uint64_t end)
{
	return end <= now ? 0 : (uint32_t)((end - now + TICKS_PER_SECOND - 1) / TICKS_PER_SECOND);
}

enum err lease_break(struct lease *l, const struct lease_errors *e, uint64_t now, int32_t period_s, uint32_t *ret_left)
{
	uint64_t end = now;
	assert(period_s == LEASE_BREAK_DEFAULT || (period_s >= 0 && period_s <= LEASE_BREAK_MAX_SECONDS));
	switch (lease_state(l, now)) {
	case LEASE_AVAILABLE:
		return e->op_not_present;
	case LEASE_LEASED:
		if (period_s != LEASE_BREAK_DEFAULT)
			end = now + (uint64_t)period_s * TICKS_PER_SECOND;
		else if (l->duration_s != LEASE_INFINITE)
			end = l->end_ticks;
		if (end > l->end_ticks)
			end = l->end_ticks;
		break;
	case LEASE_BREAKING:
		end = l->end_ticks;
		if (period_s != LEASE_BREAK_DEFAULT && now + (uint64_t)period_s * TICKS_PER_SECOND < end)
			end = now + (uint64_t)period_s * TICKS_PER_SECOND;
		break;
	case LEASE_BROKEN:
	case LEASE_EXPIRED:
		break;
	}
	assert(l->held);
	l->breaking = true;
	l->end_ticks = end;
	*ret_left = seconds_left(now, end);
	return ERR_OK;
}

enum err lease_check_read(const struct lease *l, const struct lease_errors *e, uint64_t now, const struct uuid *id)
{
	if (!id)
		return ERR_OK;
	switch (lease_state(l, now)) {
	case LEASE_AVAILABLE:
		return e->not_present;
	case LEASE_BROKEN:
	case LEASE_EXPIRED:
		return e->lost;
	case LEASE_LEASED:
	case LEASE_BREAKING:
		break;
	}
	return uuid_eq(&l->id, id) ? ERR_OK : e->mismatch;
}

enum err lease_check_write(const struct lease *l, const struct lease_errors *e, uint64_t now, const struct uuid *id)
{
	enum lease_state state = lease_state(l, now);
	if (!id && (state == LEASE_LEASED || state == LEASE_BREAKING))
		return e->id_missing;
	return lease_check_read(l, e, now, id);
}

void lease_note_write(struct lease *l, uint64_t now)
{
	enum lease_state state = lease_state(l, now);
	if (state == LEASE_BROKEN || state == LEASE_EXPIRED)
		*l = (struct lease){ .held = false };
}

enum err lease_request_run(struct lease *l, const struct lease_errors *e, uint64_t now, struct lease_request *r)
{
	enum err result = ERR_OK;
	switch (r->action) {
	case LEASE_ACTION_ACQUIRE:
		result = lease_acquire(l, e, now, r->has_proposed ? &r->proposed : NULL, &r->minted, r->duration_s);
		break;
	case LEASE_ACTION_RENEW:
		result = lease_renew(l, e, now, &r->id);
		break;
	case LEASE_ACTION_CHANGE:
		result = lease_change(l, e, now, &r->id, &r->proposed);
		break;
	case LEASE_ACTION_RELEASE:
		result = lease_release(l, e, now, &r->id);
		break;
	case LEASE_ACTION_BREAK:
		result = lease_break(l, e, now, r->break_period_s, &r->break_seconds_left);
		break;
	}
	r->result_id = l->id;
	return result;
}

void lease_encode(struct buf *b, const struct lease *l)
{
	assert(l->held || !l->breaking); /* nobody's lease cannot be breaking */
	bytes_put_u8(b, (uint8_t)(l->held | l->breaking << 1));
	if (!l->held)
		return;
	buf_put(b, slice_make(l->id.bytes, sizeof l->id.bytes));
	bytes_put_u32(b, (uint32_t)l->duration_s);
	bytes_put_u64(b, l->end_ticks);
}

struct lease lease_decode(struct cursor *c)
{
	struct lease l = { .held = false };
	uint8_t flags = cursor_u8(c);
	if (!(flags & 1))
		return l;
	struct slice id = cursor_raw(c, sizeof l.id.bytes);
	l.held = true;
	l.breaking = (flags & 2) != 0;
	l.duration_s = (int32_t)cursor_u32(c);
	l.end_ticks = cursor_u64(c);
	if (c->failed)
		return (struct lease){ .held = false };
	memcpy(l.id.bytes, id.ptr, id.len);
	return l;
}

const char *lease_state_word(enum lease_state s)
{
	static const char *const words[] = { "available", "leased", "breaking", "broken", "expired" };
	assert((size_t)s < sizeof words / sizeof *words);
	return words[s];
}

const char *lease_status_word(enum lease_state s)
{
	return s == LEASE_LEASED || s == LEASE_BREAKING ? "locked" : "unlocked";
}

const char *lease_duration_word(const struct lease *l, uint64_t now)
{
	if (lease_state(l, now) != LEASE_LEASED)
		return NULL;
	return l->duration_s == LEASE_INFINITE ? "infinite" : "fixed";
}
