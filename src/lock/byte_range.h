/* SPDX-License-Identifier: Apache-2.0
 * Byte-range locks of the opens of one file. Offsets are unsigned 64 bit; a lock may end at 2^64. A lock of no bytes
 * conflicts only with one that has bytes on both sides of it. Locks belong to an open: two opens of one client
 * conflict.
 *
 *   an open holds      and asks for   is
 *   shared             shared         granted; each needs an unlock of its own
 *   exclusive          shared         granted
 *   any                exclusive      refused
 *
 * Reads and writes: an exclusive lock lets its own open pass only; a shared one lets everybody read and nobody write,
 * not even its own open. Reads and writes of no bytes pass. Pure functions. */
#ifndef LOCK_BYTE_RANGE_H
#define LOCK_BYTE_RANGE_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	BYTE_RANGE_MAX_PER_OPEN = 1024, /* so that one open's row stays small; more are refused */
	/* Each lock asked for is held against all of them, and a request may ask for as many as an open may have: 10 ms
	 * of one core at most. */
	BYTE_RANGE_MAX_PER_FILE = 8192,
};

struct byte_range {
	uint64_t offset, length;
	bool exclusive;
};

/* Offset + length - 1 is a byte of a file. */
bool byte_range_is_valid(uint64_t offset, uint64_t length);
bool byte_range_overlaps(const struct byte_range *, const struct byte_range *);
/* Held by an open; asked for by the same open (`own`) or another. */
bool byte_range_conflicts(const struct byte_range *held, const struct byte_range *asked, bool own);
/* Does a held lock stop a read or write of these bytes? */
bool byte_range_stops_io(const struct byte_range *held, bool own, bool write, uint64_t offset, uint64_t length);
/* Which of an open's locks an unlock of exactly this range removes: exclusive ones first; count if none. */
size_t byte_range_find(const struct byte_range *held, size_t count, uint64_t offset, uint64_t length);

#endif
