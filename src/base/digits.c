/* SPDX-License-Identifier: Apache-2.0 */
#include "base/digits.h"

const char digits_pairs[] =
	"0001020304050607080910111213141516171819202122232425262728293031323334353637383940414243444546474849"
	"5051525354555657585960616263646566676869707172737475767778798081828384858687888990919293949596979899";

char *digits_put_u64(char *p, uint64_t v)
{
	char text[DIGITS_U64_MAX], *end = text + sizeof text, *at = end;
	for (; v >= 100; v /= 100)
		digits_put2(at -= 2, (unsigned)(v % 100));
	if (v >= 10)
		digits_put2(at -= 2, (unsigned)v);
	else
		*--at = (char)('0' + v);
	memcpy(p, at, (size_t)(end - at));
	return p + (end - at);
}
