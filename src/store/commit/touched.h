/* SPDX-License-Identifier: Apache-2.0
 * Which volatile rows transactions have looked at or changed: a set of hashes of the first bytes of their keys (one
 * file's rows are one). May say yes where it is no. The committer's alone. */
#ifndef STORE_TOUCHED_H
#define STORE_TOUCHED_H

#include <stdbool.h>
#include <stdint.h>

enum { TOUCHED_BITS = 4096 };

struct touched {
	bool any;
	bool all; /* a look at more than one file's rows, or at whether there are rows at all */
	uint64_t bits[TOUCHED_BITS / 64];
};

void touched_clear(struct touched *);
void touched_add(struct touched *, uint64_t hash);
void touched_add_all(struct touched *);
void touched_merge(struct touched *into, const struct touched *);
/* Do they have rows in common? */
bool touched_meet(const struct touched *, const struct touched *);

#endif
