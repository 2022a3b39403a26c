/* SPDX-License-Identifier: Apache-2.0
 * Dates of headers (RFC 1123) and of XML, JSON and query strings (ISO 8601), to and from ticks (base/clock.h).
 * The calendar is proleptic Gregorian, years 1 to 9999. Formatting clamps later ticks to the last one of 9999, so that
 * TICKS_FOREVER prints as the service prints "never". Formatters write no NUL. */
#ifndef WIRE_DATE_H
#define WIRE_DATE_H

#include "base/buf.h"

enum {
	DATE_RFC1123_BYTES = 29, /* Sun, 06 Nov 1994 08:49:37 GMT */
	DATE_ISO_BYTES = 28,	 /* 1994-11-06T08:49:37.0000000Z */
};
#define DATE_TICKS_MAX UINT64_C(3155378975999999999)

/* Civil time, also for partition names, $logs and tests. */
struct date_civil {
	unsigned year, month, day; /* from 1 */
	unsigned hour, minute, second, fraction_ticks;
	unsigned weekday; /* 0 = Monday */
};
void date_civil_of(uint64_t ticks, struct date_civil *ret);
/* False if a field is out of its range; weekday is not looked at. */
bool date_civil_ticks(const struct date_civil *, uint64_t *ret);

void date_format_rfc1123(uint64_t ticks, char dst[DATE_RFC1123_BYTES]);
void date_format_iso(uint64_t ticks, char dst[DATE_ISO_BYTES]);
/* Without trailing zeros of the fraction, and without a fraction of zero; the number of characters written. */
size_t date_format_iso_short(uint64_t ticks, char dst[DATE_ISO_BYTES]);
void date_put_rfc1123(struct buf *, uint64_t ticks);
void date_put_iso(struct buf *, uint64_t ticks);

/* Exactly the form above, English names, the right weekday. */
bool date_parse_rfc1123(struct slice text, uint64_t *ret);
/* YYYY-MM-DD, YYYY-MM-DDThh:mmTZD, YYYY-MM-DDThh:mm:ss[.f{1,7}]TZD; TZD is Z, +hh:mm or -hh:mm, at most 14 hours. */
bool date_parse_iso(struct slice text, uint64_t *ret);

#endif
