/* SPDX-License-Identifier: Apache-2.0
 * Range and x-ms-range: "bytes=a-b" and "bytes=a-". Numbers above 2^64-1 count as 2^64-1, which no resource reaches, so
 * that they are clipped or cannot be satisfied like any other that is too large. */
#ifndef WIRE_RANGE_H
#define WIRE_RANGE_H

#include "base/slice.h"

enum range_kind {
	RANGE_NONE,   /* no header, or one the service ignores: a suffix ("bytes=-5"), several ranges, another unit */
	RANGE_BAD,    /* malformed, or its end before its start: ignored where reading, an error where writing */
	RANGE_OPEN,   /* "bytes=a-" */
	RANGE_CLOSED, /* "bytes=a-b" */
};

struct range {
	enum range_kind kind;
	uint64_t first;
	uint64_t last; /* inclusive; of an open range 2^64-1 */
};

/* An absent slice is RANGE_NONE. */
struct range range_parse(struct slice header);
/* x-ms-range wins over Range. */
struct range range_parse_either(struct slice x_ms_range, struct slice range);

#endif
