/* SPDX-License-Identifier: Apache-2.0
 * What every unit test of this room needs. */
#ifndef WIRE_TEST_H
#define WIRE_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/slice.h"

static inline void assert_slice(struct slice s, const char *text)
{
	if (!s.ptr || s.len != strlen(text) || memcmp(s.ptr, text, s.len) != 0)
		fail_msg("got '%.*s', expected '%s'", (int)s.len, s.ptr ? s.ptr : "(absent)", text);
}

/* A copy on the heap of exactly that size, so that the address sanitizer sees a read past its end. */
static inline struct slice exact(const void *bytes, size_t len)
{
	char *p = malloc(len ? len : 1);
	assert_non_null(p);
	if (len)
		memcpy(p, bytes, len);
	return slice_make(p, len);
}
static inline void exact_free(struct slice s)
{
	free((void *)(uintptr_t)s.ptr);
}

#endif
