/* SPDX-License-Identifier: Apache-2.0
 * Random numbers: the system's, in batches, or seeded for simulations. */
#include "base/sys/rng.h"

#include <stdlib.h>
#include <sys/random.h>

void rng_init_system(struct rng *r)
{
	*r = (struct rng){ .system = true, .pool_used = sizeof r->pool };
}

void rng_init_seed(struct rng *r, uint64_t seed)
{
	*r = (struct rng){ .system = false };
	for (int i = 0; i < 4; i++) { /* splitmix64 spreads a small seed over the state */
		uint64_t z = (seed += UINT64_C(0x9e3779b97f4a7c15));
		z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
		z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
		r->state[i] = z ^ (z >> 31);
	}
}

static uint64_t rotl(uint64_t x, int k)
{
	return (x << k) | (x >> (64 - k));
}

static uint64_t seeded_u64(struct rng *r)
{
	uint64_t *s = r->state, result = rotl(s[1] * 5, 7) * 9, t = s[1] << 17;
	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= t;
	s[3] = rotl(s[3], 45);
	return result;
}

void rng_bytes(struct rng *r, void *dst, size_t len)
{
	unsigned char *p = dst;
	while (len) {
		if (!r->system) {
			uint64_t v = seeded_u64(r);
			size_t n = len < sizeof v ? len : sizeof v;
			memcpy(p, &v, n);
			p += n;
			len -= n;
			continue;
		}
		if (r->pool_used == sizeof r->pool) {
			if (getrandom(r->pool, sizeof r->pool, 0) != (ssize_t)sizeof r->pool)
				abort(); /* the kernel promises whole reads up to 256 bytes; without randomness no id is
					    safe */
			r->pool_used = 0;
		}
		size_t n = sizeof r->pool - r->pool_used;
		n = len < n ? len : n;
		memcpy(p, r->pool + r->pool_used, n);
		r->pool_used += n;
		p += n;
		len -= n;
	}
}

uint64_t rng_u64(struct rng *r)
{
	uint64_t v;
	rng_bytes(r, &v, sizeof v);
	return v;
}

uint64_t rng_below(struct rng *r, uint64_t bound)
{
	return bound ? (uint64_t)(((unsigned __int128)rng_u64(r) * bound) >> 64) : 0;
}

struct uuid rng_uuid(struct rng *r)
{
	struct uuid u;
	rng_bytes(r, u.bytes, sizeof u.bytes);
	u.bytes[6] = (u.bytes[6] & 0x0f) | 0x40;
	u.bytes[8] = (u.bytes[8] & 0x3f) | 0x80;
	return u;
}

void uuid_format(const struct uuid *u, char *dst)
{
	static const char hex[] = "0123456789abcdef";
	for (int i = 0; i < 16; i++) {
		if (i == 4 || i == 6 || i == 8 || i == 10)
			*dst++ = '-';
		*dst++ = hex[u->bytes[i] >> 4];
		*dst++ = hex[u->bytes[i] & 15];
	}
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 32;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool uuid_parse(struct slice s, struct uuid *ret)
{
	struct uuid u;
	if (s.len == 38 && ((s.ptr[0] == '{' && s.ptr[37] == '}') || (s.ptr[0] == '(' && s.ptr[37] == ')')))
		s = slice_make(s.ptr + 1, 36);
	if (s.len != 32 && s.len != 36)
		return false;
	bool hyphens = s.len == 36;
	size_t at = 0;
	for (int i = 0; i < 16; i++) {
		if (hyphens && (i == 4 || i == 6 || i == 8 || i == 10) && s.ptr[at++] != '-')
			return false;
		int hi = hex_digit(s.ptr[at]), lo = hex_digit(s.ptr[at + 1]);
		if (hi < 0 || lo < 0)
			return false;
		u.bytes[i] = (unsigned char)(hi << 4 | lo);
		at += 2;
	}
	*ret = u;
	return true;
}
