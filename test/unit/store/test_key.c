/* SPDX-License-Identifier: Apache-2.0
 * Keys keep the order of what they encode, hold no NUL, and can be taken apart again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/sys/rng.h"
#include "store/key.h"

static struct slice random_string(struct rng *r, char *dst)
{
	static const char alphabet[] = { 0, 1, 2, 3, 4, 'a', 'b', (char)0xff };
	size_t len = rng_below(r, 7);
	for (size_t i = 0; i < len; i++)
		dst[i] = alphabet[rng_below(r, sizeof alphabet)];
	return slice_make(dst, len);
}

static int sign(int v)
{
	return (v > 0) - (v < 0);
}

static void strings_keep_order(void **state)
{
	struct rng r;
	rng_init_seed(&r, 7);
	for (int i = 0; i < 20000; i++) {
		char a[8], b[8], back[64];
		struct slice sa = random_string(&r, a), sb = random_string(&r, b), got;
		struct key ka, kb;
		key_init(&ka);
		key_str(&ka, sa);
		key_tag(&ka, 'x');
		key_init(&kb);
		key_str(&kb, sb);
		key_tag(&kb, 'a');
		int want = sign(slice_cmp(sa, sb));
		assert_int_equal(sign(slice_cmp(key_slice(&ka), key_slice(&kb))), want ? want : 1);
		assert_null(memchr(ka.bytes, 0, ka.len));
		struct slice rest = key_slice(&ka);
		assert_true(key_take_str(&rest, back, sizeof back, &got));
		assert_true(slice_eq(got, sa));
		assert_true(key_take_tag(&rest, 'x'));
		assert_int_equal(rest.len, 0);
	}
}

/* The encoding, byte by byte. */
static void check_string(struct slice s)
{
	struct key k;
	char want[2 * 4200];
	size_t len = 0;
	for (size_t i = 0; i < s.len; i++) {
		if ((unsigned char)s.ptr[i] <= 2)
			want[len++] = 2;
		want[len++] = (unsigned char)s.ptr[i] <= 2 ? (char)(s.ptr[i] + 3) : s.ptr[i];
	}
	key_init(&k);
	key_str_open(&k, s);
	assert_int_equal(k.overflow, len > LIMIT_KEY_BYTES);
	assert_int_equal(k.len, len < LIMIT_KEY_BYTES ? len : LIMIT_KEY_BYTES);
	assert_memory_equal(k.bytes, want, k.len);
}

static void strings_of_every_length_and_byte(void **state)
{
	static char text[4200];
	for (size_t len = 0; len <= 36; len++)
		for (size_t at = 0; at < (len ? len : 1); at++)
			for (unsigned c = 0; c < 256; c += c < 8 ? 1 : 31) {
				memset(text, 'k', len);
				text[at] = (char)c;
				text[len / 2] = (char)(c % 4);
				char *exact = malloc(len ? len : 1); /* a sanitizer sees reads behind its end */
				assert_non_null(exact);
				memcpy(exact, text, len);
				check_string(slice_make(exact, len));
				free(exact);
			}
	for (size_t len = LIMIT_KEY_BYTES - 3; len <= LIMIT_KEY_BYTES + 3; len++)
		for (size_t escapes = 0; escapes < 5; escapes++) {
			memset(text, 'k', len);
			memset(text + len / 2, 1, escapes);
			check_string(slice_make(text, len));
			text[len - 1] = 2;
			check_string(slice_make(text, len));
		}
}

static void an_open_string_is_a_prefix(void **state)
{
	struct key whole, open, end;
	key_init(&whole);
	key_str(&whole, SLICE("dir\x01/file"));
	key_init(&open);
	key_str_open(&open, SLICE("dir\x01/"));
	assert_true(slice_has_prefix(key_slice(&whole), key_slice(&open)));
	end = open;
	key_prefix_end(&end);
	assert_true(slice_cmp(key_slice(&whole), key_slice(&end)) < 0);
	assert_true(slice_cmp(key_slice(&open), key_slice(&end)) < 0);
}

static void prefix_end_carries(void **state)
{
	struct key k;
	key_init(&k);
	key_str_open(&k, SLICE("a\xff\xff"));
	key_prefix_end(&k);
	assert_true(slice_eq(key_slice(&k), SLICE("b")));
}

static void numbers_keep_order(void **state)
{
	static const uint64_t edge[] = {
		0, 1, 127, 128, 16383, 16384, UINT32_MAX, UINT64_C(1) << 63, UINT64_MAX - 1, UINT64_MAX
	};
	for (size_t i = 0; i < sizeof edge / sizeof edge[0]; i++) {
		struct key a;
		uint64_t back;
		key_init(&a);
		key_u64(&a, edge[i]);
		assert_int_equal(a.len, KEY_U64_BYTES);
		struct slice rest = key_slice(&a);
		assert_true(key_take_u64(&rest, &back));
		assert_int_equal(back, edge[i]);
		for (size_t k = 0; k < i; k++) {
			struct key b, c, d;
			key_init(&b);
			key_u64(&b, edge[k]);
			assert_true(slice_cmp(key_slice(&b), key_slice(&a)) < 0);
			key_init(&c);
			key_u64_desc(&c, edge[k]);
			key_init(&d);
			key_u64_desc(&d, edge[i]);
			assert_true(slice_cmp(key_slice(&d), key_slice(&c)) < 0);
			rest = key_slice(&c);
			assert_true(key_take_u64_desc(&rest, &back));
			assert_int_equal(back, edge[k]);
		}
	}
}

static void after_is_the_next_key(void **state)
{
	struct key a, longest, b;
	key_after(&a, SLICE("k"));
	assert_true(slice_eq(key_slice(&a), SLICE("k\x01")));
	key_init(&longest);
	while (longest.len < LIMIT_KEY_BYTES)
		key_tag(&longest, 'z');
	assert_false(longest.overflow);
	key_after(&b, key_slice(&longest));
	assert_false(b.overflow);
	assert_true(slice_cmp(key_slice(&longest), key_slice(&b)) < 0);
	key_tag(&longest, 'z');
	assert_true(longest.overflow);
}

static void bad_keys_are_refused(void **state)
{
	char dst[16];
	struct slice s, rest = SLICE("abc");
	uint64_t n;
	assert_false(key_take_str(&rest, dst, sizeof dst, &s)); /* no end */
	rest = SLICE("a\x02\x09\x01");
	assert_false(key_take_str(&rest, dst, sizeof dst, &s)); /* no such escape */
	rest = SLICE("abcdef\x01");
	assert_false(key_take_str(&rest, dst, 3, &s)); /* no room */
	rest = SLICE("\x80\x80\x80\x80\x80\x80\x80\x80\x80");
	assert_false(key_take_u64(&rest, &n)); /* short */
	rest = SLICE("\x82\x80\x80\x80\x80\x80\x80\x80\x80\x80");
	assert_false(key_take_u64(&rest, &n)); /* more than 64 bits */
	rest = SLICE("\x80\x80\x80\x80\x80\x01\x80\x80\x80\x80");
	assert_false(key_take_u64(&rest, &n));
}

static void meta_comes_first(void **state)
{
	struct key k;
	key_init(&k);
	key_tag(&k, 'A');
	key_str(&k, SLICE(""));
	assert_true(slice_cmp(KEY_META, key_slice(&k)) < 0);
	assert_true(slice_cmp(KEY_META, KEY_STAMP) < 0);
	assert_true(slice_cmp(KEY_STAMP, key_slice(&k)) < 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(strings_keep_order),	 cmocka_unit_test(an_open_string_is_a_prefix),
		cmocka_unit_test(prefix_end_carries),	 cmocka_unit_test(numbers_keep_order),
		cmocka_unit_test(after_is_the_next_key), cmocka_unit_test(bad_keys_are_refused),
		cmocka_unit_test(meta_comes_first),	 cmocka_unit_test(strings_of_every_length_and_byte),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
