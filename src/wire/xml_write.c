/* SPDX-License-Identifier: Apache-2.0
 * XML elements and text into a buffer, escaped as the services escape. */
#include "wire/chars.h"
#include "wire/date.h"
#include "wire/http/uri.h"
#include "wire/xml.h"

void xml_begin(struct buf *out)
{
	BUF_PUT(out, "\xef\xbb\xbf");
	xml_begin_plain(out);
}

void xml_begin_plain(struct buf *out)
{
	BUF_PUT(out, "<?xml version=\"1.0\" encoding=\"utf-8\"?>");
}

static char *copy(char *dst, struct slice s)
{
	if (s.len)
		memcpy(dst, s.ptr, s.len);
	return dst + s.len;
}

void xml_open_slice(struct buf *out, struct slice name)
{
	char *p = buf_reserve(out, name.len + 2);
	if (!p)
		return;
	*p = '<';
	*copy(p + 1, name) = '>';
	out->len += name.len + 2;
}

void xml_close_slice(struct buf *out, struct slice name)
{
	char *p = buf_reserve(out, name.len + 3);
	if (!p)
		return;
	*p = '<';
	p[1] = '/';
	*copy(p + 2, name) = '>';
	out->len += name.len + 3;
}

/* The length of a run that stands for itself in text and attributes: printable ASCII but & < > " '. */
static size_t plain_run(struct slice s)
{
	static const unsigned char special[128] = {
		1, 1, 1, 1, 1, 1, 1,	     1,		1,	    1,	       1,	  1,	     1,
		1, 1, 1, 1, 1, 1, 1,	     1,		1,	    1,	       1,	  1,	     1,
		1, 1, 1, 1, 1, 1, ['"'] = 1, ['&'] = 1, ['\''] = 1, ['<'] = 1, ['>'] = 1, [127] = 1,
	};
	size_t n = 0;
	while (n < s.len && (unsigned char)s.ptr[n] < 128 && !special[(unsigned char)s.ptr[n]])
		n++;
	return n;
}

static bool legal(uint32_t c)
{
	return c >= 0x20 ? c != 0xfffe && c != 0xffff : c == '\t' || c == '\n' || c == '\r';
}

/* One character that is not plain: what stands for it, and how many bytes it took. */
static size_t take_special(struct slice s, bool in_attr, struct slice *ret)
{
	uint32_t c;
	size_t n = char_utf8_decode(s.ptr, s.ptr + s.len, &c);
	if (n == 0 || !legal(c)) {
		*ret = SLICE("\xef\xbf\xbd");
		return n ? n : 1;
	}
	*ret = slice_first(s, n);
	switch (c) {
	case '&':
		*ret = SLICE("&amp;");
		break;
	case '<':
		*ret = SLICE("&lt;");
		break;
	case '>':
		*ret = SLICE("&gt;");
		break;
	case '\r': /* a reader would turn it into a line feed */
		*ret = SLICE("&#xD;");
		break;
	case '\n':
	case '\t':
		if (in_attr)
			*ret = c == '\n' ? SLICE("&#xA;") : SLICE("&#x9;");
		break;
	case '"':
		if (in_attr)
			*ret = SLICE("&quot;");
		break;
	}
	return n;
}

static void put_escaped(struct buf *out, struct slice s, bool in_attr)
{
	while (s.len) {
		size_t n = plain_run(s);
		buf_put(out, slice_first(s, n));
		s = slice_from(s, n);
		if (s.len) {
			struct slice special;
			s = slice_from(s, take_special(s, in_attr, &special));
			buf_put(out, special);
		}
	}
}

char *xml_copy_text(char *dst, struct slice text)
{
	while (text.len) {
		size_t n = plain_run(text);
		dst = copy(dst, slice_first(text, n));
		text = slice_from(text, n);
		if (text.len) {
			struct slice special;
			text = slice_from(text, take_special(text, false, &special));
			dst = copy(dst, special);
		}
	}
	return dst;
}

void xml_open_attr(struct buf *out, const char *name, const char *attr, struct slice value)
{
	BUF_PUT(out, "<");
	buf_put(out, slice_str(name));
	BUF_PUT(out, " ");
	buf_put(out, slice_str(attr));
	BUF_PUT(out, "=\"");
	put_escaped(out, value, true);
	BUF_PUT(out, "\">");
}

void xml_put_text(struct buf *out, struct slice text)
{
	put_escaped(out, text, false);
}

void xml_put_slice(struct buf *out, struct slice name, struct slice text)
{
	/* One reservation for all that needs no escape, which is nearly everything. */
	char *p = buf_reserve(out, 2 * name.len + text.len + 5);
	if (!p)
		return;
	char *start = p;
	*p++ = '<';
	p = copy(p, name);
	if (text.len == 0) {
		p = copy(p, SLICE(" />"));
	} else if (plain_run(text) == text.len) {
		*p++ = '>';
		p = copy(p, text);
		*p++ = '<';
		*p++ = '/';
		p = copy(p, name);
		*p++ = '>';
	} else {
		xml_open_slice(out, name);
		put_escaped(out, text, false);
		xml_close_slice(out, name);
		return;
	}
	out->len += (size_t)(p - start);
}

void xml_put_u64(struct buf *out, const char *name, uint64_t v)
{
	xml_open(out, name);
	buf_put_u64_dec(out, v);
	xml_close(out, name);
}

void xml_put_bool(struct buf *out, const char *name, bool v)
{
	xml_open(out, name);
	buf_put(out, v ? SLICE("true") : SLICE("false"));
	xml_close(out, name);
}

void xml_put_rfc1123(struct buf *out, const char *name, uint64_t ticks)
{
	xml_open(out, name);
	date_put_rfc1123(out, ticks);
	xml_close(out, name);
}

void xml_put_iso(struct buf *out, const char *name, uint64_t ticks)
{
	xml_open(out, name);
	date_put_iso(out, ticks);
	xml_close(out, name);
}

bool xml_is_legal(struct slice s)
{
	for (s = slice_from(s, plain_run(s)); s.len; s = slice_from(s, plain_run(s))) {
		uint32_t c;
		size_t n = char_utf8_decode(s.ptr, s.ptr + s.len, &c);
		if (n == 0 || !legal(c))
			return false;
		s = slice_from(s, n);
	}
	return true;
}

void xml_put_name(struct buf *out, const char *name, struct slice text)
{
	if (xml_is_legal(text)) {
		xml_put(out, name, text);
		return;
	}
	xml_open_attr(out, name, "Encoded", SLICE("true"));
	uri_encode(out, text, "/");
	xml_close(out, name);
}
