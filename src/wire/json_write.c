/* SPDX-License-Identifier: Apache-2.0
 * JSON strings and numbers into a buffer. Text that needs no escape is copied as one run. */
#include <math.h>

#include "wire/chars.h"
#include "wire/json.h"

/* Printable ASCII but the quote and the backslash. */
static size_t plain_run(struct slice s)
{
	size_t n = 0;
	while (n < s.len && s.ptr[n] >= 0x20 && s.ptr[n] < 0x7f && s.ptr[n] != '"' && s.ptr[n] != '\\')
		n++;
	return n;
}

static size_t put_special(struct buf *out, struct slice s)
{
	static const char letters[] = "btnvfr"; /* 8..13; \v is no JSON */
	uint32_t c;
	size_t n = char_utf8_decode(s.ptr, s.ptr + s.len, &c);
	if (n == 0) {
		BUF_PUT(out, "\xef\xbf\xbd");
		return 1;
	}
	if (c == '"' || c == '\\' || (c >= 8 && c <= 13 && c != 11)) {
		buf_put_byte(out, '\\');
		buf_put_byte(out, (unsigned char)(c <= 13 ? letters[c - 8] : (char)c));
	} else if (c < 0x20) {
		buf_printf(out, "\\u%04x", c);
	} else {
		buf_put(out, slice_first(s, n));
	}
	return n;
}

void json_put_text(struct buf *out, struct slice s)
{
	while (s.len) {
		size_t n = plain_run(s);
		buf_put(out, slice_first(s, n));
		s = slice_from(s, n);
		if (s.len)
			s = slice_from(s, put_special(out, s));
	}
}

void json_put_double(struct buf *out, double v)
{
	char text[40];
	if (isnan(v) || isinf(v)) {
		buf_put(out, isnan(v) ? SLICE("\"NaN\"") : v > 0 ? SLICE("\"Infinity\"") : SLICE("\"-Infinity\""));
		return;
	}
	int len = 0;
	for (int digits = 15; digits <= 17; digits++) {
		len = snprintf(text, sizeof text, "%.*g", digits, v);
		if (strtod(text, NULL) == v)
			break;
	}
	buf_put(out, slice_make(text, (size_t)len));
	if (!strpbrk(text, ".e"))
		BUF_PUT(out, ".0");
}
