/* SPDX-License-Identifier: Apache-2.0
 * A string to sign, built in the arena. A failed append marks it failed; the builder looks once, at the end. */
#ifndef AUTH_TEXT_H
#define AUTH_TEXT_H

#include "base/arena.h"
#include "base/err.h"
#include "base/slice.h"

struct text {
	struct arena *arena;
	char *ptr;
	size_t len;
	size_t cap;
	bool failed;
};

enum { TEXT_FIRST_BYTES = 768 }; /* a usual string to sign fits */

static inline void text_init(struct text *t, struct arena *arena)
{
	*t = (struct text){ .arena = arena };
}
/* Room for `bytes` more, or NULL. */
char *text_reserve(struct text *, size_t bytes);

static inline void text_put(struct text *t, struct slice s)
{
	char *to = text_reserve(t, s.len);
	if (to && s.len) {
		memcpy(to, s.ptr, s.len);
		t->len += s.len;
	}
}
static inline void text_byte(struct text *t, char c)
{
	char *to = text_reserve(t, 1);
	if (to) {
		*to = c;
		t->len++;
	}
}
/* The slice (absent = nothing) and a line feed. */
static inline void text_line(struct text *t, struct slice s)
{
	char *to = text_reserve(t, s.len + 1);
	if (!to)
		return;
	if (s.len)
		memcpy(to, s.ptr, s.len);
	to[s.len] = '\n';
	t->len += s.len + 1;
}
void text_put_lower(struct text *, struct slice);
enum err text_take(struct text *, struct slice *ret) MUST_CHECK;

static inline char text_lower_byte(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
}

#endif
