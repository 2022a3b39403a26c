/* SPDX-License-Identifier: Apache-2.0
 * The pattern is run as a machine with one state per position: the set of positions reached after each character of the
 * name. Nothing is tried twice, so `*a*a*a*b` costs no more than any other pattern. Characters are bytes of UTF-8, and
 * `?` takes a whole one. */
#include "smb/pattern.h"

#include <assert.h>

static size_t char_bytes(struct slice s, size_t at)
{
	size_t end = at + 1;
	while (end < s.len && ((unsigned char)s.ptr[end] & 0xC0) == 0x80)
		end++;
	return end - at;
}

static size_t last_dot(struct slice name)
{
	size_t at = name.len;
	while (at > 0 && name.ptr[at - 1] != '.')
		at--;
	return at ? at - 1 : name.len;
}

/* Adds what can be reached without a character: `*` and `<` may match nothing, `>` and `"` too at certain places. */
static void close_over(struct slice p, bool *set, bool at_end, bool at_dot)
{
	for (size_t i = 0; i < p.len; i++) {
		if (!set[i])
			continue;
		char c = p.ptr[i];
		if (c == '*' || c == '<' || (c == '>' && (at_end || at_dot)) || (c == '"' && at_end))
			set[i + 1] = true;
	}
}

/* The positions after a character of the name. `is_last`: it is the last dot. */
static void step(struct slice p, struct slice character, bool is_last, const bool *from, bool *to)
{
	bool is_dot = character.ptr[0] == '.';
	for (size_t i = 0; i < p.len; i++) {
		char c = p.ptr[i];
		if (!from[i])
			continue;
		if (c == '*' || (c == '<' && !is_last))
			to[i] = true;
		else if (c == '?' || (c == '>' && !is_dot) || (c == '"' && is_dot))
			to[i + 1] = true;
		else if (slice_has_prefix(slice_from(p, i), character))
			to[i + character.len] = true;
	}
}

struct slice pattern_prefix(struct slice p)
{
	const struct slice wildcards = SLICE("*?<>\"");
	size_t end = 0;
	while (end < p.len && slice_find_byte(wildcards, p.ptr[end]) == wildcards.len)
		end++;
	return slice_first(p, end);
}

bool pattern_matches(struct slice p, struct slice name)
{
	bool set[2][PATTERN_MAX + 1];
	unsigned now = 0;
	size_t dot = last_dot(name);
	if (p.len > PATTERN_MAX)
		return false;
	memset(set[0], 0, p.len + 1);
	set[0][0] = true;
	for (size_t at = 0; at < name.len;) {
		size_t len = char_bytes(name, at);
		close_over(p, set[now], false, name.ptr[at] == '.');
		memset(set[!now], 0, p.len + 1);
		step(p, slice_make(name.ptr + at, len), at == dot, set[now], set[!now]);
		now = !now;
		at += len;
	}
	close_over(p, set[now], true, false);
	return set[now][p.len];
}
