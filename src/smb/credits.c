/* SPDX-License-Identifier: Apache-2.0
 * Credits and the window of message ids: what a client may have under way, and that no id comes twice. */
#include "smb/credits.h"

#include <assert.h>
#include <string.h>

static bool bit_get(const struct credits *c, uint64_t id)
{
	uint64_t at = id % CREDITS_MAX;
	return c->used[at / 64] >> (at % 64) & 1;
}

static void bit_set(struct credits *c, uint64_t id, bool on)
{
	uint64_t at = id % CREDITS_MAX, mask = UINT64_C(1) << (at % 64);
	c->used[at / 64] = on ? c->used[at / 64] | mask : c->used[at / 64] & ~mask;
}

void credits_init(struct credits *c)
{
	memset(c, 0, sizeof *c);
	c->high = 1;
}

bool credits_use(struct credits *c, uint64_t id, uint16_t charge)
{
	uint64_t count = charge ? charge : 1;
	if (id < c->low || id >= c->high || count > c->high - id)
		return false;
	for (uint64_t i = id; i < id + count; i++)
		if (bit_get(c, i))
			return false;
	for (uint64_t i = id; i < id + count; i++)
		bit_set(c, i, true);
	while (c->low < c->high && bit_get(c, c->low))
		bit_set(c, c->low++, false);
	return true;
}

uint16_t credits_grant(struct credits *c, uint16_t asked)
{
	uint64_t width = c->high - c->low;
	assert(width <= CREDITS_MAX);
	/* The last ids are never given: all ones is the id of what the server sends unasked. */
	uint64_t room = CREDITS_MAX - width, left = UINT64_MAX - 1 - c->high;
	uint64_t grant = asked;
	if (grant == 0 && width == 0)
		grant = 1;
	if (grant > room)
		grant = room;
	if (grant > left)
		grant = left;
	c->high += grant;
	return (uint16_t)grant;
}
