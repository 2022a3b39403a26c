/* SPDX-License-Identifier: Apache-2.0
 * A slice is a read-only view of bytes that somebody else owns; it is passed by value and never freed.
 * It needs no terminating NUL. A slice with ptr == NULL is "absent", one with len == 0 and ptr != NULL is "empty";
 * slice_is_set() tells them apart where a header or parameter may be missing. */
#ifndef BASE_SLICE_H
#define BASE_SLICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct slice {
	const char *ptr;
	size_t len;
};

#define SLICE(literal) ((struct slice){ "" literal, sizeof(literal) - 1 })
#define SLICE_NONE     ((struct slice){ NULL, 0 })
/* For printf("%.*s"). */
#define SLICE_FMT(s) (int)(s).len, (s).ptr

static inline struct slice slice_make(const void *ptr, size_t len)
{
	return (struct slice){ (const char *)ptr, len };
}
static inline struct slice slice_str(const char *s)
{
	return s ? (struct slice){ s, strlen(s) } : SLICE_NONE;
}
static inline bool slice_is_set(struct slice s)
{
	return s.ptr != NULL;
}
static inline bool slice_eq(struct slice a, struct slice b)
{
	return a.len == b.len && (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0);
}
static inline bool slice_has_prefix(struct slice s, struct slice prefix)
{
	return s.len >= prefix.len && (prefix.len == 0 || memcmp(s.ptr, prefix.ptr, prefix.len) == 0);
}
static inline struct slice slice_from(struct slice s, size_t skip)
{
	return skip >= s.len ? slice_make(s.ptr ? s.ptr + s.len : NULL, 0) : slice_make(s.ptr + skip, s.len - skip);
}
static inline struct slice slice_first(struct slice s, size_t len)
{
	return slice_make(s.ptr, len < s.len ? len : s.len);
}

/* One of 64 marks for a name, whatever its case. The marks of a list, taken together, tell of nearly every name that is
 * not in it without a search. */
static inline uint64_t slice_name_mark(struct slice name)
{
	unsigned last = name.len ? (unsigned char)name.ptr[name.len - 1] | 0x20u : 0;
	return UINT64_C(1) << ((5 * name.len + last) & 63);
}

/* Byte order, shorter first on a common prefix. */
int slice_cmp(struct slice a, struct slice b);
/* ASCII case-insensitive. */
bool slice_eq_nocase(struct slice a, struct slice b);
bool slice_has_prefix_nocase(struct slice s, struct slice prefix);
/* Position of the first `c`, or s.len. */
static inline size_t slice_find_byte(struct slice s, char c)
{
	const char *at = s.len ? memchr(s.ptr, c, s.len) : NULL;
	return at ? (size_t)(at - s.ptr) : s.len;
}
/* Without leading and trailing spaces and tabs. */
struct slice slice_trim(struct slice s);
/* Splits at the first `c`: returns what stands before, moves *rest behind it; *rest becomes absent when no `c` is left.
 */
struct slice slice_cut(struct slice *rest, char c);
/* Decimal digits only, no sign, no blanks, no overflow. */
bool slice_to_u64(struct slice s, uint64_t *ret);
/* As above with an optional '-'. */
bool slice_to_i64(struct slice s, int64_t *ret);
/* Same answer in the same time whatever the bytes (lengths may be public). */
bool slice_eq_consttime(struct slice a, struct slice b);

#endif
