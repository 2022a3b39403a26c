/* SPDX-License-Identifier: Apache-2.0
 * Paths, queries and percent-encoding: what is taken, what is refused. */
#include "wire/http/uri.h"

#include "base/limits.h"
#include "wire_test.h"

static void test_decode(void **state)
{
	static const struct {
		const char *in, *out; /* out NULL: refused */
	} rows[] = {
		{ "", "" },
		{ "abc", "abc" },
		{ "a%20b", "a b" },
		{ "a+b", "a+b" },
		{ "%2F%2f", "//" },
		{ "%C3%A4", "\xc3\xa4" },
		{ "%F0%9F%98%80", "\xf0\x9f\x98\x80" },
		{ "%25%32%35", "%25" },
		{ "%", NULL },
		{ "%2", NULL },
		{ "a%2", NULL },
		{ "%zz", NULL },
		{ "%2z", NULL },
		{ "% 20", NULL },
		{ "%00", NULL },
		{ "a%00b", NULL },
		{ "%C3", NULL },
		{ "%C3%28", NULL },
		{ "%C0%AF", NULL },	  /* overlong */
		{ "%E0%80%AF", NULL },	  /* overlong */
		{ "%ED%A0%80", NULL },	  /* surrogate */
		{ "%F4%90%80%80", NULL }, /* above U+10FFFF */
		{ "%FF", NULL },
		{ "%80", NULL },
		{ "long enough for eight at a time %80", NULL },
		{ "12345678%00", NULL },
	};
	struct arena arena;
	arena_init(&arena, 1 << 20);
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct slice in = exact(rows[i].in, strlen(rows[i].in)), out = SLICE_NONE;
		enum err e = uri_decode(in, &arena, &out);
		exact_free(in);
		if (rows[i].out) {
			assert_int_equal(e, ERR_OK);
			assert_slice(out, rows[i].out);
		} else if (e != ERR_SYNTAX) {
			fail_msg("not refused: %s", rows[i].in);
		}
	}
	arena_fini(&arena);
}

static void test_query(void **state)
{
	struct arena arena;
	struct query q = { 0 };
	arena_init(&arena, 1 << 20);
	assert_int_equal(uri_parse_query(SLICE("restype=container&&COMP=list&prefix=a%26b%3D&x&y=&=v&sig=a+b/"
					       "c%3D=&comp=2&+p%2b+=%2B++%20"),
					 &arena, &q),
			 ERR_OK);
	assert_int_equal(q.count, 9);
	assert_slice(query_get(&q, SLICE(" p+ ")), "+   ");
	assert_slice(query_get(&q, SLICE("RESTYPE")), "container");
	assert_slice(query_get(&q, SLICE("comp")), "list");
	assert_int_equal(query_count(&q, SLICE("comp")), 2);
	assert_slice(query_get(&q, SLICE("prefix")), "a&b=");
	assert_slice(query_get(&q, SLICE("x")), "");
	assert_slice(query_get(&q, SLICE("y")), "");
	assert_slice(query_get(&q, SLICE("")), "v");
	assert_slice(query_get(&q, SLICE("sig")), "a b/c==");
	assert_slice(q.params[6].raw_value, "a+b/c%3D=");
	assert_slice(q.params[3].raw_value, "");
	assert_false(slice_is_set(query_get(&q, SLICE("z"))));
	assert_false(slice_is_set(query_get(&q, SLICE("dig"))));
	assert_false(slice_is_set(query_get(&q, SLICE("xestype"))));

	assert_int_equal(uri_parse_query(SLICE_NONE, &arena, &q), ERR_OK);
	assert_int_equal(q.count, 0);
	assert_int_equal(uri_parse_query(SLICE(""), &arena, &q), ERR_OK);
	assert_int_equal(q.count, 0);
	assert_int_equal(uri_parse_query(SLICE("a=%"), &arena, &q), ERR_SYNTAX);
	assert_int_equal(uri_parse_query(SLICE("%=a"), &arena, &q), ERR_SYNTAX);
	assert_int_equal(uri_parse_query(SLICE("a=%c3"), &arena, &q), ERR_SYNTAX);

	struct buf b;
	buf_init(&b, 4096);
	for (int i = 0; i < LIMIT_QUERY_PARAMS; i++)
		buf_printf(&b, "p%d=%d&", i, i);
	assert_int_equal(uri_parse_query(buf_slice(&b), &arena, &q), ERR_OK);
	assert_int_equal(q.count, LIMIT_QUERY_PARAMS);
	BUF_PUT(&b, "one=more");
	assert_int_equal(uri_parse_query(buf_slice(&b), &arena, &q), ERR_SYNTAX);
	buf_fini(&b);
	arena_fini(&arena);

	arena_init(&arena, 64);
	assert_int_equal(uri_parse_query(SLICE("a=b&c=d&e=f&g=h"), &arena, &q), ERR_NO_MEMORY);
	arena_fini(&arena);
}

/* Whatever needs decoding, wherever it stands: the part it is in is decoded, the others stay where they are. */
static void test_query_places(void **state)
{
	static const struct {
		struct slice in;
		const char *out; /* NULL: refused */
	} rows[] = {
		{ SLICE("a"), "a" },
		{ SLICE("%41"), "A" },
		{ SLICE("+"), " " },
		{ SLICE("%2B"), "+" },
		{ SLICE("\xc3\xa4"), "\xc3\xa4" },
		{ SLICE("\xc3\xa4\xe2\x82\xacx\xf0\x9f\x98\x80"), "\xc3\xa4\xe2\x82\xacx\xf0\x9f\x98\x80" },
		{ SLICE("\x80"), NULL },
		{ SLICE("\0"), NULL },
		{ SLICE("%00"), NULL },
		{ SLICE("%4"), NULL },
	};
	struct arena arena;
	arena_init(&arena, 1 << 20);
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
		for (size_t before = 0; before < 36; before++)
			for (size_t behind = 0; behind < 20; behind++) {
				char text[128], value[128];
				struct query q = { 0 };
				int n = snprintf(text, sizeof text, "first=1&v=%.*s", (int)before,
						 "0123456789abcdefghijklmnopqrstuvwxyz");
				memcpy(text + n, rows[i].in.ptr, rows[i].in.len);
				size_t len = (size_t)n + rows[i].in.len;
				memset(text + len, '.', behind);
				len += behind;
				memcpy(text + len, "&last=2", 7);
				arena_reset(&arena);
				struct slice in = exact(text, len + 7);
				enum err e = uri_parse_query(in, &arena, &q);
				assert_int_equal(e, rows[i].out ? ERR_OK : ERR_SYNTAX);
				if (e == ERR_OK) {
					snprintf(value, sizeof value, "%.*s%s%.*s", (int)before,
						 "0123456789abcdefghijklmnopqrstuvwxyz", rows[i].out, (int)behind,
						 "....................");
					assert_int_equal(q.count, 3);
					assert_slice(q.params[0].value, "1");
					assert_slice(q.params[1].name, "v");
					assert_slice(q.params[1].value, value);
					assert_slice(q.params[2].name, "last");
					assert_ptr_equal(q.params[2].value.ptr, in.ptr + in.len - 1);
				}
				exact_free(in);
			}
	arena_fini(&arena);
}

/* Encoding and decoding give back every character. */
static void test_encode(void **state)
{
	struct buf b;
	struct arena arena;
	buf_init(&b, 4096);
	arena_init(&arena, 1 << 16);
	uri_encode(&b, SLICE("a-b_c.d~/e f+%\xc3\xa4'"), "/");
	assert_slice(buf_slice(&b), "a-b_c.d~/e%20f%2B%25%C3%A4%27");
	buf_clear(&b);
	uri_encode(&b, SLICE("/:"), NULL);
	assert_slice(buf_slice(&b), "%2F%3A");

	char all[127];
	for (int i = 0; i < 127; i++)
		all[i] = (char)(i + 1);
	buf_clear(&b);
	uri_encode(&b, slice_make(all, sizeof all), "");
	struct slice back;
	assert_int_equal(uri_decode(buf_slice(&b), &arena, &back), ERR_OK);
	assert_int_equal(back.len, sizeof all);
	assert_memory_equal(back.ptr, all, sizeof all);
	arena_fini(&arena);
	buf_fini(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_decode),
		cmocka_unit_test(test_query),
		cmocka_unit_test(test_query_places),
		cmocka_unit_test(test_encode),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
