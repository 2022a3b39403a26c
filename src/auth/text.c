/* SPDX-License-Identifier: Apache-2.0
 * Growing text in an arena: strings to sign. See text.h. */
#include "auth/text.h"

char *text_reserve(struct text *t, size_t bytes)
{
	if (t->failed)
		return NULL;
	if (bytes <= t->cap - t->len)
		return t->ptr + t->len;
	size_t cap = t->cap ? t->cap : TEXT_FIRST_BYTES;
	while (cap - t->len < bytes) {
		if (cap > SIZE_MAX / 4) {
			t->failed = true;
			return NULL;
		}
		cap *= 2;
	}
	char *bigger = arena_alloc(t->arena, cap);
	if (!bigger) {
		t->failed = true;
		return NULL;
	}
	if (t->len)
		memcpy(bigger, t->ptr, t->len);
	t->ptr = bigger;
	t->cap = cap;
	return t->ptr + t->len;
}

void text_put_lower(struct text *t, struct slice s)
{
	char *to = text_reserve(t, s.len);
	if (!to)
		return;
	for (size_t i = 0; i < s.len; i++)
		to[i] = text_lower_byte(s.ptr[i]);
	t->len += s.len;
}

enum err text_take(struct text *t, struct slice *ret)
{
	if (t->failed)
		return ERR_NO_MEMORY;
	*ret = slice_make(t->ptr ? t->ptr : "", t->len);
	return ERR_OK;
}
