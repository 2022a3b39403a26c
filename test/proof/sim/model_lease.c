/* SPDX-License-Identifier: Apache-2.0
 * The model of a blob whose leases end. Nobody outside knows the server's clock to the tick: an operation ran at some
 * time within its window (linear_op.at_lo .. at_hi), so a lease ends within a window, too. Whether it was over when an
 * operation ran is decided by the answer where the windows leave it open, and each such answer narrows the end. Bounds
 * are closed and the windows generous: what is refused here cannot be explained by any clock within them. */
#include "linear_int.h"

enum { LEASE_PUT, LEASE_GET, LEASE_DEL, LEASE_ACQUIRE, LEASE_RENEW, LEASE_CHANGE, LEASE_RELEASE, LEASE_BREAK };
enum { ARG_LEASE, ARG_VALUE };							/* put, del */
enum { ARG_ID, ARG_SECONDS, ARG_TO };						/* lease operations */
enum { SEEN_AVAILABLE, SEEN_LEASED, SEEN_BREAKING, SEEN_BROKEN, SEEN_EXPIRED }; /* as in lock/lease.h */
#define NO_END	 (UINT64_MAX / 2)
#define MS_PER_S 1000

struct leased {
	uint32_t value; /* 0: there is no blob */
	uint32_t id;	/* 0: available */
	int32_t seconds;
	uint32_t breaking;
	uint64_t end_lo, end_hi;
};

static void lease_init(struct linear_state *s)
{
	memset(s, 0, sizeof *s);
}

static bool happens(const struct linear_op *op)
{
	return op->status == STATUS_OK || op->status == STATUS_UNKNOWN;
}

/* Can it be over, or not over, while the operation runs? If so, its end is narrowed to that. */
static bool is_over(struct leased *l, const struct linear_op *op)
{
	if (!l->id || op->at_hi < l->end_lo)
		return false;
	if (l->end_hi > op->at_hi)
		l->end_hi = op->at_hi;
	return true;
}

static bool not_over(struct leased *l, const struct linear_op *op)
{
	if (!l->id || op->at_lo > l->end_hi)
		return false;
	if (l->end_lo < op->at_lo)
		l->end_lo = op->at_lo;
	return true;
}

static bool available(const struct leased *l)
{
	return !l->id;
}

static void forget(struct leased *l)
{
	*l = (struct leased){ .value = l->value };
}

static uint64_t later(uint64_t time, int64_t seconds)
{
	return seconds < 0 || time >= NO_END ? NO_END : time + (uint64_t)seconds * MS_PER_S;
}

static bool step_write(struct leased *l, const struct linear_op *op)
{
	uint64_t id = op->arg[ARG_LEASE];
	if (op->kind == LEASE_DEL && !l->value)
		return op->status == STATUS_404;
	if (op->status == STATUS_412) /* held and not named, or named and not held */
		return id ? (available(l) || l->id != id || is_over(l, op)) : not_over(l, op);
	if (!happens(op))
		return false;
	if (id ? l->id != id || !not_over(l, op) : !available(l) && !is_over(l, op))
		return false;
	if (!id)
		forget(l);
	l->value = (uint32_t)op->arg[ARG_VALUE];
	if (op->kind == LEASE_DEL)
		*l = (struct leased){ 0 };
	return true;
}

static bool step_get(struct leased *l, const struct linear_op *op)
{
	if (!l->value || op->status != STATUS_OK)
		return !l->value && op->status == STATUS_404;
	if (l->value != op->got[0])
		return false;
	switch (op->got[1]) {
	case SEEN_AVAILABLE:
		return available(l);
	case SEEN_LEASED:
		return !l->breaking && not_over(l, op);
	case SEEN_BREAKING:
		return l->breaking && not_over(l, op);
	case SEEN_BROKEN:
		return l->breaking && is_over(l, op);
	case SEEN_EXPIRED:
		return !l->breaking && is_over(l, op);
	}
	return false;
}

static bool step_acquire(struct leased *l, const struct linear_op *op)
{
	bool same = l->id == op->arg[ARG_ID] && !l->breaking;
	if (op->status == STATUS_409)
		return !same && not_over(l, op);
	if (!happens(op) || !(available(l) || same || is_over(l, op)))
		return false;
	int64_t seconds = (int64_t)op->arg[ARG_SECONDS];
	*l = (struct leased){ .value = l->value,
			      .id = (uint32_t)op->arg[ARG_ID],
			      .seconds = (int32_t)seconds,
			      .end_lo = later(op->at_lo, seconds),
			      .end_hi = later(op->at_hi, seconds) };
	return true;
}

/* renew, change, release: by the holder. */
static bool step_holder(struct leased *l, const struct linear_op *op)
{
	bool mine = l->id && l->id == op->arg[ARG_ID];
	bool holds = op->kind == LEASE_RELEASE ? mine : mine && !l->breaking;
	/* Who changes to the id that holds the lease already may have lost the first answer. */
	if (op->kind == LEASE_CHANGE)
		holds |= l->id && !l->breaking && l->id == op->arg[ARG_TO];
	if (op->status == STATUS_409)
		return !holds || (op->kind == LEASE_CHANGE && is_over(l, op));
	if (!happens(op) || !holds || (op->kind == LEASE_CHANGE && !not_over(l, op)))
		return false;
	if (op->kind == LEASE_RELEASE) {
		forget(l);
	} else if (op->kind == LEASE_CHANGE) {
		l->id = (uint32_t)op->arg[ARG_TO];
	} else {
		l->end_lo = later(op->at_lo, l->seconds);
		l->end_hi = later(op->at_hi, l->seconds);
	}
	return true;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* With a period: it ends then, or with the lease if that is sooner. Without: with the lease, or at once if that has no
 * end. What is over already ends now. The answer says how many seconds are left, rounded up. */
static bool step_break(struct leased *l, const struct linear_op *op)
{
	if (op->status == STATUS_409)
		return available(l);
	if (!happens(op) || available(l))
		return false;
	bool period = op->given >> ARG_SECONDS & 1;
	int64_t seconds = (int64_t)op->arg[ARG_SECONDS];
	bool endless = l->end_lo >= NO_END;
	uint64_t lo = period ? later(op->at_lo, seconds) : endless && !l->breaking ? op->at_lo : NO_END;
	uint64_t hi = period ? later(op->at_hi, seconds) : endless && !l->breaking ? op->at_hi : NO_END;
	lo = least(lo, l->end_lo);
	hi = least(hi, l->end_hi);
	struct leased over = *l;
	if (is_over(&over, op)) /* then it ends at the time of this operation */
		hi = hi > op->at_hi ? hi : op->at_hi;
	if (op->status == STATUS_OK) {
		uint64_t left = op->got[0];
		uint64_t seen_lo = left ? later(op->at_lo, (int64_t)left - 1) : op->at_lo;
		uint64_t seen_hi = later(op->at_hi, (int64_t)left);
		lo = lo > seen_lo ? lo : seen_lo;
		hi = least(hi, seen_hi);
		if (lo > hi)
			return false;
	}
	l->breaking = 1;
	l->end_lo = lo;
	l->end_hi = hi;
	return true;
}

static bool lease_step(const struct linear_state *s, const struct linear_op *op, struct linear_state *next)
{
	struct leased l;
	bool legal;
	memcpy(&l, s->bytes, sizeof l);
	if (op->kind >= LEASE_ACQUIRE && !l.value)
		legal = op->status == STATUS_404;
	else if (op->kind == LEASE_PUT || op->kind == LEASE_DEL)
		legal = step_write(&l, op);
	else if (op->kind == LEASE_GET)
		legal = step_get(&l, op);
	else if (op->kind == LEASE_ACQUIRE)
		legal = step_acquire(&l, op);
	else if (op->kind == LEASE_BREAK)
		legal = step_break(&l, op);
	else
		legal = step_holder(&l, op);
	memcpy(next->bytes, &l, sizeof l);
	return legal;
}

const struct linear_model linear_lease = {
	.name = "lease",
	.ops = { [LEASE_PUT] = { "put", { "lease", "v" }, false },
		 [LEASE_GET] = { "get", { NULL }, false },
		 [LEASE_DEL] = { "del", { "lease" }, false },
		 [LEASE_ACQUIRE] = { "acquire", { "id", "d" }, false },
		 [LEASE_RENEW] = { "renew", { "id" }, false },
		 [LEASE_CHANGE] = { "change", { "id", "d", "to" }, false },
		 [LEASE_RELEASE] = { "release", { "id" }, false },
		 [LEASE_BREAK] = { "break", { "id", "p" }, false } },
	.init = lease_init,
	.step = lease_step,
};
