/* SPDX-License-Identifier: Apache-2.0
 * Decimal numbers to text, two digits at a time. */
#include "base/digits.h"

const char digits_pairs[] =
	"0001020304050607080910111213141516171819202122232425262728293031323334353637383940414243444546474849"
	"5051525354555657585960616263646566676869707172737475767778798081828384858687888990919293949596979899";

static unsigned count_digits(uint64_t v)
{
	for (unsigned more = 0;; more += 4, v /= 10000) {
		if (v < 10)
			return more + 1;
		if (v < 100)
			return more + 2;
		if (v < 1000)
			return more + 3;
		if (v < 10000)
			return more + 4;
	}
}

char *digits_put_u64(char *p, uint64_t v)
{
	char *end = p + count_digits(v), *at = end;
	for (; v >= 100; v /= 100)
		digits_put2(at -= 2, (unsigned)(v % 100));
	if (v >= 10)
		digits_put2(p, (unsigned)v);
	else
		*p = (char)('0' + v);
	return end;
}
