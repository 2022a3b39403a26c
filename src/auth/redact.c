/* SPDX-License-Identifier: Apache-2.0
 * Finding signatures however they are spelled. Clients send whole addresses as paths (%3Fsig=), separate parameters
 * with ';', put blanks around names and encode twice; the rule errs towards hiding too much. */
#include "auth/redact.h"

enum { DECODE_ROUNDS = 4 }; /* of "%25253D"; who encodes deeper is not understood by any client either */

static int hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)(c | 0x20);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The character at the front of *text, percent-encoding taken off as often as it was put on; moves past it. */
static char take_char(struct slice *text)
{
	char c = text->ptr[0];
	size_t used = 1;
	/* "%", then any number of "25" (each an encoded '%'), then two digits. */
	for (int round = 0; c == '%' && round < DECODE_ROUNDS; round++) {
		struct slice digits = slice_from(*text, used);
		if (digits.len < 2 || hex_value(digits.ptr[0]) < 0 || hex_value(digits.ptr[1]) < 0)
			break;
		c = (char)(hex_value(digits.ptr[0]) << 4 | hex_value(digits.ptr[1]));
		used += 2;
	}
	*text = slice_from(*text, used);
	return c;
}

static bool is_word_char(char c)
{
	char l = (char)(c | 0x20);
	return (l >= 'a' && l <= 'z') || (c >= '0' && c <= '9');
}

/* A word of three letters or digits at the front, whatever stands behind it; *text moves past it. */
static bool take_sig(struct slice *text)
{
	static const char word[] = "sig";
	struct slice rest = *text;
	for (int i = 0; i < 3; i++) {
		if (rest.len == 0 || (take_char(&rest) | 0x20) != word[i])
			return false;
	}
	struct slice next = rest;
	if (rest.len > 0 && is_word_char(take_char(&next)))
		return false;
	*text = rest;
	return true;
}

/* '=' or ':' behind anything that is no letter, digit or separator of parameters: moves past it. */
static bool take_equals(struct slice *text)
{
	struct slice rest = *text;
	while (rest.len > 0) {
		char c = take_char(&rest);
		if (c == '=' || c == ':') {
			*text = rest;
			return true;
		}
		if (is_word_char(c) || c == '&' || c == ';' || c == '/')
			return false;
	}
	return false;
}

static struct slice skip_value(struct slice text)
{
	while (text.len > 0) {
		struct slice next = text;
		char c = take_char(&next);
		if (c == '&' || c == ';' || c == ' ' || c == '\n' || c == '"')
			break;
		text = next;
	}
	return text;
}

struct slice redact_next(struct slice *text, bool *ret_hidden)
{
	struct slice all = *text, rest = *text;
	bool in_word = false;
	while (rest.len > 0) {
		struct slice behind = rest;
		if (!in_word && take_sig(&behind) && take_equals(&behind)) {
			*ret_hidden = true;
			*text = skip_value(behind);
			return slice_first(all, all.len - behind.len);
		}
		in_word = is_word_char(take_char(&rest));
	}
	*ret_hidden = false;
	*text = rest;
	return all;
}

bool redact_is_secret_name(struct slice name)
{
	static const char *const names[] = { "x-ms-copy-source-authorization", "x-ms-encryption-key",
					     "x-ms-source-encryption-key", "authorization" };
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (slice_eq_nocase(name, slice_str(names[i])))
			return true;
	bool in_word = false;
	while (name.len > 0) {
		if (!in_word && take_sig(&name))
			return true;
		if (name.len > 0)
			in_word = is_word_char(take_char(&name));
	}
	return false;
}
