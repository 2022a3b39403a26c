/* SPDX-License-Identifier: Apache-2.0
 * Entries of XML lists: numbers, dates and words into memory that was reserved once an entry. */
#include "wire/pen.h"

#include "base/digits.h"
#include "base/sys/clock.h"

void pen_word(struct pen *p, const char *word)
{
	pen_bytes(p, word, strlen(word));
}

void pen_u64(struct pen *p, uint64_t v)
{
	p->at = digits_put_u64(p->at, v);
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
