/* SPDX-License-Identifier: Apache-2.0
 * Days are counted from 0001-01-01 (a Monday). Inside the conversions the year begins in March, so that the leap day is
 * the last of its year and month lengths repeat every five months (153 days). */
#include "wire/date.h"

#include "base/digits.h"
#include "base/sys/clock.h"
#include "wire/chars.h"

enum {
	DAYS_MARCH_TO_JANUARY = 306, /* 0000-03-01 .. 0001-01-01 */
	DAYS_400_YEARS = 146097,
	DAYS_100_YEARS = 36524,
	DAYS_4_YEARS = 1461,
	SECONDS_PER_DAY = 86400,
};

static const char weekday_names[] = "MonTueWedThuFriSatSun";
static const char month_names[] = "JanFebMarAprMayJunJulAugSepOctNovDec";

void date_civil_of(uint64_t ticks, struct date_civil *ret)
{
	if (ticks > DATE_TICKS_MAX)
		ticks = DATE_TICKS_MAX;
	uint64_t seconds = ticks / TICKS_PER_SECOND;
	unsigned days = (unsigned)(seconds / SECONDS_PER_DAY), rest = (unsigned)(seconds % SECONDS_PER_DAY);
	ret->fraction_ticks = (unsigned)(ticks % TICKS_PER_SECOND);
	ret->hour = rest / 3600;
	ret->minute = rest / 60 % 60;
	ret->second = rest % 60;
	ret->weekday = days % 7;

	unsigned d = days + DAYS_MARCH_TO_JANUARY;
	unsigned cycle = d / DAYS_400_YEARS, in_cycle = d % DAYS_400_YEARS;
	/* Leap days taken out, every year has 365 days. */
	unsigned year = (in_cycle - in_cycle / (DAYS_4_YEARS - 1) + in_cycle / DAYS_100_YEARS -
			 in_cycle / (DAYS_400_YEARS - 1)) /
			365;
	unsigned in_year = in_cycle - (365 * year + year / 4 - year / 100);
	unsigned month = (5 * in_year + 2) / 153;
	ret->day = in_year - (153 * month + 2) / 5 + 1;
	ret->month = month < 10 ? month + 3 : month - 9;
	ret->year = cycle * 400 + year + (ret->month <= 2);
}

static unsigned month_days(unsigned year, unsigned month)
{
	static const unsigned char days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
	bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
	return month == 2 && leap ? 29 : days[month - 1];
}

static unsigned days_of(unsigned year, unsigned month, unsigned day)
{
	unsigned y = month <= 2 ? year - 1 : year, m = month <= 2 ? month + 9 : month - 3;
	return 365 * y + y / 4 - y / 100 + y / 400 + (153 * m + 2) / 5 + day - 1 - DAYS_MARCH_TO_JANUARY;
}

bool date_civil_ticks(const struct date_civil *c, uint64_t *ret)
{
	if (c->year < 1 || c->year > 9999 || c->month < 1 || c->month > 12 || c->day < 1 ||
	    c->day > month_days(c->year, c->month) || c->hour > 23 || c->minute > 59 || c->second > 59 ||
	    c->fraction_ticks >= TICKS_PER_SECOND)
		return false;
	uint64_t seconds = (uint64_t)days_of(c->year, c->month, c->day) * SECONDS_PER_DAY + c->hour * 3600u +
			   c->minute * 60u + c->second;
	*ret = seconds * TICKS_PER_SECOND + c->fraction_ticks;
	return true;
}

static void put_time(char *dst, const struct date_civil *c)
{
	digits_put2(dst, c->hour);
	dst[2] = ':';
	digits_put2(dst + 3, c->minute);
	dst[5] = ':';
	digits_put2(dst + 6, c->second);
}

void date_format_rfc1123(uint64_t ticks, char dst[DATE_RFC1123_BYTES])
{
	struct date_civil c;
	date_civil_of(ticks, &c);
	memcpy(dst, weekday_names + 3 * c.weekday, 3);
	dst[3] = ',';
	dst[4] = ' ';
	digits_put2(dst + 5, c.day);
	dst[7] = ' ';
	memcpy(dst + 8, month_names + 3 * (c.month - 1), 3);
	dst[11] = ' ';
	digits_put2(dst + 12, c.year / 100);
	digits_put2(dst + 14, c.year % 100);
	dst[16] = ' ';
	put_time(dst + 17, &c);
	dst[25] = ' ';
	dst[26] = 'G';
	dst[27] = 'M';
	dst[28] = 'T';
}

void date_format_iso(uint64_t ticks, char dst[DATE_ISO_BYTES])
{
	struct date_civil c;
	date_civil_of(ticks, &c);
	digits_put2(dst, c.year / 100);
	digits_put2(dst + 2, c.year % 100);
	dst[4] = '-';
	digits_put2(dst + 5, c.month);
	dst[7] = '-';
	digits_put2(dst + 8, c.day);
	dst[10] = 'T';
	put_time(dst + 11, &c);
	dst[19] = '.';
	digits_put2(dst + 20, c.fraction_ticks / 100000);
	digits_put2(dst + 22, c.fraction_ticks / 1000 % 100);
	digits_put2(dst + 24, c.fraction_ticks / 10 % 100);
	dst[26] = (char)('0' + c.fraction_ticks % 10);
	dst[27] = 'Z';
}

size_t date_format_iso_short(uint64_t ticks, char dst[DATE_ISO_BYTES])
{
	date_format_iso(ticks, dst);
	size_t len = DATE_ISO_BYTES - 1;
	while (dst[len - 1] == '0' && len > 20)
		len--;
	if (dst[len - 1] == '.')
		len--;
	dst[len] = 'Z';
	return len + 1;
}

void date_put_rfc1123(struct buf *out, uint64_t ticks)
{
	char *p = buf_reserve(out, DATE_RFC1123_BYTES);
	if (!p)
		return;
	date_format_rfc1123(ticks, p);
	out->len += DATE_RFC1123_BYTES;
}

void date_put_iso(struct buf *out, uint64_t ticks)
{
	char *p = buf_reserve(out, DATE_ISO_BYTES);
	if (!p)
		return;
	date_format_iso(ticks, p);
	out->len += DATE_ISO_BYTES;
}

/* hh:mm or hh:mm:ss */
static bool parse_time(const char *p, bool seconds, struct date_civil *c)
{
	return char_digits(p, 2, &c->hour) && p[2] == ':' && char_digits(p + 3, 2, &c->minute) &&
	       (!seconds || (p[5] == ':' && char_digits(p + 6, 2, &c->second)));
}

bool date_parse_rfc1123(struct slice text, uint64_t *ret)
{
	const char *p = text.ptr;
	struct date_civil c = { 0 };
	uint64_t ticks;
	if (text.len != DATE_RFC1123_BYTES || memcmp(p + 3, ", ", 2) != 0 || p[7] != ' ' || p[11] != ' ' ||
	    p[16] != ' ' || memcmp(p + 25, " GMT", 4) != 0 || !char_digits(p + 5, 2, &c.day) ||
	    !char_digits(p + 12, 4, &c.year) || !parse_time(p + 17, true, &c))
		return false;
	while (c.month < 12 && memcmp(p + 8, month_names + 3 * c.month, 3) != 0)
		c.month++;
	c.month++;
	if (!date_civil_ticks(&c, &ticks))
		return false;
	unsigned weekday = (unsigned)(ticks / (TICKS_PER_SECOND * SECONDS_PER_DAY) % 7);
	if (memcmp(p, weekday_names + 3 * weekday, 3) != 0)
		return false;
	*ret = ticks;
	return true;
}

/* [.f{1,7}] at the front of *rest. */
static bool parse_fraction(struct slice *rest, unsigned *ret)
{
	if (rest->len == 0 || rest->ptr[0] != '.')
		return true;
	unsigned v = 0, count = 0;
	for (*rest = slice_from(*rest, 1); rest->len && char_is_digit(rest->ptr[0]) && count < 7; count++) {
		v = v * 10 + (unsigned)(rest->ptr[0] - '0');
		*rest = slice_from(*rest, 1);
	}
	if (count == 0)
		return false;
	while (count++ < 7)
		v *= 10;
	*ret = v;
	return true;
}

/* Z, +hh:mm, -hh:mm; the minutes to take off. */
static bool parse_zone(struct slice zone, int *ret_minutes)
{
	unsigned hours, minutes;
	*ret_minutes = 0;
	if (zone.len == 1)
		return zone.ptr[0] == 'Z' || zone.ptr[0] == 'z';
	if (zone.len != 6 || (zone.ptr[0] != '+' && zone.ptr[0] != '-') || !char_digits(zone.ptr + 1, 2, &hours) ||
	    zone.ptr[3] != ':' || !char_digits(zone.ptr + 4, 2, &minutes) || minutes > 59 ||
	    hours * 60 + minutes > 14 * 60)
		return false;
	*ret_minutes = (int)(hours * 60 + minutes) * (zone.ptr[0] == '+' ? 1 : -1);
	return true;
}

bool date_parse_iso(struct slice text, uint64_t *ret)
{
	const char *p = text.ptr;
	struct date_civil c = { 0 };
	uint64_t ticks;
	int zone_minutes = 0;
	if (text.len < 10 || !char_digits(p, 4, &c.year) || p[4] != '-' || !char_digits(p + 5, 2, &c.month) ||
	    p[7] != '-' || !char_digits(p + 8, 2, &c.day))
		return false;
	if (text.len > 10) {
		if (text.len < 16 || (p[10] != 'T' && p[10] != 't') || !parse_time(p + 11, false, &c))
			return false;
		struct slice rest = slice_from(text, 16);
		if (rest.len && rest.ptr[0] == ':') {
			if (rest.len < 3 || !char_digits(rest.ptr + 1, 2, &c.second))
				return false;
			rest = slice_from(rest, 3);
			if (!parse_fraction(&rest, &c.fraction_ticks))
				return false;
		}
		if (!parse_zone(rest, &zone_minutes))
			return false;
	}
	if (!date_civil_ticks(&c, &ticks))
		return false;
	int64_t shifted = (int64_t)ticks - zone_minutes * (int64_t)(60 * TICKS_PER_SECOND);
	if (shifted < 0 || (uint64_t)shifted > DATE_TICKS_MAX)
		return false;
	*ret = (uint64_t)shifted;
	return true;
}
