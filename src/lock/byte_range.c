/* SPDX-License-Identifier: Apache-2.0
 * Overlap and conflict of byte ranges. All comparisons are of first and last byte, so that a range that ends at 2^64
 * needs no wider number. */
#include "lock/byte_range.h"

bool byte_range_is_valid(uint64_t offset, uint64_t length)
{
	return length == 0 || offset + (length - 1) >= offset;
}

/* `at` lies behind the first byte of r and not behind its last. */
static bool is_inside(uint64_t at, const struct byte_range *r)
{
	return r->length && at > r->offset && at - r->offset <= r->length - 1;
}

bool byte_range_overlaps(const struct byte_range *a, const struct byte_range *b)
{
	if (!a->length && !b->length)
		return false;
	if (!a->length)
		return is_inside(a->offset, b);
	if (!b->length)
		return is_inside(b->offset, a);
	return a->offset <= b->offset ? b->offset - a->offset < a->length : a->offset - b->offset < b->length;
}

bool byte_range_conflicts(const struct byte_range *held, const struct byte_range *asked, bool own)
{
	if (!asked->exclusive && (!held->exclusive || own))
		return false;
	return byte_range_overlaps(held, asked);
}

bool byte_range_stops_io(const struct byte_range *held, bool own, bool write, uint64_t offset, uint64_t length)
{
	struct byte_range io = { .offset = offset, .length = length, .exclusive = write };
	if (!length || (held->exclusive ? own : !write))
		return false;
	return byte_range_overlaps(held, &io);
}

size_t byte_range_find(const struct byte_range *held, size_t count, uint64_t offset, uint64_t length)
{
	size_t shared = count;
	for (size_t i = 0; i < count; i++) {
		if (held[i].offset != offset || held[i].length != length)
			continue;
		if (held[i].exclusive)
			return i;
		if (shared == count)
			shared = i;
	}
	return shared;
}
