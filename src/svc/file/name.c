/* SPDX-License-Identifier: Apache-2.0
 * Names and paths. Folded names are written as CESU-8: a character beyond U+FFFF becomes the three-byte forms of its
 * two surrogates, so that plain byte order is the order of UTF-16 code units. */
#include "svc/file/name.h"

#include <utf8proc.h>

enum {
	DOTLESS_I = 0x131,
	LONG_S = 0x17f,
	FIRST_SUPPLEMENTARY = 0x10000,
	HIGH_SURROGATE = 0xd800,
	LOW_SURROGATE = 0xdc00,
	CESU_CHAR_BYTES = 6 /* at most, from four bytes of UTF-8 */
};

/* One code point off the front of *rest; -1 if its bytes are no UTF-8 (one byte is then taken). */
static int32_t take_char(struct slice *rest)
{
	utf8proc_int32_t c;
	unsigned char first = (unsigned char)rest->ptr[0];
	if (first < 0x80) {
		*rest = slice_from(*rest, 1);
		return first;
	}
	utf8proc_ssize_t n = utf8proc_iterate((const utf8proc_uint8_t *)rest->ptr, (utf8proc_ssize_t)rest->len, &c);
	*rest = slice_from(*rest, n > 0 ? (size_t)n : 1);
	return n > 0 ? c : -1;
}

/* ---- what is allowed ---- */

static bool char_is_allowed(int32_t c)
{
	if (c < 0x20 || c == 0x81)
		return false;
	return c >= 0x80 || !strchr("\"\\/:|<>*?", (int)c);
}

static bool is_device_with_digit(struct slice name)
{
	return name.len == 4 && name.ptr[3] >= '1' && name.ptr[3] <= '9' &&
	       (slice_eq_nocase(slice_first(name, 3), SLICE("LPT")) ||
		slice_eq_nocase(slice_first(name, 3), SLICE("COM")));
}

static bool is_reserved(struct slice name)
{
	static const char *const names[] = { ".", "..", "PRN", "AUX", "NUL", "CON", "CLOCK$" };
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (slice_eq_nocase(name, slice_str(names[i])))
			return true;
	return is_device_with_digit(name);
}

/* The length in UTF-16 code units, or an error. */
static enum err count_chars(struct slice name, size_t *ret)
{
	size_t count = 0;
	while (name.len) {
		int32_t c = take_char(&name);
		if (c < 0 || !char_is_allowed(c))
			return ERR_INVALID_RESOURCE_NAME;
		count += c >= FIRST_SUPPLEMENTARY ? 2 : 1;
	}
	*ret = count;
	return ERR_OK;
}

size_t file_name_chars(struct slice name)
{
	size_t count = 0;
	for (size_t i = 0; i < name.len; i++) {
		unsigned char c = (unsigned char)name.ptr[i];
		count += (c & 0xc0) != 0x80; /* the first byte of a character */
		count += c >= 0xf0;	     /* which has two units */
	}
	return count;
}

static enum err check_counted(struct slice name, size_t *ret_chars)
{
	size_t chars;
	if (!name.len || is_reserved(name))
		return ERR_INVALID_RESOURCE_NAME;
	TRY(count_chars(name, &chars));
	if (chars > FILE_NAME_CHARS_MAX)
		return ERR_NAME_LENGTH_OUT_OF_RANGE;
	*ret_chars = chars;
	return ERR_OK;
}

enum err file_name_check(struct slice name)
{
	size_t chars;
	return check_counted(name, &chars);
}

/* ---- paths ---- */

static bool is_separator(char c, struct file_path_rules rules)
{
	return c == '/' || (rules.backslash && c == '\\');
}

static struct slice without_dots(struct slice name, struct file_path_rules rules)
{
	while (!rules.keep_dots && name.len && name.ptr[name.len - 1] == '.')
		name.len--;
	return name;
}

enum err file_path_split(struct arena *arena, struct slice text, struct file_path_rules rules, struct file_path *ret)
{
	if (text.len && is_separator(text.ptr[0], rules))
		text = slice_from(text, 1);
	if (text.len && is_separator(text.ptr[text.len - 1], rules))
		text.len--;
	struct file_path p = { NULL, 0 };
	if (text.len) {
		size_t separators = 0;
		for (size_t i = 0; i < text.len; i++)
			separators += is_separator(text.ptr[i], rules);
		if (separators >= FILE_PATH_DEPTH_MAX || text.len > 4 * FILE_PATH_CHARS_MAX)
			return ERR_INVALID_FILE_OR_DIRECTORY_PATH_NAME;
		p.name = ARENA_NEW_ARRAY(arena, struct slice, separators + 1);
		if (!p.name)
			return ERR_NO_MEMORY;
	}
	size_t chars = 0;
	for (size_t at = 0; at < text.len;) {
		size_t end = at, count;
		while (end < text.len && !is_separator(text.ptr[end], rules))
			end++;
		struct slice name = without_dots(slice_make(text.ptr + at, end - at), rules);
		TRY(check_counted(name, &count));
		chars += count + (p.count ? 1 : 0);
		p.name[p.count++] = name;
		if (end + 1 == text.len) /* a second separator at the end: an empty name */
			return ERR_INVALID_RESOURCE_NAME;
		at = end + 1;
	}
	if (chars > FILE_PATH_CHARS_MAX)
		return ERR_INVALID_FILE_OR_DIRECTORY_PATH_NAME;
	*ret = p;
	return ERR_OK;
}

/* ---- folding ---- */

static int32_t fold_char(int32_t c)
{
	if (c < 0x80)
		return c >= 'a' && c <= 'z' ? c - 32 : c;
	/* Windows' table leaves these two alone: no name outside ASCII folds into it. */
	return c == DOTLESS_I || c == LONG_S ? c : utf8proc_toupper(c);
}

static size_t put_three_bytes(char *dst, int32_t unit)
{
	dst[0] = (char)(0xe0 | (unit >> 12));
	dst[1] = (char)(0x80 | ((unit >> 6) & 0x3f));
	dst[2] = (char)(0x80 | (unit & 0x3f));
	return 3;
}

static size_t put_char(char *dst, int32_t c)
{
	if (c >= FIRST_SUPPLEMENTARY) {
		c -= FIRST_SUPPLEMENTARY;
		size_t n = put_three_bytes(dst, HIGH_SURROGATE + (c >> 10));
		return n + put_three_bytes(dst + n, LOW_SURROGATE + (c & 0x3ff));
	}
	return (size_t)utf8proc_encode_char(c, (utf8proc_uint8_t *)dst);
}

struct slice file_name_fold(struct arena *arena, struct slice name)
{
	/* Three bytes at most from two (U+0250 and its like), six from four. */
	char *dst = arena_alloc(arena, 2 * name.len + CESU_CHAR_BYTES);
	size_t n = 0;
	if (!dst)
		return SLICE_NONE;
	while (name.len) {
		char raw = name.ptr[0];
		int32_t c = take_char(&name);
		if (c < 0)
			dst[n++] = raw;
		else if (c < 0x80)
			dst[n++] = (char)fold_char(c);
		else
			n += put_char(dst + n, fold_char(c));
	}
	return slice_make(dst, n);
}

bool file_name_equal(struct arena *arena, struct slice a, struct slice b)
{
	struct arena_position position = arena_position(arena);
	struct slice x = file_name_fold(arena, a), y = file_name_fold(arena, b);
	bool same = slice_is_set(x) && slice_is_set(y) && slice_eq(x, y);
	arena_rewind(arena, position);
	return same;
}

/* ---- short names ---- */

enum { SHORT_BASE_BYTES = 8, SHORT_RADIX = 36, SHORT_EXTENSION_BYTES = 3 };
#define SHORT_EPOCH_TICKS                                                                                              \
	UINT64_C(637134336000000000) /* 2020: ids are times of creation, and 11 digits are 400 years */
static const char short_digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";

static bool is_short_char(unsigned char c)
{
	return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
	       (c && strchr("!#$%&'()-@^_`{}~", c));
}

bool file_name_is_short(struct slice name)
{
	size_t dot = name.len;
	for (size_t i = 0; i < name.len; i++) {
		if (name.ptr[i] == '.' && dot == name.len)
			dot = i;
		else if (!is_short_char((unsigned char)name.ptr[i]))
			return false;
	}
	size_t extension = dot < name.len ? name.len - dot - 1 : 0;
	return dot >= 1 && dot <= SHORT_BASE_BYTES && extension <= SHORT_EXTENSION_BYTES && dot + 1 != name.len;
}

struct slice file_short_name(uint64_t id, char room[FILE_SHORT_NAME_BYTES])
{
	uint64_t left = id - SHORT_EPOCH_TICKS;
	if (id < SHORT_EPOCH_TICKS)
		return SLICE_NONE;
	for (size_t i = FILE_SHORT_NAME_BYTES; i-- > 0;) {
		if (i == SHORT_BASE_BYTES) {
			room[i] = '.';
			continue;
		}
		room[i] = short_digits[left % SHORT_RADIX];
		left /= SHORT_RADIX;
	}
	return left ? SLICE_NONE : slice_make(room, FILE_SHORT_NAME_BYTES);
}

bool file_short_name_parse(struct slice name, uint64_t *ret_id)
{
	uint64_t value = 0;
	if (name.len != FILE_SHORT_NAME_BYTES)
		return false;
	for (size_t i = 0; i < name.len; i++) {
		char c = name.ptr[i];
		if (c >= 'a' && c <= 'z')
			c = (char)(c - 'a' + 'A');
		const char *digit = i == SHORT_BASE_BYTES || !c ? NULL : strchr(short_digits, c);
		if (!digit && (i != SHORT_BASE_BYTES || c != '.'))
			return false;
		if (digit)
			value = value * SHORT_RADIX + (uint64_t)(digit - short_digits);
	}
	*ret_id = value + SHORT_EPOCH_TICKS;
	return true;
}
