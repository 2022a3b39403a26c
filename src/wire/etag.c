/* SPDX-License-Identifier: Apache-2.0
 * ETags: a tick as the quoted 0x... text of the services, and lists of them in conditional headers. */
#include "wire/etag.h"

#include "base/limits.h"
#include "wire/chars.h"

enum { ETAG_DIGITS = 15 };

void etag_format(uint64_t etag, char dst[ETAG_BYTES])
{
	static const char digits[] = "0123456789ABCDEF";
	dst[0] = dst[ETAG_BYTES - 1] = '"';
	dst[1] = '0';
	dst[2] = 'x';
	for (size_t i = ETAG_DIGITS; i-- > 0; etag >>= 4)
		dst[3 + i] = digits[etag & 15];
}

void etag_put(struct buf *out, uint64_t etag)
{
	char text[ETAG_BYTES];
	etag_format(etag, text);
	buf_put(out, slice_make(text, sizeof text));
}

bool etag_parse(struct slice text, uint64_t *ret)
{
	if (text.len == ETAG_BYTES && text.ptr[0] == '"' && text.ptr[ETAG_BYTES - 1] == '"')
		text = slice_make(text.ptr + 1, ETAG_BYTES - 2);
	if (text.len != ETAG_BYTES - 2 || text.ptr[0] != '0' || text.ptr[1] != 'x')
		return false;
	uint64_t v = 0;
	for (size_t i = 2; i < text.len; i++) {
		int d = char_hex(text.ptr[i]);
		/* ETags are compared as strings: lower-case digits are another one. */
		if (d < 0 || text.ptr[i] >= 'a')
			return false;
		v = v << 4 | (unsigned)d;
	}
	*ret = v;
	return true;
}

/* Cuts the next entry off; false on an open quote or text behind a closing one. */
static bool list_cut(struct slice *rest, struct slice *ret)
{
	struct slice s = slice_trim(*rest);
	size_t quote = slice_has_prefix(s, SLICE("W/\"")) ? 2 : 0;
	if (s.len <= quote || s.ptr[quote] != '"') {
		*ret = slice_trim(slice_cut(&s, ','));
		*rest = s;
		return ret->len != 0 && slice_find_byte(*ret, '"') == ret->len;
	}
	size_t close = slice_find_byte(slice_from(s, quote + 1), '"') + quote + 1;
	if (close >= s.len)
		return false;
	*ret = slice_first(s, close + 1);
	s = slice_from(s, close + 1);
	bool clean = slice_trim(slice_cut(&s, ',')).len == 0;
	*rest = s;
	return clean;
}

enum err etag_parse_list(struct slice header, struct arena *arena, struct etag_list *ret)
{
	struct etag_list list = { 0 };
	uint64_t *etags = NULL;
	size_t entries = 0;
	do {
		struct slice entry;
		if (!list_cut(&header, &entry) || list.any)
			return ERR_SYNTAX;
		if (entries == LIMIT_ETAGS)
			return ERR_LIMIT;
		if (slice_eq(entry, SLICE("*"))) {
			if (entries)
				return ERR_SYNTAX;
			list.any = true;
		}
		entries++;
		uint64_t etag;
		if (list.any)
			continue;
		if (!etag_parse(entry, &etag)) {
			list.foreign_count++;
			continue;
		}
		if (!etags && !(etags = arena_alloc(arena, (slice_is_set(header) ? LIMIT_ETAGS : 1) * sizeof *etags)))
			return ERR_NO_MEMORY;
		etags[list.count++] = etag;
	} while (slice_is_set(header));
	list.etags = etags;
	*ret = list;
	return ERR_OK;
}
