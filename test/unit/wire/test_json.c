/* SPDX-License-Identifier: Apache-2.0
 * JSON reader and writer: round trips, limits, refusals with their position. */
#include "wire/json.h"

#include <math.h>

#include "base/limits.h"
#include "base/sys/rng.h"
#include "wire_test.h"

static struct arena arena;
static struct json_node *root;

static enum err parse(struct slice s, unsigned depth)
{
	return json_parse(s, &arena, depth, &root);
}

static void test_text(void **state)
{
	struct buf b;
	buf_init(&b, 4096);
	json_put_text(&b, SLICE("a\"b\\ \b\t\n\v\f\r\x01/\x7f\xc3\xa4\xff"));
	assert_slice(buf_slice(&b), "a\\\"b\\\\ \\b\\t\\n\\u000b\\f\\r\\u0001/\x7f\xc3\xa4\xef\xbf\xbd");
	buf_fini(&b);
}

static void test_double(void **state)
{
	static const struct {
		double v;
		const char *text;
	} rows[] = { { 0, "0.0" },
		     { -0.0, "-0.0" },
		     { 5, "5.0" },
		     { 0.1, "0.1" },
		     { 1.0 / 3, "0.3333333333333333" },
		     { 1e20, "1e+20" },
		     { 123456789012345680.0, "1.2345678901234568e+17" },
		     { -2.5e-8, "-2.5e-08" },
		     { 1.7976931348623157e308, "1.7976931348623157e+308" },
		     { 5e-324, "4.94065645841247e-324" },
		     { NAN, "\"NaN\"" },
		     { INFINITY, "\"Infinity\"" },
		     { -INFINITY, "\"-Infinity\"" } };
	struct buf b;
	double back;
	buf_init(&b, 256);
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		buf_clear(&b);
		json_put_double(&b, rows[i].v);
		assert_slice(buf_slice(&b), rows[i].text);
	}
	struct rng rng;
	rng_init_seed(&rng, 3);
	for (int i = 0; i < 200000; i++) {
		uint64_t bits = rng_u64(&rng);
		double v;
		memcpy(&v, &bits, sizeof v);
		if (isnan(v) || isinf(v))
			continue;
		buf_clear(&b);
		json_put_double(&b, v);
		assert_true(json_number_to_double(buf_slice(&b), &back) && memcmp(&v, &back, sizeof v) == 0);
		assert_false(json_number_is_integer(buf_slice(&b)));
	}
	assert_true(json_number_is_integer(SLICE("-12")));
	assert_false(json_number_to_double(SLICE("1e999"), &back));
	assert_false(json_number_to_double(SLICE(""), &back));
	assert_false(json_number_to_double(SLICE("1x"), &back));
	assert_false(json_number_to_double(SLICE("0x1F"), &back));
	assert_false(json_number_to_double(SLICE("nan"), &back));
	buf_fini(&b);
}

static void test_flat(void **state)
{
	struct json_member *m;
	size_t n;
	arena_init(&arena, 1 << 20);
	struct slice doc =
		SLICE("\xef\xbb\xbf {\"PartitionKey\":\"p\\u00e4\\n\",\"N\":-1.5e3,\"T\":true,\"F\":false,\"Z\":null,"
		      "\"e\":\"\",\"\":\"x\",\"N\":2} ");
	assert_int_equal(json_parse_flat(doc, &arena, &m, &n), ERR_OK);
	assert_int_equal(n, 8);
	assert_slice(m[0].name, "PartitionKey");
	assert_slice(m[0].text, "p\xc3\xa4\n");
	assert_true(m[0].kind == JSON_STRING && m[1].kind == JSON_NUMBER && m[2].kind == JSON_BOOL &&
		    m[4].kind == JSON_NULL);
	assert_slice(m[1].text, "-1.5e3");
	assert_slice(m[2].text, "true");
	assert_slice(m[3].text, "false");
	assert_false(slice_is_set(m[4].text));
	assert_slice(m[5].text, "");
	assert_slice(m[6].name, "");
	assert_slice(m[7].text, "2");
	assert_int_equal(json_parse_flat(SLICE("{}"), &arena, &m, &n), ERR_OK);
	assert_int_equal(n, 0);
	static const char *const bad[] = { "",
					   " ",
					   "[]",
					   "1",
					   "\"x\"",
					   "{\"a\":{}}",
					   "{\"a\":[]}",
					   "{\"a\":1,}",
					   "{\"a\"}",
					   "{a:1}",
					   "{\"a\":1} x",
					   "{\"a\":1}{}",
					   "{\"a\":01}",
					   "{\"a\":+1}",
					   "{\"a\":.5}",
					   "{\"a\":1.}",
					   "{\"a\":0x1}",
					   "{\"a\":NaN}",
					   "{\"a\":'b'}",
					   "{\"a\":\"\x01\"}",
					   "{\"a\":\"\\x\"}",
					   "{\"a\":\"\\u12\"}",
					   "{\"a\":\"\xff\"}",
					   "{\"a\":tru}",
					   "{\"a\":1",
					   "{\"a\":\"b",
					   "{/* c */}",
					   "{\"a\":\"\xc3\"}" };
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		struct slice s = exact(bad[i], strlen(bad[i]));
		if (json_parse_flat(s, &arena, &m, &n) != ERR_SYNTAX)
			fail_msg("not refused: %s", bad[i]);
		exact_free(s);
	}
	static const char *const pairs[] = { "\"\\ud83d\\ude00\"", "\"\\uD83D\\uDE00 \\\\ud800 \\u0041\"" };
	static const char *const halves[] = { "\"\\ud83d\"",	    "\"\\ud83d \"",	  "\"\\ude00\"",
					      "\"\\ude00\\ud83d\"", "\"\\ud83d\\u0041\"", "\"\\ud83d\\ud83d\"",
					      "\"\\ud83d\\n\"",	    "\"\xed\xa0\x80\"",	  "\"\xc0\xaf\"" };
	for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
		assert_int_equal(parse(slice_str(pairs[i]), 0), ERR_OK);
	assert_slice(root->text, "\xf0\x9f\x98\x80 \\ud800 A");
	for (size_t i = 0; i < sizeof halves / sizeof halves[0]; i++)
		if (parse(slice_str(halves[i]), 0) != ERR_SYNTAX)
			fail_msg("not refused: %s", halves[i]);
	arena_fini(&arena);
}

static void test_tree(void **state)
{
	arena_init(&arena, 1 << 20);
	assert_int_equal(parse(SLICE("{\"keys\":[{\"kid\":\"a\",\"n\":1},{\"kid\":\"b\"}],\"x\":{\"y\":{}}}"), 8),
			 ERR_OK);
	struct json_node *keys = json_member(root, "keys");
	assert_int_equal(keys->kind, JSON_ARRAY);
	assert_slice(json_member_string(keys->child, "kid"), "a");
	assert_slice(json_member_string(keys->child->next, "kid"), "b");
	assert_null(keys->child->next->next);
	assert_false(slice_is_set(json_member_string(keys->child, "n")));
	assert_null(json_member(root, "nope"));
	assert_null(json_member(keys, "kid"));
	assert_null(json_member(NULL, "kid"));
	assert_int_equal(parse(SLICE("{\"x\":{\"y\":{}}}"), 3), ERR_OK);
	assert_int_equal(parse(SLICE("{\"x\":{\"y\":{}}}"), 2), ERR_SYNTAX);
	assert_int_equal(parse(SLICE("[[[[[[[[]]]]]]]]"), 99), ERR_OK);
	assert_int_equal(parse(SLICE("[[[[[[[[[]]]]]]]]]"), 99), ERR_SYNTAX);
	assert_int_equal(parse(SLICE("12"), 0), ERR_OK);
	assert_slice(root->text, "12");

	/* A million brackets, and too many values. */
	struct buf b;
	buf_init(&b, 4 << 20);
	for (int i = 0; i < 1000000; i++)
		BUF_PUT(&b, "[");
	assert_int_equal(parse(buf_slice(&b), 8), ERR_SYNTAX);
	for (int over = 0; over < 2; over++) {
		buf_clear(&b);
		BUF_PUT(&b, "[0");
		for (int i = 2; i < LIMIT_JSON_VALUES + over; i++)
			BUF_PUT(&b, ",0");
		BUF_PUT(&b, "]");
		assert_int_equal(parse(buf_slice(&b), 8), over ? ERR_SYNTAX : ERR_OK);
	}
	buf_fini(&b);
	arena_fini(&arena);
}

/* Wherever the arena ends, it is an error and no crash. */
static void test_no_memory(void **state)
{
	int refused = 0, read = 0;
	for (size_t limit = 0; limit < 8192; limit += 16) {
		arena_init(&arena, limit);
		enum err e = parse(SLICE("{\"a\":\"escaped \\n text that has to be "
					 "copied\",\"b\\u0041\":[1,2,3,{\"c\":\"\\t\"}]}"),
				   8);
		arena_fini(&arena);
		refused += e == ERR_NO_MEMORY;
		read += e == ERR_OK;
		assert_int_equal(e, read ? ERR_OK : ERR_NO_MEMORY);
	}
	assert_true(refused > 10 && read > 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text), cmocka_unit_test(test_double),    cmocka_unit_test(test_flat),
		cmocka_unit_test(test_tree), cmocka_unit_test(test_no_memory),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
