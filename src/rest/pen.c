/* SPDX-License-Identifier: Apache-2.0 */
#include "rest/pen.h"

#include "base/clock.h"

void pen_word(struct pen *p, const char *word)
{
	pen_bytes(p, word, strlen(word));
}

void pen_u64(struct pen *p, uint64_t v)
{
	char digits[20];
	size_t at = sizeof digits;
	do {
		digits[--at] = (char)('0' + v % 10);
		v /= 10;
	} while (v);
	pen_bytes(p, digits + at, sizeof digits - at);
}

void pen_date(struct pen *p, uint64_t ticks)
{
	uint64_t second = ticks / TICKS_PER_SECOND;
	if (second != p->date_second) {
		p->date_second = second;
		date_format_rfc1123(ticks, p->date);
	}
	pen_bytes(p, p->date, sizeof p->date);
}
