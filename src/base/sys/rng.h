/* SPDX-License-Identifier: Apache-2.0
 * Random numbers through a generator that was handed in: seeded (tests, simulation; xoshiro256**) or fed by the system
 * (ids, keys; buffered getrandom). A generator belongs to one thread. */
#ifndef BASE_RNG_H
#define BASE_RNG_H

#include "base/slice.h"

struct rng {
	bool system;
	uint64_t state[4];
	size_t pool_used;
	unsigned char pool[256];
};

struct uuid {
	unsigned char bytes[16];
};
enum { UUID_TEXT_BYTES = 36 };

void rng_init_system(struct rng *);
void rng_init_seed(struct rng *, uint64_t seed);
uint64_t rng_u64(struct rng *);
/* 0 .. bound-1, unbiased enough for tests and ids. */
uint64_t rng_below(struct rng *, uint64_t bound);
void rng_bytes(struct rng *, void *dst, size_t len);

struct uuid rng_uuid(struct rng *); /* version 4 */
/* Writes 36 characters, 8-4-4-4-12 lower-case hex, no NUL. */
void uuid_format(const struct uuid *, char *dst);
/* Any of the .NET forms: 32 digits, hyphenated, hyphenated in braces or parentheses. */
bool uuid_parse(struct slice text, struct uuid *ret);
static inline bool uuid_eq(const struct uuid *a, const struct uuid *b)
{
	return memcmp(a->bytes, b->bytes, sizeof a->bytes) == 0;
}

#endif
