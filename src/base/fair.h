/* SPDX-License-Identifier: Apache-2.0
 * A bounded amount of something (bytes, places in a list) that accounts share. An account may take more only while what
 * it has is no more than what is free: one alone gets half of all, two a third each, and whoever comes next finds some.
 * Accounts are told apart by a hash of their name: a few share a count. Not thread-safe. */
#ifndef BASE_FAIR_H
#define BASE_FAIR_H

#include "base/slice.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FAIR_OWNERS = 4096 };

struct fair {
	size_t limit, used;
	size_t owned[FAIR_OWNERS]; /* of `used` */
};

void fair_init(struct fair *, size_t limit);
unsigned fair_owner(struct slice account);
size_t fair_free(const struct fair *);
/* Would it leave the owner with no more than what was free before? */
bool fair_may_take(const struct fair *, unsigned owner, size_t amount);
/* Takes, whatever fair_may_take says; never more than what is free. */
void fair_take(struct fair *, unsigned owner, size_t amount);
void fair_give_back(struct fair *, unsigned owner, size_t amount);

#endif
