/* SPDX-License-Identifier: Apache-2.0
 * A search over sixteen bytes at a time finds what a search over one does, and reads nothing beside. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/wide.h"

enum { LENGTH_MAX = 3 * WIDE_BYTES + 3 };

static wide_t is_odd(wide_t c)
{
	return (c < 0x20) | (c == '<');
}

static size_t by_bytes(struct slice s)
{
	size_t at = 0;
	while (at < s.len && (unsigned char)s.ptr[at] >= 0x20 && (unsigned char)s.ptr[at] < 0x80 && s.ptr[at] != '<')
		at++;
	return at;
}

/* In memory of exactly its length, so that a sanitizer sees every read beside. */
static void finds_each_position(void **state)
{
	static const char odd[] = { '<', 0, 0x1f, (char)0x80, (char)0xff, ' ', 0x7f };
	for (size_t len = 0; len <= LENGTH_MAX; len++) {
		char *text = malloc(len ? len : 1);
		assert_non_null(text);
		memset(text, 'a', len);
		assert_int_equal(wide_find(slice_make(text, len), is_odd), len);
		for (size_t at = 0; at < len; at++)
			for (size_t k = 0; k < sizeof odd; k++) {
				text[at] = odd[k];
				text[len - 1] = k % 2 ? '<' : text[len - 1];
				struct slice s = slice_make(text, len);
				assert_int_equal(wide_find(s, is_odd), by_bytes(s));
				text[at] = text[len - 1] = 'a';
			}
		free(text);
	}
	assert_int_equal(wide_find(SLICE_NONE, is_odd), 0);
}

static void tells_every_byte(void **state)
{
	for (unsigned c = 0; c < 256; c++) {
		char one = (char)c;
		struct slice s = slice_make(&one, 1);
		assert_int_equal(wide_find(s, is_odd), by_bytes(s));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(finds_each_position), cmocka_unit_test(tells_every_byte) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
