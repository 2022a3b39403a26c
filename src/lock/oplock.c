/* SPDX-License-Identifier: Apache-2.0
 * The states of one oplock or lease: break, acknowledgement, deadline. */
#include "lock/oplock.h"

#include <assert.h>
#include <string.h>

static bool guid_eq(const struct oplock_guid *a, const struct oplock_guid *b)
{
	return memcmp(a->bytes, b->bytes, sizeof a->bytes) == 0;
}

bool oplock_is_lease_of(const struct oplock *o, const struct oplock_guid *client, const struct oplock_guid *key)
{
	return o->kind == OPLOCK_LEASE && guid_eq(&o->client, client) && guid_eq(&o->key, key);
}

struct oplock oplock_at(const struct oplock *o, uint64_t now_ticks)
{
	struct oplock at = *o;
	if (!o->breaking || now_ticks < o->break_deadline_ticks)
		return at;
	at.state = 0;
	at.breaking = false;
	return at;
}

/* Only W and H are worth an acknowledgement: the holder may have to write back, or to close. */
static bool needs_ack(uint8_t state)
{
	return (state & (CACHE_WRITE | CACHE_HANDLE)) != 0;
}

/* Begins a step down from the current state. Plain oplocks know level II and none only. */
static struct oplock_notice begin_step(struct oplock *o, uint8_t to, uint64_t deadline_ticks)
{
	struct oplock_notice n = { .from = o->state, .to = to, .ack_required = needs_ack(o->state) };
	if (o->version > 1)
		n.epoch = ++o->epoch;
	if (n.ack_required) {
		o->breaking = true;
		o->break_to = to;
		o->break_deadline_ticks = deadline_ticks;
	} else {
		o->state = to;
		o->breaking = false;
	}
	return n;
}

bool oplock_break(struct oplock *o, uint8_t keep, uint64_t deadline_ticks, struct oplock_notice *ret_notice)
{
	assert(o->kind != OPLOCK_NONE);
	uint8_t to = o->state & keep;
	if (o->kind == OPLOCK_PLAIN && to != o->state)
		to &= CACHE_READ;
	if (o->breaking) {
		o->break_required &= to;
		return false;
	}
	if (to == o->state)
		return false;
	o->break_required = to;
	*ret_notice = begin_step(o, to, deadline_ticks);
	return true;
}

enum err oplock_acknowledge(struct oplock *o, uint8_t state, uint64_t deadline_ticks, bool *ret_again,
			    struct oplock_notice *ret_notice)
{
	if (!o->breaking)
		return o->kind == OPLOCK_LEASE ? ERR_SMB_UNSUCCESSFUL : ERR_SMB_INVALID_OPLOCK_PROTOCOL;
	if (state & ~o->break_to)
		return o->kind == OPLOCK_LEASE ? ERR_SMB_REQUEST_NOT_ACCEPTED : ERR_SMB_INVALID_OPLOCK_PROTOCOL;
	o->state = state;
	o->breaking = false;
	*ret_again = (state & ~o->break_required) != 0;
	if (!*ret_again)
		return ERR_OK;
	/* Down in steps, as Windows does it: who has more than R is left R once more. The epoch is the first step's. */
	uint8_t to = o->break_required;
	if (needs_ack(state))
		to |= state & CACHE_READ;
	*ret_notice = begin_step(o, to, deadline_ticks);
	if (o->version > 1)
		ret_notice->epoch = --o->epoch;
	return ERR_OK;
}

struct oplock oplock_grant(const struct oplock *existing, const struct oplock_request *r, uint8_t granted)
{
	if (existing->kind == OPLOCK_NONE)
		return (struct oplock){ .kind = r->kind,
					.client = r->client,
					.key = r->key,
					.version = r->version,
					.epoch = r->version > 1 ? (uint16_t)(r->epoch + 1) : 0,
					.state = granted };
	struct oplock o = *existing;
	bool grows = (o.state & r->state) == o.state && granted != o.state && granted == r->state && !o.breaking;
	if (grows) {
		o.state = granted;
		o.epoch += o.version > 1;
	}
	return o;
}

uint8_t oplock_level_state(uint8_t level)
{
	switch (level) {
	case 1:
		return CACHE_READ;
	case 8:
		return CACHE_RW;
	case 9:
		return CACHE_RWH;
	default:
		return 0;
	}
}

uint8_t oplock_state_level(uint8_t state)
{
	if (state == CACHE_RWH)
		return 9;
	if (state == CACHE_RW)
		return 8;
	return state & CACHE_READ ? 1 : 0;
}
