/* SPDX-License-Identifier: Apache-2.0
 * Decimal digits two at a time: one division and one copy for both. Writers return where they ended. */
#ifndef BASE_DIGITS_H
#define BASE_DIGITS_H

#include <stdint.h>
#include <string.h>

enum { DIGITS_U64_MAX = 20 };

/* "00" to "99" in a row. */
extern const char digits_pairs[];

/* v below 100. */
static inline char *digits_put2(char *p, unsigned v)
{
	memcpy(p, digits_pairs + 2 * v, 2);
	return p + 2;
}

/* Without leading zeros; at most DIGITS_U64_MAX. */
char *digits_put_u64(char *p, uint64_t v);

#endif
